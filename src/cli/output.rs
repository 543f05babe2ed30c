//! Writing to standard output, where the reader may have gone away.

use std::io::{self, Write};

/// Writes text, with its escape codes where they are wanted. A reader that has gone away has seen enough.
///
/// # Errors
/// Standard output cannot be written.
pub fn say(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
