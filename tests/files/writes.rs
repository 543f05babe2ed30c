//! Writes happen only over what was expected, and keep what a file is.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, Instant};

use outrigger::kernel::conflict::{Change, Verdict};
use outrigger::kernel::file::{FileNow, NewContent, TextSource, WriteOrder, WriteOutcome};
use outrigger::kernel::hash::ContentHash;
use outrigger::kernel::question::ConflictReason;

use super::support::{Desk, names, order, rel, written};

fn deletion(path: &str, over: Option<&[u8]>) -> WriteOrder {
    WriteOrder {
        path: rel(path),
        expected: over.map(ContentHash::of),
        content: NewContent::Deleted,
    }
}

#[test]
fn a_new_file_gets_its_folders() {
    let desk = Desk::new();
    let outcome = desk.workspace.write(&order("a/b/c.rs", None, "x\n"));
    assert_eq!(outcome, written(None, Some(b"x\n")));
    assert_eq!(desk.bytes("a/b/c.rs"), b"x\n");
    assert_eq!(names(&desk.path("a/b")), ["c.rs"]);
    // Made like any other program makes files: the user's mask applies.
    fs::write(desk.path("other"), "").unwrap();
    let mode = |path| desk.path(path).metadata().unwrap().mode();
    assert_eq!(mode("a/b/c.rs"), mode("other"));
}

#[test]
fn nothing_is_written_over_what_was_not_expected() {
    let desk = Desk::new();
    desk.put("f", "theirs");
    for expected in [None, Some(b"older".as_slice())] {
        assert_eq!(
            desk.workspace.write(&order("f", expected, "mine")),
            WriteOutcome::Changed
        );
        assert_eq!(
            desk.workspace.write(&deletion("f", expected)),
            WriteOutcome::Changed
        );
    }
    assert_eq!(
        desk.workspace.write(&order("gone", Some(b"x"), "mine")),
        WriteOutcome::Changed
    );
    assert_eq!(desk.bytes("f"), b"theirs");
    assert_eq!(names(&desk.path("")), ["f"]);
}

#[test]
fn the_same_bytes_move_no_time_stamp() {
    let desk = Desk::new();
    desk.put("f", "same");
    let before = desk.path("f").metadata().unwrap();
    assert_eq!(
        desk.workspace.write(&order("f", Some(b"same"), "same")),
        written(Some(b"same"), Some(b"same"))
    );
    let after = desk.path("f").metadata().unwrap();
    assert_eq!(
        (before.ino(), before.ctime(), before.ctime_nsec()),
        (after.ino(), after.ctime(), after.ctime_nsec())
    );
}

#[test]
fn mode_links_and_attributes_stay() {
    let desk = Desk::new();
    desk.put("tool.sh", "old");
    fs::set_permissions(desk.path("tool.sh"), fs::Permissions::from_mode(0o751)).unwrap();
    let has_attributes = rustix::fs::setxattr(
        desk.path("tool.sh"),
        "user.note",
        b"kept",
        rustix::fs::XattrFlags::empty(),
    )
    .is_ok();
    desk.workspace.write(&order("tool.sh", Some(b"old"), "new"));
    assert_eq!(
        desk.path("tool.sh").metadata().unwrap().mode() & 0o7777,
        0o751
    );
    if has_attributes {
        let mut value = [0_u8; 16];
        let length = rustix::fs::getxattr(desk.path("tool.sh"), "user.note", &mut value).unwrap();
        assert_eq!(&value[..length], b"kept");
    }

    desk.put("one", "a longer old text");
    fs::hard_link(desk.path("one"), desk.path("two")).unwrap();
    for text in ["short", "and a much longer text than before"] {
        let before = desk.bytes("one");
        let outcome = desk.workspace.write(&order("one", Some(&before), text));
        assert_eq!(outcome, written(Some(&before), Some(text.as_bytes())));
        assert_eq!(desk.bytes("two"), text.as_bytes());
    }
    assert_eq!(desk.path("one").metadata().unwrap().nlink(), 2);
}

#[test]
fn the_owner_stays_where_we_may_keep_it() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let desk = Desk::new();
    desk.put("f", "old");
    std::os::unix::fs::chown(desk.path("f"), Some(12345), Some(23456)).unwrap();
    desk.workspace.write(&order("f", Some(b"old"), "new"));
    let stat = desk.path("f").metadata().unwrap();
    assert_eq!((stat.uid(), stat.gid()), (12345, 23456));
}

#[test]
fn deletion_takes_the_file_and_not_its_target() {
    let desk = Desk::new();
    desk.put("f", "x");
    assert_eq!(
        desk.workspace.write(&deletion("f", Some(b"x"))),
        written(Some(b"x"), None)
    );
    assert!(!desk.path("f").exists());
    assert_eq!(
        desk.workspace.write(&deletion("f", None)),
        written(None, None)
    );
}

#[test]
fn failures_say_what_is_the_matter_and_leave_nothing_half() {
    let desk = Desk::new();
    desk.put("locked", "x");
    fs::set_permissions(desk.path("locked"), fs::Permissions::from_mode(0o444)).unwrap();
    let long = "n".repeat(300);
    let rows = [
        (order("locked", Some(b"x"), "y"), "read-only"),
        (order(&long, None, "y"), "name too long"),
        (order(&format!("{long}/f"), None, "y"), "name too long"),
        (
            order("big", None, &"y".repeat(51 * 1024 * 1024)),
            "larger than 16 mb",
        ),
    ];
    for (order, reason) in rows {
        match desk.workspace.write(&order) {
            WriteOutcome::Failed { error } => {
                assert!(error.to_lowercase().contains(reason), "{error}");
                assert!(error.contains(order.path.as_str()), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(names(&desk.path("")), ["locked"]);
    // At the limit is not over it.
    let longest = "n".repeat(255);
    desk.put(&longest, "x");
    assert_eq!(
        desk.workspace.write(&order(&longest, Some(b"x"), "y")),
        written(Some(b"x"), Some(b"y"))
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let desk = Desk::new();
    desk.put("folder/f", "x");
    fs::set_permissions(desk.path("folder"), fs::Permissions::from_mode(0o555)).unwrap();
    let outcome = desk.workspace.write(&order("folder/f", Some(b"x"), "y"));
    assert!(
        matches!(outcome, WriteOutcome::Failed { .. }),
        "{outcome:?}"
    );
    assert_eq!(desk.bytes("folder/f"), b"x");
    fs::set_permissions(desk.path("folder"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// An editor saves a file, by renaming a new one over it, at any moment of a write of ours. If our text stands at the
/// end, it was written over the last save and nothing else; otherwise the last save stands.
#[test]
fn a_save_in_flight_is_never_lost() {
    let desk = Desk::in_memory();
    let (mut refused, mut saved_later) = (0, 0);
    for round in 0_u64.. {
        desk.put("f", "start");
        let first = desk.text("f").hash;
        let saves: Vec<String> = (0..3).map(|n| format!("save {round}.{n}")).collect();
        // From before the write to after it, in steps too fine to miss the moments between.
        let delay = Duration::from_micros(round * 7 % 250);
        let outcome = std::thread::scope(|scope| {
            let user = scope.spawn(|| {
                let start = Instant::now();
                while start.elapsed() < delay {
                    std::hint::spin_loop();
                }
                for text in &saves {
                    fs::write(desk.path("next"), text).unwrap();
                    fs::rename(desk.path("next"), desk.path("f")).unwrap();
                }
            });
            let mut write = order("f", None, "ours");
            write.expected = match round % 2 {
                0 => Some(first),
                // What the editor may just have saved.
                _ => Some(ContentHash::of(&desk.bytes("f"))),
            };
            let outcome = (write.expected.clone(), desk.workspace.write(&write));
            user.join().unwrap();
            outcome
        });
        let last = saves.last().unwrap();
        let stands = String::from_utf8(desk.bytes("f")).unwrap();
        match outcome {
            (expected, WriteOutcome::Written { .. }) if stands == "ours" => {
                assert_eq!(expected, Some(ContentHash::of(last.as_bytes())));
            }
            (_, WriteOutcome::Written { .. }) => {
                assert_eq!(stands, *last);
                saved_later += 1;
            }
            (_, WriteOutcome::Changed) => {
                assert_eq!(stands, *last);
                refused += 1;
            }
            (_, other) => panic!("{other:?}"),
        }
        assert_eq!(names(&desk.path("")), ["f"]);
        if refused >= 50 && saved_later >= 20 && round >= 400 {
            break;
        }
    }
}

#[test]
fn unsaved_text_is_the_truth_and_a_clean_document_is_not_ahead_of_the_disk() {
    let mut desk = Desk::new();
    desk.put("f", "disk\r\n");
    desk.open("f", "typed\r\n", true);
    let now = desk.text("f");
    assert_eq!(
        (&*now.text, now.source),
        ("typed\r\n", TextSource::UnsavedDocument)
    );
    assert_eq!(now.hash, ContentHash::of(b"typed\r\n"));
    assert_eq!(now.disk, Some(ContentHash::of(b"disk\r\n")));
    assert!(!now.newer_disk);

    desk.put("f", "newer\r\n");
    assert!(desk.text("f").newer_disk, "two truths");
    desk.open("f", "disk\r\n", false);
    let now = desk.text("f");
    assert_eq!((&*now.text, now.source), ("newer\r\n", TextSource::Disk));
    desk.open("f", "newer\r\n", true);
    assert_eq!(desk.text("f").source, TextSource::CleanDocument);

    // Deleted, but still open.
    fs::remove_file(desk.path("f")).unwrap();
    let now = desk.text("f");
    assert_eq!((&*now.text, now.disk), ("newer\r\n", None));

    // The mark is the disk's, whether the editor shows it or not.
    desk.put("f", "\u{feff}a");
    for text in ["\u{feff}a", "a"] {
        desk.open("f", text, false);
        let now = desk.text("f");
        assert_eq!((&*now.text, now.source), ("a", TextSource::CleanDocument));
        assert_eq!(Some(now.hash), now.disk);
    }
}

#[test]
fn typing_apart_from_an_edit_is_merged_and_typing_in_it_is_asked_about() {
    let mut desk = Desk::new();
    desk.put("f", "a\nb\nc\n");
    let seen = desk.read("f");
    desk.open("f", "a\nb\nc and more\n", true);
    let change = Change::Write { text: "A\nb\nc\n" };
    match desk.decide("f", Some(&seen), change) {
        Verdict::Write {
            order,
            merged: true,
        } => {
            assert_eq!(order.expected, Some(desk.text("f").hash));
            let NewContent::Text { text, .. } = order.content else {
                panic!()
            };
            assert_eq!(&*text, "A\nb\nc and more\n");
        }
        other => panic!("{other:?}"),
    }
    desk.open("f", "typed here\nb\nc\n", true);
    match desk.decide("f", Some(&seen), change) {
        Verdict::Conflict(conflict) => assert_eq!(conflict.reason, ConflictReason::UnsavedText),
        other => panic!("{other:?}"),
    }
    assert_eq!(desk.bytes("f"), b"a\nb\nc\n");
}

#[test]
fn creating_what_exists_is_success_or_a_question() {
    let desk = Desk::new();
    desk.put("f", "mine\r\n");
    assert_eq!(
        desk.decide("f", None, Change::Write { text: "mine\n" }),
        Verdict::Identical
    );
    match desk.decide("f", None, Change::Write { text: "other\n" }) {
        Verdict::Conflict(conflict) => assert_eq!(conflict.reason, ConflictReason::Exists),
        other => panic!("{other:?}"),
    }
    assert_eq!(desk.bytes("f"), b"mine\r\n");
}

#[test]
fn a_missing_file_names_its_neighbours() {
    let desk = Desk::new();
    desk.put("src/config.rs", "");
    desk.put("src/lib.rs", "");
    assert_eq!(
        desk.look("src/Config.rs"),
        FileNow::Absent {
            nearest: vec![rel("src/config.rs")]
        }
    );
    assert_eq!(
        desk.look("config.rs"),
        FileNow::Absent {
            nearest: vec![rel("src/config.rs")]
        }
    );
    match desk.decide("cnofig.rs", None, Change::Edit { edits: &[] }) {
        Verdict::Refuse { message, .. } => assert!(message.contains("src/config.rs"), "{message}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        desk.decide("gone", None, Change::Delete { made_by_run: false }),
        Verdict::Identical
    );
}

#[test]
fn a_write_through_a_link_leaves_no_trace_beside_it() {
    let desk = Desk::new();
    desk.put("real/f", "old");
    symlink("real/f", desk.path("f")).unwrap();
    desk.workspace.write(&order("f", Some(b"old"), "new"));
    assert_eq!(names(&desk.path("")), ["f", "real"]);
    assert_eq!(names(&desk.path("real")), ["f"]);
}
