//! Why the server ends, what its exit code is then, and how it hears of reasons that do not come through the stream.

use std::io::Write;
use std::time::Duration;

use super::framing::Fault;

/// A reason to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The editor sent `exit`.
    Exit { after_shutdown: bool },
    /// The editor closed our input.
    EndOfInput,
    /// The editor no longer takes our output; why.
    OutputClosed(String),
    /// The process that `initialize` named as our parent is gone.
    ParentDied,
    /// The input can no longer be cut into messages.
    Desynchronised(Fault),
    /// The operating system told us to end, by this signal.
    Signal(u8),
}

impl Ending {
    /// The process's exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Exit {
                after_shutdown: true,
            } => 0,
            Self::Exit {
                after_shutdown: false,
            }
            | Self::EndOfInput
            | Self::OutputClosed(_)
            | Self::ParentDied => 1,
            Self::Desynchronised(_) => 2,
            Self::Signal(number) => 128 + number,
        }
    }

    /// Says on stderr why, unless it is the usual end.
    pub(super) fn tell(&self) {
        let why = match self {
            Self::Exit { .. } | Self::EndOfInput => return,
            Self::OutputClosed(error) => format!("failed to write to the editor: {error}"),
            Self::ParentDied => "ended because the editor's process is gone".to_owned(),
            Self::Desynchronised(fault) => format!("failed to read from the editor: {fault}"),
            Self::Signal(number) => format!("ended by signal {number}"),
        };
        // With stderr closed there is nobody to tell.
        let _ = writeln!(std::io::stderr(), "outrigger: {why}");
    }
}

/// Looks at a process that cannot be waited for.
const POLL: Duration = Duration::from_millis(500);

/// Waits until the process is gone. For ever, if it is not there to begin with: its number then belongs to another
/// machine or container, and says nothing about the editor.
pub async fn died(process: u64) {
    if process_ended(process).await.is_none() {
        tracing::debug!(process, "not watching the parent: no such process here");
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
async fn process_ended(process: u64) -> Option<()> {
    use rustix::process::{Pid, test_kill_process};

    let pid = i32::try_from(process).ok().and_then(Pid::from_raw)?;
    #[cfg(target_os = "linux")]
    if let Some(()) = linux_process_ended(pid).await {
        return Some(());
    }
    // A process of another user exists although we may not signal it.
    let is_there = || !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH));
    if !is_there() {
        return None;
    }
    while is_there() {
        tokio::time::sleep(POLL).await;
    }
    Some(())
}

/// `None`: the system gives no handle for it.
#[cfg(target_os = "linux")]
async fn linux_process_ended(pid: rustix::process::Pid) -> Option<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{PidfdFlags, pidfd_open};

    let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let (sender, ended) = tokio::sync::oneshot::channel();
    let wait = move || {
        // The handle becomes readable when the process ends, also while nobody has collected its exit status.
        let mut handles = [PollFd::new(&handle, PollFlags::IN)];
        let result = loop {
            match poll(&mut handles, None) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other,
            }
        };
        if result.is_ok() {
            // Nobody listens when the server has ended already.
            let _ = sender.send(());
        }
    };
    // A thread of its own costs nothing while it waits, and the process does not wait for it.
    std::thread::Builder::new()
        .name("lsp-parent".into())
        .spawn(wait)
        .ok()?;
    ended.await.ok()
}

#[cfg(not(unix))]
async fn process_ended(_process: u64) -> Option<()> {
    // The end of the input tells of the editor's death here.
    None
}

/// Listens, from the call on, for the operating system to tell the process to end; gives the signal's number.
#[cfg(unix)]
pub fn told_to_end() -> impl Future<Output = u8> {
    use futures::future::{FutureExt, select_all};
    use tokio::signal::unix::{SignalKind, signal};

    let kinds = [
        (SignalKind::hangup(), 1),
        (SignalKind::interrupt(), 2),
        (SignalKind::terminate(), 15),
    ];
    let mut waits = Vec::new();
    for (kind, number) in kinds {
        // Without a handler the signal ends the process at once, as it does any other.
        if let Ok(mut stream) = signal(kind) {
            waits.push(async move { stream.recv().await.map(|()| number) }.boxed());
        }
    }
    async move {
        if !waits.is_empty()
            && let (Some(number), _, _) = select_all(waits).await
        {
            return number;
        }
        std::future::pending().await
    }
}

#[cfg(not(unix))]
pub fn told_to_end() -> impl Future<Output = u8> {
    async {
        match tokio::signal::ctrl_c().await {
            Ok(()) => 2,
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ending_has_its_exit_code() {
        let rows = [
            (
                Ending::Exit {
                    after_shutdown: true,
                },
                0,
            ),
            (
                Ending::Exit {
                    after_shutdown: false,
                },
                1,
            ),
            (Ending::EndOfInput, 1),
            (Ending::OutputClosed("broken pipe".into()), 1),
            (Ending::ParentDied, 1),
            (Ending::Desynchronised(Fault::NoLength), 2),
            (Ending::Signal(15), 143),
        ];
        for (ending, code) in rows {
            assert_eq!(ending.code(), code, "{ending:?}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn the_death_of_a_process_is_heard_before_it_is_collected() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let mut watch = Box::pin(died(u64::from(child.id())));
        assert!(futures::poll!(watch.as_mut()).is_pending());
        child.kill().unwrap();
        watch.await;
        child.wait().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_was_never_here_is_not_waited_for() {
        for process in [0, u64::MAX, 0x7fff_fffe] {
            let wait = tokio::time::timeout(Duration::from_secs(3600), died(process));
            assert!(wait.await.is_err(), "{process}");
        }
    }
}
