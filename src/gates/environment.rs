//! The environment of tools: nothing in it may colour, page, redirect or reconfigure a report.

use std::path::Path;
use std::process::Command;

/// Variables that change what a tool prints, or where.
const REMOVED: [&str; 22] = [
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "CLICOLOR",
    "MYPY_FORCE_COLOR",
    "PY_COLORS",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "GCC_COLORS",
    "GCC_EXTRA_DIAGNOSTIC_OUTPUT",
    "EXPERIMENTAL_SARIF_SOCKET",
    "NODE_OPTIONS",
    "NODE_TEST_CONTEXT",
    "ESLINT_FLAGS",
    "BIOME_CONFIG_PATH",
    "RUST_TEST_THREADS",
    "RUST_TEST_NOCAPTURE",
    "RUST_TEST_SHUFFLE",
    "RUSTC_LOG",
    "CARGO_TERM_PROGRESS_WHEN",
    "CARGO_TERM_VERBOSE",
    "CARGO_TERM_QUIET",
    // Of an outer `cargo run`, about another package.
    "CARGO_MANIFEST_DIR",
];

/// Families of such variables.
const REMOVED_PREFIXES: [&str; 3] = ["RUFF_", "SHELLCHECK_OPTS", "NEXTEST_"];

const SET: [(&str, &str); 9] = [
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("CARGO_TERM_COLOR", "never"),
    ("CI", "1"),
    ("LC_ALL", "C.UTF-8"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONUNBUFFERED", "1"),
    ("RUST_BACKTRACE", "0"),
    // A gate checks; it never installs a toolchain that a project asks for.
    ("RUSTUP_AUTO_INSTALL", "0"),
];

/// Makes the environment of `command` that of a gate which runs in `cwd`.
pub fn clean(command: &mut Command, cwd: &Path) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if REMOVED.contains(&text.as_ref())
            || REMOVED_PREFIXES
                .iter()
                .any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
    for (name, value) in SET {
        command.env(name, value);
    }
    // A shell's `PWD` may name a link or another folder; tools believe it.
    command.env("PWD", cwd);
    // Go must not touch go.mod; what the user set besides stays.
    let flags = std::env::var("GOFLAGS").unwrap_or_default();
    if !flags.contains("-mod=") {
        command.env("GOFLAGS", format!("{flags} -mod=readonly").trim_start());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn colours_are_off_and_the_folder_is_right() {
        let mut command = Command::new("x");
        clean(&mut command, Path::new("/w"));
        let get = |name: &str| {
            command
                .get_envs()
                .find(|(known, _)| *known == OsStr::new(name))
                .and_then(|(_, value)| value)
        };
        assert_eq!(get("NO_COLOR"), Some(OsStr::new("1")));
        assert_eq!(get("PWD"), Some(OsStr::new("/w")));
        assert!(get("GOFLAGS").is_some_and(|flags| flags.to_string_lossy().contains("-mod=")));
    }
}
