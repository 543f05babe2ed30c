//! The kernel as a whole, driven by lists of inputs. No I/O, no clock: every decision of a run can be seen here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value
)] // a test may panic

mod kernel {
    pub mod bench;
    mod done;
    mod plans;
}

use kernel::bench::{Bench, absent, call, reject, reply, text_file, tool, unsaved};
use outrigger::kernel::conversation::{Block, ModelErrorKind, ModelFailure, Role};
use outrigger::kernel::effect::{Effect, RefusalKind, Reply};
use outrigger::kernel::event::{CommandPolicy, GateRound, RunEvent, RunOutcome, Steer};
use outrigger::kernel::file::{NewContent, WriteOutcome, WrittenThrough};
use outrigger::kernel::policy::budget::Limit;
use outrigger::kernel::policy::stall::{StallAction, StallPolicy};
use outrigger::kernel::question::{Answer, ConflictReason, QuestionKind, QuestionState};
use outrigger::kernel::run::{RunStatus, Verification, WaitingFor};

fn choice(name: &str) -> Answer {
    Answer::Choice {
        choice: name.into(),
    }
}

fn failure(kind: ModelErrorKind) -> ModelFailure {
    ModelFailure {
        kind,
        retryable: true,
        retry_after_ms: None,
        status: None,
        tokens: None,
        rule: "test".into(),
        raw: "raw".into(),
        advice: "do something".into(),
        usage: outrigger::kernel::conversation::Usage::default(),
    }
}

#[test]
fn a_run_that_changes_nothing_succeeds_with_its_reason() {
    let mut bench = Bench::started("say why");
    bench.context();
    bench.baseline(Vec::new());
    bench.reply(reply("Nothing is to be done: it is right already."));
    let (outcome, summary) = bench.ended();
    assert_eq!(outcome, RunOutcome::Succeeded);
    assert_eq!(summary.verification, Verification::NotNeeded);
    assert_eq!(summary.text, "Nothing is to be done: it is right already.");
}

#[test]
fn a_new_file_is_written_once_the_baseline_is_known_then_verified() {
    let mut bench = Bench::started("make a.rs");
    bench.context();
    bench.reply(call("write", r#"{"path":"a.rs","content":"fn a() {}\n"}"#));
    bench.inspected(absent());
    assert!(
        !bench.said(|effect| matches!(effect, Effect::Write { .. })),
        "nothing is written before the baseline is known"
    );
    bench.baseline(Vec::new());
    let order = bench.write();
    assert_eq!((order.path.as_str(), order.expected), ("a.rs", None));
    bench.written();
    assert_eq!(bench.run().status, RunStatus::Verifying);
    bench.gates(vec![reject("a.rs", 0, "E0425", "cannot find value `x`")]);
    let request = bench.request();
    let last = request.messages.last().expect("a message");
    assert!(
        matches!(&last.blocks[..], [Block::ToolResult { text, is_error: false, .. }] if text.contains("a.rs:1:1: error E0425: cannot find value `x`")),
        "{last:?}"
    );
    assert_eq!(bench.published("a.rs").expect("published").len(), 1);

    bench.reply(call(
        "edit",
        r#"{"path":"a.rs","edits":[{"old":"fn a() {}","new":"fn b() {}"}]}"#,
    ));
    bench.inspected(text_file("fn a() {}\n"));
    bench.written();
    bench.gates(vec![reject("", 0, "", "")]);
    assert_eq!(
        bench.published("a.rs").expect("published").len(),
        0,
        "a fixed finding is cleared"
    );
    bench.reply(reply("Done as asked."));
    bench.gates(vec![reject("", 0, "", "")]);
    let (outcome, summary) = bench.ended();
    assert_eq!(
        (outcome, summary.verification),
        (RunOutcome::Succeeded, Verification::Passed)
    );
    assert_eq!(summary.files.len(), 1);
}

#[test]
fn what_was_broken_before_is_not_the_runs_fault() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(vec![reject("old.rs", 3, "E1", "old")]);
    bench.reply(call("write", r#"{"path":"a.rs","content":"a\n"}"#));
    bench.inspected(absent());
    bench.written();
    bench.gates(vec![reject("old.rs", 9, "E1", "old")]);
    assert!(bench.published("old.rs").is_none());
    bench.reply(reply("Done as asked."));
    bench.gates(vec![reject("old.rs", 9, "E1", "old")]);
    assert_eq!(bench.ended().0, RunOutcome::Succeeded);
}

/// A run whose `write` of a.rs meets other content.
fn in_conflict() -> Bench {
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(Vec::new());
    bench.reply(call(
        "write",
        r#"{"path":"a.rs","content":"one\nTWO\nthree\nFOUR\n"}"#,
    ));
    bench.inspected(text_file("one\ntwo\nthree\nfour\n"));
    bench
}

#[test]
fn a_create_onto_other_content_is_asked_about_with_its_hunks() {
    let bench = in_conflict();
    let question = bench.question();
    let QuestionKind::Overwrite(overwrite) = &question.kind else {
        panic!("{question:?}")
    };
    assert_eq!(
        (
            overwrite.reason,
            overwrite.hunks.len(),
            overwrite.base.is_none()
        ),
        (ConflictReason::Exists, 2, true)
    );
    assert!(
        question.detail.contains("-two\n+TWO\n"),
        "{}",
        question.detail
    );
    assert_eq!(
        bench.run().waiting.as_ref().map(|waiting| waiting.what),
        Some(WaitingFor::You)
    );
    assert_eq!(
        bench.run().active_since,
        None,
        "waiting for a human does not count"
    );
}

#[test]
fn answers_to_a_conflict_do_what_they_say() {
    let rows = [
        (Answer::TakeAll, Some("one\nTWO\nthree\nFOUR\n")),
        (choice("takeAll"), Some("one\nTWO\nthree\nFOUR\n")),
        (
            Answer::TakeHunks { hunks: vec![1] },
            Some("one\ntwo\nthree\nFOUR\n"),
        ),
        (
            Answer::TakeText {
                text: "mine é漢😀".into(),
            },
            Some("mine é漢😀"),
        ),
        (
            Answer::KeepMine {
                reason: Some("it is generated".into()),
            },
            None,
        ),
    ];
    for (answer, written) in rows {
        let mut bench = in_conflict();
        let id = bench.question().id;
        bench.answer(&id, answer.clone()).expect("taken");
        match written {
            Some(want) => {
                bench.inspected(text_file("one\ntwo\nthree\nfour\n"));
                let order = bench.write();
                assert!(
                    matches!(&order.content, NewContent::Text { text, .. } if &**text == want),
                    "{answer:?}: {order:?}"
                );
                assert_eq!(
                    order.expected,
                    text_file("one\ntwo\nthree\nfour\n").hash().cloned()
                );
            }
            None => {
                assert!(!bench.said(|effect| matches!(effect, Effect::Write { .. })));
                let request = bench.request();
                let told = format!("{:?}", request.messages.last());
                assert!(
                    told.contains("it is generated") && told.contains("is_error: true"),
                    "{told}"
                );
            }
        }
    }
}

#[test]
fn an_answer_about_what_is_no_longer_there_is_not_applied() {
    let mut bench = in_conflict();
    let first = bench.question().id;
    bench.answer(&first, Answer::TakeAll).expect("taken");
    bench.inspected(text_file("typed meanwhile\n"));
    assert!(!bench.said(|effect| matches!(effect, Effect::Write { .. })));
    let second = bench.question();
    assert_ne!(second.id, first);
    let QuestionKind::Overwrite(overwrite) = &second.kind else {
        panic!("{second:?}")
    };
    assert_eq!(
        overwrite.current,
        text_file("typed meanwhile\n").hash().cloned()
    );
}

#[test]
fn a_write_that_finds_other_content_looks_again() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(Vec::new());
    bench.reply(call("write", r#"{"path":"a.rs","content":"new\n"}"#));
    bench.inspected(absent());
    bench.write_ends(WriteOutcome::Changed);
    bench.inspected(text_file("somebody made it\n"));
    assert!(matches!(bench.question().kind, QuestionKind::Overwrite(_)));
}

#[test]
fn a_write_of_unknown_end_is_settled_by_what_is_there() {
    for (now, done) in [(text_file("new\n"), true), (absent(), false)] {
        let mut bench = Bench::started("x");
        bench.context();
        bench.baseline(Vec::new());
        bench.reply(call("write", r#"{"path":"a.rs","content":"new\n"}"#));
        bench.inspected(absent());
        bench.write_ends(WriteOutcome::Unknown {
            error: "cut off".into(),
        });
        bench.inspected(now);
        assert_eq!(bench.run().changes.contains_key(&bench.path("a.rs")), done);
        assert_eq!(
            bench.said(|effect| matches!(effect, Effect::Write { .. })),
            !done,
            "what did not happen is done once more"
        );
    }
}

#[test]
fn unsaved_text_that_the_edit_overlaps_is_asked_about_and_other_text_is_merged() {
    let read = r#"{"path":"a.rs"}"#;
    let edit = r#"{"path":"a.rs","edits":[{"old":"two","new":"TWO"}]}"#;
    for (now, merged) in [
        ("ONE typed\ntwo\nthree\nfour\nfive\n", true),
        ("one\ntwo typed\nthree\nfour\nfive\n", false),
    ] {
        let mut bench = Bench::started("x");
        bench.context();
        bench.baseline(Vec::new());
        bench.reply(call("read", read));
        bench.read("a.rs", "one\ntwo\nthree\nfour\nfive\n");
        bench.reply(call("edit", edit));
        bench.inspected(unsaved(now, "one\ntwo\nthree\nfour\nfive\n"));
        if merged {
            let order = bench.write();
            assert!(
                matches!(&order.content, NewContent::Text { text, .. } if &**text == "ONE typed\nTWO\nthree\nfour\nfive\n"),
                "{order:?}"
            );
        } else {
            let question = bench.question();
            assert!(
                matches!(&question.kind, QuestionKind::Overwrite(overwrite) if overwrite.unsaved && overwrite.reason == ConflictReason::UnsavedText),
                "{question:?}"
            );
        }
    }
}

#[test]
fn the_first_valid_answer_wins() {
    let mut bench = in_conflict();
    let id = bench.question().id;
    assert_eq!(
        bench
            .answer(&id, Answer::Text { text: "x".into() })
            .unwrap_err()
            .kind,
        RefusalKind::WrongAnswer
    );
    assert_eq!(
        bench
            .answer(&id, Answer::TakeHunks { hunks: vec![7] })
            .unwrap_err()
            .kind,
        RefusalKind::WrongAnswer
    );
    assert!(
        matches!(bench.question().state, QuestionState::Open),
        "a wrong answer leaves the question open"
    );
    bench.answer(&id, Answer::TakeAll).expect("taken");
    let refusal = bench
        .answer(&id, Answer::KeepMine { reason: None })
        .unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::AlreadyAnswered);
    assert!(refusal.message.contains("tester"), "{}", refusal.message);
}

#[test]
fn the_models_question_goes_on_where_it_stopped() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(Vec::new());
    bench.reply(call(
        "ask",
        r#"{"question":"Which port?","choices":["80","8080"],"path":"a.rs","line":3}"#,
    ));
    let question = bench.question();
    assert_eq!(
        question.place.as_ref().map(|place| place.range.start.line),
        Some(2)
    );
    bench.answer(&question.id, choice("2")).expect("taken");
    let request = bench.request();
    assert!(format!("{:?}", request.messages.last()).contains("The user answered: 8080"));
    assert_eq!(bench.run().status, RunStatus::Executing);
}

#[test]
fn commands_are_asked_about_unless_allowed() {
    let run = r#"{"command":"make"}"#;
    let mut bench = Bench::started("x");
    bench.context();
    bench.reply(call("command", run));
    assert!(!bench.said(|effect| matches!(effect, Effect::RunTool { .. })));
    let id = bench.question().id;
    bench.answer(&id, choice("allowForRun")).expect("taken");
    assert!(bench.said(|effect| matches!(effect, Effect::RunTool { .. })));
    bench.output("made", false);
    bench.reply(call("command", run));
    assert!(
        bench.said(|effect| matches!(effect, Effect::RunTool { .. })),
        "allowed for the whole run"
    );

    let mut bench = Bench::with("x", |spec| spec.policy.commands = CommandPolicy::Deny);
    bench.context();
    bench.reply(call("command", run));
    assert!(format!("{:?}", bench.request().messages.last()).contains("not allowed"));
}

#[test]
fn every_call_of_a_turn_gets_exactly_one_result_in_order() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(Vec::new());
    bench.reply_with(
        vec![
            tool("t1", "plan", r#"{"items":[]}"#),
            tool("t2", "nonsense", "{}"),
            tool("t3", "read", r#"{"path":"../up"}"#),
            tool("t4", "list", "{}"),
        ],
        "",
    );
    bench.output("a.rs", false);
    let request = bench.request();
    let last = request.messages.last().expect("a message");
    let got: Vec<(&str, bool)> = last
        .blocks
        .iter()
        .map(|block| match block {
            Block::ToolResult { call, is_error, .. } => (call.as_str(), *is_error),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        got,
        [("t1", false), ("t2", true), ("t3", true), ("t4", false)]
    );
    let roles: Vec<Role> = request
        .messages
        .iter()
        .map(|message| message.role)
        .collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
}

#[test]
fn endings_rejected_for_the_very_same_are_a_blocker_with_the_findings() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(Vec::new());
    bench.reply(call("write", r#"{"path":"a.rs","content":"a\n"}"#));
    bench.inspected(absent());
    bench.written();
    bench.gates(vec![reject("a.rs", 0, "E1", "bad")]);
    for words in ["Attempt 1", "Attempt 2", "Take another way", ""] {
        bench.reply(reply("Done as asked."));
        bench.gates(vec![reject("a.rs", 0, "E1", "bad")]);
        if !words.is_empty() {
            let told = format!("{:?}", bench.request().messages.last());
            assert!(told.contains(words), "{told}");
        }
    }
    let question = bench.question();
    assert!(
        matches!(question.kind, QuestionKind::Blocker { .. })
            && question.detail.contains("a.rs:1:1: error E1: bad"),
        "{question:?}"
    );
    let mut other = bench.clone();
    bench.answer(&question.id, choice("giveUp")).expect("taken");
    let (outcome, summary) = bench.ended();
    assert_eq!(
        (outcome, summary.verification),
        (RunOutcome::Failed, Verification::Failed)
    );
    other
        .answer(
            &question.id,
            Answer::Text {
                text: "use b".into(),
            },
        )
        .expect("taken");
    assert!(format!("{:?}", other.request().messages.last()).contains("The user says: use b"));
}

#[test]
fn a_provider_failure_is_never_success() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.model_fails(failure(ModelErrorKind::Auth));
    let question = bench.question();
    assert!(
        question.title.contains("do something") && question.detail.contains("raw"),
        "{question:?}"
    );
    bench.answer(&question.id, choice("giveUp")).expect("taken");
    assert_eq!(bench.ended().0, RunOutcome::Failed);
}

#[test]
fn a_passing_failure_is_retried_after_a_while_without_using_an_iteration() {
    let mut bench = Bench::started("x");
    bench.context();
    for want in [1000, 2000, 4000] {
        bench.model_fails(failure(ModelErrorKind::Overloaded));
        assert!(
            (want..want * 5 / 4).contains(&bench.timer()),
            "{}",
            bench.timer()
        );
        bench.timer_fires();
        assert_eq!(bench.run().iterations, 0);
    }
    bench.model_fails(failure(ModelErrorKind::Overloaded));
    assert!(matches!(
        bench.question().kind,
        QuestionKind::Blocker { .. }
    ));
}

#[test]
fn an_empty_answer_gets_one_hint_that_leaves_no_trace() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.reply(reply("  "));
    let request = bench.request();
    assert!(format!("{:?}", request.messages.last()).contains("Your last answer was empty"));
    assert_eq!(bench.run().iterations, 0);
    bench.reply(reply("Nothing to do."));
    assert!(!format!("{:?}", bench.run().messages).contains("Your last answer was empty"));
    assert_eq!(bench.ended().0, RunOutcome::Succeeded);

    let mut bench = Bench::started("x");
    bench.context();
    bench.reply(reply(""));
    bench.reply(reply(""));
    assert!(
        matches!(bench.question().kind, QuestionKind::Blocker { .. }),
        "a second empty answer is never success"
    );
}

#[test]
fn a_used_up_budget_is_a_question_before_the_next_call() {
    let mut bench = Bench::with("x", |spec| spec.budget.iterations = 1);
    bench.context();
    bench.reply(call("list", "{}"));
    bench.output("a.rs", false);
    let question = bench.question();
    assert!(matches!(question.kind, QuestionKind::Budget { .. }));
    bench.answer(&question.id, choice("raise")).expect("taken");
    bench.request();
    assert_eq!(bench.run().spec.budget.iterations, 2);
}

#[test]
fn a_limit_is_warned_of_once_and_raised_to_what_the_human_types() {
    let mut bench = Bench::with("x", |spec| spec.budget.iterations = 5);
    bench.context();
    let is_warning = |effect: &Effect| {
        matches!(
            effect,
            Effect::Record {
                event: RunEvent::BudgetWarned {
                    of: Limit::Iterations,
                    used: 4,
                    at: 5,
                    ..
                },
                ..
            }
        )
    };
    for turn in 1..=5 {
        bench.reply(call("list", "{}"));
        bench.output(&format!("a{turn}.rs"), false);
        assert_eq!(bench.said(is_warning), turn == 4, "turn {turn}");
    }
    let question = bench.question();
    let text = |text: &str| Answer::Text { text: text.into() };
    for wrong in ["more", "5", "3"] {
        let refused = bench.answer(&question.id, text(wrong)).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::WrongAnswer, "{wrong}");
    }
    bench.answer(&question.id, text("7")).expect("taken");
    assert_eq!(bench.run().spec.budget.iterations, 7);
    let request = bench.request();
    let told = format!("{:?}", request.messages);
    assert_eq!(told.matches("80 % of the budget").count(), 1, "{told}");
}

#[test]
fn cancel_withdraws_questions_and_ends_when_the_work_is_dead() {
    let mut bench = in_conflict();
    let id = bench.question().id;
    let request = bench.cancel();
    assert!(bench.said(|effect| matches!(effect, Effect::StopWork { .. })));
    assert!(matches!(
        bench.state.questions[&id].state,
        QuestionState::Withdrawn { .. }
    ));
    assert!(
        bench.replies(request).is_none(),
        "not acknowledged before the work is dead"
    );
    assert_eq!(
        bench.answer(&id, Answer::TakeAll).unwrap_err().kind,
        RefusalKind::AlreadyAnswered
    );
    let second = bench.cancel();
    bench.fact(RunEvent::WorkStopped);
    assert_eq!(bench.ended().0, RunOutcome::Cancelled);
    assert!(matches!(
        bench.replies(request),
        Some(Ok(Reply::Cancelled { .. }))
    ));
    assert!(matches!(
        bench.replies(second),
        Some(Ok(Reply::Cancelled { .. }))
    ));
    assert_eq!(bench.terminals(), 1);
    bench.reply(reply("late"));
    assert_eq!(
        bench.terminals(),
        1,
        "what comes after the end changes nothing"
    );
}

#[test]
fn what_was_written_while_stopping_is_still_a_change_of_the_run() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(Vec::new());
    bench.reply(call("write", r#"{"path":"a.rs","content":"a\n"}"#));
    bench.inspected(absent());
    bench.write();
    bench.cancel();
    let after = text_file("a\n").hash().cloned();
    bench.write_ends(WriteOutcome::Written {
        before: None,
        after,
        through: WrittenThrough::Disk,
    });
    bench.fact(RunEvent::WorkStopped);
    let (outcome, summary) = bench.ended();
    assert_eq!((outcome, summary.files.len()), (RunOutcome::Cancelled, 1));
}

#[test]
fn the_facts_of_a_transcript_give_the_same_state() {
    let mut bench = in_conflict();
    let id = bench.question().id;
    bench
        .answer(&id, Answer::TakeHunks { hunks: vec![0] })
        .expect("taken");
    bench.inspected(text_file("one\ntwo\nthree\nfour\n"));
    bench.written();
    bench.gates(vec![reject("a.rs", 0, "E1", "bad")]);
    bench.reply(call("ask", r#"{"question":"why?"}"#));
    let again = bench.replayed();
    assert_eq!(again.runs, bench.state.runs);
    assert_eq!(again.questions, bench.state.questions);
}

#[test]
fn a_final_round_is_asked_for_all_changed_files() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(Vec::new());
    bench.reply(call("write", r#"{"path":"a.rs","content":"a\n"}"#));
    bench.inspected(absent());
    bench.written();
    bench.gates(Vec::new());
    bench.reply(reply("Done as asked."));
    assert!(bench.said(|effect| matches!(effect, Effect::RunGates { why: GateRound::Final, paths, .. } if paths.len() == 1)));
    bench.gates(Vec::new());
    let (outcome, summary) = bench.ended();
    assert_eq!(
        (outcome, summary.verification),
        (RunOutcome::Succeeded, Verification::Unverified),
        "no gate ran: said openly"
    );
}

#[test]
fn a_prompt_that_is_too_long_is_compacted_once_and_the_run_goes_on() {
    let mut bench = Bench::started("the task");
    bench.context();
    bench.reply(call("list", "{}"));
    bench.output(&"x".repeat(50_000), false);
    bench.reply(call("list", "{}"));
    bench.output("short", false);
    bench.model_fails(failure(ModelErrorKind::PromptTooLong));
    let request = bench.request();
    let text = format!("{:?}", request.messages);
    assert!(
        text.len() < 10_000
            && text.contains("the task")
            && text.contains("bytes of result left out"),
        "{}",
        text.len()
    );
    assert_eq!(bench.run().iterations, 2);
    bench.model_fails(failure(ModelErrorKind::PromptTooLong));
    assert!(
        matches!(bench.question().kind, QuestionKind::Blocker { .. }),
        "once only"
    );
}

#[test]
fn the_fallback_model_takes_over_when_the_first_cannot_be_reached() {
    let mut bench = Bench::with("x", |spec| spec.fallback_model = Some("other/model".into()));
    bench.context();
    for _ in 0..3 {
        bench.model_fails(failure(ModelErrorKind::ServerError));
        bench.timer_fires();
    }
    bench.model_fails(failure(ModelErrorKind::ServerError));
    assert_eq!(bench.request().model, "other/model");
    bench.model_fails(failure(ModelErrorKind::Auth));
    assert!(bench.question().title.contains("other/model"));
}

#[test]
fn a_rate_limit_parks_the_run_until_the_named_time() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.model_fails(ModelFailure {
        retry_after_ms: Some(60_000),
        ..failure(ModelErrorKind::RateLimit)
    });
    let waiting = bench.run().waiting.clone().expect("it waits");
    assert_eq!(
        (waiting.what, waiting.until),
        (WaitingFor::RateLimit, Some(waiting.since + 60_000))
    );
    bench.timer_fires();
    bench.request();
}

fn stalling(action: StallAction) -> Bench {
    let mut bench = Bench::with("x", |spec| {
        spec.stall = StallPolicy {
            timeout_s: 10,
            action,
        }
    });
    bench.context();
    bench.baseline(Vec::new());
    bench
}

#[test]
fn a_stall_is_noticed_once_and_not_while_something_lives() {
    let mut bench = stalling(StallAction::Blocker);
    bench.idle(9_000);
    bench.lives();
    bench.idle(9_000);
    assert!(!bench.said(|effect| matches!(effect, Effect::StopWork { .. })));
    bench.idle(2_000);
    assert!(bench.said(|effect| matches!(effect, Effect::StopWork { .. })));
    bench.idle(60_000);
    assert!(
        !bench.said(|effect| matches!(effect, Effect::StopWork { .. })),
        "once only"
    );
    bench.fact(RunEvent::WorkStopped);
    let question = bench.question();
    assert!(
        question.title.contains("11 s without a sign of life"),
        "{}",
        question.title
    );
    assert!(
        question.detail.contains("Model turns: 0") && question.detail.contains("Tokens: 0"),
        "{}",
        question.detail
    );
    bench.idle(3_600_000);
    assert!(
        !bench.said(|effect| matches!(effect, Effect::StopWork { .. })),
        "a human who thinks is no stall"
    );
    bench.answer(&question.id, choice("retry")).expect("taken");
    let request = bench.request();
    assert!(
        format!("{:?}", request.messages).contains("without a sign of life"),
        "what stalled is in the prompt"
    );
    bench.reply(reply("Nothing to do."));
    assert!(
        !format!("{:?}", bench.run().messages).contains("without a sign of life"),
        "and not in the history"
    );
}

#[test]
fn a_second_stall_fails_a_run_that_retries() {
    let mut bench = stalling(StallAction::Retry);
    bench.idle(10_000);
    bench.fact(RunEvent::WorkStopped);
    bench.request();
    bench.idle(10_000);
    bench.fact(RunEvent::WorkStopped);
    let (outcome, summary) = bench.ended();
    assert_eq!(outcome, RunOutcome::Failed);
    assert!(summary.text.contains("stalled"), "{}", summary.text);
}

#[test]
fn a_hung_command_is_stopped_and_the_model_is_told() {
    let mut bench = Bench::with("x", |spec| {
        spec.stall = StallPolicy {
            timeout_s: 10,
            action: StallAction::Retry,
        };
        spec.policy.commands = CommandPolicy::Allow;
    });
    bench.context();
    bench.baseline(Vec::new());
    bench.reply(call("command", r#"{"command":"hang"}"#));
    bench.idle(10_000);
    bench.fact(RunEvent::WorkStopped);
    let told = format!("{:?}", bench.request().messages.last());
    assert!(told.contains("The command hung and was stopped"), "{told}");
}

#[test]
fn a_hung_gate_and_a_baseline_that_was_stopped_with_it_run_again() {
    let mut bench = stalling(StallAction::Retry);
    bench.reply(call("write", r#"{"path":"a.rs","content":"a\n"}"#));
    bench.inspected(absent());
    bench.written();
    bench.idle(10_000);
    bench.fact(RunEvent::WorkStopped);
    assert!(bench.said(|effect| matches!(
        effect,
        Effect::RunGates {
            why: GateRound::Change,
            ..
        }
    )));
    bench.gates(Vec::new());
    bench.request();

    let mut bench = Bench::with("x", |spec| {
        spec.stall = StallPolicy {
            timeout_s: 10,
            action: StallAction::Retry,
        }
    });
    bench.context();
    bench.idle(10_000);
    bench.fact(RunEvent::WorkStopped);
    assert!(bench.said(|effect| matches!(
        effect,
        Effect::RunGates {
            why: GateRound::Baseline,
            ..
        }
    )));
    bench.request();
}

#[test]
fn no_timeout_no_stall() {
    let mut bench = Bench::with("x", |spec| spec.stall.timeout_s = 0);
    bench.context();
    bench.idle(u64::from(u32::MAX));
    assert!(!bench.said(|effect| matches!(effect, Effect::StopWork { .. })));
}

#[test]
fn the_same_call_with_the_same_result_is_told_then_asked_about() {
    let mut bench = Bench::with("x", |spec| spec.policy.commands = CommandPolicy::Allow);
    bench.context();
    for turn in 1..=5 {
        bench.reply(call("command", r#"{"command":"make"}"#));
        bench.output("make: *** no rule", true);
        if turn == 3 {
            assert!(format!("{:?}", bench.request().messages.last()).contains("Do something else"));
        }
    }
    let question = bench.question();
    assert!(
        matches!(question.kind, QuestionKind::Blocker { .. })
            && question.detail.contains("no rule"),
        "{question:?}"
    );
    bench
        .answer(
            &question.id,
            Answer::Text {
                text: "use cargo".into(),
            },
        )
        .expect("taken");
    let request = bench.request();
    let last = request.messages.last().expect("a message");
    assert!(
        matches!(&last.blocks[..], [Block::ToolResult { .. }, Block::Text { text, .. }] if text.contains("use cargo")),
        "results come first: {last:?}"
    );
}

#[test]
fn a_word_of_the_user_reaches_the_model_at_the_next_safe_point() {
    let mut bench = Bench::with("x", |spec| spec.policy.commands = CommandPolicy::Allow);
    bench.context();
    bench.reply(call("command", r#"{"command":"make"}"#));
    bench
        .steer(Steer::Message {
            text: "not in main".into(),
        })
        .expect("taken");
    bench.steer(Steer::Pause).expect("taken");
    bench.output("made", false);
    assert!(
        !bench.said(|effect| matches!(effect, Effect::CallModel { .. })),
        "paused"
    );
    assert_eq!(
        bench.run().waiting.as_ref().map(|waiting| waiting.what),
        Some(WaitingFor::You)
    );
    bench
        .steer(Steer::Model {
            model: "better/one".into(),
        })
        .expect("taken");
    bench.steer(Steer::GoOn).expect("taken");
    let request = bench.request();
    assert_eq!(request.model, "better/one");
    assert!(format!("{:?}", request.messages.last()).contains("not in main"));
}

#[test]
fn a_resumed_run_repeats_no_side_effect() {
    // A write that may have happened is looked at.
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(Vec::new());
    bench.reply(call("write", r#"{"path":"a.rs","content":"new\n"}"#));
    bench.inspected(absent());
    bench.write();
    bench.restarted();
    assert_eq!(bench.run().status, RunStatus::Interrupted);
    bench.resume();
    assert!(!bench.said(|effect| matches!(effect, Effect::Write { .. })));
    bench.inspected(text_file("new\n"));
    assert!(
        bench.run().changes.contains_key(&bench.path("a.rs"))
            && !bench.said(|effect| matches!(effect, Effect::Write { .. }))
    );

    // A command that had started is asked about.
    let mut bench = Bench::with("x", |spec| spec.policy.commands = CommandPolicy::Allow);
    bench.context();
    bench.reply(call("command", r#"{"command":"deploy"}"#));
    bench.restarted();
    bench.resume();
    assert!(!bench.said(|effect| matches!(effect, Effect::RunTool { .. })));
    let question = bench.question();
    assert!(
        matches!(&question.kind, QuestionKind::Uncertain { command } if command == "deploy"),
        "{question:?}"
    );
    for (answer, says) in [("done", "is done"), ("notDone", "not done")] {
        let mut bench = bench.clone();
        bench.answer(&question.id, choice(answer)).expect("taken");
        assert!(format!("{:?}", bench.request().messages.last()).contains(says));
    }
    bench
        .answer(&question.id, choice("runAgain"))
        .expect("taken");
    assert!(bench.said(|effect| matches!(effect, Effect::RunTool { .. })));
}

#[test]
fn a_resumed_run_goes_on_with_what_is_safe() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.restarted();
    bench.resume();
    bench.request();
    assert!(bench.said(|effect| matches!(
        effect,
        Effect::RunGates {
            why: GateRound::Baseline,
            ..
        }
    )));

    let mut bench = Bench::started("x");
    bench.context();
    bench.reply(call("list", "{}"));
    bench.restarted();
    bench.resume();
    assert!(
        bench.said(|effect| matches!(effect, Effect::RunTool { .. })),
        "what only reads is done again"
    );

    let mut bench = in_conflict();
    bench.restarted();
    let question = bench.question();
    bench
        .answer(&question.id, Answer::TakeAll)
        .expect("an answer takes the run up");
    assert!(!bench.run().parked && bench.said(|effect| matches!(effect, Effect::Inspect { .. })));

    let mut bench = in_conflict();
    bench.restarted();
    let request = bench.cancel();
    assert!(bench.replies(request).is_some());
    assert_eq!(bench.ended().0, RunOutcome::Cancelled);
}
