//! How tasks end, and what that means for the others.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::support::{Project, done, task, tool, write};

fn asks() -> Value {
    tool(
        "a1",
        "ask",
        json!({ "question": "Which port?", "choices": ["80", "8080"] }),
    )
}

#[test]
fn tasks_are_done_beside_each_other_and_the_users_files_stay() {
    let project = Project::with_git();
    let one = project.script("one", &[write("one.txt", "é\n"), done()]);
    let two = project.script(
        "two",
        &[
            tool("r", "read", json!({ "path": "one.txt" })),
            write("two.txt", "漢\n"),
            done(),
        ],
    );
    let asking = project.script("asking", &[asks(), write("port.txt", "8080\n"), done()]);
    let list = project.list(&[
        task("Make one", &one, &[]),
        task("Make two", &two, &["#1"]),
        task("Ask", &asking, &[]),
        task("Needs the asked", &one, &["#3"]),
    ]);
    let before = project.git(&["status", "--porcelain"]);
    let ended = project.batch(&[&list, "--parallel", "2"]);
    // Task 3 waits, task 4 needs it; what could be done is done.
    ended
        .with_code(3)
        .says("Which port?")
        .says("outrigger batch answer 3 --batch b1")
        .says("needs task 3");
    assert_eq!(
        project.outcomes(),
        ["unverified", "unverified", "blocked", "queued"]
    );
    assert_eq!(project.git(&["status", "--porcelain"]), before);
    assert_eq!(project.git(&["branch", "--show-current"]).trim(), "main");
    // The second began with what came of the first.
    assert_eq!(
        project.git(&["show", "outrigger/b1/2-make-two:one.txt"]),
        "é\n"
    );
    assert_eq!(
        project.git(&["show", "outrigger/b1/2-make-two:two.txt"]),
        "漢\n"
    );

    project.batch(&["answer", "3", "5,", "no", "wait"]);
    assert_eq!(project.outcomes()[2], "unverified", "{}", project.shown());
    project.batch(&["resume"]).with_code(5);
    assert_eq!(project.outcomes()[3], "unverified");
    // What is done is not done again.
    assert!(
        project.shown()["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .all(|task| task["attempts"] == 1)
    );
    project.batch(&["remove", "b1"]).with_code(0);
    assert_eq!(project.git(&["branch", "--list", "outrigger/*"]), "");
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn what_fails_is_tried_again_and_stops_the_rest_if_that_is_wanted() {
    let project = Project::with_git();
    // A command that fails the run the first time it is tried, and not the second time.
    let missing = "scripted:/nowhere.jsonl";
    let good = project.script("good", &[write("good.txt", "x\n"), done()]);
    let stalls = project.script(
        "stalls",
        &[
            tool("c1", "command", json!({ "command": "sleep 600" })),
            done(),
        ],
    );
    let list = project.list(&[task("Stall", &stalls, &[]), task("Good", &good, &[])]);
    let flags = [
        "--yes",
        "--stall-timeout",
        "1",
        "--stall-action",
        "fail",
        "--retry",
        "1",
        "--stop-on-failure",
    ];
    let ended = project.batch(&[&[list.as_str()][..], &flags].concat());
    ended
        .with_code(1)
        .says("started      Stall")
        .says("(again)");
    assert_eq!(project.outcomes(), ["failed", "queued"]);
    assert_eq!(project.shown()["tasks"][0]["attempts"], 2);
    // A model that cannot be reached blocks; it does not fail.
    let list = project.list(&[task("Unreachable", missing, &[]), task("Good", &good, &[])]);
    project.batch(&[&list, "--stop-on-failure"]).with_code(3);
    assert_eq!(project.outcomes(), ["blocked", "unverified"]);
}

#[test]
fn without_git_the_tasks_are_done_in_place() {
    let project = Project::new();
    let one = project.script("one", &[write("one.txt", "é\n"), done()]);
    let two = project.script("two", &[write("two.txt", "漢\n"), done()]);
    let list = project.list(&[task("One", &one, &[]), task("Two", &two, &["One"])]);
    project
        .batch(&[&list, "--parallel", "4"])
        .with_code(5)
        .says("in place, one after the other");
    assert_eq!(project.read("one.txt"), "é\n");
    assert_eq!(project.read("two.txt"), "漢\n");
    project
        .batch(&["accept", "1"])
        .with_code(1)
        .says("in your files already");
}

#[test]
fn mistakes_are_usage_errors_with_words() {
    let project = Project::with_git();
    project.batch(&[]).with_code(2).says("give a list");
    project
        .batch(&["missing.md"])
        .with_code(2)
        .says("missing.md");
    project
        .batch(&["--ready"])
        .with_code(2)
        .says("no task is ready");
    let list = project.list(&[
        json!({ "title": "a", "dependsOn": ["#2"] }),
        json!({ "title": "b", "dependsOn": ["a"] }),
    ]);
    project
        .batch(&[&list])
        .with_code(2)
        .says("in a circle: a, b");
    project
        .batch(&["show"])
        .with_code(1)
        .says("there is no batch yet");
}

#[test]
fn a_process_that_is_lost_is_taken_up_and_nothing_done_is_done_again() {
    let project = Project::with_git();
    let marks = project.folder().join("marks");
    let first = format!("echo once >> '{}'; touch first-done", marks.display());
    // The launcher kills the process of the first attempt when the file appears.
    let kills = project.folder().join("kills");
    let script = "#!/bin/sh\nif [ -e \"$0.used\" ]; then exec \"$@\"; fi\ntouch \"$0.used\"\n\"$@\" &\nwhile [ ! -e first-done ]; do sleep 0.05; done\nkill -9 $!\nwait $!\nexit 137\n";
    fs::write(&kills, script).unwrap();
    let model = project.script(
        "lost",
        &[
            tool("c1", "command", json!({ "command": first })),
            tool(
                "c2",
                "command",
                json!({ "command": "sleep 2; echo second" }),
            ),
            write("lost.txt", "found\n"),
            done(),
        ],
    );
    let list = project.list(&[task("Get lost", &model, &[])]);
    let launcher = format!("sh '{}'", kills.display());
    let ended = project.batch(&[&list, "--yes", "--launcher", &launcher]);
    // What was under way when it was lost is uncertain: that is asked, never guessed.
    ended.says("(again)");
    assert_eq!(
        fs::read_to_string(&marks).unwrap(),
        "once\n",
        "{}",
        ended.text
    );
    assert_eq!(project.shown()["tasks"][0]["attempts"], 1);
    if ended.code == Some(3) {
        project.batch(&["answer", "1", "1"]).with_code(5);
    }
    assert_eq!(project.outcomes(), ["unverified"]);
    assert_eq!(
        project.git(&["show", "outrigger/b1/1-get-lost:lost.txt"]),
        "found\n"
    );
    assert_eq!(fs::read_to_string(&marks).unwrap(), "once\n");
}

#[test]
fn an_interrupt_leaves_every_run_so_that_it_can_be_taken_up() {
    let project = Project::with_git();
    let model = project.script(
        "hangs",
        &[
            tool("c1", "command", json!({ "command": "if [ -e ../go ]; then exit 0; fi; touch ../go; exec sleep 600" })),
            done(),
        ],
    );
    let list = project.list(&[task("Hang", &model, &[]), task("Next", &model, &["#1"])]);
    let mut child = project
        .command(&["batch", &list, "--yes", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert!(lines.any(|line| line.contains("\"toolStarted\"")));
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let last = lines.last().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(last["tasks"][0]["outcome"], "interrupted", "{last}");
    assert_eq!(last["tasks"][1]["outcome"], "queued", "{last}");
    let resumed = project.batch(&["resume"]);
    assert!(matches!(resumed.code, Some(0 | 3)), "{}", resumed.text);
    assert_eq!(project.shown()["tasks"][0]["attempts"], 1);
}
