//! Streams that no provider means to send: a classified end or a correct turn, never a hang, a panic or half a call.

use outrigger::kernel::conversation::{ModelTurn, StopReason};
use outrigger::model::classify::{Signal, Stage, classify};
use outrigger::model::script::{Cursor, Script};
use outrigger::model::stream::Incoming;
use outrigger::model::turn::finish;
use outrigger::model::wire::{Fault, Wire};
use proptest::prelude::*;

use crate::support::request;
use crate::wire_bytes::{WIRES, stream_of};

/// Feeds the bytes in pieces, then ends or breaks the stream; `None` is a classified end.
fn read(wire: Wire, bytes: &[u8], size: usize, in_order: bool) -> Option<ModelTurn> {
    let mut incoming = Incoming::new(wire, "m");
    for piece in bytes.chunks(size) {
        incoming.push(piece, &mut |_| {}).ok()?;
    }
    let draft = if in_order {
        incoming.end(&mut |_| {}).ok()?
    } else {
        incoming.broken_off()?
    };
    finish(draft, None).ok()
}

fn streams() -> Vec<(Wire, Vec<u8>)> {
    let script = Script::parse("s", r#"{"script":1}
{"emit":[{"thinking":"größer","signature":"s"},{"text":"完了 🦀"},{"tool":"read","id":"a","args":{"path":"ü"}},{"tool":"edit","id":"b","args":{"path":"b","new":"x\n"}}]}"#).unwrap();
    let planned = Cursor::default()
        .next(&script, &request("scripted:s", "go"), &[])
        .unwrap();
    WIRES
        .map(|wire| (wire, stream_of(wire, &planned).into_bytes()))
        .into()
}

fn is_safe(turn: &ModelTurn) {
    assert!(
        !turn.blocks.is_empty()
            || turn.stop == StopReason::MaxTokens
            || turn.stop == StopReason::Pause
    );
    let mut ids = std::collections::HashSet::new();
    for call in turn.tool_calls() {
        assert!(
            !call.id.as_str().is_empty() && ids.insert(call.id.clone()),
            "{turn:?}"
        );
        let is_cut = matches!(turn.stop, StopReason::MaxTokens | StopReason::ContextFull);
        assert!(
            !is_cut || serde_json::from_str::<serde_json::Value>(&call.arguments).is_ok(),
            "{turn:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_stream_with_bytes_changed_ends_well(
        which in 0usize..3, at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 1..6), size in 1usize..40, in_order: bool,
    ) {
        let (wire, mut stream) = streams().swap_remove(which);
        let at = at.index(stream.len());
        let end = (at + bytes.len()).min(stream.len());
        stream.splice(at..end, bytes);
        if let Some(turn) = read(wire, &stream, size, in_order) {
            is_safe(&turn);
        }
    }

    #[test]
    fn a_stream_with_events_lost_doubled_or_swapped_ends_well(
        which in 0usize..3, moves in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..3), 1..4),
    ) {
        let (wire, stream) = streams().swap_remove(which);
        let text = String::from_utf8(stream).unwrap().replace("\r\n", "\n");
        let mut events: Vec<&str> = text.split_inclusive("\n\n").collect();
        for (from, to, how) in moves {
            let (from, to) = (from.index(events.len()), to.index(events.len()));
            match how {
                0 if events.len() > 1 => { events.remove(from); }
                1 => events.insert(to, events[from]),
                _ => events.swap(from, to),
            }
        }
        if let Some(turn) = read(wire, events.concat().as_bytes(), 64, true) {
            is_safe(&turn);
        }
    }

    #[test]
    fn any_bytes_at_all_end_well(which in 0usize..3, bytes in prop::collection::vec(any::<u8>(), 0..400), as_data: bool) {
        let bytes = if as_data { [b"data: ".as_slice(), &bytes, b"\n\n"].concat() } else { bytes };
        prop_assert!(read(WIRES[which], &bytes, 16, true).is_none());
    }

    #[test]
    fn any_error_text_is_classified(text in "\\PC{0,300}", status in prop::option::of(100u16..600), stage in 0usize..5) {
        let stage = [Stage::Http, Stage::Stream, Stage::Finish, Stage::Client, Stage::Text][stage];
        let mut signal = Signal::new(stage, &text);
        signal.status = status;
        let failure = classify(&signal);
        prop_assert!(failure.raw.len() <= 4096 && failure.advice.ends_with('.'));
    }
}

/// JSON as any value in the places where a wire's fields are.
#[test]
fn fields_of_the_wrong_type_end_well() {
    let values = [
        "null",
        "true",
        "7",
        "-1",
        "1e999",
        "\"\"",
        "[]",
        "{}",
        "[[]]",
        "{\"a\":null}",
        "99999999999999999999",
    ];
    for (wire, stream) in streams() {
        let text = String::from_utf8(stream).unwrap();
        let starts: Vec<usize> = text.match_indices("\":").map(|(at, _)| at + 2).collect();
        for start in starts {
            for value in values {
                let rest = &text[start..];
                let end = rest.find([',', '}']).unwrap_or(rest.len());
                let changed = format!("{}{value}{}", &text[..start], &rest[end..]);
                if let Some(turn) = read(wire, changed.as_bytes(), 512, true) {
                    is_safe(&turn);
                }
            }
        }
    }
}

#[test]
fn bombs_are_refused_and_bounded() {
    let deep = format!("data: {}\n\n", "[".repeat(200_000));
    let wide = format!(
        "data: {{\"choices\":[{}]}}\n\n",
        "{\"index\":1},".repeat(100_000)
    );
    let endless_line = format!("data: {}", "x".repeat(9 * 1024 * 1024));
    for wire in WIRES {
        for bomb in [&deep, &wide, &endless_line] {
            assert_eq!(read(wire, bomb.as_bytes(), 65_536, true), None);
        }
    }
    // Arguments grow by pieces, each of them small.
    let piece = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"a\",\"function\":{{\"name\":\"n\",\"arguments\":\"{}\"}}}}]}}}}]}}\n\n",
        "x".repeat(64 * 1024)
    );
    let mut incoming = Incoming::new(Wire::OpenAi, "m");
    let fault = (0..20).find_map(|_| incoming.push(piece.as_bytes(), &mut |_| {}).err());
    assert_eq!(
        fault,
        Some(Fault::Broken(
            "stream broken: the arguments of a tool call are larger than 1048576 bytes".to_owned()
        ))
    );
    // Text has no cap of its own, the whole turn has.
    let text = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
        "x".repeat(1024 * 1024)
    );
    let mut incoming = Incoming::new(Wire::OpenAi, "m");
    assert!((0..40).any(|_| incoming.push(text.as_bytes(), &mut |_| {}).is_err()));
    // A body that is one bomb of an error.
    let nested = "{\"error\":".repeat(5000) + "1" + &"}".repeat(5000);
    let strings = (0..12).fold("\"rate limit\"".to_owned(), |inner, _| {
        format!("{{\"message\":{}}}", serde_json::to_string(&inner).unwrap())
    });
    for body in [nested, strings, "{".repeat(1_000_000)] {
        assert!(
            classify(&Signal::new(Stage::Http, &body).status(500))
                .raw
                .len()
                <= 4096
        );
    }
}

#[test]
fn odd_but_honest_streams_are_understood() {
    let table = [
        // Both calls numbered 0, each with its own id.
        (
            Wire::OpenAi,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\":\"1\"}"}}]}}]}
{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"read","arguments":"{\"path\":\"2\"}"}}]}}]}
{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            vec![("a", r#"{"path":"1"}"#), ("b", r#"{"path":"2"}"#)],
        ),
        // No index, no id, arguments as an object.
        (
            Wire::OpenAi,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"read","arguments":{"path":"1"}}},{"id":"y","function":{"name":"read","arguments":{"path":"2"}}}]},"finish_reason":"stop"}]}"#,
            vec![("x", r#"{"path":"1"}"#), ("y", r#"{"path":"2"}"#)],
        ),
        // The same id twice.
        (
            Wire::Anthropic,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"read","input":{}}}
{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"read","input":{"path":"2"}}}
{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            vec![("a", "{}"), ("call_0_1", r#"{"path":"2"}"#)],
        ),
        // Unknown blocks and deltas around a call.
        (
            Wire::Anthropic,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_thing","id":"s"}}
{"type":"content_block_delta","index":0,"delta":{"type":"novel_delta","x":1}}
{"type":"something_new","index":9}
{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"read"}}
{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"1\"}"}}
{"type":"message_delta","delta":{"stop_reason":"tool_use"}}
{"type":"message_stop"}"#,
            vec![("a", r#"{"path":"1"}"#)],
        ),
        // Calls without ids, and a part nobody knows.
        (
            Wire::Gemini,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{"path":"1"}}},{"novelPart":{}},{"functionCall":{"name":"read"}}]},"finishReason":"STOP"}]}"#,
            vec![("call_0_0", r#"{"path":"1"}"#), ("call_0_2", "{}")],
        ),
    ];
    for (wire, lines, expected) in table {
        let stream: String = lines
            .lines()
            .map(|line| format!("data: {line}\n\n"))
            .collect();
        let turn =
            read(wire, stream.as_bytes(), 7, true).unwrap_or_else(|| panic!("{wire:?}: {lines}"));
        let calls: Vec<(&str, &str)> = turn
            .tool_calls()
            .map(|call| (call.id.as_str(), call.arguments.as_str()))
            .collect();
        assert_eq!(
            (calls, turn.stop.clone()),
            (expected, StopReason::ToolUse),
            "{wire:?}: {lines}"
        );
    }
}
