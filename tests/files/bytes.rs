//! Bytes outside the edited lines stay as they were, whatever the file is made of.

use outrigger::kernel::conflict::{Change, Verdict};
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

    /// Several lines are replaced by any number of lines; whatever bytes stand before the first of them and after the last
    /// stand there still.
    #[test]
    fn bytes_around_edited_lines_stay((lines, encoding) in file(), at in any::<prop::sample::Index>(), new in proptest::collection::vec("[a-zé漢😀]{1,5}", 0..4), ends in any::<bool>()) {
        let desk = Desk::in_memory();
        let at = at.index(lines.len());
        let (mut before, mut after) = (String::new(), String::new());
        for (n, (line, ending)) in lines.iter().enumerate() {
            let side = if n < at { &mut before } else { &mut after };
            if n == at {
                continue;
            }
            side.push_str(line);
            side.push_str(if n + 1 == lines.len() && !ends { "" } else { ending });
        }
        // A bare CR and a line feed after it would be one ending, and belong to neither side.
        prop_assume!(!(lines[at].1 == "\r" && after.starts_with('\n')));
        // The middle has an ending of its own, so that both sides are whole.
        let middle = format!("the_first();{}the_second();{}", lines[at].1, lines[at].1);
        let text = format!("{before}{middle}{after}");
        desk.put("f", encoding.encode(&text));
        let new = new.iter().map(|line| format!("{line}\n")).collect::<String>();
        let edits = [Replacement { old: "the_first();\nthe_second();\n".into(), new }];
        desk.perform("f", Some(&desk.read("f")), Change::Edit { edits: &edits });
        let bytes = desk.bytes("f");
        let start = encoding.encode(&before);
        // Without the mark, which stands at the start of a file only.
        let mark = encoding.encode("").len();
        let end = encoding.encode(&after).split_off(mark);
        prop_assert!(bytes.starts_with(&start), "{before:?} {after:?}");
        prop_assert!(bytes.ends_with(&end), "{before:?} {after:?}");
        prop_assert!(bytes.len() >= start.len() + end.len());
    }

    /// Any bytes are either text, which turns into these very bytes again, or refused and left as they are.
    #[test]
    fn no_bytes_are_decoded_with_loss(bytes in any_bytes()) {
        let desk = Desk::in_memory();
        desk.put("f", &bytes);
        match desk.look("f") {
            FileNow::Text(now) => prop_assert_eq!(now.encoding.encode(&now.text), bytes),
            FileNow::Opaque { size, .. } => {
                prop_assert_eq!(size, bytes.len() as u64);
                let edits = [Replacement { old: "a".into(), new: "b".into() }];
                let verdict = desk.decide("f", None, Change::Edit { edits: &edits });
                let is_refused = matches!(verdict, Verdict::Refuse { .. });
                prop_assert!(is_refused);
                let write = desk.decide("f", None, Change::Write { text: "b" });
                let is_refused = matches!(write, Verdict::Refuse { .. });
                prop_assert!(is_refused);
                prop_assert_eq!(desk.bytes("f"), bytes);
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }
}

/// Latin-1, UTF-16 with and without a mark, cut characters, NUL bytes, and noise.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let latin1 = "[a-zà-ÿ \n]{0,20}".prop_map(|text| text.chars().map(|c| c as u8).collect());
    let utf16 = ("[aé漢😀\n]{0,8}", any::<bool>(), 0..3_usize).prop_map(|(text, mark, cut)| {
        let mut bytes = Encoding::Utf16Le.encode(&text);
        bytes.truncate(bytes.len().saturating_sub(cut));
        bytes.split_off(if mark { 0 } else { 2.min(bytes.len()) })
    });
    let noise = proptest::collection::vec(
        prop_oneof![
            any::<u8>(),
            Just(0),
            Just(0xFF),
            Just(0xFE),
            Just(b'a'),
            Just(b'\n')
        ],
        0..24,
    );
    prop_oneof![latin1, utf16, noise]
}
