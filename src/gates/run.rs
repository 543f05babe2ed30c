//! Runs one tool: own process group, no stdin, both streams read side by side, a time limit that waiting for a lock does
//! not use up.
//!
//! Promises: dropping the future ends the whole process group, with SIGTERM and within half a second SIGKILL; after a
//! normal end nothing is killed (a tool may leave a daemon on purpose, as sccache does); memory is bounded by
//! [`ToolCommand::max_output`] per stream, and what does not fit is read and dropped so that the tool never blocks.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::Instant;

use super::output::{Exit, ToolOutput};

/// How long a leftover child of the tool may keep its streams open after the tool itself has ended.
const LINGER: Duration = Duration::from_millis(300);
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// What a tool prints while it waits for somebody else's lock.
const LOCK_WAITS: [&str; 2] = [
    "Blocking waiting for file lock",
    "parallel golangci-lint is running",
];

/// A command as it is started.
#[derive(Debug, Clone)]
pub struct ToolCommand {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub cwd: PathBuf,
    /// Set on top of the cleaned environment; `None` removes.
    pub env: Vec<(String, Option<String>)>,
    /// Time the tool may take, waiting for locks not counted.
    pub timeout: Duration,
    /// Bytes kept of each stream.
    pub max_output: usize,
}

impl ToolCommand {
    /// Program first, for people.
    pub fn argv(&self) -> Vec<String> {
        std::iter::once(self.program.to_string_lossy().into_owned())
            .chain(self.args.iter().cloned())
            .collect()
    }
}

/// Runs `command` to its end. `life` is called whenever something is heard of it.
pub async fn run(command: &ToolCommand, life: &(dyn Fn() + Send + Sync)) -> ToolOutput {
    let mut child = match start(command) {
        Ok(child) => child,
        Err(exit) => return ended(exit),
    };
    let mut group = ProcessGroup::of(child.id());
    let mut stdout = Stream::new(command.max_output);
    let mut stderr = Stream::new(command.max_output);
    let mut pipes = (child.stdout.take(), child.stderr.take());
    let mut budget = Budget::new(command.timeout);
    let mut exit = None;
    let mut linger_until = None;
    while !(exit.is_some() && pipes.0.is_none() && pipes.1.is_none()) {
        let wake = linger_until.unwrap_or_else(|| budget.deadline());
        tokio::select! {
            more = read(&mut pipes.0, &mut stdout) => {
                life();
                budget.heard();
                if !more { pipes.0 = None; }
            }
            more = read(&mut pipes.1, &mut stderr) => {
                life();
                budget.heard();
                if more && stderr.fresh_says(&LOCK_WAITS) { budget.pause(); }
                if !more { pipes.1 = None; }
            }
            status = child.wait(), if exit.is_none() => {
                group.forget();
                exit = Some(status.map_or_else(|error| Exit::NotStarted(error.to_string()), exit_of));
                linger_until = Some(Instant::now() + LINGER);
            }
            () = tokio::time::sleep_until(wake) => {
                if exit.is_some() { break; }
                if budget.is_used_up() {
                    let after_ms = u64::try_from(command.timeout.as_millis()).unwrap_or(u64::MAX);
                    exit = Some(Exit::TimedOut { after_ms });
                    break;
                }
            }
        }
    }
    // A group that was not forgotten is ended here.
    drop(group);
    ToolOutput {
        cut: stdout.cut || stderr.cut,
        stdout: stdout.kept,
        stderr: stderr.kept,
        exit: exit.unwrap_or(Exit::Signal(0)),
        artifacts: Vec::new(),
    }
}

fn ended(exit: Exit) -> ToolOutput {
    ToolOutput {
        stdout: Vec::new(),
        stderr: Vec::new(),
        exit,
        artifacts: Vec::new(),
        cut: false,
    }
}

fn start(command: &ToolCommand) -> Result<tokio::process::Child, Exit> {
    let mut process = Command::new(&command.program);
    process
        .args(&command.args)
        .current_dir(&command.cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    super::environment::clean(process.as_std_mut(), &command.cwd);
    for (name, value) in &command.env {
        match value {
            Some(value) => process.env(name, value),
            None => process.env_remove(name),
        };
    }
    #[cfg(unix)]
    process.process_group(0);
    #[cfg(not(unix))]
    process.kill_on_drop(true);
    process.spawn().map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound && command.cwd.is_dir() {
            Exit::NotFound
        } else {
            Exit::NotStarted(error.to_string())
        }
    })
}

fn exit_of(status: std::process::ExitStatus) -> Exit {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return Exit::Signal(signal);
        }
    }
    Exit::Code(status.code().unwrap_or(-1))
}

/// What is kept of one stream.
struct Stream {
    kept: Vec<u8>,
    fresh: usize,
    limit: usize,
    cut: bool,
}

impl Stream {
    fn new(limit: usize) -> Self {
        Self {
            kept: Vec::new(),
            fresh: 0,
            limit,
            cut: false,
        }
    }

    fn take(&mut self, chunk: &[u8]) {
        self.fresh = self.kept.len();
        let room = self.limit.saturating_sub(self.kept.len());
        let kept = chunk.get(..room.min(chunk.len())).unwrap_or_default();
        self.kept.extend_from_slice(kept);
        self.cut |= kept.len() < chunk.len();
    }

    /// Whether what came last holds one of `phrases`; a phrase that straddles two chunks is found through the overlap.
    fn fresh_says(&self, phrases: &[&str]) -> bool {
        let from = self.fresh.saturating_sub(64);
        let text = String::from_utf8_lossy(self.kept.get(from..).unwrap_or_default());
        phrases.iter().any(|phrase| {
            text.rfind(phrase).is_some_and(|at| {
                // Said, and nothing after it but the rest of that line.
                text.get(at..)
                    .is_some_and(|rest| rest.trim_end().lines().count() <= 1)
            })
        })
    }
}

/// Reads once; false at the end. Never ready for a stream that has ended.
async fn read<R: AsyncRead + Unpin>(pipe: &mut Option<R>, stream: &mut Stream) -> bool {
    let Some(pipe) = pipe else {
        return std::future::pending().await;
    };
    let mut chunk = [0; 16 * 1024];
    match pipe.read(&mut chunk).await {
        Ok(0) | Err(_) => false,
        Ok(length) => {
            stream.take(chunk.get(..length).unwrap_or_default());
            true
        }
    }
}

/// The time a tool has left, with pauses.
struct Budget {
    left: Duration,
    running_since: Option<Instant>,
}

impl Budget {
    fn new(left: Duration) -> Self {
        Self {
            left,
            running_since: Some(Instant::now()),
        }
    }

    fn pause(&mut self) {
        if let Some(since) = self.running_since.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
    }

    /// Any output means that the tool waits no longer.
    fn heard(&mut self) {
        self.running_since.get_or_insert_with(Instant::now);
    }

    fn deadline(&self) -> Instant {
        match self.running_since {
            Some(since) => since + self.left,
            // Paused: look again now and then.
            None => Instant::now() + Duration::from_secs(3600),
        }
    }

    fn is_used_up(&self) -> bool {
        self.running_since
            .is_some_and(|since| since.elapsed() >= self.left)
    }
}

/// How many tools whose future was dropped are still being ended.
static ENDING: LazyLock<watch::Sender<usize>> = LazyLock::new(watch::Sender::default);

/// Waits until the tools of all dropped futures are gone: before a cancel is acknowledged.
pub async fn settled() {
    // Fails only when the sender is gone, and it is static.
    let _ = ENDING.subscribe().wait_for(|count| *count == 0).await;
}

/// The processes of one tool. Ends them all when dropped, unless forgotten.
struct ProcessGroup {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl ProcessGroup {
    fn of(id: Option<u32>) -> Self {
        Self {
            id: id
                .and_then(|id| i32::try_from(id).ok())
                .and_then(rustix::process::Pid::from_raw),
        }
    }

    fn forget(&mut self) {
        self.id = None;
    }
}

#[cfg(unix)]
impl Drop for ProcessGroup {
    fn drop(&mut self) {
        use rustix::process::{Signal, kill_process_group, test_kill_process_group};
        let Some(id) = self.id.take() else { return };
        if kill_process_group(id, Signal::TERM).is_err() {
            return;
        }
        ENDING.send_modify(|count| *count += 1);
        // Not a task: the runtime may be going down, and the tool must go in any case.
        let waited = std::thread::Builder::new()
            .name("end-gate".to_owned())
            .spawn(move || {
                let step = Duration::from_millis(20);
                let mut waited = Duration::ZERO;
                while waited < GRACE && test_kill_process_group(id).is_ok() {
                    std::thread::sleep(step);
                    waited += step;
                }
                let _ = kill_process_group(id, Signal::KILL);
                ENDING.send_modify(|count| *count -= 1);
            });
        if waited.is_err() {
            let _ = kill_process_group(id, Signal::KILL);
            ENDING.send_modify(|count| *count -= 1);
        }
    }
}

#[cfg(not(unix))]
impl ProcessGroup {
    fn of(_id: Option<u32>) -> Self {
        Self {}
    }

    fn forget(&mut self) {}
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn shell(script: &str) -> ToolCommand {
        ToolCommand {
            program: "/bin/sh".into(),
            args: vec!["-c".to_owned(), script.to_owned()],
            cwd: std::env::temp_dir(),
            env: Vec::new(),
            timeout: Duration::from_secs(20),
            max_output: 1000,
        }
    }

    async fn until_gone(pid: i32) {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let deadline = Instant::now() + Duration::from_secs(1);
        while is_alive(pid) {
            assert!(Instant::now() < deadline, "it outlived its second");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// A zombie whose parent has not looked yet is dead.
    fn is_alive(pid: rustix::process::Pid) -> bool {
        if rustix::process::test_kill_process(pid).is_err() {
            return false;
        }
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid()));
        !stat.is_ok_and(|stat| {
            stat.rsplit(')')
                .next()
                .is_some_and(|rest| rest.trim_start().starts_with('Z'))
        })
    }

    #[tokio::test]
    async fn both_streams_the_status_and_life() {
        let heard = AtomicUsize::new(0);
        let output = run(&shell("echo out; echo err >&2; cat; exit 3"), &|| {
            heard.fetch_add(1, Ordering::Relaxed);
        })
        .await;
        assert_eq!(output.stdout, b"out\n");
        assert_eq!(output.stderr, b"err\n");
        assert_eq!(output.exit, Exit::Code(3));
        assert!(heard.load(Ordering::Relaxed) >= 2);
    }

    #[tokio::test]
    async fn output_without_end_is_cut_and_drained() {
        let output = run(&shell("head -c 300000 /dev/zero; echo done >&2"), &|| {}).await;
        assert_eq!(output.stdout.len(), 1000);
        assert!(output.cut);
        assert_eq!(output.stderr, b"done\n", "it was not blocked");
    }

    #[tokio::test]
    async fn signals_and_missing_programs() {
        assert_eq!(
            run(&shell("kill -SEGV $$"), &|| {}).await.exit,
            Exit::Signal(11)
        );
        let gone = ToolCommand {
            program: "/no/such/tool".into(),
            ..shell("")
        };
        assert_eq!(run(&gone, &|| {}).await.exit, Exit::NotFound);
    }

    #[tokio::test]
    async fn a_dropped_run_takes_its_children_along() {
        let folder = tempfile::tempdir().unwrap();
        // The shell ignores SIGTERM, and its child is a process of its own.
        let script =
            "trap '' TERM; sleep 600 & echo $! > child; echo $$ > self; echo go; wait; wait";
        let command = ToolCommand {
            cwd: folder.path().to_owned(),
            ..shell(script)
        };
        let (said, mut go) = tokio::sync::mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            run(&command, &move || {
                let _ = said.send(());
            })
            .await
        });
        go.recv().await.unwrap();
        let pid = |name: &str| {
            let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
            text.trim().parse::<i32>().unwrap()
        };
        let (child, itself) = (pid("child"), pid("self"));
        task.abort();
        until_gone(child).await;
        until_gone(itself).await;
    }

    #[tokio::test]
    async fn a_time_limit_ends_the_group() {
        let command = ToolCommand {
            timeout: Duration::from_millis(200),
            ..shell("echo $$; sleep 600")
        };
        let output = run(&command, &|| {}).await;
        assert_eq!(output.exit, Exit::TimedOut { after_ms: 200 });
        let pid = String::from_utf8(output.stdout).unwrap();
        until_gone(pid.trim().parse().unwrap()).await;
    }

    #[tokio::test]
    async fn waiting_for_a_lock_is_not_counted() {
        let script =
            "echo 'Blocking waiting for file lock on build directory' >&2; sleep 0.6; echo done";
        let command = ToolCommand {
            timeout: Duration::from_millis(300),
            ..shell(script)
        };
        assert_eq!(run(&command, &|| {}).await.exit, Exit::Code(0));
    }

    #[tokio::test]
    async fn a_leftover_child_does_not_hold_the_report() {
        let output = run(&shell("echo done; sleep 600 & echo $! >&2"), &|| {}).await;
        assert_eq!(output.exit, Exit::Code(0));
        assert_eq!(output.stdout, b"done\n");
        let pid: i32 = String::from_utf8(output.stderr)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        assert!(is_alive(pid), "a daemon is left alone");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}
