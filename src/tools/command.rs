//! Performs [`RunCommand`]: a shell command line in the workspace, without terminal and input.
//!
//! Owns every process that the commands of one run start. Promises:
//! * A command ends when its first process does, even if a background process still holds its output open.
//! * Its processes end with it: when its future is dropped, when it runs too long, and, for what it left in the background,
//!   when the run ends. Asked first, killed after a short grace, gone within a second, with or without a runtime.
//! * A sidecar that is killed takes its commands with it, on Unix.
//! * Memory stays bounded whatever it prints.
//! * Its working folder lies inside the workspace, symbolic links followed.

mod capture;
#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod group;
mod processes;
mod report;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod watchdog;

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use self::capture::Capture;
#[cfg(not(unix))]
use self::elsewhere::{Child, Group, Output, spawn};
#[cfg(unix)]
use self::group::Group;
use self::processes::Mark;
pub use self::processes::Process;
use self::report::{Ended, Ending, refusal};
#[cfg(unix)]
use self::unix::{Child, Output, spawn};
use crate::kernel::path::RelPath;
use crate::kernel::tool::{RunCommand, ToolOutput};

const DEFAULT_TIMEOUT_S: u32 = 120;
const LONGEST_TIMEOUT_S: u32 = 3600;
/// How long we listen on for output when the command has ended and others hold its pipe open.
const LINGER: Duration = Duration::from_millis(100);
const BUFFER: usize = 64 * 1024;
/// Everything a command starts inherits this variable; it finds what left the session.
const MARK_VARIABLE: &str = "OUTRIGGER_COMMAND_ID";
/// What tells programs that nobody watches: no colour, no pager, no prompt.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Runs one command by itself: like [`Commands::run`], and what it leaves in the background is ended with it.
pub async fn run(
    root: &Path,
    command: &RunCommand,
    output: impl FnMut(&[u8]) + Send,
) -> ToolOutput {
    let commands = Commands::default();
    let result = commands.run(root, command, output).await;
    commands.kill_leftovers().await;
    result
}

/// The commands of one run and the processes they left. Clones share them; the last one to go ends them all.
#[derive(Debug, Clone, Default)]
pub struct Commands(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    groups: Mutex<Groups>,
    /// How many groups are being ended.
    ending: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Groups {
    running: Vec<Group>,
    left: Vec<Group>,
}

impl Commands {
    /// Runs `command` below `root` until it ends, runs too long or this future is dropped. `output` gets the bytes of both
    /// its outputs as they arrive; the result's text has their beginning and end.
    pub async fn run(
        &self,
        root: &Path,
        command: &RunCommand,
        mut output: impl FnMut(&[u8]) + Send,
    ) -> ToolOutput {
        let folder = match working_folder(root, command.cwd.as_ref()) {
            Ok(folder) => folder,
            Err(reason) => return refusal(&reason),
        };
        if command.command.trim().is_empty() {
            return refusal("it is empty");
        }
        let limit_s = command
            .timeout_s
            .unwrap_or(DEFAULT_TIMEOUT_S)
            .clamp(1, LONGEST_TIMEOUT_S);
        let id = fresh_id();
        let mut environment = ENVIRONMENT.to_vec();
        environment.push((MARK_VARIABLE, &id));
        let started = Instant::now();
        #[cfg(unix)]
        watchdog::start();
        let (mut child, mut pipe) = match spawn(&command.command, &folder, &environment) {
            Ok(spawned) => spawned,
            Err(error) => return refusal(&error.to_string()),
        };
        let leader = child.id().and_then(|pid| i32::try_from(pid).ok());
        let group = Group::new(Mark {
            leader: leader.unwrap_or_default(),
            variable: format!("{MARK_VARIABLE}={id}"),
        });
        let running = Running::new(self.0.clone(), group);

        let mut capture = Capture::default();
        let mut take = |bytes: &[u8]| {
            capture.push(bytes);
            output(bytes);
        };
        let limit = Duration::from_secs(limit_s.into());
        let status = follow(&mut child, &mut pipe, limit, &mut take).await;
        let took = started.elapsed();
        let ending = match status {
            Some(Ok(status)) => ending(status),
            Some(Err(error)) => return refusal(&error.to_string()),
            None => {
                running.end().await;
                drain(&mut pipe, &mut take).await;
                let ending = Ending::TimedOut {
                    limit_s: limit_s.into(),
                };
                return Ended {
                    ending,
                    took,
                    output: capture.text(),
                    background: Vec::new(),
                }
                .into_tool_output();
            }
        };
        let everyone_left = drain(&mut pipe, &mut take).await;
        let background = running.leader_ended().await;
        if !everyone_left {
            // A background process whose pipe nobody reads would stop or die at its next line.
            tokio::spawn(async move { discard(pipe).await });
        }
        Ended {
            ending,
            took,
            output: capture.text(),
            background,
        }
        .into_tool_output()
    }

    /// The processes that ended commands have left running.
    pub fn leftovers(&self) -> Vec<Process> {
        let left = self.0.groups().left.clone();
        left.iter().flat_map(Group::processes).collect()
    }

    /// Ends what commands have left running, and waits until they and those whose future was dropped are gone: at most
    /// about 0.7 s. For the end of a run, and before a cancel is acknowledged.
    pub async fn kill_leftovers(&self) {
        let left = std::mem::take(&mut self.0.groups().left);
        for group in left {
            self.0.end(group);
        }
        self.0.settled().await;
    }

    /// Kills everything at once, without grace and without waiting: for a process that must leave now.
    pub fn kill_now(&self) {
        let groups = std::mem::take(&mut *self.0.groups());
        for group in groups.running.iter().chain(&groups.left) {
            group.kill_now();
        }
    }
}

impl Shared {
    fn groups(&self) -> MutexGuard<'_, Groups> {
        // The lists are whole at every moment: a panic elsewhere does not spoil them.
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, group: Group) {
        let ticket = EndingTicket::new(&self.ending);
        group.end(move |survivors| {
            for process in survivors {
                tracing::warn!(
                    pid = process.pid,
                    command_line = process.command_line,
                    "a process of a command could not be ended"
                );
            }
            drop(ticket);
        });
    }

    async fn settled(&self) {
        // Fails only when the sender is gone, and we hold it.
        let _ = self.ending.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let groups = std::mem::take(&mut *self.groups());
        for group in groups.running.into_iter().chain(groups.left) {
            self.end(group);
        }
    }
}

/// Counts a group that is being ended, however that goes.
struct EndingTicket(watch::Sender<usize>);

impl EndingTicket {
    fn new(ending: &watch::Sender<usize>) -> Self {
        ending.send_modify(|count| *count = count.saturating_add(1));
        Self(ending.clone())
    }
}

impl Drop for EndingTicket {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// A command that runs. Dropped before it was told that the command has ended, it ends the group.
struct Running {
    shared: Arc<Shared>,
    group: Option<Group>,
}

impl Running {
    fn new(shared: Arc<Shared>, group: Group) -> Self {
        shared.groups().running.push(group.clone());
        Self {
            shared,
            group: Some(group),
        }
    }

    /// Takes the group off the list of running commands; the caller decides what becomes of it.
    fn release(&mut self) -> Option<Group> {
        let group = self.group.take()?;
        self.shared.groups().running.retain(|other| *other != group);
        Some(group)
    }

    /// Ends the group and waits until it is gone.
    async fn end(mut self) {
        if let Some(group) = self.release() {
            self.shared.end(group);
            self.shared.settled().await;
        }
    }

    /// The command has ended by itself; what it left is kept for the end of the run, and told.
    async fn leader_ended(mut self) -> Vec<Process> {
        let Some(group) = self.group.clone() else {
            return Vec::new();
        };
        // Reading the table of processes takes milliseconds. Until it is read, dropping us still ends the group.
        let looking = tokio::task::spawn_blocking(move || group.processes());
        let left = looking.await.unwrap_or_default();
        if let Some(group) = self.release() {
            if left.is_empty() {
                group.is_gone();
            } else {
                self.shared.groups().left.push(group);
            }
        }
        left
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.release() {
            self.shared.end(group);
        }
    }
}

/// Passes output on until the first process has ended. `None`: it had not when the time was over.
async fn follow(
    child: &mut Child,
    pipe: &mut Output,
    limit: Duration,
    take: &mut impl FnMut(&[u8]),
) -> Option<std::io::Result<ExitStatus>> {
    let mut buffer = vec![0; BUFFER];
    let mut open = true;
    let mut limit = std::pin::pin!(tokio::time::sleep(limit));
    let mut status = std::pin::pin!(child.wait());
    loop {
        tokio::select! {
            status = &mut status => return Some(status),
            () = &mut limit => return None,
            count = pipe.read(&mut buffer), if open => match count {
                Ok(0) | Err(_) => open = false,
                Ok(count) => take(buffer.get(..count).unwrap_or_default()),
            },
        }
    }
}

/// Passes on what the ended command has written, and for a moment what others write. Whether all have closed the pipe.
async fn drain(pipe: &mut Output, take: &mut impl FnMut(&[u8])) -> bool {
    let mut buffer = vec![0; BUFFER];
    let until = tokio::time::Instant::now() + LINGER;
    // Everything that the ended process wrote is in the pipe already.
    while tokio::time::Instant::now() < until {
        match pipe.read_now(&mut buffer) {
            Ok(Some(0)) | Err(_) => return true,
            Ok(Some(count)) => take(buffer.get(..count).unwrap_or_default()),
            Ok(None) => break,
        }
    }
    loop {
        match tokio::time::timeout_at(until, pipe.read(&mut buffer)).await {
            Ok(Ok(0) | Err(_)) => return true,
            Ok(Ok(count)) => take(buffer.get(..count).unwrap_or_default()),
            Err(_) => return false,
        }
    }
}

async fn discard(mut pipe: Output) {
    let mut buffer = vec![0; BUFFER];
    while matches!(pipe.read(&mut buffer).await, Ok(count) if count > 0) {}
}

#[cfg(unix)]
fn ending(status: ExitStatus) -> Ending {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or_default()),
    }
}

#[cfg(not(unix))]
fn ending(status: ExitStatus) -> Ending {
    Ending::Exited(status.code().unwrap_or(-1))
}

/// Unique among all commands of all our processes on this machine.
fn fresh_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format!("{}-{count}-{}", std::process::id(), now.as_nanos())
}

/// The folder to run in, links resolved. The error completes "failed to run the command: ".
fn working_folder(root: &Path, cwd: Option<&RelPath>) -> Result<PathBuf, String> {
    let real_root = root.canonicalize().map_err(|error| {
        format!(
            "the workspace folder `{}` cannot be opened: {error}",
            root.display()
        )
    })?;
    let Some(cwd) = cwd else {
        return Ok(real_root);
    };
    let folder = real_root
        .join(cwd.as_str())
        .canonicalize()
        .map_err(|error| format!("the working folder `{cwd}` cannot be opened: {error}"))?;
    // By component: `app-old` is not inside `app`.
    if !folder.starts_with(&real_root) {
        return Err(format!(
            "the working folder `{cwd}` is a link that leads outside the workspace, to `{}`; choose a folder inside",
            folder.display()
        ));
    }
    if !folder.is_dir() {
        return Err(format!("the working folder `{cwd}` is not a folder"));
    }
    Ok(folder)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
