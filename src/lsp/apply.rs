//! Changes an open document in the editor: a versioned edit, then the editor's word that its text is the new one, then a
//! request to save. Waits for the editor, so it runs in a task of its own; the app bounds the whole.

use std::sync::OnceLock;
use std::time::Duration;

use lsp_types::request::ApplyWorkspaceEdit;
use lsp_types::{ApplyWorkspaceEditParams, ApplyWorkspaceEditResponse};
use tokio::time::timeout;

use super::editor::Reply;
use super::edits::{text_edits, workspace_edit};
use super::session::Session;
use crate::app::{EditOrder, EditReply, Saving};
use crate::protocol::document::{SaveParams, SaveResult};
use crate::protocol::method;

/// How long the changed text may take to come back after the editor said that it applied the edit.
const ECHO_TIME: Duration = Duration::from_secs(2);

pub async fn apply(session: &Session, order: EditOrder) {
    let EditOrder {
        path,
        document,
        edits,
        label,
        reply,
        arrived,
    } = order;
    let refuse = |reason: String| EditReply::Refused { reason };
    let asked_as = OnceLock::new();
    let outcome = async {
        if !session.client.apply_edit {
            return EditReply::Unable;
        }
        // The user may have typed since; a client that checks no versions would edit the wrong text.
        if session.version(&path) != Some(document.version) {
            return refuse("the document has changed meanwhile".to_owned());
        }
        let edits = text_edits(&document.text, &edits, session.client.encoding);
        let Some(edit) = workspace_edit(&document, edits, session.client.versions) else {
            return refuse(format!(
                "the editor's name for the document is no URI: {}",
                document.uri
            ));
        };
        let asked = session
            .editor
            .ask::<ApplyWorkspaceEdit>(ApplyWorkspaceEditParams {
                label: Some(label),
                edit,
            });
        let _ = asked_as.set(asked.id().clone());
        match read_applied(asked.reply().await) {
            Err(reason) => refuse(reason),
            // Some editors say "applied" although they dropped the edit because of its version: the text is the proof.
            Ok(()) => match timeout(ECHO_TIME, arrived).await {
                Ok(Ok(true)) => EditReply::Applied(save(session, &document.uri).await),
                Ok(Ok(false) | Err(_)) | Err(_) => EditReply::Unproved,
            },
        }
    };
    let mut reply = reply;
    tokio::select! {
        outcome = outcome => {
            // The app may have given up waiting.
            let _ = reply.send(outcome);
        }
        // The run was stopped: the edit is taken back if it can be, and nothing is saved for it any more.
        () = reply.closed() => {
            if let Some(id) = asked_as.get() {
                session.editor.withdraw(id);
            }
        }
    }
}

/// The reason why the edit was not applied.
fn read_applied(reply: Reply) -> Result<(), String> {
    match reply {
        Reply::Answered(value) => {
            let response: ApplyWorkspaceEditResponse = serde_json::from_value(value)
                .map_err(|error| format!("the editor's reply cannot be read: {error}"))?;
            match (response.applied, response.failure_reason) {
                (true, _) => Ok(()),
                (false, Some(reason)) => Err(reason),
                (false, None) => Err("the editor did not apply the edit".to_owned()),
            }
        }
        Reply::Unanswered => Err("the editor did not apply the edit".to_owned()),
        Reply::Refused(error) => Err(error.message.into_owned()),
        Reply::Gone => Err("the editor is gone".to_owned()),
    }
}

async fn save(session: &Session, uri: &str) -> Saving {
    if !session.client.offer.save {
        return Saving::Unable;
    }
    let params = SaveParams {
        uri: uri.to_owned(),
    };
    let asked = session.editor.ask_as(method::DOCUMENT_SAVE, params);
    read_saved(asked.reply().await)
}

fn read_saved(reply: Reply) -> Saving {
    let failed = |reason: String| Saving::Failed { reason };
    match reply {
        Reply::Answered(value) => match serde_json::from_value::<SaveResult>(value) {
            Ok(SaveResult { saved: true, .. }) => Saving::Saved,
            Ok(SaveResult { error, .. }) => {
                failed(error.unwrap_or_else(|| "the editor did not save".to_owned()))
            }
            Err(error) => failed(format!("the editor's reply cannot be read: {error}")),
        },
        Reply::Unanswered => failed("the editor did not save".to_owned()),
        Reply::Refused(error) => failed(error.message.into_owned()),
        Reply::Gone => failed("the editor is gone".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tower_lsp::jsonrpc::Error;

    #[test]
    fn only_applied_is_applied() {
        let said = |value| read_applied(Reply::Answered(value));
        assert_eq!(said(json!({"applied": true})), Ok(()));
        let reason = Err("it is locked".to_owned());
        assert_eq!(
            said(json!({"applied": false, "failureReason": "it is locked"})),
            reason
        );
        for reply in [
            Reply::Answered(json!({"applied": false})),
            Reply::Answered(json!(true)),
            Reply::Unanswered,
            Reply::Refused(Error::method_not_found()),
            Reply::Gone,
        ] {
            assert!(read_applied(reply.clone()).is_err(), "{reply:?}");
        }
    }

    #[test]
    fn only_saved_is_saved() {
        assert_eq!(
            read_saved(Reply::Answered(json!({"saved": true}))),
            Saving::Saved
        );
        let reason = "read-only".to_owned();
        assert_eq!(
            read_saved(Reply::Answered(
                json!({"saved": false, "error": "read-only"})
            )),
            Saving::Failed { reason }
        );
        for reply in [
            Reply::Answered(json!({"saved": false})),
            Reply::Answered(json!({})),
            Reply::Unanswered,
            Reply::Refused(Error::method_not_found()),
            Reply::Gone,
        ] {
            let saving = read_saved(reply.clone());
            assert!(
                matches!(saving, Saving::Failed { .. }),
                "{reply:?}: {saving:?}"
            );
        }
    }
}
