//! Starts and ends a shell command where there are no sessions and signals: by the platform's own shell and `taskkill`.
//!
//! Processes whose parent has ended are not found here: a command's background processes end by themselves.

use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdout, Command};

use super::processes::{Mark, Process};

pub type Child = tokio::process::Child;

pub fn spawn(
    line: &str,
    folder: &Path,
    environment: &[(&str, &str)],
) -> io::Result<(Child, Output)> {
    let mut command = Command::new("cmd");
    command.arg("/C");
    // `cmd` reads its line by its own rules; quoting it for a C program would change it.
    #[cfg(windows)]
    command.raw_arg(line);
    #[cfg(not(windows))]
    command.arg(line);
    command
        .current_dir(folder)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let output = Output {
        standard: child.stdout.take(),
        error: child.stderr.take(),
    };
    Ok((child, output))
}

/// What the command and everything it started print.
#[derive(Debug)]
pub struct Output {
    standard: Option<ChildStdout>,
    error: Option<ChildStderr>,
}

impl Output {
    /// Waits for bytes; 0 when nobody can write any more.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut other = vec![0; buffer.len()];
        loop {
            let (from_error, count) = match (&mut self.standard, &mut self.error) {
                (None, None) => return Ok(0),
                (Some(standard), None) => (false, standard.read(buffer).await?),
                (None, Some(error)) => (true, error.read(buffer).await?),
                (Some(standard), Some(error)) => tokio::select! {
                    count = standard.read(buffer) => (false, count?),
                    count = error.read(&mut other) => {
                        buffer.copy_from_slice(&other);
                        (true, count?)
                    }
                },
            };
            match (from_error, count) {
                (false, 0) => self.standard = None,
                (true, 0) => self.error = None,
                (_, count) => return Ok(count),
            }
        }
    }

    /// What has arrived cannot be told from what will arrive here: the caller waits a little.
    pub fn read_now(&mut self, _buffer: &mut [u8]) -> io::Result<Option<usize>> {
        Ok(None)
    }
}

/// The processes of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    mark: Mark,
}

impl Group {
    pub fn new(mark: Mark) -> Self {
        Self { mark }
    }

    pub fn processes(&self) -> Vec<Process> {
        Vec::new()
    }

    /// Ends the first process and all its descendants.
    pub fn kill_now(&self) {
        let _ = std::process::Command::new("taskkill")
            .args(["/T", "/F", "/PID", &self.mark.leader.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }

    pub fn end(self, ended: impl FnOnce(Vec<Process>) + Send + 'static) {
        self.kill_now();
        ended(Vec::new());
    }
}
