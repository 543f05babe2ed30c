//! What cargo starts in place of a test program when a gate runs the tests: the same program, asked for JSON.
//!
//! Not for people. Cargo compiles nothing anew for it, as it would with a variable for the whole build.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::Args;

/// What only programs with Rust's own test harness contain.
const HARNESS: &[u8] = b"RUST_TEST_SHUFFLE";

#[derive(Debug, Args)]
pub struct Arguments {
    /// The test program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (program, rest) = arguments
        .words
        .split_first()
        .context("no test program was named")?;
    let mut command = Command::new(program);
    command.args(rest);
    let is_asked = rest
        .iter()
        .any(|word| word.to_string_lossy().starts_with("--format"));
    if !is_asked && has_harness(Path::new(program)) {
        command
            .args(["-Zunstable-options", "--format", "json"])
            .env("RUSTC_BOOTSTRAP", "1");
    }
    become_it(command)
}

/// Documentation tests have rustdoc's own way of telling.
fn has_harness(program: &Path) -> bool {
    let of_rustdoc = program.to_string_lossy().contains("rustdoctest");
    !of_rustdoc
        && std::fs::read(program).is_ok_and(|bytes| memchr::memmem::find(&bytes, HARNESS).is_some())
}

#[cfg(unix)]
fn become_it(mut command: Command) -> anyhow::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    let program = command.get_program().to_owned();
    let error = command.exec();
    Err(error).with_context(|| format!("failed to start {}", program.display()))
}

#[cfg(not(unix))]
fn become_it(mut command: Command) -> anyhow::Result<ExitCode> {
    let status = command
        .status()
        .context("failed to start the test program")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
