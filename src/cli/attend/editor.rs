//! A text in the person's own editor.

use std::env;
use std::fs;
use std::io::Write;
use std::process::Command;

use anyhow::{Context, ensure};

/// Opens `text` in `$VISUAL` or `$EDITOR`, in a file whose name ends in `name`, and gives what was made of it. Blocks.
///
/// # Errors
/// No editor is named, it cannot be started, or it ended with a failure: then nothing was decided.
pub fn edit(name: &str, text: &str) -> anyhow::Result<String> {
    let editor = env::var("VISUAL")
        .or_else(|_| env::var("EDITOR"))
        .context("no editor is named; set VISUAL or EDITOR")?;
    // With its arguments, as shells and version control take it: `code --wait`.
    let mut words = editor.split_whitespace();
    let program = words.next().context("VISUAL or EDITOR is empty")?;
    let mut file = tempfile::Builder::new()
        .prefix("outrigger-")
        .suffix(&format!("-{name}"))
        .tempfile()
        .context("failed to make a temporary file")?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.flush())
        .context("failed to write a temporary file")?;
    let path = file.into_temp_path();
    let status = Command::new(program)
        .args(words)
        .arg(&path)
        .status()
        .with_context(|| format!("failed to start the editor `{editor}`"))?;
    ensure!(
        status.success(),
        "the editor ended with {status}, so nothing is taken"
    );
    fs::read_to_string(&path).context("failed to read the text back")
}
