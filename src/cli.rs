//! The terminal: one file per subcommand. Renders what the sidecar knows and does to people, scripts and CI.
//!
//! Owns the arguments and the output of every subcommand but `lsp`. Promises: results go to standard output and nothing
//! else does; escape codes only where [`anstream`] allows them (`NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`, a pipe); a
//! reader that goes away (`| head`) is no error; an error says what failed and what to do next.

use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;

mod ask;
mod attend;
mod batch;
mod clean;
mod client;
mod config;
mod demo;
mod diff;
mod doctor;
mod follow;
mod gates;
pub mod logging;
mod models;
mod output;
mod protocol;
mod revert;
mod run;
mod runs;
mod shell;
mod show;
mod task;
mod test_runner;
mod undone;
mod usage;
mod view;
mod words;
mod workspace;

pub use usage::code;
pub use workspace::Open;

/// The subcommands of the terminal.
#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(demo::Arguments),
    Run(Box<run::RunArguments>),
    Batch(Box<batch::Arguments>),
    Resume(run::ResumeArguments),
    Answer(run::AnswerArguments),
    Runs(runs::RunsArguments),
    Show(show::Arguments),
    Diff(diff::Arguments),
    Revert(revert::Arguments),
    Clean(clean::Arguments),
    Task(task::Arguments),
    Follow(follow::FollowArguments),
    Cancel(follow::CancelArguments),
    Questions(runs::QuestionsArguments),
    Gates(gates::Arguments),
    Trust(gates::TrustArguments),
    Models(models::Arguments),
    Doctor(doctor::Arguments),
    Config(config::Arguments),
    Completions(shell::CompletionsArguments),
    Man(shell::ManArguments),
    #[command(hide = true)]
    TestRunner(test_runner::Arguments),
    Protocol(protocol::Arguments),
}

/// Runs one subcommand to its end; the process shall then end with the code. `open` makes the app of a workspace; `whole` is
/// the command line with all its subcommands.
///
/// # Errors
/// For people: what failed and what to do next.
pub fn run(command: Command, open: &Open, whole: clap::Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Run(arguments) => with_runtime(run::run(*arguments, open)),
        Command::Batch(arguments) => with_runtime(batch::run(*arguments, open)),
        Command::Resume(arguments) => with_runtime(run::resume(arguments, open)),
        Command::Answer(arguments) => with_runtime(run::answer(arguments, open)),
        Command::Runs(arguments) => runs::runs(&arguments).map(ExitCode::from),
        Command::Task(arguments) => task::run(arguments).map(ExitCode::from),
        Command::Questions(arguments) => runs::questions(&arguments).map(ExitCode::from),
        Command::Follow(arguments) => with_runtime(follow::follow(arguments, open)),
        Command::Cancel(arguments) => with_runtime(follow::cancel(arguments, open)),
        Command::Show(arguments) => with_runtime(show::show(&arguments, open)),
        Command::Diff(arguments) => with_runtime(diff::diff(&arguments, open)),
        Command::Revert(arguments) => with_runtime(revert::revert(&arguments, open)),
        Command::Clean(arguments) => with_runtime(clean::clean(&arguments, open)),
        Command::Doctor(arguments) => with_runtime(doctor::doctor(&arguments, open)),
        Command::Gates(arguments) => with_runtime(gates::gates(&arguments)),
        Command::Trust(arguments) => gates::trust(&arguments).map(ExitCode::from),
        Command::Models(arguments) => with_runtime(models::models(&arguments, open)),
        Command::TestRunner(arguments) => test_runner::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments, whole),
        Command::Man(arguments) => shell::man(&arguments, whole),
        Command::Protocol(arguments) => protocol::run(&arguments),
    }
}

fn with_runtime(work: impl Future<Output = anyhow::Result<u8>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    let code = runtime.block_on(work);
    // A thread that still reads from the terminal is not waited for.
    runtime.shutdown_background();
    code.map(ExitCode::from)
}
