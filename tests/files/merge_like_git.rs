//! Our three-way merge against `git merge-file`: where git merges cleanly we produce the same bytes or ask.

use std::fs;
use std::path::Path;
use std::process::Command;

use outrigger::kernel::merge::{Merge, three_way};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

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

fn git_merge(folder: &Path, base: &str, ours: &str, theirs: &str) -> String {
    for (name, text) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        fs::write(folder.join(name), text).unwrap();
    }
    let output = Command::new("git")
        .args(["merge-file", "-p", "ours", "base", "theirs"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        output.status.code().is_some_and(|code| code < 128),
        "{output:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// 10,000 triples. Many go into one file, parted by lines that occur nowhere else, because starting git costs more than
/// merging; a part with a conflict marker is one that git did not merge.
#[test]
fn where_git_merges_cleanly_we_do_the_same_or_ask() {
    const BATCH: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let mut runner = TestRunner::deterministic();
    let strategy = triple();
    let (mut clean_in_git, mut clean_here) = (0, 0);
    for batch in 0..50 {
        let triples: Vec<_> = (0..BATCH)
            .map(|_| {
                let (base, ours, theirs) = strategy.new_tree(&mut runner).unwrap().current();
                (render(&base), render(&ours), render(&theirs))
            })
            .collect();
        let fence = |n: usize| -> String {
            (0..6)
                .map(|line| format!("==fence {batch} {n} {line}\n"))
                .collect()
        };
        let joined = |part: fn(&(String, String, String)) -> &String| -> String {
            triples
                .iter()
                .enumerate()
                .map(|(n, t)| fence(n) + part(t))
                .collect()
        };
        let merged = git_merge(
            folder.path(),
            &joined(|t| &t.0),
            &joined(|t| &t.1),
            &joined(|t| &t.2),
        );
        let mut rest = merged.as_str();
        for (n, (base, ours, theirs)) in triples.iter().enumerate() {
            rest = rest.strip_prefix(&fence(n)).unwrap();
            let end = rest.find("==fence").unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            rest = after;
            if part.contains("<<<<<<<") {
                continue;
            }
            clean_in_git += 1;
            if let Merge::Clean(text) = three_way(base, ours, theirs) {
                clean_here += 1;
                assert_eq!(
                    text, part,
                    "base {base:?}\nours {ours:?}\ntheirs {theirs:?}"
                );
            }
        }
    }
    // A merge that always asks would pass too: it must be worth having.
    assert!(clean_in_git > 3_000, "{clean_in_git}");
    assert!(
        clean_here * 10 > clean_in_git * 7,
        "{clean_here} of {clean_in_git}"
    );
}
