use super::*;

fn task(id: &str, state: TaskState) -> Task {
    Task {
        id: TaskId::new(id),
        title: "Größe prüfen".into(),
        description: String::new(),
        origin: TaskOrigin::Prompt,
        depends_on: Vec::new(),
        settings: TaskSettings::default(),
        state,
        state_since: 100,
        runs: Vec::new(),
        created_at: 100,
        changed_at: 100,
        log: Vec::new(),
    }
}

fn run(status: RunStatus, started_at: i64) -> TaskRun {
    TaskRun {
        run: RunId::new("r1"),
        status,
        started_at,
        changed_at: started_at + 50,
    }
}

#[test]
fn only_the_design_s_moves_are_legal() {
    use TaskState::{Backlog, Blocked, Done, Failed, InProgress, Ready};
    let legal = [
        (Backlog, vec![Ready]),
        (Ready, vec![Backlog, InProgress, Done]),
        (InProgress, vec![Backlog, Ready, Blocked, Done, Failed]),
        (Blocked, vec![Backlog, Ready, InProgress, Done, Failed]),
        (Done, vec![Backlog, Ready]),
        (Failed, vec![Backlog, Ready, Done]),
    ];
    for (from, to) in legal {
        for next in TaskState::ALL {
            assert_eq!(
                from.may_become(next),
                to.contains(&next),
                "{from:?} → {next:?}"
            );
        }
    }
}

#[test]
fn the_newest_run_says_where_a_task_stands_unless_a_person_has_spoken_since() {
    use WaitingFor::{Model, RateLimit, You};
    let rows = [
        (RunStatus::Executing, None, 100, TaskState::InProgress),
        (RunStatus::Waiting, Some(You), 200, TaskState::Blocked),
        (
            RunStatus::Waiting,
            Some(RateLimit),
            200,
            TaskState::InProgress,
        ),
        (
            RunStatus::Verifying,
            Some(Model),
            200,
            TaskState::InProgress,
        ),
        (RunStatus::Interrupted, None, 200, TaskState::Blocked),
        (RunStatus::Succeeded, None, 200, TaskState::Done),
        (RunStatus::Failed, None, 200, TaskState::Failed),
        (RunStatus::Cancelled, None, 200, TaskState::Ready),
        // Before somebody put it back.
        (RunStatus::Succeeded, None, 99, TaskState::Backlog),
    ];
    for (status, waits_for, started_at, want) in rows {
        let mut task = task("t1", TaskState::Backlog);
        task.take_runs(vec![
            (run(RunStatus::Failed, 1), None),
            (run(status, started_at), waits_for),
        ]);
        assert_eq!(task.state, want, "{status:?} {waits_for:?} {started_at}");
        assert_eq!(task.runs.len(), 2);
    }
}

#[test]
fn a_person_s_move_is_logged_and_refused_while_a_run_works() {
    let mut one = task("t1", TaskState::Backlog);
    assert_eq!(one.put(TaskState::Backlog, 5, "ada"), Ok(()));
    assert!(one.log.is_empty());
    let refused = one.put(TaskState::Done, 5, "ada").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "task t1 is backlog, and from there it cannot become done"
    );
    assert_eq!(one.put(TaskState::Ready, 300, "ada"), Ok(()));
    assert_eq!(
        (one.state, one.state_since, one.changed_at),
        (TaskState::Ready, 300, 300)
    );
    assert_eq!(one.log[0].text, "backlog → ready");
    one.take_runs(vec![(run(RunStatus::Executing, 400), None)]);
    let refused = one.put(TaskState::Backlog, 500, "ada").unwrap_err();
    assert!(refused.to_string().contains("run r1 works on"), "{refused}");
}

#[test]
fn dependencies_exist_and_lead_in_no_circle() {
    let table = |rows: &[(&str, &[&str])]| -> BTreeMap<TaskId, Vec<TaskId>> {
        let ids = |names: &[&str]| names.iter().map(|name| TaskId::new(*name)).collect();
        rows.iter()
            .map(|(id, needed)| (TaskId::new(*id), ids(needed)))
            .collect()
    };
    assert_eq!(
        check_dependencies(&table(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])),
        Ok(())
    );
    assert_eq!(
        check_dependencies(&table(&[("a", &["x"])])),
        Err(TaskRefusal::Unknown(TaskId::new("x")))
    );
    for circle in [
        table(&[("a", &["a"])]),
        table(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])]),
    ] {
        assert!(
            matches!(check_dependencies(&circle), Err(TaskRefusal::Cycle(..))),
            "{circle:?}"
        );
    }
    // Long chains need no stack.
    let chain: BTreeMap<TaskId, Vec<TaskId>> = (0..50_000)
        .map(|n| {
            (
                TaskId::new(format!("{n:06}")),
                if n == 0 {
                    vec![]
                } else {
                    vec![TaskId::new(format!("{:06}", n - 1))]
                },
            )
        })
        .collect();
    assert_eq!(check_dependencies(&chain), Ok(()));
}

#[test]
fn a_task_waits_for_what_is_not_done() {
    let mut last = task("t3", TaskState::Ready);
    last.depends_on = vec![TaskId::new("t1"), TaskId::new("t2")];
    let all = [
        task("t1", TaskState::Done),
        task("t2", TaskState::Failed),
        last.clone(),
    ];
    let waits: Vec<&str> = waits_for(&last, &all)
        .iter()
        .map(|task| task.id.as_str())
        .collect();
    assert_eq!(waits, ["t2"]);
}

#[test]
fn the_prompt_says_where_to_look() {
    let mut task = task("t1", TaskState::Ready);
    task.description = "More.".into();
    let path = RelPath::parse("src/é.rs").unwrap();
    let rows = [
        (TaskOrigin::Prompt, "Größe prüfen\n\nMore."),
        (
            TaskOrigin::Selection {
                path: path.clone(),
                first_line: 2,
                last_line: 3,
                text: "a\nb\n".into(),
            },
            "Größe prüfen\n\nMore.\n\nThis is about src/é.rs, lines 2 to 3:\n```\na\nb\n```",
        ),
        (
            TaskOrigin::Diagnostic {
                path,
                line: 7,
                source: Some("ruff".into()),
                code: Some("F401".into()),
                message: "unused".into(),
            },
            "Größe prüfen\n\nMore.\n\nsrc/é.rs, line 7: ruff F401: unused",
        ),
    ];
    for (origin, want) in rows {
        task.origin = origin;
        assert_eq!(task.prompt(), want);
    }
    assert_eq!(headline(&"é".repeat(200)).chars().count(), 100);
    assert_eq!(headline("\n  two\nlines"), "two");
}
