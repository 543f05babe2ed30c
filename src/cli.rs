//! The terminal: one file per subcommand. Renders what the sidecar knows and does to people, scripts and CI.
//!
//! Owns the arguments and the output of every subcommand but `lsp`. Promises: results go to standard output and nothing
//! else does; escape codes only where [`anstream`] allows them (`NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`, a pipe); a
//! reader that goes away (`| head`) is no error; an error says what failed and what to do next.

use std::process::ExitCode;

use clap::Subcommand;

mod ask;
mod client;
mod demo;
mod output;
mod protocol;
mod view;
mod words;

/// The subcommands of the terminal.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch the main job happen on a sample project, with a scripted model and without network.
    Demo(demo::Arguments),
    /// Print the contract with the editors, generated from the types that are compiled in.
    Protocol(protocol::Arguments),
}

/// Runs one subcommand to its end; the process shall then end with the code.
///
/// # Errors
/// For people: what failed and what to do next.
pub fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(arguments) => demo::run(arguments),
        Command::Protocol(arguments) => protocol::run(arguments),
    }
}
