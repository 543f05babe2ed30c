//! The tasks of a batch: from a list in Markdown or JSON, or those of the workspace that are ready.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde_json::Value;

use super::board::Place;
use super::record::Task;
use crate::app::tasks::{Draft, Format, Tasks, read_list};
use crate::cli::usage::Usage;
use crate::cli::workspace::WorkspaceArguments;
use crate::kernel::task::TaskState;

/// # Errors
/// The list cannot be read, has no task, or its dependencies go in a circle: for people.
pub fn of_file(file: &Path) -> anyhow::Result<Vec<Task>> {
    let text = if file == Path::new("-") {
        let mut text = String::new();
        io::stdin()
            .read_to_string(&mut text)
            .context("failed to read the list from standard input")?;
        text
    } else {
        let unreadable = |error| Usage::new(format!("failed to read {}: {error}", file.display()));
        fs::read_to_string(file).map_err(unreadable)?
    };
    let drafts = read_list(&text, Format::of(&text))
        .map_err(|error| Usage::new(format!("{}: {error}", file.display())))?;
    of_drafts(&drafts)
}

fn of_drafts(drafts: &[Draft]) -> anyhow::Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let title = draft.title.clone().unwrap_or_default();
        let mut after = Vec::new();
        for name in &draft.depends_on {
            let by_number = name
                .strip_prefix('#')
                .and_then(|number| number.parse::<usize>().ok());
            let other = by_number.and_then(|number| number.checked_sub(1));
            match other.filter(|other| *other < drafts.len()) {
                Some(other) => after.push(other),
                None => bail!(Usage::new(format!(
                    "`{title}` depends on `{name}`, which is not in the list; name a title of the list, or #1 for the first"
                ))),
            }
        }
        tasks.push(task(
            at,
            &title,
            &draft.description,
            &serde_json::to_value(&draft.settings)?,
            after,
        ));
    }
    no_circle(&tasks)?;
    Ok(tasks)
}

/// # Errors
/// No task is ready, or the state cannot be read.
pub fn ready(workspace: &WorkspaceArguments) -> anyhow::Result<Vec<Task>> {
    let store =
        Tasks::open(&workspace.root()?, workspace.state_dir()).map_err(|why| anyhow!(why))?;
    let all = store.list().context("failed to list the tasks")?;
    let ready: Vec<_> = all
        .iter()
        .filter(|task| task.state == TaskState::Ready)
        .collect();
    if ready.is_empty() {
        bail!(Usage::new(
            "no task is ready; give a list, or see `outrigger task list` and `outrigger task ready`"
        ));
    }
    let places: BTreeMap<_, _> = ready
        .iter()
        .enumerate()
        .map(|(at, task)| (&task.id, at))
        .collect();
    let mut tasks = Vec::new();
    for (at, ready) in ready.iter().enumerate() {
        let mut after = Vec::new();
        for id in &ready.depends_on {
            let is_done = all
                .iter()
                .any(|task| task.id == *id && task.state == TaskState::Done);
            match places.get(id) {
                _ if is_done => {}
                Some(other) => after.push(*other),
                None => bail!(Usage::new(format!(
                    "task {} needs task {id}, which is neither done nor ready; `outrigger task ready {id}`",
                    ready.id
                ))),
            }
        }
        tasks.push(task(
            at,
            &ready.title,
            &ready.description,
            &serde_json::to_value(&ready.settings)?,
            after,
        ));
    }
    no_circle(&tasks)?;
    Ok(tasks)
}

fn task(at: usize, title: &str, description: &str, settings: &Value, after: Vec<usize>) -> Task {
    let prompt = match description.trim() {
        "" => title.to_owned(),
        text if text.starts_with(title) => text.to_owned(),
        text => format!("{title}\n\n{text}"),
    };
    let mut words = Vec::new();
    flatten("", settings, &mut words);
    Task {
        id: (at + 1).to_string(),
        title: title.to_owned(),
        prompt,
        settings: words,
        place: Place {
            after,
            ..Place::default()
        },
        ..Task::default()
    }
}

/// `name=value` of each setting.
pub fn flatten(name: &str, value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (field, inner) in fields {
                let name = if name.is_empty() {
                    field.clone()
                } else {
                    format!("{name}.{field}")
                };
                flatten(&name, inner, into);
            }
        }
        Value::String(text) => into.push(format!("{name}={text}")),
        other => into.push(format!("{name}={other}")),
    }
}

fn no_circle(tasks: &[Task]) -> anyhow::Result<()> {
    let mut done = vec![false; tasks.len()];
    loop {
        let next = (0..tasks.len())
            .find(|at| !done[*at] && tasks[*at].place.after.iter().all(|other| done[*other]));
        match next {
            Some(at) => done[at] = true,
            None => break,
        }
    }
    let left: Vec<&str> = (0..tasks.len())
        .filter(|at| !done[*at])
        .map(|at| tasks[at].title.as_str())
        .collect();
    if left.is_empty() {
        return Ok(());
    }
    bail!(Usage::new(format!(
        "these tasks wait for each other in a circle: {}",
        left.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<Vec<Task>> {
        of_drafts(&read_list(text, Format::of(text))?)
    }

    #[test]
    fn a_list_becomes_tasks_with_what_they_need() {
        let tasks = read("- Say hé\n  in all files\n- Say bye\n  Depends on: #1\n").unwrap();
        assert_eq!(tasks[0].prompt, "Say hé\n\nin all files");
        assert_eq!(tasks[1].place.after, [0]);
        let json = r##"[{"title": "b", "dependsOn": ["c"], "settings": {"model": "scripted:x", "budget": {"tokens": 7}}}, "c"]"##;
        let tasks = read(json).unwrap();
        assert_eq!(tasks[0].place.after, [1]);
        assert_eq!(tasks[0].settings, ["budget.tokens=7", "model=scripted:x"]);
    }

    #[test]
    fn circles_and_what_is_not_there_are_refused() {
        for (text, want) in [
            (
                r##"[{"title": "a", "dependsOn": ["#2"]}, {"title": "b", "dependsOn": ["#1"]}]"##,
                "circle: a, b",
            ),
            (
                r##"[{"title": "a", "dependsOn": ["t9"]}]"##,
                "depends on `t9`",
            ),
            ("nothing", "no task"),
        ] {
            let why = read(text).unwrap_err().to_string();
            assert!(why.contains(want), "{why}");
        }
    }
}
