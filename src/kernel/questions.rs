//! Asking: what a question offers, what counts as an answer, and what an answer of one of the offered choices means.

use super::effect::{Refusal, RefusalKind};
use super::event::RunEvent;
use super::ids::QuestionId;
use super::plan::document;
use super::question::{Answer, Choice, Question, QuestionKind, QuestionPlace, QuestionState};
use super::run::Run;
use super::state::Frame;

/// Names of choices that have a meaning of their own.
pub mod choice {
    pub const TAKE_ALL: &str = "takeAll";
    /// Take all, and whatever else the run asks to overwrite (or, after a deletion, to delete).
    pub const TAKE_ALL_RUN: &str = "takeAllForRun";
    pub const KEEP_MINE: &str = "keepMine";
    pub const STOP_RUN: &str = "stopRun";
    pub const RETRY: &str = "retry";
    pub const CHECK_AGAIN: &str = "checkAgain";
    pub const GIVE_UP: &str = "giveUp";
    pub const RAISE: &str = "raise";
    pub const FINISH: &str = "finishNow";
    pub const ALLOW: &str = "allow";
    pub const ALLOW_RUN: &str = "allowForRun";
    pub const REJECT: &str = "reject";
    pub const DONE: &str = "done";
    pub const NOT_DONE: &str = "notDone";
    pub const RUN_AGAIN: &str = "runAgain";
    pub const SKIP_STEP: &str = "skipStep";
    pub const WITHOUT_PLAN: &str = "withoutPlan";
}

pub(super) fn offer(id: &str, label: &str, effect: &str) -> Choice {
    Choice {
        id: id.to_owned(),
        label: label.to_owned(),
        effect: effect.to_owned(),
    }
}

pub(super) fn stop_offer() -> Choice {
    offer(
        choice::STOP_RUN,
        "Stop the run",
        "the run ends here; what it has written stays",
    )
}

/// A question before it has a name.
pub(super) struct Draft {
    pub title: String,
    pub detail: String,
    pub place: Option<QuestionPlace>,
    pub kind: QuestionKind,
    pub choices: Vec<Choice>,
    pub free_text: bool,
}

pub(super) fn open(run: &mut Run, frame: &mut Frame<'_>, draft: Draft) -> QuestionId {
    run.last_question += 1;
    let id = QuestionId::new(format!("{}.q{}", run.id, run.last_question));
    let question = Question {
        id: id.clone(),
        run: run.id.clone(),
        title: draft.title,
        detail: draft.detail,
        place: draft.place,
        kind: draft.kind,
        choices: draft.choices,
        free_text: draft.free_text,
        opened_at: frame.now.wall_ms,
        state: QuestionState::Open,
    };
    frame.record(
        run,
        RunEvent::QuestionOpened {
            question: question.clone(),
        },
    );
    frame.questions.insert(id.clone(), question);
    run.open_questions.insert(id.clone());
    id
}

/// Withdraws every open question of the run.
pub(super) fn withdraw_all(run: &mut Run, frame: &mut Frame<'_>, reason: &str) {
    for id in std::mem::take(&mut run.open_questions) {
        if let Some(question) = frame.questions.get_mut(&id) {
            question.state = QuestionState::Withdrawn {
                reason: reason.to_owned(),
                at: frame.now.wall_ms,
            };
            frame.record(
                run,
                RunEvent::QuestionWithdrawn {
                    question: id,
                    reason: reason.to_owned(),
                },
            );
        }
    }
}

/// The answer in its plain form (choices with a meaning of their own replaced by it), or why it is none.
///
/// # Errors
/// The question is no longer open, or the answer does not fit it.
pub fn accept(question: &Question, answer: Answer) -> Result<Answer, Refusal> {
    let wrong = |message: String| Refusal {
        kind: RefusalKind::WrongAnswer,
        message,
    };
    match &question.state {
        QuestionState::Open => {}
        QuestionState::Answered { by, .. } => {
            return Err(Refusal {
                kind: RefusalKind::AlreadyAnswered,
                message: format!("question {} is already answered by {by}", question.id),
            });
        }
        QuestionState::Withdrawn { reason, .. } => {
            return Err(Refusal {
                kind: RefusalKind::AlreadyAnswered,
                message: format!("question {} was withdrawn: {reason}", question.id),
            });
        }
    }
    if let Answer::Choice { choice } = &answer {
        if !question.choices.iter().any(|offered| offered.id == *choice) {
            let names: Vec<&str> = question
                .choices
                .iter()
                .map(|offered| offered.id.as_str())
                .collect();
            return Err(wrong(format!(
                "question {} offers no choice `{choice}`; it offers {}",
                question.id,
                names.join(", ")
            )));
        }
        match choice.as_str() {
            choice::STOP_RUN => return Ok(Answer::StopRun),
            choice::TAKE_ALL => return Ok(Answer::TakeAll),
            choice::KEEP_MINE => return Ok(Answer::KeepMine { reason: None }),
            _ => return Ok(answer),
        }
    }
    match (&question.kind, &answer) {
        (_, Answer::StopRun | Answer::Choice { .. }) => Ok(answer),
        (
            QuestionKind::Overwrite(_),
            Answer::TakeAll | Answer::TakeText { .. } | Answer::KeepMine { .. },
        ) => Ok(answer),
        (QuestionKind::Overwrite(overwrite), Answer::TakeHunks { hunks }) => {
            if hunks.is_empty() {
                return Err(wrong(
                    "no hunk is named; to take none of them answer keepMine".to_owned(),
                ));
            }
            match hunks
                .iter()
                .find(|id| !overwrite.hunks.iter().any(|hunk| hunk.id == **id))
            {
                Some(id) => Err(wrong(format!(
                    "question {} has no hunk {id}; it has {}",
                    question.id,
                    overwrite.hunks.len()
                ))),
                None => Ok(answer),
            }
        }
        (QuestionKind::Overwrite(_), Answer::Text { .. }) => Err(wrong(
            "an overwrite is answered by takeAll, takeHunks, takeText, keepMine or stopRun"
                .to_owned(),
        )),
        (QuestionKind::Plan { .. }, Answer::TakeAll) => Ok(answer),
        (QuestionKind::Plan { .. }, Answer::TakeText { text }) => match document::parse(text) {
            Ok(_) => Ok(answer),
            Err(why) => Err(wrong(format!("the plan cannot be followed: {why}"))),
        },
        (_, Answer::Text { text }) if !question.free_text => Err(wrong(format!(
            "question {} takes one of its choices, not the text {text:?}",
            question.id
        ))),
        (_, Answer::Text { text }) if text.trim().is_empty() => {
            Err(wrong("the answer is empty".to_owned()))
        }
        (
            QuestionKind::Budget {
                of: Some(of), used, ..
            },
            Answer::Text { text },
        ) => match of.read(text) {
            Some(to) if to > *used => Ok(answer),
            Some(_) => Err(wrong(format!(
                "{text} is used up already; give more, or give up"
            ))),
            None => Err(wrong(format!(
                "`{text}` is no limit; type the new one as a number, such as 200000 or 200k"
            ))),
        },
        (_, Answer::Text { .. }) => Ok(answer),
        (
            _,
            Answer::TakeAll
            | Answer::TakeHunks { .. }
            | Answer::TakeText { .. }
            | Answer::KeepMine { .. },
        ) => Err(wrong(format!(
            "question {} is not about overwriting a file",
            question.id
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ids::RunId;
    use crate::kernel::question::BlockerReason;

    fn blocker(state: QuestionState, free_text: bool) -> Question {
        Question {
            id: QuestionId::new("r.q1"),
            run: RunId::new("r"),
            title: "?".into(),
            detail: String::new(),
            place: None,
            kind: QuestionKind::Blocker {
                reason: BlockerReason::Asked,
            },
            choices: vec![offer("1", "One", ""), stop_offer()],
            free_text,
            opened_at: 0,
            state,
        }
    }

    #[test]
    fn only_an_answer_that_fits_is_one() {
        let text = |text: &str| Answer::Text { text: text.into() };
        let pick = |choice: &str| Answer::Choice {
            choice: choice.into(),
        };
        let open = blocker(QuestionState::Open, true);
        assert_eq!(accept(&open, pick("1")), Ok(pick("1")));
        assert_eq!(accept(&open, pick("stopRun")), Ok(Answer::StopRun));
        assert_eq!(accept(&open, text("漢字")), Ok(text("漢字")));
        let kind =
            |question: &Question, answer| accept(question, answer).map_err(|refusal| refusal.kind);
        for answer in [
            pick("2"),
            text("  "),
            Answer::TakeAll,
            Answer::KeepMine { reason: None },
        ] {
            assert_eq!(
                kind(&open, answer.clone()),
                Err(RefusalKind::WrongAnswer),
                "{answer:?}"
            );
        }
        assert_eq!(
            kind(&blocker(QuestionState::Open, false), text("x")),
            Err(RefusalKind::WrongAnswer)
        );
        let answered = blocker(
            QuestionState::Answered {
                answer: pick("1"),
                by: "Neovim".into(),
                at: 0,
            },
            true,
        );
        let refusal = accept(&answered, pick("1")).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::AlreadyAnswered);
        assert!(refusal.message.contains("Neovim"));
    }
}
