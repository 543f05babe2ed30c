//! `cargo check` as a gate: where it runs, how it is called, what its statuses mean.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::facts::{Evidence, Facts};
use super::kinds::Kind;
use super::run::ToolCommand;
use super::text::hash_of;
use crate::kernel::path::RelPath;

const TIMEOUT: Duration = Duration::from_secs(900);
const MAX_OUTPUT: usize = 64 * 1024 * 1024;

/// The folders whose `Cargo.toml` covers the changed files: for each file the outermost manifest above it that begins a
/// cargo workspace, else the nearest one. With no files: the root's own, else those one level below.
pub fn roots(workspace: &Path, changed: &[RelPath]) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    let mut add = |root: PathBuf| {
        if !roots.contains(&root) {
            roots.push(root);
        }
    };
    for path in changed {
        if let Some(root) = root_of(workspace, path) {
            add(root);
        }
    }
    if roots.is_empty() && workspace.join("Cargo.toml").is_file() {
        roots.push(workspace.to_owned());
    }
    if roots.is_empty() && changed.is_empty() {
        let mut below: Vec<PathBuf> = std::fs::read_dir(workspace)
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .filter(|folder| folder.join("Cargo.toml").is_file())
            .collect();
        below.sort();
        roots = below;
    }
    roots
}

fn root_of(workspace: &Path, path: &RelPath) -> Option<PathBuf> {
    let mut folder = workspace.to_owned();
    let mut nearest = None;
    let names: Vec<&str> = path.components().collect();
    let folders = names.split_last().map_or(&[][..], |(_, folders)| folders);
    let mut steps = folders.iter();
    loop {
        let manifest = folder.join("Cargo.toml");
        if manifest.is_file() {
            if begins_workspace(&manifest) {
                return Some(folder);
            }
            nearest = Some(folder.clone());
        }
        match steps.next() {
            Some(name) => folder.push(name),
            None => return nearest,
        }
    }
}

fn begins_workspace(manifest: &Path) -> bool {
    std::fs::read_to_string(manifest).is_ok_and(|text| {
        text.lines()
            .any(|line| line.trim_start().starts_with("[workspace"))
    })
}

/// The command for one root, without arguments. The target folder is ours, so that neither the user's builds nor rust-analyzer wait for us.
pub fn command(program: PathBuf, root: &Path, cache: &Path) -> ToolCommand {
    let name = hash_of(root.to_string_lossy().as_bytes());
    let target = cache.join("cargo-target").join(name.short());
    ToolCommand {
        program,
        args: Vec::new(),
        cwd: root.to_owned(),
        env: vec![(
            "CARGO_TARGET_DIR".to_owned(),
            Some(target.to_string_lossy().into_owned()),
        )],
        timeout: TIMEOUT,
        max_output: MAX_OUTPUT,
    }
}

/// Has cargo start our program in place of each test program. A runner that the project sets for its target goes before it.
pub fn test_runner(own: &std::path::Path) -> [String; 2] {
    let program = serde_json::Value::from(own.to_string_lossy());
    let setting = format!("target.'cfg(all())'.runner=[{program}, \"test-runner\"]");
    ["--config".to_owned(), setting]
}

/// One of cargo's gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CargoGate {
    pub tool: &'static str,
    pub kind: Kind,
    pub args: Vec<String>,
}

/// The gates of one cargo root: `clippy` instead of `check` where the project uses it, the layout where the project has
/// rules for it or checks it, the tests where there are any.
pub fn gates(facts: &Facts, clippy_installed: bool) -> Vec<CargoGate> {
    let gate = |tool, kind, args: &[&str]| CargoGate {
        tool,
        kind,
        args: args.iter().map(|word| (*word).to_owned()).collect(),
    };
    let whole = [
        "--workspace",
        "--all-targets",
        "--keep-going",
        "--message-format",
        "json",
    ];
    let uses_clippy = clippy_installed
        && facts
            .first(&[
                Evidence::File(&["clippy.toml", ".clippy.toml"]),
                Evidence::Text("Cargo.toml", "lints.clippy"),
                Evidence::Ci("clippy"),
            ])
            .is_some();
    let mut gates = Vec::new();
    if uses_clippy {
        gates.push(gate(
            "clippy",
            Kind::Types,
            &[&["clippy"][..], &whole].concat(),
        ));
    } else {
        gates.push(gate(
            "cargo-check",
            Kind::Types,
            &[&["check"][..], &whole].concat(),
        ));
    }
    let lays_out = facts.first(&[
        Evidence::File(&["rustfmt.toml", ".rustfmt.toml"]),
        Evidence::Ci("rustfmt"),
        Evidence::Ci("cargo fmt"),
    ]);
    if lays_out.is_some() {
        gates.push(gate(
            "rustfmt",
            Kind::Layout,
            &["fmt", "--check", "--all", "--", "--color", "never"],
        ));
    }
    if has_tests(facts.root()) {
        gates.push(gate(
            "cargo-test",
            Kind::Tests,
            &[
                "test",
                "--workspace",
                "--no-fail-fast",
                "--message-format",
                "json",
            ],
        ));
    }
    gates
}

/// Whether any Rust file below `root` has a test.
fn has_tests(root: &Path) -> bool {
    ignore::WalkBuilder::new(root)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != "target")
        .build()
        .flatten()
        .filter(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|ending| ending == "rs")
        })
        .take(5000)
        .any(|entry| {
            std::fs::read(entry.path())
                .is_ok_and(|text| text.windows(7).any(|window| window == b"#[test]"))
        })
}

/// Gates that let cargo resolve dependencies, and so may leave a lock file.
pub fn may_write_lock_file(tool: &str) -> bool {
    matches!(tool, "cargo-check" | "clippy" | "cargo-test" | "nextest")
}

/// Keeps a check from leaving a `Cargo.lock` in a project that has none.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    was_there: bool,
}

impl LockFile {
    pub fn watch(root: &Path) -> Self {
        let path = root.join("Cargo.lock");
        let was_there = path.symlink_metadata().is_ok();
        Self { path, was_there }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if !self.was_there {
            // Nothing to do about a failure: the file is cargo's own and harmless.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_root_or_the_workspace_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, text) in [
            ("one/Cargo.toml", "[package]"),
            ("one/src/lib.rs", ""),
            ("two/Cargo.toml", "[workspace]\nmembers = ['m']"),
            ("two/m/Cargo.toml", "[package]"),
            ("docs/x.md", ""),
        ] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = |paths: &[&str]| -> Vec<String> {
            let paths: Vec<RelPath> = paths
                .iter()
                .map(|path| RelPath::parse(path).unwrap())
                .collect();
            roots(root, &paths)
                .iter()
                .map(|found| {
                    found
                        .strip_prefix(root)
                        .unwrap()
                        .to_string_lossy()
                        .into_owned()
                })
                .collect()
        };
        assert_eq!(
            found(&["one/src/lib.rs", "two/m/src/x.rs", "two/y"]),
            ["one", "two"]
        );
        assert_eq!(found(&["docs/x.md"]), [""; 0]);
        assert_eq!(found(&[]), ["one", "two"]);
    }
}
