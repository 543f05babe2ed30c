//! Writes: through the editor when the document is open there, else on disk.
//!
//! Afterwards the disk holds the document's text, so that gates see it: saved by the editor if it can be asked to, else
//! written by us.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{App, EditOrder, EditReply, Saving};
use crate::kernel::diff::minimal_edits;
use crate::kernel::file::{
    NewContent, OpenDocument, Overlay, WriteOrder, WriteOutcome, WrittenThrough,
};
use crate::kernel::hash::ContentHash;
use crate::workspace::Workspace;
use crate::workspace::ledger::{ChangeState, Contents, Ledger, LedgerError, Why};

/// How long an editor may take to apply an edit and save. A modal dialog can hold it up; then the file is looked at.
const EDITOR_TIME: Duration = Duration::from_secs(20);

/// Through the editor, in the ledger before it is made. The write happens only if the document's text is what the order
/// expects.
pub async fn in_editor(
    app: &App,
    why: &Why,
    order: WriteOrder,
    document: OpenDocument,
) -> WriteOutcome {
    let NewContent::Text { text, encoding } = order.content.clone() else {
        return recorded_on_disk(app, why, order).await;
    };
    let before = encoding.encode(&document.text.to_string());
    if order.expected.as_ref() != Some(&ContentHash::of(&before)) {
        // A document without unsaved text whose file is newer: the disk is the truth, and the editor reads it again.
        return if document.dirty {
            WriteOutcome::Changed
        } else {
            recorded_on_disk(app, why, order).await
        };
    }
    let after = encoding.encode(&text);
    if before == after {
        return through_editor(app, order, document).await;
    }
    let intent = (order.path.clone(), before, after);
    let begun = with_ledger(app, why, move |ledger, why| {
        let (path, before, after) = intent;
        let contents = Contents {
            before: Some(&before),
            after: Some(&after),
        };
        ledger.begin(&path, contents, why)
    });
    if let Err(error) = begun.await {
        return WriteOutcome::Failed {
            error: format!("failed to {error}"),
        };
    }
    let outcome = through_editor(app, order, document).await;
    let state = match &outcome {
        WriteOutcome::Written { .. } => ChangeState::Made,
        WriteOutcome::Changed | WriteOutcome::Failed { .. } => ChangeState::NotMade,
        // Left open: whoever looks at the file settles it.
        WriteOutcome::Unknown { .. } => return outcome,
    };
    let settled = with_ledger(app, why, move |ledger, why| {
        ledger.settle((&why.run, why.change), state, why.at)
    });
    if let Err(error) = settled.await {
        tracing::warn!("failed to {error}");
    }
    outcome
}

/// The ledger waits for the disk, so it is asked where that holds up nobody. The error completes "failed to ".
pub(super) async fn with_ledger(
    app: &App,
    why: &Why,
    act: impl FnOnce(&Ledger, &Why) -> Result<(), LedgerError> + Send + 'static,
) -> Result<(), String> {
    let (ledger, why) = (Arc::clone(&app.ledger), why.clone());
    match tokio::task::spawn_blocking(move || act(&ledger, &why)).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(format!("use the ledger: {error}")),
    }
}

pub(super) async fn through_editor(
    app: &App,
    order: WriteOrder,
    document: OpenDocument,
) -> WriteOutcome {
    let NewContent::Text { text, encoding } = order.content.clone() else {
        return WriteOutcome::Changed;
    };
    let old = document.text.to_string();
    let before = ContentHash::of(&encoding.encode(&old));
    let after = order.content.hash();
    // The disk must still be this when the editor could not save and we write the same bytes.
    let disk = look_at_disk(&app.workspace, &order).await;
    let (reply, replied) = oneshot::channel();
    let arrived = app.await_text(order.path.clone(), Arc::clone(&text));
    let version = document.version;
    let edit = EditOrder {
        label: format!("Outrigger: change {}", order.path),
        path: order.path.clone(),
        edits: minimal_edits(&old, &text),
        document,
        reply,
        arrived,
    };
    if !app.edit(edit).await {
        return WriteOutcome::Failed {
            error: "the document is open, but no editor is connected any more; try again"
                .to_owned(),
        };
    }
    let written = |through| WriteOutcome::Written {
        before: Some(before.clone()),
        after: after.clone(),
        through,
    };
    match timeout(EDITOR_TIME, replied).await {
        Err(_) => WriteOutcome::Unknown {
            error: format!(
                "the editor did not answer within {} s",
                EDITOR_TIME.as_secs()
            ),
        },
        Ok(Err(_)) => WriteOutcome::Unknown {
            error: "the editor went away".to_owned(),
        },
        Ok(Ok(EditReply::Refused { reason })) => {
            tracing::info!(path = %order.path, reason, "the editor refused an edit");
            if has_moved_on(app, &order, version).await {
                WriteOutcome::Changed
            } else {
                WriteOutcome::Failed { error: format!("the editor did not apply the edit: {reason}") }
            }
        }
        Ok(Ok(EditReply::Unproved)) => WriteOutcome::Changed,
        // Nothing is lost where the document is what is on disk: the editor reads it again.
        Ok(Ok(EditReply::Unable)) if disk.as_ref() == Some(&before) => on_disk(app, order).await,
        Ok(Ok(EditReply::Unable)) => WriteOutcome::Failed {
            error: "it has unsaved text in an editor that takes no edits from us; it must be saved there first".to_owned(),
        },
        Ok(Ok(EditReply::Applied(Saving::Saved))) => written(WrittenThrough::EditorSaved),
        Ok(Ok(EditReply::Applied(saving))) => {
            if let Saving::Failed { reason } = saving {
                tracing::warn!(path = %order.path, reason, "the editor could not save");
            }
            let order = WriteOrder {
                expected: disk,
                ..order
            };
            match on_disk(app, order).await {
                WriteOutcome::Written { .. } => written(WrittenThrough::EditorAndDisk),
                other => {
                    tracing::warn!(?other, "the edited document is not on disk");
                    written(WrittenThrough::EditorUnsaved)
                }
            }
        }
    }
}

/// Whether the document is no longer the one that the edit was made for.
async fn has_moved_on(app: &App, order: &WriteOrder, version: i32) -> bool {
    let path = order.path.clone();
    let now = app.look(move |state| state.documents.get(&path).map(|document| document.version));
    now.await.ok().flatten() != Some(version)
}

/// On disk, in the ledger before it is made: old or new, never half.
pub async fn recorded_on_disk(app: &App, why: &Why, order: WriteOrder) -> WriteOutcome {
    let (app, why) = (app.clone(), why.clone());
    blocking(move || app.workspace.write_recorded(&order, &app.ledger, &why)).await
}

/// The bytes of a change that is in the ledger already.
pub(super) async fn on_disk(app: &App, order: WriteOrder) -> WriteOutcome {
    let workspace = Arc::clone(&app.workspace);
    blocking(move || workspace.write(&order)).await
}

async fn blocking(write: impl FnOnce() -> WriteOutcome + Send + 'static) -> WriteOutcome {
    let done = tokio::task::spawn_blocking(write).await;
    done.unwrap_or_else(|error| WriteOutcome::Unknown {
        error: error.to_string(),
    })
}

async fn look_at_disk(workspace: &Arc<Workspace>, order: &WriteOrder) -> Option<ContentHash> {
    let (workspace, path) = (Arc::clone(workspace), order.path.clone());
    let now =
        tokio::task::spawn_blocking(move || workspace.inspect(&path, &Overlay::default())).await;
    now.ok().and_then(|now| now.hash().cloned())
}
