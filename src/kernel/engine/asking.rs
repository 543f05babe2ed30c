//! Questions that a tool call needs answered, and how it goes on with the answer.

use super::calls::{complete, deny, fail, go_on, perform};
use super::lifecycle::waits_for;
use super::{changes, sets, thinking};
use crate::kernel::conflict::Conflict;
use crate::kernel::diff;
use crate::kernel::event::{ReadCall, ReadTool};
use crate::kernel::file::TextSource;
use crate::kernel::finding::{Position, TextRange};
use crate::kernel::ids::QuestionId;
use crate::kernel::question::{
    Answer, BlockerReason, Choice, ConflictReason, Hunk, Overwrite, OverwriteTexts, QuestionKind,
    QuestionPlace,
};
use crate::kernel::questions::{self, Draft, choice, offer, stop_offer};
use crate::kernel::run::{
    AskedConflict, CurrentCall, FileProposal, GivenAnswer, Run, RunQuestion, Stage, WaitingFor,
};
use crate::kernel::state::Frame;
use crate::kernel::tool::{AskUser, RunCommand, ToolUse};

/// Letters of a patch that a question shows.
const DETAIL_CHARS: usize = 100_000;

/// Editors count lines in 31 bits; a range ends one line further.
const MOST_LINES: u32 = i32::MAX as u32 - 1;

/// May the agent's version replace what is there?
pub fn about_overwrite(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    proposal: FileProposal,
    conflict: Conflict,
) {
    let (draft, hunks) = overwrite_draft(&call, &conflict);
    let waits = format!("overwrite {}?", conflict.path);
    let asked = AskedConflict {
        proposal,
        conflict,
        hunks,
    };
    ask(run, frame, call, draft, waits, Some(Box::new(asked)));
}

/// The question about a conflict, with the hunks that it shows.
pub fn overwrite_draft(call: &ReadCall, conflict: &Conflict) -> (Draft, Vec<Hunk>) {
    let path = conflict.path.clone();
    let current = conflict.current.as_ref();
    let current_text = current.map(|now| now.text.clone());
    let proposed_text = conflict.proposed_text().cloned();
    let old = current_text.as_deref().unwrap_or_default();
    let hunks = diff::hunks(old, proposed_text.as_deref().unwrap_or_default());
    let place = hunks.first().map(|hunk| QuestionPlace {
        path: path.clone(),
        range: lines(hunk.old_start, hunk.old_lines),
    });
    let warning = if current.is_some_and(|now| now.newer_disk) {
        "The file on disk has text that your editor has not read, and that is not in this diff: any answer but keeping yours, and saving your document, replaces it.\n\n"
    } else {
        ""
    };
    let why = match conflict.reason {
        ConflictReason::Exists => "it exists, and the agent has not read it",
        ConflictReason::ChangedOnDisk => "it has changed on disk since the agent read it",
        ConflictReason::UnsavedText => "it has unsaved changes in your editor",
        ConflictReason::Deleted => "it was deleted after the agent read it",
        ConflictReason::Deletion => "the agent wants it deleted, and did not make it",
    };
    let (title, always) = match conflict.reason {
        ConflictReason::Deletion => (
            format!("Delete {path}? {why}"),
            "the file goes, and this run does not ask about deleting again",
        ),
        _ => (
            format!("Overwrite {path}? {why}"),
            "the file becomes what the agent proposes, and this run does not ask about files on disk again",
        ),
    };
    let draft = Draft {
        title,
        detail: cut(format!(
            "{warning}{}",
            diff::unified(&path, current_text.as_deref(), proposed_text.as_deref())
        )),
        place,
        kind: QuestionKind::Overwrite(Overwrite {
            call: call.id.clone(),
            path,
            reason: conflict.reason,
            base: conflict.base.as_ref().map(|base| base.hash.clone()),
            current: conflict.current_hash().cloned(),
            proposed: conflict.proposed.hash(),
            unsaved: current.is_some_and(|now| now.source == TextSource::UnsavedDocument),
            hunks: hunks.clone(),
            texts: OverwriteTexts {
                base: conflict.base.as_ref().map(|base| base.text.clone()),
                current: current_text,
                proposed: proposed_text,
            },
        }),
        choices: vec![
            offer(
                choice::TAKE_ALL,
                "Take the agent's version",
                "the file becomes what the agent proposes",
            ),
            offer(choice::TAKE_ALL_RUN, "Always for this run", always),
            offer(
                choice::KEEP_MINE,
                "Keep mine",
                "the file stays as it is and the agent is told",
            ),
            stop_offer(),
        ],
        free_text: false,
    };
    (draft, hunks)
}

/// The hunks hold all of it; what is read as text need not be a whole file.
fn cut(mut detail: String) -> String {
    if let Some((at, _)) = detail.char_indices().nth(DETAIL_CHARS) {
        detail.truncate(at);
        detail.push_str("…\n(cut; open the two sides for the rest)\n");
    }
    detail
}

/// What "always for this run" allows from now on; and what it means for the question at hand.
pub fn for_all_of_the_run(run: &mut Run, conflict: &Conflict, answer: Answer) -> Answer {
    match &answer {
        Answer::Choice { choice } if choice == choice::TAKE_ALL_RUN => {
            if conflict.reason == ConflictReason::Deletion {
                run.deletions_allowed = true;
            } else {
                run.overwrites_allowed = true;
            }
            Answer::TakeAll
        }
        _ => answer,
    }
}

/// Whole lines, 0-based.
fn lines(start: u32, count: u32) -> TextRange {
    let at = |line| Position {
        line,
        ..Position::default()
    };
    TextRange {
        start: at(start),
        end: at(start + count),
    }
}

/// What the model itself asks.
pub fn for_model(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, wanted: AskUser) {
    let answer = |(at, label): (usize, &String)| {
        offer(
            &(at + 1).to_string(),
            label,
            "the agent goes on with this answer",
        )
    };
    let labels = told_apart(&wanted.choices);
    let mut choices: Vec<Choice> = labels.iter().enumerate().map(answer).collect();
    choices.push(stop_offer());
    let (title, detail) = in_one_line(&wanted.question);
    let line = wanted.line.unwrap_or(1).saturating_sub(1).min(MOST_LINES);
    let draft = Draft {
        title: title.clone(),
        detail,
        place: wanted.path.map(|path| QuestionPlace {
            path,
            range: lines(line, 1),
        }),
        kind: QuestionKind::Blocker {
            reason: BlockerReason::Asked,
        },
        choices,
        free_text: true,
    };
    ask(run, frame, call, draft, title, None);
}

/// The choices that a person can choose between: each once, and none that says nothing.
fn told_apart(choices: &[String]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for choice in choices {
        let label = choice.trim();
        if !label.is_empty() && !labels.iter().any(|known| known == label) {
            labels.push(label.to_owned());
        }
    }
    labels
}

/// A question's first line, and what follows it.
fn in_one_line(question: &str) -> (String, String) {
    let question = question.trim();
    let (title, detail) = question.split_once(['\n', '\r']).unwrap_or((question, ""));
    if title.is_empty() {
        return ("The agent asks for an answer".to_owned(), String::new());
    }
    (title.trim_end().to_owned(), detail.trim().to_owned())
}

/// May this command run?
pub fn about_command(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, command: &RunCommand) {
    let title = format!("Run `{}`?", command.command);
    let draft = Draft {
        title: title.clone(),
        detail: String::new(),
        place: None,
        kind: QuestionKind::Command {
            command: command.command.clone(),
            cwd: command.cwd.clone(),
        },
        choices: vec![
            offer(choice::ALLOW, "Run it", "this command runs once"),
            offer(
                choice::ALLOW_RUN,
                "Run it, and all others of this run",
                "the run does not ask about commands again",
            ),
            offer(
                choice::REJECT,
                "Do not run it",
                "the agent is told and goes on without",
            ),
            stop_offer(),
        ],
        free_text: true,
    };
    ask(run, frame, call, draft, title, None);
}

fn ask(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    draft: Draft,
    waits: String,
    conflict: Option<Box<AskedConflict>>,
) {
    let question = questions::open(run, frame, draft);
    waits_for(run, frame, WaitingFor::You, waits);
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Asking { question, conflict },
    });
}

/// The answer to the question of the current call.
pub fn on_answer(run: &mut Run, frame: &mut Frame<'_>, question: &QuestionId, answer: Answer) {
    if sets::on_answer(run, frame, question, &answer) {
        return go_on(run, frame);
    }
    let current = run
        .current
        .take_if(|current| matches!(&current.stage, Stage::Asking { question: open, .. } if open == question));
    let Some(CurrentCall {
        call,
        stage: Stage::Asking { conflict, .. },
    }) = current
    else {
        return;
    };
    match (conflict, call.tool.clone()) {
        (Some(asked), _) => {
            let answer = for_all_of_the_run(run, &asked.conflict, answer);
            let asked = *asked;
            changes::answered(run, frame, call, GivenAnswer { asked, answer });
        }
        (None, ReadTool::Use(ToolUse::Command(command))) => {
            command_answered(run, frame, call, command, answer);
        }
        (None, _) => match said(frame, question, answer) {
            Some(said) => complete(run, frame, &call, format!("The user answered: {said}")),
            None => fail(
                run,
                frame,
                &call,
                "the question was not answered in words".to_owned(),
            ),
        },
    }
    go_on(run, frame);
}

/// An answer in words.
fn said(frame: &Frame<'_>, question: &QuestionId, answer: Answer) -> Option<String> {
    match answer {
        Answer::Text { text } => Some(text),
        Answer::Choice { choice } => {
            let question = frame.questions.get(question)?;
            let offered = question
                .choices
                .iter()
                .find(|offered| offered.id == choice)?;
            Some(offered.label.clone())
        }
        Answer::TakeAll
        | Answer::TakeHunks { .. }
        | Answer::TakeText { .. }
        | Answer::KeepMine { .. }
        | Answer::StopRun => None,
    }
}

fn command_answered(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    command: RunCommand,
    answer: Answer,
) {
    let picked = match &answer {
        Answer::Choice { choice } => choice.as_str(),
        _ => "",
    };
    run.commands_allowed |= picked == choice::ALLOW_RUN;
    if picked == choice::ALLOW || picked == choice::ALLOW_RUN {
        return perform(run, frame, call, ToolUse::Command(command));
    }
    let why = match answer {
        Answer::Text { text } => format!(" They say: {text}"),
        _ => String::new(),
    };
    deny(
        run,
        frame,
        &call,
        format!("The user did not allow the command.{why}"),
    );
}

/// The model repeats itself and does not listen.
pub fn about_circles(run: &mut Run, frame: &mut Frame<'_>) {
    let last = run
        .last_result
        .as_ref()
        .map_or_else(String::new, |(tool, result)| {
            format!("The call is `{tool}`, and its result each time:\n{result}")
        });
    run.recent.clear();
    let draft = Draft {
        title: "The agent makes the same call again and again, with the same result".to_owned(),
        detail: last,
        place: None,
        kind: QuestionKind::Blocker {
            reason: BlockerReason::Circles,
        },
        choices: vec![
            offer(
                choice::RETRY,
                "Go on",
                "the agent is told to try another way",
            ),
            offer(
                choice::GIVE_UP,
                "Give up",
                "the run fails; what it has written stays",
            ),
            stop_offer(),
        ],
        free_text: true,
    };
    thinking::ask_about_run(run, frame, draft, RunQuestion::Circles);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_of_the_model_are_told_apart() {
        let choices = ["80", " 80 ", "", "é\n", " ", "é"].map(str::to_owned);
        assert_eq!(told_apart(&choices), ["80", "é"]);
    }

    #[test]
    fn a_question_of_many_lines_has_a_title_of_one() {
        let rows = [
            ("Which port?", ("Which port?", "")),
            (
                " Which port?\r\n\n- 80\n- 90\n",
                ("Which port?", "- 80\n- 90"),
            ),
            (" \n ", ("The agent asks for an answer", "")),
        ];
        for (question, (title, detail)) in rows {
            let want = (title.to_owned(), detail.to_owned());
            assert_eq!(in_one_line(question), want, "{question:?}");
        }
    }
}
