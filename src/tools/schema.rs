//! What the model is told about its tools, and its calls read back. The structs of [`crate::kernel::tool`] are the only source.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::kernel::tool::{
    AskUser, CheckWork, DeleteFile, EditFile, EditFiles, FindFiles, FinishTask, ListFiles,
    MoveFile, ProposePlan, ReadDiagnostics, ReadFile, RunCommand, SearchFiles, ToolUse, UpdatePlan,
    WriteFile,
};

/// A tool as it is offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: &'static str,
    /// What the tool does, for the model.
    pub description: String,
    /// JSON Schema of the arguments: one object, nothing by reference, no further properties.
    pub schema: Value,
}

/// One tool: its name, its schema and how its arguments are read.
struct Tool {
    name: &'static str,
    schema: fn(SchemaGenerator) -> schemars::Schema,
    read: fn(Value) -> Result<ToolUse, String>,
}

const TOOLS: [Tool; 16] = [
    tool::<ReadFile>("read", |value| from_value(value).map(ToolUse::Read)),
    tool::<WriteFile>("write", |value| from_value(value).map(ToolUse::Write)),
    tool::<EditFile>("edit", |value| from_value(value).map(ToolUse::Edit)),
    tool::<EditFiles>("multi_edit", |value| {
        from_value(value).map(ToolUse::MultiEdit)
    }),
    tool::<DeleteFile>("delete", |value| from_value(value).map(ToolUse::Delete)),
    tool::<MoveFile>("move", |value| from_value(value).map(ToolUse::Move)),
    tool::<ListFiles>("list", |value| from_value(value).map(ToolUse::List)),
    tool::<SearchFiles>("search", |value| from_value(value).map(ToolUse::Search)),
    tool::<RunCommand>("command", |value| from_value(value).map(ToolUse::Command)),
    tool::<AskUser>("ask", |value| from_value(value).map(ToolUse::Ask)),
    tool::<UpdatePlan>("plan", |value| from_value(value).map(ToolUse::Plan)),
    tool::<FindFiles>("glob", |value| from_value(value).map(ToolUse::Glob)),
    tool::<CheckWork>("check", |value| from_value(value).map(ToolUse::Check)),
    tool::<ReadDiagnostics>("diagnostics", |value| {
        from_value(value).map(ToolUse::Diagnostics)
    }),
    tool::<FinishTask>("finish", |value| from_value(value).map(ToolUse::Finish)),
    tool::<ProposePlan>("propose_plan", |value| {
        from_value(value).map(ToolUse::ProposePlan)
    }),
];

const fn tool<T: JsonSchema>(
    name: &'static str,
    read: fn(Value) -> Result<ToolUse, String>,
) -> Tool {
    Tool {
        name,
        schema: |generator| generator.into_root_schema_for::<T>(),
        read,
    }
}

/// All tools, in the order in which they are offered.
pub fn specs() -> Vec<ToolSpec> {
    TOOLS.iter().map(spec).collect()
}

fn spec(tool: &Tool) -> ToolSpec {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        // Several providers do not follow references.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = Value::from((tool.schema)(settings.into_generator()));
    let mut description = String::new();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        if let Some(Value::String(text)) = object.remove("description") {
            description = text;
        }
    }
    ToolSpec {
        name: tool.name,
        description,
        schema,
    }
}

/// Reads a call of the model. `arguments` is the JSON object as text; a JSON string that holds it is taken too, since some
/// models quote twice, and so is nothing at all for a tool that needs no argument.
///
/// # Errors
/// A text for the model: what does not fit, where, and what would.
pub fn parse(name: &str, arguments: &str) -> Result<ToolUse, String> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        return Err(unknown_tool(name));
    };
    let text = if arguments.trim().is_empty() {
        "{}"
    } else {
        arguments
    };
    let mut value: Value = serde_json::from_str(text)
        .map_err(|error| format!("the arguments of `{name}` are not valid JSON: {error}"))?;
    if let Value::String(inner) = &value {
        value = serde_json::from_str(inner).map_err(|error| {
            format!("the arguments of `{name}` are a string, and not of valid JSON: {error}; give a JSON object")
        })?;
    }
    if !value.is_object() {
        return Err(format!(
            "the arguments of `{name}` are {}; give a JSON object with {}",
            kind(&value),
            fields(tool)
        ));
    }
    (tool.read)(value).map_err(|error| {
        format!(
            "the arguments of `{name}` do not fit: {error}; it takes {}",
            fields(tool)
        )
    })
}

/// Reads arguments; the error names the place inside them.
fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        if path == "." {
            inner.to_string()
        } else {
            format!("`{path}`: {inner}")
        }
    })
}

fn unknown_tool(name: &str) -> String {
    let nearest = TOOLS
        .iter()
        .map(|tool| (likeness(name, tool.name), tool.name))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    let hint = match nearest {
        Some((_, nearest)) => format!("did you mean `{nearest}`? "),
        None => String::new(),
    };
    let names: Vec<String> = TOOLS
        .iter()
        .map(|tool| format!("`{}`", tool.name))
        .collect();
    format!(
        "there is no tool `{}`; {hint}the tools are {}",
        shown_name(name),
        names.join(", ")
    )
}

/// A made-up name may be as long as an answer.
fn shown_name(name: &str) -> String {
    let start: String = name.chars().take(60).collect();
    start.escape_debug().to_string()
}

/// From 0 to 1. A name inside the other one (`read_file`, `run_command`) is very like it.
fn likeness(given: &str, known: &str) -> f32 {
    let given: String = given
        .chars()
        .take(60)
        .flat_map(char::to_lowercase)
        .collect();
    let contained = given
        .split(|letter: char| !letter.is_alphanumeric())
        .any(|word| word == known);
    if contained {
        return 0.95;
    }
    similar::TextDiff::from_chars(given.as_str(), known).ratio()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The tool's fields in words: required ones first, as the schema lists them.
fn fields(tool: &Tool) -> String {
    let spec = spec(tool);
    let required: Vec<&str> = spec
        .schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let all = spec.schema.get("properties").and_then(Value::as_object);
    let optional: Vec<String> = all
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .filter(|name| !required.contains(&name.as_str()))
        .map(|name| format!("`{name}`"))
        .collect();
    let required: Vec<String> = required.iter().map(|name| format!("`{name}`")).collect();
    match (required.is_empty(), optional.is_empty()) {
        (false, false) => format!(
            "{} and optionally {}",
            required.join(", "),
            optional.join(", ")
        ),
        (false, true) => required.join(", "),
        (true, false) => format!("optionally {}", optional.join(", ")),
        (true, true) => "no field".to_owned(),
    }
}

#[cfg(test)]
mod tests;
