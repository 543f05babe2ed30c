//! Results: taken by choice, merged with what the user did meanwhile, never over it.

use std::fs;

use serde_json::json;

use super::person::at_a_terminal;
use super::support::{Project, done, task, tool, write};

fn edit(old: &str, new: &str) -> serde_json::Value {
    tool(
        "e1",
        "edit",
        json!({ "path": "a.txt", "edits": [{ "old": old, "new": new }] }),
    )
}

fn read() -> serde_json::Value {
    tool("r1", "read", json!({ "path": "a.txt" }))
}

#[test]
fn results_are_taken_by_choice_and_merged_with_what_the_user_did() {
    let project = Project::with_git();
    let first = project.script("first", &[read(), edit("one\n", "ONE\n"), done()]);
    let last = project.script("last", &[read(), edit("five\n", "FIVE\n"), done()]);
    let new = project.script("new", &[write("sub/né w.txt", "neu\n"), done()]);
    let list = project.list(&[
        task("First", &first, &[]),
        task("Last", &last, &[]),
        task("New", &new, &[]),
    ]);
    project.batch(&[&list, "--parallel", "3"]).with_code(5);
    // Not committed: it is what the user has, and it stays.
    fs::write(
        project.root().join("a.txt"),
        "one\ntwo\nTHREE by me\nfour\nfive\n",
    )
    .unwrap();
    project
        .batch(&["accept", "1", "3"])
        .with_code(0)
        .says("merged with your changes");
    assert_eq!(project.read("a.txt"), "ONE\ntwo\nTHREE by me\nfour\nfive\n");
    assert_eq!(project.read("sub/né w.txt"), "neu\n");
    let patch = project.batch(&["patch", "2"]);
    patch.with_code(0).says("+FIVE");
    project
        .batch(&["accept", "--all"])
        .with_code(0)
        .says("is so already");
    assert_eq!(project.read("a.txt"), "ONE\ntwo\nTHREE by me\nfour\nFIVE\n");
    // The index and the branch are as they were.
    assert_eq!(project.git(&["diff", "--cached", "--name-only"]), "");
    assert_eq!(project.git(&["log", "--oneline"]).lines().count(), 1);
}

#[test]
fn a_contradiction_is_left_where_nobody_can_be_asked() {
    let project = Project::with_git();
    let first = project.script("first", &[read(), edit("one\n", "ONE\n"), done()]);
    let list = project.list(&[task("First", &first, &[])]);
    project.batch(&[&list]).with_code(5);
    fs::write(
        project.root().join("a.txt"),
        "mine\ntwo\nthree\nfour\nfive\n",
    )
    .unwrap();
    project
        .batch(&["accept", "1"])
        .with_code(3)
        .says("nobody is here to ask");
    assert_eq!(project.read("a.txt"), "mine\ntwo\nthree\nfour\nfive\n");
    assert_eq!(project.shown()["tasks"][0]["accepted"], false);
}

#[test]
fn a_contradiction_is_asked_about_like_any_other_overwrite() {
    let project = Project::with_git();
    let first = project.script(
        "first",
        &[
            read(),
            edit("one\n", "ONE\n"),
            edit("five\n", "FIVE\n"),
            done(),
        ],
    );
    let list = project.list(&[task("First", &first, &[])]);
    let answers: [(&[&str], &str); 3] = [
        (&["what?", "a"], "ONE\ntwo\nthree\nfour\nFIVE\n"),
        (&["k"], "mine\ntwo\nthree\nfour\nfive\n"),
        (&["2"], "mine\ntwo\nthree\nfour\nFIVE\n"),
    ];
    project.batch(&[&list]).with_code(5);
    for (typed, want) in answers {
        fs::write(
            project.root().join("a.txt"),
            "mine\ntwo\nthree\nfour\nfive\n",
        )
        .unwrap();
        let (code, shown) = at_a_terminal(project.command(&["batch", "accept", "1"]), typed);
        assert_eq!(code, Some(0), "{shown}");
        assert!(shown.contains("\u{1b}[31m-mine"), "{shown}");
        assert_eq!(project.read("a.txt"), want, "{shown}");
    }
}
