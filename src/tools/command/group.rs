//! All processes of one command: seen, signalled and ended together.
//!
//! Ending works in a thread of its own, so that it needs no runtime and goes on when the future that ran the command is gone.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::processes::{self, Mark, Process};
use super::watchdog;

/// How long processes may take to leave after SIGTERM.
const GRACE: Duration = Duration::from_millis(300);
/// How long we repeat SIGKILL. With the grace this stays well within the second that a cancelled run may take.
const KILLING: Duration = Duration::from_millis(400);
/// Between two looks at what is left.
const LOOK: Duration = Duration::from_millis(5);

/// The processes of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    mark: Mark,
}

impl Group {
    pub fn new(mark: Mark) -> Self {
        watchdog::watch(&mark);
        Self { mark }
    }

    /// All its processes have ended.
    pub fn is_gone(&self) {
        watchdog::forget(&self.mark);
    }

    /// Those that live now.
    pub fn processes(&self) -> Vec<Process> {
        processes::of(&self.mark)
    }

    /// SIGKILL at once, without waiting for the end.
    pub fn kill_now(&self) {
        self.signal(Signal::KILL, &self.processes());
    }

    /// Asks all processes to leave and kills those that do not, then calls `ended` with those that even that did not end
    /// (such as a process in an uninterruptible system call). Returns at once.
    pub fn end(self, ended: impl FnOnce(Vec<Process>) + Send + 'static) {
        // Sent from here, not from the thread: it holds even if this process leaves right now.
        let living = self.processes();
        self.signal(Signal::TERM, &living);
        // A stopped process hears SIGTERM only when it goes on.
        self.signal(Signal::CONT, &living);
        let group = self.clone();
        let spawned = std::thread::Builder::new()
            .name("end-command".to_owned())
            .spawn(move || {
                let left = group.wait_and_kill();
                if left.is_empty() {
                    group.is_gone();
                }
                ended(left);
            });
        if spawned.is_err() {
            self.kill_now();
        }
    }

    fn wait_and_kill(&self) -> Vec<Process> {
        let started = Instant::now();
        loop {
            let living = self.processes();
            if living.is_empty() || started.elapsed() >= GRACE + KILLING {
                return living;
            }
            if started.elapsed() >= GRACE {
                // Again at each look: a process may have started another one between two looks.
                self.signal(Signal::KILL, &living);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The group first, in one system call that no fork can escape, then whoever left the group: each gets the signal once,
    /// since a second request to leave means "at once" to many programs. Nothing is sent to a group
    /// of which no process was seen: its number may by now belong to somebody else.
    fn signal(&self, signal: Signal, living: &[Process]) {
        if living.is_empty() {
            return;
        }
        if let Some(leader) = Pid::from_raw(self.mark.leader) {
            // Gone between the look and the signal is what we wanted.
            let _: Result<(), Errno> = kill_process_group(leader, signal);
        }
        for pid in living
            .iter()
            .filter(|process| process.group != self.mark.leader)
            .filter_map(|process| Pid::from_raw(process.pid))
        {
            let _: Result<(), Errno> = kill_process(pid, signal);
        }
    }
}
