//! Commands of `workspace/executeCommand`: what a client that knows nothing of our methods can do with its bare hands.
//!
//! Each takes one object, as the method of the same purpose does, or short forms that a person can type.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kernel::ids::{GateId, QuestionId, RunId};
use crate::kernel::path::RelPath;
use crate::protocol::change::RevertParams;
use crate::protocol::question::AnswerParams;
use crate::protocol::run::StartParams;
use crate::protocol::task::{self, AddParams};

pub const RUN: &str = "outrigger.run";
pub const CANCEL: &str = "outrigger.cancel";
pub const RESUME: &str = "outrigger.resume";
pub const ANSWER: &str = "outrigger.answer";

/// Says what is open, and where it can be answered.
pub const QUESTIONS: &str = "outrigger.questions";
pub const REVERT: &str = "outrigger.revert";
/// Makes a task, as `outrigger/task/add` does.
pub const ADD_TASK: &str = "outrigger.addTask";
/// Starts a run of a task, as `outrigger/task/start` does.
pub const START_TASK: &str = "outrigger.startTask";
/// Opens a document in which an answer is written; saving it answers.
pub const WRITE_ANSWER: &str = "outrigger.writeAnswer";
/// Opens a document in which the prompt of a run is written; saving it starts the run.
pub const WRITE_PROMPT: &str = "outrigger.writePrompt";

/// Opens what a gate said in its own words.
pub const SHOW_GATE: &str = "outrigger.showGate";

pub const NAMES: [&str; 11] = [
    RUN,
    CANCEL,
    RESUME,
    ANSWER,
    QUESTIONS,
    REVERT,
    ADD_TASK,
    START_TASK,
    WRITE_ANSWER,
    WRITE_PROMPT,
    SHOW_GATE,
];

/// A command, read.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Run(StartParams),
    /// `None`: the one run that is not over.
    Cancel(Option<RunId>),
    /// `None`: the one run that was interrupted.
    Resume(Option<RunId>),
    Answer(AnswerParams),
    /// An answer as a person types it: a choice's id or label, or free text.
    AnswerInWords {
        question: QuestionId,
        words: String,
    },
    Questions,
    /// `None`: all of the run that ended last.
    Revert(Option<RevertParams>),
    AddTask(AddParams),
    StartTask(task::StartParams),
    WriteAnswer(QuestionId),
    /// `None`: a prompt about nothing in particular.
    WritePrompt(Option<Passage>),
    ShowGate(ShownGate),
}

/// A gate whose words are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownGate {
    pub gate: GateId,
    #[serde(default)]
    pub folder: Option<String>,
}

/// A part of a file that a prompt is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// Its workspace folder; needed where several have such a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub path: RelPath,
    /// 1-based, both included.
    pub first_line: u32,
    pub last_line: u32,
}

/// Reads a command. The error is for people.
pub fn read(name: &str, mut arguments: Vec<Value>) -> Result<Command, String> {
    // Some clients pack what the user typed into a list of its own.
    if let [Value::Array(inner)] = arguments.as_mut_slice() {
        arguments = std::mem::take(inner);
    }
    match name {
        RUN => read_run(arguments),
        CANCEL => read_run_id(CANCEL, &arguments).map(Command::Cancel),
        RESUME => read_run_id(RESUME, &arguments).map(Command::Resume),
        ANSWER => read_answer(arguments),
        QUESTIONS => Ok(Command::Questions),
        REVERT => read_revert(arguments),
        ADD_TASK => match first(arguments) {
            Value::String(words) => read_object(ADD_TASK, json!({ "description": words })),
            params => read_object(ADD_TASK, params),
        }
        .map(Command::AddTask),
        START_TASK => match first(arguments) {
            Value::String(id) => read_object(START_TASK, json!({ "taskId": id })),
            params => read_object(START_TASK, params),
        }
        .map(Command::StartTask),
        WRITE_ANSWER => read_write_answer(&arguments),
        WRITE_PROMPT => match first(arguments) {
            Value::Null => Ok(Command::WritePrompt(None)),
            passage => read_object(WRITE_PROMPT, passage)
                .map(|passage| Command::WritePrompt(Some(passage))),
        },
        SHOW_GATE => match first(arguments) {
            Value::String(gate) => Ok(Command::ShowGate(ShownGate {
                gate: GateId::new(gate),
                folder: None,
            })),
            object => read_object(SHOW_GATE, object).map(Command::ShowGate),
        },
        _ => Err(format!(
            "there is no command `{name}`; there are {}",
            NAMES.join(", ")
        )),
    }
}

fn read_run(arguments: Vec<Value>) -> Result<Command, String> {
    let words: Option<Vec<&str>> = arguments.iter().map(Value::as_str).collect();
    let params = match words {
        Some(words) if !words.is_empty() => json!({ "prompt": words.join(" ") }),
        Some(_) => {
            return Err(format!(
                "{RUN} takes what the run shall do, as a text or as {{\"prompt\": …}}"
            ));
        }
        None => first(arguments),
    };
    read_object(RUN, params).map(Command::Run)
}

fn read_run_id(name: &str, arguments: &[Value]) -> Result<Option<RunId>, String> {
    match arguments.first() {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) => Ok(Some(RunId::new(id))),
        Some(object) => match object.get("runId").and_then(Value::as_str) {
            Some(id) => Ok(Some(RunId::new(id))),
            None => Err(format!(
                "{name} takes nothing, a run's id, or {{\"runId\": …}}"
            )),
        },
    }
}

fn read_answer(arguments: Vec<Value>) -> Result<Command, String> {
    let words: Option<Vec<&str>> = arguments.iter().map(Value::as_str).collect();
    match words.as_deref() {
        Some([question, words @ ..]) if !words.is_empty() => Ok(Command::AnswerInWords {
            question: QuestionId::new(*question),
            words: words.join(" "),
        }),
        Some(_) => Err(format!(
            "{ANSWER} takes a question's id and an answer, or {{\"questionId\": …, \"answer\": …}}"
        )),
        None => read_object(ANSWER, first(arguments)).map(Command::Answer),
    }
}

fn read_revert(arguments: Vec<Value>) -> Result<Command, String> {
    let params = match first(arguments) {
        Value::Null => None,
        Value::String(id) => Some(RevertParams::all_of(RunId::new(id))),
        object => Some(read_object(REVERT, object)?),
    };
    Ok(Command::Revert(params))
}

fn read_write_answer(arguments: &[Value]) -> Result<Command, String> {
    let named = arguments.first().and_then(|argument| match argument {
        Value::String(id) => Some(id.as_str()),
        object => object.get("questionId")?.as_str(),
    });
    named
        .map(|id| Command::WriteAnswer(QuestionId::new(id)))
        .ok_or_else(|| format!("{WRITE_ANSWER} takes a question's id, or {{\"questionId\": …}}"))
}

fn first(arguments: Vec<Value>) -> Value {
    arguments.into_iter().next().unwrap_or_default()
}

fn read_object<T: DeserializeOwned>(name: &str, value: Value) -> Result<T, String> {
    serde_json::from_value(value)
        .map_err(|error| format!("failed to read the argument of {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::question::Answer;

    fn start(prompt: &str) -> Command {
        Command::Run(serde_json::from_value(json!({ "prompt": prompt })).unwrap())
    }

    #[test]
    fn commands_are_read_in_all_their_forms() {
        let cancel = |id: &str| Command::Cancel(Some(RunId::new(id)));
        let rows = [
            (RUN, json!([{"prompt": "fix é"}]), start("fix é")),
            (RUN, json!(["fix é"]), start("fix é")),
            (RUN, json!(["fix", "it"]), start("fix it")),
            (RUN, json!([["fix it"]]), start("fix it")),
            (CANCEL, json!([]), Command::Cancel(None)),
            (CANCEL, json!([null]), Command::Cancel(None)),
            (RESUME, json!([]), Command::Resume(None)),
            (RESUME, json!(["r"]), Command::Resume(Some(RunId::new("r")))),
            (CANCEL, json!(["r"]), cancel("r")),
            (REVERT, json!([]), Command::Revert(None)),
            (
                REVERT,
                json!(["r"]),
                Command::Revert(Some(RevertParams::all_of(RunId::new("r")))),
            ),
            (
                REVERT,
                json!([{"runId": "r", "preview": true}]),
                Command::Revert(Some(RevertParams {
                    preview: true,
                    ..RevertParams::all_of(RunId::new("r"))
                })),
            ),
            (
                WRITE_ANSWER,
                json!([{"questionId": "r.q1"}]),
                Command::WriteAnswer(QuestionId::new("r.q1")),
            ),
            (
                WRITE_ANSWER,
                json!(["r.q1"]),
                Command::WriteAnswer(QuestionId::new("r.q1")),
            ),
            (
                ADD_TASK,
                json!(["größer"]),
                Command::AddTask(
                    serde_json::from_value(json!({ "description": "größer" })).unwrap(),
                ),
            ),
            (
                START_TASK,
                json!(["t1"]),
                Command::StartTask(serde_json::from_value(json!({ "taskId": "t1" })).unwrap()),
            ),
            (QUESTIONS, json!([]), Command::Questions),
            (WRITE_PROMPT, json!([]), Command::WritePrompt(None)),
            (
                WRITE_PROMPT,
                json!([{"path": "é", "firstLine": 2, "lastLine": 3}]),
                Command::WritePrompt(Some(Passage {
                    folder: None,
                    path: RelPath::parse("é").unwrap(),
                    first_line: 2,
                    last_line: 3,
                })),
            ),
            (CANCEL, json!([{"runId": "r"}]), cancel("r")),
            (
                ANSWER,
                json!(["r.q1", "port", "80"]),
                Command::AnswerInWords {
                    question: QuestionId::new("r.q1"),
                    words: "port 80".into(),
                },
            ),
            (
                ANSWER,
                json!([{"questionId": "r.q1", "answer": {"type": "text", "text": "80"}}]),
                Command::Answer(AnswerParams {
                    question_id: QuestionId::new("r.q1"),
                    answer: Answer::Text { text: "80".into() },
                    by: None,
                }),
            ),
        ];
        for (name, arguments, want) in rows {
            let list = arguments.as_array().unwrap().clone();
            assert_eq!(read(name, list), Ok(want), "{name} {arguments}");
        }
    }

    #[test]
    fn a_bad_argument_says_what_is_taken() {
        let rows = [
            ("outrigger.fly", json!([]), "outrigger.run"),
            (RUN, json!([]), "prompt"),
            (RUN, json!([{"text": "x"}]), "prompt"),
            (RUN, json!([7]), "outrigger.run"),
            (CANCEL, json!([{}]), "runId"),
            (REVERT, json!([{}]), "runId"),
            (WRITE_ANSWER, json!([]), "questionId"),
            (WRITE_PROMPT, json!([{"path": "../x"}]), "outside"),
            (ANSWER, json!([]), "questionId"),
            (ANSWER, json!(["r.q1"]), "questionId"),
            (ANSWER, json!([{"questionId": "r.q1"}]), "answer"),
        ];
        for (name, arguments, want) in rows {
            let list = arguments.as_array().unwrap().clone();
            let error = read(name, list).unwrap_err();
            assert!(error.contains(want), "{name} {arguments}: {error}");
        }
    }
}
