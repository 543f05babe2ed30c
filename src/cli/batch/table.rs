//! A batch as people and scripts read it.

use serde_json::{Value, json};

use super::board::{Standing, waits_for};
use super::record::{Batch, Task};
use crate::cli::words::{
    ASKS, BAD, BOLD, DIM, GOOD, NAME, cost, grouped, headline, seconds, styled,
};
use crate::kernel::conversation::Cost;

const TITLE: usize = 40;
const WORDS: usize = 100;

/// One line for each task, and a second one where there is something to do or to know.
pub fn as_text(batch: &Batch) -> String {
    let mut text = format!(
        "{}\n",
        styled(BOLD, format!("Batch {}: {}", batch.id, counts(batch)))
    );
    let widest = batch
        .tasks
        .iter()
        .map(|task| headline(&task.title, TITLE).chars().count());
    let width = widest.max().unwrap_or(0);
    for (at, task) in batch.tasks.iter().enumerate() {
        text.push_str(&row(batch, at, task, width));
    }
    text
}

fn counts(batch: &Batch) -> String {
    let mut words = vec![match batch.tasks.len() {
        1 => "1 task".to_owned(),
        count => format!("{count} tasks"),
    }];
    for standing in [
        Standing::Succeeded,
        Standing::Unverified,
        Standing::Blocked,
        Standing::Failed,
        Standing::Interrupted,
        Standing::Cancelled,
        Standing::Running,
        Standing::Queued,
    ] {
        let count = batch
            .tasks
            .iter()
            .filter(|task| task.place.standing == standing)
            .count();
        if count > 0 {
            words.push(format!("{count} {}", standing.word()));
        }
    }
    words.join(", ")
}

fn row(batch: &Batch, at: usize, task: &Task, width: usize) -> String {
    let standing = task.place.standing;
    let style = match standing {
        Standing::Succeeded => GOOD,
        Standing::Unverified | Standing::Blocked => ASKS,
        Standing::Failed | Standing::Interrupted | Standing::Cancelled => BAD,
        Standing::Running => NAME,
        Standing::Queued => DIM,
    };
    let mut about = Vec::new();
    if standing.is_done() {
        about.push(match task.files {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        });
        about.push(seconds(task.active_ms));
    }
    if task.tokens > 0 {
        about.push(format!("{} tokens", grouped(task.tokens)));
    }
    let spent = Cost {
        micros: task.cost_micros,
        unpriced_tokens: 0,
    };
    about.extend(cost(spent));
    if task.place.attempts > 1 {
        about.push(format!("attempt {}", task.place.attempts));
    }
    if task.accepted {
        about.push("accepted".to_owned());
    } else if let Some(branch) = task.branch.as_ref().filter(|_| standing.is_done()) {
        about.push(branch.clone());
    }
    let title = headline(&task.title, TITLE);
    let mut text = format!(
        "{:>4}  {}  {title:width$}  {}\n",
        task.id,
        styled(style, format!("{:11}", standing.word())),
        styled(DIM, about.join(", "))
    );
    let more = match standing {
        Standing::Blocked => format!(
            "{}\n      outrigger batch answer {} --batch {} …",
            headline(&task.words, WORDS),
            task.id,
            batch.id
        ),
        Standing::Failed | Standing::Interrupted | Standing::Cancelled => {
            headline(&task.words, WORDS)
        }
        Standing::Queued => waits_for(&batch.places(), at).map_or_else(String::new, |other| {
            format!("needs task {}", batch.tasks[other].id)
        }),
        Standing::Running | Standing::Succeeded | Standing::Unverified => String::new(),
    };
    if !more.is_empty() {
        text.push_str(&styled(DIM, format!("      {more}\n")));
    }
    text
}

/// For scripts.
pub fn as_json(batch: &Batch) -> Value {
    let tasks: Vec<Value> = batch
        .tasks
        .iter()
        .map(|task| {
            let needs: Vec<&str> = task
                .place
                .after
                .iter()
                .filter_map(|at| Some(batch.tasks.get(*at)?.id.as_str()))
                .collect();
            json!({
                "task": task.id,
                "title": task.title,
                "outcome": task.place.standing,
                "after": needs,
                "attempts": task.place.attempts,
                "runId": task.run,
                "words": task.words,
                "files": task.files,
                "activeMs": task.active_ms,
                "tokens": task.tokens,
                "costMicros": task.cost_micros,
                "base": task.base,
                "branch": task.branch,
                "accepted": task.accepted,
            })
        })
        .collect();
    json!({ "batch": batch.id, "startedAt": batch.started_at, "tasks": tasks })
}
