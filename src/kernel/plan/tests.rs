//! Tables of plans.

use proptest::prelude::*;

use super::document::{parse, render};
use super::*;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn step(number: u32, kind: StepKind, what: &str, depends_on: &[u32]) -> Step {
    let is_file = matches!(kind, StepKind::Create | StepKind::Edit | StepKind::Delete);
    Step {
        number,
        kind,
        target: is_file.then(|| path(what)),
        command: (kind == StepKind::Command).then(|| what.to_owned()),
        why: "why é".into(),
        depends_on: depends_on.to_vec(),
    }
}

fn there(paths: &[&str]) -> Targets {
    Targets {
        there: paths.iter().map(|text| path(text)).collect(),
        nearest: BTreeMap::new(),
    }
}

use StepKind::{Command, Create, Delete, Edit, Verify};

#[test]
fn what_exists_is_edited_and_never_created() {
    let steps = vec![
        step(1, Create, "a.rs", &[]),
        step(2, Create, "new.rs", &[]),
        step(3, Create, "new.rs", &[]),
        step(4, Delete, "old.rs", &[]),
        step(5, Create, "old.rs", &[]),
    ];
    let sound = check(steps, &there(&["a.rs", "old.rs"])).unwrap();
    let kinds: Vec<StepKind> = sound.steps.iter().map(|step| step.kind).collect();
    assert_eq!(kinds, [Edit, Create, Edit, Delete, Create]);
    assert_eq!(sound.notes.len(), 2, "{:?}", sound.notes);
}

#[test]
fn a_step_comes_after_those_it_needs() {
    let steps = vec![
        step(10, Edit, "a.rs", &[30]),
        step(20, Command, "make", &[]),
        step(30, Create, "b.rs", &[20, 20]),
        step(40, Verify, "", &[10]),
    ];
    let sound = check(steps, &there(&["a.rs"])).unwrap();
    let order: Vec<(u32, StepKind, Vec<u32>)> = sound
        .steps
        .iter()
        .map(|step| (step.number, step.kind, step.depends_on.clone()))
        .collect();
    let want = [
        (1, Command, vec![]),
        (2, Create, vec![1]),
        (3, Edit, vec![2]),
        (4, Verify, vec![3]),
    ];
    assert_eq!(order, want);
}

#[test]
fn a_plan_that_cannot_be_followed_says_why() {
    let bare = |kind| Step {
        target: None,
        command: None,
        ..step(1, kind, "x", &[])
    };
    let rows: [(Vec<Step>, &str); 10] = [
        (vec![step(1, Edit, "gone.rs", &[])], "does not exist"),
        (vec![bare(Create)], "names no file"),
        (vec![bare(Command)], "no command line"),
        (vec![step(1, Command, " ", &[])], "empty command line"),
        (vec![step(1, Command, "a\nb", &[])], "several lines"),
        (
            vec![step(1, Verify, "", &[]), step(1, Verify, "", &[])],
            "two steps have the number 1",
        ),
        (vec![step(1, Verify, "", &[1])], "needs itself"),
        (vec![step(1, Verify, "", &[7])], "needs step 7"),
        (
            vec![step(1, Verify, "", &[2]), step(2, Verify, "", &[1])],
            "in a circle",
        ),
        (
            (1..=51)
                .map(|number| step(number, Verify, "", &[]))
                .collect(),
            "51 steps",
        ),
    ];
    for (steps, want) in rows {
        let problems = check(steps, &Targets::default()).unwrap_err().join("\n");
        assert!(problems.contains(want), "{problems} does not say {want}");
    }
}

#[test]
fn a_missing_target_names_what_is_like_it() {
    let mut targets = there(&["src/lib.rs"]);
    targets
        .nearest
        .insert(path("src/libs.rs"), vec![path("src/lib.rs")]);
    let problems = check(vec![step(1, Edit, "src/libs.rs", &[])], &targets).unwrap_err();
    assert!(problems[0].contains("is src/lib.rs meant"), "{problems:?}");
}

#[test]
fn an_edited_plan_is_read_with_forgiveness() {
    let text = "\u{feff}# My plan\r\n\r\n> help\r\nSome remark: edit is a verb here? no.\n\
                3. edit `src/ä b.rs`: use it (after 1)\n1) Create new.rs: make: it\n- command `` a `b` ``\n* verify\n";
    let read = parse(text).unwrap();
    let said: Vec<(u32, String, Vec<u32>)> = read
        .iter()
        .map(|step| (step.number, step.title(), step.depends_on.clone()))
        .collect();
    let want = [
        (3, "edit src/ä b.rs: use it".to_owned(), vec![1]),
        (1, "create new.rs: make: it".to_owned(), vec![]),
        (4, "command `a `b``".to_owned(), vec![]),
        (5, "verify".to_owned(), vec![]),
    ];
    assert_eq!(said, want);
}

#[test]
fn what_is_no_step_is_an_error_with_its_line() {
    let rows = [
        ("\n1. paint `x`", "line 2: `paint` is no kind of step"),
        ("1. edit ``", "of what?"),
        ("1. edit", "of what?"),
        ("1. edit `../x`", "outside the workspace"),
        ("1. verify (after x)", "no list of step numbers"),
        ("remark only", "no step in it"),
        ("", "no step in it"),
    ];
    for (text, want) in rows {
        let error = parse(text).unwrap_err();
        assert!(error.contains(want), "{text:?}: {error}");
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let name = "[a-zé漢`_ ][a-z`_ .é]{0,8}[a-z]";
    let words = "[a-zA-Zé:,`]{1,6}( [a-z()é:]{1,6}){0,3}";
    (
        0..5_usize,
        name,
        words,
        proptest::collection::vec(1..9_u32, 0..3),
    )
        .prop_map(|(kind, name, why, depends_on)| {
            let kind = StepKind::ALL[kind];
            let why = why.trim_start_matches(':').trim().to_owned();
            Step {
                why,
                ..step(0, kind, &name, &depends_on)
            }
        })
}

proptest! {
    #[test]
    fn a_plan_comes_back_as_it_went_out(steps in proptest::collection::vec(any_step(), 1..9)) {
        let steps: Vec<Step> = (1..).zip(steps).map(|(number, step)| Step { number, ..step }).collect();
        prop_assert_eq!(parse(&render(&steps)), Ok(steps));
    }

    #[test]
    fn no_text_is_too_strange_to_read(text in "\\PC{0,60}") {
        let _ = parse(&text);
    }
}
