//! The app without any client: real files, real gates, scripted model.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value
)] // a test may panic

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use outrigger::app::{App, Config, EditReply, Notice, Saving};
use outrigger::config::Sources;
use outrigger::kernel::effect::{RefusalKind, Reply};
use outrigger::kernel::event::{
    Budget, CommandPolicy, Engine, Policy, Record, RunEvent, RunOutcome, RunSpec,
};
use outrigger::kernel::file::WrittenThrough;
use outrigger::kernel::finding::Severity;
use outrigger::kernel::ids::RunId;
use outrigger::kernel::input::DocumentNews;
use outrigger::kernel::path::RelPath;
use outrigger::kernel::question::{Answer, QuestionKind};
use outrigger::kernel::run::{Summary, Verification};
use outrigger::model::{Models, ModelsConfig};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

/// Far beyond what anything here takes; reached only when something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

struct Fixture {
    app: App,
    notices: UnboundedReceiver<Notice>,
    folder: tempfile::TempDir,
    _state: tempfile::TempDir,
}

impl Fixture {
    fn new(script: &str) -> Self {
        Self::with_state(script, tempfile::tempdir().expect("a state folder"))
    }

    fn with_state(script: &str, state: tempfile::TempDir) -> Self {
        let folder = tempfile::tempdir().expect("a workspace");
        let models = Models::new(ModelsConfig::default()).with_script("test", script);
        let config = Config {
            root: folder.path().to_owned(),
            state_dir: Some(state.path().to_owned()),
            models: Arc::new(models),
            settings: Sources::default(),
        };
        let app = App::start(config).expect("an app");
        let notices = app.subscribe();
        Self {
            app,
            notices,
            folder,
            _state: state,
        }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).expect("a file")
    }

    async fn start(&self) -> RunId {
        let policy = Policy {
            commands: CommandPolicy::Allow,
            ..Policy::default()
        };
        let spec = RunSpec {
            prompt: "do it".into(),
            engine: Engine::React,
            model: "scripted:test".into(),
            fallback_model: None,
            stall: Default::default(),
            task: None,
            policy,
            budget: Budget::default(),
        };
        match self
            .app
            .start_run(spec)
            .await
            .expect("a reply")
            .expect("started")
        {
            Reply::Started { run } => run,
            other => panic!("{other:?}"),
        }
    }

    async fn notice(&mut self) -> Notice {
        timeout(PATIENCE, self.notices.recv())
            .await
            .expect("in time")
            .expect("a notice")
    }

    /// The next record that `pick` takes.
    async fn record<T>(&mut self, pick: impl Fn(&Record) -> Option<T>) -> T {
        loop {
            if let Notice::Recorded { record, .. } = self.notice().await {
                if let RunEvent::Ended { outcome, summary } = &record.event
                    && pick(&record).is_none()
                {
                    panic!("the run ended: {outcome:?} {summary:?}");
                }
                if let Some(found) = pick(&record) {
                    return found;
                }
            }
        }
    }

    async fn end(&mut self) -> (RunOutcome, Summary) {
        self.record(|record| match &record.event {
            RunEvent::Ended { outcome, summary } => Some((*outcome, summary.clone())),
            RunEvent::QuestionOpened { question } => panic!("{question:?}"),
            _ => None,
        })
        .await
    }
}

fn script(turns: &[&str]) -> String {
    let mut text = String::from("{\"script\":1,\"name\":\"test\"}\n");
    for turn in turns {
        text.push_str(turn);
        text.push('\n');
    }
    text
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).expect("a path")
}

const MANIFEST: &str =
    "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_breaks_the_build_is_shown_it_and_mends_it() {
    let mut fixture = Fixture::new(&script(&[
        r#"{"expect":{"last":{"role":"user","contains":["do it","src/lib.rs"]}},"emit":[{"tool":"read","id":"c1","args":{"path":"src/lib.rs"}}]}"#,
        r#"{"expect":{"last":{"role":"tool","id":"c1","contains":["pub fn é"]}},"emit":[{"tool":"edit","id":"c2","args":{"path":"src/lib.rs","edits":[{"old":"1","new":"\"漢\""}]}}]}"#,
        r#"{"expect":{"last":{"role":"tool","id":"c2","contains":["src/lib.rs:1:21: error E0308"]}},"emit":[{"tool":"edit","id":"c3","args":{"path":"src/lib.rs","edits":[{"old":"\"漢\"","new":"2"}]}}]}"#,
        r#"{"expect":{"last":{"role":"tool","id":"c3","contains":["found nothing new"]}},"emit":[{"text":"Changed."}]}"#,
    ]));
    fixture.put("Cargo.toml", MANIFEST);
    fixture.put("src/lib.rs", "pub fn é() -> i32 { 1 }\n");
    fixture.start().await;
    let mut shown = Vec::new();
    let (outcome, summary) = loop {
        match fixture.notice().await {
            Notice::Findings { path, findings, .. } => {
                let found: Vec<_> = findings
                    .iter()
                    .map(|finding| {
                        (
                            finding.severity,
                            finding
                                .place
                                .as_ref()
                                .map(|place| (place.range.start.utf16, place.range.end.utf16)),
                        )
                    })
                    .collect();
                shown.push((path.to_string(), found));
            }
            Notice::Recorded { record, .. } => {
                if let RunEvent::Ended { outcome, summary } = &record.event {
                    break (*outcome, summary.clone());
                }
                assert!(
                    !matches!(record.event, RunEvent::QuestionOpened { .. }),
                    "{record:?}"
                );
            }
            _ => {}
        }
    };
    assert_eq!(
        (outcome, summary.verification),
        (RunOutcome::Succeeded, Verification::Passed),
        "{summary:?}"
    );
    assert_eq!(fixture.text("src/lib.rs"), "pub fn é() -> i32 { 2 }\n");
    assert_eq!(
        shown,
        [
            (
                "src/lib.rs".to_owned(),
                vec![(Severity::Error, Some((20, 23)))]
            ),
            ("src/lib.rs".to_owned(), vec![])
        ]
    );
    assert!(
        !fixture.root().join("target").exists(),
        "gates leave nothing in the project"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_waits_and_keeping_leaves_every_byte() {
    let mut fixture = Fixture::new(&script(&[
        r#"{"emit":[{"tool":"write","id":"c1","args":{"path":"notes.txt","content":"theirs\n"}}]}"#,
        r#"{"expect":{"last":{"role":"tool","id":"c1","contains":["kept their own version","generated by hand"]}},"emit":[{"text":"I leave it."}]}"#,
    ]));
    fixture.put("notes.txt", "mine\r\nno newline at the end");
    let before = fs::metadata(fixture.root().join("notes.txt"))
        .expect("a file")
        .modified()
        .expect("a time");
    let run = fixture.start().await;
    let question = fixture
        .record(|record| match &record.event {
            RunEvent::QuestionOpened { question } => Some(question.clone()),
            _ => None,
        })
        .await;
    assert!(
        matches!(&question.kind, QuestionKind::Overwrite(overwrite) if overwrite.hunks.len() == 1),
        "{question:?}"
    );
    let answer = Answer::KeepMine {
        reason: Some("generated by hand".into()),
    };
    fixture
        .app
        .answer(question.id.clone(), answer, "Neovim")
        .await
        .expect("a reply")
        .expect("taken");
    let late = fixture
        .app
        .answer(question.id, Answer::TakeAll, "VS Code")
        .await
        .expect("a reply")
        .expect_err("too late");
    assert_eq!(late.kind, RefusalKind::AlreadyAnswered);
    assert_eq!(fixture.end().await.0, RunOutcome::Succeeded);
    assert_eq!(fixture.text("notes.txt"), "mine\r\nno newline at the end");
    assert_eq!(
        fs::metadata(fixture.root().join("notes.txt"))
            .expect("a file")
            .modified()
            .expect("a time"),
        before
    );

    let page = fixture
        .app
        .events(run, 0, 1000)
        .await
        .expect("a transcript");
    let seqs: Vec<u64> = page.records.iter().map(|record| record.seq).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "gapless");
    assert!(matches!(
        page.records.last().map(|record| &record.event),
        Some(RunEvent::Ended { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_document_is_changed_by_its_editor() {
    let mut fixture = Fixture::new(&script(&[
        r#"{"emit":[{"tool":"read","id":"c1","args":{"path":"a.txt"}}]}"#,
        r#"{"expect":{"last":{"role":"tool","id":"c1","contains":["unsaved"]}},"emit":[{"tool":"edit","id":"c2","args":{"path":"a.txt","edits":[{"old":"two","new":"ZWEI"}]}}]}"#,
        r#"{"emit":[{"text":"Done as asked."}]}"#,
    ]));
    fixture.put("a.txt", "one\ntwo\n");
    let opened = DocumentNews::Opened {
        uri: "file:///a".into(),
        version: 7,
        text: "unsaved\ntwo\n".into(),
        disk: None,
        unsaved: false,
    };
    fixture.app.document(path("a.txt"), opened);
    fixture.start().await;
    let order = loop {
        match fixture.notice().await {
            Notice::Edit(order) => break order,
            Notice::Recorded { record, .. } => assert!(
                !matches!(
                    record.event,
                    RunEvent::Ended { .. } | RunEvent::QuestionOpened { .. }
                ),
                "{record:?}"
            ),
            _ => {}
        }
    };
    assert_eq!((order.document.version, order.edits.len()), (7, 1));
    let edit = &order.edits[0];
    let mut text = order.document.text.to_string();
    text.replace_range(edit.start..edit.end, &edit.new_text);
    assert_eq!(text, "unsaved\nZWEI\n");
    let change = outrigger::kernel::document::DocumentChange::Whole { text };
    let news = DocumentNews::Changed {
        version: 8,
        changes: vec![change],
        encoding: Default::default(),
    };
    fixture.app.document(path("a.txt"), news);
    assert_eq!(
        timeout(PATIENCE, order.arrived).await.expect("in time"),
        Ok(true)
    );
    order
        .reply
        .send(EditReply::Applied(Saving::Unable))
        .expect("somebody waits");
    let through = fixture
        .record(|record| match &record.event {
            RunEvent::WriteFinished { outcome, .. } => Some(outcome.clone()),
            _ => None,
        })
        .await;
    assert!(
        matches!(
            through,
            outrigger::kernel::file::WriteOutcome::Written {
                through: WrittenThrough::EditorAndDisk,
                ..
            }
        ),
        "{through:?}"
    );
    assert_eq!(fixture.end().await.0, RunOutcome::Succeeded);
    assert_eq!(
        fixture.text("a.txt"),
        "unsaved\nZWEI\n",
        "gates see what the editor shows"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unsaved_text_over_a_newer_file_is_asked_about() {
    let mut fixture = Fixture::new(&script(&[
        r#"{"emit":[{"tool":"read","id":"c1","args":{"path":"a.txt"}}]}"#,
        r#"{"emit":[{"tool":"edit","id":"c2","args":{"path":"a.txt","edits":[{"old":"two","new":"TWO"}]}}]}"#,
        r#"{"emit":[{"text":"Done as asked."}]}"#,
    ]));
    fixture.put("a.txt", "one\ntwo\nthree\nnine\n");
    let opened = DocumentNews::Opened {
        uri: "file:///a".into(),
        version: 1,
        text: "one\ntwo\nthree\nnine\n".into(),
        disk: None,
        unsaved: false,
    };
    fixture.app.document(path("a.txt"), opened);
    let change = outrigger::kernel::document::DocumentChange::Whole {
        text: "dirty\ntwo\nthree\nnine\n".into(),
    };
    let news = DocumentNews::Changed {
        version: 2,
        changes: vec![change],
        encoding: Default::default(),
    };
    fixture.app.document(path("a.txt"), news);
    fixture.app.look(|_| ()).await.expect("taken");
    fixture.put("a.txt", "one\ntwo\nthree\nneun by git\n");
    fixture.start().await;
    let question = fixture
        .record(|record| match &record.event {
            RunEvent::QuestionOpened { question } => Some(question.clone()),
            _ => None,
        })
        .await;
    assert!(
        matches!(question.kind, QuestionKind::Overwrite(_)),
        "{question:?}"
    );
    assert!(
        question.detail.contains("your editor has not read"),
        "{question:?}"
    );
    assert_eq!(fixture.text("a.txt"), "one\ntwo\nthree\nneun by git\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_the_editor_makes_while_the_run_is_stopped_is_recorded() {
    let mut fixture = Fixture::new(&script(&[
        r#"{"emit":[{"tool":"read","id":"c1","args":{"path":"a.txt"}}]}"#,
        r#"{"emit":[{"tool":"edit","id":"c2","args":{"path":"a.txt","edits":[{"old":"two","new":"TWO"}]}}]}"#,
    ]));
    fixture.put("a.txt", "two\n");
    let opened = DocumentNews::Opened {
        uri: "file:///a".into(),
        version: 1,
        text: "two\n".into(),
        disk: None,
        unsaved: false,
    };
    fixture.app.document(path("a.txt"), opened);
    let run = fixture.start().await;
    let order = loop {
        if let Notice::Edit(order) = fixture.notice().await {
            break order;
        }
    };
    let cancelled = fixture.app.cancel(run, "tester");
    fixture.app.look(|_| ()).await.expect("taken");
    order
        .reply
        .send(EditReply::Applied(Saving::Saved))
        .expect("still waited for");
    cancelled.await.expect("a reply").expect("cancelled");
    let (outcome, summary) = fixture.end().await;
    assert_eq!(
        (outcome, summary.files.len()),
        (RunOutcome::Cancelled, 1),
        "{summary:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_kills_the_commands_whole_group() {
    let mut fixture = Fixture::new(&script(&[
        r#"{"emit":[{"tool":"command","id":"c1","args":{"command":"sh -c 'echo $$ > child.pid; exec sleep 600' & echo $$ > leader.pid; wait"}}]}"#,
    ]));
    let run = fixture.start().await;
    let pids: Vec<String> = loop {
        let read = |name| {
            fs::read_to_string(fixture.root().join(name))
                .ok()
                .filter(|text| text.ends_with('\n'))
        };
        if let (Some(child), Some(leader)) = (read("child.pid"), read("leader.pid")) {
            break vec![child.trim().to_owned(), leader.trim().to_owned()];
        }
        tokio::task::yield_now().await;
    };
    let asked = std::time::Instant::now();
    let reply = timeout(PATIENCE, fixture.app.cancel(run, "tester"))
        .await
        .expect("in time")
        .expect("a reply")
        .expect("cancelled");
    assert!(matches!(reply, Reply::Cancelled { .. }));
    assert!(
        asked.elapsed() < Duration::from_secs(1),
        "{:?}",
        asked.elapsed()
    );
    for pid in pids {
        assert!(!lives(&pid), "{pid} lives");
    }
    assert_eq!(fixture.end().await.0, RunOutcome::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_script_is_a_blocker_that_says_what_to_do() {
    let mut fixture = Fixture::new("this is no script\n");
    fixture.start().await;
    let question = fixture
        .record(|record| match &record.event {
            RunEvent::QuestionOpened { question } => Some(question.clone()),
            _ => None,
        })
        .await;
    assert!(
        matches!(question.kind, QuestionKind::Blocker { .. }),
        "{question:?}"
    );
    assert!(
        question.title.contains("line 1") || question.detail.contains("line 1"),
        "{question:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn parking_kills_commands_and_leaves_the_transcript_whole() {
    let fixture = Fixture::new(&script(&[
        r#"{"emit":[{"tool":"command","id":"c1","args":{"command":"echo $$ > pid; exec sleep 600"}}]}"#,
    ]));
    let run = fixture.start().await;
    let pid = loop {
        if let Some(pid) = fs::read_to_string(fixture.root().join("pid"))
            .ok()
            .filter(|text| text.ends_with('\n'))
        {
            break pid.trim().to_owned();
        }
        tokio::task::yield_now().await;
    };
    let transcript = fixture.app.transcript(&run).expect("a path");
    timeout(PATIENCE, fixture.app.park())
        .await
        .expect("in time");
    // The signal is sent; the system takes a moment to act on it.
    let dead = async {
        while lives(&pid) {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, dead).await.expect("the command is dead");
    let text = fs::read_to_string(transcript).expect("a transcript");
    assert!(
        text.ends_with('\n') && text.contains("\"type\":\"toolStarted\""),
        "{text}"
    );
}

/// Whether a process is there and not merely waiting to be reaped.
fn lives(pid: &str) -> bool {
    let state = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}
