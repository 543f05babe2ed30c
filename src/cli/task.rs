//! `outrigger task`: what shall be done, kept until a run has done it.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::attend::BY;
use super::output::say;
use super::words::{ASKS, BAD, BOLD, DIM, GOOD, NAME, clean, headline, styled};
use super::workspace::WorkspaceArguments;
use crate::app::tasks::{Draft, Edit, Format, Tasks, with_text_on_disk};
use crate::app::time_of_day;
use crate::kernel::event::Engine;
use crate::kernel::ids::TaskId;
use crate::kernel::money::Dollars;
use crate::kernel::path::RelPath;
use crate::kernel::task::{self, Task, TaskBudget, TaskOrigin, TaskSettings, TaskState};

/// Characters of a title in a list.
const TITLE: usize = 80;

/// Keep a list of what shall be done, from words, places in files, problems and lists.
///
/// Examples:
///   outrigger task add "make the parser's error say which line is wrong"
///   outrigger task add --todo src/parse.rs:12
///   outrigger task import TODO.md
///   outrigger task ready t1
///   outrigger run --task t1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the tasks of this workspace, in the order in which they were made.
    List(ListArguments),
    /// Show a task with its runs and its log.
    Show(ShowArguments),
    /// Make a task.
    Add(Box<AddArguments>),
    /// Make a task of each item of a list in Markdown or JSON.
    Import(ImportArguments),
    /// Change a task, or put it where you want it.
    Edit(Box<EditArguments>),
    /// Say that tasks may be started.
    Ready(ReadyArguments),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Only tasks that stand so; may be given several times.
    #[arg(long, value_name = "STATE")]
    state: Vec<State>,
    /// As a JSON array, as editors get them.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ShowArguments {
    /// The task's id.
    task: String,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct AddArguments {
    /// What shall be done: the first line is the title; `-` reads it from standard input.
    #[arg(required_unless_present_any = ["title", "file", "todo", "diagnostic"])]
    words: Vec<String>,
    #[arg(long)]
    title: Option<String>,
    /// Read what shall be done from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "words")]
    file: Option<PathBuf>,
    /// It is about these lines.
    #[arg(long, value_name = "PATH:FIRST-LAST", conflicts_with_all = ["todo", "diagnostic"])]
    selection: Option<String>,
    /// It is what the comment in this line asks for.
    #[arg(long, value_name = "PATH:LINE", conflicts_with = "diagnostic")]
    todo: Option<String>,
    /// It is to fix this problem, as compilers print it.
    #[arg(long, value_name = "PATH:LINE[:COLUMN]: MESSAGE")]
    diagnostic: Option<String>,
    /// Tasks that must be done before, by id or title.
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    after: Vec<String>,
    #[command(flatten)]
    settings: SettingsArguments,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct SettingsArguments {
    /// How its runs think.
    #[arg(long)]
    engine: Option<String>,
    /// The model of its runs.
    #[arg(long)]
    model: Option<String>,
    /// Seconds of work of one run.
    #[arg(long, value_name = "SECONDS")]
    max_seconds: Option<u64>,
    /// Tokens of one run.
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,
    /// Turns of the model of one run.
    #[arg(long, value_name = "TURNS")]
    max_turns: Option<u32>,
    /// US dollars of one run.
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<f64>,
    /// US dollars of all its runs together.
    #[arg(long, value_name = "DOLLARS")]
    max_task_cost: Option<f64>,
}

#[derive(Debug, Args)]
struct ImportArguments {
    /// The list; `-` reads it from standard input.
    file: PathBuf,
    /// [default: by how it begins]
    #[arg(long)]
    format: Option<ListFormat>,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ListFormat {
    Markdown,
    Json,
}

#[derive(Debug, Args)]
struct EditArguments {
    /// The task's id.
    task: String,
    #[arg(long)]
    title: Option<String>,
    #[arg(long)]
    description: Option<String>,
    /// Tasks that must be done before, in place of those that were named; empty for none.
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    after: Option<Vec<String>>,
    #[arg(long)]
    state: Option<State>,
    #[command(flatten)]
    settings: SettingsArguments,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ReadyArguments {
    /// The tasks' ids.
    #[arg(required = true)]
    tasks: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    Backlog,
    Ready,
    InProgress,
    Blocked,
    Done,
    Failed,
}

impl State {
    fn of_task(self) -> TaskState {
        match self {
            Self::Backlog => TaskState::Backlog,
            Self::Ready => TaskState::Ready,
            Self::InProgress => TaskState::InProgress,
            Self::Blocked => TaskState::Blocked,
            Self::Done => TaskState::Done,
            Self::Failed => TaskState::Failed,
        }
    }
}

pub fn run(arguments: Arguments) -> anyhow::Result<u8> {
    let root = arguments.workspace.root()?;
    let tasks = Tasks::open(&root, arguments.workspace.state_dir()).map_err(|why| anyhow!(why))?;
    let text = match arguments.command {
        Command::List(arguments) => list(&tasks, &arguments)?,
        Command::Show(arguments) => {
            let all = tasks.list().context("failed to list the tasks")?;
            let id = TaskId::new(&arguments.task);
            let task = all.iter().find(|task| task.id == id);
            let task = task.ok_or(task::TaskRefusal::Unknown(id))?;
            if arguments.json {
                as_json(task)
            } else {
                show(task, &all)
            }
        }
        Command::Add(arguments) => add(&tasks, &root, *arguments)?,
        Command::Import(arguments) => import(&tasks, &arguments)?,
        Command::Edit(arguments) => edit(&tasks, *arguments)?,
        Command::Ready(arguments) => {
            let mut text = String::new();
            for id in arguments.tasks {
                let edit = Edit {
                    state: Some(TaskState::Ready),
                    ..Edit::default()
                };
                text.push_str(&line(&tasks.edit(&TaskId::new(id), edit, BY)?, &[]));
            }
            text
        }
    };
    say(&text).context("failed to write to standard output")?;
    Ok(0)
}

fn list(tasks: &Tasks, arguments: &ListArguments) -> anyhow::Result<String> {
    let all = tasks.list().context("failed to list the tasks")?;
    let wanted: Vec<TaskState> = arguments
        .state
        .iter()
        .map(|state| state.of_task())
        .collect();
    let is_wanted = |task: &&Task| wanted.is_empty() || wanted.contains(&task.state);
    let shown: Vec<&Task> = all.iter().filter(is_wanted).collect();
    Ok(if arguments.json {
        format!("{:#}\n", json!(shown))
    } else if all.is_empty() {
        "there is no task yet in this workspace; `outrigger task add \"…\"` makes one\n".to_owned()
    } else if shown.is_empty() {
        "no task stands so\n".to_owned()
    } else {
        shown.iter().map(|task| line(task, &all)).collect()
    })
}

/// One line, and a second one where there is something to say. `all`: to know what it waits for.
fn line(task: &Task, all: &[Task]) -> String {
    let style = match task.state {
        TaskState::Done => GOOD,
        TaskState::Failed => BAD,
        TaskState::Blocked => ASKS,
        TaskState::Ready | TaskState::InProgress => NAME,
        TaskState::Backlog => DIM,
    };
    let word = format!("{:11}", task.state.word());
    let mut text = format!(
        "{:5} {}  {}\n",
        task.id.as_str(),
        styled(style, word),
        headline(&task.title, TITLE)
    );
    let waits: Vec<&str> = task::waits_for(task, all)
        .iter()
        .map(|other| other.id.as_str())
        .collect();
    if !waits.is_empty() && task.state != TaskState::Done {
        text.push_str(&styled(
            DIM,
            format!("      waits for {}\n", waits.join(", ")),
        ));
    }
    if task.state == TaskState::Blocked
        && let Some(run) = task.runs.last()
    {
        text.push_str(&styled(
            DIM,
            format!(
                "      see `outrigger questions`, or `outrigger resume {}`\n",
                run.run
            ),
        ));
    }
    text
}

fn show(task: &Task, all: &[Task]) -> String {
    let mut text = line(task, all);
    for part in [&task.description, &task.origin.describe()] {
        if !part.is_empty() {
            text.push_str(&format!("\n{}\n", clean(part)));
        }
    }
    let needed: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
    if !needed.is_empty() {
        text.push_str(&format!("\nafter {}\n", needed.join(", ")));
    }
    if !task.settings.is_empty() {
        text.push_str(&format!("\nsettings {}\n", json!(task.settings)));
    }
    if !task.runs.is_empty() {
        text.push_str(&format!("\n{}\n", styled(BOLD, "runs")));
    }
    for run in &task.runs {
        text.push_str(&format!(
            "  {}  {:?}, {}\n",
            run.run,
            run.status,
            time_of_day(run.started_at)
        ));
    }
    text.push_str(&format!("\n{}\n", styled(BOLD, "log")));
    for note in &task.log {
        text.push_str(&format!(
            "  {}  {}: {}\n",
            time_of_day(note.at),
            clean(&note.by),
            clean(&note.text)
        ));
    }
    text
}

fn add(tasks: &Tasks, root: &Path, arguments: AddArguments) -> anyhow::Result<String> {
    let description = match (&arguments.file, arguments.words.as_slice()) {
        (Some(file), _) => fs::read_to_string(file)
            .with_context(|| format!("failed to read {}", file.display()))?,
        (None, [dash]) if dash == "-" => from_standard_input()?,
        (None, words) => words.join(" "),
    };
    let origin = match (&arguments.selection, &arguments.todo, &arguments.diagnostic) {
        (Some(place), _, _) => selection(place)?,
        (None, Some(place), _) => {
            let (path, line) = place.rsplit_once(':').unwrap_or_default();
            TaskOrigin::Todo {
                path: path_of(path, place)?,
                line: number(line, place)?,
                text: String::new(),
            }
        }
        (None, None, Some(problem)) => diagnostic(problem)?,
        (None, None, None) => TaskOrigin::Prompt,
    };
    let draft = Draft {
        title: arguments.title,
        description,
        origin: with_text_on_disk(origin, root).context("failed to add the task")?,
        depends_on: arguments.after,
        settings: settings(arguments.settings, TaskSettings::default())?,
    };
    let added = tasks.add(&[draft], BY).context("failed to add the task")?;
    Ok(told(&added, arguments.json))
}

fn import(tasks: &Tasks, arguments: &ImportArguments) -> anyhow::Result<String> {
    let file = &arguments.file;
    let (text, name) = if file.as_os_str() == "-" {
        (from_standard_input()?, None)
    } else {
        let text = fs::read_to_string(file)
            .with_context(|| format!("failed to read {}", file.display()))?;
        (text, Some(file.display().to_string()))
    };
    let format = match arguments.format {
        Some(ListFormat::Markdown) => Format::Markdown,
        Some(ListFormat::Json) => Format::Json,
        None => Format::of(&text),
    };
    let imported = tasks
        .import(&text, format, (name, BY))
        .with_context(|| format!("failed to import {}", file.display()))?;
    let mut said = told(&imported.tasks, arguments.json);
    if imported.already_done > 0 && !arguments.json {
        said.push_str(&format!(
            "{} marked as done were left out\n",
            imported.already_done
        ));
    }
    Ok(said)
}

fn edit(tasks: &Tasks, arguments: EditArguments) -> anyhow::Result<String> {
    let id = TaskId::new(&arguments.task);
    let before = tasks.one(&id)?;
    let named = |name: String| {
        Some(name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .map(TaskId::new)
    };
    let edit = Edit {
        title: arguments.title,
        description: arguments.description,
        depends_on: arguments
            .after
            .map(|names| names.into_iter().filter_map(named).collect()),
        settings: Some(settings(arguments.settings, before.settings)?),
        state: arguments.state.map(State::of_task),
    };
    let edited = tasks
        .edit(&id, edit, BY)
        .with_context(|| format!("failed to change task {id}"))?;
    Ok(told(&[edited], arguments.json))
}

fn told(tasks: &[Task], json: bool) -> String {
    if json {
        tasks.iter().map(as_json).collect()
    } else {
        tasks.iter().map(|task| line(task, &[])).collect()
    }
}

fn as_json(task: &Task) -> String {
    format!("{:#}\n", json!(task))
}

fn from_standard_input() -> anyhow::Result<String> {
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .context("failed to read from standard input")?;
    Ok(text)
}

/// What is named changes, the rest stays.
fn settings(arguments: SettingsArguments, before: TaskSettings) -> anyhow::Result<TaskSettings> {
    let dollars = |amount: Option<f64>| -> anyhow::Result<Option<Dollars>> {
        let read = amount.map(|amount| serde_json::from_value(json!(amount)));
        read.transpose()
            .context("failed to read the amount of dollars")
    };
    let engine = arguments
        .engine
        .map(|name| serde_json::from_value::<Engine>(json!(name)));
    Ok(TaskSettings {
        engine: engine
            .transpose()
            .context("failed to read the engine")?
            .or(before.engine),
        model: arguments.model.or(before.model),
        budget: TaskBudget {
            active_s: arguments.max_seconds.or(before.budget.active_s),
            tokens: arguments.max_tokens.or(before.budget.tokens),
            iterations: arguments.max_turns.or(before.budget.iterations),
            cost: dollars(arguments.max_cost)?.or(before.budget.cost),
            task_cost: dollars(arguments.max_task_cost)?.or(before.budget.task_cost),
        },
    })
}

/// `src/a.rs:3-7` or `src/a.rs:3`.
fn selection(place: &str) -> anyhow::Result<TaskOrigin> {
    let (path, lines) = place.rsplit_once(':').unwrap_or_default();
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let (first_line, last_line) = (number(first, place)?, number(last, place)?);
    if last_line < first_line {
        bail!("`{place}` ends before it begins");
    }
    Ok(TaskOrigin::Selection {
        path: path_of(path, place)?,
        first_line,
        last_line,
        text: String::new(),
    })
}

/// `src/a.rs:3:7: message`, the column being left out in some.
fn diagnostic(problem: &str) -> anyhow::Result<TaskOrigin> {
    let wrong =
        || anyhow!("`{problem}` is no problem as compilers print it; give PATH:LINE: MESSAGE");
    let (place, message) = problem.trim().split_once(": ").ok_or_else(wrong)?;
    // From the end, since a path may hold colons.
    let (rest, last) = place.rsplit_once(':').ok_or_else(wrong)?;
    let (path, line) = match rest.rsplit_once(':') {
        Some((path, line)) if line.parse::<u32>().is_ok() && last.parse::<u32>().is_ok() => {
            (path, line)
        }
        _ => (rest, last),
    };
    Ok(TaskOrigin::Diagnostic {
        path: path_of(path, problem)?,
        line: number(line, problem)?,
        source: None,
        code: None,
        message: message.trim().to_owned(),
    })
}

fn path_of(path: &str, whole: &str) -> anyhow::Result<RelPath> {
    RelPath::parse(path).map_err(|why| anyhow!("failed to find the file of `{whole}`: {why}"))
}

fn number(text: &str, whole: &str) -> anyhow::Result<u32> {
    let number = text.trim().parse::<u32>().ok().filter(|number| *number > 0);
    number.with_context(|| format!("`{whole}` names no line; give PATH:LINE"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_problems_are_read_as_tools_print_them() {
        let problem = |text: &str| match diagnostic(text) {
            Ok(TaskOrigin::Diagnostic {
                path,
                line,
                message,
                ..
            }) => Some(format!("{path}|{line}|{message}")),
            _ => None,
        };
        let rows = [
            (
                "src/é.py:3:7: F401 unused: x",
                Some("src/é.py|3|F401 unused: x"),
            ),
            ("a b.c:12: error: no", Some("a b.c|12|error: no")),
            ("a.c: error", None),
            ("a.c:0: error", None),
            ("../a.c:1: error", None),
            ("", None),
        ];
        for (text, want) in rows {
            assert_eq!(problem(text).as_deref(), want, "{text}");
        }
        let lines = |text: &str| match selection(text) {
            Ok(TaskOrigin::Selection {
                path,
                first_line,
                last_line,
                ..
            }) => Some(format!("{path}|{first_line}|{last_line}")),
            _ => None,
        };
        let rows = [
            ("é.rs:3-7", Some("é.rs|3|7")),
            ("a:2", Some("a|2|2")),
            ("a:7-3", None),
            ("a", None),
            ("a:x", None),
        ];
        for (text, want) in rows {
            assert_eq!(lines(text).as_deref(), want, "{text}");
        }
    }
}
