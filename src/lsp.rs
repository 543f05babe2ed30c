//! Renders the kernel to an editor, in the language server protocol over stdio.
//!
//! Owns the byte stream, the protocol's types (no other module sees `lsp_types`), and the translation both ways. Decides
//! nothing about runs. Promises: standard output carries frames only; no handler waits for the editor or for a human;
//! the process ends soon after the editor does.

use std::fs::File;
use std::io;

mod actions;
mod apply;
mod capabilities;
mod commands;
mod diagnostics;
mod documents;
mod editor;
mod edits;
mod ending;
mod errors;
mod folders;
mod framing;
mod gate_actions;
mod mend;
mod message;
mod methods;
mod models;
mod outbox;
mod places;
mod progress;
mod questions;
mod runs;
mod server;
mod session;
mod start;
mod tasks;
mod test_methods;
mod transport;
mod virtual_documents;
mod writing;

pub use ending::Ending;
pub use framing::DEFAULT_BODY_LIMIT;
pub use session::{OpenWorkspace, Opened};

use transport::Wires;

/// How to serve.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The longest message accepted, in bytes.
    pub body_limit: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            body_limit: DEFAULT_BODY_LIMIT,
        }
    }
}

/// Serves one editor over standard input and output. The caller ends the process with [`Ending::code`].
///
/// # Errors
/// Standard input or output cannot be used.
pub async fn serve_stdio(options: Options, open_workspace: OpenWorkspace) -> io::Result<Ending> {
    let (input, output) = take_stdio()?;
    let (service, socket, folders) = server::build(open_workspace);
    let wires = Wires {
        input,
        output,
        body_limit: options.body_limit,
    };
    let park = async |_: &Ending| {
        let sessions = folders.all();
        let parking = sessions.iter().map(|session| session.park());
        futures::future::join_all(parking).await;
    };
    Ok(transport::serve(wires, service, socket, park).await)
}

/// Takes standard input and output for frames. Whoever else prints, here or in a child process, prints to standard
/// error from now on, and whoever else reads finds the end.
#[cfg(unix)]
fn take_stdio() -> io::Result<(File, File)> {
    use std::os::fd::AsFd;

    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdout(io::stderr())?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok((input, output))
}

#[cfg(windows)]
fn take_stdio() -> io::Result<(File, File)> {
    use std::os::windows::io::AsHandle;

    let input = File::from(io::stdin().as_handle().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_handle().try_clone_to_owned()?);
    Ok((input, output))
}
