//! The ways a scripted turn can break, and the recorded provider errors they borrow their bodies from.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::kernel::conversation::ModelErrorKind;
use crate::model::classify::Stage;

/// A real error of a provider, from the file the classification is tested with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RecordedError {
    pub id: String,
    pub provider: String,
    /// HTTP status; `None` where the error never had one.
    pub status: Option<u16>,
    #[serde(rename = "body_or_message")]
    pub body: String,
    pub class: ModelErrorKind,
    pub stage: Stage,
}

static RECORDED: LazyLock<Vec<RecordedError>> = LazyLock::new(|| {
    include_str!("../../../tests/fixtures/provider-errors.jsonl")
        .lines()
        .filter_map(|row| serde_json::from_str(row).ok())
        .collect()
});

/// The recorded errors that a fault's `ref` and `kind` refer to.
pub fn recorded_errors() -> &'static [RecordedError] {
    &RECORDED
}

/// How a turn breaks.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// An answer with an error status.
    Http {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// Status 200 and a body that is an error.
    Json200 { body: String },
    /// An error event after what the turn emits.
    ErrorEvent { body: String },
    /// A recorded error that has no HTTP answer of its own: the end of a turn or the client's own message.
    Recorded(RecordedError),
    /// The connection is reset after that many events.
    Drop { after: usize },
    /// The stream ends early, but cleanly, after that many events.
    Eof { after: usize },
    /// Silence before the first event; without a length, for ever.
    Stall { ms: Option<u64> },
    /// A piece of the stream that is not JSON, after what the turn emits.
    BadFrame,
    /// The stream's end mark is missing. A complete turn all the same.
    NoDone,
}

impl Fault {
    /// Whether what the turn emits is sent before the fault shows.
    pub fn lets_events_through(&self) -> bool {
        match self {
            Self::Http { .. } | Self::Json200 { .. } | Self::Recorded(_) => false,
            Self::ErrorEvent { .. }
            | Self::Drop { .. }
            | Self::Eof { .. }
            | Self::Stall { .. }
            | Self::BadFrame
            | Self::NoDone => true,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum FaultFields {
    Kind(ModelErrorKind),
    Fields(Value),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Fields {
    r#ref: Option<String>,
    kind: Option<ModelErrorKind>,
    http: Option<u16>,
    /// Seconds.
    retry_after: Option<f64>,
    headers: BTreeMap<String, String>,
    body: Option<Value>,
    json200: Option<Value>,
    error_event: Option<Value>,
    drop_after: Option<usize>,
    eof_after: Option<usize>,
    stall_ms: Option<u64>,
    stall: bool,
    bad_frame: bool,
    no_done: bool,
}

impl TryFrom<FaultFields> for Fault {
    type Error = String;

    fn try_from(fields: FaultFields) -> Result<Self, String> {
        match fields {
            FaultFields::Kind(kind) => of_kind(kind),
            FaultFields::Fields(value) => {
                let fields: Fields =
                    serde_json::from_value(value).map_err(|error| format!("fault: {error}"))?;
                of_fields(fields)
            }
        }
    }
}

fn of_fields(fields: Fields) -> Result<Fault, String> {
    let mut found: Vec<Fault> = Vec::new();
    let mut headers: Vec<(String, String)> = fields.headers.into_iter().collect();
    if let Some(seconds) = fields.retry_after {
        headers.push(("retry-after".to_owned(), seconds.to_string()));
    }
    if let Some(id) = &fields.r#ref {
        let recorded = recorded_errors().iter().find(|error| error.id == *id);
        let recorded =
            recorded.ok_or_else(|| format!("fault ref `{id}` is not a recorded error"))?;
        found.push(of_recorded(recorded, headers.clone()));
    }
    if let Some(kind) = fields.kind {
        found.push(of_kind(kind)?);
    }
    if let Some(status) = fields.http {
        found.push(Fault::Http {
            status,
            headers,
            body: body_text(fields.body.unwrap_or(Value::Null)),
        });
    }
    found.extend(fields.json200.map(|body| Fault::Json200 {
        body: body_text(body),
    }));
    found.extend(fields.error_event.map(|body| Fault::ErrorEvent {
        body: body_text(body),
    }));
    found.extend(fields.drop_after.map(|after| Fault::Drop { after }));
    found.extend(fields.eof_after.map(|after| Fault::Eof { after }));
    found.extend(fields.stall_ms.map(|ms| Fault::Stall { ms: Some(ms) }));
    found.extend(fields.stall.then_some(Fault::Stall { ms: None }));
    found.extend(fields.bad_frame.then_some(Fault::BadFrame));
    found.extend(fields.no_done.then_some(Fault::NoDone));
    match (found.pop(), found.is_empty()) {
        (Some(fault), true) => Ok(fault),
        (None, _) => Err(
            "fault must be one of ref, kind, http, json200, error_event, drop_after, eof_after, stall_ms, stall, bad_frame, no_done"
                .to_owned(),
        ),
        (Some(_), false) => Err("a turn has one fault, not several".to_owned()),
    }
}

/// The first recorded error of that kind that a server can answer with, else the first of all.
fn of_kind(kind: ModelErrorKind) -> Result<Fault, String> {
    let mut of_that_kind = recorded_errors()
        .iter()
        .filter(|error| error.class == kind)
        .peekable();
    let first = of_that_kind.peek().copied();
    let answered = of_that_kind.find(|error| error.stage == Stage::Http);
    answered
        .or(first)
        .map(|error| of_recorded(error, Vec::new()))
        .ok_or_else(|| format!("no recorded error is of kind {kind:?}; use http or error_event"))
}

fn of_recorded(error: &RecordedError, headers: Vec<(String, String)>) -> Fault {
    match (error.stage, error.status) {
        (Stage::Http | Stage::Text, Some(status)) if status >= 400 => Fault::Http {
            status,
            headers,
            body: error.body.clone(),
        },
        (Stage::Stream, _) => Fault::ErrorEvent {
            body: error.body.clone(),
        },
        (Stage::Http | Stage::Text | Stage::Finish | Stage::Client, _) => {
            Fault::Recorded(error.clone())
        }
    }
}

fn body_text(body: Value) -> String {
    match body {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}
