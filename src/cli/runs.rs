//! `outrigger runs` and `outrigger questions`: what is there, without working on any of it.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;
use serde_json::{Value, json};

use super::ask;
use super::output::say;
use super::view;
use super::words::{ASKS, BAD, DIM, GOOD, NAME, clean, headline, styled};
use super::workspace::WorkspaceArguments;
use crate::app::list::{self, Listed};
use crate::kernel::question::Question;
use crate::kernel::run::RunStatus;

/// Characters of what a run shall do.
const PROMPT: usize = 60;

/// List the runs of this workspace, newest first.
///
/// Examples:
///   outrigger runs
///   outrigger runs --most 5 --json | jq -r '.[].runId'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct RunsArguments {
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 30)]
    most: u32,
    /// As a JSON array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

/// List the questions that wait for an answer, of whichever process asked them; some may also be answered by writing into
/// a file (`answerFile`).
///
/// Examples:
///   outrigger questions
///   outrigger questions --json | jq -r '.[].id'
///   outrigger answer r0mx3vdek9hzu1.q2 1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct QuestionsArguments {
    /// As a JSON array, as editors get them.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

pub fn runs(arguments: &RunsArguments) -> anyhow::Result<u8> {
    let listed = listed(&arguments.workspace, arguments.most)?;
    let text = if arguments.json {
        let all: Vec<Value> = listed.iter().map(as_json).collect();
        format!("{:#}\n", Value::Array(all))
    } else if listed.is_empty() {
        "there is no run yet in this workspace; `outrigger run \"…\"` starts one\n".to_owned()
    } else {
        listed.iter().map(as_line).collect()
    };
    say(&text).context("failed to write to standard output")?;
    Ok(0)
}

pub fn questions(arguments: &QuestionsArguments) -> anyhow::Result<u8> {
    let listed = listed(&arguments.workspace, u32::MAX)?;
    let asked: Vec<_> = listed.into_iter().flat_map(|run| run.asked).collect();
    let text = if arguments.json {
        let all: Vec<Value> = asked.iter().map(question_as_json).collect();
        format!("{:#}\n", Value::Array(all))
    } else if asked.is_empty() {
        "no question is open\n".to_owned()
    } else {
        asked.iter().map(question_as_text).collect()
    };
    say(&text).context("failed to write to standard output")?;
    Ok(0)
}

type Asked = (Question, Option<PathBuf>);

fn question_as_json((question, file): &Asked) -> Value {
    let mut value = json!(question);
    if let (Some(fields), Some(file)) = (value.as_object_mut(), file) {
        fields.insert("answerFile".to_owned(), json!(file));
    }
    value
}

fn question_as_text((question, file): &Asked) -> String {
    let mut text = format!(
        "{}\n{}{}  outrigger answer {} …\n",
        styled(ASKS, &question.id),
        view::describe(question),
        ask::menu(question),
        question.id
    );
    // It is there while an editor that shows no questions of its own is attached.
    if let Some(file) = file.as_ref().filter(|file| file.exists()) {
        text.push_str(&format!("  or write into {} and save\n", file.display()));
    }
    text.push('\n');
    text
}

fn listed(workspace: &WorkspaceArguments, most: u32) -> anyhow::Result<Vec<Listed>> {
    let root = workspace.root()?;
    list::runs(&root, workspace.state_dir(), most).map_err(|why| anyhow!(why))
}

/// What a run is now. One that nobody works on and that has not ended was interrupted.
fn status(run: &Listed) -> RunStatus {
    if run.overview.end.is_none() && !run.at_work {
        RunStatus::Interrupted
    } else {
        run.overview.status
    }
}

fn as_json(run: &Listed) -> Value {
    let overview = &run.overview;
    let open: Vec<_> = run.asked.iter().map(|(question, _)| &question.id).collect();
    json!({
        "runId": overview.run,
        "status": status(run),
        "prompt": overview.prompt,
        "model": overview.model,
        "startedAt": overview.started_at,
        "changedAt": overview.changed_at,
        "atWork": run.at_work,
        "waiting": overview.waiting.as_ref().filter(|_| run.at_work),
        "changes": overview.changes,
        "usage": overview.usage,
        "openQuestions": open,
        "outcome": overview.end.as_ref().map(|(outcome, _)| outcome),
    })
}

fn as_line(run: &Listed) -> String {
    let status = status(run);
    let word = format!("{:11}", word(status));
    let style = match status {
        RunStatus::Succeeded => GOOD,
        RunStatus::Failed | RunStatus::Cancelled | RunStatus::Interrupted => BAD,
        RunStatus::Waiting => ASKS,
        RunStatus::Queued | RunStatus::Planning | RunStatus::Executing | RunStatus::Verifying => {
            NAME
        }
    };
    let mut line = format!(
        "{}  {}  {}\n",
        run.overview.run,
        styled(style, word),
        headline(&run.overview.prompt, PROMPT)
    );
    if status == RunStatus::Interrupted {
        let hint = format!("    outrigger resume {}\n", run.overview.run);
        line.push_str(&styled(DIM, hint));
    } else if let Some(waiting) = run.overview.waiting.as_ref().filter(|_| run.at_work) {
        let hint = format!("    waits for {}\n", clean(&waiting.detail));
        line.push_str(&styled(DIM, hint));
    }
    line
}

fn word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Queued => "queued",
        RunStatus::Planning => "planning",
        RunStatus::Executing => "executing",
        RunStatus::Verifying => "verifying",
        RunStatus::Waiting => "waiting",
        RunStatus::Succeeded => "succeeded",
        RunStatus::Failed => "failed",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
    }
}
