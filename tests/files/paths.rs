//! Nothing outside the workspace, in `.git` or in our own folder is reached, by whatever way.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use outrigger::kernel::file::{FileNow, NewContent, WriteOrder, WriteOutcome};
use outrigger::kernel::hash::ContentHash;
use outrigger::kernel::path::RelPath;
use outrigger::kernel::tool::{ListFiles, ReadFile, SearchFiles};
use outrigger::workspace::Workspace;
use outrigger::workspace::ledger::{Ledger, Why};
use proptest::prelude::*;

use super::support::{Desk, names, order, rel, written};

fn refused(desk: &Desk, path: &str) -> String {
    for content in [order(path, None, "x").content, NewContent::Deleted] {
        let order = WriteOrder {
            path: rel(path),
            expected: None,
            content,
        };
        let outcome = desk.workspace.write(&order);
        assert!(
            matches!(outcome, WriteOutcome::Failed { .. }),
            "{path}: {outcome:?}"
        );
    }
    let args = ReadFile {
        path: rel(path),
        from_line: None,
        lines: None,
    };
    let shown = desk.workspace.read(&args, &desk.overlay);
    assert!(shown.is_error && shown.seen.is_none(), "{path}: {shown:?}");
    match desk.look(path) {
        FileNow::Refused { reason } => reason,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn links_out_of_the_workspace_are_refused() {
    let desk = Desk::new();
    fs::create_dir(desk.outside("secrets")).unwrap();
    fs::write(desk.outside("secrets/key"), "secret").unwrap();
    symlink(desk.outside("secrets/key"), desk.path("file")).unwrap();
    symlink(desk.outside("secrets"), desk.path("folder")).unwrap();
    symlink("../secrets", desk.path("relative")).unwrap();
    fs::create_dir(desk.path("sub")).unwrap();
    symlink("../../secrets/key", desk.path("sub/deep")).unwrap();
    // By name the target starts like the root.
    fs::create_dir(desk.outside("work2")).unwrap();
    symlink(desk.outside("work2"), desk.path("sibling")).unwrap();
    symlink("/dev/null", desk.path("null")).unwrap();
    for path in [
        "file",
        "folder/key",
        "folder/new",
        "relative/key",
        "sub/deep",
        "sibling/new",
        "null",
    ] {
        let reason = refused(&desk, path);
        assert!(
            reason.contains("leads out of the workspace"),
            "{path}: {reason}"
        );
    }
    assert_eq!(
        fs::read_to_string(desk.outside("secrets/key")).unwrap(),
        "secret"
    );
    assert_eq!(fs::read_dir(desk.outside("secrets")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(desk.outside("work2")).unwrap().count(), 0);

    let list = ListFiles {
        path: Some(rel("folder")),
        glob: None,
    };
    assert!(desk.workspace.list(&list, &desk.overlay).is_error);
    let search = SearchFiles {
        pattern: "secret".into(),
        path: None,
        glob: None,
    };
    let found = desk.workspace.search(&search, &desk.overlay);
    assert!(found.text.contains("no line matches"), "{}", found.text);
}

#[test]
fn links_inside_the_workspace_are_followed_and_stay_links() {
    let desk = Desk::new();
    desk.put("real/a", "old\n");
    symlink("real", desk.path("folder")).unwrap();
    symlink(desk.path("real/a"), desk.path("absolute")).unwrap();
    symlink("real/../real/./a", desk.path("winding")).unwrap();
    symlink("real/new", desk.path("dangling")).unwrap();
    let mut bytes = b"old\n".to_vec();
    for (n, path) in ["folder/a", "absolute", "winding"].into_iter().enumerate() {
        let text = format!("{n}\n");
        let outcome = desk.workspace.write(&order(path, Some(&bytes), &text));
        assert_eq!(
            outcome,
            written(Some(&bytes), Some(text.as_bytes())),
            "{path}"
        );
        bytes = text.into_bytes();
        assert_eq!(desk.bytes("real/a"), bytes, "{path}");
    }
    desk.workspace.write(&order("dangling", None, "new"));
    assert_eq!(desk.bytes("real/new"), b"new");
    for path in ["folder", "absolute", "winding", "dangling"] {
        assert!(
            desk.path(path).symlink_metadata().unwrap().is_symlink(),
            "{path}"
        );
    }
}

#[test]
fn a_document_open_under_its_real_name_lies_over_a_link_too() {
    let mut desk = Desk::new();
    desk.put("real", "disk");
    symlink("real", desk.path("link")).unwrap();
    desk.open("real", "typed", true);
    assert_eq!(&*desk.text("link").text, "typed");
}

#[test]
fn circles_files_on_the_way_and_folders_are_refused() {
    let desk = Desk::new();
    symlink("circle", desk.path("circle")).unwrap();
    desk.put("file", "x");
    fs::create_dir(desk.path("folder")).unwrap();
    symlink(".", desk.path("root")).unwrap();
    assert!(refused(&desk, "circle").contains("circle"));
    assert!(refused(&desk, "file/below").contains("no folder"));
    assert!(refused(&desk, "folder").contains("a folder"));
    assert!(refused(&desk, "root").contains("a folder"));
}

#[test]
fn special_files_are_refused_without_waiting() {
    let desk = Desk::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, desk.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    let _socket = UnixListener::bind(desk.path("socket")).unwrap();
    assert!(refused(&desk, "pipe").contains("named pipe"));
    assert!(refused(&desk, "socket").contains("socket"));
}

#[test]
fn git_and_our_own_folder_are_refused_by_every_way() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("work");
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::create_dir_all(root.join("state/runs")).unwrap();
    fs::write(root.join(".git/config"), "[core]").unwrap();
    fs::write(root.join("state/runs/1.jsonl"), "core facts").unwrap();
    fs::write(root.join("kept"), "core").unwrap();
    symlink(".git", root.join("g")).unwrap();
    symlink("state/runs", root.join("s")).unwrap();
    let mut workspace = Workspace::open(&root).unwrap();
    workspace.keep_out_of(&root.join("state"));
    let desk = Desk {
        folder,
        workspace,
        overlay: Default::default(),
    };
    for path in [
        "g/config",
        "g/hooks/new",
        "s/1.jsonl",
        "state/runs/1.jsonl",
        "state/new",
        "state",
    ] {
        refused(&desk, path);
    }
    assert!(RelPath::parse(".git/config").is_err() && RelPath::parse("a/../.GIT/x").is_err());
    let all = ListFiles {
        path: None,
        glob: None,
    };
    assert_eq!(desk.workspace.list(&all, &desk.overlay).text, "kept\n");
    let search = SearchFiles {
        pattern: "core".into(),
        path: None,
        glob: None,
    };
    assert_eq!(
        desk.workspace.search(&search, &desk.overlay).text,
        "kept:1: core\n"
    );
}

/// A folder is swapped for a link to the outside and back, as fast as it goes, while files below it are written.
#[test]
fn a_folder_swapped_for_a_link_between_check_and_write_leads_nowhere() {
    let desk = Desk::new();
    fs::create_dir(desk.outside("target")).unwrap();
    fs::write(desk.outside("target/a"), "outside").unwrap();
    desk.put("folder/a", "inside");
    symlink(desk.outside("target"), desk.path("other")).unwrap();
    let stop = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    desk.path("folder"),
                    rustix::fs::CWD,
                    desk.path("other"),
                    rustix::fs::RenameFlags::EXCHANGE,
                )
                .unwrap();
            }
        });
        // Until both have been seen often: only then has the test tested anything.
        for n in 0.. {
            let text = n.to_string();
            let expected = match desk.look("folder/a") {
                FileNow::Text(now) => Some(now.hash),
                _ => None,
            };
            assert_ne!(expected, Some(ContentHash::of(b"outside")));
            let mut order = order("folder/a", None, &text);
            order.expected = expected;
            match desk.workspace.write(&order) {
                WriteOutcome::Written { .. } => inside += 1,
                WriteOutcome::Changed | WriteOutcome::Failed { .. } => refused += 1,
                WriteOutcome::Unknown { error } => panic!("{error}"),
            }
            if inside >= 50 && refused >= 50 {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(
        fs::read_to_string(desk.outside("target/a")).unwrap(),
        "outside"
    );
    assert_eq!(fs::read_dir(desk.outside("target")).unwrap().count(), 1);
}

#[test]
fn odd_names_are_right() {
    let desk = Desk::new();
    for name in [
        "a b",
        "#",
        "100%",
        "-rf",
        "caf\u{e9}",
        "cafe\u{301}",
        "漢/😀",
        "a\\b",
        "'\"",
        "..a",
        "C:",
    ] {
        let Ok(path) = RelPath::parse(name) else {
            assert_eq!(name, "C:");
            continue;
        };
        let outcome = desk.workspace.write(&order(name, None, name));
        assert_eq!(outcome, written(None, Some(name.as_bytes())), "{name}");
        assert_eq!(desk.bytes(name), name.as_bytes());
        assert_eq!(
            desk.workspace.relative_uri(&desk.workspace.uri(&path)),
            Ok(path)
        );
    }
    // Two spellings of one word are two files here, and neither was folded into the other.
    assert_eq!(desk.workspace.files(&desk.overlay).len(), 10);
}

/// A file is swapped for a link to the outside and back while it is written, deleted and moved.
#[test]
fn a_file_swapped_for_a_link_between_check_and_write_leads_nowhere() {
    let desk = Desk::in_memory();
    fs::write(desk.outside("secret"), "outside").unwrap();
    desk.put("f", "inside");
    symlink(desk.outside("secret"), desk.path("other")).unwrap();
    let stop = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let (one, other) = (desk.path("f"), desk.path("other"));
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                // While it is written, one of the names may be gone for a moment.
                let _ = rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    one,
                    rustix::fs::CWD,
                    other,
                    exchange,
                );
            }
        });
        for n in 0.. {
            let mut order = order("f", None, &n.to_string());
            order.expected = match desk.look("f") {
                FileNow::Text(now) => Some(now.hash),
                _ => None,
            };
            assert_ne!(order.expected, Some(ContentHash::of(b"outside")));
            match desk.workspace.write(&order) {
                WriteOutcome::Written { .. } => inside += 1,
                WriteOutcome::Changed | WriteOutcome::Failed { .. } => refused += 1,
                WriteOutcome::Unknown { error } => panic!("{error}"),
            }
            assert_eq!(fs::read(desk.outside("secret")).unwrap(), b"outside");
            if inside >= 50 && refused >= 50 {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// A path of components that are all meant to lead somewhere they should not.
fn wild_path() -> impl Strategy<Value = String> {
    let component = prop_oneof![
        Just(".."),
        Just("."),
        Just(""),
        Just("a"),
        Just("sub"),
        Just("out"),
        Just("out_file"),
        Just("in"),
        Just("circle"),
        Just(".git"),
        Just(".GIT"),
        Just("g"),
        Just("state"),
        Just("s"),
        Just("C:"),
        Just("~"),
        Just("caf\u{e9}"),
        Just("cafe\u{301}"),
        Just("%2e%2e"),
        Just("a b#"),
        Just("pipe"),
        Just("..\\x")
    ];
    (any::<bool>(), proptest::collection::vec(component, 1..6))
        .prop_map(|(rooted, parts)| format!("{}{}", if rooted { "/" } else { "" }, parts.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever a path is made of: what is outside, in `.git` or in our own folder is neither read nor touched.
    #[test]
    fn no_path_leads_out(paths in proptest::collection::vec(wild_path(), 1..8)) {
        let mut desk = Desk::in_memory();
        for folder in ["work/sub", "work/.git", "work/state", "secrets"] {
            fs::create_dir_all(desk.outside(folder)).unwrap();
        }
        for file in ["work/.git/a", "work/state/a", "secrets/a", "secrets/sub", "a"] {
            fs::write(desk.outside(file), "SECRET").unwrap();
        }
        desk.put("sub/a", "fine");
        symlink(desk.outside("secrets"), desk.path("out")).unwrap();
        symlink("../secrets/a", desk.path("out_file")).unwrap();
        symlink("../../secrets", desk.path("sub/out")).unwrap();
        symlink("sub", desk.path("in")).unwrap();
        symlink("circle", desk.path("circle")).unwrap();
        symlink(".git", desk.path("g")).unwrap();
        symlink("state", desk.path("s")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, desk.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
        let state = desk.path("state");
        desk.workspace.keep_out_of(&state);
        let ledger = Ledger::open(&desk.outside("ledger")).unwrap();
        let guarded = |desk: &Desk| -> Vec<Vec<u8>> {
            let files = ["work/.git/a", "work/state/a", "secrets/a", "secrets/sub", "a"];
            let mut found: Vec<Vec<u8>> = files.iter().map(|file| fs::read(desk.outside(file)).unwrap()).collect();
            for folder in ["work/.git", "work/state", "secrets", ""] {
                found.push(names(&desk.outside(folder)).join(",").into_bytes());
            }
            found
        };
        let before = guarded(&desk);
        let mut last: Option<RelPath> = None;
        for path in paths {
            // Refused as text: it never gets as far as a disk.
            let Ok(path) = RelPath::parse(&path) else { continue };
            let now = desk.workspace.inspect(&path, &desk.overlay);
            if let FileNow::Text(now) = &now {
                prop_assert_ne!(&*now.text, "SECRET", "{}", path);
            }
            let args = ReadFile { path: path.clone(), from_line: None, lines: None };
            prop_assert!(!desk.workspace.read(&args, &desk.overlay).text.contains("SECRET"), "{}", path);
            let mut order = WriteOrder { expected: now.hash().cloned(), ..order("a", None, "written") };
            order.path = path.clone();
            desk.workspace.write(&order);
            let why = |change| Why {
                run: outrigger::kernel::ids::RunId::new("r"),
                change: outrigger::kernel::ids::ChangeId(change),
                step: None,
                reason: String::new(),
                at: 1,
            };
            if let Some(last) = last.replace(path.clone()) {
                let there = desk.workspace.inspect(&last, &desk.overlay);
                let to = WriteOrder { path: path.clone(), expected: None, content: NewContent::Deleted };
                let from = WriteOrder { path: last, expected: there.hash().cloned(), content: NewContent::Deleted };
                desk.workspace.relocate((&to, &why(1)), (&from, &why(2)), &ledger);
            }
            let gone = WriteOrder { path: path.clone(), expected: desk.workspace.inspect(&path, &desk.overlay).hash().cloned(), content: NewContent::Deleted };
            desk.workspace.write(&gone);
            fs::create_dir_all(desk.outside("ledger")).unwrap();
            prop_assert_eq!(guarded(&desk), before.clone(), "{}", path);
        }
    }
}
