//! Answers: the demo's own, or the person's.

use std::io::{IsTerminal, Write};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::{Session, Who};
use crate::cli::ask::{self, Reading};
use crate::cli::demo::sample;
use crate::cli::output::say;
use crate::cli::words::clean;
use crate::kernel::question::{Answer, Question, QuestionKind};
use crate::protocol::document::{ReadParams, ReadResult};
use crate::protocol::method;
use crate::protocol::question::AnswerParams;

impl Session {
    pub(super) fn settle(&mut self, question: &Question) -> anyhow::Result<()> {
        if let QuestionKind::Overwrite(overwrite) = &question.kind {
            let current: ReadResult = self.call(
                method::DOCUMENT_READ,
                &ReadParams {
                    uri: format!("outrigger:/question/{}/current", question.id),
                },
            )?;
            let ours = self
                .editor
                .text(&self.project.join(overwrite.path.as_str()));
            ensure!(
                ours.as_deref() == Some(current.text.as_str()),
                "the question about {} does not show what is in the editor",
                overwrite.path
            );
        }
        let (answer, by) = match self.who {
            Who::Demo => (automatic(question)?, "the demo"),
            Who::Person => (self.ask(question)?, "you"),
        };
        self.kept_readme |= matches!(answer, Answer::KeepMine { .. });
        let params = AnswerParams {
            question_id: question.id.clone(),
            answer,
            by: Some(by.to_owned()),
        };
        self.call::<_, Value>(method::QUESTION_ANSWER, &params)?;
        Ok(())
    }

    /// Asks the person until there is an answer.
    fn ask(&mut self, question: &Question) -> anyhow::Result<Answer> {
        say(&ask::menu(question))?;
        loop {
            prompt()?;
            while self.typed.is_empty() {
                self.step(None)?;
            }
            let Some(Some(line)) = self.typed.pop_front() else {
                bail!(
                    "no answer came: standard input has ended; without --interactive the demo answers by itself"
                );
            };
            if !std::io::stdin().is_terminal() {
                // Nobody else shows what was typed.
                say(&format!("{}\n", clean(&line)))?;
            }
            match ask::read(question, &line) {
                Reading::Answer(answer) => return Ok(answer),
                Reading::Again(why) => say(&format!("  {why}\n"))?,
            }
        }
    }
}

/// The demo's own answers: the new row of the README and not the line over the one being typed; hours are enough.
fn automatic(question: &Question) -> anyhow::Result<Answer> {
    match &question.kind {
        QuestionKind::Overwrite(overwrite) => {
            let keeps_typed_line =
                |removed: &[String]| !removed.iter().any(|line| line == sample::TYPED_README);
            let hunks: Vec<u32> = overwrite
                .hunks
                .iter()
                .filter(|hunk| keeps_typed_line(&hunk.removed))
                .map(|hunk| hunk.id)
                .collect();
            ensure!(
                overwrite.hunks.len() == 2 && hunks.len() == 1,
                "the question about {} has {} changes, of which {} leave the typed line alone; there should be 2 and 1",
                overwrite.path,
                overwrite.hunks.len(),
                hunks.len()
            );
            Ok(Answer::TakeHunks { hunks })
        }
        QuestionKind::Blocker { .. } => question
            .choices
            .iter()
            .find(|choice| choice.label.starts_with("No"))
            .map(|choice| Answer::Choice {
                choice: choice.id.clone(),
            })
            .with_context(|| {
                format!(
                    "the demo has no answer to `{}`: {}",
                    question.title, question.detail
                )
            }),
        _ => {
            bail!("the demo did not expect the question `{}`", question.title)
        }
    }
}

fn prompt() -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    write!(out, "  > ")?;
    out.flush()?;
    Ok(())
}
