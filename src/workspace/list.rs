//! The list tool: files by name; of a large tree its folders with their counts.

use super::Workspace;
use super::read::failed;
use super::walk::{Scope, Walked};
use crate::kernel::file::Overlay;
use crate::kernel::path::RelPath;
use crate::kernel::tool::{ListFiles, ToolOutput};

/// Rows shown at most.
const ROWS: usize = 1_000;

impl Workspace {
    /// Shows the model which files there are.
    pub fn list(&self, args: &ListFiles, overlay: &Overlay) -> ToolOutput {
        let scope = Scope {
            under: args.path.as_ref(),
            glob: args.glob.as_deref(),
            at_most: None,
        };
        match self.walk(&scope, overlay) {
            Ok(walked) => ToolOutput {
                text: render(&walked),
                is_error: false,
                seen: None,
            },
            Err(reason) => failed(reason),
        }
    }

    /// All files that no ignore file excludes, open documents included, in order: for planning.
    pub fn files(&self, overlay: &Overlay) -> Vec<RelPath> {
        self.walk(&Scope::default(), overlay)
            .map(|walked| walked.files)
            .unwrap_or_default()
    }
}

fn render(walked: &Walked) -> String {
    if walked.files.is_empty() {
        return "(no files)\n".to_owned() + &notes(walked);
    }
    let mut text = String::new();
    if walked.files.len() <= ROWS {
        for file in &walked.files {
            text.push_str(file.as_str());
            text.push('\n');
        }
    } else {
        for row in folded(&walked.files, deepest_that_fits(&walked.files)).take(ROWS) {
            match row {
                Folded::File(name) => text.push_str(&format!("{name}\n")),
                Folded::Folder { name, files } => {
                    text.push_str(&format!("{name}/ ({files} files)\n"));
                }
            }
        }
        text.push_str(&format!(
            "({} files in all; list a folder, or give a glob, to see more)\n",
            walked.files.len()
        ));
    }
    text + &notes(walked)
}

fn notes(walked: &Walked) -> String {
    let mut text = String::new();
    if walked.unnamed > 0 {
        text.push_str(&format!(
            "({} files have names that are no text and are left out)\n",
            walked.unnamed
        ));
    }
    for error in walked.unread.iter().take(5) {
        text.push_str(&format!("(could not be read: {error})\n"));
    }
    text
}

/// A row of a folded listing.
enum Folded<'a> {
    File(&'a str),
    Folder { name: &'a str, files: usize },
}

/// Files down to a depth, and folders at that depth with the number of files below. Files are in order, so that those of
/// a folder stand together.
fn folded(files: &[RelPath], depth: usize) -> impl Iterator<Item = Folded<'_>> {
    files
        .chunk_by(move |a, b| {
            let folder = folder_at(a.as_str(), depth);
            folder.is_some() && folder == folder_at(b.as_str(), depth)
        })
        .filter_map(move |files| {
            let first = files.first()?.as_str();
            Some(match folder_at(first, depth) {
                None => Folded::File(first),
                Some(name) => Folded::Folder {
                    name,
                    files: files.len(),
                },
            })
        })
}

/// The folder of a path at a depth; `None` when the file itself is not deeper.
fn folder_at(path: &str, depth: usize) -> Option<&str> {
    let (at, _) = path.match_indices('/').nth(depth.checked_sub(1)?)?;
    path.get(..at)
}

fn deepest_that_fits(files: &[RelPath]) -> usize {
    let fits = |depth| folded(files, depth).nth(ROWS).is_none();
    let mut depth = 1;
    while depth < 64 && fits(depth + 1) {
        depth += 1;
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_tree_is_folded() {
        let mut walked = Walked::default();
        walked.files.push(RelPath::parse("README.md").unwrap());
        for n in 0..1_500 {
            walked
                .files
                .push(RelPath::parse(&format!("a/b/{n}.rs")).unwrap());
        }
        assert_eq!(
            render(&walked),
            "README.md\na/b/ (1500 files)\n(1501 files in all; list a folder, or give a glob, to see more)\n"
        );
    }
}
