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

/// How long an editor may take to apply an edit and save. A modal dialog can hold it up; then the file is looked at.
const EDITOR_TIME: Duration = Duration::from_secs(20);

/// Through the editor. The write happens only if the document's text is what the order expects.
pub async fn in_editor(
    app: &App,
    workspace: &Arc<Workspace>,
    order: WriteOrder,
    document: OpenDocument,
) -> WriteOutcome {
    let NewContent::Text { text, encoding } = order.content.clone() else {
        return on_disk(workspace, order).await;
    };
    let old = document.text.to_string();
    let before = ContentHash::of(&encoding.encode(&old));
    if order.expected.as_ref() != Some(&before) {
        // A document without unsaved text whose file is newer: the disk is the truth, and the editor reads it again.
        return if document.dirty {
            WriteOutcome::Changed
        } else {
            on_disk(workspace, order).await
        };
    }
    let after = order.content.hash();
    // The disk must still be this when the editor could not save and we write the same bytes.
    let disk = look_at_disk(workspace, &order).await;
    let (reply, replied) = oneshot::channel();
    let arrived = app.await_text(order.path.clone(), Arc::clone(&text));
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
            WriteOutcome::Changed
        }
        Ok(Ok(EditReply::Applied(Saving::Saved))) => written(WrittenThrough::EditorSaved),
        Ok(Ok(EditReply::Applied(saving))) => {
            if let Saving::Failed { reason } = saving {
                tracing::warn!(path = %order.path, reason, "the editor could not save");
            }
            let order = WriteOrder {
                expected: disk,
                ..order
            };
            match on_disk(workspace, order).await {
                WriteOutcome::Written { .. } => written(WrittenThrough::EditorAndDisk),
                other => {
                    tracing::warn!(?other, "the edited document is not on disk");
                    written(WrittenThrough::EditorUnsaved)
                }
            }
        }
    }
}

/// On disk: old or new, never half.
pub async fn on_disk(workspace: &Arc<Workspace>, order: WriteOrder) -> WriteOutcome {
    let workspace = Arc::clone(workspace);
    let done = tokio::task::spawn_blocking(move || workspace.write(&order)).await;
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
