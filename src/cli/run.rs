//! `outrigger run`, `outrigger resume`, `outrigger answer`: a run from the terminal, a script or CI.
//!
//! With a terminal its questions are asked there. Without one, conflicts follow the policy, and any other question is
//! where the run is left: it can be answered and goes on then. What that came to is in the exit code.

mod exit;
mod flags;

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use super::ask::{self, Reading};
use super::attend::{Attendant, BY, End, Telling, json_line, open_questions};
use super::output::say;
use super::usage::Usage;
use super::view::{self, View};
use super::workspace::{Open, WorkspaceArguments, find_question, find_run};
use crate::app::{App, Notice, Overview, RunWish, SpecError, list};
use crate::kernel::effect::Reply;
use crate::kernel::event::{Record, RunEvent, RunOutcome};
use crate::kernel::ids::{QuestionId, RunId, TaskId};
use crate::kernel::question::{Answer, Question};
pub use flags::RunFlags;

/// How long an unfinished run may take to be read from its transcript.
const LOADING: Duration = Duration::from_secs(20);

/// Start a run and attend it to its end.
///
/// Examples:
///   outrigger run "make the parser's error say which line is wrong"
///   outrigger run --file task.md --json > events.jsonl
///   git log -1 --format=%B | outrigger run --yes -
///   outrigger run --task t3
///
/// Exit codes: 0 succeeded, 1 failed, 2 usage, 3 waits for an answer, 4 waits because a budget is used up,
/// 5 succeeded but nothing could verify it, 6 the model cannot be reached, 130 cancelled. A run that waits, or that
/// was left, goes on by `outrigger answer` or `outrigger resume`.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RunArguments {
    /// What the run shall do; `-`, or nothing where standard input is no terminal, reads it from there.
    prompt: Vec<String>,
    /// Do what this task says, with its settings (see `outrigger task`).
    #[arg(long, value_name = "TASK", conflicts_with_all = ["prompt", "file"])]
    task: Option<String>,
    /// Read what the run shall do from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    file: Option<PathBuf>,
    /// What a queue may do again as often as it likes: where the newest run of this workspace is for the same prompt, one that
    /// has not ended is taken up, one that succeeded is told again, and only after one that failed another is started.
    #[arg(long, conflicts_with = "task")]
    once: bool,
    #[command(flatten)]
    flags: RunFlags,
    /// Append every call of a real model to this file, as a script that `--model scripted:FILE` plays again.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    attending: Attending,
}

/// Take up a run that its process did not end, and attend it to its end.
///
/// Examples:
///   outrigger resume last
///   outrigger resume r0mx3 --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ResumeArguments {
    /// The run: its id, the beginning of it, or `last`.
    run: String,
    #[command(flatten)]
    attending: Attending,
}

/// Answer a question that a run was left with; the run then goes on here.
///
/// Examples:
///   outrigger answer r0mx3vdek9hzu1.q2 1           the first of the offered answers
///   outrigger answer r0mx3vdek9hzu1.q2 use port 80 in your own words
///   outrigger answer r0mx3.q1 k I am not done with this file
///   outrigger answer last 2
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AnswerArguments {
    /// The question: its id, the beginning of it, or `last`.
    question: String,
    /// What you would type if you were asked.
    #[arg(required = true)]
    answer: Vec<String>,
    #[command(flatten)]
    attending: Attending,
}

#[derive(Debug, Args)]
struct Attending {
    /// One event a line, as editors get them; nothing is asked.
    #[arg(long)]
    json: bool,
    /// Ask nothing, even in a terminal.
    #[arg(long)]
    unattended: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

impl Attending {
    fn has_a_person(&self) -> bool {
        !self.json && !self.unattended && io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    fn telling(&self) -> Telling {
        if self.json {
            Telling::Json
        } else {
            Telling::Lines
        }
    }
}

pub async fn run(mut arguments: RunArguments, open: &Open) -> anyhow::Result<u8> {
    arguments.attending.unattended |= arguments.flags.yes;
    let call = arguments.flags.call()?;
    let attending = &arguments.attending;
    let prompt = match &arguments.task {
        Some(_) => String::new(),
        None => prompt(&arguments)?,
    };
    if arguments.once
        && let Some(newest) = newest(attending, &prompt)?
    {
        match newest.end {
            None => return take_up(newest.run.as_str(), attending, open).await,
            Some((RunOutcome::Succeeded, _)) => {
                return tell_again(&newest.run, attending, open).await;
            }
            Some(_) => {}
        }
    }
    let app = attending.workspace.open(open)?;
    if let Some(file) = &arguments.record {
        // Relative to where it was said, not to the workspace.
        let file = std::path::absolute(file)
            .with_context(|| format!("failed to find {}", file.display()))?;
        app.record_models_to(file);
    }
    let wish = match &arguments.task {
        Some(task) => {
            let id = TaskId::new(task);
            app.with_tasks(move |tasks| tasks.take(&id, call, BY))
                .await?
        }
        None => RunWish {
            prompt,
            call,
            task: None,
        },
    };
    let task = wish.task.clone();
    let notices = app.subscribe();
    let run = match start(&app, wish, attending.has_a_person()).await {
        Ok(run) => run,
        Err(why) => {
            if let Some(task) = task {
                let reason = format!("{why:#}");
                app.with_tasks(move |tasks| tasks.give_back(&task, &reason))
                    .await?;
            }
            return Err(why);
        }
    };
    let attendant = Attendant::new(app, run, notices, attending.telling())?;
    attend(attendant, attending).await
}

async fn start(app: &App, wish: RunWish, attended: bool) -> anyhow::Result<RunId> {
    let spec = app
        .spec(wish, attended)
        .await
        .map_err(|error| match error {
            SpecError::Call(message) => anyhow!(Usage::new(message)),
            other @ SpecError::NoModel(_) => other.into(),
        })?;
    let reply = app.start_run(spec).await;
    let reply = reply.context("the workspace is no longer open")?;
    match reply.map_err(|refusal| anyhow!(refusal.message))? {
        Reply::Started { run } => Ok(run),
        _ => bail!("the run was not started"),
    }
}

pub async fn resume(arguments: ResumeArguments, open: &Open) -> anyhow::Result<u8> {
    take_up(&arguments.run, &arguments.attending, open).await
}

/// The newest run, if it was to do the same.
fn newest(attending: &Attending, prompt: &str) -> anyhow::Result<Option<Overview>> {
    let root = attending.workspace.root()?;
    let newest =
        list::runs(&root, attending.workspace.state_dir(), 1).map_err(|why| anyhow!(why))?;
    let newest = newest.into_iter().next().map(|listed| listed.overview);
    Ok(newest.filter(|run| run.prompt.trim() == prompt.trim()))
}

async fn tell_again(run: &RunId, attending: &Attending, open: &Open) -> anyhow::Result<u8> {
    let app = attending.workspace.open(open)?;
    let events = app.events(run.clone(), 0, usize::MAX).await?;
    let mut view = View::default();
    let mut code = 1;
    for record in &events.records {
        say(&told(&mut view, attending, run, record)?)?;
        if let RunEvent::Ended { outcome, summary } = &record.event {
            code = exit::code(&End::Over(*outcome, Box::new(summary.clone())));
        }
    }
    app.park().await;
    Ok(code)
}

fn told(
    view: &mut View,
    attending: &Attending,
    run: &RunId,
    record: &Record,
) -> anyhow::Result<String> {
    if attending.json {
        return json_line(run, record);
    }
    let mut text = view.tell(record);
    if let RunEvent::Ended { outcome, summary } = &record.event {
        text.push_str(&view.closing(*outcome, summary));
    }
    Ok(text)
}

async fn take_up(meant: &str, attending: &Attending, open: &Open) -> anyhow::Result<u8> {
    let app = attending.workspace.open(open)?;
    let mut notices = app.subscribe();
    let run = find_run(&app, meant)?;
    loaded(&app, &run, &mut notices).await?;
    let questions = open_questions(&app, &run).await?;
    let attendant = Attendant::new(app.clone(), run.clone(), notices, attending.telling())?;
    let attendant = attendant.with_past(questions).await?;
    let reply = app.resume(run, BY).await;
    reply
        .context("the workspace is no longer open")?
        .map_err(|refusal| anyhow!(refusal.message))?;
    attend(attendant, attending).await
}

pub async fn answer(arguments: AnswerArguments, open: &Open) -> anyhow::Result<u8> {
    let attending = &arguments.attending;
    let app = attending.workspace.open(open)?;
    let mut notices = app.subscribe();
    let (run, id) = find_question(&attending.workspace, &app, &arguments.question)?;
    // Answered when it is known which runs other processes work on.
    app.look(|_| ())
        .await
        .context("the workspace is no longer open")?;
    let foreign = app.foreign().into_iter().find(|there| there.run == run);
    if let Some(foreign) = foreign {
        let answered = answer_elsewhere(&app, &foreign, id, &arguments).await;
        app.park().await;
        return answered;
    }
    loaded(&app, &run, &mut notices).await?;
    let mut questions = open_questions(&app, &run).await?;
    let at = questions.iter().position(|question| question.id == id);
    let question = at.map(|at| questions.remove(at));
    let question = question.with_context(|| format!("there is no open question {id}"))?;
    let answer = read_answer(&question, &arguments.answer)?;
    let attendant = Attendant::new(app.clone(), run, notices, attending.telling())?;
    let attendant = attendant.with_past(questions).await?;
    let reply = app.answer(id, answer, BY).await;
    reply
        .context("the workspace is no longer open")?
        .map_err(|refusal| anyhow!(refusal.message))?;
    attend(attendant, attending).await
}

/// Another process works on the run: the answer goes there, and the run goes on there.
async fn answer_elsewhere(
    app: &App,
    foreign: &Overview,
    id: QuestionId,
    arguments: &AnswerArguments,
) -> anyhow::Result<u8> {
    let mut open = foreign.open_questions();
    let question = open.find(|question| question.id == id);
    let question = question.with_context(|| format!("there is no open question {id}"))?;
    let answer = read_answer(question, &arguments.answer)?;
    app.answer(id, answer, BY)
        .await
        .context("the workspace is no longer open")?
        .map_err(|refusal| anyhow!(refusal.message))?;
    if !arguments.attending.json {
        let run = &foreign.run;
        say(&format!(
            "answered; run {run} goes on where it is worked on (`outrigger follow {run}`)\n"
        ))?;
    }
    Ok(0)
}

fn read_answer(question: &Question, words: &[String]) -> anyhow::Result<Answer> {
    match ask::read(question, &words.join(" ")) {
        Reading::Answer(answer) => Ok(answer),
        Reading::Again(why) => bail!(
            "{why}:\n{}{}",
            view::describe(question),
            ask::menu(question)
        ),
    }
}

async fn attend(attendant: Attendant, attending: &Attending) -> anyhow::Result<u8> {
    let attendant = if attending.has_a_person() {
        attendant.with_a_person()
    } else {
        attendant
    };
    let end = attendant.attend().await?;
    if let End::Waits(question) = &end
        && !attending.json
    {
        say(&left_with(question))?;
    }
    Ok(exit::code(&end))
}

/// How to go on with a run that waits for an answer.
fn left_with(question: &Question) -> String {
    format!(
        "\nThe run waits for an answer to {}. Answer with what you would type here:\n{}  outrigger answer {} …\n",
        question.id,
        ask::menu(question),
        question.id
    )
}

/// Waits until the app has an unfinished run from its transcript.
async fn loaded(
    app: &App,
    run: &RunId,
    notices: &mut UnboundedReceiver<Notice>,
) -> anyhow::Result<()> {
    let id = run.clone();
    let is_there = app.look(move |state| state.runs.contains_key(&id));
    if is_there.await.context("the workspace is no longer open")? {
        return Ok(());
    }
    ensure!(
        !has_ended(app, run).await?,
        "run {run} has ended; start another one"
    );
    let parked = async {
        while let Some(notice) = notices.recv().await {
            if matches!(notice, Notice::Parked { run: parked } if parked == *run) {
                return true;
            }
        }
        false
    };
    match timeout(LOADING, parked).await {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => {
            bail!("another process works on run {run}; answer or cancel it there")
        }
    }
}

async fn has_ended(app: &App, run: &RunId) -> anyhow::Result<bool> {
    let events = app.events(run.clone(), 0, usize::MAX).await?;
    let last = events.records.last().map(|record| &record.event);
    Ok(matches!(last, Some(RunEvent::Ended { .. })))
}

fn prompt(arguments: &RunArguments) -> anyhow::Result<String> {
    let from_stdin = arguments.prompt == ["-"] || arguments.prompt.is_empty();
    let prompt = if let Some(file) = &arguments.file {
        let unreadable = |error| Usage::new(format!("failed to read {}: {error}", file.display()));
        fs::read_to_string(file).map_err(unreadable)?
    } else if !from_stdin {
        arguments.prompt.join(" ")
    } else if arguments.prompt.is_empty() && io::stdin().is_terminal() {
        String::new()
    } else {
        let mut prompt = String::new();
        io::stdin()
            .read_to_string(&mut prompt)
            .context("failed to read what the run shall do from standard input")?;
        prompt
    };
    if prompt.trim().is_empty() {
        bail!(Usage::new(
            "it is not said what the run shall do; give it in words, with --file, or on standard input"
        ));
    }
    Ok(prompt)
}
