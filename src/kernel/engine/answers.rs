//! Answers to questions about the run as a whole, and what a question about rejected work offers.

use super::lifecycle::{cancel, end, waits_for};
use super::thinking::{call_model, say};
use super::{again, asking, calls, plan, spending, verify};
use crate::kernel::conversation::Block;
use crate::kernel::event::RunOutcome;
use crate::kernel::finding::Finding;
use crate::kernel::finding::for_model;
use crate::kernel::ids::QuestionId;
use crate::kernel::question::{Answer, BlockerReason, QuestionKind, QuestionPlace};
use crate::kernel::questions::{self, Draft, choice, offer, stop_offer};
use crate::kernel::run::{ModelTalk, Run, RunQuestion, WaitingFor};
use crate::kernel::state::Frame;

/// An answer that [`questions::accept`] let through.
pub fn on_answer(run: &mut Run, frame: &mut Frame<'_>, question: &QuestionId, answer: Answer) {
    run.open_questions.remove(question);
    if answer == Answer::StopRun {
        cancel(run, frame, "you");
        return;
    }
    match run.run_question.take() {
        Some((id, about)) if id == *question => on_run_answer(run, frame, about, answer),
        other => {
            run.run_question = other;
            if !again::on_uncertain_answer(run, frame, question, &answer) {
                asking::on_answer(run, frame, question, answer);
            }
        }
    }
}

fn on_run_answer(run: &mut Run, frame: &mut Frame<'_>, about: RunQuestion, answer: Answer) {
    let picked = match &answer {
        Answer::Choice { choice } => choice.clone(),
        _ => String::new(),
    };
    if picked == choice::GIVE_UP {
        let text = match about {
            RunQuestion::Verification => "given up: the gates still reject the work",
            RunQuestion::Model => "given up: the model could not go on",
            RunQuestion::Budget => "given up: the budget is used up",
            RunQuestion::Stall => "given up: the run had stalled",
            RunQuestion::Circles => "given up: the agent went in circles",
            RunQuestion::NoProgress => "given up: the agent got nowhere",
            RunQuestion::PlanReview => "given up: the plan was not wanted",
            RunQuestion::NoPlan => "given up: the model made no plan that can be followed",
        };
        end(run, frame, RunOutcome::Failed, text.to_owned());
        return;
    }
    match about {
        RunQuestion::Budget if picked == choice::FINISH => spending::finish_now(run, frame),
        RunQuestion::Budget => {
            spending::raise(run, frame, &answer);
            call_model(run, frame);
        }
        RunQuestion::Model => {
            run.talk = ModelTalk::default();
            if let Answer::Text { text } = answer {
                say(run, text);
            }
            call_model(run, frame);
        }
        RunQuestion::Stall => {
            if let Answer::Text { text } = answer {
                run.words
                    .push(Block::text(format!("The user says: {text}")));
            }
            let what = run.stall_detail.take().unwrap_or_default();
            again::after_stall(run, frame, &what);
        }
        RunQuestion::NoProgress => {
            run.progress_at = run.iterations;
            if let Answer::Text { text } = answer {
                run.words
                    .push(Block::text(format!("The user says: {text}")));
            }
            call_model(run, frame);
        }
        RunQuestion::Circles => {
            let words = match answer {
                Answer::Text { text } => format!("The user says: {text}"),
                _ => "You go in circles. Try another way.".to_owned(),
            };
            run.words.push(Block::text(words));
            calls::advance(run, frame);
        }
        RunQuestion::Verification => on_rejected_answer(run, frame, &picked, answer),
        RunQuestion::PlanReview => plan::on_reviewed(run, frame, answer),
        RunQuestion::NoPlan => plan::on_no_plan_answer(run, frame, &picked, answer),
    }
}

fn on_rejected_answer(run: &mut Run, frame: &mut Frame<'_>, picked: &str, answer: Answer) {
    match picked {
        choice::CHECK_AGAIN => {
            calls::drop_queue(run, frame, "The user mended it themselves.");
            run.checking_again = true;
            verify::all(run, frame);
        }
        choice::SKIP_STEP => {
            calls::drop_queue(run, frame, "The user skips this step.");
            plan::skip(run, frame, "skipped by you");
        }
        _ => {
            let words = match answer {
                Answer::Text { text } => format!("The user says: {text}"),
                _ => "Your work is still rejected. Try another way.".to_owned(),
            };
            let findings: String = run.new_findings().take(40).map(for_model::one).collect();
            run.words.push(Block::text(format!("{words}\n{findings}")));
            calls::advance(run, frame);
        }
    }
}

/// The gates keep rejecting the work: what was tried, what there is to do.
pub fn ask_about_rejection(run: &mut Run, frame: &mut Frame<'_>, why: &str) {
    let findings: Vec<&Finding> = run.new_findings().collect();
    let mut gates: Vec<String> = findings
        .iter()
        .map(|finding| finding.gate.to_string())
        .collect();
    gates.sort();
    gates.dedup();
    let gates = if gates.is_empty() {
        "A check".to_owned()
    } else {
        gates.join(", ")
    };
    let place = findings.iter().find_map(|finding| {
        let place = finding.place.as_ref()?;
        Some(QuestionPlace {
            path: place.file.workspace()?.clone(),
            range: place.range,
        })
    });
    let mut detail = format!("{why}\n");
    detail.push_str(
        &findings
            .iter()
            .take(40)
            .copied()
            .map(for_model::one)
            .collect::<String>(),
    );
    if findings.len() > 40 {
        detail.push_str(&format!("... and {} more\n", findings.len() - 40));
    }
    let tried = &run.ladder.tried;
    if !tried.is_empty() {
        detail.push_str("Tried:\n");
        for line in tried.iter().rev().take(10).rev() {
            detail.push_str(&format!("- {line}\n"));
        }
    }
    let mut choices = vec![
        offer(
            choice::RETRY,
            "Let the agent try again",
            "it starts afresh, with these findings",
        ),
        offer(
            choice::CHECK_AGAIN,
            "I fixed it myself, check again",
            "the gates run once more",
        ),
    ];
    if run.course.step().is_some() {
        choices.push(offer(
            choice::SKIP_STEP,
            "Skip this step",
            "the run goes on with the steps that do not need it",
        ));
    }
    choices.push(offer(
        choice::GIVE_UP,
        "Give up",
        "the run fails; what it has written stays",
    ));
    choices.push(stop_offer());
    let draft = Draft {
        title: format!("{gates} still rejects the work"),
        detail,
        place,
        kind: QuestionKind::Blocker {
            reason: BlockerReason::Verification,
        },
        choices,
        free_text: true,
    };
    run.ladder.tried.clear();
    let id = questions::open(run, frame, draft);
    waits_for(
        run,
        frame,
        WaitingFor::You,
        format!("{gates} rejects the work"),
    );
    run.run_question = Some((id, RunQuestion::Verification));
}
