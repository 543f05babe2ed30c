//! Talking with the model: calls, answers, failures and what is done about them.

use super::lifecycle::{waits_for, waits_until_over};
use super::{facts, plan, prompt, render, spending};
use crate::kernel::conversation::{
    Block, Message, ModelErrorKind, ModelFailure, ModelRequest, ModelTurn, Role, StopReason, Usage,
};
use crate::kernel::effect::Effect;
use crate::kernel::event::{ReadCall, RunEvent};
use crate::kernel::ids::{ModelCallId, TimerId};
use crate::kernel::policy::recovery::{self, Recovery, Tried};
use crate::kernel::policy::{compaction, stitch};
use crate::kernel::question::{BlockerReason, QuestionKind};
use crate::kernel::questions::{self, Draft, choice, offer, stop_offer};
use crate::kernel::run::{Held, ModelTalk, Run, RunQuestion, WaitingFor};
use crate::kernel::state::Frame;

/// Rounds in which an answer that the output limit cut is continued.
const CONTINUATIONS: u32 = 3;

/// Adds words of ours or of the user to the conversation.
pub fn say(run: &mut Run, text: String) {
    add_blocks(run, vec![Block::text(text)]);
}

/// Adds blocks to the user's side; providers want the sides to alternate.
pub fn add_blocks(run: &mut Run, blocks: Vec<Block>) {
    match run.messages.last_mut() {
        Some(last) if last.role == Role::User => last.blocks.extend(blocks),
        _ => run.messages.push(Message {
            role: Role::User,
            blocks,
        }),
    }
}

/// Calls the model, unless a limit is reached: then a human is asked first.
pub fn call_model(run: &mut Run, frame: &mut Frame<'_>) {
    if std::mem::take(&mut run.skip_step) && run.course.step().is_some() {
        return plan::skip(run, frame, "skipped by you");
    }
    if run.paused {
        run.held = Some(Held::Model);
        return waits_for(run, frame, WaitingFor::You, "the run to be continued");
    }
    let ends_with_model = run
        .messages
        .last()
        .is_some_and(|last| last.role == Role::Assistant);
    if ends_with_model && !run.talk.turn_paused {
        // Without a word of ours providers take the model's last words for the beginning of its next.
        say(run, "Go on.".to_owned());
    }
    let words = std::mem::take(&mut run.words);
    if !words.is_empty() {
        add_blocks(run, words);
    }
    if spending::asks(run, frame) {
        return;
    }
    run.last_call = run.last_call.next();
    run.talk.calling = true;
    let mut messages = run.messages.clone();
    let asides = run
        .talk
        .hint
        .map(Block::text)
        .into_iter()
        .chain(run.talk.note.clone().map(Block::text));
    for block in asides {
        match messages.last_mut() {
            Some(last) if last.role == Role::User => last.blocks.push(block),
            _ => messages.push(Message {
                role: Role::User,
                blocks: vec![block],
            }),
        }
    }
    let model = current_model(run).to_owned();
    let request = ModelRequest {
        model: model.clone(),
        system: run.system.clone(),
        messages,
        tools: prompt::tools(run.course.phase)
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        max_output_tokens: run.talk.max_output,
    };
    frame.record(
        run,
        RunEvent::ModelCalled {
            call: run.last_call,
            model: model.clone(),
            prompt: prompt::parts(&request),
        },
    );
    frame.perform(Effect::CallModel {
        run: run.id.clone(),
        call: run.last_call,
        request,
    });
    waits_for(run, frame, WaitingFor::Model, model);
}

fn current_model(run: &Run) -> &str {
    match &run.spec.fallback_model {
        Some(fallback) if run.talk.on_fallback => fallback,
        _ => &run.spec.model,
    }
}

/// Takes an answer into the conversation and goes on with it.
pub fn on_reply(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ModelCallId,
    turn: ModelTurn,
    tools: Vec<ReadCall>,
) {
    if call != run.last_call || !run.talk.calling {
        return;
    }
    let text = turn.text().trim().to_owned();
    let cut = matches!(turn.stop, StopReason::MaxTokens | StopReason::ContextFull);
    if tools.is_empty() && text.is_empty() && turn.stop != StopReason::Pause {
        let kind = if cut {
            ModelErrorKind::MaxOutput
        } else {
            ModelErrorKind::Empty
        };
        return recover(run, frame, &nothing_said(kind));
    }
    run.talk = ModelTalk {
        // A cut answer is continued, with more room; anything else starts afresh.
        continuations: run.talk.continuations,
        so_far: std::mem::take(&mut run.talk.so_far),
        max_output: run.talk.max_output,
        on_fallback: run.talk.on_fallback,
        turn_paused: turn.stop == StopReason::Pause,
        ..ModelTalk::default()
    };
    run.iterations += 1;
    match run.messages.last_mut() {
        // The rest of a turn that the provider had paused.
        Some(last) if last.role == Role::Assistant => last.blocks.extend(turn.blocks),
        _ => run.messages.push(Message {
            role: Role::Assistant,
            blocks: turn.blocks,
        }),
    }
    let so_far = stitch::join(&run.talk.so_far, &text);
    if !tools.is_empty() {
        run.talk.continuations = 0;
        run.talk.so_far.clear();
        facts::on_calls(run, frame, tools);
    } else if cut || turn.stop == StopReason::Pause {
        let grew = so_far.len() > run.talk.so_far.len();
        run.talk.so_far = so_far;
        go_on(run, frame, &turn.stop, grew);
    } else if turn.stop == StopReason::ContentFilter {
        ask_about_model(run, frame, "The model refused to answer".to_owned(), text);
    } else {
        run.talk.continuations = 0;
        run.talk.so_far.clear();
        facts::on_final_answer(run, frame, so_far);
    }
}

/// Has a cut answer continued.
fn go_on(run: &mut Run, frame: &mut Frame<'_>, stop: &StopReason, grew: bool) {
    run.talk.continuations += 1;
    if run.talk.continuations > CONTINUATIONS || !grew && *stop != StopReason::Pause {
        let title = "The model's answer is cut off by its output limit again and again".to_owned();
        ask_about_model(
            run,
            frame,
            title,
            format!(
                "{} continuations did not complete it.",
                run.talk.continuations - 1
            ),
        );
        return;
    }
    if *stop == StopReason::ContextFull && !compact(run, frame, None) {
        let title =
            "The conversation fills the model's context and cannot be made shorter".to_owned();
        ask_about_model(run, frame, title, sizes(run));
        return;
    }
    if *stop != StopReason::Pause {
        let now = run.talk.max_output.unwrap_or(recovery::USUAL_OUTPUT);
        run.talk.max_output = Some(now.saturating_mul(2).min(recovery::LARGEST_OUTPUT));
        say(
            run,
            "Continue exactly where you stopped. Do not repeat.".to_owned(),
        );
    }
    call_model(run, frame);
}

fn nothing_said(kind: ModelErrorKind) -> ModelFailure {
    let advice = match kind {
        ModelErrorKind::MaxOutput => "The output limit left nothing visible of the model's answer.",
        _ => "The model's answer was empty.",
    };
    ModelFailure {
        kind,
        retryable: false,
        retry_after_ms: None,
        status: None,
        tokens: None,
        rule: "kernel".to_owned(),
        raw: String::new(),
        advice: advice.to_owned(),
        usage: Usage::default(),
    }
}

pub fn on_failure(run: &mut Run, frame: &mut Frame<'_>, call: ModelCallId, failure: &ModelFailure) {
    if call == run.last_call && run.talk.calling {
        recover(run, frame, failure);
    }
}

fn recover(run: &mut Run, frame: &mut Frame<'_>, failure: &ModelFailure) {
    run.talk.calling = false;
    run.talk.failures += 1;
    let tried = Tried {
        failures: run.talk.failures,
        compacted: run.talk.compacted,
        hinted: run.talk.hint.is_some(),
        fallback: run.spec.fallback_model.is_some() && !run.talk.on_fallback,
        max_output: run.talk.max_output,
        jitter: jitter(run),
    };
    match recovery::decide(failure, &tried) {
        Recovery::Again { after_ms, parked } => {
            retried(run, frame, failure, failure.advice.clone(), after_ms);
            run.last_timer = run.last_timer.next();
            run.timer = Some(run.last_timer);
            frame.perform(Effect::ArmTimer {
                run: run.id.clone(),
                timer: run.last_timer,
                after_ms,
            });
            let what = if parked {
                WaitingFor::RateLimit
            } else {
                WaitingFor::Retry
            };
            waits_until_over(run, frame, (what, after_ms), failure.advice.clone());
        }
        Recovery::Hint { note } => {
            run.talk.hint = Some(note);
            retried(
                run,
                frame,
                failure,
                format!("{} Asked again with a hint.", failure.advice),
                0,
            );
            call_model(run, frame);
        }
        Recovery::LongerOutput { max_output } => {
            run.talk.max_output = Some(max_output);
            retried(
                run,
                frame,
                failure,
                format!(
                    "{} Asked again with room for {max_output} tokens.",
                    failure.advice
                ),
                0,
            );
            call_model(run, frame);
        }
        Recovery::Compact => {
            let limit = failure
                .tokens
                .and_then(|tokens| tokens.limit.zip(tokens.actual));
            let before = compaction::size(&run.messages);
            if compact(run, frame, limit) {
                run.talk.compacted = true;
                let after = compaction::size(&run.messages);
                retried(
                    run,
                    frame,
                    failure,
                    format!("The conversation was shortened from {before} to {after} bytes."),
                    0,
                );
                call_model(run, frame);
            } else {
                let title = "The conversation is too long for the model and cannot be made shorter"
                    .to_owned();
                let detail = format!("{}\n\n{}", sizes(run), render::failure(failure));
                ask_about_model(run, frame, title, detail);
            }
        }
        Recovery::Fallback => {
            run.talk = ModelTalk {
                on_fallback: true,
                ..ModelTalk::default()
            };
            let what = format!(
                "{} The run goes on with {}.",
                failure.advice,
                current_model(run)
            );
            retried(run, frame, failure, what, 0);
            call_model(run, frame);
        }
        Recovery::Ask => {
            let title = format!(
                "The model {} cannot go on: {}",
                current_model(run),
                failure.advice
            );
            ask_about_model(run, frame, title, render::provider_words(failure));
        }
    }
}

fn retried(run: &Run, frame: &mut Frame<'_>, failure: &ModelFailure, what: String, after_ms: u64) {
    frame.record(
        run,
        RunEvent::ModelRetried {
            kind: failure.kind,
            what,
            after_ms,
        },
    );
}

/// A number that differs between runs and calls, the same at each replay.
fn jitter(run: &Run) -> u64 {
    let seed = run
        .id
        .as_str()
        .bytes()
        .fold(u64::from(run.last_call.0), |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

/// Shortens the conversation: to two thirds of the limit where it is known, else to half. Whether it got shorter.
fn compact(run: &mut Run, frame: &Frame<'_>, limit_of: Option<(u64, u64)>) -> bool {
    let size = compaction::size(&run.messages);
    let target = match limit_of {
        Some((limit, actual)) if actual > 0 => {
            let target = u128::from(limit) * 2 / 3 * (size as u128) / u128::from(actual);
            usize::try_from(target).unwrap_or(size)
        }
        _ => size / 2,
    };
    match compaction::compact(&run.messages, &memo(run, frame), target) {
        Some(short) => {
            run.messages = short;
            // What was left out, the model has not read any more, but its changes may still rest on it: the hashes guard them.
            true
        }
        None => false,
    }
}

/// What must survive of rounds that are left out.
fn memo(run: &Run, frame: &Frame<'_>) -> String {
    let mut memo = String::new();
    for item in &run.plan {
        memo.push_str(&format!(
            "plan: [{}] {}\n",
            render::plan_state(item.state),
            item.title
        ));
    }
    for file in run.file_summaries() {
        memo.push_str(&format!(
            "changed by you: {} (+{} -{})\n",
            file.path, file.added, file.removed
        ));
    }
    for finding in run.new_findings().take(20) {
        memo.push_str(&format!("still rejected: {}\n", render::headline(finding)));
    }
    for id in &run.open_questions {
        if let Some(question) = frame.questions.get(id) {
            memo.push_str(&format!("the user is still asked: {}\n", question.title));
        }
    }
    memo
}

fn sizes(run: &Run) -> String {
    format!(
        "{} messages, {} bytes, of which the last tool results take the most.",
        run.messages.len(),
        compaction::size(&run.messages)
    )
}

pub fn on_timer(run: &mut Run, frame: &mut Frame<'_>, timer: TimerId) {
    if run.timer == Some(timer) {
        run.timer = None;
        call_model(run, frame);
    }
}

fn ask_about_model(run: &mut Run, frame: &mut Frame<'_>, title: String, detail: String) {
    let draft = Draft {
        title,
        detail,
        place: None,
        kind: QuestionKind::Blocker {
            reason: BlockerReason::Model,
        },
        choices: vec![
            offer(
                choice::RETRY,
                "Try again",
                "the same call is made once more",
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
    ask_about_run(run, frame, draft, RunQuestion::Model);
}

pub fn ask_about_run(run: &mut Run, frame: &mut Frame<'_>, draft: Draft, about: RunQuestion) {
    let title = draft.title.clone();
    let id = questions::open(run, frame, draft);
    run.run_question = Some((id, about));
    waits_for(run, frame, WaitingFor::You, title);
}
