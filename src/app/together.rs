//! Several writes that belong together: all of them are made, or those that were are taken back.

use std::sync::Arc;

use super::{App, write};
use crate::kernel::file::{NewContent, OpenDocument, WriteOrder, WriteOutcome};
use crate::workspace::decode;
use crate::workspace::ledger::{ChangeState, Why};

/// One of the writes.
pub struct Together {
    pub why: Why,
    pub order: WriteOrder,
    pub document: Option<OpenDocument>,
}

/// Makes them one after the other. When one cannot be made, those before it are put back as they were; an outcome that
/// says `Written` is true in any case.
pub async fn write_all(app: &App, writes: &[Together]) -> Vec<WriteOutcome> {
    let mut outcomes: Vec<WriteOutcome> = Vec::new();
    for one in writes {
        let order = one.order.clone();
        let outcome = match one.document.clone() {
            Some(document) => write::in_editor(app, &one.why, order, document).await,
            None => write::recorded_on_disk(app, &one.why, order).await,
        };
        let is_made = matches!(outcome, WriteOutcome::Written { .. });
        outcomes.push(outcome);
        if !is_made {
            break;
        }
    }
    let stopped = outcomes
        .iter()
        .position(|outcome| !matches!(outcome, WriteOutcome::Written { .. }));
    let Some(stopped) = stopped else {
        return outcomes;
    };
    let because = match writes.get(stopped) {
        Some(one) => format!("{} could not be changed", one.order.path),
        None => String::new(),
    };
    for (one, outcome) in writes.iter().zip(&mut outcomes).take(stopped).rev() {
        if take_back(app, one).await {
            *outcome = WriteOutcome::Failed {
                error: format!("it was changed and put back, since {because}"),
            };
        }
    }
    outcomes.resize(
        writes.len(),
        WriteOutcome::Failed {
            error: format!("it was not touched, since {because}"),
        },
    );
    outcomes
}

/// Whether a file is again what it was before its write.
async fn take_back(app: &App, one: &Together) -> bool {
    let (ledger, before) = (Arc::clone(&app.ledger), one.order.expected.clone());
    let content = tokio::task::spawn_blocking(move || {
        let Some(before) = before else {
            return Some(NewContent::Deleted);
        };
        let (text, encoding) = decode(&ledger.snapshot(&before).ok()?).ok()?;
        Some(NewContent::Text {
            text: text.into(),
            encoding,
        })
    });
    let Ok(Some(content)) = content.await else {
        return false;
    };
    let order = WriteOrder {
        path: one.order.path.clone(),
        expected: one.order.content.hash(),
        content,
    };
    let path = order.path.clone();
    let document = app.look(move |state| state.documents.get(&path).cloned());
    let outcome = match document.await.ok().flatten() {
        Some(document) => write::through_editor(app, order, document).await,
        None => write::on_disk(app, order).await,
    };
    if !matches!(outcome, WriteOutcome::Written { .. }) {
        return false;
    }
    let settled = write::with_ledger(app, &one.why, |ledger, why| {
        ledger.settle((&why.run, why.change), ChangeState::NotMade, why.at)
    });
    if let Err(error) = settled.await {
        tracing::warn!(path = %one.order.path, "failed to {error}");
    }
    true
}
