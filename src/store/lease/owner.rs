//! Looks at processes: this one, and whether another one still lives.

use std::collections::HashMap;
use std::time::Instant;

use super::{Owner, Sight};

impl Owner {
    /// This process.
    pub fn of_this_process() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            // Where the system does not tell, the heartbeat has to do.
            started: start_of(pid).unwrap_or_default(),
            machine: machine(),
        }
    }
}

/// Sees owners, and remembers since when it has heard nothing new of those it cannot look at.
#[derive(Debug, Default)]
pub struct Observer {
    heard: HashMap<(u32, String, String), (i64, Instant)>,
}

impl Observer {
    /// `heartbeat` is what the owner wrote last; only whether it changes counts.
    pub fn see(&mut self, owner: &Owner, heartbeat: i64) -> Sight {
        if owner.machine == machine() && !owner.started.is_empty() {
            return match start_of(owner.pid) {
                Some(start) if start == owner.started => Sight::Alive,
                Some(_) | None => Sight::Gone,
            };
        }
        let now = Instant::now();
        let key = (owner.pid, owner.started.clone(), owner.machine.clone());
        let (last, since) = self.heard.entry(key).or_insert((heartbeat, now));
        if *last != heartbeat {
            (*last, *since) = (heartbeat, now);
        }
        let silent = now.duration_since(*since).as_millis();
        Sight::Hidden {
            silent_ms: u64::try_from(silent).unwrap_or(u64::MAX),
        }
    }
}

/// When a process started; `None` when there is no such process, or only its remains.
#[cfg(target_os = "linux")]
fn start_of(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; after it come state (field 3) and, as field 22, the start in ticks.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| start.to_owned())
}

#[cfg(all(unix, not(target_os = "linux")))]
fn start_of(pid: u32) -> Option<String> {
    let listing = std::process::Command::new("ps")
        .args(["-o", "lstart=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let start = String::from_utf8(listing.stdout).ok()?.trim().to_owned();
    (!start.is_empty()).then_some(start)
}

#[cfg(not(unix))]
fn start_of(_pid: u32) -> Option<String> {
    None
}

/// The machine and its boot. After a boot all its processes are others.
fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    #[cfg(unix)]
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    format!("{name} {}", boot.trim())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn of(pid: u32) -> Owner {
        Owner {
            pid,
            started: start_of(pid).unwrap(),
            machine: machine(),
        }
    }

    #[test]
    fn a_process_is_seen_until_it_is_gone() {
        let mut observer = Observer::default();
        let own = Owner::of_this_process();
        assert_eq!(observer.see(&own, 0), Sight::Alive);
        // Somebody else now has that number.
        let former = Owner {
            started: "1".to_owned(),
            ..own
        };
        assert_eq!(observer.see(&former, 0), Sight::Gone);

        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let owner = of(child.id());
        assert_eq!(observer.see(&owner, 0), Sight::Alive);
        child.kill().unwrap();
        // Dead already, though nobody has asked for its exit status yet: its remains are no owner.
        let started = Instant::now();
        while observer.see(&owner, 0) != Sight::Gone {
            assert!(started.elapsed().as_secs() < 10);
        }
        child.wait().unwrap();
        assert_eq!(observer.see(&owner, 0), Sight::Gone);
    }

    #[test]
    fn an_owner_elsewhere_is_judged_by_its_heartbeat() {
        let mut observer = Observer::default();
        let owner = Owner {
            machine: "elsewhere boot".to_owned(),
            ..Owner::of_this_process()
        };
        // Whatever its clock says, and even when it jumps back: a new number is a sign of life.
        for heartbeat in [5, i64::MAX, 3, -7] {
            let sight = observer.see(&owner, heartbeat);
            assert!(
                matches!(sight, Sight::Hidden { silent_ms } if silent_ms < 1000),
                "{sight:?}"
            );
        }
    }
}
