//! The list tool: files by name; of a large tree its folders with their counts.

use std::collections::BTreeMap;

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
            .map(|walked| walked.files.into_iter().collect())
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
        let depth = deepest_that_fits(walked);
        for (row, count) in folded(walked, depth).into_iter().take(ROWS) {
            match count {
                None => text.push_str(&format!("{row}\n")),
                Some(count) => text.push_str(&format!("{row}/ ({count} files)\n")),
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

/// Files down to a depth, and folders at that depth with the number of files below.
fn folded(walked: &Walked, depth: usize) -> BTreeMap<String, Option<usize>> {
    let mut rows = BTreeMap::new();
    for file in &walked.files {
        let parts: Vec<&str> = file.components().collect();
        if parts.len() <= depth {
            rows.insert(file.to_string(), None);
        } else {
            let folder = parts.get(..depth).unwrap_or_default().join("/");
            let count = rows.entry(folder).or_insert(Some(0));
            *count = count.map(|count| count + 1);
        }
    }
    rows
}

fn deepest_that_fits(walked: &Walked) -> usize {
    let mut depth = 1;
    while depth < 64 && folded(walked, depth + 1).len() <= ROWS {
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
        for n in 0..1_500 {
            walked
                .files
                .insert(RelPath::parse(&format!("a/b/{n}.rs")).unwrap());
        }
        walked.files.insert(RelPath::parse("README.md").unwrap());
        assert_eq!(
            render(&walked),
            "README.md\na/b/ (1500 files)\n(1501 files in all; list a folder, or give a glob, to see more)\n"
        );
    }
}
