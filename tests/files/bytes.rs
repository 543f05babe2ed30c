//! Bytes outside the edited lines stay as they were, whatever the file is made of.

use outrigger::kernel::conflict::Change;
use outrigger::kernel::file::{Encoding, FileNow};
use outrigger::kernel::tool::Replacement;
use proptest::prelude::*;

use super::support::{Desk, rel};

#[test]
fn an_edit_keeps_endings_mark_and_encoding() {
    let desk = Desk::new();
    let rows: [(&str, &[u8], &[u8]); 7] = [
        ("crlf", b"a\r\nb\r\nc\r\n", b"a\r\nX\r\nY\r\nc\r\n"),
        ("mixed", b"a\nb\r\nc\r", b"a\nX\r\nY\r\nc\r"),
        ("cr", b"a\rb\rc\r", b"a\rX\rY\rc\r"),
        ("last", b"a\r\nb", b"a\r\nX\r\nY"),
        (
            "mark",
            b"\xef\xbb\xbfa\r\nb\r\n",
            b"\xef\xbb\xbfa\r\nX\r\nY\r\n",
        ),
        (
            "utf16le",
            b"\xff\xfea\0\r\0\n\0b\0",
            b"\xff\xfea\0\r\0\n\0X\0\r\0\n\0Y\0",
        ),
        (
            "utf16be",
            b"\xfe\xff\0a\0\n\0b\0\n",
            b"\xfe\xff\0a\0\n\0X\0\n\0Y\0\n",
        ),
    ];
    for (name, before, after) in rows {
        desk.put(name, before);
        desk.edit(name, "b", "X\nY");
        assert_eq!(desk.bytes(name), after, "{name}");
    }
}

#[test]
fn what_is_no_text_is_refused_with_the_reason() {
    let desk = Desk::new();
    let rows: [(&str, &[u8], &str); 3] = [
        (
            "latin1",
            b"na\xefve\n",
            "it is not UTF-8 (byte 0xef in line 1)",
        ),
        ("binary", b"a\0b", "binary"),
        ("odd", b"\xff\xfea", "UTF-16"),
    ];
    for (name, bytes, reason) in rows {
        desk.put(name, bytes);
        let FileNow::Opaque {
            reason: said,
            hash,
            size,
        } = desk.look(name)
        else {
            panic!("{name} is text");
        };
        assert!(said.contains(reason), "{name}: {said}");
        assert!(hash.is_some());
        assert_eq!(size, bytes.len() as u64);
        assert_eq!(desk.bytes(name), bytes);
    }
}

#[test]
fn a_huge_file_is_refused_and_a_long_line_is_edited() {
    let desk = Desk::new();
    let huge = std::fs::File::create(desk.path("huge")).unwrap();
    huge.set_len(100 * 1024 * 1024).unwrap();
    assert!(matches!(
        desk.look("huge"),
        FileNow::Opaque {
            hash: None,
            size: 104_857_600,
            ..
        }
    ));

    let long = "é".repeat(2_500_000);
    desk.put("long", format!("{long}needle{long}\nnext\n"));
    desk.edit("long", "needle", "pin");
    assert!(desk.bytes("long") == format!("{long}pin{long}\nnext\n").into_bytes());
}

#[test]
fn an_empty_file_can_be_filled() {
    let desk = Desk::new();
    desk.put("empty", "");
    desk.perform("empty", None, Change::Write { text: "x\n" });
    assert_eq!(desk.bytes("empty"), b"x\n");
}

fn file() -> impl Strategy<Value = (Vec<(String, &'static str)>, Encoding)> {
    let ending = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    let line = ("[a-c\té漢😀 {}]{0,6}", ending);
    let encoding = prop_oneof![
        Just(Encoding::Utf8),
        Just(Encoding::Utf8Bom),
        Just(Encoding::Utf16Le),
        Just(Encoding::Utf16Be)
    ];
    (proptest::collection::vec(line, 1..12), encoding)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// One line of a file is changed by the edit tool, on disk; the real bytes before and after it are as before.
    #[test]
    fn bytes_outside_the_edited_line_stay((lines, encoding) in file(), at in any::<prop::sample::Index>(), ends in any::<bool>()) {
        let desk = Desk::in_memory();
        let at = at.index(lines.len());
        let join = |changed: &str| -> String {
            let mut text = String::new();
            for (n, (line, ending)) in lines.iter().enumerate() {
                // An empty line that starts with the second half of an ending would join the one before.
                text.push_str(if n == at { changed } else { line });
                text.push_str(if n + 1 == lines.len() && !ends { "" } else { ending });
            }
            text
        };
        let (before, after) = (join("the_needle();"), join("the_pin();"));
        desk.put("f", encoding.encode(&before));
        let edits = [Replacement { old: "the_needle();".into(), new: "the_pin();".into() }];
        desk.perform("f", Some(&desk.read("f")), Change::Edit { edits: &edits });
        prop_assert_eq!(desk.bytes("f"), encoding.encode(&after));
        prop_assert_eq!(desk.workspace.inspect(&rel("f"), &desk.overlay).text().unwrap().encoding, encoding);
    }
}
