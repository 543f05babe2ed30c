//! What a project's own files say about the tools it uses: the evidence that gates are detected by.
//!
//! A tool that merely happens to be on the PATH is none of the project's. Reads small files only, and runs nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Larger files are no configuration.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// One kind of evidence.
#[derive(Debug, Clone, Copy)]
pub enum Evidence {
    /// One of these files is in the root.
    File(&'static [&'static str]),
    /// A file of the root holds this text.
    Text(&'static str, &'static str),
    /// A Python dependency, or a package of a Python lock file.
    Python(&'static str),
    /// A dependency in `package.json`.
    Node(&'static str),
    /// A script of `package.json` that calls it.
    Script(&'static str),
    /// A step of CI or a pre-commit hook names it.
    Ci(&'static str),
}

impl std::fmt::Display for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(names) => f.write_str(&names.join(" or ")),
            Self::Text(file, text) => write!(f, "`{text}` in {file}"),
            Self::Python(name) => write!(f, "the Python dependency {name}"),
            Self::Node(name) => write!(f, "{name} in package.json"),
            Self::Script(word) => write!(f, "a script of package.json with `{word}`"),
            Self::Ci(word) => write!(f, "`{word}` in CI or pre-commit"),
        }
    }
}

/// The facts of one project root.
#[derive(Debug)]
pub struct Facts {
    root: PathBuf,
    workspace: PathBuf,
    texts: RefCell<HashMap<PathBuf, String>>,
}

impl Facts {
    /// `root` lies in `workspace`, or is it.
    pub fn new(workspace: &Path, root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            workspace: workspace.to_owned(),
            texts: RefCell::default(),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The first evidence that holds, in words.
    pub fn first(&self, evidence: &[Evidence]) -> Option<String> {
        evidence.iter().find_map(|evidence| self.check(*evidence))
    }

    /// Whether a file of the root holds a text.
    pub fn has_text(&self, file: &str, text: &str) -> bool {
        self.text(&self.root.join(file)).contains(text)
    }

    pub fn has_file(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.root.join(name).is_file())
    }

    fn check(&self, evidence: Evidence) -> Option<String> {
        match evidence {
            Evidence::File(names) => names
                .iter()
                .find(|name| self.root.join(name).is_file())
                .map(|name| format!("{name} is there")),
            Evidence::Text(file, text) => self
                .has_text(file, text)
                .then(|| format!("{file} has {text}")),
            Evidence::Python(name) => self.python(name),
            Evidence::Node(name) => self
                .package()
                .is_some_and(|package| node_dependency(&package, name))
                .then(|| format!("package.json depends on {name}")),
            Evidence::Script(word) => {
                let package = self.package()?;
                let scripts = package.get("scripts")?.as_object()?;
                let (script, _) = scripts.iter().find(|(_, command)| {
                    command.as_str().is_some_and(|text| text.contains(word))
                })?;
                Some(format!("the script `{script}` of package.json calls it"))
            }
            Evidence::Ci(word) => self.ci(word),
        }
    }

    fn python(&self, name: &str) -> Option<String> {
        for file in [
            "pyproject.toml",
            "requirements.txt",
            "requirements-dev.txt",
            "dev-requirements.txt",
            "requirements/dev.txt",
            "setup.cfg",
            "setup.py",
            "Pipfile",
            "tox.ini",
            "noxfile.py",
        ] {
            if names_package(&self.text(&self.root.join(file)), name) {
                return Some(format!("{file} names {name}"));
            }
        }
        ["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"]
            .into_iter()
            .find(|file| {
                let text = self.text(&self.root.join(file));
                text.contains(&format!("name = \"{name}\""))
                    || text.contains(&format!("\"{name}\": {{"))
            })
            .map(|file| format!("{file} holds {name}"))
    }

    fn package(&self) -> Option<serde_json::Value> {
        serde_json::from_str(&self.text(&self.root.join("package.json"))).ok()
    }

    fn ci(&self, word: &str) -> Option<String> {
        let mut files: Vec<PathBuf> = [
            ".pre-commit-config.yaml",
            ".gitlab-ci.yml",
            "lefthook.yml",
            "Makefile",
            "justfile",
        ]
        .iter()
        .map(|name| self.workspace.join(name))
        .collect();
        if let Ok(entries) = std::fs::read_dir(self.workspace.join(".github/workflows")) {
            files.extend(entries.flatten().map(|entry| entry.path()));
        }
        files.iter().find_map(|file| {
            let found = self
                .text(file)
                .lines()
                .filter(|line| !line.trim_start().starts_with('#'))
                .any(|line| has_word(line, word));
            let name = file.strip_prefix(&self.workspace).unwrap_or(file);
            found.then(|| format!("{} calls it", name.display()))
        })
    }

    fn text(&self, path: &Path) -> String {
        if let Some(known) = self.texts.borrow().get(path) {
            return known.clone();
        }
        let fits =
            std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES);
        let text = if fits {
            std::fs::read(path)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .unwrap_or_default()
        } else {
            String::new()
        };
        self.texts
            .borrow_mut()
            .insert(path.to_owned(), text.clone());
        text
    }
}

fn node_dependency(package: &serde_json::Value, name: &str) -> bool {
    ["dependencies", "devDependencies", "optionalDependencies"]
        .iter()
        .any(|kind| package.get(kind).and_then(|deps| deps.get(name)).is_some())
}

/// A requirement: the name as a word, outside of comments, not a part of a longer name.
fn names_package(text: &str, name: &str) -> bool {
    text.lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .any(|line| has_word(line, name))
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole() {
        assert!(has_word("  \"ruff>=0.5\",", "ruff"));
        assert!(has_word("run: uvx ruff check", "ruff"));
        assert!(!has_word("ruff-lsp", "ruff"));
        assert!(!has_word("truff", "ruff"));
    }

    #[test]
    fn a_project_shows_what_it_uses() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "pyproject.toml",
            "[tool.mypy]\n[dependency-groups]\ndev = [\"pytest>=8\"]\n# flake8\n",
        );
        write(
            "package.json",
            r#"{"devDependencies":{"eslint":"9"},"scripts":{"test":"node --test"}}"#,
        );
        write(".github/workflows/ci.yml", "run: shellcheck *.sh\n");
        let facts = Facts::new(folder.path(), folder.path());
        let holds = |evidence| facts.first(&[evidence]).is_some();
        assert!(holds(Evidence::Text("pyproject.toml", "[tool.mypy]")));
        assert!(holds(Evidence::Python("pytest")));
        assert!(
            !holds(Evidence::Python("flake8")),
            "a comment is no evidence"
        );
        assert!(holds(Evidence::Node("eslint")));
        assert!(holds(Evidence::Script("node --test")));
        assert!(holds(Evidence::Ci("shellcheck")));
        assert!(!holds(Evidence::Node("vitest")));
        assert!(!holds(Evidence::File(&["ruff.toml"])));
    }
}
