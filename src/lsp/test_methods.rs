//! Methods by which the tests of the transport provoke what no editor would ask for. Absent unless
//! `OUTRIGGER_TEST_METHODS=1` is in the environment.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;
use tower_lsp::LspServiceBuilder;
use tower_lsp::jsonrpc::{Id, Result};

use super::editor::{Asked, Editor, Reply};
use super::server::Server;

/// What the test methods remember.
#[derive(Debug, Default)]
pub struct TestMethods {
    seen: Mutex<Vec<i64>>,
    asked: Mutex<Vec<Id>>,
    replies: watch::Sender<Replies>,
}

/// Counts of replies to `outrigger/test/ask`.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Replies {
    answered: u32,
    unanswered: u32,
    refused: u32,
    gone: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TestParams {
    /// How many.
    count: u32,
    /// What to mark a message with.
    number: i64,
    /// Whether to await something first.
    later: bool,
    /// Size of a filler, in bytes.
    size: usize,
    uri: String,
}

/// Adds the methods if the environment asks for them.
pub fn add(builder: LspServiceBuilder<Server>) -> LspServiceBuilder<Server> {
    if std::env::var_os("OUTRIGGER_TEST_METHODS").is_none_or(|value| value != "1") {
        return builder;
    }
    builder
        .custom_method("outrigger/test/echo", echo)
        .custom_method("outrigger/test/panic", panic_on_request)
        .custom_method("outrigger/test/panicNote", panic_on_note)
        .custom_method("outrigger/test/hang", hang)
        .custom_method("outrigger/test/note", note)
        .custom_method("outrigger/test/seen", seen)
        .custom_method("outrigger/test/ask", ask)
        .custom_method("outrigger/test/withdraw", withdraw)
        .custom_method("outrigger/test/replies", replies)
        .custom_method("outrigger/test/flood", flood)
        .custom_method("outrigger/test/print", print)
}

/// Gives its parameters back.
async fn echo(_server: &Server, params: Value) -> Result<Value> {
    Ok(params)
}

async fn panic_on_request(_server: &Server, params: TestParams) -> Result<Value> {
    if params.later {
        tokio::task::yield_now().await;
    }
    panic!("asked to panic");
}

async fn panic_on_note(_server: &Server, params: TestParams) {
    if params.later {
        tokio::task::yield_now().await;
    }
    panic!("told to panic");
}

/// Never ends by itself.
async fn hang(_server: &Server, _params: TestParams) -> Result<Value> {
    std::future::pending().await
}

/// Remembers its number at once, then stays pending for a while, more or less by the number.
async fn note(server: &Server, params: TestParams) {
    lock(&server.test.seen).push(params.number);
    for _ in 0..params.number % 5 {
        tokio::task::yield_now().await;
    }
}

/// The numbers in the order in which they came.
async fn seen(server: &Server, _params: TestParams) -> Result<Vec<i64>> {
    Ok(lock(&server.test.seen).clone())
}

/// Sends requests to the editor and counts their replies, without waiting for them.
async fn ask(server: &Server, params: TestParams) -> Result<Value> {
    for number in 0..params.count {
        let asked: Asked = server.editor.ask_as(
            "window/showMessageRequest",
            json!({"type": 3, "message": format!("question {number}"), "actions": [{"title": "Yes"}]}),
        );
        lock(&server.test.asked).push(asked.id().clone());
        let replies = server.test.replies.clone();
        tokio::spawn(async move {
            let reply = asked.reply().await;
            replies.send_modify(|counts| match reply {
                Reply::Answered(_) => counts.answered += 1,
                Reply::Unanswered => counts.unanswered += 1,
                Reply::Refused(_) => counts.refused += 1,
                Reply::Gone => counts.gone += 1,
            });
        });
    }
    Ok(json!({ "asked": params.count }))
}

/// Takes all requests back.
async fn withdraw(server: &Server, _params: TestParams) -> Result<Value> {
    let asked = std::mem::take(&mut *lock(&server.test.asked));
    for id in &asked {
        server.editor.withdraw(id);
    }
    Ok(json!({ "withdrawn": asked.len() }))
}

/// The counts, once they are `count` together.
async fn replies(server: &Server, params: TestParams) -> Result<Value> {
    let mut replies = server.test.replies.subscribe();
    let enough = |counts: &Replies| {
        counts.answered + counts.unanswered + counts.refused + counts.gone >= params.count
    };
    match replies.wait_for(enough).await {
        Ok(counts) => Ok(json!(*counts)),
        Err(_) => Err(tower_lsp::jsonrpc::Error::internal_error()),
    }
}

/// Sends diagnostics for one file and reports of one progress, and between them notifications that must all arrive.
async fn flood(server: &Server, params: TestParams) -> Result<Value> {
    let editor: &Editor = &server.editor;
    for number in 0..params.count {
        let filler = "x".repeat(params.size);
        editor.notify_as(
            "textDocument/publishDiagnostics",
            json!({"uri": params.uri, "version": number, "diagnostics": [{"message": filler}]}),
        );
        let report = json!({"kind": "report", "message": number.to_string()});
        editor.notify_as("$/progress", json!({"token": "flood", "value": report}));
        if number % 100 == 0 {
            editor.notify_as("outrigger/test/mark", json!({ "number": number }));
        }
    }
    Ok(json!({ "sent": params.count }))
}

/// Prints to where careless code prints.
async fn print(_server: &Server, _params: TestParams) -> Result<Value> {
    use std::io::Write;
    let mut out = std::io::stdout();
    let printed = writeln!(out, "not a frame").and_then(|()| out.flush());
    let status = std::process::Command::new("echo").arg("nor this").status();
    Ok(json!({"printed": printed.is_ok(), "echoed": status.is_ok()}))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
