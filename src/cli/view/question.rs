//! Questions and answers in words, overwrites as coloured diffs.

use super::super::words::{ADDED, BOLD, DIM, NAME, REMOVED, clean, styled};
use super::{Answer, Question};
use crate::kernel::question::{Hunk, Overwrite, QuestionKind};

/// Lines of one hunk that are shown of each side.
const HUNK_LINES: usize = 30;

/// What is asked, with all that is needed to answer it.
pub fn describe(question: &Question) -> String {
    let mut text = format!("{}\n", styled(BOLD, clean(question.title.trim())));
    if let QuestionKind::Overwrite(overwrite) = &question.kind {
        text.push_str(&diff(overwrite));
        return text;
    }
    if let QuestionKind::Command { command, cwd } = &question.kind {
        text.push_str(&format!("$ {}\n", clean(command)));
        if let Some(cwd) = cwd {
            text.push_str(&format!("in {}\n", clean(cwd.as_str())));
        }
    }
    text.push_str(&detail(question));
    if let Some(place) = &question.place {
        let line = place.range.start.line + 1;
        let at = format!("at {}:{line}", clean(place.path.as_str()));
        text.push_str(&format!("{}\n", styled(DIM, at)));
    }
    for choice in &question.choices {
        let label = format!("○ {}", clean(&choice.label));
        text.push_str(&format!("{}\n", styled(DIM, label)));
    }
    text
}

fn detail(question: &Question) -> String {
    let detail = question.detail.trim_end();
    if detail.is_empty() {
        String::new()
    } else {
        format!("{}\n", clean(detail))
    }
}

fn diff(overwrite: &Overwrite) -> String {
    let mut text = String::new();
    for hunk in &overwrite.hunks {
        text.push_str(&hunk_lines(hunk, overwrite.hunks.len()));
    }
    if overwrite.proposed.is_none() {
        text.push_str(&styled(REMOVED, "the file is deleted"));
        text.push('\n');
    }
    text
}

fn hunk_lines(hunk: &Hunk, total: usize) -> String {
    let mut text = format!(
        "{}\n",
        styled(
            NAME,
            format!(
                "@@ change {} of {total}, line {} @@",
                hunk.id + 1,
                hunk.old_start + 1
            )
        )
    );
    for (sign, style, lines) in [('-', REMOVED, &hunk.removed), ('+', ADDED, &hunk.added)] {
        for line in lines.iter().take(HUNK_LINES) {
            let line = line.trim_end_matches(['\r', '\n']);
            text.push_str(&styled(style, format!("{sign}{}", clean(line))));
            text.push('\n');
        }
        if lines.len() > HUNK_LINES {
            text.push_str(&styled(
                DIM,
                format!("{sign} … and {} more lines", lines.len() - HUNK_LINES),
            ));
            text.push('\n');
        }
    }
    text
}

/// An answer as a person would say it.
pub fn answer_in_words(question: Option<&Question>, answer: &Answer) -> String {
    match answer {
        Answer::TakeAll => "take the agent's version".to_owned(),
        Answer::TakeHunks { hunks } => {
            let numbers: Vec<String> = hunks.iter().map(|id| (id + 1).to_string()).collect();
            let word = if hunks.len() == 1 {
                "change"
            } else {
                "changes"
            };
            format!("take {word} {} only", numbers.join(", "))
        }
        Answer::TakeText { .. } => "take an edited version".to_owned(),
        Answer::KeepMine { reason: None } => "keep mine".to_owned(),
        Answer::KeepMine {
            reason: Some(reason),
        } => format!("keep mine: {}", clean(reason)),
        Answer::Choice { choice } => {
            let offered = question.and_then(|question| {
                question
                    .choices
                    .iter()
                    .find(|offered| offered.id == *choice)
            });
            clean(offered.map_or(choice, |offered| &offered.label)).into_owned()
        }
        Answer::Text { text } => clean(text).into_owned(),
        Answer::StopRun => "stop the run".to_owned(),
    }
}
