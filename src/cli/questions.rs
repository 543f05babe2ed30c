//! `outrigger questions`: what runs ask, those of an editor's sidecar included, and where each can be answered.

use std::collections::BTreeMap;

use anyhow::Context;
use clap::Args;

use super::output::say;
use super::words::{DIM, NAME, clean, headline, styled};
use super::workspace::{Open, WorkspaceArguments, run_names};
use crate::app::App;
use crate::kernel::event::RunEvent;
use crate::kernel::ids::{QuestionId, RunId};
use crate::kernel::question::Question;

/// Runs that are looked at, newest first: what is open is seldom older.
const RUNS: usize = 200;

/// Records that are read at once.
const PAGE: usize = 1000;

/// Letters of a title.
const TITLE: usize = 200;

/// List the open questions, and the file by which each can be answered: write into it and save.
///
/// Examples:
///   outrigger questions
///   outrigger questions --json | jq -r '.[].answerFile'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// One array, as editors get it, each question with its `answerFile`.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

pub async fn questions(arguments: &Arguments, open: &Open) -> anyhow::Result<u8> {
    let app = arguments.workspace.open(open)?;
    let mut asked = Vec::new();
    for run in run_names(&app).into_iter().rev().take(RUNS) {
        asked.extend(open_questions(&app, &RunId::new(run)).await?);
    }
    let text = if arguments.json {
        as_json(&app, &asked)? + "\n"
    } else {
        as_text(&app, &asked)
    };
    say(&text).context("failed to write to standard output")?;
    app.park().await;
    Ok(0)
}

/// Read from the transcript: another process may own the run.
async fn open_questions(app: &App, run: &RunId) -> anyhow::Result<Vec<Question>> {
    let mut asked: BTreeMap<QuestionId, Question> = BTreeMap::new();
    let mut after = 0;
    loop {
        let page = app.events(run.clone(), after, PAGE).await?;
        for record in &page.records {
            after = record.seq;
            match &record.event {
                RunEvent::QuestionOpened { question } => {
                    asked.insert(question.id.clone(), question.clone());
                }
                RunEvent::QuestionAnswered { question, .. }
                | RunEvent::QuestionWithdrawn { question, .. } => {
                    asked.remove(question);
                }
                RunEvent::Ended { .. } => asked.clear(),
                _ => {}
            }
        }
        if !page.more || page.records.is_empty() {
            return Ok(asked.into_values().collect());
        }
    }
}

fn as_json(app: &App, asked: &[Question]) -> anyhow::Result<String> {
    let mut list = Vec::new();
    for question in asked {
        let mut value = serde_json::to_value(question)?;
        if let (Some(fields), Some(file)) = (value.as_object_mut(), app.answer_file(&question.id)) {
            let file = file.display().to_string();
            fields.insert("answerFile".to_owned(), file.into());
        }
        list.push(value);
    }
    Ok(serde_json::to_string_pretty(&list)?)
}

fn as_text(app: &App, asked: &[Question]) -> String {
    if asked.is_empty() {
        return "no question is open\n".to_owned();
    }
    let mut text = String::new();
    for question in asked {
        let id = styled(NAME, &question.id);
        text.push_str(&format!("{id}  {}\n", headline(&question.title, TITLE)));
        for line in question.detail.lines().take(10) {
            text.push_str(&format!("    {}\n", styled(DIM, clean(line))));
        }
        for choice in &question.choices {
            text.push_str(&format!("  - {}\n", clean(&choice.label)));
        }
        // It is there while an editor that shows no questions of its own is attached.
        let file = app.answer_file(&question.id).filter(|file| file.exists());
        match file {
            Some(file) => text.push_str(&format!("  write into {} and save\n", file.display())),
            None => text.push_str(&format!("  outrigger answer {} …\n", question.id)),
        }
    }
    text
}
