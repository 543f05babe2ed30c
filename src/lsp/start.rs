//! Starting a run: with the model that was named, else the configured one.

use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};

use super::errors::{error, gone, refused};
use super::session::Session;
use crate::kernel::effect::{Refusal, Reply};
use crate::kernel::event::RunSpec;
use crate::protocol::error::ErrorKind;
use crate::protocol::run::{StartParams, StartResult};

/// Starts a run; replied to when its first record is safe.
pub async fn start(session: &Session, params: StartParams) -> Result<StartResult> {
    let named = params.model.or_else(|| session.default_model.clone());
    let model = match named {
        Some(model) => model,
        None => session
            .app
            .choose_model()
            .await
            .map_err(|none| error(ErrorKind::NoModel, none))?,
    };
    if params.prompt.trim().is_empty() {
        return Err(error(
            ErrorKind::InvalidParams,
            "the prompt is empty; say what the run shall do",
        ));
    }
    let reply = session.app.start_run(RunSpec {
        prompt: params.prompt,
        engine: params.engine,
        model,
        fallback_model: params.fallback_model,
        policy: params.policy,
        budget: params.budget,
        stall: params.stall,
    });
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
