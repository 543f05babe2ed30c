//! Performs a planned turn in time: pieces at the script's pace, then the turn or its fault.

use std::time::Duration;

use crate::kernel::conversation::{ModelFailure, ModelTurn};
use crate::model::Progress;
use crate::model::classify::{Signal, Stage, classify};
use crate::model::clocks::Clocks;
use crate::model::turn::finish;

use super::cursor::PlannedTurn;
use super::fault::Fault;
use super::parse::Emit;

/// Plays the turn. Cancel by dropping the future.
///
/// # Errors
///
/// The turn's fault, classified as the same signal from a provider would be.
pub async fn play(
    planned: &PlannedTurn,
    clocks: &Clocks,
    progress: &mut (impl FnMut(Progress) + Send),
) -> Result<ModelTurn, ModelFailure> {
    if let Some(Fault::Stall { ms }) = planned.fault {
        stall(ms, clocks).await?;
    }
    if planned.pace.ttft_ms > 0 {
        tokio::time::sleep(Duration::from_millis(planned.pace.ttft_ms)).await;
    }
    if let Some(fault) = planned
        .fault
        .as_ref()
        .filter(|fault| !fault.lets_events_through())
    {
        return Err(replaced_by(fault));
    }
    let events = match planned.fault {
        Some(Fault::Drop { after } | Fault::Eof { after }) => after,
        _ => usize::MAX,
    };
    let gap = Duration::from_millis(planned.pace.gap_ms);
    for item in planned.emit.iter().take(events) {
        for piece in pieces(item, planned.pace.chunk) {
            progress(piece);
            if !gap.is_zero() {
                tokio::time::sleep(gap).await;
            }
        }
    }
    match &planned.fault {
        Some(Fault::Drop { .. }) => Err(client(
            "error decoding response body: error reading a body from connection: connection reset",
        )),
        Some(Fault::Eof { .. }) => Err(client("stream ended before the turn was complete")),
        Some(Fault::BadFrame) => Err(client("stream broken: an event is not JSON")),
        Some(Fault::ErrorEvent { body }) => Err(classify(
            &Signal::new(Stage::Stream, body)
                .status(200)
                .provider("scripted"),
        )),
        Some(
            Fault::Http { .. }
            | Fault::Json200 { .. }
            | Fault::Recorded(_)
            | Fault::Stall { .. }
            | Fault::NoDone,
        )
        | None => finish(planned.draft(), None),
    }
}

async fn stall(ms: Option<u64>, clocks: &Clocks) -> Result<(), ModelFailure> {
    let silence = ms.map_or(Duration::MAX, Duration::from_millis);
    if silence < clocks.first_event {
        tokio::time::sleep(silence).await;
        return Ok(());
    }
    tokio::time::sleep(clocks.first_event).await;
    Err(client(&format!(
        "timed out: no event for {} s",
        clocks.first_event.as_secs()
    )))
}

fn replaced_by(fault: &Fault) -> ModelFailure {
    match fault {
        Fault::Http {
            status,
            headers,
            body,
        } => classify(
            &Signal::new(Stage::Http, body)
                .status(*status)
                .headers(headers)
                .provider("scripted"),
        ),
        Fault::Json200 { body } => classify(
            &Signal::new(Stage::Http, body)
                .status(200)
                .provider("scripted"),
        ),
        Fault::Recorded(error) => {
            let mut signal = Signal::new(error.stage, &error.body).provider(&error.provider);
            signal.status = error.status;
            classify(&signal)
        }
        Fault::ErrorEvent { .. }
        | Fault::Drop { .. }
        | Fault::Eof { .. }
        | Fault::Stall { .. }
        | Fault::BadFrame
        | Fault::NoDone => client("the scripted turn broke"),
    }
}

fn client(message: &str) -> ModelFailure {
    classify(&Signal::new(Stage::Client, message).provider("scripted"))
}

/// What an item shows while it arrives, cut into pieces of `chunk` characters.
fn pieces(item: &Emit, chunk: usize) -> Vec<Progress> {
    match item {
        Emit::Text(text) => cut(text, chunk).into_iter().map(Progress::Text).collect(),
        Emit::Thinking { text, .. } => cut(text, chunk)
            .into_iter()
            .map(Progress::Thinking)
            .collect(),
        Emit::Tool { name, args, .. } => call_pieces(name, &args.to_string(), chunk),
        Emit::RawTool { name, args, .. } => call_pieces(name, args, chunk),
    }
}

fn call_pieces(name: &str, arguments: &str, chunk: usize) -> Vec<Progress> {
    let mut pieces = vec![Progress::ToolCall {
        name: name.to_owned(),
    }];
    pieces.extend(
        cut(arguments, chunk)
            .into_iter()
            .map(|piece| Progress::Bytes(piece.len())),
    );
    pieces
}

/// Cuts a text into pieces of `chunk` characters; 0 leaves it whole.
pub(in crate::model) fn cut(text: &str, chunk: usize) -> Vec<String> {
    if chunk == 0 || text.is_empty() {
        return vec![text.to_owned()];
    }
    let letters: Vec<char> = text.chars().collect();
    letters
        .chunks(chunk)
        .map(|piece| piece.iter().collect())
        .collect()
}
