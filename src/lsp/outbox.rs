//! What waits to be written to the editor.
//!
//! Bounded by what is worth knowing: while the editor does not read, only the newest diagnostics of a file, the newest
//! report of a progress and the last [`EVENTS_KEPT`] events of runs are kept. (Events are numbered without a gap, so a
//! client sees what it missed and asks for it.) Everything else is kept in full and in order. A newer message takes the
//! newest place, not that of the one it replaces: nothing is told before what it follows from.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;
use tower_lsp::jsonrpc::{Request, Response};

use crate::protocol::method;

/// Events of runs that wait for an editor that does not read.
const EVENTS_KEPT: usize = 4_096;

/// A message to the editor.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Outgoing {
    /// Our answer to a request.
    Reply(Response),
    /// A request or a notification of ours.
    Call(Request),
}

/// Shared by those who send, who put, and the writer thread, which takes.
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

    /// Waits for messages; whether there are any. There are none when it is closed and empty.
    pub fn wait(&self) -> bool {
        let mut queue = self.lock();
        loop {
            if !queue.messages.is_empty() {
                return true;
            }
            if queue.closed {
                return false;
            }
            queue = self
                .filled
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes all messages there are.
    pub fn take(&self) -> Vec<Outgoing> {
        self.lock().take()
    }

    pub fn is_empty(&self) -> bool {
        self.lock().messages.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing in here panics half-way through a change; a poisoned lock holds a sound queue.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaced messages leave a hole, so that places stay valid until the holes are closed.
#[derive(Debug, Default)]
struct Queue {
    messages: Vec<Option<Outgoing>>,
    /// Places of messages of which only the newest matters.
    newest: HashMap<Topic, usize>,
    /// Places of events, oldest first.
    events: VecDeque<usize>,
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
        let place = self.messages.len();
        if let Some(replaced) = self.note(&message, place)
            && let Some(slot) = self.messages.get_mut(replaced)
            && slot.take().is_some()
        {
            self.holes += 1;
        }
        self.messages.push(Some(message));
        if self.holes > 64 && self.holes > self.messages.len() / 2 {
            self.close_holes();
        }
    }

    /// Remembers the message's place; gives the place of the one that it makes needless.
    fn note(&mut self, message: &Outgoing, place: usize) -> Option<usize> {
        match weight(message) {
            Weight::MustArrive => None,
            Weight::NewestOf(topic) => self.newest.insert(topic, place),
            Weight::Event => {
                self.events.push_back(place);
                (self.events.len() > EVENTS_KEPT)
                    .then(|| self.events.pop_front())
                    .flatten()
            }
        }
    }

    fn close_holes(&mut self) {
        let messages = self.take();
        for (place, message) in messages.iter().enumerate() {
            self.note(message, place);
        }
        self.messages = messages.into_iter().map(Some).collect();
    }

    fn take(&mut self) -> Vec<Outgoing> {
        self.newest.clear();
        self.events.clear();
        self.holes = 0;
        std::mem::take(&mut self.messages)
            .into_iter()
            .flatten()
            .collect()
    }
}

/// What it means to lose a message.
enum Weight {
    MustArrive,
    NewestOf(Topic),
    Event,
}

fn weight(message: &Outgoing) -> Weight {
    let Outgoing::Call(call) = message else {
        return Weight::MustArrive;
    };
    if call.id().is_some() {
        return Weight::MustArrive;
    }
    if call.method() == method::RUN_EVENT {
        return Weight::Event;
    }
    topic(call).map_or(Weight::MustArrive, Weight::NewestOf)
}

fn topic(notification: &Request) -> Option<Topic> {
    let params = notification.params()?;
    match notification.method() {
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
        outbox.take()
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
        let messages = outbox.take();
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
    fn of_events_the_last_are_kept_in_order() {
        let outbox = Outbox::default();
        let event = |seq: usize| call(method::RUN_EVENT, json!({"record": {"seq": seq}}));
        let request = Outgoing::Call(Request::build("workspace/applyEdit").id(1).finish());
        outbox.put(request.clone());
        for seq in 0..3 * EVENTS_KEPT {
            outbox.put(event(seq));
            assert!(outbox.lock().messages.len() <= 2 * EVENTS_KEPT + 130);
        }
        let messages = outbox.take();
        let want: Vec<Outgoing> = (2 * EVENTS_KEPT..3 * EVENTS_KEPT).map(event).collect();
        assert_eq!(messages[0], request);
        assert_eq!(messages[1..], want);
        assert_eq!(outbox.lock().events.len(), 0);
    }

    #[test]
    fn closing_lets_the_rest_be_taken() {
        let outbox = Outbox::default();
        outbox.put(diagnostics("a", 1));
        outbox.close();
        assert!(outbox.wait());
        assert_eq!(outbox.take(), [diagnostics("a", 1)]);
        assert!(!outbox.wait());
    }
}
