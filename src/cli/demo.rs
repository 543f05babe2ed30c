//! `outrigger demo`: the main job from start to end, without a key and without network.
//!
//! Makes a small Rust project in a temporary folder, starts this very binary as a child, and plays the editor: opens
//! documents with unsaved lines, starts a run with a scripted model, applies the edits it is asked to apply, answers
//! questions. Only the model is scripted; the sidecar, its edits, `cargo check` and the files are real. Promises: it fails
//! with what was wrong if anything that it is there to show does not happen; nothing is left but with `--keep`.

mod editor;
mod sample;
mod session;
mod stage;
mod witness;

use std::fs;
use std::io::{self, BufRead};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use anyhow::{Context, bail};
use clap::Args;
use thiserror::Error;

use super::client::{Client, Incoming};
use super::output::say;
use super::view;
use super::words::{BOLD, DIM, GOOD, styled};
use crate::config::USER_FILE_VARIABLE;
use crate::kernel::event::RunOutcome;
use sample::Sample;
use session::{Session, Who};

/// The exit code of a run that the person stopped.
const STOPPED: u8 = 130;

/// Watch the main job happen on a sample project, with a scripted model and without network.
///
/// Examples:
///   outrigger demo                 answers by itself
///   outrigger demo --interactive   asks you
///   outrigger demo --keep          leaves the sample project, the script and the transcript for you to look at
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Ask me instead of answering by itself.
    #[arg(long)]
    interactive: bool,
    /// Leave the sample project and the transcript.
    #[arg(long)]
    keep: bool,
}

/// What the demo waits for: all of it comes through one channel.
#[derive(Debug)]
pub enum Event {
    Server(Incoming),
    /// A line that the person typed; `None`: there will be no more.
    Typed(Option<String>),
    Interrupted,
}

/// Ctrl-C.
#[derive(Debug, Error)]
#[error("interrupted")]
struct Interrupted;

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    require_cargo()?;
    let folder = tempfile::Builder::new()
        .prefix("outrigger-demo-")
        .tempdir()
        .context("failed to make a temporary folder")?;
    // As the system spells it: servers and editors compare paths.
    let path = fs::canonicalize(folder.path())
        .with_context(|| format!("failed to find {}", folder.path().display()))?;
    let sample = Sample::make(&path)
        .with_context(|| format!("failed to write the sample project to {}", path.display()))?;
    let result = play(arguments, &sample);
    if arguments.keep {
        let kept = folder.keep();
        say(&view::told_row("kept", &kept.display().to_string()))?;
    } else {
        folder
            .close()
            .with_context(|| format!("failed to remove {}", path.display()))?;
    }
    result
}

fn require_cargo() -> anyhow::Result<()> {
    let asked = Command::new("cargo")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    match asked {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => bail!(
            "failed to ask cargo for its version: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ),
        Err(error) => bail!(
            "failed to start cargo, with which the demo checks real code: {error}; install Rust and put its tools on the PATH"
        ),
    }
}

fn play(arguments: &Arguments, sample: &Sample) -> anyhow::Result<ExitCode> {
    say(&format!(
        "{}  {}\n{}{}\n{}{}\n\n",
        styled(BOLD, "Outrigger demo"),
        styled(DIM, "scripted model, no network"),
        view::told_row("project", &sample.project.display().to_string()),
        view::told_row(
            "sidecar",
            "this binary as a child, spoken to as an editor does"
        )
        .trim_end(),
        view::told_row(
            "answers",
            if arguments.interactive {
                "yours"
            } else {
                "the demo's own; --interactive asks you"
            }
        )
        .trim_end(),
        "",
    ))?;
    let (events, inbox) = channel();
    watch_for_interrupts(events.clone())?;
    if arguments.interactive {
        read_lines(events.clone());
    }
    let client = start_sidecar(sample, events).context("failed to start the sidecar")?;
    let who = if arguments.interactive {
        Who::Person
    } else {
        Who::Demo
    };
    let mut session = Session::new(client, inbox, who);
    let played = session.play(sample);
    let last_words = session.last_words();
    let ended = session.end();
    let (outcome, closing) = match played {
        Ok(played) => played,
        Err(error) if error.is::<Interrupted>() => {
            say("\nInterrupted; the sidecar has ended.\n")?;
            return Ok(ExitCode::from(STOPPED));
        }
        Err(error) if last_words.is_empty() => return Err(error),
        Err(error) => return Err(error.context(format!("the sidecar's last words:\n{last_words}"))),
    };
    ended?;
    say(&closing)?;
    if !arguments.keep {
        say(&view::told_row(
            "",
            &styled(DIM, "(removed with the sample project; --keep leaves both)"),
        ))?;
    }
    match outcome {
        RunOutcome::Succeeded => {
            say(&format!(
                "\n{}\n",
                styled(GOOD, "All of it happened: the demo checked each step.")
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        RunOutcome::Cancelled => Ok(ExitCode::from(STOPPED)),
        RunOutcome::Failed | RunOutcome::Interrupted => Ok(ExitCode::FAILURE),
    }
}

fn start_sidecar(sample: &Sample, events: Sender<Event>) -> io::Result<Client> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg("lsp")
        .current_dir(&sample.project)
        // The demo shows the defaults, whatever the user has set.
        .env(USER_FILE_VARIABLE, "")
        .env("OUTRIGGER_STATE_DIR", &sample.state)
        .env("CARGO_NET_OFFLINE", "true")
        // What cargo builds for the sample stays in its folder.
        .env_remove("CARGO_TARGET_DIR");
    // Ctrl-C is for the demo, which then ends the sidecar in good order.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    Client::start(command, move |incoming| {
        // Nobody listens any more: the demo is over.
        let _ = events.send(Event::Server(incoming));
    })
}

fn watch_for_interrupts(events: Sender<Event>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("failed to listen for Ctrl-C")?;
    thread::spawn(move || {
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            let _ = events.send(Event::Interrupted);
        }
    });
    Ok(())
}

fn read_lines(events: Sender<Event>) {
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if events.send(Event::Typed(Some(line))).is_err() {
                return;
            }
        }
        let _ = events.send(Event::Typed(None));
    });
}
