//! Reads a script: JSON lines into checked turns. Every error names its line.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::Value;

use crate::kernel::conversation::{StopReason, Usage};

use super::expect::{Condition, Expect};
use super::fault::{Fault, FaultFields};

/// A script that cannot be used, with the line at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}, line {line}: {problem}")]
pub struct ScriptError {
    pub name: String,
    pub line: usize,
    pub problem: String,
}

/// A whole script, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// How people know it: the file's path or the built-in's name.
    pub name: String,
    /// The model's name as turns report it.
    pub model: String,
    /// Tokens a request may have; over it the script answers `prompt_too_long` by itself.
    pub context_window: Option<u64>,
    pub lines: Vec<Line>,
    pub labels: HashMap<String, usize>,
}

/// One turn of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Line in the file, from 1.
    pub number: usize,
    pub when: Option<Condition>,
    pub expect: Option<Expect>,
    pub emit: Vec<Emit>,
    pub fault: Option<Fault>,
    /// How often in a row the line is served.
    pub times: u32,
    /// May stay unused.
    pub optional: bool,
    pub usage: Option<Usage>,
    pub pace: Pace,
    pub stop: Option<StopReason>,
    /// Index of the line to go on with.
    pub goto: Option<usize>,
}

/// One event of a turn, in no provider's dialect.
#[derive(Debug, Clone, PartialEq)]
pub enum Emit {
    Text(String),
    Thinking {
        text: String,
        signature: Option<String>,
    },
    Tool {
        name: String,
        id: String,
        args: Value,
    },
    /// Arguments as text, so that a script can send broken ones.
    RawTool {
        name: String,
        id: String,
        args: String,
    },
}

/// How fast a turn arrives. Zeroes: at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pace {
    /// Milliseconds to the first event.
    pub ttft_ms: u64,
    /// Characters a piece; 0 sends each item whole.
    pub chunk: usize,
    /// Milliseconds between pieces.
    pub gap_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderFields {
    script: u32,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    context_window: Option<u64>,
    /// Reserved for paces with jitter; a script stays deterministic.
    #[serde(default)]
    #[allow(dead_code)]
    seed: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineFields {
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    when: Option<Condition>,
    #[serde(default)]
    expect: Option<Expect>,
    #[serde(default)]
    emit: Vec<EmitFields>,
    #[serde(default)]
    fault: Option<FaultFields>,
    #[serde(default)]
    times: Option<u32>,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    usage: Option<UsageFields>,
    #[serde(default)]
    pace: Pace,
    #[serde(default)]
    stop: Option<String>,
    #[serde(default)]
    goto: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EmitFields {
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    tool: Option<String>,
    id: Option<String>,
    args: Option<Value>,
    raw_tool_args: Option<String>,
    stop: Option<String>,
    usage: Option<UsageFields>,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(deny_unknown_fields, default)]
struct UsageFields {
    r#in: u64,
    out: u64,
    cache_read: u64,
    cache_write: u64,
    reasoning: u64,
}

impl From<UsageFields> for Usage {
    fn from(fields: UsageFields) -> Self {
        Self {
            input: fields.r#in,
            output: fields.out,
            cache_read: fields.cache_read,
            cache_write: fields.cache_write,
            reasoning: fields.reasoning,
        }
    }
}

impl Script {
    /// Reads a script's text. Empty lines and lines that begin with `//` are skipped.
    ///
    /// # Errors
    ///
    /// The first line at fault.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let at = |line: usize, problem: String| ScriptError {
            name: name.to_owned(),
            line,
            problem,
        };
        let mut rows = text
            .lines()
            .enumerate()
            .map(|(index, row)| (index + 1, row.trim().trim_start_matches('\u{feff}')))
            .filter(|(_, row)| !row.is_empty() && !row.starts_with("//"));
        let Some((header_line, header)) = rows.next() else {
            return Err(at(
                1,
                r#"the script is empty; its first line must be a header such as {"script":1,"name":"demo"}"#
                    .to_owned(),
            ));
        };
        let header: HeaderFields = serde_json::from_str(header).map_err(|error| {
            at(
                header_line,
                format!(
                    r#"not a script header ({}); it must look like {{"script":1,"name":"demo"}}"#,
                    without_position(&error)
                ),
            )
        })?;
        if header.script != 1 {
            return Err(at(
                header_line,
                format!(
                    "script version {} is not known to this build, which reads version 1",
                    header.script
                ),
            ));
        }
        let mut lines: Vec<Line> = Vec::new();
        let mut labels: HashMap<String, usize> = HashMap::new();
        let mut gotos: BTreeMap<usize, (usize, String)> = BTreeMap::new();
        for (number, row) in rows {
            let fields: LineFields = serde_json::from_str(row).map_err(|error| {
                at(
                    number,
                    format!("{} (column {})", without_position(&error), error.column()),
                )
            })?;
            if let Some(label) = &fields.label
                && labels.insert(label.clone(), lines.len()).is_some()
            {
                return Err(at(number, format!("label `{label}` is used twice")));
            }
            if let Some(label) = &fields.goto {
                gotos.insert(lines.len(), (number, label.clone()));
            }
            lines.push(
                line(number, lines.len() + 1, fields).map_err(|problem| at(number, problem))?,
            );
        }
        if lines.is_empty() {
            return Err(at(
                header_line,
                "the script has a header but no turn".to_owned(),
            ));
        }
        for (index, (number, label)) in gotos {
            let target = labels.get(&label).copied();
            if target.is_none() {
                return Err(at(
                    number,
                    format!("goto `{label}`: no line has that label"),
                ));
            }
            if let Some(line) = lines.get_mut(index) {
                line.goto = target;
            }
        }
        let title = header.name.unwrap_or_else(|| name.to_owned());
        Ok(Self {
            name: name.to_owned(),
            model: header.model.unwrap_or_else(|| format!("scripted/{title}")),
            context_window: header.context_window,
            lines,
            labels,
        })
    }
}

fn line(number: usize, turn: usize, fields: LineFields) -> Result<Line, String> {
    let mut stop = fields.stop.as_deref().map(stop_reason).transpose()?;
    let mut usage = fields.usage;
    let mut emit = Vec::with_capacity(fields.emit.len());
    for (index, item) in fields.emit.into_iter().enumerate() {
        let position = index + 1;
        if let Some(word) = &item.stop {
            stop = Some(stop_reason(word)?);
        }
        usage = item.usage.or(usage);
        let carries_only_the_end = item.stop.is_some() || item.usage.is_some();
        match emit_item(item, turn, position)? {
            Some(event) => emit.push(event),
            None if carries_only_the_end => {}
            None => {
                return Err(format!(
                    "emit item {position} is none of text, thinking, tool, stop, usage"
                ));
            }
        }
    }
    let fault = fields.fault.map(Fault::try_from).transpose()?;
    if let Some(fault) = &fault
        && !emit.is_empty()
        && !fault.lets_events_through()
    {
        return Err(
            "this fault replaces the whole answer, so the line cannot emit anything".to_owned(),
        );
    }
    let times = fields.times.unwrap_or(1);
    if times == 0 {
        return Err("times must be at least 1".to_owned());
    }
    Ok(Line {
        number,
        when: fields.when,
        expect: fields.expect,
        emit,
        fault,
        times,
        optional: fields.optional,
        usage: usage.map(Usage::from),
        pace: fields.pace,
        stop,
        goto: None,
    })
}

fn emit_item(item: EmitFields, turn: usize, position: usize) -> Result<Option<Emit>, String> {
    let kinds = [
        item.text.is_some(),
        item.thinking.is_some(),
        item.tool.is_some(),
    ];
    if kinds.iter().filter(|is_there| **is_there).count() > 1 {
        return Err(format!(
            "emit item {position} must be one of text, thinking, tool, not several"
        ));
    }
    if let Some(text) = item.text {
        return Ok(Some(Emit::Text(text)));
    }
    if let Some(text) = item.thinking {
        return Ok(Some(Emit::Thinking {
            text,
            signature: item.signature,
        }));
    }
    let Some(name) = item.tool else {
        return Ok(None);
    };
    let id = item.id.unwrap_or_else(|| format!("t{turn}_{position}"));
    match (item.args, item.raw_tool_args) {
        (Some(_), Some(_)) => Err(format!(
            "emit item {position} has both args and raw_tool_args; keep one"
        )),
        (None, Some(args)) => Ok(Some(Emit::RawTool { name, id, args })),
        (args, None) => Ok(Some(Emit::Tool {
            name,
            id,
            args: args.unwrap_or_else(|| Value::Object(serde_json::Map::new())),
        })),
    }
}

fn stop_reason(word: &str) -> Result<StopReason, String> {
    Ok(match word {
        "end" | "end_turn" => StopReason::EndTurn,
        "tool" | "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "context_full" => StopReason::ContextFull,
        "content_filter" => StopReason::ContentFilter,
        "pause" => StopReason::Pause,
        other => {
            return Err(format!(
                "stop `{other}` is none of end, tool_use, max_tokens, context_full, content_filter, pause"
            ));
        }
    })
}

/// serde_json's message without its "at line 1 column 9", which would contradict the line of the file.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text.get(..end).unwrap_or(&text).to_owned(),
        None => text,
    }
}
