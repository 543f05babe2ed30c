//! Where tools are: the search for a program, and what to say when it is nowhere.

use std::path::{Path, PathBuf};

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    pub path: Option<PathBuf>,
    /// Folders that were searched, in order.
    pub searched: Vec<PathBuf>,
}

impl Found {
    /// What to start; the bare name when nothing was found, so that starting it says so.
    pub fn path_or_name(&self) -> PathBuf {
        self.path
            .clone()
            .unwrap_or_else(|| PathBuf::from(&self.name))
    }

    /// For a person, when the program is not there.
    pub fn advice(&self) -> Option<String> {
        if self.path.is_some() {
            return None;
        }
        let places: Vec<String> = self
            .searched
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        Some(format!(
            "`{}` was looked for in {}; install it, or start the editor from a shell that finds it",
            self.name,
            if places.is_empty() {
                "an empty PATH".to_owned()
            } else {
                places.join(", ")
            }
        ))
    }
}

/// Searches the process's PATH, then the folder where the tool's installer puts it.
pub fn find(name: &str) -> Found {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .collect();
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    if let Some(home) = cargo_home {
        folders.push(home.join("bin"));
    }
    find_in(name, folders)
}

/// Searches `folders` in order.
pub fn find_in(name: &str, folders: Vec<PathBuf>) -> Found {
    let path = folders.iter().find_map(|folder| program_in(folder, name));
    Found {
        name: name.to_owned(),
        path,
        searched: folders,
    }
}

fn program_in(folder: &Path, name: &str) -> Option<PathBuf> {
    let names: &[String] = &if cfg!(windows) {
        vec![
            format!("{name}.exe"),
            format!("{name}.cmd"),
            format!("{name}.bat"),
        ]
    } else {
        vec![name.to_owned()]
    };
    names
        .iter()
        .map(|name| folder.join(name))
        .find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nowhere_is_explained() {
        let found = find_in(
            "no-such-tool",
            vec![PathBuf::from("/a"), PathBuf::from("/b")],
        );
        let advice = found.advice().unwrap();
        assert!(
            advice.contains("/a, /b") && advice.contains("`no-such-tool`"),
            "{advice}"
        );
        assert_eq!(found.path_or_name(), PathBuf::from("no-such-tool"));
    }
}
