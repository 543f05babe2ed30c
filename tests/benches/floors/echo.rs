//! The floor of every round trip: a process that reads a frame and writes it back, and does nothing else.

use std::io::{BufReader, stdin, stdout};
use std::process::Command;

use super::wire::{Peer, read_frame, write_frame};

/// Tells this program to be the echo.
pub const ARGUMENT: &str = "echo";

/// Echoes until its input ends.
pub fn serve() {
    let mut input = BufReader::with_capacity(64 * 1024, stdin().lock());
    let mut output = stdout().lock();
    let (mut body, mut frame) = (Vec::new(), Vec::new());
    while read_frame(&mut input, &mut body) {
        write_frame(&mut output, &body, &mut frame);
    }
}

/// Starts the echo as a child.
pub fn start() -> Peer {
    Peer::start(Command::new(std::env::current_exe().unwrap()).arg(ARGUMENT))
}
