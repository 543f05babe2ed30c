//! What a turn must be shown, and the message people get when it was shown something else.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::kernel::conversation::{Block, ModelRequest, Role};

/// What a report of gates says to the model, in lower case; `when: {"verify": …}` looks for it in what came last. The
/// first is how the kernel puts it, the second how a script's author may.
pub const VERIFICATION_FAILED: [&str; 2] = ["new finding(s)", "verification failed"];
pub const VERIFICATION_PASSED: [&str; 2] = ["found nothing new", "verification passed"];

/// Assertions on a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// What came last: everything after the model's last turn.
    pub last: Option<Last>,
    /// Texts that the system prompt must contain.
    pub system: Texts,
    /// Texts that must be somewhere in the messages.
    pub anywhere: Texts,
    /// Texts that must be nowhere in the messages.
    pub nowhere: Texts,
    /// Tools that must be on offer; others may be, too.
    pub tools: Vec<String>,
}

/// Assertions on what came last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Last {
    pub role: Option<LastRole>,
    /// The tool call whose result is meant, as the script names it.
    pub id: Option<String>,
    pub contains: Texts,
    pub lacks: Texts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LastRole {
    User,
    Tool,
}

/// One text or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "OneOrMany")]
pub struct Texts(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Texts {
    fn from(texts: OneOrMany) -> Self {
        match texts {
            OneOrMany::One(text) => Self(vec![text]),
            OneOrMany::Many(texts) => Self(texts),
        }
    }
}

/// When a conditional turn is taken.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Condition {
    pub verify: Option<Verdict>,
    pub last: Option<Last>,
    pub anywhere: Texts,
    pub nowhere: Texts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Failed,
    Passed,
}

impl Condition {
    pub fn holds(&self, request: &ModelRequest, actual_id: &dyn Fn(&str) -> String) -> bool {
        if let Some(verdict) = self.verify {
            let phrases = match verdict {
                Verdict::Failed => VERIFICATION_FAILED,
                Verdict::Passed => VERIFICATION_PASSED,
            };
            let text = Shown::of(request).text.to_lowercase();
            if !phrases.iter().any(|phrase| text.contains(phrase)) {
                return false;
            }
        }
        let expect = Expect {
            last: self.last.clone(),
            anywhere: self.anywhere.clone(),
            nowhere: self.nowhere.clone(),
            ..Expect::default()
        };
        expect.misses(request, actual_id).is_none()
    }
}

impl Expect {
    /// `None` when the request is as expected, else one line per assertion that missed, `-` what was expected and `+`
    /// what was shown.
    pub fn misses(
        &self,
        request: &ModelRequest,
        actual_id: &dyn Fn(&str) -> String,
    ) -> Option<String> {
        let mut report = String::new();
        if let Some(last) = &self.last {
            last.misses(&Shown::of(request), actual_id, &mut report);
        }
        for text in &self.system.0 {
            if !request.system.contains(text.as_str()) {
                miss(
                    &mut report,
                    &format!("system prompt contains {text:?}"),
                    &excerpt(&request.system),
                );
            }
        }
        if !self.anywhere.0.is_empty() || !self.nowhere.0.is_empty() {
            let all = all_text(request);
            for text in &self.anywhere.0 {
                if !all.contains(text.as_str()) {
                    miss(
                        &mut report,
                        &format!("some message contains {text:?}"),
                        "none does",
                    );
                }
            }
            for text in &self.nowhere.0 {
                if all.contains(text.as_str()) {
                    miss(
                        &mut report,
                        &format!("no message contains {text:?}"),
                        "one does",
                    );
                }
            }
        }
        for tool in &self.tools {
            if !request.tools.contains(tool) {
                miss(
                    &mut report,
                    &format!("tool `{tool}` is on offer"),
                    &format!("tools: {}", request.tools.join(", ")),
                );
            }
        }
        (!report.is_empty()).then_some(report)
    }
}

impl Last {
    fn misses(&self, shown: &Shown, actual_id: &dyn Fn(&str) -> String, report: &mut String) {
        match self.role {
            Some(LastRole::Tool) if shown.results.is_empty() => {
                miss(
                    report,
                    "last role: tool",
                    &format!("last role: user, {}", excerpt(&shown.text)),
                );
            }
            Some(LastRole::User) if !shown.has_user_text => {
                miss(
                    report,
                    "last role: user",
                    &format!("last role: {}", shown.role_word()),
                );
            }
            Some(LastRole::Tool | LastRole::User) | None => {}
        }
        let mut text = shown.text.as_str();
        if let Some(id) = &self.id {
            let actual = actual_id(id);
            match shown.results.iter().find(|(call, _)| *call == actual) {
                Some((_, result)) => text = result,
                None => {
                    let ids: Vec<&str> = shown
                        .results
                        .iter()
                        .map(|(call, _)| call.as_str())
                        .collect();
                    let ids = if ids.is_empty() {
                        "none".to_owned()
                    } else {
                        ids.join(", ")
                    };
                    miss(
                        report,
                        &format!("result of tool call `{actual}`"),
                        &format!("results of: {ids}"),
                    );
                    return;
                }
            }
        }
        for expected in &self.contains.0 {
            if !text.contains(expected.as_str()) {
                miss(
                    report,
                    &format!("last contains {expected:?}"),
                    &excerpt(text),
                );
            }
        }
        for unwanted in &self.lacks.0 {
            if text.contains(unwanted.as_str()) {
                miss(report, &format!("last lacks {unwanted:?}"), &excerpt(text));
            }
        }
    }
}

/// Everything the request shows after the model's last turn.
struct Shown {
    has_user_text: bool,
    ends_with_assistant: bool,
    /// Tool call and its result, in order.
    results: Vec<(String, String)>,
    text: String,
}

impl Shown {
    fn of(request: &ModelRequest) -> Self {
        let mut tail: Vec<&Block> = Vec::new();
        for message in request
            .messages
            .iter()
            .rev()
            .take_while(|message| message.role == Role::User)
        {
            tail.splice(0..0, &message.blocks);
        }
        let mut shown = Self {
            has_user_text: false,
            ends_with_assistant: request
                .messages
                .last()
                .is_some_and(|message| message.role == Role::Assistant),
            results: Vec::new(),
            text: String::new(),
        };
        for block in tail {
            match block {
                Block::Text { text, .. } => {
                    shown.has_user_text = true;
                    shown.push(text);
                }
                Block::ToolResult { call, text, .. } => {
                    shown.results.push((call.0.clone(), text.clone()));
                    shown.push(text);
                }
                Block::Image { .. } => shown.has_user_text = true,
                Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque { .. } => {}
            }
        }
        shown
    }

    fn push(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    fn role_word(&self) -> &'static str {
        if !self.results.is_empty() {
            "tool"
        } else if self.ends_with_assistant {
            "assistant"
        } else {
            "none"
        }
    }
}

/// The texts of all messages, tool calls and results included.
fn all_text(request: &ModelRequest) -> String {
    let mut all = String::new();
    for block in request.messages.iter().flat_map(|message| &message.blocks) {
        match block {
            Block::Text { text, .. }
            | Block::Thinking { text, .. }
            | Block::ToolResult { text, .. } => {
                all.push_str(text);
            }
            Block::ToolCall(call) => {
                all.push_str(&call.name);
                all.push('\n');
                all.push_str(&call.arguments);
            }
            Block::Image { .. } | Block::Opaque { .. } => {}
        }
        all.push('\n');
    }
    all
}

fn miss(report: &mut String, expected: &str, shown: &str) {
    // Writing to a String cannot fail.
    let _ = write!(report, "\n- {expected}\n+ {shown}");
}

/// The end of a text, where what matters stands, on one line and short enough to read.
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 400;
    let count = text.chars().count();
    if count <= LONGEST {
        return format!("{text:?}");
    }
    let end: String = text.chars().skip(count - LONGEST).collect();
    format!("…{end:?} (the last {LONGEST} of {count} characters)")
}
