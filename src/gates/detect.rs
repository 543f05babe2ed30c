//! Which gates apply to which folders of a workspace: by evidence of use, nearest to each changed file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::disk::slashes;
use super::facts::{Evidence, Facts};
use super::kinds::{BUILTINS, Builtin, Ecosystem, Scope};
use crate::kernel::path::RelPath;

/// Folders looked at when the whole workspace is asked for.
const MAX_ROOTS: usize = 200;
const MAX_DEPTH: usize = 6;
/// Files named on one command line; more are checked as a folder.
const MAX_FILES: usize = 400;

/// A gate that applies.
#[derive(Clone)]
pub struct Applies {
    pub builtin: &'static Builtin,
    /// Where it runs.
    pub root: PathBuf,
    /// In words, for people.
    pub why: String,
    /// Relative to `root`; `.` for everything below it.
    pub files: Vec<String>,
}

/// The gates for these files; for the whole workspace when there are none. `wanted`: tools that run whether or not the
/// project shows that it uses them.
pub fn detect(workspace: &Path, changed: &[RelPath], wanted: &[String]) -> Vec<Applies> {
    let mut finder = Finder {
        workspace,
        facts: HashMap::new(),
    };
    let mut found = Vec::new();
    for builtin in BUILTINS {
        let before = found.len();
        if changed.is_empty() {
            finder.everywhere(builtin, &mut found);
        } else {
            finder.near(builtin, changed, &mut found);
        }
        if found.len() == before && wanted.iter().any(|name| name == builtin.tool) {
            finder.anyway(builtin, changed, &mut found);
        }
    }
    found
}

struct Finder<'a> {
    workspace: &'a Path,
    facts: HashMap<PathBuf, Rc<Facts>>,
}

impl Finder<'_> {
    fn facts(&mut self, folder: &Path) -> Rc<Facts> {
        let workspace = self.workspace;
        let facts = self
            .facts
            .entry(folder.to_owned())
            .or_insert_with(|| Rc::new(Facts::new(workspace, folder)));
        Rc::clone(facts)
    }

    /// For each changed file the nearest folder that shows use of the gate.
    fn near(&mut self, builtin: &'static Builtin, changed: &[RelPath], found: &mut Vec<Applies>) {
        let mut by_root: Vec<(PathBuf, String, Vec<String>)> = Vec::new();
        for path in changed {
            if !ends_so(path.name(), builtin.scope.endings()) {
                continue;
            }
            let Some((root, why)) = self.root_for(builtin, path) else {
                continue;
            };
            let file = self.workspace.join(path.as_str());
            let relative = file.strip_prefix(&root).map(slashes).unwrap_or_default();
            let exists = file.is_file();
            let slot = by_root.iter().position(|(known, ..)| *known == root);
            let slot = slot.unwrap_or_else(|| {
                by_root.push((root, why, Vec::new()));
                by_root.len() - 1
            });
            if let Some((.., files)) = by_root.get_mut(slot)
                && exists
                && !relative.is_empty()
            {
                files.push(argument(&relative));
            }
        }
        for (root, why, mut files) in by_root {
            match builtin.scope {
                Scope::Project(_) => files = Vec::new(),
                // Every one of them is gone.
                Scope::Files(_) | Scope::Listed(_) if files.is_empty() => continue,
                Scope::Files(_) if files.len() > MAX_FILES => files = vec![".".to_owned()],
                Scope::Files(_) | Scope::Listed(_) => {}
            }
            found.push(Applies {
                builtin,
                root,
                why,
                files,
            });
        }
    }

    fn root_for(&mut self, builtin: &Builtin, path: &RelPath) -> Option<(PathBuf, String)> {
        let mut folders = vec![self.workspace.to_owned()];
        let names: Vec<&str> = path.components().collect();
        for name in names.split_last().map_or(&[][..], |(_, folders)| folders) {
            let next = folders.last()?.join(name);
            folders.push(next);
        }
        let own: Vec<Evidence> = own_evidence(builtin);
        for folder in folders.iter().rev() {
            if let Some(why) = self.facts(folder).first(&own) {
                return Some((folder.clone(), why));
            }
        }
        // CI speaks for the workspace: the tool runs at the outermost root of its kind.
        let root = folders
            .iter()
            .find(|folder| self.is_root(folder, builtin.ecosystem))?
            .clone();
        let why = self.facts(&root).first(builtin.evidence)?;
        Some((root, why))
    }

    fn is_root(&self, folder: &Path, ecosystem: Ecosystem) -> bool {
        let markers = ecosystem.markers();
        markers.is_empty() && folder == self.workspace
            || markers.iter().any(|marker| folder.join(marker).is_file())
    }

    /// All roots of the workspace. A root below another one of the same gate is covered by it, but for tools that look at
    /// one project only.
    fn everywhere(&mut self, builtin: &'static Builtin, found: &mut Vec<Applies>) {
        let own = own_evidence(builtin);
        let mut roots: Vec<(PathBuf, String)> = Vec::new();
        for folder in self.folders(builtin.ecosystem) {
            let facts = self.facts(&folder);
            let why = facts.first(&own).or_else(|| {
                (folder == self.workspace)
                    .then(|| facts.first(builtin.evidence))
                    .flatten()
            });
            let Some(why) = why else { continue };
            let covered = roots.iter().any(|(outer, _)| folder.starts_with(outer));
            if !covered || builtin.ecosystem == Ecosystem::Go || builtin.tool == "tsc" {
                roots.push((folder, why));
            }
        }
        for (root, why) in roots {
            let files = match builtin.scope {
                Scope::Files(_) => vec![".".to_owned()],
                Scope::Project(_) => Vec::new(),
                Scope::Listed(endings) => listed(&root, endings),
            };
            if matches!(builtin.scope, Scope::Listed(_)) && files.is_empty() {
                continue;
            }
            found.push(Applies {
                builtin,
                root,
                why,
                files,
            });
        }
    }

    /// At the workspace's root, because the user says so.
    fn anyway(&self, builtin: &'static Builtin, changed: &[RelPath], found: &mut Vec<Applies>) {
        let endings = builtin.scope.endings();
        let changed: Vec<String> = changed
            .iter()
            .filter(|path| {
                ends_so(path.name(), endings) && self.workspace.join(path.as_str()).is_file()
            })
            .map(|path| argument(path.as_str()))
            .collect();
        let files = match builtin.scope {
            Scope::Project(_) => Vec::new(),
            Scope::Files(_) if changed.is_empty() => vec![".".to_owned()],
            Scope::Listed(_) if changed.is_empty() => listed(self.workspace, endings),
            Scope::Files(_) | Scope::Listed(_) => changed,
        };
        if matches!(builtin.scope, Scope::Listed(_)) && files.is_empty() {
            return;
        }
        found.push(Applies {
            builtin,
            root: self.workspace.to_owned(),
            why: "you ask for it".to_owned(),
            files,
        });
    }

    fn folders(&self, ecosystem: Ecosystem) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = walker(self.workspace)
            .max_depth(Some(MAX_DEPTH))
            .build()
            .flatten()
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_dir()))
            .map(ignore::DirEntry::into_path)
            .filter(|folder| self.is_root(folder, ecosystem))
            .take(MAX_ROOTS)
            .collect();
        folders.sort();
        folders
    }
}

fn own_evidence(builtin: &Builtin) -> Vec<Evidence> {
    builtin
        .evidence
        .iter()
        .copied()
        .filter(|evidence| !matches!(evidence, Evidence::Ci(_)))
        .collect()
}

pub fn walker(root: &Path) -> ignore::WalkBuilder {
    let mut walker = ignore::WalkBuilder::new(root);
    walker.require_git(false).filter_entry(|entry| {
        !matches!(
            entry.file_name().to_str(),
            Some("node_modules" | "target" | "venv" | "site-packages" | "vendor")
        )
    });
    walker
}

fn listed(root: &Path, endings: &[&str]) -> Vec<String> {
    walker(root)
        .build()
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter(|entry| {
            entry
                .file_name()
                .to_str()
                .is_some_and(|name| ends_so(name, endings))
        })
        .filter_map(|entry| entry.path().strip_prefix(root).map(slashes).ok())
        .map(|file| argument(&file))
        .take(MAX_FILES)
        .collect()
}

/// By ending, by whole name, or by a name before a dot (`Dockerfile.dev`).
fn ends_so(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| {
        name == *ending
            || name
                .strip_suffix(ending)
                .is_some_and(|before| before.ends_with('.') && before.len() > 1)
            || (ending.starts_with(char::is_uppercase)
                && name
                    .strip_prefix(ending)
                    .is_some_and(|after| after.starts_with('.')))
    })
}

/// A file name that no tool takes for an option.
pub fn argument(file: &str) -> String {
    if file.starts_with('-') {
        format!("./{file}")
    } else {
        file.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn found(folder: &tempfile::TempDir, changed: &[&str]) -> Vec<String> {
        let changed: Vec<RelPath> = changed
            .iter()
            .map(|path| RelPath::parse(path).unwrap())
            .collect();
        let mut found: Vec<String> = detect(folder.path(), &changed, &[])
            .into_iter()
            .map(|applies| {
                let root = applies.root.strip_prefix(folder.path()).unwrap();
                format!(
                    "{}@{}:{}",
                    applies.builtin.tool,
                    slashes(root),
                    applies.files.join(",")
                )
            })
            .collect();
        found.sort();
        found
    }

    #[test]
    fn a_monorepo_has_the_nearest_roots() {
        let folder = workspace(&[
            ("api/pyproject.toml", "[tool.ruff]\n[tool.mypy]\n"),
            ("api/src/a.py", ""),
            ("api/-x.py", ""),
            (
                "web/package.json",
                r#"{"devDependencies":{"eslint":"9","vitest":"1"}}"#,
            ),
            ("web/src/a.ts", ""),
            ("plain/b.py", ""),
            ("run.sh", ""),
            (".pre-commit-config.yaml", "- id: shellcheck\n"),
        ]);
        assert_eq!(
            found(
                &folder,
                &["api/src/a.py", "api/-x.py", "api/gone.py", "plain/b.py"]
            ),
            ["mypy@api:src/a.py,./-x.py", "ruff@api:src/a.py,./-x.py"]
        );
        assert_eq!(
            found(&folder, &["web/src/a.ts"]),
            ["eslint@web:src/a.ts", "vitest@web:"]
        );
        assert_eq!(found(&folder, &["run.sh"]), ["shellcheck@:run.sh"]);
        assert_eq!(found(&folder, &["plain/b.py"]), [""; 0]);
        assert_eq!(
            found(&folder, &[]),
            [
                "eslint@web:.",
                "mypy@api:.",
                "ruff@api:.",
                "shellcheck@:run.sh",
                "vitest@web:"
            ]
        );
    }

    #[test]
    fn endings_and_names() {
        assert!(ends_so("a.py", &["py"]) && !ends_so(".py", &["py"]) && !ends_so("apy", &["py"]));
        assert!(
            ends_so("Dockerfile", &["Dockerfile"]) && ends_so("Dockerfile.dev", &["Dockerfile"])
        );
    }
}
