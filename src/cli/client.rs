//! A client of a language server that runs as a child process: frames, JSON-RPC, and the end of the child.
//!
//! Promises: whatever the child sends arrives in order as [`Incoming`] on the one channel that the caller waits on, so
//! the caller never waits in two places; the child does not outlive its [`Client`].

mod frames;

use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

/// Lines of the child's standard error that are kept for an error message.
const KEPT_LINES: usize = 20;

/// What the child sends.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Reply {
        id: u64,
        outcome: Result<Value, Failure>,
    },
    /// Nothing more will come. The reason, where it is not simply the end.
    Gone {
        reason: Option<String>,
    },
}

/// A request that the server refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Error)]
#[error("{message} ({code})")]
pub struct Failure {
    pub code: i64,
    pub message: String,
}

/// A running child that is spoken to.
#[derive(Debug)]
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    last_id: u64,
    errors: Arc<Mutex<VecDeque<String>>>,
}

impl Client {
    /// Starts the child. `deliver` gets everything that it sends, from a thread of its own.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(
        mut command: Command,
        deliver: impl Fn(Incoming) + Send + 'static,
    ) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let errors = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || read_all(output, &deliver));
        }
        if let Some(output) = child.stderr.take() {
            let errors = Arc::clone(&errors);
            thread::spawn(move || keep_last_lines(output, &errors));
        }
        Ok(Self {
            input: child.stdin.take(),
            child,
            last_id: 0,
            errors,
        })
    }

    /// Sends a request; its reply will be delivered with the id that is given here.
    ///
    /// # Errors
    /// The child no longer reads.
    pub fn request(&mut self, method: &str, params: &Value) -> io::Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    /// # Errors
    /// The child no longer reads.
    pub fn notify(&mut self, method: &str, params: &Value) -> io::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    /// Answers a request of the child.
    ///
    /// # Errors
    /// The child no longer reads.
    pub fn reply(&mut self, id: &Value, outcome: Result<Value, Failure>) -> io::Result<()> {
        self.send(&match outcome {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(failure) => json!({
                "jsonrpc": "2.0", "id": id,
                "error": { "code": failure.code, "message": failure.message },
            }),
        })
    }

    /// The child's last words on standard error.
    pub fn last_words(&self) -> String {
        let lines = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Waits for the child's end, after closing its input. `None`: it did not end within `patience`, and is killed.
    ///
    /// # Errors
    /// The system cannot tell.
    pub fn end(mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        self.input = None;
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if started.elapsed() > patience {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let body = serde_json::to_vec(message)?;
        input.write_all(&frames::frame(&body))?;
        input.flush()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Ended already, or to be ended now: either way it is reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(output: impl Read, deliver: &impl Fn(Incoming)) {
    let mut output = BufReader::new(output);
    let reason = loop {
        let body = match frames::read(&mut output) {
            Ok(Some(body)) => body,
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        };
        match understand(&body) {
            Ok(incoming) => deliver(incoming),
            Err(why) => break Some(why),
        }
    };
    deliver(Incoming::Gone { reason });
}

fn understand(body: &[u8]) -> Result<Incoming, String> {
    #[derive(Deserialize)]
    struct Message {
        id: Option<Value>,
        method: Option<String>,
        #[serde(default)]
        params: Value,
        #[serde(default)]
        result: Value,
        error: Option<Failure>,
    }
    let message: Message = serde_json::from_slice(body)
        .map_err(|error| format!("it sent a message that is none: {error}"))?;
    match (message.method, message.id) {
        (Some(method), Some(id)) => Ok(Incoming::Request {
            id,
            method,
            params: message.params,
        }),
        (Some(method), None) => Ok(Incoming::Notification {
            method,
            params: message.params,
        }),
        (None, id) => {
            let id = id.and_then(|id| id.as_u64());
            Ok(Incoming::Reply {
                id: id.ok_or("it sent a reply to no request of ours")?,
                outcome: message.error.map_or(Ok(message.result), Err),
            })
        }
    }
}

fn keep_last_lines(output: impl Read, kept: &Mutex<VecDeque<String>>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while matches!(io::BufRead::read_until(&mut output, b'\n', &mut line), Ok(length) if length > 0)
    {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT_LINES {
            kept.pop_front();
        }
        kept.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let rows = [
            (
                json!({"jsonrpc": "2.0", "id": "a", "method": "m", "params": {"é": 1}}),
                Ok(Incoming::Request {
                    id: json!("a"),
                    method: "m".into(),
                    params: json!({"é": 1}),
                }),
            ),
            (
                json!({"method": "m"}),
                Ok(Incoming::Notification {
                    method: "m".into(),
                    params: Value::Null,
                }),
            ),
            (
                json!({"id": 7, "result": null}),
                Ok(Incoming::Reply {
                    id: 7,
                    outcome: Ok(Value::Null),
                }),
            ),
            (
                json!({"id": 7, "error": {"code": -1, "message": "no", "data": 1}}),
                Ok(Incoming::Reply {
                    id: 7,
                    outcome: Err(Failure {
                        code: -1,
                        message: "no".into(),
                    }),
                }),
            ),
            (
                json!({"result": 1}),
                Err("it sent a reply to no request of ours".to_owned()),
            ),
        ];
        for (message, want) in rows {
            assert_eq!(
                understand(message.to_string().as_bytes()),
                want,
                "{message}"
            );
        }
        assert!(understand(b"{").is_err());
    }
}
