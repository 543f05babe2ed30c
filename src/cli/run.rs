//! `outrigger run`, `outrigger resume`, `outrigger answer`: a run from the terminal, a script or CI.
//!
//! With a terminal its questions are asked there. Without one, conflicts follow the policy, and any other question is
//! where the run is left: it can be answered and goes on then. What that came to is in the exit code.

mod exit;

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use super::ask::{self, Reading};
use super::attend::{Attendant, BY, End, Telling, open_questions};
use super::output::say;
use super::view;
use super::workspace::{Open, WorkspaceArguments, find_run};
use crate::app::{App, Notice, Overview, RunWish};
use crate::kernel::effect::Reply;
use crate::kernel::event::RunEvent;
use crate::kernel::ids::{QuestionId, RunId, TaskId};
use crate::kernel::question::{Answer, Question};

/// How long an unfinished run may take to be read from its transcript.
const LOADING: Duration = Duration::from_secs(20);

/// Start a run and attend it to its end.
///
/// Examples:
///   outrigger run "make the parser's error say which line is wrong"
///   outrigger run --file task.md --json > events.jsonl
///   git log -1 --format=%B | outrigger run --commands allow -
///   outrigger run --task t3
///
/// Exit codes: 0 succeeded, 1 failed, 2 usage, 3 waits for an answer, 4 budget, 5 succeeded but nothing could
/// verify it, 6 the model cannot be reached, 130 cancelled.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RunArguments {
    /// What the run shall do; `-` reads it from standard input.
    #[arg(required_unless_present_any = ["file", "task"])]
    prompt: Vec<String>,
    /// Do what this task says, with its settings (see `outrigger task`).
    #[arg(long, value_name = "TASK", conflicts_with_all = ["prompt", "file"])]
    task: Option<String>,
    /// Read what the run shall do from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    file: Option<PathBuf>,
    /// `provider/model`, `scripted:FILE` or `replay:TRANSCRIPT` [default: the configured model].
    #[arg(long)]
    model: Option<String>,
    /// The model that takes over when the first cannot be reached.
    #[arg(long)]
    fallback_model: Option<String>,
    /// How the run thinks.
    #[arg(long)]
    engine: Option<Engine>,
    /// Which plans of the engine `plan` are shown to you first [default: large ones in a terminal, else never].
    #[arg(long, value_name = "POLICY")]
    review: Option<Review>,
    /// What happens when a change meets content that the agent has not read [default: ask in a terminal, else edit].
    #[arg(long, value_name = "POLICY")]
    conflict: Option<Conflict>,
    /// What happens when the agent's change and another one do not overlap.
    #[arg(long, value_name = "POLICY")]
    merge: Option<Merge>,
    /// Whether the agent may run commands.
    #[arg(long, value_name = "POLICY")]
    commands: Option<Commands>,
    /// Seconds of work after which the run asks whether to go on.
    #[arg(long, value_name = "SECONDS")]
    max_seconds: Option<u64>,
    /// Tokens after which the run asks whether to go on.
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,
    /// US dollars that the run may cost before it asks whether to go on; models without a known price count as nothing.
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<f64>,
    /// Turns of the model after which the run asks whether to go on.
    #[arg(long, value_name = "TURNS")]
    max_turns: Option<u32>,
    /// Seconds without a sign of life after which what hangs is stopped; 0: never.
    #[arg(long, value_name = "SECONDS")]
    stall_timeout: Option<u64>,
    /// What happens then.
    #[arg(long, value_name = "ACTION")]
    stall_action: Option<StallAction>,
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
///   outrigger answer r0mx3vdek9hzu1.q1 k I am not done with this file
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct AnswerArguments {
    /// The question's id.
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

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Engine {
    /// A tool-use loop.
    React,
    /// A plan first, then its steps.
    Plan,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Review {
    Always,
    /// Those of more than six steps, and those that delete files.
    Large,
    Never,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StallAction {
    /// What hung is done once more; the second time the run fails.
    Retry,
    /// A human is asked.
    Blocker,
    /// The run fails.
    Fail,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Conflict {
    /// A human decides, over a diff.
    Ask,
    /// The agent is shown what is there and edits that.
    Edit,
    /// The proposal wins over what is on disk.
    Overwrite,
    /// The tool call fails.
    Fail,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Merge {
    Auto,
    Ask,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Commands {
    Ask,
    Allow,
    Deny,
}

pub async fn run(arguments: RunArguments, open: &Open) -> anyhow::Result<u8> {
    let attending = &arguments.attending;
    let prompt = match &arguments.task {
        Some(_) => String::new(),
        None => prompt(&arguments)?,
    };
    let app = attending.workspace.open(open)?;
    if let Some(file) = &arguments.record {
        // Relative to where it was said, not to the workspace.
        let file = std::path::absolute(file)
            .with_context(|| format!("failed to find {}", file.display()))?;
        app.record_models_to(file);
    }
    let wish = match &arguments.task {
        Some(task) => {
            let (id, call) = (TaskId::new(task), call(&arguments));
            app.with_tasks(move |tasks| tasks.take(&id, call, BY))
                .await?
        }
        None => RunWish {
            prompt,
            call: call(&arguments),
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
    let spec = app.spec(wish, attended).await?;
    let reply = app.start_run(spec).await;
    let reply = reply.context("the workspace is no longer open")?;
    match reply.map_err(|refusal| anyhow!(refusal.message))? {
        Reply::Started { run } => Ok(run),
        _ => bail!("the run was not started"),
    }
}

pub async fn resume(arguments: ResumeArguments, open: &Open) -> anyhow::Result<u8> {
    let attending = &arguments.attending;
    let app = attending.workspace.open(open)?;
    let mut notices = app.subscribe();
    let run = find_run(&app, &arguments.run)?;
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
    let (run, _) = arguments
        .question
        .rsplit_once(".q")
        .with_context(|| format!("`{}` is no question's id", arguments.question))?;
    let run = find_run(&app, run)?;
    // Answered when it is known which runs other processes work on.
    app.look(|_| ())
        .await
        .context("the workspace is no longer open")?;
    let foreign = app.foreign().into_iter().find(|there| there.run == run);
    if let Some(foreign) = foreign {
        let answered = answer_elsewhere(&app, &foreign, &arguments).await;
        app.park().await;
        return answered;
    }
    loaded(&app, &run, &mut notices).await?;
    let mut questions = open_questions(&app, &run).await?;
    let id = QuestionId::new(&arguments.question);
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
    arguments: &AnswerArguments,
) -> anyhow::Result<u8> {
    let id = QuestionId::new(&arguments.question);
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
    if let Some(file) = &arguments.file {
        return fs::read_to_string(file)
            .with_context(|| format!("failed to read {}", file.display()));
    }
    if arguments.prompt == ["-"] {
        let mut prompt = String::new();
        io::stdin()
            .read_to_string(&mut prompt)
            .context("failed to read what the run shall do from standard input")?;
        return Ok(prompt);
    }
    Ok(arguments.prompt.join(" "))
}

/// What the flags say, in the shape of the settings.
fn call(arguments: &RunArguments) -> Value {
    let word = |value: Option<PossibleValue>| value.map(|value| value.get_name().to_owned());
    json!({
        "model": arguments.model,
        "fallbackModel": arguments.fallback_model,
        "engine": word(arguments.engine.and_then(|value| value.to_possible_value())),
        "policy": {
            "conflict": word(arguments.conflict.and_then(|value| value.to_possible_value())),
            "merge": word(arguments.merge.and_then(|value| value.to_possible_value())),
            "commands": word(arguments.commands.and_then(|value| value.to_possible_value())),
            "review": word(arguments.review.and_then(|value| value.to_possible_value())),
        },
        "budget": {
            "activeS": arguments.max_seconds,
            "tokens": arguments.max_tokens,
            "iterations": arguments.max_turns,
            "cost": arguments.max_cost,
        },
        "stall": {
            "timeoutS": arguments.stall_timeout,
            "action": word(arguments.stall_action.and_then(|value| value.to_possible_value())),
        },
    })
}
