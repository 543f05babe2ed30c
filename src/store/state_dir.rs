//! Where a workspace's state lies: outside of it, so that no watcher, build, image or commit ever sees it.
//!
//! `<base>/<folder name>-<hash of its path>/`, with the base from `--state-dir`, `OUTRIGGER_STATE_DIR` or the platform's
//! custom. Promises: the folder is the user's alone, and never inside the workspace, however links lead.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::transcript::make_private_folder;
use crate::kernel::ids::{QuestionId, RunId};

/// The variable that moves the state of all workspaces.
pub const STATE_DIR_VARIABLE: &str = "OUTRIGGER_STATE_DIR";

/// Why a workspace has no state folder. Completes "failed to ".
#[derive(Debug, Error)]
pub enum StateDirError {
    #[error("open the workspace folder `{}`: {source}", path.display())]
    Workspace { path: PathBuf, source: io::Error },
    #[error(
        "find a place for state: neither {STATE_DIR_VARIABLE} nor {0} is set; choose a folder with --state-dir"
    )]
    NoBase(&'static str),
    #[error(
        "use the state folder `{}`: it is inside the workspace `{}`; choose one outside with --state-dir or {STATE_DIR_VARIABLE}",
        folder.display(), root.display()
    )]
    InsideWorkspace { folder: PathBuf, root: PathBuf },
    #[error(
        "make the state folder `{}`: {source}; check who may write there, or choose another one with --state-dir or {STATE_DIR_VARIABLE}",
        folder.display()
    )]
    Make { folder: PathBuf, source: io::Error },
}

/// The state folder of one workspace. It exists and is the user's alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    folder: PathBuf,
}

impl StateDir {
    /// Finds and makes the state folder of the workspace at `root`. `chosen` is what the user said on the command line.
    ///
    /// # Errors
    /// When there is no place for it, it would lie inside the workspace, or it cannot be made.
    pub fn open(root: &Path, chosen: Option<&Path>) -> Result<Self, StateDirError> {
        let root = root
            .canonicalize()
            .map_err(|source| StateDirError::Workspace {
                path: root.to_owned(),
                source,
            })?;
        let base = match chosen {
            Some(chosen) => chosen.to_owned(),
            None => base(Platform::HERE, |name| std::env::var_os(name))?,
        };
        let folder = base.join(folder_name(&root));
        let make = |source| StateDirError::Make {
            folder: folder.clone(),
            source,
        };
        let real = real_path(&folder).map_err(make)?;
        if real.starts_with(&root) {
            return Err(StateDirError::InsideWorkspace { folder: real, root });
        }
        make_private_folder(&real).map_err(make)?;
        keep_private(&real).map_err(make)?;
        Ok(Self { folder: real })
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The folder of the transcripts.
    pub fn runs(&self) -> PathBuf {
        self.folder.join("runs")
    }

    /// Where the transcript of a run lies; `None` for a text that no run is called, such as one with a path in it.
    pub fn transcript(&self, run: &RunId) -> Option<PathBuf> {
        let id = run.as_str();
        names_a_file(id).then(|| self.runs().join(format!("{id}.jsonl")))
    }

    /// The file in which a question may be answered; `None` for a text that no question is called.
    pub fn answer_file(&self, question: &QuestionId) -> Option<PathBuf> {
        let id = question.as_str();
        let folder = self.folder.join("answers");
        names_a_file(id).then(|| folder.join(format!("{id}.md")))
    }

    /// The folder of the snapshots.
    pub fn snapshots(&self) -> PathBuf {
        self.folder.join("snapshots")
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.folder.join("state.db")
    }
}

/// Whether a file may be called after an id that came from outside: no path, no hidden file.
fn names_a_file(id: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let starts = |letter: char| letter.is_ascii_alphanumeric();
    id.len() <= 128 && id.chars().all(plain) && id.starts_with(starts)
}

/// Where the sidecar's own log lies, for all workspaces; `None` when there is no place for state.
pub fn log_folder(chosen: Option<&Path>) -> Option<PathBuf> {
    let base = match chosen {
        Some(chosen) => chosen.to_owned(),
        None => base(Platform::HERE, |name| std::env::var_os(name)).ok()?,
    };
    Some(base.join("log"))
}

/// The customs that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Platform {
    Freedesktop,
    Mac,
    Windows,
}

impl Platform {
    const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Mac
    } else {
        Self::Freedesktop
    };
}

/// The folder that holds the state of all workspaces.
fn base(
    platform: Platform,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, StateDirError> {
    let folder = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    // The standard says that a relative path is to be ignored.
    let absolute = |name: &str| folder(name).filter(|path| path.is_absolute());
    if let Some(chosen) = folder(STATE_DIR_VARIABLE) {
        return Ok(chosen);
    }
    let (found, missing) = match platform {
        Platform::Freedesktop => (
            absolute("XDG_STATE_HOME")
                .or_else(|| absolute("HOME").map(|home| home.join(".local/state"))),
            "HOME",
        ),
        Platform::Mac => (
            absolute("XDG_STATE_HOME")
                .or_else(|| absolute("HOME").map(|home| home.join("Library/Application Support"))),
            "HOME",
        ),
        Platform::Windows => (folder("LOCALAPPDATA"), "LOCALAPPDATA"),
    };
    found
        .map(|base| base.join("outrigger"))
        .ok_or(StateDirError::NoBase(missing))
}

/// `<folder name>-<hash>`: for people by its name, unique by its path.
fn folder_name(root: &Path) -> String {
    /// File systems allow 255 bytes for a name.
    const LONGEST: usize = 100;
    let name = root
        .file_name()
        .map_or_else(|| "root".into(), |name| name.to_string_lossy());
    let mut end = name.len().min(LONGEST);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let digits: String = hash
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{}-{digits}", name.get(..end).unwrap_or_default())
}

/// The path without links, of which the last parts may not exist yet.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut missing = Vec::new();
    let mut existing = path.as_path();
    loop {
        match existing.canonicalize() {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A `..` after something that does not exist has no meaning.
                let (Some(name), Some(parent)) = (existing.file_name(), existing.parent()) else {
                    return Err(error);
                };
                missing.push(name);
                existing = parent;
            }
            Err(error) => return Err(error),
        }
    }
}

/// It holds what the user's files held; others have no business in it, whoever made it and how.
#[cfg(unix)]
fn keep_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = std::fs::metadata(folder)?.permissions();
    if permissions.mode() & 0o077 != 0 {
        permissions.set_mode(0o700);
        std::fs::set_permissions(folder, permissions)?;
    }
    Ok(())
}

/// The user's profile, where it lies by default, is theirs alone here.
#[cfg(not(unix))]
fn keep_private(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    type Variables = &'static [(&'static str, &'static str)];

    const STATE_HOME: (&str, &str) = ("XDG_STATE_HOME", "/s");
    const HOME: (&str, &str) = ("HOME", "/h");
    const CHOSEN: (&str, &str) = (STATE_DIR_VARIABLE, "/c");

    #[test]
    fn the_base_follows_the_platform_and_the_user() {
        use Platform::{Freedesktop, Mac, Windows};
        let cases: [(Platform, Variables, Option<&str>); 10] = [
            (Freedesktop, &[CHOSEN, STATE_HOME, HOME], Some("/c")),
            (Freedesktop, &[STATE_HOME, HOME], Some("/s/outrigger")),
            (Freedesktop, &[HOME], Some("/h/.local/state/outrigger")),
            (
                Freedesktop,
                &[("XDG_STATE_HOME", "relative"), HOME],
                Some("/h/.local/state/outrigger"),
            ),
            (
                Freedesktop,
                &[(STATE_DIR_VARIABLE, ""), HOME],
                Some("/h/.local/state/outrigger"),
            ),
            (Freedesktop, &[], None),
            (
                Mac,
                &[HOME],
                Some("/h/Library/Application Support/outrigger"),
            ),
            (Mac, &[STATE_HOME, HOME], Some("/s/outrigger")),
            (
                Windows,
                &[("LOCALAPPDATA", "/l"), HOME],
                Some("/l/outrigger"),
            ),
            (Windows, &[HOME], None),
        ];
        for (platform, variables, want) in cases {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name)?;
                Some(OsString::from(found.1))
            };
            let got = base(platform, variable).ok();
            assert_eq!(got, want.map(PathBuf::from), "{platform:?} {variables:?}");
        }
    }

    #[test]
    fn workspaces_have_folders_of_their_own() {
        let name = |root: &str| folder_name(Path::new(root));
        assert!(name("/a/b é").starts_with("b é-"));
        assert_ne!(name("/a/x"), name("/b/x"));
        assert!(name("/").starts_with("root-"));
        let long = name(&format!("/{}", "漢".repeat(80)));
        assert!(long.len() <= 113 && long.starts_with("漢漢"), "{long}");
    }

    #[test]
    fn the_folder_is_made_for_the_user_alone() {
        let base = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        let chosen = base.path().join("deep/state");
        let first = StateDir::open(root.path(), Some(&chosen)).unwrap();
        assert!(first.path().starts_with(chosen.canonicalize().unwrap()));
        let mode = || {
            std::fs::metadata(first.path())
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!(mode(), 0o700);
        // Made by somebody else, with wider permissions.
        std::fs::set_permissions(first.path(), PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(StateDir::open(root.path(), Some(&chosen)).unwrap(), first);
        assert_eq!(mode(), 0o700);
        // The same workspace by another name.
        let link = base.path().join("link");
        symlink(root.path(), &link).unwrap();
        assert_eq!(StateDir::open(&link, Some(&chosen)).unwrap(), first);
    }

    #[test]
    fn inside_the_workspace_it_is_refused_and_nothing_is_made() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let link = outside.path().join("link");
        symlink(root.path(), &link).unwrap();
        for chosen in [
            root.path().to_owned(),
            root.path().join("a/b"),
            outside
                .path()
                .join("../")
                .join(root.path().file_name().unwrap())
                .join("c"),
            link.join("d"),
        ] {
            let error = StateDir::open(root.path(), Some(&chosen)).unwrap_err();
            assert!(
                matches!(error, StateDirError::InsideWorkspace { .. }),
                "{chosen:?}: {error}"
            );
        }
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
        // A neighbour whose name only begins like the workspace's is outside.
        let mut neighbour = root.path().as_os_str().to_owned();
        neighbour.push("-state");
        let made = StateDir::open(root.path(), Some(Path::new(&neighbour)));
        std::fs::remove_dir_all(&neighbour).unwrap();
        made.unwrap();
    }

    #[test]
    fn a_place_that_cannot_be_used_is_told_in_words() {
        let root = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let file = other.path().join("file");
        std::fs::write(&file, "").unwrap();
        for chosen in [
            file.clone(),
            file.join("below"),
            PathBuf::from("/proc/no/such"),
        ] {
            let error = StateDir::open(root.path(), Some(&chosen))
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("make the state folder `"), "{error}");
            assert!(
                error.ends_with("choose another one with --state-dir or OUTRIGGER_STATE_DIR"),
                "{error}"
            );
        }
        let error = StateDir::open(&other.path().join("gone"), None)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("open the workspace folder `"), "{error}");
    }

    #[test]
    fn only_what_a_run_may_be_called_has_a_transcript() {
        let state = StateDir {
            folder: PathBuf::from("/s"),
        };
        let path = |id: &str| state.transcript(&RunId::new(id));
        assert_eq!(
            path("r-1.b_2"),
            Some(PathBuf::from("/s/runs/r-1.b_2.jsonl"))
        );
        for id in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "a\\b",
            "a\0",
            ".hidden",
            "-x",
            "é",
            &"x".repeat(129),
        ] {
            assert_eq!(path(id), None, "{id:?}");
        }
    }
}
