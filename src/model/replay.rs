//! Replays the model's turns out of a run's transcript, in order.
//!
//! A transcript is JSON lines of facts. Every object in it that is a turn (blocks, stop reason, usage) or a classified
//! failure counts, wherever it is nested, so that the replay does not depend on how the log wraps them.

use serde_json::Value;

use crate::kernel::conversation::{ModelFailure, ModelTurn};

/// What the model said or how it failed, in order.
pub type Recorded = Result<ModelTurn, ModelFailure>;

/// Reads a transcript.
///
/// # Errors
///
/// A line before the last is not JSON, or nothing in it is an answer of a model.
pub fn answers_in(name: &str, text: &str) -> Result<Vec<Recorded>, String> {
    let mut answers = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        match serde_json::from_str::<Value>(line) {
            Ok(value) => collect(value, &mut answers),
            // A run that died while writing leaves half a line at the end.
            Err(_) if index + 1 == lines.len() => {}
            Err(error) => return Err(format!("{name}, line {}: not JSON ({error})", index + 1)),
        }
    }
    if answers.is_empty() {
        return Err(format!("{name} holds no answer of a model"));
    }
    Ok(answers)
}

fn collect(value: Value, answers: &mut Vec<Recorded>) {
    match value {
        Value::Object(fields) => {
            let is_turn = fields.contains_key("blocks") && fields.contains_key("stop");
            let is_failure = fields.contains_key("kind")
                && fields.contains_key("rule")
                && fields.contains_key("advice");
            if is_turn && let Ok(turn) = serde_json::from_value(Value::Object(fields.clone())) {
                answers.push(Ok(turn));
                return;
            }
            if is_failure && let Ok(failure) = serde_json::from_value(Value::Object(fields.clone()))
            {
                answers.push(Err(failure));
                return;
            }
            for (_, inner) in fields {
                collect(inner, answers);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, answers);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
