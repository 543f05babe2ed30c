//! Starts a shell command on Unix: in a session of its own, with one pipe for both of its outputs.

use std::io;
use std::path::Path;
use std::process::Stdio;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::io::Errno;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

pub type Child = Box<dyn ChildWrapper>;

/// Starts `line`. A session of its own is more than a process group: without a controlling terminal nothing can ask for a
/// password on `/dev/tty`, or be stopped for trying to read from it.
pub fn spawn(
    line: &str,
    folder: &Path,
    environment: &[(&str, &str)],
) -> io::Result<(Child, Output)> {
    // One pipe for both: the order of arrival is then the order of writing.
    let (reader, writer) = io::pipe()?;
    let mut command = CommandWrap::with_new("sh", |command| {
        command.arg("-c").arg(line);
        command
            .current_dir(folder)
            .envs(environment.iter().copied());
        command.stdin(Stdio::null());
    });
    command
        .command_mut()
        .stdout(writer.try_clone()?)
        .stderr(writer);
    command.wrap(ProcessSession);
    // The wrapper would wait for the whole group; a command has ended when its first process has.
    let child = command.spawn()?.into_inner();
    // With it goes our end of the writing side: the pipe ends when the last process has closed it.
    drop(command);
    let output = Output(pipe::Receiver::from_owned_fd(reader.into())?);
    Ok((child, output))
}

/// What the command and everything it started print.
#[derive(Debug)]
pub struct Output(pipe::Receiver);

impl Output {
    /// Waits for bytes; 0 when nobody can write any more.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).await
    }

    /// What is in the pipe already, without waiting and without asking the runtime whether it has noticed; `None` when it is empty.
    pub fn read_now(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match rustix::io::read(&self.0, &mut *buffer) {
                Ok(count) => return Ok(Some(count)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
