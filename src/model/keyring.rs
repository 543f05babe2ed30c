//! Keys from the OS keyring, by the platform's own tool: no library of ours holds them, nothing of them is written.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::secret::Secret;

/// A person may have to unlock the keyring.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than any key; more is not read.
const LONGEST: usize = 16 * 1024;

/// The command that prints a key, with `{provider}` for the provider's name. `None` where the platform has no such
/// tool. A key is stored by the same tool: `secret-tool store --label=outrigger service outrigger account anthropic`,
/// or `security add-generic-password -s outrigger -a anthropic -w`.
pub fn platform_command() -> Option<Vec<String>> {
    let words: &[&str] = if cfg!(target_os = "macos") {
        &[
            "security",
            "find-generic-password",
            "-s",
            "outrigger",
            "-a",
            "{provider}",
            "-w",
        ]
    } else if cfg!(target_os = "linux") {
        &[
            "secret-tool",
            "lookup",
            "service",
            "outrigger",
            "account",
            "{provider}",
        ]
    } else {
        return None;
    };
    Some(words.iter().map(|word| (*word).to_owned()).collect())
}

/// The key of a provider; `None` when the tool is missing, fails, prints nothing or takes too long.
pub async fn look_up(command: &[String], provider: &str) -> Option<Secret> {
    let mut words = command
        .iter()
        .map(|word| word.replace("{provider}", provider));
    let output = Command::new(words.next()?)
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(PATIENCE, output).await.ok()?.ok()?;
    if !output.status.success() || output.stdout.len() > LONGEST {
        return None;
    }
    Secret::new(std::str::from_utf8(&output.stdout).ok()?)
}
