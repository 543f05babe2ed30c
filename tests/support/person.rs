//! A person at a terminal: a real one, of the system, with nobody but the test in front of it.

use std::fs;
use std::process::Command;

/// A person at a terminal: types the answers, each when a prompt stands there. Gives all that was shown.
pub fn at_a_terminal(mut command: Command, answers: &[&str]) -> (Option<i32>, String) {
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;

    let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY;
    let person: OwnedFd = rustix::pty::openpt(flags).unwrap();
    rustix::pty::grantpt(&person).unwrap();
    rustix::pty::unlockpt(&person).unwrap();
    let name = rustix::pty::ptsname(&person, Vec::new()).unwrap();
    let terminal = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let mut child = command
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .stdin(terminal.try_clone().unwrap())
        .stdout(terminal.try_clone().unwrap())
        .stderr(terminal)
        .spawn()
        .unwrap();
    // The terminal's end is only seen when nobody holds it any more.
    drop(command);
    let mut person = fs::File::from(person);
    let mut shown = Vec::new();
    let mut bytes = [0; 4096];
    let mut answers = answers.iter();
    let mut prompts = 0;
    while let Ok(count @ 1..) = person.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..count]);
        let there = String::from_utf8_lossy(&shown).matches("\n  > ").count();
        while prompts < there {
            prompts += 1;
            if let Some(answer) = answers.next() {
                writeln!(person, "{answer}").unwrap();
            }
        }
    }
    let code = child.wait().unwrap().code();
    (code, String::from_utf8_lossy(&shown).into_owned())
}
