use proptest::prelude::*;

use super::*;

/// Texts with every ending, non-ASCII, repeated lines.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("a"),
        Just("b"),
        Just(""),
        Just("}"),
        Just("é漢"),
        Just("😀 x"),
        Just("\t b")
    ];
    let ending = prop_oneof![4 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
    (
        proptest::collection::vec((line, ending), 0..12),
        prop_oneof![Just(""), Just("end")],
    )
        .prop_map(|(lines, last)| {
            let mut text: String = lines.into_iter().flat_map(|(l, e)| [l, e]).collect();
            text.push_str(last);
            text
        })
}

#[test]
fn lines_keep_their_endings() {
    let rows: [(&str, &[&str]); 6] = [
        ("", &[]),
        ("a", &["a"]),
        ("a\n", &["a\n"]),
        ("a\r\nb\rc\n\nd", &["a\r\n", "b\r", "c\n", "\n", "d"]),
        ("\r\r\n", &["\r", "\r\n"]),
        ("é\n漢", &["é\n", "漢"]),
    ];
    for (text, want) in rows {
        assert_eq!(lines(text), want, "{text:?}");
    }
}

#[test]
fn hunks_are_taken_one_by_one() {
    let (old, new) = ("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\nf");
    let hunks = hunks(old, new);
    assert_eq!(hunks.len(), 2);
    assert_eq!(hunks[1].removed, ["e\n"]);
    assert_eq!(hunks[1].added, ["E\n", "f"]);
    assert_eq!(apply_hunks(old, &hunks, &[]).unwrap(), old);
    assert_eq!(apply_hunks(old, &hunks, &[0]).unwrap(), "A\nb\nc\nd\ne\n");
    assert_eq!(apply_hunks(old, &hunks, &[1]).unwrap(), "a\nb\nc\nd\nE\nf");
    assert_eq!(apply_hunks(old, &hunks, &[0, 1]).unwrap(), new);
    assert_eq!(apply_hunks(old, &hunks, &[2]), Err(HunkMisfit::Unknown(2)));
    assert_eq!(
        apply_hunks("a\nb\nc\nd\nX\n", &hunks, &[1]),
        Err(HunkMisfit::Changed { id: 1, line: 5 })
    );
}

#[test]
fn patches_name_creation_deletion_and_odd_names() {
    let path = RelPath::parse("a b/\"q\".txt").unwrap();
    assert_eq!(
        unified(&path, None, Some("x\n")),
        "diff --git \"a/a b/\\\"q\\\".txt\" \"b/a b/\\\"q\\\".txt\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/a b/\\\"q\\\".txt\"\n@@ -0,0 +1 @@\n+x\n"
    );
    let path = RelPath::parse("é.txt").unwrap();
    assert_eq!(
        unified(&path, Some("x"), Some("y\n")),
        "diff --git a/é.txt b/é.txt\n--- a/é.txt\n+++ b/é.txt\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n"
    );
    assert_eq!(unified(&path, Some("x"), Some("x")), "");
}

#[test]
fn edits_do_not_split_a_line_ending() {
    assert_eq!(
        minimal_edits("a\r\nb", "a\rb"),
        [ByteEdit {
            start: 1,
            end: 3,
            new_text: "\r".into()
        }]
    );
    assert_eq!(
        minimal_edits("let x = 1;\r\n", "let x = 2;\r\n"),
        [ByteEdit {
            start: 8,
            end: 9,
            new_text: "2".into()
        }]
    );
}

proptest! {
    #[test]
    fn all_hunks_give_the_new_text(old in text(), new in text()) {
        let hunks = hunks(&old, &new);
        let all: Vec<u32> = hunks.iter().map(|hunk| hunk.id).collect();
        prop_assert_eq!(apply_hunks(&old, &hunks, &all).unwrap(), new);
    }

    #[test]
    fn minimal_edits_give_the_new_text(old in text(), new in text()) {
        let mut made = old.clone();
        for edit in minimal_edits(&old, &new).into_iter().rev() {
            for at in [edit.start, edit.end] {
                prop_assert!(!(old[..at].ends_with('\r') && old[at..].starts_with('\n')));
            }
            made.replace_range(edit.start..edit.end, &edit.new_text);
        }
        prop_assert_eq!(made, new);
    }
}

#[test]
fn the_differences_of_very_long_texts_are_found_and_apply() {
    // Each as a changed file of its kind may be; the last one has no line that occurs once.
    let texts: [fn(usize, bool) -> String; 4] = [
        |line, is_new| format!("{} {line}\n", if is_new { "a" } else { "é" }),
        |line, is_new| format!("{} {line}\n", u8::from(is_new && line % 50_000 == 9)),
        |line, is_new| format!("{} {line}\n", u8::from(is_new && line % 2 == 0)),
        |line, is_new| format!("{}\n", (line * 7919) % if is_new { 17 } else { 19 }),
    ];
    for (row, text) in texts.into_iter().enumerate() {
        let old: String = (0..250_000).map(|line| text(line, false)).collect();
        let new: String = (0..250_000).map(|line| text(line, true)).collect();
        let hunks = hunks(&old, &new);
        let all: Vec<u32> = hunks.iter().map(|hunk| hunk.id).collect();
        assert!(apply_hunks(&old, &hunks, &all).unwrap() == new, "row {row}");
        if row == 1 {
            let starts: Vec<u32> = hunks.iter().map(|hunk| hunk.old_start).collect();
            assert_eq!(starts, [9, 50_009, 100_009, 150_009, 200_009]);
        }
    }
}

/// By hand, and as the hunks say: nobody may be told other figures than they are shown.
#[test]
fn lines_are_counted_as_the_hunks_have_them() {
    let rows = [
        ("", "", 0, 0),
        ("a\r\nb", "a\r\nb\nc", 2, 1),
        ("é\n漢\n", "漢\n", 0, 1),
    ];
    for (old, new, added, removed) in rows {
        assert_eq!(
            count_lines(old, new),
            Counted { added, removed },
            "{old:?} {new:?}"
        );
    }
}

proptest! {
    #[test]
    fn counted_lines_are_those_of_the_hunks(old in text(), new in text()) {
        let hunks = hunks(&old, &new);
        let counted = Counted {
            added: hunks.iter().map(|hunk| hunk.new_lines).sum(),
            removed: hunks.iter().map(|hunk| hunk.old_lines).sum(),
        };
        prop_assert_eq!(count_lines(&old, &new), counted);
    }
}
