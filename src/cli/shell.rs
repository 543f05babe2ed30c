//! `outrigger completions` and `outrigger man`: what shells and `man` know of the commands.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use clap_complete::Shell;

use super::output::say;

/// Print the completions of a shell.
///
/// Examples:
///   outrigger completions bash > ~/.local/share/bash-completion/completions/outrigger
///   outrigger completions zsh > ~/.zfunc/_outrigger
///   outrigger completions fish > ~/.config/fish/completions/outrigger.fish
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CompletionsArguments {
    shell: Shell,
}

/// Write the man pages, one for each command, into a folder.
///
/// Examples:
///   outrigger man ~/.local/share/man/man1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ManArguments {
    folder: PathBuf,
}

pub fn completions(
    arguments: &CompletionsArguments,
    mut command: clap::Command,
) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(arguments.shell, &mut command, name, &mut text);
    say(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

pub fn man(arguments: &ManArguments, command: clap::Command) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .with_context(|| format!("failed to write the man pages into {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
