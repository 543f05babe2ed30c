//! What a model is told about the workspace before its first turn.

use crate::kernel::event::{Context, Convention};
use crate::kernel::file::Overlay;
use crate::kernel::path::RelPath;
use crate::kernel::tool::ListFiles;
use crate::workspace::Workspace;

/// Files in which projects write their rules for agents.
const CONVENTIONS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "CONVENTIONS.md"];
/// Bytes of one such file, and of the listing, that the model is shown.
const MOST: usize = 32 * 1024;

pub fn context(workspace: &Workspace, overlay: &Overlay) -> Context {
    let mut notes = Vec::new();
    let listing = workspace.list(
        &ListFiles {
            path: None,
            glob: None,
        },
        overlay,
    );
    let files = if listing.is_error {
        format!("(the workspace could not be listed: {})", listing.text)
    } else {
        listing.text
    };
    let files = cut(files, "the listing", &mut notes);
    let mut conventions = Vec::new();
    for path in CONVENTIONS
        .iter()
        .filter_map(|name| RelPath::parse(name).ok())
    {
        if let Some(now) = workspace.inspect(&path, overlay).text() {
            let text = cut(now.text.to_string(), path.as_str(), &mut notes);
            conventions.push(Convention { path, text });
        }
    }
    let folder = workspace
        .root()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    Context {
        folder,
        files,
        conventions,
        notes,
    }
}

fn cut(mut text: String, what: &str, notes: &mut Vec<String>) -> String {
    if text.len() > MOST {
        let end = text.floor_char_boundary(MOST);
        notes.push(format!(
            "{what} is cut at {} KiB of {} KiB",
            MOST / 1024,
            text.len() / 1024
        ));
        text.truncate(end);
    }
    text
}
