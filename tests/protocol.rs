//! Keeps `editors/PROTOCOL.md` true: its examples go through the server's own types, every method has its examples, and
//! the page is looked at again whenever the contract changes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value
)] // a test may panic

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use outrigger::kernel::event::{Record, RunEvent, Steer};
use outrigger::kernel::hash::ContentHash;
use outrigger::kernel::question::{Answer, Question};
use outrigger::protocol::{
    capabilities, change, document, editor, error, models, question, run, settings, task, trust,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A fenced example: ```` ```json Type ````.
struct Example {
    /// The nearest heading above.
    under: String,
    line: usize,
    kind: String,
    value: Value,
}

#[test]
fn examples_are_what_the_types_say() {
    for example in examples(&page()) {
        let Example {
            line, kind, value, ..
        } = &example;
        match read_back(kind, value) {
            Ok(back) => assert_eq!(
                &back, value,
                "line {line}: a {kind} that is read and written again"
            ),
            Err(error) => panic!("line {line}: not a {kind}: {error}\n{value:#}"),
        }
    }
}

#[test]
fn every_method_has_its_examples() {
    let schema = schema();
    let examples = examples(&page());
    let methods = method_constants();
    assert!(methods.len() > 5, "{methods:?}");
    for method in methods {
        let entry = &schema["x-methods"][&method];
        assert!(
            entry.is_object(),
            "`outrigger protocol` does not know {method}"
        );
        for part in ["params", "result"] {
            let Some(reference) = entry[part]["$ref"].as_str() else {
                continue;
            };
            let name = reference.rsplit('/').next().unwrap_or_default();
            assert!(
                examples.iter().any(|example| example.kind == name
                    && example.under.contains(&format!("`{method}`"))),
                "no example of {name} under a heading `{method}`"
            );
        }
    }
}

#[test]
fn every_variant_has_its_example() {
    let schema = schema();
    let examples = examples(&page());
    // The variants' tag, how many there are at least (so that the test cannot pass by finding none), and where they are shown.
    let rows = [
        ("RunEvent", "type", 32, &["RunEvent"][..]),
        ("Answer", "type", 7, &["Answer"]),
        ("Steer", "type", 4, &["Steer", "RunEvent"]),
        ("QuestionKind", "kind", 6, &["QuestionListResult"]),
        ("QuestionState", "state", 3, &["QuestionListResult"]),
    ];
    for (name, tag, least, shown_in) in rows {
        let variants = variants(&schema["$defs"][name], tag);
        assert!(variants.len() >= least, "{name}: {variants:?}");
        let shown: BTreeSet<String> = examples
            .iter()
            .filter(|example| shown_in.contains(&example.kind.as_str()))
            .flat_map(|example| texts_under(&example.value, tag))
            .collect();
        let missing: Vec<_> = variants.difference(&shown).collect();
        assert!(missing.is_empty(), "{name} without an example: {missing:?}");
    }
    let page = page();
    for kind in variants(&schema["$defs"]["ErrorKind"], "") {
        assert!(
            page.contains(&format!("| `{kind}` |")),
            "error kind {kind} is not explained"
        );
    }
}

/// The hash is of `src/protocol` and of everything that the generated schema says, so of the kernel's types, too.
#[test]
fn the_page_is_as_new_as_the_contract() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("src/protocol.rs")];
    let mut rest: Vec<_> = fs::read_dir(root.join("src/protocol"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    rest.sort();
    files.extend(rest);
    let mut bytes = serde_json::to_vec(&schema()).unwrap();
    for file in files {
        bytes.extend(
            fs::read_to_string(&file)
                .unwrap()
                .replace("\r\n", "\n")
                .bytes(),
        );
    }
    let first_line = format!("<!-- contract: {} -->", ContentHash::of(&bytes));
    assert_eq!(
        page().lines().next(),
        Some(first_line.as_str()),
        "the contract has changed: bring editors/PROTOCOL.md up to date, then make this its first line:\n{first_line}\n"
    );
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/PROTOCOL.md");
    fs::read_to_string(path).unwrap()
}

fn schema() -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_outrigger"))
        .args(["protocol", "--json-schema"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn examples(page: &str) -> Vec<Example> {
    let mut found = Vec::new();
    let mut under = String::new();
    let mut open: Option<(usize, String, String)> = None;
    for (number, line) in page.lines().enumerate() {
        match &mut open {
            None => {
                if line.starts_with('#') {
                    under = line.to_owned();
                }
                if let Some(info) = line.strip_prefix("```") {
                    let kind = info.strip_prefix("json ").unwrap_or_else(|| {
                        panic!("line {}: an example without a type: {line}", number + 1)
                    });
                    open = Some((number + 1, kind.to_owned(), String::new()));
                }
            }
            Some((start, kind, text)) => {
                if line == "```" {
                    let value = serde_json::from_str(text)
                        .unwrap_or_else(|error| panic!("line {start}: not JSON: {error}"));
                    found.push(Example {
                        under: under.clone(),
                        line: *start,
                        kind: kind.clone(),
                        value,
                    });
                    open = None;
                } else {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    assert!(open.is_none(), "the last example never ends");
    found
}

/// The names of the methods, from the source: a new constant cannot be forgotten here.
fn method_constants() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/protocol.rs");
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .filter(|line| line.trim_start().starts_with("pub const "))
        .filter_map(|line| line.split('"').nth(1))
        .filter(|name| name.starts_with("outrigger/"))
        .map(str::to_owned)
        .collect()
}

/// Reads an example as its type and writes it again.
fn read_back(kind: &str, value: &Value) -> Result<Value, String> {
    match kind {
        "RunStartParams" => through::<run::StartParams>(value),
        "RunStartResult" => through::<run::StartResult>(value),
        "RunCancelParams" => through::<run::CancelParams>(value),
        "RunCancelResult" => through::<run::CancelResult>(value),
        "RunSteerParams" => through::<run::SteerParams>(value),
        "RunSteerResult" => through::<run::SteerResult>(value),
        "RunResumeParams" => through::<run::ResumeParams>(value),
        "RunResumeResult" => through::<run::ResumeResult>(value),
        "RunInterruptedParams" => through::<run::InterruptedParams>(value),
        "RunChangesParams" => through::<change::ChangesParams>(value),
        "RunChangesResult" => through::<change::ChangesResult>(value),
        "RunDiffParams" => through::<change::DiffParams>(value),
        "RunDiffResult" => through::<change::DiffResult>(value),
        "RunRevertParams" => through::<change::RevertParams>(value),
        "RunRevertResult" => through::<change::RevertResult>(value),
        "RunListParams" => through::<run::ListParams>(value),
        "RunListResult" => through::<run::ListResult>(value),
        "RunEventsParams" => through::<run::EventsParams>(value),
        "RunEventsResult" => through::<run::EventsResult>(value),
        "RunEventParams" => through::<run::EventParams>(value),
        "Record" => through::<Record>(value),
        "RunEvent" => through::<RunEvent>(value),
        "Steer" => through::<Steer>(value),
        "TrustParams" => through::<trust::TrustParams>(value),
        "TrustResult" => through::<trust::TrustResult>(value),
        "TaskCleanParams" => through::<change::CleanParams>(value),
        "TaskCleanResult" => through::<change::CleanResult>(value),
        "TaskListParams" => through::<task::ListParams>(value),
        "TaskListResult" => through::<task::ListResult>(value),
        "TaskAddParams" => through::<task::AddParams>(value),
        "TaskResult" => through::<task::TaskResult>(value),
        "TaskImportParams" => through::<task::ImportParams>(value),
        "TaskImportResult" => through::<task::ImportResult>(value),
        "TaskEditParams" => through::<task::EditParams>(value),
        "TaskReadyParams" => through::<task::ReadyParams>(value),
        "TaskStartParams" => through::<task::StartParams>(value),
        "TaskStartResult" => through::<task::StartResult>(value),
        "QuestionListParams" => through::<question::ListParams>(value),
        "QuestionListResult" => through::<question::ListResult>(value),
        "QuestionAnswerParams" => through::<question::AnswerParams>(value),
        "QuestionAnswerResult" => through::<question::AnswerResult>(value),
        "QuestionOpenedParams" => through::<question::OpenedParams>(value),
        "QuestionResolvedParams" => through::<question::ResolvedParams>(value),
        "Question" => through::<Question>(value),
        "Answer" => through::<Answer>(value),
        "DocumentReadParams" => through::<document::ReadParams>(value),
        "DocumentReadResult" => through::<document::ReadResult>(value),
        "EditorViewParams" => through::<editor::ViewParams>(value),
        "EditorViewResult" => through::<editor::ViewResult>(value),
        "ModelsListParams" => through::<models::ListParams>(value),
        "ModelsListResult" => through::<models::ListResult>(value),
        "ModelsKeyParams" => through::<models::KeyParams>(value),
        "ModelsKeyResult" => through::<models::KeyResult>(value),
        "SettingsListParams" => through::<settings::ListParams>(value),
        "SettingsListResult" => through::<settings::ListResult>(value),
        "DocumentSaveParams" => through::<document::SaveParams>(value),
        "DocumentSaveResult" => through::<document::SaveResult>(value),
        "InitializeParams" => {
            inside::<capabilities::ClientOffer>(value, "/capabilities/experimental/outrigger")
        }
        "InitializeResult" => {
            inside::<capabilities::ServerOffer>(value, "/capabilities/experimental/outrigger")
        }
        "ResponseError" => inside::<error::ErrorData>(value, "/data"),
        "ExecuteCommandParams" => command(value),
        other => Err(format!("no type is named {other}")),
    }
}

fn through<T: Serialize + DeserializeOwned>(value: &Value) -> Result<Value, String> {
    let read: T = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    serde_json::to_value(read).map_err(|error| error.to_string())
}

/// A message of LSP with a part of ours.
fn inside<T: Serialize + DeserializeOwned>(value: &Value, pointer: &str) -> Result<Value, String> {
    let mut whole = value.clone();
    let part = whole
        .pointer_mut(pointer)
        .ok_or(format!("nothing at {pointer}"))?;
    *part = through::<T>(part)?;
    Ok(whole)
}

/// Commands take the params of a method, of which they show only what must be given: what is shown must come back.
fn command(value: &Value) -> Result<Value, String> {
    let argument = &value["arguments"][0];
    let mut back = match value["command"].as_str() {
        Some("outrigger.run") => through::<run::StartParams>(argument),
        Some("outrigger.cancel") => through::<run::CancelParams>(argument),
        Some("outrigger.resume") => through::<run::ResumeParams>(argument),
        Some("outrigger.revert") => through::<change::RevertParams>(argument),
        // Of a question, of a passage, of nothing: no method takes these alone.
        Some("outrigger.writeAnswer" | "outrigger.writePrompt" | "outrigger.questions") => {
            Ok(argument.clone())
        }
        Some("outrigger.answer") => through::<question::AnswerParams>(argument),
        other => Err(format!("no command is named {other:?}")),
    }?;
    if let (Some(back), Some(shown)) = (back.as_object_mut(), argument.as_object()) {
        back.retain(|name, _| shown.contains_key(name));
    }
    Ok(json!({ "command": value["command"], "arguments": [back] }))
}

/// The constants by which a schema tells its variants apart: of `tag`, or the schema's own when it has none.
fn variants(schema: &Value, tag: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for alternative in schema["oneOf"].as_array().into_iter().flatten() {
        let place = if tag.is_empty() {
            alternative
        } else {
            &alternative["properties"][tag]
        };
        found.extend(place["const"].as_str().map(str::to_owned));
        found.extend(
            place["enum"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned),
        );
    }
    found
}

/// All texts under a field of this name, at any depth.
fn texts_under(value: &Value, name: &str) -> Vec<String> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(field, value)| match value {
                Value::String(text) if field == name => vec![text.clone()],
                _ => texts_under(value, name),
            })
            .collect(),
        Value::Array(items) => items
            .iter()
            .flat_map(|item| texts_under(item, name))
            .collect(),
        _ => Vec::new(),
    }
}
