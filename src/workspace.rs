//! Files: looks at them under the editor's open documents, and writes them so that no byte is lost.
//!
//! Owns every access to the user's files. What to write is decided in [`crate::kernel::conflict`]; here it is performed.
//!
//! Promises:
//! * A path is resolved component by component from a handle on the root, each opened without following links and links
//!   resolved by us ([`place`]): nothing outside the root, in `.git` or in our own state folder is ever reached, also when
//!   a folder is swapped for a link between check and use.
//! * A write happens only over the content that was expected, and a file is old or new, never half.
//! * Bytes that are no text are never decoded with loss; they are shown as [`FileNow::Opaque`].
//!
//! All calls block on the disk; call them from a thread that may.
//!
//! [`FileNow::Opaque`]: crate::kernel::file::FileNow::Opaque

#[cfg(test)]
mod crash;
mod fault;
pub mod ledger;
mod leftover;
mod list;
mod look;
mod nearest;
mod place;
mod read;
mod relocate;
pub mod revert;
mod search;
mod snapshots;
mod text;
pub mod uri;
mod walk;
mod write;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub use place::PlaceRefusal;
pub use text::{NotText, decode};

/// Larger files are neither read as text nor written.
pub const MAX_TEXT_BYTES: u64 = 16 * 1024 * 1024;

/// One workspace folder.
#[derive(Debug)]
pub struct Workspace {
    /// As given, and with all links resolved.
    given: PathBuf,
    root: PathBuf,
    folder: OwnedFd,
    /// Folders that are not ours to touch, by identity and not by name.
    forbidden: Vec<place::Identity>,
    /// Our own writes go one after the other, so that two runs cannot pass the same check.
    writing: Mutex<()>,
}

impl Workspace {
    /// Opens a folder as a workspace.
    ///
    /// # Errors
    /// It is not there, is no folder, or may not be entered.
    pub fn open(root: &Path) -> io::Result<Self> {
        let real = root.canonicalize()?;
        let folder = place::open_folder(&real)?;
        let mut workspace = Self {
            given: root.to_owned(),
            root: real,
            folder,
            forbidden: Vec::new(),
            writing: Mutex::new(()),
        };
        // By name `.git` is refused anyway; by identity also where the file system knows more spellings of it.
        workspace.keep_out_of(&workspace.root.join(".git"));
        Ok(workspace)
    }

    /// Never touch what is in this folder, by whatever way it is reached. A folder that is not there is no matter.
    pub fn keep_out_of(&mut self, folder: &Path) {
        self.forbidden.extend(place::identity(folder));
    }

    /// The root with all links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }
}
