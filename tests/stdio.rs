//! The transport, through the real binary: each promise of the server about its two streams and its end.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Editor, Start};

fn editor() -> Editor {
    Start::with_test_methods().ready()
}

/// The server still answers.
fn assert_alive(editor: &mut Editor) {
    let params = json!({"alive": "é漢😀"});
    assert_eq!(
        editor.request("outrigger/test/echo", params.clone()),
        params
    );
}

fn code(error: &Value) -> Option<i64> {
    error["code"].as_i64()
}

/// The error that was answered to a message without a usable id.
fn anonymous_error(editor: &mut Editor) -> Option<i64> {
    code(&editor.response(Value::Null).unwrap_err())
}

// --- who it is

#[test]
fn it_says_who_it_is_and_serves_by_default_when_input_is_no_terminal() {
    let (_editor, answer) = Start::default()
        .args(&[])
        .ready_as(json!({"capabilities": {}}));
    assert_eq!(answer["serverInfo"]["name"], "outrigger");
    let output = Command::new(env!("CARGO_BIN_EXE_outrigger"))
        .arg("--version")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("outrigger {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(answer["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_test_methods_are_absent_in_ordinary_use() {
    let mut editor = Start::default().ready();
    let error = editor.request_error("outrigger/test/panic", json!({}));
    assert_eq!(code(&error), Some(-32601));
}

// --- order and liveness

#[test]
fn ten_thousand_notifications_are_handled_in_the_order_of_arrival() {
    let mut editor = editor();
    let mut bytes = Vec::new();
    for number in 0..10_000 {
        let params = json!({ "number": number });
        let body = json!({"jsonrpc": "2.0", "method": "outrigger/test/note", "params": params})
            .to_string();
        bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }
    editor.raw(&bytes);
    let seen = editor.request("outrigger/test/seen", json!({}));
    let want: Vec<i64> = (0..10_000).collect();
    assert_eq!(seen, json!(want));
}

#[test]
fn a_thousand_open_requests_to_the_editor_stop_nothing_and_are_answered_in_any_order() {
    for count in [4, 8, 1_000] {
        let mut editor = editor();
        editor.request("outrigger/test/ask", json!({ "count": count }));
        let mut asked: Vec<Value> = (0..count)
            .map(|_| editor.server_request("window/showMessageRequest", |_| true))
            .collect();
        let hung: Vec<i64> = (0..count)
            .map(|_| editor.ask("outrigger/test/hang", json!({})))
            .collect();
        for _ in 0..1_000 {
            assert_alive(&mut editor);
        }
        asked.reverse();
        for request in &asked {
            editor.respond(request, json!({"title": "Yes"}));
        }
        assert_eq!(
            editor.request("outrigger/test/replies", json!({"count": count})),
            json!({"answered": count, "unanswered": 0, "refused": 0, "gone": 0}),
        );
        for id in hung {
            editor.notify("$/cancelRequest", json!({ "id": id }));
            assert_eq!(code(&editor.response(id).unwrap_err()), Some(-32800));
        }
    }
}

#[test]
fn cancelling_acts_at_once_and_an_id_is_free_again() {
    let mut editor = editor();
    for id in [json!(900), json!("a"), json!(900)] {
        let hang =
            json!({"jsonrpc": "2.0", "id": id, "method": "outrigger/test/hang", "params": {}});
        editor.send(&hang);
        editor.send(&hang);
        let duplicate = editor.response(id.clone()).unwrap_err();
        assert_eq!(code(&duplicate), Some(-32600), "the id is in use");
        editor.notify("$/cancelRequest", json!({ "id": id }));
        assert_eq!(code(&editor.response(id).unwrap_err()), Some(-32800));
    }
}

#[test]
fn a_request_to_the_editor_can_be_withdrawn_and_null_is_no_answer() {
    let mut editor = editor();
    editor.request("outrigger/test/ask", json!({ "count": 3 }));
    let asked: Vec<Value> = (0..3)
        .map(|_| editor.server_request("window/showMessageRequest", |_| true))
        .collect();
    editor.respond(&asked[0], Value::Null);
    assert_eq!(
        editor.request("outrigger/test/withdraw", json!({}))["withdrawn"],
        3
    );
    for request in &asked {
        let id = request["id"].clone();
        editor.notification("$/cancelRequest", |params| params["id"] == id);
    }
    editor.respond_error(&asked[1], -32800, "cancelled");
    editor.respond_error(&asked[2], -32601, "unknown method");
    // Replies that nobody waits for.
    editor.respond(&asked[0], json!({"title": "late"}));
    editor.send(&json!({"jsonrpc": "2.0", "id": "never asked", "result": 1}));
    assert_eq!(
        editor.request("outrigger/test/replies", json!({"count": 3})),
        json!({"answered": 0, "unanswered": 1, "refused": 2, "gone": 0}),
    );
}

#[test]
fn ids_of_both_sides_may_collide() {
    let mut editor = editor();
    // The server numbers its requests from 0.
    editor.number_requests_from(1_000);
    editor.request("outrigger/test/ask", json!({ "count": 5 }));
    let asked: Vec<Value> = (0..5)
        .map(|_| editor.server_request("window/showMessageRequest", |_| true))
        .collect();
    for request in &asked {
        let hang = json!({"jsonrpc": "2.0", "id": request["id"], "method": "outrigger/test/hang", "params": {}});
        editor.send(&hang);
    }
    for request in &asked {
        editor.respond(request, json!({"title": "Yes"}));
    }
    assert_eq!(
        editor.request("outrigger/test/replies", json!({"count": 5}))["answered"],
        5
    );
    for request in &asked {
        editor.notify("$/cancelRequest", json!({"id": request["id"]}));
        let error = editor.response(request["id"].clone()).unwrap_err();
        assert_eq!(code(&error), Some(-32800));
    }
}

#[test]
fn an_editor_that_does_not_read_is_still_listened_to_and_gets_only_the_newest() {
    let mut editor = Start::with_test_methods().not_reading().start();
    editor.send(
        &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}),
    );
    editor.notify("initialized", json!({}));
    let uri = "file:///a";
    let flood = editor.ask(
        "outrigger/test/flood",
        json!({"count": 2_000, "size": 4_096, "uri": uri}),
    );
    // Far more than a pipe holds: all of it is taken although nothing is read.
    let notes: Vec<i64> = (0..2_000)
        .map(|_| editor.ask("outrigger/test/echo", json!({"filler": "y".repeat(1_024)})))
        .collect();
    editor.start_reading();
    editor.response(0).unwrap();
    editor.response(flood).unwrap();
    for id in notes {
        editor.response(id).unwrap();
    }
    for number in (0..2_000).step_by(100) {
        editor.notification("outrigger/test/mark", |params| params["number"] == number);
    }
    editor.notification("textDocument/publishDiagnostics", |params| {
        params["version"] == 1_999
    });
    editor.notification("$/progress", |params| params["value"]["message"] == "1999");
    let others = editor.unclaimed().len();
    assert!(
        others < 1_000,
        "{others} messages were written that nobody needs"
    );
    editor.allow("textDocument/publishDiagnostics");
    editor.allow("$/progress");
    editor.request("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    assert_eq!(editor.exit_code().0, 0);
}

#[test]
fn what_a_handler_sends_comes_before_its_reply() {
    let mut editor = editor();
    let id = editor.ask("outrigger/test/ask", json!({ "count": 1 }));
    let first = editor.claim("the first message", |_| true);
    assert_eq!(first["method"], "window/showMessageRequest");
    editor.response(id).unwrap();
    editor.respond(&first, Value::Null);
}

// --- faults that the server survives

#[test]
fn a_panic_is_answered_and_the_next_message_is_served() {
    let mut editor = editor();
    for later in [false, true] {
        for id in [777, 777] {
            editor.send(&json!({"jsonrpc": "2.0", "id": id, "method": "outrigger/test/panic", "params": {"later": later}}));
            assert_eq!(
                code(&editor.response(id).unwrap_err()),
                Some(-32603),
                "later: {later}"
            );
            assert_alive(&mut editor);
        }
        editor.notify("outrigger/test/panicNote", json!({ "later": later }));
        assert_alive(&mut editor);
    }
}

#[test]
fn a_malformed_body_is_answered_and_the_next_message_is_served() {
    let mut editor = editor();
    let deep = "[".repeat(100_000);
    let bodies: &[(&[u8], i64)] = &[
        (b"", -32700),
        (b"{", -32700),
        (b"nonsense", -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"a\":\"\xff\xfe\"}}",
            -32700,
        ),
        (b"\xf0\x28\x8c\x28", -32700),
        (deep.as_bytes(), -32700),
        (b"{\"jsonrpc\":\"2.0\"}", -32600),
        (b"{\"neither\":1}", -32600),
        (
            b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shutdown\"}]",
            -32600,
        ),
        (b"7", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", -32600),
    ];
    for (body, want) in bodies {
        editor.frame(body);
        let text = String::from_utf8_lossy(body);
        assert_eq!(anonymous_error(&mut editor), Some(*want), "{text:.60}");
        assert_alive(&mut editor);
    }
    let params = json!("not an object");
    let error = editor.request_error("outrigger/test/ask", params);
    assert_eq!(code(&error), Some(-32602));
}

#[test]
fn headers_are_read_as_the_protocol_allows() {
    let mut editor = editor();
    let body = |id: i64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "outrigger/test/echo", "params": {}})
            .to_string()
    };
    let length = body(100).len();
    let headers = [
        format!("content-length: {length}\r\n\r\n"),
        format!("CONTENT-LENGTH:{length}\r\n\r\n"),
        format!(
            "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"
        ),
        format!(
            "Content-Length: {length}\r\nContent-Type: application/vscode-jsonrpc\r\nX-One: 1\r\nX-Two: 2\r\n\r\n"
        ),
    ];
    for (id, header) in (100..).zip(headers) {
        let bytes = format!("{header}{}", body(id));
        // Byte by byte, as a slow pipe may deliver it.
        for byte in bytes.as_bytes() {
            editor.raw(&[*byte]);
        }
        assert_eq!(editor.response(id), Ok(json!({})), "{header:?}");
    }
}

#[test]
fn a_body_of_fifty_megabytes_is_served() {
    let mut editor = editor();
    let text = "é".repeat(25 * 1024 * 1024);
    let answer = editor.request("outrigger/test/echo", json!({ "text": text }));
    assert!(
        answer["text"] == text.as_str(),
        "the text came back changed"
    );
}

#[test]
fn prints_of_code_and_children_do_not_reach_the_frames() {
    let mut editor = editor();
    let printed = editor.request("outrigger/test/print", json!({}));
    assert_eq!(printed, json!({"printed": true, "echoed": true}));
    assert_alive(&mut editor);
    editor.request("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    assert_eq!(editor.exit_code().0, 0);
    let errors = editor.errors();
    assert!(
        errors.contains("not a frame") && errors.contains("nor this"),
        "{errors}"
    );
}

// --- faults that end the server

#[test]
fn a_content_length_that_lies_or_is_too_large_ends_with_code_two_and_a_clear_line() {
    let ask =
        json!({"jsonrpc": "2.0", "id": 1000, "method": "outrigger/test/echo", "params": {"x": 1}})
            .to_string();
    let length = ask.len();
    let framed = |claimed: usize| {
        format!("Content-Length: {claimed}\r\n\r\n{ask}Content-Length: {length}\r\n\r\n{ask}")
    };
    let rows: &[(String, usize, &str)] = &[
        (framed(length - 5), 2, "is not a header line"),
        (framed(length + 5), 2, "no Content-Length"),
        (
            "Content-Length: 1000000000001\r\n\r\n{}".to_owned(),
            1,
            "1000000000001 is over the limit of 5000 bytes",
        ),
        (
            "Content-Length: 5001\r\n\r\n".to_owned(),
            1,
            "5001 is over the limit of 5000 bytes",
        ),
        (
            "Content-Length: 99999999999999999999999999\r\n\r\n".to_owned(),
            1,
            "is over the limit",
        ),
        (
            "Content-Length: minus one\r\n\r\n".to_owned(),
            1,
            "`minus one` is not a Content-Length",
        ),
        (
            "GET / HTTP/1.1\r\n\r\n".to_owned(),
            1,
            "`GET / HTTP/1.1` is not a header line",
        ),
        (
            "{\"jsonrpc\":\"2.0\"}\r\n".to_owned(),
            1,
            "is not a header line",
        ),
        ("X: 1\r\n\r\n".to_owned(), 1, "no Content-Length"),
    ];
    for (bytes, errors, line) in rows {
        let mut editor = Start::with_test_methods()
            .args(&["lsp", "--body-limit", "5000"])
            .ready();
        editor.raw(bytes.as_bytes());
        for _ in 0..*errors {
            assert_eq!(anonymous_error(&mut editor), Some(-32700), "{bytes:?}");
        }
        assert_eq!(editor.exit_code().0, 2, "{bytes:?}");
        let said = editor.errors();
        let said_once = said.lines().filter(|said| {
            said.starts_with("outrigger: failed to read from the editor: ") && said.contains(line)
        });
        assert_eq!(said_once.count(), 1, "{said}");
    }
}

#[test]
fn a_body_at_the_limit_is_served() {
    let mut editor = Start::with_test_methods()
        .args(&["lsp", "--body-limit", "5000"])
        .ready();
    let mut body =
        json!({"jsonrpc": "2.0", "id": 1000, "method": "outrigger/test/echo", "params": {}})
            .to_string();
    body.push_str(&" ".repeat(5_000 - body.len()));
    editor.frame(body.as_bytes());
    assert_eq!(editor.response(1000), Ok(json!({})));
}

// --- the end

/// Puts an editor into a state in which many a server hangs.
type State = fn(&mut Editor);
const STATES: &[(&str, State)] = &[
    ("idle", |_| {}),
    ("a request is pending", |editor| {
        editor.ask("outrigger/test/hang", json!({}));
    }),
    ("a notification is pending", |editor| {
        editor.notify("outrigger/test/note", json!({"number": 4}));
    }),
    ("four requests to the editor are open", |editor| {
        editor.request("outrigger/test/ask", json!({"count": 4}));
        for _ in 0..4 {
            editor.server_request("window/showMessageRequest", |_| true);
        }
    }),
];

#[test]
fn the_end_of_input_ends_it_in_any_state() {
    for (name, enter) in STATES {
        assert_ends_at_once(name, 1, || {
            let mut editor = editor();
            enter(&mut editor);
            assert_alive(&mut editor);
            editor.close_input();
            editor
        });
    }
    let mut editor = Start::default().start();
    editor.close_input();
    assert_eq!(editor.exit_code().0, 1, "before initialize");
    let mut editor = self::editor();
    editor.raw(b"Content-Length: 10\r\n\r\n{");
    editor.close_input();
    assert_eq!(editor.exit_code().0, 2, "inside a body");
    assert_eq!(anonymous_error(&mut editor), Some(-32700));
    assert!(
        editor.errors().contains("after 1 of 10 bytes"),
        "{}",
        editor.errors()
    );
}

#[test]
fn shutdown_and_exit_end_it_with_code_zero_although_input_stays_open() {
    for (name, enter) in STATES {
        assert_ends_at_once(name, 0, || {
            let mut editor = editor();
            enter(&mut editor);
            assert_eq!(editor.request("shutdown", Value::Null), Value::Null);
            let error = editor.request_error("outrigger/test/echo", json!({}));
            assert_eq!(code(&error), Some(-32600), "{name}: after shutdown");
            editor.notify("exit", Value::Null);
            editor
        });
    }
}

#[test]
fn exit_without_shutdown_ends_it_with_code_one() {
    for (name, enter) in STATES {
        let mut editor = editor();
        enter(&mut editor);
        editor.notify("exit", Value::Null);
        assert_eq!(editor.exit_code().0, 1, "{name}");
    }
    let mut editor = Start::default().start();
    editor.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    assert_eq!(editor.exit_code().0, 1, "before initialize");
}

#[test]
fn the_reply_to_shutdown_is_written_although_exit_follows_at_once() {
    let mut editor = editor();
    let id = editor.ask("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    editor.close_input();
    assert_eq!(editor.response(id), Ok(Value::Null));
    assert_eq!(editor.exit_code().0, 0);
}

#[test]
fn a_closed_output_ends_it_with_code_one() {
    let mut editor = Start::with_test_methods().not_reading().start();
    editor.close_output();
    editor.send(
        &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}),
    );
    assert_eq!(editor.exit_code().0, 1);
    let errors = editor.errors();
    assert!(
        errors.contains("outrigger: failed to write to the editor: "),
        "{errors}"
    );
}

#[test]
fn an_output_that_nobody_reads_does_not_keep_it() {
    let mut editor = Start::with_test_methods().not_reading().start();
    editor.send(
        &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}),
    );
    editor.ask(
        "outrigger/test/echo",
        json!({"filler": "y".repeat(1024 * 1024)}),
    );
    editor.close_input();
    assert_eq!(editor.exit_code().0, 1);
}

#[cfg(unix)]
#[test]
fn the_death_of_the_parent_ends_it_with_code_one() {
    let mut parent = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let (mut editor, _) =
        Start::with_test_methods().ready_as(json!({"processId": parent.id(), "capabilities": {}}));
    assert_alive(&mut editor);
    // Another process may hold our input open, so that its end does not tell.
    let _open = editor.take_input();
    parent.kill().unwrap();
    assert_eq!(editor.exit_code().0, 1);
    assert!(
        editor.errors().contains("the editor's process is gone"),
        "{}",
        editor.errors()
    );
    parent.wait().unwrap();
}

#[test]
fn a_parent_in_another_container_does_not_end_it() {
    for process in [json!(null), json!(0x7fff_fffe)] {
        let (mut editor, _) =
            Start::with_test_methods().ready_as(json!({"processId": process, "capabilities": {}}));
        assert_alive(&mut editor);
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_in_order() {
    let mut editor = editor();
    let pid = i32::try_from(editor.process_id()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(editor.exit_code().0, 143);
    assert!(editor.errors().contains("outrigger: ended by signal 15"));
}

// --- lifecycle errors

#[test]
fn the_lifecycle_is_kept() {
    let mut editor = Start::with_test_methods().start();
    let error = editor.request_error("outrigger/test/echo", json!({}));
    assert_eq!(code(&error), Some(-32002), "before initialize");
    editor.initialize(json!({"capabilities": {}}));
    let error = editor.request_error("initialize", json!({"capabilities": {}}));
    assert_eq!(code(&error), Some(-32600), "a second initialize");
    let error = editor.request_error("unknown/method", json!({}));
    assert_eq!(code(&error), Some(-32601), "an unknown method");
    editor.notify("unknown/notification", json!({}));
    editor.notify("$/unknown", json!({}));
    assert_alive(&mut editor);
}

/// The server ends with this code, and within 100 ms: once in five times at least, as the machine may be busy.
fn assert_ends_at_once(name: &str, code: i32, end: impl Fn() -> Editor) {
    let mut times = Vec::new();
    for _ in 0..5 {
        let (found, took) = end().exit_code();
        assert_eq!(found, code, "{name}");
        if took < Duration::from_millis(100) {
            return;
        }
        times.push(took);
    }
    panic!("{name}: it took {times:?} to end");
}
