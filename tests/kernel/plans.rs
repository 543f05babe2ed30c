//! The plan engine: a plan that is checked and shown, then its steps, each verified before the next.

use outrigger::kernel::effect::Effect;
use outrigger::kernel::event::{CommandPolicy, Engine, ReviewPolicy, RunEvent, RunOutcome, Steer};
use outrigger::kernel::plan::StepKind;
use outrigger::kernel::question::{Answer, QuestionKind};
use outrigger::kernel::run::RunStatus;
use outrigger::kernel::tool::{PlanItemState, ToolUse};

use super::bench::{Bench, absent, call, reject, reply, text_file};

fn choice(name: &str) -> Answer {
    Answer::Choice {
        choice: name.into(),
    }
}

fn planning(review: ReviewPolicy) -> Bench {
    let mut bench = Bench::with("do it", |spec| {
        spec.engine = Engine::Plan;
        spec.policy.review = review;
        spec.policy.commands = CommandPolicy::Allow;
        spec.budget.iterations = 500;
    });
    bench.baseline(Vec::new());
    bench.context();
    bench
}

/// `kind what [after]`, one step a line.
fn proposal(steps: &str) -> String {
    let step = |line: &str| {
        let mut words = line.split_whitespace();
        let (kind, what) = (words.next().unwrap(), words.next().unwrap_or_default());
        let after: Vec<u32> = words.map(|word| word.parse().unwrap()).collect();
        let field = if kind == "command" {
            "command"
        } else {
            "target"
        };
        let mut step = serde_json::json!({ "kind": kind, "why": "é", "depends_on": after });
        if kind != "verify" {
            step[field] = what.into();
        }
        step
    };
    let steps: Vec<serde_json::Value> = steps.lines().map(step).collect();
    serde_json::json!({ "steps": steps }).to_string()
}

fn states(bench: &Bench) -> Vec<PlanItemState> {
    bench.run().plan.iter().map(|item| item.state).collect()
}

fn change(bench: &mut Bench, path: &str, before: Option<&str>, gates: &[(&str, &str)]) {
    let arguments = serde_json::json!({ "path": path, "content": format!("{gates:?}\n") });
    bench.reply(call("write", &arguments.to_string()));
    bench.inspected(before.map_or_else(absent, text_file));
    bench.written();
    check(bench, gates);
}

/// `(path, message)` of what `cargo-check` rejects.
fn check(bench: &mut Bench, gates: &[(&str, &str)]) {
    let reports = match gates {
        [] => vec![reject("", 0, "", "")],
        gates => {
            let mut all = gates
                .iter()
                .map(|(path, message)| reject(path, 0, "E1", message));
            let mut report = all.next().unwrap();
            report
                .findings
                .extend(all.flat_map(|report| report.findings));
            vec![report]
        }
    };
    bench.gates(reports);
}

use PlanItemState::{Done, Failed, InProgress, Pending, Skipped};

#[test]
fn a_plan_is_made_and_followed_step_by_step() {
    let mut bench = planning(ReviewPolicy::Never);
    let tools = bench.request().tools;
    assert!(tools.contains(&"propose_plan".to_owned()) && !tools.contains(&"write".to_owned()));
    bench.reply(call(
        "propose_plan",
        &proposal("create old.rs\ncreate new.rs 1\nverify"),
    ));
    assert_eq!(bench.run().status, RunStatus::Planning);
    bench.targets(&["old.rs"]);
    // What exists is edited, and the model sees it before it changes it.
    assert_eq!(bench.run().course.steps[0].step.kind, StepKind::Edit);
    let reads = |effect: &Effect| matches!(effect, Effect::RunTool { tool: ToolUse::Read(read), .. } if read.path.as_str() == "old.rs");
    assert!(bench.said(reads));
    bench.read("old.rs", "old é\n");
    let told = bench.told();
    assert!(
        told.contains("Step 1 of 3: edit old.rs") && told.contains("old é"),
        "{told}"
    );
    assert_eq!(states(&bench), [InProgress, Pending, Pending]);
    change(&mut bench, "old.rs", Some("old é\n"), &[]);
    bench.reply(reply("Changed."));
    assert_eq!(states(&bench), [Done, InProgress, Pending]);
    change(&mut bench, "new.rs", None, &[]);
    bench.reply(reply("Made."));
    // The third step is the gates' own, and so is the end.
    assert_eq!(states(&bench), [Done, Done, InProgress]);
    check(&mut bench, &[]);
    check(&mut bench, &[]);
    let (outcome, summary) = bench.ended();
    assert_eq!(outcome, RunOutcome::Succeeded);
    assert!(
        summary.text.starts_with("3 of 3 steps are done."),
        "{}",
        summary.text
    );
    assert_eq!(bench.replayed(), bench.state);
}

#[test]
fn what_writes_is_not_to_be_used_while_planning() {
    let mut bench = planning(ReviewPolicy::Never);
    bench.reply(call("write", r#"{"path":"a.rs","content":"a"}"#));
    assert!(bench.told().contains("`write` is not to be used now"));
    assert!(bench.run().changes.is_empty());
}

#[test]
fn a_plan_that_cannot_be_followed_is_sent_back_once_then_a_human_is_asked() {
    let mut bench = planning(ReviewPolicy::Never);
    bench.reply(call("propose_plan", &proposal("edit gone.rs")));
    bench.targets(&[]);
    assert!(
        bench.told().contains("gone.rs, which does not exist"),
        "{}",
        bench.told()
    );
    let mut other = bench.clone();
    other.reply(call("propose_plan", &proposal("create gone.rs")));
    other.targets(&[]);
    assert!(other.told().contains("Step 1 of 1: create gone.rs"));
    bench.reply(reply("I would rather just begin."));
    let question = bench.question();
    assert!(
        matches!(question.kind, QuestionKind::Blocker { .. }),
        "{question:?}"
    );
    bench.answer(&question.id, choice("withoutPlan")).unwrap();
    assert!(bench.request().tools.contains(&"write".to_owned()));
    bench.reply(reply("Nothing was to be done: it is there."));
    assert_eq!(bench.ended().0, RunOutcome::Succeeded);
}

#[test]
fn nothing_to_do_is_said_with_its_reason() {
    let mut bench = planning(ReviewPolicy::Always);
    bench.reply(call("propose_plan", r#"{"steps":[]}"#));
    assert!(bench.told().contains("nothing_to_do"));
    bench.reply(call(
        "propose_plan",
        r#"{"steps":[],"nothing_to_do":"it is there already"}"#,
    ));
    let (outcome, summary) = bench.ended();
    assert_eq!(outcome, RunOutcome::Succeeded);
    assert!(summary.text.contains("it is there already"));
}

#[test]
fn a_plan_is_shown_first_where_that_is_wished() {
    let rows = [
        (ReviewPolicy::Always, "create a.rs", true),
        (ReviewPolicy::Large, "create a.rs", false),
        (ReviewPolicy::Large, "delete a.rs", true),
        (
            ReviewPolicy::Large,
            "verify\nverify\nverify\nverify\nverify\nverify\nverify",
            true,
        ),
        (ReviewPolicy::Never, "delete a.rs", false),
    ];
    for (review, steps, is_shown) in rows {
        let mut bench = planning(review);
        bench.reply(call("propose_plan", &proposal(steps)));
        bench.targets(&[]);
        let asked = bench.run().run_question.is_some();
        assert_eq!(asked, is_shown, "{review:?} {steps}");
    }
}

fn reviewed() -> Bench {
    let mut bench = planning(ReviewPolicy::Always);
    bench.reply(call("propose_plan", &proposal("create a.rs\ncreate b.rs")));
    bench.targets(&[]);
    bench
}

#[test]
fn an_edited_plan_is_what_is_followed() {
    let mut bench = reviewed();
    let question = bench.question();
    let QuestionKind::Plan { document, .. } = &question.kind else {
        panic!("{question:?}");
    };
    let text = document.replace("2. create `b.rs`", "2. create `ü.rs`");
    let take = |text: &str| Answer::TakeText { text: text.into() };
    let refused = bench
        .answer(&question.id, take("1. paint `x`"))
        .unwrap_err();
    assert!(
        refused.message.contains("no kind of step"),
        "{}",
        refused.message
    );
    bench.answer(&question.id, take(&text)).unwrap();
    bench.targets(&[]);
    let titles: Vec<String> = bench
        .run()
        .plan
        .iter()
        .map(|item| item.title.clone())
        .collect();
    assert_eq!(titles, ["create a.rs: é", "create ü.rs: é"]);
    assert_eq!(states(&bench), [InProgress, Pending]);
    assert_eq!(bench.replayed(), bench.state);
}

#[test]
fn an_edited_plan_that_cannot_be_followed_is_asked_about_again() {
    let mut bench = reviewed();
    let question = bench.question();
    let text = Answer::TakeText {
        text: "1. edit `none.rs`".into(),
    };
    bench.answer(&question.id, text).unwrap();
    bench.targets(&[]);
    let question = bench.question();
    assert!(
        question.detail.contains("none.rs, which does not exist"),
        "{}",
        question.detail
    );
}

#[test]
fn words_about_a_plan_make_another_one() {
    let mut bench = reviewed();
    let id = bench.question().id;
    let words = Answer::Text {
        text: "use one file".into(),
    };
    bench.answer(&id, words).unwrap();
    assert!(bench.told().contains("The user says: use one file"));
    bench.reply(call("propose_plan", &proposal("create a.rs")));
    bench.targets(&[]);
    bench.answer(&bench.question().id, Answer::TakeAll).unwrap();
    assert_eq!(states(&bench), [InProgress]);
}

#[test]
fn commands_of_a_plan_are_run_by_the_engine() {
    let mut bench = planning(ReviewPolicy::Never);
    bench.reply(call(
        "propose_plan",
        &proposal("command make\ncommand check"),
    ));
    bench.targets(&[]);
    let runs = |line: &'static str| move |effect: &Effect| matches!(effect, Effect::RunTool { tool: ToolUse::Command(command), .. } if command.command == line);
    assert!(bench.said(runs("make")));
    bench.output("made", false);
    assert!(bench.said(runs("check")), "no model call in between");
    bench.output("exit status 1", true);
    assert!(
        bench.told().contains("It was run, and failed"),
        "{}",
        bench.told()
    );
    assert!(bench.told().contains("made"), "{}", bench.told());
    bench.reply(reply("It may fail: there are no tests."));
    assert_eq!(bench.ended().0, RunOutcome::Succeeded);
}

#[test]
fn a_step_without_a_change_needs_a_reason() {
    let mut bench = planning(ReviewPolicy::Never);
    bench.reply(call("propose_plan", &proposal("create a.rs")));
    bench.targets(&[]);
    bench.reply(reply("Done."));
    assert!(
        bench.told().contains("`a.rs` was not changed"),
        "{}",
        bench.told()
    );
    bench.reply(reply("b.rs has it already."));
    let (_, summary) = bench.ended();
    assert!(
        summary.text.contains("b.rs has it already."),
        "{}",
        summary.text
    );
}

#[test]
fn what_a_later_step_mends_does_not_count_against_this_one() {
    let mut bench = planning(ReviewPolicy::Never);
    bench.reply(call("propose_plan", &proposal("create a.rs\nedit b.rs")));
    bench.targets(&["b.rs"]);
    change(
        &mut bench,
        "a.rs",
        None,
        &[("b.rs", "one argument is missing")],
    );
    bench.reply(reply("Done."));
    assert_eq!(states(&bench), [Done, InProgress]);
}

/// Rejects the present step with ever other failures until something else than a correction happens.
fn reject_on(bench: &mut Bench, path: &str, messages: &mut dyn Iterator<Item = String>) -> u32 {
    let mut corrections = 0;
    loop {
        let text = format!("{:?}", bench.run().changes.get(&bench.path(path)));
        let before = bench
            .run()
            .seen
            .get(&bench.path(path))
            .map(|seen| seen.text.to_string());
        let message = messages.next().unwrap();
        change(bench, path, before.as_deref(), &[(path, &message)]);
        bench.reply(reply(&format!("Mended. {text}")));
        let is_step = bench.run().course.step().is_some();
        if bench.run().run_question.is_some() || !is_step {
            return corrections;
        }
        corrections += 1;
    }
}

#[test]
fn rejections_make_new_plans_and_then_one_blocker() {
    let mut bench = planning(ReviewPolicy::Never);
    let mut messages = (b'a'..=b'z')
        .cycle()
        .map(|c| format!("bad {}", char::from(c)));
    for plan in 0..3 {
        bench.reply(call("propose_plan", &proposal("create a.rs\nverify - 1")));
        bench.targets(if plan == 0 { &[] } else { &["a.rs"] });
        if plan > 0 {
            let text = bench.run().seen[&bench.path("a.rs")].text.to_string();
            bench.read("a.rs", &text);
        }
        let corrections = reject_on(&mut bench, "a.rs", &mut messages);
        assert_eq!(corrections, 9, "plan {plan}");
        if plan < 2 {
            assert!(
                bench.told().contains("The plan has not worked"),
                "{}",
                bench.told()
            );
            assert_eq!(bench.request().tools.last().unwrap(), "propose_plan");
        }
    }
    let question = bench.question();
    assert!(question.detail.contains("Tried:"), "{}", question.detail);
    assert!(
        question.detail.contains("a.rs (+1 -1)"),
        "{}",
        question.detail
    );
    let offered: Vec<&str> = question
        .choices
        .iter()
        .map(|choice| choice.id.as_str())
        .collect();
    assert_eq!(
        offered,
        ["retry", "checkAgain", "skipStep", "giveUp", "stopRun"]
    );
    assert_eq!(states(&bench), [Failed, Failed, InProgress, Pending]);
    assert_eq!(bench.replayed(), bench.state);

    let mut skipping = bench.clone();
    skipping.answer(&question.id, choice("skipStep")).unwrap();
    assert_eq!(states(&skipping), [Failed, Failed, Skipped, Skipped]);
    check(&mut skipping, &[("a.rs", "bad z")]);
    assert!(
        skipping.told().contains("You are not done"),
        "{}",
        skipping.told()
    );

    let mut checking = bench.clone();
    checking.answer(&question.id, choice("checkAgain")).unwrap();
    check(&mut checking, &[]);
    assert_eq!(states(&checking), [Failed, Failed, Done, InProgress]);

    let mut still = bench.clone();
    still.answer(&question.id, choice("checkAgain")).unwrap();
    check(&mut still, &[("a.rs", "bad z")]);
    assert!(
        still.question().detail.contains("checked again"),
        "{}",
        still.question().detail
    );

    bench.answer(&question.id, choice("retry")).unwrap();
    assert!(bench.told().contains("Try another way"), "{}", bench.told());
}

#[test]
fn a_resumed_run_goes_on_with_its_plan() {
    let mut bench = planning(ReviewPolicy::Never);
    bench.reply(call("propose_plan", &proposal("edit a.rs\ncommand make")));
    bench.restarted();
    bench.resume();
    bench.targets(&["a.rs"]);
    bench.restarted();
    bench.resume();
    bench.read("a.rs", "a\n");
    change(&mut bench, "a.rs", Some("a\n"), &[]);
    bench.reply(reply("Done."));
    // The command had started: nobody knows what it did.
    bench.restarted();
    bench.resume();
    let question = bench.question();
    assert!(
        matches!(question.kind, QuestionKind::Uncertain { .. }),
        "{question:?}"
    );
    bench.answer(&question.id, choice("done")).unwrap();
    assert_eq!(states(&bench), [Done, Done]);
    check(&mut bench, &[]);
    assert_eq!(bench.ended().0, RunOutcome::Succeeded);
}

#[test]
fn a_run_that_does_not_use_a_plan_is_told_to_make_one_when_corrections_fail() {
    let mut bench = Bench::started("x");
    bench.context();
    bench.baseline(Vec::new());
    change(&mut bench, "a.rs", None, &[("a.rs", "bad")]);
    let mut told = String::new();
    for c in b'a'..=b'j' {
        bench.reply(reply("Done."));
        check(&mut bench, &[("a.rs", &format!("bad {}", char::from(c)))]);
        told = bench.told();
    }
    assert!(
        told.contains("Say with `plan` how you do the remaining work"),
        "{told}"
    );
    let failed = |effect: &Effect| {
        matches!(effect, Effect::Record { event: RunEvent::VerificationFailed { next, files, .. }, .. }
            if next.contains("new plan 1 of 2") && files[0].as_str() == "a.rs")
    };
    assert!(bench.said(failed));
}

#[test]
fn a_step_is_skipped_when_the_user_says_so_and_the_next_one_is_not() {
    let mut bench = planning(ReviewPolicy::Never);
    bench.reply(call(
        "propose_plan",
        &proposal("create a.rs\ncreate b.rs\ncreate c.rs"),
    ));
    bench.targets(&[]);
    bench.steer(Steer::SkipStep).expect("taken");
    bench.reply(call("list", "{}"));
    assert_eq!(states(&bench), [Skipped, InProgress, Pending]);
    assert!(!bench.run().skip_step);
    change(&mut bench, "b.rs", None, &[]);
    bench.reply(reply("b.rs is there."));
    assert_eq!(states(&bench), [Skipped, Done, InProgress]);
}
