//! What the model is told about a command that has ended. Pure.

use std::fmt::Write;
use std::time::Duration;

use super::processes::Process;
use crate::kernel::tool::ToolOutput;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It ran longer than it may and was stopped.
    TimedOut { limit_s: u64 },
}

/// All that is known at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub ending: Ending,
    pub took: Duration,
    /// The output as it is shown.
    pub output: String,
    /// Processes that the command left running.
    pub background: Vec<Process>,
}

impl Ended {
    pub fn into_tool_output(self) -> ToolOutput {
        let seconds = self.took.as_secs_f64();
        let mut text = match self.ending {
            Ending::Exited(status) => format!("exit status {status} after {seconds:.2} s"),
            Ending::Signalled(number) => {
                format!("ended by {} after {seconds:.2} s", signal_name(number))
            }
            Ending::TimedOut { limit_s } => {
                format!("stopped: it had not ended after {limit_s} s (`timeout_s`)")
            }
        };
        text.push('\n');
        let output = self.output.trim_end_matches(['\n', '\r']);
        if output.is_empty() {
            text.push_str("no output\n");
        } else {
            text.push_str("output:\n");
            text.push_str(output);
            text.push('\n');
        }
        if !self.background.is_empty() {
            text.push_str("still running in the background, until the run ends; what they print from now on is not kept:\n");
            for process in &self.background {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "  pid {}: {}", process.pid, process.command_line);
            }
        }
        ToolOutput {
            text,
            is_error: self.ending != Ending::Exited(0),
            seen: None,
        }
    }
}

/// A command that could not be run. `reason` completes "failed to run the command: ".
pub fn refusal(reason: &str) -> ToolOutput {
    ToolOutput {
        text: format!("failed to run the command: {reason}\n"),
        is_error: true,
        seen: None,
    }
}

/// Numbers that are the same on every Unix have their name.
fn signal_name(number: i32) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return format!("signal {number}"),
    };
    format!("signal {number} ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_told_in_words() {
        let cases = [
            (
                Ending::Exited(0),
                "",
                false,
                "exit status 0 after 1.50 s\nno output\n",
            ),
            (
                Ending::Exited(0),
                "a\n\nb\r\n\n",
                false,
                "exit status 0 after 1.50 s\noutput:\na\n\nb\n",
            ),
            (
                Ending::Exited(101),
                "boom",
                true,
                "exit status 101 after 1.50 s\noutput:\nboom\n",
            ),
            (
                Ending::Signalled(9),
                "",
                true,
                "ended by signal 9 (SIGKILL) after 1.50 s\nno output\n",
            ),
            (
                Ending::Signalled(64),
                "",
                true,
                "ended by signal 64 after 1.50 s\nno output\n",
            ),
            (
                Ending::TimedOut { limit_s: 120 },
                "so far",
                true,
                "stopped: it had not ended after 120 s (`timeout_s`)\noutput:\nso far\n",
            ),
        ];
        for (ending, output, is_error, want) in cases {
            let got = Ended {
                ending,
                took: Duration::from_millis(1500),
                output: output.to_owned(),
                background: Vec::new(),
            }
            .into_tool_output();
            assert_eq!((got.text.as_str(), got.is_error), (want, is_error));
        }
    }

    #[test]
    fn background_processes_are_listed() {
        let got = Ended {
            ending: Ending::Exited(0),
            took: Duration::ZERO,
            output: "up".to_owned(),
            background: vec![Process {
                pid: 7,
                group: 7,
                command_line: "server --port 1".to_owned(),
            }],
        }
        .into_tool_output();
        assert!(!got.is_error);
        assert!(
            got.text
                .ends_with("is not kept:\n  pid 7: server --port 1\n"),
            "{}",
            got.text
        );
    }
}
