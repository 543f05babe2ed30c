//! The whole contract as data: every custom method with its types, every type as a schema.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::protocol::{
    self, capabilities, change, document, editor, error, method, models, question, run, settings,
    task, trust,
};

const REFERENCE: &str = "#/$defs/";

/// Who sends a method, and whether it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    ClientRequest,
    ServerNotification,
    ServerRequest,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::ClientRequest => "clientRequest",
            Self::ServerNotification => "serverNotification",
            Self::ServerRequest => "serverRequest",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Method {
    pub name: &'static str,
    pub kind: Kind,
    /// Names in [`Contract::definitions`].
    pub params: &'static str,
    pub result: Option<&'static str>,
}

/// Methods and types. Types are named as in Rust, those of a method after it (`outrigger/run/start`: `RunStartParams`,
/// `RunStartResult`).
#[derive(Debug)]
pub struct Contract {
    pub methods: Vec<Method>,
    /// JSON Schema by name.
    pub definitions: Map<String, Value>,
}

impl Contract {
    pub fn of_this_build() -> Self {
        let mut types = Types::new();
        types.received::<capabilities::ClientOffer>("ClientOffer");
        types.sent::<capabilities::ServerOffer>("ServerOffer");
        types.sent::<error::ErrorData>("ErrorData");
        let mut methods = Vec::new();
        {
            let mut request = |name, params, result| {
                methods.push(Method {
                    name,
                    kind: Kind::ClientRequest,
                    params,
                    result: Some(result),
                });
            };
            types.received::<run::StartParams>("RunStartParams");
            types.sent::<run::StartResult>("RunStartResult");
            request(method::RUN_START, "RunStartParams", "RunStartResult");
            types.received::<run::CancelParams>("RunCancelParams");
            types.sent::<run::CancelResult>("RunCancelResult");
            request(method::RUN_CANCEL, "RunCancelParams", "RunCancelResult");
            types.received::<run::SteerParams>("RunSteerParams");
            types.sent::<run::SteerResult>("RunSteerResult");
            request(method::RUN_STEER, "RunSteerParams", "RunSteerResult");
            types.received::<run::ResumeParams>("RunResumeParams");
            types.sent::<run::ResumeResult>("RunResumeResult");
            request(method::RUN_RESUME, "RunResumeParams", "RunResumeResult");
            types.received::<change::ChangesParams>("RunChangesParams");
            types.sent::<change::ChangesResult>("RunChangesResult");
            request(method::RUN_CHANGES, "RunChangesParams", "RunChangesResult");
            types.received::<change::DiffParams>("RunDiffParams");
            types.sent::<change::DiffResult>("RunDiffResult");
            request(method::RUN_DIFF, "RunDiffParams", "RunDiffResult");
            types.received::<change::RevertParams>("RunRevertParams");
            types.sent::<change::RevertResult>("RunRevertResult");
            request(method::RUN_REVERT, "RunRevertParams", "RunRevertResult");
            types.received::<change::CleanParams>("TaskCleanParams");
            types.sent::<change::CleanResult>("TaskCleanResult");
            request(method::TASK_CLEAN, "TaskCleanParams", "TaskCleanResult");
            types.received::<run::ListParams>("RunListParams");
            types.sent::<run::ListResult>("RunListResult");
            request(method::RUN_LIST, "RunListParams", "RunListResult");
            types.received::<run::EventsParams>("RunEventsParams");
            types.sent::<run::EventsResult>("RunEventsResult");
            request(method::RUN_EVENTS, "RunEventsParams", "RunEventsResult");
            types.received::<task::ListParams>("TaskListParams");
            types.sent::<task::ListResult>("TaskListResult");
            request(method::TASK_LIST, "TaskListParams", "TaskListResult");
            types.sent::<task::TaskResult>("TaskResult");
            types.received::<task::AddParams>("TaskAddParams");
            request(method::TASK_ADD, "TaskAddParams", "TaskResult");
            types.received::<task::ImportParams>("TaskImportParams");
            types.sent::<task::ImportResult>("TaskImportResult");
            request(method::TASK_IMPORT, "TaskImportParams", "TaskImportResult");
            types.received::<task::EditParams>("TaskEditParams");
            request(method::TASK_EDIT, "TaskEditParams", "TaskResult");
            types.received::<task::ReadyParams>("TaskReadyParams");
            request(method::TASK_READY, "TaskReadyParams", "TaskResult");
            types.received::<task::StartParams>("TaskStartParams");
            types.sent::<task::StartResult>("TaskStartResult");
            request(method::TASK_START, "TaskStartParams", "TaskStartResult");
            types.received::<question::ListParams>("QuestionListParams");
            types.sent::<question::ListResult>("QuestionListResult");
            request(
                method::QUESTION_LIST,
                "QuestionListParams",
                "QuestionListResult",
            );
            types.received::<question::AnswerParams>("QuestionAnswerParams");
            types.sent::<question::AnswerResult>("QuestionAnswerResult");
            request(
                method::QUESTION_ANSWER,
                "QuestionAnswerParams",
                "QuestionAnswerResult",
            );
            types.received::<document::ReadParams>("DocumentReadParams");
            types.sent::<document::ReadResult>("DocumentReadResult");
            request(
                method::DOCUMENT_READ,
                "DocumentReadParams",
                "DocumentReadResult",
            );
            types.received::<editor::ViewParams>("EditorViewParams");
            types.sent::<editor::ViewResult>("EditorViewResult");
            request(method::EDITOR_VIEW, "EditorViewParams", "EditorViewResult");
            types.received::<models::ListParams>("ModelsListParams");
            types.sent::<models::ListResult>("ModelsListResult");
            request(method::MODELS_LIST, "ModelsListParams", "ModelsListResult");
            types.received::<models::KeyParams>("ModelsKeyParams");
            types.sent::<models::KeyResult>("ModelsKeyResult");
            request(method::MODELS_KEY, "ModelsKeyParams", "ModelsKeyResult");
            types.received::<settings::ListParams>("SettingsListParams");
            types.sent::<settings::ListResult>("SettingsListResult");
            request(
                method::SETTINGS_LIST,
                "SettingsListParams",
                "SettingsListResult",
            );
            types.received::<trust::TrustParams>("TrustParams");
            types.sent::<trust::TrustResult>("TrustResult");
            request(method::TRUST, "TrustParams", "TrustResult");
        }
        {
            let mut notification = |name, params| {
                methods.push(Method {
                    name,
                    kind: Kind::ServerNotification,
                    params,
                    result: None,
                });
            };
            types.sent::<run::EventParams>("RunEventParams");
            notification(method::RUN_EVENT, "RunEventParams");
            types.sent::<run::InterruptedParams>("RunInterruptedParams");
            notification(method::RUN_INTERRUPTED, "RunInterruptedParams");
            types.sent::<question::OpenedParams>("QuestionOpenedParams");
            notification(method::QUESTION_OPENED, "QuestionOpenedParams");
            types.sent::<question::ResolvedParams>("QuestionResolvedParams");
            notification(method::QUESTION_RESOLVED, "QuestionResolvedParams");
        }
        types.sent::<document::SaveParams>("DocumentSaveParams");
        types.received::<document::SaveResult>("DocumentSaveResult");
        methods.push(Method {
            name: method::DOCUMENT_SAVE,
            kind: Kind::ServerRequest,
            params: "DocumentSaveParams",
            result: Some("DocumentSaveResult"),
        });
        Self {
            methods,
            definitions: types.into_definitions(),
        }
    }

    pub fn json_schema(&self) -> Value {
        let methods: Map<String, Value> = self
            .methods
            .iter()
            .map(|method| {
                let mut entry = json!({
                    "kind": method.kind.name(),
                    "params": { "$ref": format!("{REFERENCE}{}", method.params) },
                });
                if let (Some(result), Some(entry)) = (method.result, entry.as_object_mut()) {
                    entry.insert(
                        "result".to_owned(),
                        json!({ "$ref": format!("{REFERENCE}{result}") }),
                    );
                }
                (method.name.to_owned(), entry)
            })
            .collect();
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Outrigger protocol",
            "description": "Custom methods of the Outrigger sidecar and their types. `x-methods` names the types of each method.",
            "x-version": protocol::VERSION,
            "x-methods": methods,
            "$defs": self.definitions,
        })
    }
}

/// Schemas from both sides: what may be left out differs. A field with a default need not be sent to us, yet we always
/// send it.
struct Types {
    received: SchemaGenerator,
    sent: SchemaGenerator,
}

impl Types {
    fn new() -> Self {
        Self {
            received: SchemaSettings::draft2020_12()
                .for_deserialize()
                .into_generator(),
            sent: SchemaSettings::draft2020_12()
                .for_serialize()
                .into_generator(),
        }
    }

    /// A type that clients send.
    fn received<T: JsonSchema>(&mut self, name: &str) {
        define::<T>(&mut self.received, name);
    }

    /// A type that clients are sent.
    fn sent<T: JsonSchema>(&mut self, name: &str) {
        define::<T>(&mut self.sent, name);
    }

    /// One set of names. A type that looks different to a sender and to a receiver is there twice; the sender's is
    /// called `…Input`.
    fn into_definitions(mut self) -> Map<String, Value> {
        let received = self.received.take_definitions(true);
        let mut all = self.sent.take_definitions(true);
        let different = different(&received, &all);
        for (name, mut schema) in received {
            rename_references(&mut schema, &different);
            if different.contains(&name) {
                all.insert(format!("{name}Input"), schema);
            } else {
                all.insert(name, schema);
            }
        }
        for schema in all.values_mut() {
            speak_json(schema);
        }
        all
    }
}

fn define<T: JsonSchema>(generator: &mut SchemaGenerator, name: &str) {
    let schema = T::json_schema(generator).to_value();
    generator.definitions_mut().insert(name.to_owned(), schema);
}

/// Names in both whose schemas differ, themselves or in what they refer to.
fn different(received: &Map<String, Value>, sent: &Map<String, Value>) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = received
        .iter()
        .filter(|(name, schema)| sent.get(*name).is_some_and(|other| other != *schema))
        .map(|(name, _)| name.clone())
        .collect();
    loop {
        let more: Vec<String> = received
            .iter()
            .filter(|(name, schema)| {
                sent.contains_key(*name)
                    && !found.contains(*name)
                    && references(schema).iter().any(|name| found.contains(name))
            })
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

fn references(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(schema, &mut |key, value| {
        if key == "$ref"
            && let Some(name) = value.as_str().and_then(|text| text.strip_prefix(REFERENCE))
        {
            found.push(name.to_owned());
        }
    });
    found
}

fn walk(value: &Value, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                visit(key, value);
                walk(value, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn rename_references(value: &mut Value, names: &BTreeSet<String>) {
    on_strings(value, "$ref", &mut |text| {
        let name = text.strip_prefix(REFERENCE)?;
        names
            .contains(name)
            .then(|| format!("{REFERENCE}{name}Input"))
    });
}

/// The docs in the source speak of Rust's `None`.
fn speak_json(value: &mut Value) {
    on_strings(value, "description", &mut |text| {
        text.contains("`None`")
            .then(|| text.replace("`None`", "`null`"))
    });
}

/// Replaces the strings under `key`, at any depth, where `replace` gives another.
fn on_strings(value: &mut Value, key: &str, replace: &mut impl FnMut(&str) -> Option<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == key => {
                        if let Some(new) = replace(text) {
                            *text = new;
                        }
                    }
                    _ => on_strings(value, key, replace),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                on_strings(item, key, replace);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_reference_leads_nowhere_and_no_two_types_share_a_name() {
        let contract = Contract::of_this_build();
        for (name, schema) in &contract.definitions {
            for target in references(schema) {
                assert!(
                    contract.definitions.contains_key(&target),
                    "{name} -> {target}"
                );
            }
            // That is how the generator tells apart two types of one name.
            assert!(!name.ends_with(|c: char| c.is_ascii_digit()), "{name}");
        }
        for method in &contract.methods {
            for name in std::iter::once(method.params).chain(method.result) {
                assert!(contract.definitions.contains_key(name), "{name}");
            }
        }
    }

    #[test]
    fn what_may_be_left_out_depends_on_who_sends() {
        let contract = Contract::of_this_build();
        let required = |name: &str| contract.definitions[name].get("required").cloned();
        assert_eq!(
            required("RunStartParams"),
            Some(json!(["prompt"])),
            "a client gives the prompt alone"
        );
        assert_eq!(required("BudgetInput"), None);
        assert_eq!(
            required("Budget"),
            Some(json!(["activeS", "tokens", "iterations"]))
        );
    }
}
