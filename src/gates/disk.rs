//! The files of a workspace on disk, for readers.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::locate::{MAX_SOURCE_BYTES, Roots, Sources};

/// A name that leads nowhere is searched among at most so many files.
const MAX_LISTED: usize = 50_000;

/// Reads below `root`, and absolute paths elsewhere.
#[derive(Debug, Clone)]
pub struct DiskSources {
    root: PathBuf,
}

impl DiskSources {
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }
}

impl Sources for DiskSources {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        // Not even opened when special: a FIFO would block for ever.
        let meta = std::fs::metadata(path).ok()?;
        if !meta.is_file() || meta.len() > MAX_SOURCE_BYTES {
            return None;
        }
        let mut bytes = Vec::new();
        std::fs::File::open(path)
            .ok()?
            .take(MAX_SOURCE_BYTES)
            .read_to_end(&mut bytes)
            .ok()?;
        Some(bytes)
    }

    fn exists(&self, path: &str) -> bool {
        Path::new(path).exists()
    }

    fn canonical(&self, path: &str) -> Option<String> {
        std::fs::canonicalize(path).ok().map(|path| slashes(&path))
    }

    fn files(&self) -> Vec<String> {
        ignore::WalkBuilder::new(&self.root)
            .hidden(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build()
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
            .take(MAX_LISTED)
            .filter_map(|entry| {
                let relative = entry.path().strip_prefix(&self.root).ok()?;
                Some(slashes(relative))
            })
            .collect()
    }
}

/// A path as readers see it: `/` between names, no verbatim prefix.
pub fn slashes(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) {
        text.strip_prefix(r"\\?\")
            .unwrap_or(&text)
            .replace('\\', "/")
    } else {
        text.into_owned()
    }
}

/// The names of a workspace opened as `root`, for a tool that runs in `cwd`.
pub fn roots(root: &Path, cwd: &Path) -> Roots {
    let mut workspace = vec![slashes(root)];
    if let Ok(real) = std::fs::canonicalize(root) {
        let real = slashes(&real);
        if !workspace.contains(&real) {
            workspace.push(real);
        }
    }
    Roots {
        workspace,
        cwd: slashes(cwd),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::gates::locate::Locator;

    #[test]
    fn links_and_special_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("real");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("src/a.rs"), "x").unwrap();
        std::fs::write(folder.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), root.join("leak")).unwrap();
        std::os::unix::fs::symlink(&root, folder.path().join("opened")).unwrap();
        let opened = folder.path().join("opened");
        let roots = roots(&opened, &opened);
        let sources = DiskSources::new(opened.clone());
        let locator = Locator::new(&roots, &sources);
        let find = |name: &str| {
            locator
                .find(name)
                .map(|named| named.file.workspace().is_some())
        };
        assert_eq!(find("src/a.rs"), Some(true));
        let real = std::fs::canonicalize(root.join("src/a.rs")).unwrap();
        assert_eq!(
            find(&slashes(&real)),
            Some(true),
            "tools print the real path"
        );
        assert_eq!(find("leak"), Some(false), "it leads out");
        assert_eq!(sources.files().len(), 1, "links are not listed");
        assert!(sources.read("/dev/zero").is_none());
        assert!(sources.read(&slashes(&opened)).is_none());
    }
}
