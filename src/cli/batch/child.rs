//! The process of one task: the headless command line, its JSON lines and its exit code, started here or by a command of the
//! user's on another machine.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};

use super::board::Standing;
use super::record::{Batch, Folder, Task};
use crate::kernel::conversation::{Cost, Usage};
use crate::kernel::event::{RunEvent, RunOutcome};
use crate::kernel::ids::RunId;
use crate::kernel::question::Question;
use crate::kernel::run::{Summary, Verification};
use crate::kernel::tool::PlanItemState;
use crate::protocol::run::EventParams;

/// What is left of a process's own words when it ends without a result.
const WORDS: usize = 400;

/// How urgently the processes are to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    No,
    /// Their runs are left so that they can be taken up.
    Park,
    /// At once.
    Kill,
}

/// What is told while a task is worked on.
#[derive(Debug)]
pub struct News {
    pub task: usize,
    pub what: What,
}

#[derive(Debug)]
pub enum What {
    Run(RunId),
    /// The commit that its worktree was made from.
    Base(String),
    /// A line for the display.
    Doing(String),
    /// A line as the task's process wrote it.
    Line(Box<EventParams>),
}

/// How a task's process ended.
#[derive(Debug, Default)]
pub struct Ended {
    pub standing: Standing,
    pub words: String,
    pub files: usize,
    pub active_ms: u64,
    pub usage: Usage,
    pub cost: Cost,
}

/// Where the work of a task is done.
pub struct Job<'a> {
    pub at: usize,
    pub batch: &'a Batch,
    pub task: &'a Task,
    pub folder: &'a Folder,
    /// The workspace of the task, and where its state lies.
    pub root: &'a Path,
    pub state: &'a Path,
    /// `--once` and the prompt, or an answer.
    pub words: Vec<String>,
}

/// Runs the process to its end.
///
/// # Errors
/// It cannot be started.
pub async fn attend(
    job: Job<'_>,
    news: &mpsc::UnboundedSender<News>,
    mut stop: watch::Receiver<Stop>,
) -> anyhow::Result<Ended> {
    let append = |path: &Path| {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.with_context(|| format!("failed to open {}", path.display()))
    };
    let mut log = append(&job.folder.events(job.task))?;
    let errors = append(&job.folder.errors(job.task))?;
    let before = errors.metadata().map_or(0, |about| about.len());
    let mut child = start(&job, errors)?;
    let stdout = child.stdout.take().context("the process has no output")?;
    let mut lines = BufReader::new(stdout).lines();
    let mut told = Told::default();
    let mut sent = Stop::No;
    loop {
        tokio::select! {
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { break };
                // A full disk costs the log, not the task.
                let _ = writeln!(log, "{line}");
                if let Ok(event) = serde_json::from_str::<EventParams>(&line) {
                    for what in told.take_in(&event) {
                        let _ = news.send(News { task: job.at, what });
                    }
                    let _ = news.send(News { task: job.at, what: What::Line(Box::new(event)) });
                }
            }
            changed = stop.changed() => {
                // Whoever could say so is gone: nothing is asked of us any more.
                let wanted = if changed.is_ok() { *stop.borrow() } else { Stop::Kill };
                if wanted != sent {
                    signal(&mut child, wanted);
                    sent = wanted;
                }
            }
        }
    }
    let status = child
        .wait()
        .await
        .context("failed to wait for the process")?;
    let words = last_words(&job.folder.errors(job.task), before);
    Ok(told.ended(status, words))
}

fn start(job: &Job<'_>, errors: File) -> anyhow::Result<Child> {
    let exe = std::env::current_exe().context("failed to find our own program")?;
    let mut words = vec![exe.to_string_lossy().into_owned()];
    words.extend(job.words.iter().cloned());
    for (flag, path) in [("--root", job.root), ("--state-dir", job.state)] {
        words.push(flag.to_owned());
        words.push(path.to_string_lossy().into_owned());
    }
    let mut command = match &job.batch.launcher {
        None => {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            command
        }
        Some(launcher) => {
            let launcher = launcher
                .replace("{tree}", &job.root.to_string_lossy())
                .replace("{state}", &job.state.to_string_lossy())
                .replace("{task}", &job.task.id)
                .replace("{batch}", &job.batch.id);
            shell(&launcher, &words)
        }
    };
    #[cfg(unix)]
    command.process_group(0); // Ctrl-C is for us; what it means for them we say ourselves.
    command
        .current_dir(job.root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| match &job.batch.launcher {
            Some(launcher) => format!("failed to start `{launcher}`"),
            None => format!("failed to start {}", exe.display()),
        })
}

/// The words behind what the user wrote, as the shell reads it.
#[cfg(unix)]
fn shell(launcher: &str, words: &[String]) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{launcher} \"$@\""))
        .arg("outrigger")
        .args(words);
    command
}

#[cfg(not(unix))]
fn shell(launcher: &str, words: &[String]) -> Command {
    let mut parts = launcher.split_whitespace();
    let mut command = Command::new(parts.next().unwrap_or_default());
    command.args(parts).args(words);
    command
}

/// To the process and to all that it started.
fn signal(child: &mut Child, stop: Stop) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = match stop {
            Stop::No => return,
            Stop::Park => Signal::TERM,
            Stop::Kill => Signal::KILL,
        };
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        if let Some(group) = group {
            // It may have ended by itself.
            let _ = kill_process_group(group, signal);
        }
    }
    #[cfg(not(unix))]
    if stop != Stop::No {
        let _ = child.start_kill();
    }
}

fn last_words(errors: &Path, before: u64) -> String {
    let bytes = fs::read(errors).unwrap_or_default();
    let new = bytes
        .get(usize::try_from(before).unwrap_or(0)..)
        .unwrap_or_default();
    let text = String::from_utf8_lossy(new);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or_default().chars().take(WORDS).collect()
}

/// What the lines have said so far.
#[derive(Default)]
struct Told {
    run: Option<RunId>,
    open: Vec<Question>,
    usage: Usage,
    cost: Cost,
    end: Option<(RunOutcome, Summary)>,
}

impl Told {
    fn take_in(&mut self, event: &EventParams) -> Vec<What> {
        let mut news = Vec::new();
        if self.run.as_ref() != Some(&event.run_id) {
            self.run = Some(event.run_id.clone());
            news.push(What::Run(event.run_id.clone()));
        }
        let doing = match &event.record.event {
            RunEvent::ModelReplied { turn, bill, .. } => {
                self.usage.add(turn.usage);
                self.cost.add(bill.cost);
                None
            }
            RunEvent::PlanUpdated { items } => items
                .iter()
                .find(|item| item.state == PlanItemState::InProgress)
                .map(|item| item.title.clone()),
            RunEvent::ModelCalled { .. } => Some("model".to_owned()),
            RunEvent::ToolRequested { name, summary, .. } => Some(format!("{name} {summary}")),
            RunEvent::GatesStarted { .. } => Some("gates".to_owned()),
            RunEvent::QuestionOpened { question } => {
                self.open.push(question.clone());
                Some(question.title.clone())
            }
            RunEvent::QuestionAnswered { question, .. }
            | RunEvent::QuestionWithdrawn { question, .. } => {
                self.open.retain(|open| open.id != *question);
                None
            }
            RunEvent::Ended { outcome, summary } => {
                self.end = Some((*outcome, summary.clone()));
                None
            }
            _ => None,
        };
        news.extend(doing.map(What::Doing));
        news
    }

    /// What the run said of its end counts, whatever became of the process afterwards.
    fn ended(self, status: ExitStatus, words: String) -> Ended {
        let (usage, cost) = (self.usage, self.cost);
        if let Some((outcome, summary)) = self.end {
            let standing = match (outcome, summary.verification) {
                (RunOutcome::Succeeded, Verification::Passed | Verification::NotNeeded) => {
                    Standing::Succeeded
                }
                (RunOutcome::Succeeded, Verification::Unverified) => Standing::Unverified,
                (RunOutcome::Succeeded, Verification::Failed)
                | (RunOutcome::Failed | RunOutcome::Interrupted, _) => Standing::Failed,
                (RunOutcome::Cancelled, _) => Standing::Cancelled,
            };
            return Ended {
                standing,
                words: summary.text,
                files: summary.files.len(),
                active_ms: summary.active_ms,
                usage: summary.usage,
                cost: summary.cost,
            };
        }
        let (standing, words) = match (status.code(), self.open.first()) {
            (Some(3 | 4 | 6), Some(question)) => (Standing::Blocked, question.title.clone()),
            (Some(3 | 4 | 6), None) => (Standing::Blocked, words),
            // It said what is wrong with the call; saying it again would not help.
            (Some(2), _) => (Standing::Failed, words),
            _ if words.is_empty() => (
                Standing::Interrupted,
                format!("its process ended with {status}"),
            ),
            _ => (Standing::Interrupted, words),
        };
        Ended {
            standing,
            words,
            usage,
            cost,
            ..Ended::default()
        }
    }
}
