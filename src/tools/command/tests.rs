use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;

fn line(text: &str) -> RunCommand {
    RunCommand {
        command: text.to_owned(),
        cwd: None,
        timeout_s: Some(60),
    }
}

async fn output_of(text: &str) -> ToolOutput {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &line(text), |_| {}).await
}

/// The text without its first line, which has the duration.
fn body(output: &ToolOutput) -> &str {
    output.text.split_once('\n').unwrap().1
}

/// Dead or a zombie that nobody has counted yet.
fn is_dead(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let zombie = stat
        .rsplit_once(')')
        .is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'));
    zombie || test_kill_process(Pid::from_raw(pid).unwrap()).is_err()
}

/// Waits for the process's death; fails after a second.
fn wait_until_dead(pid: i32) {
    let started = Instant::now();
    while !is_dead(pid) {
        assert!(
            started.elapsed() < Duration::from_secs(1),
            "process {pid} lives"
        );
        std::thread::yield_now();
    }
}

/// Runs `text` until it has printed whole lines with the pids of `count` processes, then drops it.
async fn drop_when_it_printed(commands: &Commands, text: &str, count: usize) -> Vec<i32> {
    let folder = tempfile::tempdir().unwrap();
    let command = line(text);
    let (sender, receiver) = unbounded_channel();
    let running = commands.run(folder.path(), &command, move |bytes| {
        let _ = sender.send(bytes.to_vec());
    });
    tokio::select! {
        ended = running => panic!("ended by itself: {ended:?}"),
        pids = pids(receiver, count) => pids,
    }
}

async fn pids(mut receiver: UnboundedReceiver<Vec<u8>>, count: usize) -> Vec<i32> {
    let mut text = String::new();
    while text.matches('\n').count() < count {
        text.push_str(&String::from_utf8(receiver.recv().await.unwrap()).unwrap());
    }
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[tokio::test]
async fn both_outputs_come_in_the_order_of_writing_and_are_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut passed = Vec::new();
    let command = line("for n in 1 2 3; do echo out $n; echo err $n >&2; done; printf 'é漢😀'");
    let output = run(folder.path(), &command, |bytes| {
        passed.extend_from_slice(bytes);
    })
    .await;
    let want = "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\né漢😀";
    assert_eq!(String::from_utf8(passed).unwrap(), want);
    assert_eq!(body(&output), format!("output:\n{want}\n"));
    assert!(output.text.starts_with("exit status 0 after ") && !output.is_error);
}

#[tokio::test]
async fn endings_are_told_apart() {
    let cases = [
        ("true", "exit status 0 after ", false),
        ("exit 3", "exit status 3 after ", true),
        ("kill -KILL $$", "ended by signal 9 (SIGKILL) after ", true),
        ("no-such-program-here", "exit status 127 after ", true),
        ("", "failed to run the command: it is empty\n", true),
        ("a\0b", "failed to run the command: ", true),
    ];
    for (text, start, is_error) in cases {
        let output = output_of(text).await;
        assert!(
            output.text.starts_with(start),
            "{text:?}: {:?}",
            output.text
        );
        assert_eq!(output.is_error, is_error, "{text:?}");
    }
}

#[tokio::test]
async fn there_is_no_input_no_terminal_no_colour() {
    let output = output_of(
        "cat; for n in 0 1 2; do test -t $n && echo terminal $n; done; (: </dev/tty) 2>/dev/null && echo has a terminal; echo $NO_COLOR $TERM $PAGER",
    )
    .await;
    assert_eq!(body(&output), "output:\n1 dumb cat\n");
}

#[tokio::test]
async fn the_working_folder_lies_inside_the_workspace() {
    let outside = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    let real = root.path().canonicalize().unwrap();
    std::fs::create_dir_all(real.join("a b/漢😀")).unwrap();
    std::fs::write(real.join("file"), "").unwrap();
    std::os::unix::fs::symlink("a b", real.join("inside")).unwrap();
    std::os::unix::fs::symlink(outside.path(), real.join("out")).unwrap();
    let in_folder = |cwd: Option<&str>| {
        let command = RunCommand {
            command: "pwd".to_owned(),
            cwd: cwd.map(|cwd| RelPath::parse(cwd).unwrap()),
            timeout_s: None,
        };
        let root = root.path().to_owned();
        async move { run(&root, &command, |_| {}).await }
    };
    let good = [
        (None, real.clone()),
        (Some("a b/漢😀"), real.join("a b/漢😀")),
        (Some("inside/漢😀"), real.join("a b/漢😀")),
    ];
    for (cwd, want) in good {
        let output = in_folder(cwd).await;
        assert_eq!(body(&output), format!("output:\n{}\n", want.display()));
    }
    let refused = [
        (
            "out",
            "the working folder `out` is a link that leads outside the workspace, to ",
        ),
        ("gone", "the working folder `gone` cannot be opened: "),
        ("file", "the working folder `file` is not a folder"),
    ];
    for (cwd, want) in refused {
        let output = in_folder(Some(cwd)).await;
        let start = format!("failed to run the command: {want}");
        assert!(output.text.starts_with(&start), "{}", output.text);
        assert!(output.is_error);
    }
    let gone = run(&real.join("no-root"), &line("pwd"), |_| {}).await;
    assert!(gone.is_error && gone.text.contains("the workspace folder `"));
}

#[tokio::test]
async fn endless_output_is_kept_in_bounded_memory_and_passed_on_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut passed = 0;
    let command = line("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; exit 1");
    let output = run(folder.path(), &command, |bytes| passed += bytes.len()).await;
    assert_eq!(
        passed,
        (0..20_000)
            .map(|n| format!("line {n}\n").len())
            .sum::<usize>()
    );
    assert!(output.text.len() < 40_000, "{}", output.text.len());
    assert!(body(&output).starts_with("output:\nline 0\nline 1\n"));
    assert!(output.text.ends_with("\nline 19999\n"));
    assert!(
        output
            .text
            .contains(&format!(" of {passed} bytes of output cut here]\n"))
    );
}

#[tokio::test]
async fn a_background_server_does_not_hold_the_command_and_ends_with_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let commands = Commands::default();
    let started = Instant::now();
    let output = commands
        .run(folder.path(), &line("sleep 1000 & echo $!"), |_| {})
        .await;
    assert!(started.elapsed() < Duration::from_secs(30));
    let pid: i32 = body(&output).lines().nth(1).unwrap().parse().unwrap();
    // Listed by the name it has: `sh` until it has become `sleep`.
    let listed = format!("is not kept:\n  pid {pid}: ");
    assert!(output.text.contains(&listed), "{}", output.text);
    assert!(!output.is_error && !is_dead(pid));
    let left = commands.leftovers();
    assert_eq!(
        left.iter().map(|process| process.pid).collect::<Vec<_>>(),
        [pid]
    );
    commands.kill_leftovers().await;
    wait_until_dead(pid);
    assert!(commands.leftovers().is_empty());
}

#[tokio::test]
async fn a_background_process_that_never_stops_printing_does_not_hold_the_command() {
    let output = output_of("yes & exec sh -c 'echo done >/dev/null'").await;
    assert!(output.text.starts_with("exit status 0"), "{}", output.text);
    assert!(output.text.contains("still running in the background"));
}

#[tokio::test]
async fn a_background_process_can_go_on_printing() {
    let folder = tempfile::tempdir().unwrap();
    let commands = Commands::default();
    // It writes more than a pipe holds, and says in a file that none of it failed.
    let text = "(while [ ! -e go ]; do :; done; head -c 1000000 /dev/zero && echo fine >fine.new && mv fine.new fine; exec sleep 1000) &";
    commands.run(folder.path(), &line(text), |_| {}).await;
    std::fs::write(folder.path().join("go"), "").unwrap();
    let started = Instant::now();
    while !folder.path().join("fine").exists() {
        assert!(started.elapsed() < Duration::from_secs(30));
        tokio::task::yield_now().await;
    }
    commands.kill_leftovers().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn those_who_leave_the_group_or_the_session_are_found_too() {
    let commands = Commands::default();
    let folder = tempfile::tempdir().unwrap();
    let text = "set -m; sleep 1001 & setsid sleep 1002 & setsid -f sleep 1003";
    let text = format!("({text}) </dev/null >/dev/null 2>&1");
    commands.run(folder.path(), &line(&text), |_| {}).await;
    // A daemon is two processes for a moment.
    let started = Instant::now();
    let mut left = commands.leftovers();
    while left.len() != 3 {
        assert!(started.elapsed() < Duration::from_secs(10), "{left:?}");
        left = commands.leftovers();
    }
    commands.kill_leftovers().await;
    for process in left {
        wait_until_dead(process.pid);
    }
}

#[tokio::test]
async fn a_dropped_command_is_dead_with_all_its_processes_within_a_second() {
    let commands = Commands::default();
    // The first ignores the request to leave, and so does its child.
    let pids = drop_when_it_printed(
        &commands,
        "trap '' TERM; sleep 1000 & echo $!; echo $$; wait; sleep 1000",
        2,
    )
    .await;
    let started = Instant::now();
    commands.kill_leftovers().await;
    assert!(started.elapsed() < Duration::from_secs(1));
    for pid in pids {
        assert!(is_dead(pid), "process {pid} lives");
    }
}

#[tokio::test]
async fn a_dropped_command_is_asked_before_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("asked");
    // It starts nothing meanwhile: some shells lose a signal that comes while they start a program.
    let text = format!(
        "trap 'echo yes >\"{}\"; exit 0' TERM; echo $$; while :; do :; done",
        mark.display()
    );
    let commands = Commands::default();
    drop_when_it_printed(&commands, &text, 1).await;
    commands.kill_leftovers().await;
    assert_eq!(std::fs::read_to_string(mark).unwrap(), "yes\n");
}

#[test]
fn dropping_needs_no_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let commands = Commands::default();
    let folder = tempfile::tempdir().unwrap();
    let command = line("trap '' TERM; echo $$; while :; do sleep 1000; done");
    let (sender, receiver) = unbounded_channel();
    let mut running = Box::pin(commands.run(folder.path(), &command, move |bytes| {
        let _ = sender.send(bytes.to_vec());
    }));
    let pid = runtime.block_on(async {
        tokio::select! {
            ended = &mut running => panic!("ended by itself: {ended:?}"),
            pids = pids(receiver, 1) => pids[0],
        }
    });
    drop(runtime);
    assert!(!is_dead(pid));
    drop(running);
    wait_until_dead(pid);
}

#[test]
fn the_last_clone_takes_the_leftovers_with_it() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let commands = Commands::default();
    let clone = commands.clone();
    runtime.block_on(commands.run(folder.path(), &line("sleep 1000 &"), |_| {}));
    drop(runtime);
    let pid = commands.leftovers()[0].pid;
    drop(commands);
    assert!(!is_dead(pid));
    drop(clone);
    wait_until_dead(pid);
}

#[tokio::test]
async fn killing_now_kills_all_without_grace() {
    let folder = tempfile::tempdir().unwrap();
    let commands = Commands::default();
    let text = line("trap '' TERM; sleep 1000 &");
    commands.run(folder.path(), &text, |_| {}).await;
    let pid = commands.leftovers()[0].pid;
    commands.kill_now();
    wait_until_dead(pid);
}

#[tokio::test]
async fn a_command_that_runs_too_long_is_stopped_with_its_output_kept() {
    let folder = tempfile::tempdir().unwrap();
    let command = RunCommand {
        command: "echo so far; echo $$; sleep 1000 & wait; sleep 1000".to_owned(),
        cwd: None,
        timeout_s: Some(0),
    };
    let output = run(folder.path(), &command, |_| {}).await;
    assert!(output.is_error);
    let (first, rest) = output.text.split_once('\n').unwrap();
    assert_eq!(first, "stopped: it had not ended after 1 s (`timeout_s`)");
    let pid: i32 = rest.lines().nth(2).unwrap().parse().unwrap();
    assert_eq!(rest, format!("output:\nso far\n{pid}\n"));
    wait_until_dead(pid);
}
