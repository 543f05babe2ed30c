//! Ends commands whose sidecar was killed: a small shell that outlives us by a moment.
//!
//! We hold one end of its input and tell it which commands run. When that end closes, and the system closes it however we
//! die, it ends those that are left. It starts with the first command and is gone with us.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::processes::Mark;

/// Asks first, then kills: the groups, and whoever left them and still carries the mark in its environment.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
list=
while read -r sign leader mark; do
    case $sign in
        +) list="$list $leader:$mark" ;;
        -)
            rest=
            for entry in $list; do
                [ "${entry%%:*}" = "$leader" ] || rest="$rest $entry"
            done
            list=$rest
            ;;
    esac
done
for signal in TERM CONT KILL; do
    for entry in $list; do
        kill -s "$signal" -- "-${entry%%:*}" 2>/dev/null
        for environment in /proc/[0-9]*/environ; do
            grep -qaF -- "${entry#*:}" "$environment" 2>/dev/null || continue
            process=${environment#/proc/}
            kill -s "$signal" "${process%/environ}" 2>/dev/null
        done
    done
    [ -z "$list" ] || [ "$signal" != CONT ] || sleep 0.3
done
"#;

static INPUT: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Before a command starts, so that it is not the watchdog's start that leaves it alone.
pub fn start() {
    if let Err(error) = with_input(|_| Ok(())) {
        tracing::warn!(
            "failed to watch over commands; killing the sidecar would leave them: {error}"
        );
    }
}

/// The command runs from now on.
pub fn watch(mark: &Mark) {
    tell(&format!("+ {} {}\n", mark.leader, mark.variable));
}

/// All its processes are gone.
pub fn forget(mark: &Mark) {
    tell(&format!("- {}\n", mark.leader));
}

fn tell(line: &str) {
    let told = with_input(|input| input.write_all(line.as_bytes()));
    if let Err(error) = told {
        tracing::debug!("the watchdog of commands does not listen: {error}");
    }
}

fn with_input(act: impl FnOnce(&mut ChildStdin) -> io::Result<()>) -> io::Result<()> {
    // Whole lines only are written, so a panic elsewhere spoils nothing.
    let mut input = INPUT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut open = match input.take() {
        Some(open) => open,
        None => spawn()?,
    };
    act(&mut open)?;
    *input = Some(open);
    Ok(())
}

fn spawn() -> io::Result<ChildStdin> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", SCRIPT])
        // A signal to our group is not for it.
        .process_group(0)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    child
        .stdin
        .take()
        .ok_or_else(|| io::ErrorKind::BrokenPipe.into())
}
