//! The line at the bottom of a terminal that says what goes on right now. Only where both streams are a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Instant;

use crate::cli::words::{DIM, headline, styled};
use crate::kernel::effect::Progress;

/// Characters of it; a line that wraps could not be cleared.
const WIDTH: usize = 78;

#[derive(Debug)]
pub struct Status {
    shows: bool,
    drawn: bool,
    message: String,
    since: Instant,
}

impl Status {
    /// `wanted`: the output is for people.
    pub fn new(wanted: bool) -> Self {
        Self {
            shows: wanted && io::stdout().is_terminal() && io::stderr().is_terminal(),
            drawn: false,
            message: String::new(),
            since: Instant::now(),
        }
    }

    pub fn set(&mut self, progress: &Progress) {
        if self.message != progress.message {
            self.message.clone_from(&progress.message);
            self.since = Instant::now();
        }
    }

    /// With the time since the message changed.
    pub fn draw(&mut self) {
        if !self.shows || self.message.is_empty() {
            return;
        }
        let seconds = self.since.elapsed().as_secs();
        let time = if seconds > 1 {
            format!(" {seconds} s")
        } else {
            String::new()
        };
        let line = headline(&self.message, WIDTH.saturating_sub(time.len()));
        let mut out = anstream::stderr().lock();
        // A terminal that is gone is noticed elsewhere.
        let _ = write!(out, "\r\u{1b}[2K{}", styled(DIM, format!("{line}{time}")));
        let _ = out.flush();
        self.drawn = true;
    }

    pub fn clear(&mut self) {
        if self.drawn {
            let mut out = anstream::stderr().lock();
            let _ = write!(out, "\r\u{1b}[2K");
            let _ = out.flush();
            self.drawn = false;
        }
    }
}
