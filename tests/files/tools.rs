//! What the model is shown: read, list, search, with the open documents over the disk.

use outrigger::kernel::tool::{ListFiles, ReadFile, SearchFiles};
use std::fs;

use super::support::{Desk, rel};

fn read(desk: &Desk, path: &str, from_line: Option<u32>, lines: Option<u32>) -> String {
    let args = ReadFile {
        path: rel(path),
        from_line,
        lines,
    };
    desk.workspace.read(&args, &desk.overlay).text
}

fn list(desk: &Desk, path: Option<&str>, glob: Option<&str>) -> String {
    let args = ListFiles {
        path: path.map(rel),
        glob: glob.map(Into::into),
    };
    desk.workspace.list(&args, &desk.overlay).text
}

fn search(desk: &Desk, pattern: &str, path: Option<&str>, glob: Option<&str>) -> String {
    let args = SearchFiles {
        pattern: pattern.into(),
        path: path.map(rel),
        glob: glob.map(Into::into),
    };
    desk.workspace.search(&args, &desk.overlay).text
}

#[test]
fn lines_are_numbered_and_the_rest_is_readable_by_range() {
    let desk = Desk::new();
    desk.put("f", "a\r\né\rc");
    assert_eq!(
        read(&desk, "f", None, None),
        "     1\ta\n     2\té\n     3\tc\n(no newline at the end of the file)\n"
    );
    assert_eq!(
        read(&desk, "f", Some(2), Some(1)),
        "     2\té\n(lines 2 to 2 of 3; for more read with from_line = 3)\n"
    );
    assert_eq!(read(&desk, "f", Some(9), None), "f has only 3 lines");
    desk.put("empty", "");
    assert_eq!(read(&desk, "empty", None, None), "(the file is empty)\n");
    desk.put("long", "x\n".repeat(5_000));
    assert!(
        read(&desk, "long", None, None)
            .ends_with("(lines 1 to 2000 of 5000; for more read with from_line = 2001)\n")
    );
    desk.put("wide", "漢".repeat(5_000));
    assert!(read(&desk, "wide", None, None).contains("… (3000 more characters)"));
    desk.put("src/main.rs", "");
    assert_eq!(
        read(&desk, "src/mian.rs", None, None),
        "src/mian.rs is not there; the nearest names are:\n  src/main.rs"
    );
}

#[test]
fn what_was_shown_is_the_base_of_later_edits() {
    let mut desk = Desk::new();
    desk.put("f", "disk");
    desk.open("f", "typed\nmore", true);
    let args = ReadFile {
        path: rel("f"),
        from_line: Some(1),
        lines: Some(1),
    };
    let output = desk.workspace.read(&args, &desk.overlay);
    assert!(
        output.text.contains("unsaved text of the user's editor"),
        "{}",
        output.text
    );
    let seen = output.seen.unwrap();
    assert_eq!(&*seen.text, "typed\nmore");
    assert_eq!(seen.hash, desk.text("f").hash);
}

#[test]
fn listings_honour_ignore_files_and_show_open_documents() {
    let mut desk = Desk::new();
    desk.put(".gitignore", "target/\n*.log\n");
    for file in [
        "src/a.rs",
        "src/b.py",
        "target/out",
        "x.log",
        ".github/ci.yml",
        ".git/config",
        ".outrigger-1-2.tmp",
    ] {
        desk.put(file, "");
    }
    desk.open("src/new.rs", "not saved yet", true);
    assert_eq!(
        list(&desk, None, None),
        ".github/ci.yml\n.gitignore\nsrc/a.rs\nsrc/b.py\nsrc/new.rs\n"
    );
    assert_eq!(
        list(&desk, Some("src"), Some("*.rs")),
        "src/a.rs\nsrc/new.rs\n"
    );
    assert_eq!(list(&desk, None, Some("src/**/*.py")), "src/b.py\n");
    assert_eq!(list(&desk, None, Some("*.zig")), "(no files)\n");
    assert_eq!(list(&desk, Some("nowhere"), None), "nowhere is not there");
    assert!(list(&desk, None, Some("{a")).contains("cannot be read"));
}

#[test]
fn searches_see_unsaved_text_and_every_encoding() {
    let mut desk = Desk::new();
    desk.put("a.rs", "fn old() {}\r\nlet needle = 1;\r\n");
    desk.put("b.txt", b"\xff\xfen\0e\0e\0d\0l\0e\0".as_slice());
    desk.put("bin", b"needle\0".as_slice());
    desk.put("latin", b"na\xefve needle\n".as_slice());
    desk.put("skipped.log", "needle");
    desk.put(".ignore", "*.log\n");
    assert_eq!(
        search(&desk, "needle", None, None),
        "a.rs:2: let needle = 1;\nb.txt:1: needle\nlatin:1: na\u{fffd}ve needle\n"
    );
    desk.open("a.rs", "unsaved needle\nsecond needle\n", true);
    desk.open("new.rs", "needle$", true);
    assert_eq!(
        search(&desk, "needle$", None, Some("*.rs")),
        "a.rs:1: unsaved needle\na.rs:2: second needle\n"
    );
    assert_eq!(
        search(&desk, r"needle\$", Some("new.rs"), None),
        "new.rs:1: needle$\n"
    );
    assert!(search(&desk, "(", None, None).contains("cannot be read"));
    assert!(search(&desk, "nothing like it", None, None).starts_with("(no line matches"));
    desk.put("many", "needle\n".repeat(300));
    assert!(search(&desk, "needle", Some("many"), None).ends_with(
        "(50 of 300 lines in 1 files are shown; narrow the pattern, the path or the glob)\n"
    ));
}

#[test]
fn a_folder_that_cannot_be_listed_is_said() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    desk.put("locked/f", "");
    fs::set_permissions(desk.path("locked"), fs::Permissions::from_mode(0o0)).unwrap();
    assert!(list(&desk, None, None).contains("could not be read"));
    fs::set_permissions(desk.path("locked"), fs::Permissions::from_mode(0o755)).unwrap();
}
