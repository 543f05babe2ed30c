//! Where tools are: the search for a program, and what to say when it is nowhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::kinds::Ecosystem;
use super::run::{ToolCommand, run};

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

/// Searches the project's own folders, the process's PATH, then the folders where installers put tools.
pub fn find(name: &str, own: Vec<PathBuf>) -> Found {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = own;
    folders.extend(std::env::split_paths(&path).filter(|folder| folder.is_absolute()));
    let home = std::env::home_dir();
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(home.as_ref()?.join(".cargo")));
    folders.extend(cargo_home.map(|home| home.join("bin")));
    folders.extend(home.map(|home| home.join(".local/bin")));
    let mut seen = std::collections::HashSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    find_in(name, folders)
}

/// A program whose path is said.
pub fn at(path: &Path) -> Found {
    Found {
        name: path.to_string_lossy().into_owned(),
        path: is_program(path).then(|| path.to_owned()),
        searched: path.parent().map(Path::to_owned).into_iter().collect(),
    }
}

/// Where a project keeps its own programs: from `root` up to the workspace.
pub fn project_folders(ecosystem: Ecosystem, root: &Path, workspace: &Path) -> Vec<PathBuf> {
    let scripts = if cfg!(windows) { "Scripts" } else { "bin" };
    let mut folders = Vec::new();
    for folder in root.ancestors() {
        match ecosystem {
            Ecosystem::Python => {
                for venv in [".venv", "venv", ".pixi/envs/default"] {
                    folders.push(folder.join(venv).join(scripts));
                }
            }
            Ecosystem::Node => folders.push(folder.join("node_modules/.bin")),
            Ecosystem::Rust | Ecosystem::Go | Ecosystem::Any => {}
        }
        if folder == workspace {
            break;
        }
    }
    if ecosystem == Ecosystem::Python {
        for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
            let venv = std::env::var_os(name).map(|path| PathBuf::from(path).join(scripts));
            folders.extend(venv);
        }
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// The PATH of the user's login shell. Empty when the shell does not answer in time.
pub async fn login_path() -> Vec<PathBuf> {
    const MARK: &str = "outrigger-path:";
    let Some(shell) = std::env::var_os("SHELL").filter(|_| cfg!(unix)) else {
        return Vec::new();
    };
    let command = ToolCommand {
        program: PathBuf::from(shell),
        args: vec![
            "-lic".to_owned(),
            format!("printf '\\n{MARK}%s\\n' \"$PATH\""),
        ],
        cwd: std::env::home_dir().unwrap_or_else(std::env::temp_dir),
        env: Vec::new(),
        timeout: Duration::from_secs(5),
        max_output: 1024 * 1024,
    };
    let output = run(&command, &|| {}).await;
    let text = super::output::plain(&output.stdout);
    let path = text.lines().find_map(|line| line.strip_prefix(MARK));
    path.map(|path| std::env::split_paths(path).collect())
        .unwrap_or_default()
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

    #[tokio::test]
    async fn a_login_shell_is_asked_for_its_path() {
        // Whatever the shell is, the answer is a list of folders and comes in time.
        let folders = login_path().await;
        let shell = std::env::var_os("SHELL").is_some_and(|shell| Path::new(&shell).exists());
        assert!(!shell || !folders.is_empty() || cfg!(windows));
    }

    #[cfg(unix)]
    #[test]
    fn a_projects_own_programs_come_first() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join(".venv/bin");
        std::fs::create_dir_all(&bin).unwrap();
        let tool = bin.join("sh");
        std::fs::write(&tool, "").unwrap();
        let own = project_folders(Ecosystem::Python, &folder.path().join("a/b"), folder.path());
        assert_eq!(own.first(), Some(&bin));
        // Not executable: not a program.
        assert_ne!(
            find("sh", own.clone()).path.as_deref(),
            Some(tool.as_path())
        );
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find("sh", own).path.as_deref(), Some(tool.as_path()));
    }

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
