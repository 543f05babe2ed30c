//! Decisions as tables.

use super::*;
use crate::kernel::diff::hunks;
use crate::kernel::question::Answer;

fn path() -> RelPath {
    RelPath::parse("src/a.rs").unwrap()
}

/// Hashes are data here: any function of the text will do.
fn hash(text: &str) -> ContentHash {
    ContentHash(format!("h({text})"))
}

fn seen(text: &str) -> SeenFile {
    SeenFile {
        path: path(),
        hash: hash(text),
        text: text.into(),
    }
}

fn now(text: &str, source: TextSource) -> FileNow {
    FileNow::Text(TextNow {
        text: text.into(),
        hash: hash(text),
        encoding: Encoding::Utf8,
        source,
        disk: Some(hash(text)),
        newer_disk: false,
    })
}

fn disk(text: &str) -> FileNow {
    now(text, TextSource::Disk)
}

fn unsaved(text: &str) -> FileNow {
    now(text, TextSource::UnsavedDocument)
}

fn absent() -> FileNow {
    FileNow::Absent { nearest: vec![] }
}

/// A verdict in one line.
fn short(verdict: &Verdict) -> String {
    let content = |content: &NewContent| match content {
        NewContent::Text { text, .. } => format!("{:?}", &**text),
        NewContent::Deleted => "nothing".to_owned(),
    };
    match verdict {
        Verdict::Identical => "identical".into(),
        Verdict::Write { order, merged } => format!(
            "{} {} over {}",
            if *merged { "merge" } else { "write" },
            content(&order.content),
            order
                .expected
                .as_ref()
                .map_or("nothing", |hash| hash.0.as_str())
        ),
        Verdict::Conflict(conflict) => {
            format!("ask {:?} {}", conflict.reason, content(&conflict.proposed))
        }
        Verdict::Refuse { now, .. } => match now {
            NowKnown::AsBefore => "refuse".into(),
            NowKnown::Shown(_) => "refuse, shown".into(),
            NowKnown::Gone => "refuse, gone".into(),
        },
    }
}

fn policies(conflict: ConflictPolicy) -> FilePolicies {
    FilePolicies {
        conflict,
        merge: MergePolicy::Auto,
    }
}

const ALL: [ConflictPolicy; 4] = [
    ConflictPolicy::Ask,
    ConflictPolicy::Edit,
    ConflictPolicy::Overwrite,
    ConflictPolicy::Fail,
];

fn check(seen: Option<&str>, change: Change, file: &FileNow, want: [&str; 4]) {
    let seen = seen.map(self::seen);
    let path = path();
    let proposal = Proposal {
        path: &path,
        seen: seen.as_ref(),
        change,
    };
    let got = ALL.map(|policy| short(&decide(&proposal, file, policies(policy))));
    assert_eq!(got, want, "{seen:?} {change:?} {file:?}");
}

#[test]
fn whole_writes() {
    let write = |text| Change::Write { text };
    let same = |row| [row; 4];
    check(
        None,
        write("x\n"),
        &absent(),
        same("write \"x\\n\" over nothing"),
    );
    check(None, write("x\n"), &disk("x\n"), same("identical"));
    check(None, write("x\n"), &disk("x\r\n"), same("identical"));
    check(
        None,
        write("x\n"),
        &disk(""),
        same("write \"x\\n\" over h()"),
    );
    check(
        Some("a\n"),
        write("x\n"),
        &disk("a\n"),
        same("write \"x\\n\" over h(a\n)"),
    );
    check(
        Some("a\n"),
        write("x\n"),
        &unsaved("a\n"),
        same("write \"x\\n\" over h(a\n)"),
    );
    check(
        None,
        write("x\n"),
        &disk("a\n"),
        [
            "ask Exists \"x\\n\"",
            "refuse, shown",
            "write \"x\\n\" over h(a\n)",
            "refuse",
        ],
    );
    check(
        None,
        write("x\n"),
        &unsaved(""),
        [
            "ask Exists \"x\\n\"",
            "refuse, shown",
            "ask Exists \"x\\n\"",
            "refuse",
        ],
    );
    check(
        Some("a\n"),
        write("x\n"),
        &disk("b\n"),
        [
            "ask ChangedOnDisk \"x\\n\"",
            "refuse, shown",
            "write \"x\\n\" over h(b\n)",
            "refuse",
        ],
    );
    check(
        Some("a\n"),
        write("x\n"),
        &unsaved("b\n"),
        [
            "ask UnsavedText \"x\\n\"",
            "refuse, shown",
            "ask UnsavedText \"x\\n\"",
            "refuse",
        ],
    );
    check(
        Some("a\n"),
        write("x\n"),
        &absent(),
        [
            "ask Deleted \"x\\n\"",
            "refuse, gone",
            "write \"x\\n\" over nothing",
            "refuse, gone",
        ],
    );
    // Apart from each other: merged, with the endings of the file.
    check(
        Some("a\r\nb\r\nc\r\n"),
        write("A\nb\nc\n"),
        &unsaved("a\r\nb\r\nC\r\n"),
        same("merge \"A\\r\\nb\\r\\nC\\r\\n\" over h(a\r\nb\r\nC\r\n)"),
    );
    // The user made the very change.
    check(Some("a\n"), write("x\n"), &disk("x\n"), same("identical"));
    // Where only a part overlaps, the rest of the user's changes stays in the proposal.
    check(
        Some("a\nm\nz\n"),
        write("A\nm\nz\n"),
        &disk("b\nm\nZ\n"),
        [
            "ask ChangedOnDisk \"A\\nm\\nZ\\n\"",
            "refuse, shown",
            "write \"A\\nm\\nZ\\n\" over h(b\nm\nZ\n)",
            "refuse",
        ],
    );
}

#[test]
fn edits() {
    let edits = |old: &str, new: &str| {
        [Replacement {
            old: old.into(),
            new: new.into(),
        }]
    };
    let same = |row| [row; 4];
    let a_to_x = edits("a", "x");
    let change = Change::Edit { edits: &a_to_x };
    check(None, change, &absent(), same("refuse, gone"));
    check(
        None,
        change,
        &disk("a\n"),
        same("write \"x\\n\" over h(a\n)"),
    );
    check(None, change, &disk("b\n"), same("refuse"));
    check(
        Some("a\n"),
        change,
        &disk("a\n"),
        same("write \"x\\n\" over h(a\n)"),
    );
    check(
        Some("a\nb\nc\n"),
        change,
        &unsaved("a\nb\nC\n"),
        same("merge \"x\\nb\\nC\\n\" over h(a\nb\nC\n)"),
    );
    check(
        Some("a\n"),
        change,
        &unsaved("b\n"),
        [
            "ask UnsavedText \"x\\n\"",
            "refuse, shown",
            "ask UnsavedText \"x\\n\"",
            "refuse",
        ],
    );
    // Known from elsewhere: it fits only what is there now.
    check(
        Some("q\n"),
        change,
        &disk("a\n"),
        same("merge \"x\\n\" over h(a\n)"),
    );
    check(Some("q\n"), change, &disk("b\n"), same("refuse, shown"));
}

#[test]
fn deletions() {
    let (own, other) = (
        Change::Delete { made_by_run: true },
        Change::Delete { made_by_run: false },
    );
    check(None, other, &absent(), ["identical"; 4]);
    check(Some("a"), own, &disk("a"), ["write nothing over h(a)"; 4]);
    let asked = [
        "ask Deletion nothing",
        "refuse",
        "write nothing over h(a)",
        "refuse",
    ];
    check(Some("a"), other, &disk("a"), asked);
    check(Some("b"), own, &disk("a"), asked);
    check(
        None,
        own,
        &unsaved("a"),
        [
            "ask Deletion nothing",
            "refuse",
            "ask Deletion nothing",
            "refuse",
        ],
    );
}

#[test]
fn what_cannot_be_edited_is_refused_with_the_reason() {
    for file in [
        FileNow::Opaque {
            hash: None,
            size: 9,
            reason: "it is not UTF-8".into(),
        },
        FileNow::Refused {
            reason: "it is a folder".into(),
        },
    ] {
        for change in [
            Change::Write { text: "x" },
            Change::Edit { edits: &[] },
            Change::Delete { made_by_run: true },
        ] {
            check(None, change, &file, ["refuse"; 4]);
        }
    }
}

#[test]
fn the_merge_policy_can_ask() {
    let (path, seen) = (path(), seen("a\nb\nc\n"));
    let proposal = Proposal {
        path: &path,
        seen: Some(&seen),
        change: Change::Write { text: "A\nb\nc\n" },
    };
    let policies = FilePolicies {
        conflict: ConflictPolicy::Ask,
        merge: MergePolicy::Ask,
    };
    let verdict = decide(&proposal, &disk("a\nb\nC\n"), policies);
    assert_eq!(short(&verdict), "ask ChangedOnDisk \"A\\nb\\nC\\n\"");
}

#[test]
fn unsaved_text_over_a_newer_disk_is_always_asked_about() {
    let FileNow::Text(mut text) = unsaved("a\nb\nc\n") else {
        unreachable!()
    };
    text.newer_disk = true;
    let file = FileNow::Text(text);
    let ask = "ask ChangedOnDisk \"A\\nb\\nc\\n\"";
    check(
        Some("a\nb\nc\n"),
        Change::Write { text: "A\nb\nc\n" },
        &file,
        [ask, "refuse, shown", ask, "refuse"],
    );
}

#[test]
fn a_mark_is_an_encoding() {
    let path = path();
    let proposal = Proposal {
        path: &path,
        seen: None,
        change: Change::Write { text: "\u{feff}x" },
    };
    let Verdict::Write { order, .. } = decide(&proposal, &absent(), FilePolicies::default()) else {
        panic!("refused");
    };
    assert_eq!(
        order.content,
        NewContent::Text {
            text: "x".into(),
            encoding: Encoding::Utf8Bom
        }
    );
}

#[test]
fn refusals_show_what_is_there() {
    let path = path();
    let proposal = Proposal {
        path: &path,
        seen: None,
        change: Change::Write { text: "x" },
    };
    let Verdict::Refuse { message, .. } =
        decide(&proposal, &disk("é\r\nb"), policies(ConflictPolicy::Edit))
    else {
        panic!("not refused");
    };
    assert!(message.ends_with("     1\té\n     2\tb\n"), "{message}");
    let old = seen("a\n");
    let proposal = Proposal {
        seen: Some(&old),
        ..proposal
    };
    let Verdict::Refuse { message, .. } =
        decide(&proposal, &disk("b\n"), policies(ConflictPolicy::Edit))
    else {
        panic!("not refused");
    };
    assert!(message.contains("-a\n+b\n"), "{message}");
}

#[test]
fn answers_are_held_against_what_is_there_then() {
    let (path, base) = (path(), seen("a\nm\nb\n"));
    let proposal = Proposal {
        path: &path,
        seen: Some(&base),
        change: Change::Write { text: "A\nm\nB\n" },
    };
    let shown = disk("x\nm\ny\n");
    let Verdict::Conflict(conflict) = decide(&proposal, &shown, FilePolicies::default()) else {
        panic!("no conflict");
    };
    let hunks = hunks("x\nm\ny\n", conflict.proposed_text().unwrap());
    let say = |answer: Answer, now: &FileNow| match settle(&conflict, &hunks, &answer, now) {
        Settlement::Write(order) => short(&Verdict::Write {
            order,
            merged: false,
        }),
        Settlement::Keep { reason } => format!("keep {reason:?}"),
        Settlement::LookAgain => "look again".into(),
        Settlement::StopRun => "stop".into(),
        Settlement::NoAnswer { .. } => "no answer".into(),
    };
    let reason = Some("mine".to_owned());
    let rows = [
        (Answer::TakeAll, "write \"A\\nm\\nB\\n\" over h(x\nm\ny\n)"),
        (
            Answer::TakeHunks { hunks: vec![1] },
            "write \"x\\nm\\nB\\n\" over h(x\nm\ny\n)",
        ),
        (Answer::TakeHunks { hunks: vec![] }, "keep None"),
        (Answer::TakeHunks { hunks: vec![7] }, "no answer"),
        (
            Answer::TakeText {
                text: "mix\n".into(),
            },
            "write \"mix\\n\" over h(x\nm\ny\n)",
        ),
        (
            Answer::KeepMine {
                reason: reason.clone(),
            },
            "keep Some(\"mine\")",
        ),
        (Answer::StopRun, "stop"),
        (Answer::Text { text: "yes".into() }, "no answer"),
        (
            Answer::Choice {
                choice: "ok".into(),
            },
            "no answer",
        ),
    ];
    for (answer, want) in rows {
        assert_eq!(say(answer.clone(), &shown), want, "{answer:?}");
    }
    for moved in [disk("x\nm\nz\n"), unsaved("x\nm\nz\n"), absent()] {
        assert_eq!(say(Answer::TakeAll, &moved), "look again");
    }
    // Saved or opened meanwhile, with the text that the human was shown.
    assert_eq!(
        say(Answer::TakeAll, &unsaved("x\nm\ny\n")),
        "write \"A\\nm\\nB\\n\" over h(x\nm\ny\n)"
    );
    assert_eq!(
        say(Answer::KeepMine { reason }, &absent()),
        "keep Some(\"mine\")"
    );
}
