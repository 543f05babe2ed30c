use super::*;
use crate::kernel::conflict::{ConflictPolicy, MergePolicy};
use crate::kernel::question::Answer;
use crate::kernel::tool::{EditFile, Replacement};

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).unwrap()
}

fn now(text: &str, source: TextSource) -> FileNow {
    let hash = ContentHash::of(text.as_bytes());
    FileNow::Text(TextNow {
        text: text.into(),
        hash: hash.clone(),
        encoding: Encoding::Utf8,
        source,
        disk: Some(hash),
        newer_disk: false,
    })
}

fn disk(text: &str) -> FileNow {
    now(text, TextSource::Disk)
}

fn absent() -> FileNow {
    FileNow::Absent {
        nearest: vec![rel("near")],
    }
}

/// One word of each file is to become another.
fn edits(files: &[(&str, &str, &str, FileNow)]) -> FileSet {
    let part = |(path, old, new, now): &(&str, &str, &str, FileNow)| {
        let proposal = FileProposal::Edit(EditFile {
            path: rel(path),
            edits: vec![Replacement {
                old: (*old).to_owned(),
                new: (*new).to_owned(),
            }],
        });
        Part {
            now: Some(now.clone()),
            ..Part::new(rel(path), Some(proposal))
        }
    };
    FileSet::new(SetWish::Edit, files.iter().map(part).collect())
}

fn policies(_: &FileProposal) -> FilePolicies {
    FilePolicies {
        conflict: ConflictPolicy::Ask,
        merge: MergePolicy::Auto,
    }
}

fn short(verdict: &SetVerdict) -> String {
    match verdict {
        SetVerdict::Identical => "identical".into(),
        SetVerdict::Refuse { message, .. } => format!("refuse {message}"),
        SetVerdict::Keep { path, reason } => format!("keep {path} {reason:?}"),
        SetVerdict::Ask { part, .. } => format!("ask {part}"),
        SetVerdict::Write(writes) => {
            let one = |write: &Decided| match &write.order.content {
                NewContent::Text { text, .. } => format!("{} {text:?}", write.order.path),
                NewContent::Deleted => format!("{} gone", write.order.path),
            };
            let all: Vec<String> = writes.iter().map(one).collect();
            format!("write {}", all.join(", "))
        }
    }
}

fn seen(text: &str) -> SeenFile {
    SeenFile {
        path: rel("b"),
        hash: ContentHash::of(text.as_bytes()),
        text: text.into(),
    }
}

#[test]
fn several_edits_are_all_or_nothing() {
    let read = seen("two\n");
    let rows = [
        (
            edits(&[
                ("a", "one", "1", disk("one\n")),
                ("b", "two", "2", disk("two\n")),
            ]),
            "write a \"1\\n\", b \"2\\n\"",
        ),
        (
            edits(&[
                ("a", "one", "1", disk("one\n")),
                ("b", "zwei", "2", disk("two\n")),
            ]),
            "refuse b was not changed",
        ),
        (
            edits(&[
                ("a", "one", "1", absent()),
                ("b", "two", "2", disk("two\n")),
            ]),
            "refuse a is not there",
        ),
        // A refusal comes before a question: nobody is asked about what cannot be.
        (
            edits(&[
                ("a", "zero", "0", disk("one\n")),
                ("b", "two", "2", now("mine\n", TextSource::UnsavedDocument)),
            ]),
            "refuse a was not changed",
        ),
        (
            edits(&[
                ("a", "one", "1", disk("one\n")),
                (
                    "b",
                    "two",
                    "2",
                    now("2 mine\n", TextSource::UnsavedDocument),
                ),
            ]),
            "ask 1",
        ),
        (
            edits(&[("a", "one", "one", disk("one\n"))]),
            "refuse a was not changed",
        ),
    ];
    for (set, want) in rows {
        let verdict = set.decide(|path| (path.as_str() == "b").then_some(&read), policies);
        assert!(
            short(&verdict).starts_with(want),
            "{want}: {}",
            short(&verdict)
        );
    }
}

#[test]
fn an_answer_counts_while_what_was_shown_is_there() {
    let read = seen("two\n");
    let mut set = edits(&[
        ("a", "one", "1", disk("one\n")),
        (
            "b",
            "two",
            "2",
            now("2 mine\n", TextSource::UnsavedDocument),
        ),
    ]);
    let decide =
        |set: &FileSet| set.decide(|path| (path.as_str() == "b").then_some(&read), policies);
    let SetVerdict::Ask { part: 1, conflict } = decide(&set) else {
        panic!("{:?}", decide(&set));
    };
    let given = |answer| {
        Some(Box::new(GivenAnswer {
            asked: AskedConflict {
                proposal: set.parts[1].proposal.clone().unwrap(),
                hunks: Vec::new(),
                conflict: (*conflict).clone(),
            },
            answer,
        }))
    };
    let (all, keep) = (
        given(Answer::TakeAll),
        given(Answer::KeepMine {
            reason: Some("no".into()),
        }),
    );
    set.parts[1].answer = all;
    assert_eq!(short(&decide(&set)), "write a \"1\\n\", b \"2\\n\"");
    set.parts[1].now = Some(now("2 mine, more\n", TextSource::UnsavedDocument));
    assert_eq!(short(&decide(&set)), "ask 1");
    set.parts[1].answer = keep;
    assert_eq!(short(&decide(&set)), "keep b Some(\"no\")");
}

#[test]
fn a_file_is_moved_where_nothing_is() {
    let opaque = FileNow::Opaque {
        hash: None,
        size: 1,
        reason: "it is binary".into(),
    };
    let unsaved = now("x", TextSource::UnsavedDocument);
    let rows = [
        ("a", "d/b", disk("x"), absent(), "write d/b \"x\", a gone"),
        ("a", "A", disk("x"), disk("x"), "write A \"x\", a gone"),
        (
            "é.rs",
            "É.rs",
            disk("x"),
            absent(),
            "write É.rs \"x\", é.rs gone",
        ),
        (
            "a",
            "A",
            disk("x"),
            disk("y"),
            "refuse a was not moved to A: A is there already",
        ),
        (
            "a",
            "b",
            disk("x"),
            disk("x"),
            "refuse a was not moved to b: b is there already",
        ),
        (
            "a",
            "b",
            absent(),
            absent(),
            "refuse a was not moved to b: a is not there; the nearest names are near",
        ),
        (
            "a",
            "b",
            opaque,
            absent(),
            "refuse a was not moved to b: it is binary",
        ),
        (
            "a",
            "b",
            unsaved,
            absent(),
            "refuse a was not moved to b: the user has unsaved text",
        ),
    ];
    for (from, to, source, target, want) in rows {
        let wanted = MoveFile {
            from: rel(from),
            to: rel(to),
        };
        let part = |path, now| Part {
            now: Some(now),
            ..Part::new(rel(path), None)
        };
        let set = FileSet::new(
            SetWish::Move(wanted),
            vec![part(to, target), part(from, source)],
        );
        let verdict = set.decide(|_| None, policies);
        assert!(
            short(&verdict).starts_with(want),
            "{want}: {}",
            short(&verdict)
        );
    }
}
