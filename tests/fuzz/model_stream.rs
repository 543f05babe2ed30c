//! What must hold for any bytes that a provider may send: a classified end or a turn that may be acted on, never a panic,
//! a hang or half a tool call. Shared by the fuzz target and the bounded run of `cargo test`.

use outrigger::kernel::conversation::{ModelTurn, StopReason};
use outrigger::model::classify::{Signal, Stage, classify};
use outrigger::model::stream::Incoming;
use outrigger::model::turn::finish;
use outrigger::model::wire::Wire;

/// The first byte says which wire, the second how the stream is cut into pieces and whether it ends in order.
pub fn check_stream(data: &[u8]) {
    let [which, how, stream @ ..] = data else {
        return;
    };
    let wire = match which % 3 {
        0 => Wire::Anthropic,
        1 => Wire::OpenAi,
        _ => Wire::Gemini,
    };
    let in_pieces = read(wire, stream, usize::from(how / 2) + 1, how % 2 == 0);
    let whole = read(wire, stream, stream.len().max(1), how % 2 == 0);
    assert_eq!(in_pieces.is_some(), whole.is_some(), "pieces matter");
    if let (Some(turn), Some(whole)) = (in_pieces, whole) {
        assert_eq!(turn, whole, "pieces matter");
        check_turn(&turn);
    }
}

/// Feeds the bytes in pieces, then ends or breaks the stream; `None` is a classified end.
fn read(wire: Wire, bytes: &[u8], size: usize, in_order: bool) -> Option<ModelTurn> {
    let mut incoming = Incoming::new(wire, "m");
    let mut is_done = false;
    for piece in bytes.chunks(size) {
        // Nothing is read behind the end mark.
        if is_done {
            break;
        }
        let step = incoming.push(piece, &mut |_| {}).ok()?;
        is_done = step == outrigger::model::wire::Step::Done;
    }
    let draft = if in_order || is_done {
        incoming.end(&mut |_| {}).ok()?
    } else {
        incoming.broken_off()?
    };
    finish(draft, None).ok()
}

fn check_turn(turn: &ModelTurn) {
    let may_be_silent = matches!(turn.stop, StopReason::MaxTokens | StopReason::Pause);
    assert!(!turn.blocks.is_empty() || may_be_silent, "{turn:?}");
    let is_cut = matches!(turn.stop, StopReason::MaxTokens | StopReason::ContextFull);
    let mut ids = std::collections::HashSet::new();
    for call in turn.tool_calls() {
        assert!(!call.id.as_str().is_empty(), "{turn:?}");
        assert!(ids.insert(call.id.clone()), "{turn:?}");
        let is_whole = serde_json::from_str::<serde_json::Value>(&call.arguments).is_ok();
        assert!(!is_cut || is_whole, "half a call: {turn:?}");
    }
}

/// The first byte says the stage, the next two the status.
pub fn check_error(data: &[u8]) {
    let [stage, high, low, body @ ..] = data else {
        return;
    };
    let stages = [
        Stage::Http,
        Stage::Stream,
        Stage::Finish,
        Stage::Client,
        Stage::Text,
    ];
    let stage = stages[usize::from(*stage) % stages.len()];
    let body = String::from_utf8_lossy(body);
    let headers = [("retry-after".to_owned(), body.chars().take(40).collect())];
    let status = u16::from_be_bytes([*high, *low]) % 700;
    let mut signal = Signal::new(stage, &body).headers(&headers);
    signal.status = (status >= 100).then_some(status);
    signal.now_ms = Some(1_796_083_200_000);
    let failure = classify(&signal);
    assert!(failure.raw.len() <= 4096 && failure.advice.ends_with('.'));
    assert!(!failure.rule.is_empty());
}
