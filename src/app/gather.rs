//! What a model is told about the workspace before its first turn.

use std::sync::Arc;
use std::time::SystemTime;

use crate::kernel::event::{Context, Convention};
use crate::kernel::file::{OpenDocument, Overlay};
use crate::kernel::path::RelPath;
use crate::kernel::policy::relevance::{Named, named};
use crate::kernel::tool::{ListFiles, SearchFiles, SeenFile};
use crate::kernel::view::View;
use crate::workspace::Workspace;

/// Files in which projects write their rules for agents.
const CONVENTIONS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "CONVENTIONS.md"];
/// Bytes of one such file, and of the listing, that the model is shown.
const MOST: usize = 32 * 1024;

/// Bytes of the files that the task names, together.
const MOST_NAMED: usize = 64 * 1024;
/// Places shown of each name.
const PLACES: usize = 8;
/// Files changed last that are shown, of at most so many that are looked at.
const RECENT: usize = 8;
const LOOKED_AT: usize = 20_000;

/// `view`: what the user is known to look at.
pub fn context(workspace: &Workspace, prompt: &str, overlay: &Overlay, view: View) -> Context {
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
    let all = workspace.files(overlay);
    let relevant = named(prompt, &all);
    let folder = workspace
        .root()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    Context {
        folder,
        files,
        conventions,
        named: shown(workspace, &relevant, overlay, &mut notes),
        mentions: mentions(workspace, &relevant, overlay),
        open: open(overlay),
        recent: recent(workspace, &all),
        view,
        notes,
    }
}

/// The files that the task names, whole; what is too much is named as left out.
fn shown(
    workspace: &Workspace,
    relevant: &Named,
    overlay: &Overlay,
    notes: &mut Vec<String>,
) -> Vec<SeenFile> {
    let mut left = MOST_NAMED;
    let mut shown = Vec::new();
    for path in &relevant.files {
        let now = workspace.inspect(path, overlay);
        let Some(text) = now.text() else { continue };
        if text.text.len() > left {
            notes.push(format!(
                "{path} is not shown here, it has {} KiB: read what you need of it",
                text.text.len() / 1024
            ));
            continue;
        }
        left -= text.text.len();
        shown.push(SeenFile {
            path: path.clone(),
            hash: text.hash.clone(),
            text: Arc::clone(&text.text),
        });
    }
    shown
}

fn mentions(workspace: &Workspace, relevant: &Named, overlay: &Overlay) -> String {
    let mut text = String::new();
    for symbol in &relevant.symbols {
        let search = SearchFiles {
            pattern: format!(r"\b{symbol}\b"),
            path: None,
            glob: None,
        };
        let found = workspace.search(&search, overlay);
        if found.is_error {
            continue;
        }
        // Places only: lines that say what was not found, or left out, are in brackets.
        let places = found.text.lines().filter(|line| !line.starts_with('('));
        for line in places.take(PLACES) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

fn open(overlay: &Overlay) -> String {
    let line = |(path, document): (&RelPath, &OpenDocument)| {
        let unsaved = if document.dirty {
            " (unsaved changes)"
        } else {
            ""
        };
        format!("{path}{unsaved}\n")
    };
    overlay.iter().map(line).collect()
}

/// By the time of change. A file that cannot be looked at is none of them.
fn recent(workspace: &Workspace, all: &[RelPath]) -> String {
    let mut changed: Vec<(SystemTime, &RelPath)> = all
        .iter()
        .take(LOOKED_AT)
        .filter_map(|path| {
            let metadata = workspace.root().join(path.as_str()).symlink_metadata();
            Some((metadata.ok()?.modified().ok()?, path))
        })
        .collect();
    changed.sort_by(|one, other| other.cmp(one));
    let newest = changed.into_iter().take(RECENT);
    newest.map(|(_, path)| format!("{path}\n")).collect()
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
