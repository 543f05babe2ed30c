//! Tables for the rules, and laws. Git as the judge stands in `tests/files/merge_like_git.rs`: it needs files.

use proptest::prelude::*;

use super::*;

#[test]
fn changes_apart_go_together() {
    let rows = [
        ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
        (
            "a\r\nb\r\nc",
            "a\r\nb\r\nc\r\nd",
            "x\r\nb\r\nc",
            "x\r\nb\r\nc\r\nd",
        ),
        ("a\n", "a\n", "b\n", "b\n"),
        ("a\n", "b\n", "b\n", "b\n"),
        ("", "x\n", "", "x\n"),
        // Within a line, by words.
        (
            "let total = price(1, qty);\n",
            "let sum = price(1, qty);\n",
            "let total = price(2, qty);\n",
            "let sum = price(2, qty);\n",
        ),
        ("é 漢 ü\n", "e 漢 ü\n", "é 漢 u\n", "e 漢 u\n"),
    ];
    for (base, ours, theirs, want) in rows {
        assert_eq!(
            three_way(base, ours, theirs),
            Merge::Clean(want.into()),
            "{base:?}"
        );
        assert_eq!(
            three_way(base, theirs, ours),
            Merge::Clean(want.into()),
            "{base:?}"
        );
    }
}

#[test]
fn overlapping_changes_conflict_and_keep_the_rest() {
    let rows = [
        ("a\nb\n", "x\nb\n", "y\nb\n", "x\nb\n"),
        (
            "k\na\nm\nb\n",
            "k\nx\nm\nb\n",
            "K\ny\nm\nB\n",
            "k\nx\nm\nB\n",
        ),
        ("a b\n", "x y\n", "a c\n", "x y\n"),
        ("f(a,b)\n", "f(x,b)\n", "f(a;b)\n", "f(x,b)\n"),
        ("a\n", "", "b\n", ""),
        ("a\r\n", "b\r\n", "a\n", "b\r\n"),
        // Equal lines: where the new one stands depends on the reader.
        ("a\na\n", "a\na\na\n", "a\nx\n", "a\na\na\n"),
    ];
    for (base, ours, theirs, preferring_ours) in rows {
        assert_eq!(
            three_way(base, ours, theirs),
            Merge::Conflict {
                preferring_ours: preferring_ours.into()
            },
            "{base:?} {ours:?} {theirs:?}"
        );
    }
}

/// A base of lines that repeat often, and two edited copies of it.
fn triple() -> impl Strategy<Value = (Vec<u8>, Vec<u8>, Vec<u8>)> {
    let alphabet = prop_oneof![3 => 0..4_u8, 2 => 0..30_u8];
    let edit = (
        any::<u16>(),
        0..3_usize,
        proptest::collection::vec(alphabet.clone(), 0..3),
    );
    let edits = proptest::collection::vec(edit, 0..4);
    (
        proptest::collection::vec(alphabet, 0..24),
        edits.clone(),
        edits,
    )
        .prop_map(|(base, ours, theirs)| {
            let apply = |edits: Vec<(u16, usize, Vec<u8>)>| {
                let mut text = base.clone();
                for (at, removed, added) in edits {
                    let at = at as usize % (text.len() + 1);
                    let end = (at + removed).min(text.len());
                    text.splice(at..end, added);
                }
                text
            };
            (base.clone(), apply(ours), apply(theirs))
        })
}

/// Lines as people write them: blank lines, braces and a few statements repeat.
fn render(lines: &[u8]) -> String {
    lines
        .iter()
        .map(|line| match line {
            0 => "\n".to_owned(),
            1 => "}\n".to_owned(),
            2 => "    return é;\n".to_owned(),
            n => format!("    let v{n} = call({n}, other);\n"),
        })
        .collect()
}

proptest! {
    #[test]
    fn merging_is_symmetric((base, ours, theirs) in triple()) {
        let (base, ours, theirs) = (render(&base), render(&ours), render(&theirs));
        prop_assert_eq!(
            three_way(&base, &ours, &theirs).clean(),
            three_way(&base, &theirs, &ours).clean()
        );
    }

    #[test]
    fn one_sided_changes_are_taken_whole((base, ours, _) in triple()) {
        let (base, ours) = (render(&base), render(&ours));
        prop_assert_eq!(three_way(&base, &ours, &base), Merge::Clean(ours.clone()));
        prop_assert_eq!(three_way(&base, &base, &ours), Merge::Clean(ours.clone()));
        prop_assert_eq!(three_way(&base, &ours, &ours), Merge::Clean(ours));
    }
}
