//! How a run may end, what the agent may ask to know, and how long it may get nowhere.

use outrigger::kernel::effect::{Effect, RefusalKind};
use outrigger::kernel::event::{GateRound, RunOutcome, Steer};
use outrigger::kernel::finding::GateReport;
use outrigger::kernel::question::{Answer, BlockerReason, QuestionKind};

use outrigger::kernel::run::Verification;

use super::bench::{Bench, absent, call, reject, reply};

fn asks_gates(bench: &Bench, round: GateRound) -> bool {
    bench.said(|effect| matches!(effect, Effect::RunGates { why, .. } if *why == round))
}

fn with_a_file() -> Bench {
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(Vec::new());
    bench.reply(call("write", r#"{"path":"a.rs","content":"a\n"}"#));
    bench.inspected(absent());
    bench.written();
    bench.gates(Vec::new());
    bench
}

#[test]
fn an_answer_that_says_nothing_of_a_run_that_did_nothing_is_no_success() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.reply(reply("Done."));
    assert!(
        bench.told().contains("have not said why"),
        "{}",
        bench.told()
    );
    bench.reply(reply("OK, all done!"));
    assert_eq!(bench.ended().0, RunOutcome::Failed);
    let mut bench = Bench::started("x");
    bench.context();
    bench.reply(reply("Done."));
    bench.reply(reply("parse() handles an empty text already."));
    assert_eq!(bench.ended().0, RunOutcome::Succeeded);
}

#[test]
fn finishing_needs_a_change_or_a_reason_and_green_gates() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.reply(call("finish", r#"{"summary":"I looked at it."}"#));
    assert!(
        bench.told().contains("nothing_changed_because"),
        "{}",
        bench.told()
    );
    let reason = r#"{"summary":"Looked.","nothing_changed_because":"größer ist es schon"}"#;
    bench.reply(call("finish", reason));
    let (outcome, summary) = bench.ended();
    assert_eq!(outcome, RunOutcome::Succeeded);
    assert!(
        summary.text.contains("größer ist es schon"),
        "{}",
        summary.text
    );

    let mut bench = with_a_file();
    let finish = r#"{"summary":"Made a.","evidence":["it compiles"]}"#;
    bench.reply(call("finish", finish));
    assert!(asks_gates(&bench, GateRound::Final));
    bench.gates(vec![reject("a.rs", 0, "E1", "broken é")]);
    assert!(
        bench.told().contains("You are not done"),
        "{}",
        bench.told()
    );
    bench.reply(call("finish", finish));
    bench.gates(Vec::new());
    let (outcome, summary) = bench.ended();
    assert_eq!(outcome, RunOutcome::Succeeded);
    assert!(summary.text.contains("- it compiles"), "{}", summary.text);
    assert_eq!(bench.replayed(), bench.state);
}

#[test]
fn the_agent_may_ask_what_the_checks_say() {
    let mut bench = with_a_file();
    bench.reply(call("check", "{}"));
    assert!(asks_gates(&bench, GateRound::Asked));
    bench.gates(vec![reject("a.rs", 0, "E1", "broken é")]);
    assert!(bench.told().contains("broken é"), "{}", bench.told());
    assert!(
        !bench.told().contains("before your work"),
        "{}",
        bench.told()
    );
    bench.reply(call("diagnostics", r#"{"path":"a.rs"}"#));
    bench.output("  a.rs:1: warning mine: größer\n", false);
    let told = bench.told();
    assert!(
        told.contains("broken é") && told.contains("größer"),
        "{told}"
    );
    bench.reply(call("diagnostics", r#"{"path":"b.rs"}"#));
    bench.output("", false);
    let told = bench.told();
    assert!(
        told.contains("report nothing new") && told.contains("reports nothing"),
        "{told}"
    );
    bench.reply(call("glob", r#"{"pattern":"**/*.rs"}"#));
    assert!(bench.said(|effect| matches!(effect, Effect::RunTool { .. })));
}

#[test]
fn many_turns_in_vain_are_a_question_and_a_changed_file_is_progress() {
    let look = |bench: &mut Bench, turn: u32| {
        bench.reply(call("list", "{}"));
        bench.output(&format!("{turn}.rs"), false);
    };
    let mut bench = with_a_file();
    assert_eq!(bench.run().progress_at, 1);
    for turn in 1..30 {
        look(&mut bench, turn);
        assert!(bench.run().open_questions.is_empty(), "turn {turn}");
    }
    look(&mut bench, 30);
    let question = bench.question();
    let reason = BlockerReason::NoProgress;
    assert_eq!(question.kind, QuestionKind::Blocker { reason });
    let text = Answer::Text {
        text: "look into b.rs".into(),
    };
    bench.answer(&question.id, text).expect("taken");
    assert!(bench.told().contains("look into b.rs"), "{}", bench.told());
    look(&mut bench, 31);
    assert!(bench.run().open_questions.is_empty());
}

#[test]
fn only_a_plan_has_steps_to_skip() {
    let mut bench = with_a_file();
    let refused = bench.steer(Steer::SkipStep).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::InvalidParams);
}

#[test]
fn a_gate_that_stopped_at_an_old_error_verifies_nothing() {
    let stopped = || GateReport {
        partial: true,
        ..reject("b.rs", 0, "E0", "syntax é")
    };
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(vec![stopped()]);
    bench.reply(call("write", r#"{"path":"a.rs","content":"a\n"}"#));
    bench.inspected(absent());
    bench.written();
    bench.gates(vec![stopped()]);
    assert!(
        bench.told().contains("has not checked the rest"),
        "{}",
        bench.told()
    );
    bench.reply(reply("a.rs is there."));
    bench.gates(vec![stopped()]);
    let (outcome, summary) = bench.ended();
    assert_eq!(
        (outcome, summary.verification),
        (RunOutcome::Succeeded, Verification::Unverified)
    );
    assert!(summary.text.contains("Not verified by"), "{}", summary.text);
}

#[test]
fn at_its_budget_a_run_may_be_finished_with_what_there_is() {
    for (rejected, want) in [(false, RunOutcome::Succeeded), (true, RunOutcome::Failed)] {
        let mut bench = Bench::with("x", |spec| spec.budget.iterations = 1);
        bench.context();
        bench.baseline(Vec::new());
        bench.reply(call("write", r#"{"path":"a.rs","content":"a\n"}"#));
        bench.inspected(absent());
        bench.written();
        bench.gates(Vec::new());
        let question = bench.question();
        let now = Answer::Choice {
            choice: "finishNow".into(),
        };
        bench.answer(&question.id, now).expect("taken");
        assert!(asks_gates(&bench, GateRound::Final));
        let reports = if rejected {
            vec![reject("a.rs", 0, "E1", "broken é")]
        } else {
            Vec::new()
        };
        bench.gates(reports);
        let (outcome, summary) = bench.ended();
        assert_eq!(outcome, want);
        assert!(summary.text.contains("finished early"), "{}", summary.text);
        assert!(!bench.said(|effect| matches!(effect, Effect::CallModel { .. })));
    }
}

#[test]
fn before_its_first_change_an_agent_sees_what_fails_already() {
    let old = || reject("b.rs", 0, "E0", "broken for long");
    let mut bench = Bench::started("mend it");
    bench.context();
    bench.reply(call("check", "{}"));
    bench.gates(vec![old()]);
    let told = bench.told();
    assert!(
        told.contains("before your work") && told.contains("broken for long"),
        "{told}"
    );
    assert!(!told.contains("Your changes caused"), "{told}");
    assert_eq!(bench.published("b.rs"), None);
}
