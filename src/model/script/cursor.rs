//! Where a run stands in a script, and what the next turn is. Pure.

use std::collections::{HashMap, HashSet};

use crate::kernel::conversation::ToolCall;
use crate::kernel::conversation::{
    Block, ModelErrorKind, ModelFailure, ModelRequest, StopReason, TokenCounts, Usage,
};
use crate::kernel::ids::ToolCallId;
use crate::model::ToolSpec;
use crate::model::classify::{self, Signal, Stage};
use crate::model::estimate::{estimate_request, estimate_text};
use crate::model::turn::Draft;

use super::check::check_history;
use super::fault::Fault;
use super::parse::{Emit, Line, Pace, Script};
use super::values::{fill, fill_json};

/// One run's place in one script.
#[derive(Debug, Clone, Default)]
pub struct Cursor {
    /// Index of the next line.
    next: usize,
    /// How often the next line has been served in a row.
    served: u32,
    /// Lines that were served at least once or jumped over.
    used: HashSet<usize>,
    /// How often each of the script's ids has been sent, so that ids stay unique when a script uses one again.
    sent: HashMap<String, u32>,
    /// The script's id of a tool call → the one that was sent last.
    ids: HashMap<String, String>,
    turns: usize,
}

/// A turn that is decided, with every value filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedTurn {
    pub model: String,
    pub emit: Vec<Emit>,
    pub fault: Option<Fault>,
    pub pace: Pace,
    pub usage: Usage,
    pub stop: StopReason,
}

impl PlannedTurn {
    /// The turn as the wires would assemble it.
    pub fn draft(&self) -> Draft {
        let mut draft = Draft::new(self.model.clone());
        draft.usage = self.usage;
        draft.stop = Some(self.stop.clone());
        draft.blocks = self.emit.iter().map(block_of).collect();
        draft
    }
}

/// The script's id of the call, if this item is what made it.
fn own_id<'a>(item: &'a Emit, call: &ToolCall) -> Option<&'a str> {
    let (Emit::Tool { name, id, .. } | Emit::RawTool { name, id, .. }) = item else {
        return None;
    };
    let rest = call.id.as_str().strip_prefix(id.as_str())?;
    (*name == call.name && (rest.is_empty() || rest.starts_with('-'))).then_some(id)
}

fn block_of(item: &Emit) -> Block {
    match item {
        Emit::Text(text) => Block::text(text.clone()),
        Emit::Thinking { text, signature } => Block::Thinking {
            text: text.clone(),
            signature: signature.clone(),
            raw: None,
        },
        Emit::Tool { name, id, args } => Block::ToolCall(ToolCall {
            id: ToolCallId::new(id),
            name: name.clone(),
            arguments: args.to_string(),
            raw: None,
        }),
        Emit::RawTool { name, id, args } => Block::ToolCall(ToolCall {
            id: ToolCallId::new(id),
            name: name.clone(),
            arguments: args.clone(),
            raw: None,
        }),
    }
}

impl Cursor {
    /// A cursor for a conversation that has begun elsewhere, such as before a restart: behind the line that said the
    /// last thing the request shows of the model; at the start when it shows none.
    pub fn resumed(script: &Script, request: &ModelRequest) -> Self {
        let mut cursor = Self::default();
        let mut said: Vec<&ToolCall> = Vec::new();
        for block in request.messages.iter().flat_map(|message| &message.blocks) {
            if let Block::ToolCall(call) = block {
                said.push(call);
            }
        }
        for call in said {
            let line = script.lines.iter().enumerate().find_map(|(index, line)| {
                let own = line.emit.iter().find_map(|item| own_id(item, call))?;
                Some((index, own.to_owned()))
            });
            if let Some((index, own)) = line {
                cursor.used.extend(cursor.next..=index);
                cursor.next = script
                    .lines
                    .get(index)
                    .and_then(|line| line.goto)
                    .unwrap_or(index + 1);
                *cursor.sent.entry(own.clone()).or_default() += 1;
                cursor.ids.insert(own, call.id.0.clone());
            }
        }
        cursor
    }

    /// Decides the next turn and steps past it. A request that is not as expected leaves the cursor where it is.
    ///
    /// # Errors
    ///
    /// The request is not what the script expects, would be refused by any provider, is too long for the script's
    /// window, or comes after the script's end.
    pub fn next(
        &mut self,
        script: &Script,
        request: &ModelRequest,
        tools: &[ToolSpec],
    ) -> Result<PlannedTurn, ModelFailure> {
        check_history(request).map_err(|problem| {
            refusal(
                script,
                "script.history",
                &format!("request {} is not valid: {problem}", self.turns + 1),
            )
        })?;
        let prompt = estimate_request(request, tools);
        if let Some(window) = script.context_window.filter(|window| prompt > *window) {
            return Err(too_long(prompt, window));
        }
        let (index, line) = self.find(script, request)?;
        let turn = self.turns + 1;
        let ids = self.ids.clone();
        let actual_id = move |id: &str| ids.get(id).cloned().unwrap_or_else(|| id.to_owned());
        if let Some(expect) = &line.expect
            && let Some(misses) = expect.misses(request, &actual_id)
        {
            let place = format!(
                "turn {turn} of {} (line {}) was shown something else than it expects",
                script.name, line.number
            );
            return Err(refusal(
                script,
                "script.expect",
                &format!("{place}{misses}"),
            ));
        }
        let mut sent = self.sent.clone();
        let mut emit = Vec::with_capacity(line.emit.len());
        let mut renamed: Vec<(String, String)> = Vec::new();
        for item in &line.emit {
            let mut item = filled(item, request, &actual_id).map_err(|problem| {
                refusal(
                    script,
                    "script.value",
                    &format!(
                        "turn {turn} of {} (line {}): {problem}",
                        script.name, line.number
                    ),
                )
            })?;
            if let Emit::Tool { id, .. } | Emit::RawTool { id, .. } = &mut item {
                let own = id.clone();
                let times = sent.entry(own.clone()).or_default();
                *times += 1;
                if *times > 1 {
                    *id = format!("{own}-{times}");
                }
                renamed.push((own, id.clone()));
            }
            emit.push(item);
        }
        self.ids.extend(renamed);
        self.turns = turn;
        self.sent = sent;
        self.step_past(script, index, line);
        let has_calls = emit
            .iter()
            .any(|item| matches!(item, Emit::Tool { .. } | Emit::RawTool { .. }));
        Ok(PlannedTurn {
            model: script.model.clone(),
            usage: line.usage.unwrap_or_else(|| Usage {
                input: prompt,
                output: emit.iter().map(size).sum(),
                ..Usage::default()
            }),
            stop: line.stop.clone().unwrap_or(if has_calls {
                StopReason::ToolUse
            } else {
                StopReason::EndTurn
            }),
            emit,
            fault: line.fault.clone(),
            pace: line.pace,
        })
    }

    /// What has to be said about turns nobody asked for.
    ///
    /// # Errors
    ///
    /// Names the lines that were neither played nor skipped by a condition or a jump.
    pub fn finish(&self, script: &Script) -> Result<(), String> {
        let unused: Vec<String> = script
            .lines
            .iter()
            .enumerate()
            .filter(|(index, line)| {
                !self.used.contains(index) && !line.optional && line.when.is_none()
            })
            .map(|(_, line)| line.number.to_string())
            .collect();
        if unused.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{}: {} turn(s) were never asked for: line {}",
            script.name,
            unused.len(),
            unused.join(", ")
        ))
    }

    fn find<'a>(
        &mut self,
        script: &'a Script,
        request: &ModelRequest,
    ) -> Result<(usize, &'a Line), ModelFailure> {
        let ids = self.ids.clone();
        let actual_id = move |id: &str| ids.get(id).cloned().unwrap_or_else(|| id.to_owned());
        let mut index = self.next;
        let mut skipped = Vec::new();
        while let Some(line) = script.lines.get(index) {
            if line
                .when
                .as_ref()
                .is_none_or(|condition| condition.holds(request, &actual_id))
            {
                return Ok((index, line));
            }
            skipped.push(line.number.to_string());
            index += 1;
        }
        let why = if skipped.is_empty() {
            format!(
                "script exhausted at turn {}: {} has {} turn(s) and was asked for one more",
                self.turns + 1,
                script.name,
                script.lines.len()
            )
        } else {
            format!(
                "script exhausted at turn {}: no condition held on line {} of {}",
                self.turns + 1,
                skipped.join(", "),
                script.name
            )
        };
        Err(refusal(script, "script.exhausted", &why))
    }

    fn step_past(&mut self, script: &Script, index: usize, line: &Line) {
        self.served = if self.next == index {
            self.served + 1
        } else {
            1
        };
        self.used.insert(index);
        if self.served < line.times {
            self.next = index;
            return;
        }
        self.served = 0;
        self.next = line.goto.unwrap_or(index + 1);
        if self.next > index + 1 {
            self.used
                .extend(index + 1..self.next.min(script.lines.len()));
        }
    }
}

fn filled(
    item: &Emit,
    request: &ModelRequest,
    actual_id: &dyn Fn(&str) -> String,
) -> Result<Emit, String> {
    Ok(match item {
        Emit::Text(text) => Emit::Text(fill(text, request, actual_id)?),
        Emit::Thinking { text, signature } => Emit::Thinking {
            text: fill(text, request, actual_id)?,
            signature: signature.clone(),
        },
        Emit::Tool { name, id, args } => Emit::Tool {
            name: name.clone(),
            id: id.clone(),
            args: fill_json(args, request, actual_id)?,
        },
        Emit::RawTool { name, id, args } => Emit::RawTool {
            name: name.clone(),
            id: id.clone(),
            args: fill(args, request, actual_id)?,
        },
    })
}

fn size(item: &Emit) -> u64 {
    match item {
        Emit::Text(text) | Emit::Thinking { text, .. } => estimate_text(text),
        Emit::Tool { name, args, .. } => estimate_text(name) + estimate_text(&args.to_string()),
        Emit::RawTool { name, args, .. } => estimate_text(name) + estimate_text(args),
    }
}

fn refusal(script: &Script, rule: &str, what: &str) -> ModelFailure {
    let first_line = what.lines().next().unwrap_or(what);
    ModelFailure {
        kind: ModelErrorKind::InvalidRequest,
        retryable: false,
        retry_after_ms: None,
        status: None,
        tokens: None,
        rule: rule.to_owned(),
        raw: classify::masked(what),
        advice: format!(
            "The scripted model stopped: {first_line}; correct {} or what it is shown.",
            script.name
        ),
        usage: Usage::default(),
    }
}

fn too_long(prompt: u64, window: u64) -> ModelFailure {
    let body = format!("prompt is too long: {prompt} tokens > {window} maximum");
    let mut failure = classify::classify(
        &Signal::new(Stage::Http, &body)
            .status(400)
            .provider("scripted"),
    );
    failure.kind = ModelErrorKind::PromptTooLong;
    failure.tokens = Some(TokenCounts {
        actual: Some(prompt),
        limit: Some(window),
    });
    failure
}
