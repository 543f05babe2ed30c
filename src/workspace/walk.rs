//! All files of the workspace that no ignore file excludes, open documents included.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};

use super::Workspace;
use super::place::{Identity, There};
use super::write::TEMPORARY_PREFIX;
use crate::kernel::file::Overlay;
use crate::kernel::path::RelPath;

/// What to walk over.
#[derive(Default)]
pub(super) struct Scope<'a> {
    /// A folder or a file; the root when absent.
    pub under: Option<&'a RelPath>,
    pub glob: Option<&'a str>,
    /// Stop after so many files; which ones is left to chance.
    pub at_most: Option<usize>,
}

/// What a walk found.
#[derive(Default)]
pub(super) struct Walked {
    /// In order, each once.
    pub files: Vec<RelPath>,
    /// Names that are no text, so that nobody can ask for them.
    pub unnamed: usize,
    /// Folders that could not be read.
    pub unread: Vec<String>,
}

impl Workspace {
    /// Walks over the files in a scope. Links are not followed.
    ///
    /// # Errors
    /// A glob that is none, and a place that is not there or not ours. For the model.
    pub(super) fn walk(&self, scope: &Scope, overlay: &Overlay) -> Result<Walked, String> {
        let glob = scope.glob.map(parse_glob).transpose()?;
        let mut walked = Walked::default();
        let mut start = self.root().to_owned();
        let mut is_file = false;
        if let Some(under) = scope.under {
            let place = self
                .place(under)
                .map_err(|refusal| format!("{under} cannot be listed: {refusal}"))?;
            let open = |path: &RelPath| path == under || inside(path, under);
            match (&place.there, place.real) {
                (There::Folder, None) => {}
                (There::Folder | There::File, Some(real)) => {
                    is_file = matches!(place.there, There::File);
                    start.push(real.as_str());
                }
                (There::Nothing, _) if overlay.keys().any(open) => is_file = true,
                (There::Nothing, _) => {
                    return Err(format!("{under} is not there"));
                }
                _ => return Err(format!("{under} is no file and no folder")),
            }
            if is_file {
                walked.files.push(under.clone());
            }
        }
        if !is_file {
            self.walk_folder(&start, glob.as_ref(), scope.at_most, &mut walked);
        }
        let wanted = |path: &RelPath| {
            scope
                .under
                .is_none_or(|under| path == under || inside(path, under))
                && glob.as_ref().is_none_or(|glob| matches_glob(glob, path))
        };
        walked
            .files
            .extend(overlay.keys().filter(|path| wanted(path)).cloned());
        walked.files.sort_unstable();
        walked.files.dedup();
        Ok(walked)
    }

    fn walk_folder(
        &self,
        start: &Path,
        glob: Option<&Override>,
        at_most: Option<usize>,
        walked: &mut Walked,
    ) {
        let forbidden = self.forbidden.clone();
        let walker = WalkBuilder::new(start)
            .hidden(false)
            .require_git(false)
            .follow_links(false)
            .threads(
                std::thread::available_parallelism()
                    .map_or(2, std::num::NonZero::get)
                    .min(8),
            )
            .filter_entry(move |entry| is_ours(entry, &forbidden))
            .build_parallel();
        let (sender, receiver) = mpsc::channel();
        let count = AtomicUsize::new(0);
        let count = &count;
        walker.run(|| {
            let sender = sender.clone();
            Box::new(move |entry| {
                let found = match entry {
                    Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                        let name = entry.path().strip_prefix(self.root()).ok();
                        let path = name
                            .and_then(Path::to_str)
                            .and_then(|name| RelPath::parse(name).ok());
                        match path {
                            Some(path) if glob.is_none_or(|glob| matches_glob(glob, &path)) => {
                                Found::File(path)
                            }
                            Some(_) => return WalkState::Continue,
                            None => Found::Unnamed,
                        }
                    }
                    Ok(_) => return WalkState::Continue,
                    Err(error) => Found::Unread(error.to_string()),
                };
                let enough = matches!(found, Found::File(_))
                    && at_most
                        .is_some_and(|most| count.fetch_add(1, Ordering::Relaxed) + 1 >= most);
                match sender.send(found) {
                    Ok(()) if !enough => WalkState::Continue,
                    _ => WalkState::Quit,
                }
            })
        });
        drop(sender);
        for found in receiver {
            match found {
                Found::File(path) => walked.files.push(path),
                Found::Unnamed => walked.unnamed += 1,
                Found::Unread(error) => walked.unread.push(error),
            }
        }
    }
}

enum Found {
    File(RelPath),
    Unnamed,
    Unread(String),
}

fn is_ours(entry: &DirEntry, forbidden: &[Identity]) -> bool {
    let name = entry.file_name().as_encoded_bytes();
    if name.eq_ignore_ascii_case(b".git") || name.starts_with(TEMPORARY_PREFIX.as_bytes()) {
        return false;
    }
    // The number comes with the name; only where it fits is the folder looked at.
    let numbered = |this: &Identity| entry.ino().is_some_and(|inode| inode == this.inode);
    !(forbidden.iter().any(numbered)
        && super::place::identity(entry.path()).is_some_and(|this| forbidden.contains(&this)))
}

/// Whether `path` is below `folder`, by components.
pub(super) fn inside(path: &RelPath, folder: &RelPath) -> bool {
    path.as_str()
        .strip_prefix(folder.as_str())
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Globs as in ignore files: without a slash they match in every folder.
fn parse_glob(glob: &str) -> Result<Override, String> {
    let bad = |error: ignore::Error| format!("the glob `{glob}` cannot be read: {error}");
    let mut builder = OverrideBuilder::new("/");
    // A leading `!` would turn the meaning round.
    builder.add(glob.trim_start_matches('!')).map_err(bad)?;
    builder.build().map_err(bad)
}

fn matches_glob(glob: &Override, path: &RelPath) -> bool {
    glob.matched(path.as_str(), false).is_whitelist()
}
