//! The editor at the other end, as the rest of the adapter talks to it.
//!
//! Nothing here waits for the editor: a notification is on its way when the call returns, and a question is a handle whose
//! reply is delivered whenever it comes. Requests carry ids of ours, so that they can be withdrawn by name.

use futures::future::{BoxFuture, FutureExt};
use lsp_types::notification::Notification;
use lsp_types::request::Request as RequestKind;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tower::Service;
use tower_lsp::jsonrpc::{Error, Id, Request, Response};
use tower_lsp::{Client, ExitedError};

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Editor {
    client: Client,
}

/// What became of a request to the editor.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Answered(Value),
    /// `null`: dismissed, hidden, or nothing to say. Not an answer.
    Unanswered,
    /// The editor refused it, or does not know the method.
    Refused(Error),
    /// The connection ended first.
    Gone,
}

/// A request that is out at the editor. Dropping it forgets the reply; the editor still shows the request.
#[derive(Debug)]
pub struct Asked {
    id: Id,
    reply: oneshot::Receiver<Reply>,
}

impl Asked {
    /// The name by which [`Editor::withdraw`] takes it back.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// Waits for the reply, for as long as it takes.
    pub async fn reply(self) -> Reply {
        self.reply.await.unwrap_or(Reply::Gone)
    }
}

impl Editor {
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Sends a notification of the protocol.
    pub fn notify<N: Notification>(&self, params: N::Params) {
        self.notify_as(N::METHOD, params);
    }

    /// Sends a notification by name.
    pub fn notify_as(&self, method: &'static str, params: impl serde::Serialize) {
        let Some(params) = to_json(method, params) else {
            return;
        };
        // Dropped at once: sent is sent, and there is no reply to wait for.
        drop(self.send(Request::build(method).params(params).finish()));
    }

    /// Sends a request of the protocol. Must be called inside the runtime.
    pub fn ask<R: RequestKind>(&self, params: R::Params) -> Asked {
        self.ask_as(R::METHOD, params)
    }

    /// Sends a request by name. Must be called inside the runtime.
    pub fn ask_as(&self, method: &'static str, params: impl serde::Serialize) -> Asked {
        let id = self.client.next_request_id();
        let (sender, reply) = oneshot::channel();
        if let Some(params) = to_json(method, params) {
            let request = Request::build(method).params(params).id(id.clone());
            let waiting = self.send(request.finish());
            tokio::spawn(async move {
                // Nobody may be interested any more.
                let _ = sender.send(read_reply(waiting.await));
            });
        }
        Asked { id, reply }
    }

    /// Takes a request back. The editor closes what it shows and answers with an error, which nobody waits for.
    pub fn withdraw(&self, id: &Id) {
        self.notify_as("$/cancelRequest", json!({ "id": id }));
    }

    fn send(&self, request: Request) -> Sending {
        let mut sending = self.client.clone().call(request);
        // Each clone of the client has a place of its own in the queue, which the first poll takes: so messages go in the
        // order of these calls, and without waiting. What the rest of the future waits for is the reply.
        match sending.as_mut().now_or_never() {
            Some(done) => futures::future::ready(done).boxed(),
            None => sending,
        }
    }
}

type Sending = BoxFuture<'static, Result<Option<Response>, ExitedError>>;

fn to_json(method: &str, params: impl serde::Serialize) -> Option<Value> {
    serde_json::to_value(params)
        .inspect_err(|error| tracing::error!(method, "failed to write the parameters: {error}"))
        .ok()
}

fn read_reply(reply: Result<Option<Response>, ExitedError>) -> Reply {
    match reply.map(|response| response.map(Response::into_parts)) {
        Ok(Some((_, Ok(Value::Null)))) => Reply::Unanswered,
        Ok(Some((_, Ok(value)))) => Reply::Answered(value),
        Ok(Some((_, Err(error)))) => Reply::Refused(error),
        Ok(None) | Err(ExitedError { .. }) => Reply::Gone,
    }
}
