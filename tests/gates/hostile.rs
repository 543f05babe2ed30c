//! Garbage, cut-off and hostile reports: no reader panics, no place leaves its text, no outside file is named as inside.

use std::sync::LazyLock;

use outrigger::gates::catalogue::TOOLS;
use outrigger::gates::locate::Sources as _;
use outrigger::gates::output::{Exit, ToolOutput};
use outrigger::kernel::finding::{GateReport, Outcome, Place, SourceFile};
use proptest::prelude::*;

use crate::captures::{Capture, CaseFiles, all, roots};

static CAPTURES: LazyLock<Vec<Capture>> = LazyLock::new(|| {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/gates");
    all(&root)
});

/// What holds for every report, whatever it was read from.
fn check(report: &GateReport, capture: &Capture) {
    let files = CaseFiles(capture.folder.clone());
    let places = report.findings.iter().flat_map(|finding| {
        assert!(!finding.message.is_empty(), "{finding:?}");
        finding
            .place
            .iter()
            .chain(finding.related.iter().map(|related| &related.place))
            .chain(
                finding
                    .fixes
                    .iter()
                    .flat_map(|fix| fix.edits.iter().map(|edit| &edit.place)),
            )
    });
    for place in places {
        check_place(place, &files);
    }
    if matches!(report.outcome, Outcome::Missing | Outcome::Skipped) {
        assert!(report.findings.is_empty());
    }
}

fn check_place(place: &Place, files: &CaseFiles) {
    let (start, end) = (place.range.start, place.range.end);
    assert!(start <= end, "{place:?}");
    assert!(place.bytes.0 <= place.bytes.1, "{place:?}");
    let path = match &place.file {
        SourceFile::Workspace(path) => format!("/workspace/{path}"),
        SourceFile::Outside(path) => path.clone(),
    };
    let text = files.read(&path);
    assert_eq!(text.is_some(), place.hash.is_some(), "{place:?}");
    let (Some(bytes), None) = (text, place.cell) else {
        return;
    };
    assert!(place.bytes.1 as usize <= bytes.len(), "{place:?}");
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines: Vec<&str> = text.split('\n').collect();
    for point in [start, end] {
        let line = lines.get(point.line as usize).unwrap_or(&"");
        let line = line.strip_suffix('\r').unwrap_or(line);
        let units = line.encode_utf16().count();
        assert!(point.utf16 as usize <= units, "{place:?}: {line:?}");
    }
}

#[derive(Debug, Clone)]
enum Change {
    Cut(prop::sample::Index),
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, &'static [u8]),
    Repeat(prop::sample::Index, prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    let spoilers: Vec<&'static [u8]> = vec![
        b"9223372036854775807",
        b"-9223372036854775808",
        b"18446744073709551616",
        b"1e999",
        b"\xff\xfe",
        b"\0",
        b"\"",
        b"\\",
        b"\r",
        b"\n\n",
        b"null",
        b"{}",
        b"[[[[",
        b"../../../../etc/passwd",
        b"<![CDATA[",
        b"&#x110000;",
        b"\xe2\x80\xa8",
        b"\xf0\x9f\x98\x80",
    ];
    prop_oneof![
        index().prop_map(Change::Cut),
        (index(), any::<u8>()).prop_map(|(at, byte)| Change::Flip(at, byte)),
        (index(), prop::sample::select(spoilers)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (index(), index()).prop_map(|(from, to)| Change::Repeat(from, to)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let length = bytes.len();
    match change {
        Change::Cut(at) => bytes.truncate(at.index(length + 1)),
        Change::Flip(at, byte) => {
            if length > 0 {
                bytes[at.index(length)] ^= byte;
            }
        }
        Change::Insert(at, more) => {
            let at = at.index(length + 1);
            bytes.splice(at..at, more.iter().copied());
        }
        Change::Repeat(one, other) => {
            let (one, other) = (one.index(length + 1), other.index(length + 1));
            let part = bytes[one.min(other)..one.max(other)].to_vec();
            bytes.extend(part);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn spoiled_reports_are_survived(
        capture in any::<prop::sample::Index>(),
        changes in prop::collection::vec((0_u8..3, change()), 1..4),
        code in prop_oneof![Just(None), (0..130).prop_map(Some)],
    ) {
        let capture = capture.get(&CAPTURES);
        let mut output = capture.output.clone();
        for (stream, change) in &changes {
            match (stream, output.artifacts.first_mut()) {
                (0, Some(artifact)) => apply(&mut artifact.bytes, change),
                (1, _) => apply(&mut output.stderr, change),
                _ => apply(&mut output.stdout, change),
            }
        }
        if let Some(code) = code {
            output.exit = Exit::Code(code);
        }
        check(&capture.report_of(&output), capture);
    }
}

/// A tool may be called by the wrong name, and a wrapper may print anything.
#[test]
fn every_reader_survives_every_other_tools_report() {
    let roots = roots();
    for capture in CAPTURES.iter() {
        let files = CaseFiles(capture.folder.clone());
        for tool in TOOLS {
            for share in [1, 2] {
                let half = |bytes: &[u8]| bytes[..bytes.len() / share].to_vec();
                let output = ToolOutput {
                    stdout: half(&capture.output.stdout),
                    stderr: half(&capture.output.stderr),
                    ..capture.output.clone()
                };
                let report = tool.report(&capture.invocation, &output, (&roots, &files));
                check(&report, capture);
            }
        }
    }
}

/// The same report about a file that is not in the workspace.
#[test]
fn a_file_outside_stays_outside() {
    let away = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.replace("/workspace/", "/workspace/../elsewhere/")
            .into_bytes()
    };
    let mut outside = 0;
    for capture in CAPTURES.iter() {
        let output = ToolOutput {
            stdout: away(&capture.output.stdout),
            stderr: away(&capture.output.stderr),
            ..capture.output.clone()
        };
        let report = capture.report_of(&output);
        check(&report, capture);
        for finding in &report.findings {
            match finding.file() {
                Some(SourceFile::Outside(path)) => {
                    assert!(!path.starts_with("/workspace/"), "{path}");
                    outside += 1;
                }
                Some(SourceFile::Workspace(path)) => {
                    assert!(!path.as_str().contains("elsewhere"), "{path}");
                }
                None => {}
            }
        }
    }
    assert!(outside > 20, "the captures name {outside} absolute paths");
}
