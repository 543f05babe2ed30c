//! Unified diffs as replacements: models write them too, mostly with wrong line numbers.

use thiserror::Error;

use super::super::tool::Replacement;

/// Completes "failed to read the patch: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatchRefusal {
    #[error("it has no hunk; a hunk starts with a line `@@`")]
    NoHunk,
    #[error(
        "line {line} starts with none of ` `, `+`, `-`, `\\`; each line of a hunk says what becomes of it"
    )]
    Line {
        /// 1-based.
        line: usize,
    },
    #[error("it changes several files; give one patch for each file")]
    SeveralFiles,
    #[error(
        "the hunk at line {line} has no line to find its place by; add lines around the change"
    )]
    NoContext {
        /// 1-based.
        line: usize,
    },
}

/// The hunks of a patch of one file as replacements: context and removed lines are what to find, context and added
/// lines what to put there. Line numbers are not looked at.
///
/// # Errors
/// A text that is no patch of one file.
pub fn from_patch(patch: &str) -> Result<Vec<Replacement>, PatchRefusal> {
    let mut hunks: Vec<(usize, Replacement)> = Vec::new();
    let mut files = 0;
    let mut in_hunk = false;
    let mut last = Last::Context;
    let mut lines = patch.split_inclusive('\n').enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let next_is_new_name = || {
            lines
                .clone()
                .next()
                .is_some_and(|(_, next)| next.starts_with("+++ "))
        };
        if line.starts_with("--- ") && next_is_new_name() {
            files += 1;
            in_hunk = false;
            continue;
        }
        if line.starts_with("@@") {
            let empty = Replacement {
                old: String::new(),
                new: String::new(),
            };
            hunks.push((number + 1, empty));
            in_hunk = true;
            continue;
        }
        if !in_hunk || line.starts_with("diff --git ") {
            in_hunk = false;
            continue;
        }
        let Some((_, hunk)) = hunks.last_mut() else {
            continue;
        };
        let rest = line.get(1..).unwrap_or("");
        match line.chars().next() {
            Some(' ') => {
                hunk.old.push_str(rest);
                hunk.new.push_str(rest);
                last = Last::Context;
            }
            // An empty context line whose leading space was trimmed away.
            Some('\n' | '\r') => {
                hunk.old.push_str(line);
                hunk.new.push_str(line);
                last = Last::Context;
            }
            Some('-') => {
                hunk.old.push_str(rest);
                last = Last::Removed;
            }
            Some('+') => {
                hunk.new.push_str(rest);
                last = Last::Added;
            }
            Some('\\') => {
                let without_ending = |text: &mut String| {
                    let kept = text.trim_end_matches(['\n', '\r']).len();
                    text.truncate(kept);
                };
                if last != Last::Added {
                    without_ending(&mut hunk.old);
                }
                if last != Last::Removed {
                    without_ending(&mut hunk.new);
                }
            }
            _ => return Err(PatchRefusal::Line { line: number + 1 }),
        }
    }
    if files > 1 {
        return Err(PatchRefusal::SeveralFiles);
    }
    if hunks.is_empty() {
        return Err(PatchRefusal::NoHunk);
    }
    if let Some((line, _)) = hunks.iter().find(|(_, hunk)| hunk.old.trim().is_empty()) {
        return Err(PatchRefusal::NoContext { line: *line });
    }
    Ok(hunks.into_iter().map(|(_, hunk)| hunk).collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Context,
    Removed,
    Added,
}
