use super::*;
use crate::kernel::event::Engine;
use crate::kernel::task::TaskBudget;

struct Place {
    tasks: Tasks,
    folder: tempfile::TempDir,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    std::fs::create_dir(&root).unwrap();
    let tasks = Tasks::open(&root, Some(&folder.path().join("state"))).unwrap();
    Place { tasks, folder }
}

fn draft(title: &str, depends_on: &[&str]) -> Draft {
    Draft {
        title: Some(title.into()),
        description: String::new(),
        origin: TaskOrigin::Prompt,
        depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
        settings: TaskSettings::default(),
    }
}

fn lines(tasks: &[Task]) -> Vec<String> {
    tasks
        .iter()
        .map(|task| {
            let needed: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
            format!(
                "{} {} [{}] {}",
                task.id,
                task.title,
                needed.join(" "),
                task.state.word()
            )
        })
        .collect()
}

#[test]
fn a_list_in_markdown_or_json_becomes_tasks_with_their_dependencies() {
    let Place { tasks, .. } = place();
    tasks.add(&[draft("old", &[])], "ada").unwrap();
    let markdown =
        "- one é\n- [x] done before\n- two\n  why it matters\n  Depends on: #1, done before, old\n";
    assert_eq!(Format::of(markdown), Format::Markdown);
    let imported = tasks
        .import(markdown, Format::Markdown, (Some("TODO.md".into()), "ada"))
        .unwrap();
    assert_eq!(imported.already_done, 1);
    assert_eq!(
        lines(&imported.tasks),
        ["t2 one é [] backlog", "t3 two [t2 t1] backlog"]
    );
    assert_eq!(imported.tasks[1].description, "why it matters");

    let json = r##"{"tasks": ["three", {"title": "four", "dependsOn": ["#1", "t3"], "settings": {"budget": {"tokens": 5}}}]}"##;
    assert_eq!(Format::of(json), Format::Json);
    let imported = tasks.import(json, Format::Json, (None, "ada")).unwrap();
    assert_eq!(
        lines(&imported.tasks),
        ["t4 three [] backlog", "t5 four [t4 t3] backlog"]
    );
    assert_eq!(imported.tasks[1].settings.budget.tokens, Some(5));
    assert_eq!(tasks.list().unwrap().len(), 5);
}

#[test]
fn what_cannot_be_imported_changes_nothing_and_says_why() {
    let Place { tasks, .. } = place();
    let rows = [
        ("[{\"titel\": \"x\"}]", Format::Json, "titel"),
        ("[1", Format::Json, "JSON"),
        ("no list", Format::Markdown, "there is no task"),
        (
            "- a\n  Depends on: nobody\n",
            Format::Markdown,
            "no task nobody",
        ),
        (
            "- a\n  Depends on: b\n- b\n  Depends on: a\n",
            Format::Markdown,
            "cannot depend on itself",
        ),
    ];
    for (text, format, want) in rows {
        let error = tasks
            .import(text, format, (None, "ada"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(want), "{text}: {error}");
    }
    assert_eq!(tasks.list().unwrap(), []);
}

#[test]
fn a_task_is_taken_once_and_only_when_nothing_is_left_to_do_before() {
    let Place { tasks, .. } = place();
    let mut first = draft("first", &[]);
    first.settings = TaskSettings {
        engine: Some(Engine::React),
        model: Some("a/b".into()),
        budget: TaskBudget {
            tokens: Some(7),
            iterations: Some(3),
            ..TaskBudget::default()
        },
    };
    let made = tasks
        .add(&[first, draft("second", &["#1"])], "ada")
        .unwrap();
    let ids: Vec<TaskId> = made.iter().map(|task| task.id.clone()).collect();
    let waits = tasks
        .take(&ids[1], Value::Null, "ada")
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        waits,
        "task t2 waits for t1 (backlog: first); do that first"
    );

    let wish = tasks
        .take(
            &ids[0],
            json!({"model": "c/d", "budget": {"tokens": null, "iterations": 4}}),
            "ada",
        )
        .unwrap();
    assert_eq!(wish.task, Some(ids[0].clone()));
    assert_eq!(
        (
            wish.call["model"].as_str(),
            wish.call["budget"]["tokens"].as_u64()
        ),
        (Some("c/d"), Some(7))
    );
    assert_eq!(wish.call["budget"]["iterations"], 4);
    // No run has begun yet, and nobody else may start one.
    let again = tasks.take(&ids[0], Value::Null, "bob").err().unwrap();
    assert!(again.to_string().contains("in progress"), "{again}");
    tasks.give_back(&ids[0], "no model").unwrap();
    let task = tasks.one(&ids[0]).unwrap();
    assert_eq!(task.state, TaskState::Ready);
    assert!(
        task.log.last().unwrap().text.contains("no model"),
        "{:?}",
        task.log
    );
    tasks
        .edit(
            &ids[0],
            Edit {
                state: Some(TaskState::Done),
                ..Edit::default()
            },
            "ada",
        )
        .unwrap();
    assert!(tasks.take(&ids[1], Value::Null, "ada").is_ok());
}

#[test]
fn an_edit_changes_what_it_names() {
    let Place { tasks, .. } = place();
    let made = tasks
        .add(&[draft("a", &[]), draft("b", &["a"])], "ada")
        .unwrap();
    let edit = Edit {
        title: Some("größer".into()),
        description: Some("so".into()),
        ..Edit::default()
    };
    let edited = tasks.edit(&made[0].id, edit, "bob").unwrap();
    assert_eq!(
        (edited.title.as_str(), edited.description.as_str()),
        ("größer", "so")
    );
    let note = edited.log.last().unwrap();
    assert_eq!(
        (note.by.as_str(), note.text.as_str()),
        ("bob", "changed: title, description")
    );
    let circle = Edit {
        depends_on: Some(vec![made[1].id.clone()]),
        ..Edit::default()
    };
    let refused = tasks.edit(&made[0].id, circle, "bob").unwrap_err();
    assert!(refused.to_string().contains("t1 → t2 → t1"), "{refused}");
    let unknown = tasks
        .edit(&TaskId::new("t9"), Edit::default(), "bob")
        .unwrap_err();
    assert!(unknown.to_string().contains("no task t9"), "{unknown}");
    assert_eq!(tasks.one(&made[0].id).unwrap().depends_on, []);
}

#[test]
fn places_in_files_are_read() {
    let Place { folder, .. } = place();
    let root = folder.path().join("project");
    std::fs::write(root.join("é.py"), "a = 1\n# TODO(ada): größer\nb = 2\n").unwrap();
    let path = RelPath::parse("é.py").unwrap();
    let todo = |line| TaskOrigin::Todo {
        path: path.clone(),
        line,
        text: String::new(),
    };
    let read = with_text_on_disk(todo(2), &root).unwrap();
    assert_eq!(
        read,
        TaskOrigin::Todo {
            path: path.clone(),
            line: 2,
            text: "größer".into()
        }
    );
    assert_eq!(read.title().as_deref(), Some("größer"));
    let selection = TaskOrigin::Selection {
        path: path.clone(),
        first_line: 2,
        last_line: 3,
        text: String::new(),
    };
    let read = with_text_on_disk(selection, &root).unwrap();
    assert!(
        matches!(&read, TaskOrigin::Selection { text, .. } if text == "# TODO(ada): größer\nb = 2\n"),
        "{read:?}"
    );
    for (line, want) in [(1, "no TODO"), (9, "no line 9")] {
        let error = with_text_on_disk(todo(line), &root)
            .unwrap_err()
            .to_string();
        assert!(error.contains(want), "{error}");
    }
}
