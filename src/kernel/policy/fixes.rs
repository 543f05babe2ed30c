//! Which of the tools' own repairs are made without asking a model, and what a file is with them.
//!
//! Only those that the tool calls safe, that are bound to the very text that is there, and that put something in place:
//! a repair that only takes code away (an import that the agent has just added and not used yet) is told, not made.

use crate::kernel::finding::{Applicability, Finding, Fix, FixEdit};
use crate::kernel::path::RelPath;
use crate::kernel::tool::SeenFile;

/// A text with repairs made in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    pub text: String,
    /// What was repaired, in the tool's words.
    pub titles: Vec<String>,
}

/// Makes the safe repairs of these findings in the file as the agent has last seen it. `None`: there is none to make.
pub fn safe<'a>(findings: impl Iterator<Item = &'a Finding>, file: &SeenFile) -> Option<Repaired> {
    let mut taken: Vec<&FixEdit> = Vec::new();
    let mut titles = Vec::new();
    for finding in findings {
        let fits = |fix: &&Fix| is_safe(fix, file) && !overlaps(fix, &taken);
        if let Some(fix) = finding.fixes.iter().find(fits) {
            taken.extend(&fix.edits);
            titles.push(fix.title.clone());
        }
    }
    taken.sort_by_key(|edit| edit.place.bytes);
    let mut text = String::with_capacity(file.text.len());
    let mut at = 0;
    for edit in taken {
        let (start, end) = range(edit)?;
        text.push_str(file.text.get(at..start)?);
        text.push_str(&edit.new_text);
        at = end;
    }
    text.push_str(file.text.get(at..)?);
    (!titles.is_empty() && text != *file.text).then_some(Repaired { text, titles })
}

fn range(edit: &FixEdit) -> Option<(usize, usize)> {
    let (start, end) = edit.place.bytes;
    Some((usize::try_from(start).ok()?, usize::try_from(end).ok()?))
}

fn is_safe(fix: &Fix, file: &SeenFile) -> bool {
    let here = |edit: &FixEdit| {
        edit.place.file.workspace() == Some(&file.path)
            && edit.place.hash.as_ref() == Some(&file.hash)
    };
    let keeps_code = |edit: &FixEdit| {
        let old = range(edit).and_then(|(start, end)| file.text.get(start..end));
        old.is_some_and(|old| !edit.new_text.trim().is_empty() || old.trim().is_empty())
    };
    fix.applicability == Applicability::Safe
        && !fix.edits.is_empty()
        && fix.edits.iter().all(here)
        && fix.edits.iter().all(keeps_code)
}

fn overlaps(fix: &Fix, taken: &[&FixEdit]) -> bool {
    fix.edits.iter().any(|edit| {
        taken.iter().any(|other| {
            let (one, two) = (edit.place.bytes, other.place.bytes);
            one.0 <= two.1 && two.0 <= one.1
        })
    })
}

/// Findings in this file.
pub fn of_file<'a>(
    findings: impl Iterator<Item = &'a Finding>,
    path: &'a RelPath,
) -> impl Iterator<Item = &'a Finding> {
    findings.filter(move |finding| finding.file().and_then(|file| file.workspace()) == Some(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::finding::{Place, RangeKind, Severity, SourceFile, TextRange};
    use crate::kernel::hash::ContentHash;
    use crate::kernel::ids::GateId;

    const TEXT: &str = "import os\nx = 'é' ;y=1\n";

    fn path() -> RelPath {
        RelPath::parse("a.py").unwrap()
    }

    fn finding(applicability: Applicability, edits: &[(u32, u32, &str)], seen: &str) -> Finding {
        let place = |bytes| Place {
            file: SourceFile::Workspace(path()),
            range: TextRange::default(),
            kind: RangeKind::Exact,
            bytes,
            hash: Some(ContentHash::of(seen.as_bytes())),
            cell: None,
            line_text: String::new(),
            around: Vec::new(),
        };
        let edit = |(start, end, text): &(u32, u32, &str)| FixEdit {
            place: place((*start, *end)),
            new_text: (*text).into(),
        };
        Finding {
            gate: GateId::new("ruff"),
            source: "ruff".into(),
            place: Some(place((0, 1))),
            severity: Severity::Error,
            code: None,
            href: None,
            message: "m".into(),
            tags: Vec::new(),
            related: Vec::new(),
            fixes: vec![Fix {
                title: format!("{edits:?}"),
                applicability,
                edits: edits.iter().map(edit).collect(),
            }],
            test: None,
            rendered: None,
        }
    }

    #[test]
    fn only_safe_repairs_of_this_text_that_keep_code_are_made() {
        use Applicability::{Safe, Suggestion, Unsafe};
        let file = SeenFile {
            path: path(),
            hash: ContentHash::of(TEXT.as_bytes()),
            text: TEXT.into(),
        };
        let one =
            |applicability, edits: &[(u32, u32, &str)]| vec![finding(applicability, edits, TEXT)];
        let rows: [(Vec<Finding>, Option<&str>); 9] = [
            (Vec::new(), None),
            (one(Safe, &[(18, 19, " ")]), None),
            (
                one(Safe, &[(18, 18, " ")]),
                Some("import os\nx = 'é'  ;y=1\n"),
            ),
            (
                one(Safe, &[(21, 22, " = ")]),
                Some("import os\nx = 'é' ;y = 1\n"),
            ),
            (one(Unsafe, &[(21, 22, " = ")]), None),
            (one(Suggestion, &[(21, 22, " = ")]), None),
            // Takes an import away.
            (one(Safe, &[(0, 10, "")]), None),
            (vec![finding(Safe, &[(21, 22, " = ")], "older text")], None),
            // The second one overlaps the first.
            (
                [
                    one(Safe, &[(21, 22, "=")]),
                    one(Safe, &[(21, 22, "==")]),
                    one(Safe, &[(0, 6, "IMPORT")]),
                ]
                .concat(),
                Some("IMPORT os\nx = 'é' ;y=1\n"),
            ),
        ];
        for (at, (findings, want)) in rows.into_iter().enumerate() {
            let repaired = safe(findings.iter(), &file).map(|repaired| repaired.text);
            assert_eq!(repaired.as_deref(), want, "row {at}");
        }
        // Inside a letter: refused, no panic.
        let inside = one(Safe, &[(16, 17, "e")]);
        assert_eq!(safe(inside.iter(), &file), None);
    }
}
