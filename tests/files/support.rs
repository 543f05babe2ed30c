//! A workspace in a folder of its own, and short ways to say what a test is about.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use outrigger::kernel::conflict::{Change, FilePolicies, Proposal, Verdict, decide};
use outrigger::kernel::file::{
    Encoding, FileNow, NewContent, OpenDocument, Overlay, TextNow, WriteOrder, WriteOutcome,
    WrittenThrough,
};
use outrigger::kernel::hash::ContentHash;
use outrigger::kernel::path::RelPath;
use outrigger::kernel::tool::{ReadFile, Replacement, SeenFile};
use outrigger::workspace::Workspace;
use ropey::Rope;
use tempfile::TempDir;

pub struct Desk {
    /// Holds the workspace `work` and whatever is outside it.
    pub folder: TempDir,
    pub workspace: Workspace,
    pub overlay: Overlay,
}

pub fn rel(path: &str) -> RelPath {
    RelPath::parse(path).unwrap()
}

impl Desk {
    pub fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap())
    }

    /// In memory, for tests that write so often that a disk would be all they wait for.
    pub fn in_memory() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self::at(folder.unwrap())
    }

    fn at(folder: TempDir) -> Self {
        let root = folder.path().join("work");
        fs::create_dir(&root).unwrap();
        Self {
            workspace: Workspace::open(&root).unwrap(),
            folder,
            overlay: Overlay::default(),
        }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("work").join(path)
    }

    pub fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap()
    }

    /// Opens a document in the editor, with text that is not saved if `dirty`.
    pub fn open(&mut self, path: &str, text: &str, dirty: bool) {
        let document = OpenDocument {
            uri: self.workspace.uri(&rel(path)),
            version: 1,
            text: Rope::from_str(text),
            dirty,
            saved: fs::read(self.path(path))
                .ok()
                .map(|bytes| ContentHash::of(&bytes)),
        };
        let documents: &mut BTreeMap<_, _> = Arc::make_mut(&mut self.overlay);
        documents.insert(rel(path), document);
    }

    pub fn look(&self, path: &str) -> FileNow {
        self.workspace.inspect(&rel(path), &self.overlay)
    }

    pub fn text(&self, path: &str) -> TextNow {
        match self.look(path) {
            FileNow::Text(now) => now,
            other => panic!("{path} is no text: {other:?}"),
        }
    }

    pub fn read(&self, path: &str) -> SeenFile {
        let args = ReadFile {
            path: rel(path),
            from_line: None,
            lines: None,
        };
        self.workspace.read(&args, &self.overlay).seen.unwrap()
    }

    pub fn decide(&self, path: &str, seen: Option<&SeenFile>, change: Change) -> Verdict {
        let path = rel(path);
        let proposal = Proposal {
            path: &path,
            seen,
            change,
        };
        decide(
            &proposal,
            &self.look(path.as_str()),
            FilePolicies::default(),
        )
    }

    /// Decides, and performs what was decided.
    pub fn perform(&self, path: &str, seen: Option<&SeenFile>, change: Change) -> WriteOutcome {
        match self.decide(path, seen, change) {
            Verdict::Write { order, .. } => self.workspace.write(&order),
            other => panic!("not to be written: {other:?}"),
        }
    }

    pub fn edit(&self, path: &str, old: &str, new: &str) -> WriteOutcome {
        let edits = [Replacement {
            old: old.into(),
            new: new.into(),
        }];
        self.perform(path, Some(&self.read(path)), Change::Edit { edits: &edits })
    }
}

/// A write of UTF-8 over what is there.
pub fn order(path: &str, over: Option<&[u8]>, text: &str) -> WriteOrder {
    WriteOrder {
        path: rel(path),
        expected: over.map(ContentHash::of),
        content: NewContent::Text {
            text: text.into(),
            encoding: Encoding::Utf8,
        },
    }
}

pub fn written(before: Option<&[u8]>, after: Option<&[u8]>) -> WriteOutcome {
    WriteOutcome::Written {
        before: before.map(ContentHash::of),
        after: after.map(ContentHash::of),
        through: WrittenThrough::Disk,
    }
}

/// Names in a folder, sorted: what a write leaves behind.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
