//! What waits to be written to the editor.
//!
//! Bounded by what is worth knowing, not by a number: while the editor does not read, only the newest diagnostics of a
//! file and the newest report of a progress are kept. Everything else is kept in full and in order. A newer message takes
//! the newest place, not that of the one it replaces: nothing is told before what it follows from.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;
use tower_lsp::jsonrpc::{Request, Response};

/// A message to the editor.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Outgoing {
    /// Our answer to a request.
    Reply(Response),
    /// A request or a notification of ours.
    Call(Request),
}

/// Shared by the loop, which puts, and the writer thread, which takes.
#[derive(Debug, Default)]
pub struct Outbox {
    queue: Mutex<Queue>,
    filled: Condvar,
}

impl Outbox {
    /// Never waits for the editor.
    pub fn put(&self, message: Outgoing) {
        self.lock().put(message);
        self.filled.notify_one();
    }

    /// No message will follow; the writer ends when it has taken the rest.
    pub fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
    }

    /// Waits for messages and takes all there are; `None` when closed and empty.
    pub fn take(&self) -> Option<Vec<Outgoing>> {
        let mut queue = self.lock();
        loop {
            let messages = queue.take();
            if !messages.is_empty() {
                return Some(messages);
            }
            if queue.closed {
                return None;
            }
            queue = self
                .filled
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing in here panics half-way through a change; a poisoned lock holds a sound queue.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaced messages leave a hole, so that places in `newest` stay valid until the holes are closed.
#[derive(Debug, Default)]
struct Queue {
    messages: Vec<Option<Outgoing>>,
    newest: HashMap<Topic, usize>,
    holes: usize,
    closed: bool,
}

/// Of messages with the same topic only the newest matters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Topic {
    Diagnostics(String),
    /// The token in JSON: `1` and `"1"` are different tokens.
    Progress(String),
}

impl Queue {
    fn put(&mut self, message: Outgoing) {
        if let Some(topic) = topic(&message) {
            let place = self.messages.len();
            if let Some(older) = self.newest.insert(topic, place)
                && let Some(slot) = self.messages.get_mut(older)
                && slot.take().is_some()
            {
                self.holes += 1;
            }
        }
        self.messages.push(Some(message));
        if self.holes > 64 && self.holes > self.messages.len() / 2 {
            self.close_holes();
        }
    }

    fn close_holes(&mut self) {
        self.messages.retain(Option::is_some);
        self.holes = 0;
        self.newest.clear();
        for (place, message) in self.messages.iter().enumerate() {
            if let Some(topic) = message.as_ref().and_then(topic) {
                self.newest.insert(topic, place);
            }
        }
    }

    fn take(&mut self) -> Vec<Outgoing> {
        self.newest.clear();
        self.holes = 0;
        std::mem::take(&mut self.messages)
            .into_iter()
            .flatten()
            .collect()
    }
}

/// `None`: the message must arrive.
fn topic(message: &Outgoing) -> Option<Topic> {
    let Outgoing::Call(call) = message else {
        return None;
    };
    if call.id().is_some() {
        return None;
    }
    let params = call.params()?;
    match call.method() {
        "textDocument/publishDiagnostics" => {
            let uri = params.get("uri")?.as_str()?;
            Some(Topic::Diagnostics(uri.to_owned()))
        }
        "$/progress" => {
            let kind = params.get("value")?.get("kind").and_then(Value::as_str);
            // A begin and an end are never one too many.
            (kind == Some("report")).then(|| {
                let token = params.get("token").map(Value::to_string);
                Topic::Progress(token.unwrap_or_default())
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(method: &'static str, params: Value) -> Outgoing {
        Outgoing::Call(Request::build(method).params(params).finish())
    }
    fn diagnostics(uri: &str, version: u32) -> Outgoing {
        call(
            "textDocument/publishDiagnostics",
            json!({"uri": uri, "version": version}),
        )
    }
    fn progress(token: &Value, kind: &str, percentage: u32) -> Outgoing {
        call(
            "$/progress",
            json!({"token": token, "value": {"kind": kind, "percentage": percentage}}),
        )
    }
    fn taken(messages: Vec<Outgoing>) -> Vec<Outgoing> {
        let outbox = Outbox::default();
        for message in messages {
            outbox.put(message);
        }
        outbox.take().unwrap()
    }

    #[test]
    fn only_the_newest_of_a_topic_is_kept_in_the_newest_place() {
        let reply = Outgoing::Reply(Response::from_ok(1.into(), json!(null)));
        let request = Outgoing::Call(Request::build("workspace/applyEdit").id(1).finish());
        let log = call("window/logMessage", json!({"message": "x"}));
        assert_eq!(
            taken(vec![
                diagnostics("a", 1),
                reply.clone(),
                diagnostics("b", 1),
                request.clone(),
                log.clone(),
                diagnostics("a", 2),
                reply.clone(),
                request.clone(),
                log.clone(),
                diagnostics("a", 3),
            ]),
            vec![
                reply.clone(),
                diagnostics("b", 1),
                request.clone(),
                log.clone(),
                reply,
                request,
                log,
                diagnostics("a", 3),
            ]
        );
    }

    #[test]
    fn begin_and_end_of_a_progress_are_kept_with_the_last_report() {
        assert_eq!(
            taken(vec![
                progress(&json!("1"), "begin", 0),
                progress(&json!("1"), "report", 1),
                progress(&json!(1), "begin", 0),
                progress(&json!(1), "report", 5),
                progress(&json!("1"), "report", 2),
                progress(&json!("1"), "end", 0),
                progress(&json!("1"), "begin", 0),
            ]),
            vec![
                progress(&json!("1"), "begin", 0),
                progress(&json!(1), "begin", 0),
                progress(&json!(1), "report", 5),
                progress(&json!("1"), "report", 2),
                progress(&json!("1"), "end", 0),
                progress(&json!("1"), "begin", 0),
            ]
        );
    }

    #[test]
    fn an_editor_that_does_not_read_costs_no_memory_and_no_answer() {
        let outbox = Outbox::default();
        for version in 0..10_000_u32 {
            outbox.put(diagnostics("a", version));
            outbox.put(progress(&json!("t"), "report", version));
            if version % 100 == 0 {
                let id = i64::from(version);
                outbox.put(Outgoing::Reply(Response::from_ok(id.into(), json!(null))));
            }
            let queue = outbox.lock();
            let kept = queue.messages.len() - queue.holes;
            assert!(
                queue.messages.len() <= 130 + 2 * kept,
                "{}",
                queue.messages.len()
            );
        }
        let messages = outbox.take().unwrap();
        assert_eq!(messages.len(), 102);
        assert_eq!(
            messages[100..],
            [
                diagnostics("a", 9_999),
                progress(&json!("t"), "report", 9_999)
            ]
        );
        assert_eq!(outbox.lock().newest.len(), 0);
    }

    #[test]
    fn closing_lets_the_rest_be_taken() {
        let outbox = Outbox::default();
        outbox.put(diagnostics("a", 1));
        outbox.close();
        assert_eq!(outbox.take(), Some(vec![diagnostics("a", 1)]));
        assert_eq!(outbox.take(), None);
    }
}
