//! Starting a run: with the model that was named, else the configured one.

use serde_json::json;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};

use super::errors::{error, gone, refused};
use super::session::Session;
use crate::app::{RunWish, SpecError};
use crate::kernel::effect::{Refusal, Reply};
use crate::protocol::error::ErrorKind;
use crate::protocol::run::{StartParams, StartResult};

/// Starts a run; replied to when its first record is safe.
pub async fn start(session: &Session, params: StartParams) -> Result<StartResult> {
    if params.prompt.trim().is_empty() {
        return Err(error(
            ErrorKind::InvalidParams,
            "the prompt is empty; say what the run shall do",
        ));
    }
    let wish = RunWish {
        call: json!({
            "engine": params.engine,
            "model": params.model,
            "fallbackModel": params.fallback_model,
            "policy": params.policy,
            "budget": params.budget,
            "stall": params.stall,
        }),
        prompt: params.prompt,
        task: None,
    };
    with(session, wish).await
}

/// Starts what is wished for.
pub async fn with(session: &Session, wish: RunWish) -> Result<StartResult> {
    let spec = session.app.spec(wish, true).await.map_err(|why| {
        let kind = match why {
            SpecError::NoModel(_) => ErrorKind::NoModel,
            SpecError::Call(_) => ErrorKind::InvalidParams,
        };
        error(kind, why.to_string())
    })?;
    let reply = session.app.start_run(spec);
    match taken(reply).await? {
        Reply::Started { run } => Ok(StartResult { run_id: run }),
        Reply::Cancelled { .. }
        | Reply::Answered { .. }
        | Reply::Steered { .. }
        | Reply::Resumed { .. } => Err(Error::internal_error()),
    }
}

/// The app's reply to a command.
pub async fn taken(reply: oneshot::Receiver<std::result::Result<Reply, Refusal>>) -> Result<Reply> {
    reply.await.map_err(|_| gone())?.map_err(refused)
}
