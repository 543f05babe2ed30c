//! Files: written safely, read under open documents, listed, edited, merged.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use outrigger::kernel::conflict::{
    Change, FilePolicies, Proposal, Verdict, decide as decide_change,
};
use outrigger::kernel::diff;
use outrigger::kernel::document::{
    ClientPosition, DocumentChange, PositionEncoding, apply_changes,
};
use outrigger::kernel::edit;
use outrigger::kernel::file::{
    Encoding, FileNow, NewContent, OpenDocument, Overlay, TextNow, TextSource, WriteOrder,
    WriteOutcome,
};
use outrigger::kernel::hash::ContentHash;
use outrigger::kernel::merge::{Merge, three_way};
use outrigger::kernel::path::RelPath;
use outrigger::kernel::tool::{ListFiles, Replacement};
use outrigger::workspace::Workspace;
use ropey::Rope;

use super::table::{Row, Target};

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

fn lines(count: usize) -> String {
    (0..count)
        .map(|n| format!("    let value_{n} = compute(value_{}, \"é\");\n", n / 3))
        .collect()
}

/// Replacing a file: checked, durable, old or new. The floor makes the same calls and looks at nothing.
pub fn write() -> Row {
    const ROUNDS: usize = 200;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let path = RelPath::parse("ours.rs").unwrap();
    let texts = [lines(200), lines(201)];
    fs::write(folder.path().join("ours.rs"), &texts[1]).unwrap();
    fs::write(folder.path().join("bare.rs"), &texts[1]).unwrap();
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let (text, old) = (&texts[round % 2], &texts[(round + 1) % 2]);
        let order = WriteOrder {
            path: path.clone(),
            expected: Some(ContentHash::of(old.as_bytes())),
            content: NewContent::Text {
                text: text.as_str().into(),
                encoding: Encoding::Utf8,
            },
        };
        let begun = Instant::now();
        let outcome = workspace.write(&order);
        ours.push(milliseconds(begun.elapsed()));
        assert!(matches!(outcome, WriteOutcome::Written { .. }));
        let begun = Instant::now();
        bare_write(folder.path(), text.as_bytes());
        floor.push(milliseconds(begun.elapsed()));
    }
    Row {
        ours: median(&mut ours),
        floor: Some(median(&mut floor)),
        unit: "ms",
        target: Target::TimesFloor(1.2),
        note: format!(
            "{ROUNDS} of {} bytes; floor: open, write, fsync, rename, fsync folder",
            texts[0].len()
        ),
        ..Row::default()
    }
}

fn bare_write(folder: &Path, bytes: &[u8]) {
    let temporary = folder.join("bare.tmp");
    let mut file = File::create(&temporary).unwrap();
    file.write_all(bytes).unwrap();
    file.sync_all().unwrap();
    fs::rename(&temporary, folder.join("bare.rs")).unwrap();
    File::open(folder).unwrap().sync_all().unwrap();
}

/// 10,000 keystrokes in a document of 5 MB.
pub fn typing() -> Row {
    let text = lines(110_000);
    let mut document = OpenDocument {
        uri: "file:///big.rs".into(),
        version: 1,
        text: Rope::from_str(&text),
        dirty: true,
        saved: None,
    };
    let begun = Instant::now();
    for n in 0..10_000_u32 {
        let at = ClientPosition {
            line: n * 7 % 100_000,
            column: 8,
        };
        let change = DocumentChange::Range {
            start: at,
            end: at,
            text: "x".into(),
        };
        apply_changes(&mut document, &[change], PositionEncoding::Utf16).unwrap();
        // As each effect that reads files holds one.
        drop(document.text.clone());
    }
    let ours = milliseconds(begun.elapsed());
    let begun = Instant::now();
    let mut bare = text.clone();
    // A tenth of them is enough to know, and takes long enough.
    for n in 0..1_000_usize {
        let mut at = n * 350 % 5_000_000;
        while !bare.is_char_boundary(at) {
            at += 1;
        }
        bare.insert(at, 'x');
    }
    let floor = milliseconds(begun.elapsed()) * 10.0;
    Row {
        ours,
        floor: Some(floor),
        unit: "ms",
        target: Target::AtMost(1_000.0),
        note: format!(
            "{:.1} MB, each with a snapshot taken; floor: insert into one string",
            text.len() as f64 / 1e6
        ),
        ..Row::default()
    }
}

/// A tree of 100,000 files with ignore rules. The floor walks it and looks at no rule.
pub fn list() -> Row {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for outer in 0..100 {
        for inner in 0..10 {
            let place = folder.path().join(format!("d{outer}/e{inner}"));
            fs::create_dir_all(&place).unwrap();
            for n in 0..100 {
                File::create(place.join(format!("f{n}.rs"))).unwrap();
            }
        }
        fs::write(
            folder.path().join(format!("d{outer}/.gitignore")),
            "f9?.rs\n",
        )
        .unwrap();
    }
    fs::write(folder.path().join(".gitignore"), "target/\n*.log\n").unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let everything = ListFiles {
        path: None,
        glob: None,
    };
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let begun = Instant::now();
        let listed = workspace.list(&everything, &Overlay::default());
        ours.push(milliseconds(begun.elapsed()));
        assert!(listed.text.contains("files in all"), "{}", listed.text);
        let begun = Instant::now();
        assert!(count(folder.path()) > 100_000);
        floor.push(milliseconds(begun.elapsed()));
    }
    Row {
        ours: median(&mut ours),
        floor: Some(median(&mut floor)),
        unit: "ms",
        target: Target::AtMost(500.0),
        note: "warm; floor: one thread, no rules".into(),
        ..Row::default()
    }
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                1 + count(&entry.path())
            } else {
                1
            }
        })
        .sum()
}

/// An edit of a file of 10,000 lines that fits only when white space is ignored: the longest way through the matcher.
pub fn edit() -> Row {
    let text = lines(10_000);
    let edits = [Replacement {
        old: "let value_9000 = compute(value_3000, \"é\");\nlet  value_9001 = compute(value_3000, \"é\");\n".into(),
        new: "let value_9000 = 1;\n".into(),
    }];
    let mut times = Vec::new();
    for _ in 0..21 {
        let begun = Instant::now();
        assert!(edit::apply(&text, &edits).is_ok());
        times.push(milliseconds(begun.elapsed()));
    }
    Row {
        ours: median(&mut times),
        unit: "ms",
        target: Target::AtMost(10.0),
        note: "exact, then without endings, trailing and all white space".into(),
        ..Row::default()
    }
}

/// A merge of 10,000 lines with changes on both sides.
pub fn merge() -> Row {
    let base = lines(10_000);
    let ours_text = base
        .replace("value_100,", "first,")
        .replace("value_2500,", "third,");
    let theirs = base.replace("value_1700,", "second,");
    let mut times = Vec::new();
    for _ in 0..11 {
        let begun = Instant::now();
        assert!(matches!(
            three_way(&base, &ours_text, &theirs),
            Merge::Clean(_)
        ));
        times.push(milliseconds(begun.elapsed()));
    }
    Row {
        ours: median(&mut times),
        unit: "ms",
        target: Target::AtMost(100.0),
        ..Row::default()
    }
}

/// Looking at a file of 5 MB that is open and unsaved: text, hash and the disk's hash.
pub fn look() -> Row {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let text = lines(110_000);
    fs::write(folder.path().join("big.rs"), &text).unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let path = RelPath::parse("big.rs").unwrap();
    let document = OpenDocument {
        uri: workspace.uri(&path),
        version: 1,
        text: Rope::from_str(&(text.clone() + "typed")),
        dirty: true,
        saved: None,
    };
    let overlay: Overlay = Arc::new(BTreeMap::from([(path.clone(), document)]));
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..11 {
        let begun = Instant::now();
        assert!(workspace.inspect(&path, &overlay).text().is_some());
        ours.push(milliseconds(begun.elapsed()));
        let begun = Instant::now();
        let bytes = fs::read(folder.path().join("big.rs")).unwrap();
        let hashes = [ContentHash::of(&bytes), ContentHash::of(text.as_bytes())];
        floor.push(milliseconds(begun.elapsed()));
        assert_eq!(hashes[0], hashes[1]);
    }
    Row {
        ours: median(&mut ours),
        floor: Some(median(&mut floor)),
        unit: "ms",
        note: format!(
            "{:.1} MB; floor: read and hash twice",
            text.len() as f64 / 1e6
        ),
        ..Row::default()
    }
}

/// The lines of 9 MB, a million of them, all different on the two sides but for every hundredth: what a question about such
/// a file costs the actor. The floor finds the lines of both.
pub fn differences() -> Row {
    let side = |word: &str| -> String {
        let line = |n: u32| match n % 100 {
            0 => format!("{n:07}\n"),
            _ => format!("{word}{n:07}\n"),
        };
        (0..1_000_000).map(line).collect()
    };
    let (old, new) = (side("a"), side("b"));
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let begun = Instant::now();
        assert!(!diff::hunks(&old, &new).is_empty());
        ours.push(milliseconds(begun.elapsed()));
        let begun = Instant::now();
        assert_eq!(diff::lines(&old).len(), diff::lines(&new).len());
        floor.push(milliseconds(begun.elapsed()));
    }
    Row {
        ours: median(&mut ours),
        floor: Some(median(&mut floor)),
        unit: "ms",
        target: Target::AtMost(1_000.0),
        note: format!(
            "{:.1} MB each; floor: find the lines",
            old.len() as f64 / 1e6
        ),
        ..Row::default()
    }
}

/// An edit of one line of such a file, decided as the actor does it. The floor hashes both texts.
pub fn decide() -> Row {
    let text: String = (0..1_000_000).map(|n| format!("{n:07}x\n")).collect();
    let path = RelPath::parse("big.rs").unwrap();
    let hash = ContentHash::of(text.as_bytes());
    let now = FileNow::Text(TextNow {
        text: text.as_str().into(),
        hash: hash.clone(),
        encoding: Encoding::Utf8,
        source: TextSource::Disk,
        disk: Some(hash),
        newer_disk: false,
    });
    let edits = [Replacement {
        old: "0777777x".into(),
        new: "seven".into(),
    }];
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let begun = Instant::now();
        let proposal = Proposal {
            path: &path,
            seen: None,
            change: Change::Edit { edits: &edits },
        };
        let verdict = decide_change(&proposal, &now, FilePolicies::default());
        let Verdict::Write { order, .. } = verdict else {
            panic!("{verdict:?}");
        };
        let NewContent::Text { text: new, .. } = &order.content else {
            panic!("it is deleted");
        };
        assert_eq!(diff::count_lines(&text, new).added, 1);
        assert!(order.content.hash().is_some());
        ours.push(milliseconds(begun.elapsed()));
        let begun = Instant::now();
        assert_eq!(
            ContentHash::of(text.as_bytes()),
            ContentHash::of(text.as_bytes())
        );
        floor.push(milliseconds(begun.elapsed()));
    }
    Row {
        ours: median(&mut ours),
        floor: Some(median(&mut floor)),
        unit: "ms",
        target: Target::AtMost(250.0),
        note: format!("{:.1} MB; floor: hash twice", text.len() as f64 / 1e6),
        ..Row::default()
    }
}
