//! Code actions: answers to questions, fixes that tools offer, and "let a run fix this". Decides what is offered where.

mod tasks;

use lsp_types::{
    CodeAction, CodeActionContext, CodeActionKind, CodeActionOrCommand, Command, Diagnostic, Range,
    TextEdit,
};
use serde_json::{Value, json};

use super::capabilities::Capabilities;
use super::commands::{self, Passage};
use super::diagnostics::{SOURCE, render_finding, render_question};
use super::edits::workspace_edit;
use super::gate_actions::{self, FIX_ALL};
use super::places::{self, Root};
use super::questions::{self, Offer};
use crate::kernel::file::OpenDocument;
use crate::kernel::finding::{Applicability, Finding, Fix};
use crate::kernel::hash::ContentHash;
use crate::kernel::path::RelPath;
use crate::kernel::question::Question;
use crate::protocol::question::AnswerParams;

/// Letters of a question before its answer: the answer is what is chosen, and must not be cut off.
const QUESTION_LETTERS: usize = 60;

/// All that the offers on a file depend on.
pub struct Situation<'a> {
    pub path: &'a RelPath,
    /// Where the cursor is, or the selection.
    pub range: Range,
    pub context: &'a CodeActionContext,
    pub findings: &'a [Finding],
    pub questions: &'a [Question],
    /// The file as it is open, if it is.
    pub document: Option<&'a OpenDocument>,
    pub root: &'a Root,
    pub client: &'a Capabilities,
}

/// The actions, those that unblock a run first.
pub fn offer(situation: &Situation<'_>) -> Vec<CodeActionOrCommand> {
    let mut actions: Vec<CodeAction> = Vec::new();
    if wants(situation.context, &CodeActionKind::QUICKFIX) {
        for question in situation.questions {
            actions.extend(answers(question, situation));
        }
        for finding in situation.findings {
            if touches(finding, situation.range) {
                actions.extend(fixes(finding, situation));
                actions.extend(gate_actions::silence(finding, situation));
                actions.extend(gate_actions::own_words(finding, situation));
            }
        }
        actions.extend(run_to_fix(situation));
        let here = |finding: &&Finding| touches(finding, situation.range);
        if let Some(first) = situation.findings.iter().find(here) {
            actions.extend(gate_actions::run_for_gate(first, situation));
        }
    }
    if wants(situation.context, &CodeActionKind::from(FIX_ALL.to_owned())) {
        actions.extend(gate_actions::fix_all(situation));
    }
    if wants(situation.context, &CodeActionKind::REFACTOR_REWRITE) {
        actions.extend(run_to_change(situation));
    }
    if wants(situation.context, &CodeActionKind::REFACTOR) {
        actions.extend(tasks::of_comment(situation));
    }
    actions
        .into_iter()
        .filter_map(|action| as_client_takes_it(action, situation.client))
        .collect()
}

/// `only` names kinds, each standing for those below it, and some clients name ours.
fn wants(context: &CodeActionContext, kind: &CodeActionKind) -> bool {
    let is_meant = |wanted: &CodeActionKind| {
        let (wanted, kind) = (wanted.as_str(), kind.as_str());
        let below = |rest: &str| rest.is_empty() || rest.starts_with('.');
        wanted.is_empty()
            || kind.strip_prefix(wanted).is_some_and(below)
            || wanted.strip_prefix(kind) == Some(".outrigger")
    };
    let only = context.only.as_ref();
    only.is_none_or(|kinds| kinds.iter().any(is_meant))
}

fn answers(question: &Question, situation: &Situation<'_>) -> Vec<CodeAction> {
    let lines = (situation.range.start.line, situation.range.end.line);
    let diagnostic = render_question(question, situation.client);
    let asked = questions::as_title(&question.title, QUESTION_LETTERS);
    // A client that shows questions itself has its own place for words.
    let in_words = (question.free_text && !situation.client.offer.questions).then(|| {
        let title = "answer in your own words…";
        let argument = json!({ "questionId": question.id });
        quick_fix(
            format!("{asked}: {title}"),
            command(commands::WRITE_ANSWER, title, argument),
            vec![diagnostic.clone()],
        )
    });
    questions::offers(question)
        .into_iter()
        .chain(questions::hunk_offers(question, lines))
        .map(|Offer { title, answer }| {
            let params = AnswerParams {
                question_id: question.id.clone(),
                answer,
                by: None,
            };
            quick_fix(
                format!("{asked}: {title}"),
                command(commands::ANSWER, &title, json!(params)),
                vec![diagnostic.clone()],
            )
        })
        .chain(in_words)
        .collect()
}

fn touches(finding: &Finding, range: Range) -> bool {
    finding.place.as_ref().is_some_and(|place| {
        place.range.start.line <= range.end.line && range.start.line <= place.range.end.line
    })
}

/// A tool's fixes are edits of the text that the tool saw: offered only while that is still the text.
fn fixes(finding: &Finding, situation: &Situation<'_>) -> Vec<CodeAction> {
    let Some(document) = situation.document else {
        return Vec::new();
    };
    if finding.fixes.is_empty() {
        return Vec::new();
    }
    let now = ContentHash::of(document.text.to_string().as_bytes());
    let diagnostic = render_finding(finding, situation.root, situation.client);
    finding
        .fixes
        .iter()
        .filter_map(|fix| {
            let edits = edits_of(fix, situation.path, &now, situation.client)?;
            Some(CodeAction {
                title: questions::as_title(&fix.title, questions::TITLE_LETTERS),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![diagnostic.clone()]),
                edit: Some(workspace_edit(document, edits, situation.client.versions)?),
                is_preferred: (fix.applicability == Applicability::Safe).then_some(true),
                ..CodeAction::default()
            })
        })
        .collect()
}

/// `None`: the fix is of another text, or reaches into another file.
pub fn edits_of(
    fix: &Fix,
    path: &RelPath,
    now: &ContentHash,
    client: &Capabilities,
) -> Option<Vec<TextEdit>> {
    fix.edits
        .iter()
        .map(|edit| {
            let is_here = edit.place.file.workspace() == Some(path);
            (is_here && edit.place.hash.as_ref() == Some(now)).then(|| TextEdit {
                range: places::range(edit.place.range, client.encoding),
                new_text: edit.new_text.clone(),
            })
        })
        .collect()
}

/// On any problem that the editor shows here, whoever found it.
fn run_to_fix(situation: &Situation<'_>) -> Option<CodeAction> {
    let problems: Vec<&Diagnostic> = situation
        .context
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.source.as_deref() != Some(SOURCE))
        .collect();
    if problems.is_empty() {
        return None;
    }
    let mut prompt = format!("Fix in {}:", situation.path);
    for problem in &problems {
        let line = problem.range.start.line + 1;
        let source = problem.source.as_deref().unwrap_or("editor");
        prompt.push_str(&format!(
            "\n- line {line}, {source}: {}",
            problem.message.trim_end()
        ));
    }
    let title = match problems.len() {
        1 => "Fix with Outrigger".to_owned(),
        count => format!("Fix these {count} with Outrigger"),
    };
    let command = command(
        commands::RUN,
        &title,
        json!({
            "prompt": prompt,
            "folder": situation.root.folder_uri(),
        }),
    );
    Some(quick_fix(
        title,
        command,
        problems.into_iter().cloned().collect(),
    ))
}

/// On a selection, in a client that has no better way to start a run.
fn run_to_change(situation: &Situation<'_>) -> Option<CodeAction> {
    let Range { start, end } = situation.range;
    if start == end || situation.document.is_none() || situation.client.offer.events {
        return None;
    }
    // A selection of whole lines ends before the first character of the next.
    let last = if end.character == 0 && end.line > start.line {
        end.line
    } else {
        end.line.saturating_add(1)
    };
    let passage = Passage {
        folder: Some(situation.root.folder_uri().to_owned()),
        path: situation.path.clone(),
        first_line: start.line.saturating_add(1),
        last_line: last,
    };
    let title = "Outrigger: change this…";
    Some(CodeAction {
        title: title.to_owned(),
        kind: Some(CodeActionKind::REFACTOR_REWRITE),
        command: Some(command(commands::WRITE_PROMPT, title, json!(passage))),
        ..CodeAction::default()
    })
}

fn quick_fix(title: String, command: Command, diagnostics: Vec<Diagnostic>) -> CodeAction {
    CodeAction {
        title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(diagnostics),
        command: Some(command),
        ..CodeAction::default()
    }
}

pub fn command(name: &str, title: &str, argument: Value) -> Command {
    Command {
        title: title.to_owned(),
        command: name.to_owned(),
        arguments: Some(vec![argument]),
    }
}

/// A client from before code action literals takes commands only.
fn as_client_takes_it(action: CodeAction, client: &Capabilities) -> Option<CodeActionOrCommand> {
    if client.action_literals {
        return Some(CodeActionOrCommand::CodeAction(action));
    }
    action.command.map(|command| {
        CodeActionOrCommand::Command(Command {
            title: action.title,
            ..command
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::finding::{
        FixEdit, Place, Position, RangeKind, Severity, SourceFile, TextRange,
    };
    use crate::kernel::ids::{GateId, QuestionId, RunId};
    use crate::kernel::question::{BlockerReason, Choice, QuestionKind, QuestionState};
    use ropey::Rope;

    const TEXT: &str = "let é = 1;\nlet b = 2;\n";

    fn client(literals: bool) -> Capabilities {
        let params = lsp_types::InitializeParams::default();
        Capabilities {
            action_literals: literals,
            ..Capabilities::negotiate(&params)
        }
    }

    fn path() -> RelPath {
        RelPath::parse("a.rs").unwrap()
    }

    fn finding(seen: &str) -> Finding {
        let at = |utf8, utf16| Position {
            line: 0,
            utf8,
            utf16,
            utf32: utf16,
        };
        let place = Place {
            file: SourceFile::Workspace(path()),
            range: TextRange {
                start: at(4, 4),
                end: at(6, 5),
            },
            kind: RangeKind::Exact,
            bytes: (4, 6),
            hash: Some(ContentHash::of(seen.as_bytes())),
            cell: None,
            line_text: String::new(),
            around: Vec::new(),
        };
        Finding {
            gate: GateId::new("cargo-check"),
            source: "cargo".into(),
            place: Some(place.clone()),
            severity: Severity::Warning,
            code: None,
            href: None,
            message: "unused variable".into(),
            tags: Vec::new(),
            related: Vec::new(),
            fixes: vec![Fix {
                title: "prefix it with an underscore".into(),
                applicability: Applicability::Safe,
                edits: vec![FixEdit {
                    place,
                    new_text: "_é".into(),
                }],
            }],
            test: None,
            rendered: None,
        }
    }

    fn question() -> Question {
        Question {
            id: QuestionId::new("r.q1"),
            run: RunId::new("r"),
            title: "Which port?".into(),
            detail: String::new(),
            place: None,
            kind: QuestionKind::Blocker {
                reason: BlockerReason::Asked,
            },
            choices: vec![Choice {
                id: "1".into(),
                label: "80".into(),
                effect: String::new(),
            }],
            free_text: true,
            opened_at: 0,
            state: QuestionState::Open,
        }
    }

    fn offered(seen: &str, line: u32, context: Value, literals: bool) -> Vec<Value> {
        offered_in((TEXT, seen), line, context, literals)
    }

    /// In a document with this text, where the gate has seen that one.
    fn offered_in(
        (text, seen): (&str, &str),
        line: u32,
        context: Value,
        literals: bool,
    ) -> Vec<Value> {
        let at = lsp_types::Position { line, character: 0 };
        let document = OpenDocument {
            uri: "file:///w/a.rs".into(),
            version: 3,
            text: Rope::from_str(text),
            dirty: false,
            saved: None,
        };
        let actions = offer(&Situation {
            path: &path(),
            range: Range { start: at, end: at },
            context: &serde_json::from_value(context).unwrap(),
            findings: &[finding(seen)],
            questions: &[question()],
            document: Some(&document),
            root: &Root::from_path("/w"),
            client: &client(literals),
        });
        let value = |action| serde_json::to_value(action).unwrap();
        actions.into_iter().map(value).collect()
    }

    fn titles(actions: &[Value]) -> Vec<&str> {
        actions
            .iter()
            .filter_map(|action| action["title"].as_str())
            .collect()
    }

    #[test]
    fn answers_fixes_and_a_run_are_offered() {
        let problem = json!({
            "range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}},
            "source": "rustc", "message": "broken é\n",
        });
        let actions = offered(TEXT, 0, json!({"diagnostics": [problem]}), true);
        assert_eq!(
            titles(&actions),
            [
                "Which port?: 80",
                "Which port?: answer in your own words…",
                "prefix it with an underscore",
                "Fix with Outrigger"
            ]
        );
        assert_eq!(
            actions[0]["command"],
            json!({"title": "80", "command": "outrigger.answer", "arguments": [
                {"questionId": "r.q1", "answer": {"type": "choice", "choice": "1"}}
            ]})
        );
        assert_eq!(
            actions[1]["command"]["arguments"],
            json!([{"questionId": "r.q1"}])
        );
        assert_eq!(
            actions[2]["edit"],
            json!({"changes": {"file:///w/a.rs": [{
                "range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}},
                "newText": "_é",
            }]}})
        );
        assert_eq!(actions[2]["isPreferred"], true);
        assert_eq!(
            actions[3]["command"]["arguments"],
            json!([{"prompt": "Fix in a.rs:\n- line 1, rustc: broken é", "folder": "file:///w"}])
        );
    }

    #[test]
    fn nothing_is_offered_that_does_not_fit() {
        let none = json!({"diagnostics": []});
        let answers = ["Which port?: 80", "Which port?: answer in your own words…"];
        assert_eq!(titles(&offered("other", 0, none.clone(), true)), answers);
        assert_eq!(titles(&offered(TEXT, 1, none.clone(), true)), answers);
        for (only, count) in [
            ("quickfix", 3),
            ("quickfix.outrigger", 3),
            ("", 4),
            ("refactor", 0),
            ("source.fixAll", 1),
            ("source.fixAll.outrigger", 1),
            ("source.organizeImports", 0),
        ] {
            let context = json!({"diagnostics": [], "only": [only]});
            assert_eq!(offered(TEXT, 0, context, true).len(), count, "{only}");
        }
        let old_client = offered(TEXT, 0, none, false);
        assert_eq!(titles(&old_client), answers);
        assert_eq!(old_client[0]["command"], "outrigger.answer");
    }

    #[test]
    fn a_comment_that_asks_for_something_is_done_or_kept() {
        let none = json!({"diagnostics": []});
        let actions = offered_in(("x = 1  # TODO(ada): größer\n", ""), 0, none, true);
        let ours: Vec<&Value> = actions
            .iter()
            .filter(|action| action["kind"] == "refactor")
            .collect();
        assert_eq!(ours.len(), 2, "{actions:#?}");
        assert_eq!(ours[0]["title"], "Do with Outrigger: größer");
        assert_eq!(ours[1]["title"], "Keep as a task: größer");
        assert_eq!(
            ours[1]["command"]["arguments"],
            json!([{"folder": "file:///w", "origin": {"type": "todo", "path": "a.rs", "line": 1, "text": "größer"}}])
        );
        let fixes = json!({"diagnostics": [], "only": ["quickfix"]});
        let fixes = offered_in(("# TODO: größer\n", ""), 0, fixes, true);
        assert!(fixes.iter().all(|action| action["kind"] != "refactor"));
    }

    #[test]
    fn a_selection_can_be_changed_by_a_run() {
        let at = |line, character| lsp_types::Position { line, character };
        let document = OpenDocument {
            uri: "file:///w/a.rs".into(),
            version: 3,
            text: Rope::from_str(TEXT),
            dirty: false,
            saved: None,
        };
        let offered = |start, end, only: &str, is_open: bool| {
            let context = json!({"diagnostics": [], "only": [only]});
            let actions = offer(&Situation {
                path: &path(),
                range: Range { start, end },
                context: &serde_json::from_value(context).unwrap(),
                findings: &[],
                questions: &[],
                document: is_open.then_some(&document),
                root: &Root::from_path("/w"),
                client: &client(true),
            });
            let value = serde_json::to_value(actions).unwrap();
            value[0]["command"]["arguments"][0].clone()
        };
        let passage = |first: u32, last: u32| json!({"folder": "file:///w", "path": "a.rs", "firstLine": first, "lastLine": last});
        assert_eq!(offered(at(0, 1), at(1, 2), "refactor", true), passage(1, 2));
        assert_eq!(offered(at(0, 0), at(1, 0), "", true), passage(1, 1));
        assert_eq!(
            offered(at(1, 2), at(1, 3), "refactor.rewrite", true),
            passage(2, 2)
        );
        for (start, end, only, is_open) in [
            (at(0, 1), at(0, 1), "refactor", true),
            (at(0, 1), at(1, 1), "refactor", false),
            (at(0, 1), at(1, 1), "quickfix", true),
            (at(0, 1), at(1, 1), "ref", true),
        ] {
            assert_eq!(offered(start, end, only, is_open), Value::Null, "{only}");
        }
    }
}
