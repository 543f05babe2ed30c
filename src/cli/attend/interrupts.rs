//! Ctrl-C and its kin. Listened for from the beginning, so that none is lost while something else is dealt with.

use std::io;

/// What the person, or the system, wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// Ctrl-C.
    Stop,
    /// The system ends processes: there is no time.
    Leave,
}

#[cfg(unix)]
pub struct Interrupts {
    stop: tokio::signal::unix::Signal,
    leave: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Interrupts {
    /// # Errors
    /// The system does not let us listen.
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            stop: signal(SignalKind::interrupt())?,
            leave: signal(SignalKind::terminate())?,
        })
    }

    pub async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.stop.recv() => Interrupt::Stop,
            _ = self.leave.recv() => Interrupt::Leave,
        }
    }
}

#[cfg(windows)]
pub struct Interrupts {
    stop: tokio::signal::windows::CtrlC,
    leave: tokio::signal::windows::CtrlClose,
}

#[cfg(windows)]
impl Interrupts {
    /// # Errors
    /// The system does not let us listen.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            stop: tokio::signal::windows::ctrl_c()?,
            leave: tokio::signal::windows::ctrl_close()?,
        })
    }

    pub async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.stop.recv() => Interrupt::Stop,
            _ = self.leave.recv() => Interrupt::Leave,
        }
    }
}
