//! The world around one kernel: performs its effects at random, in any order, sometimes never.

use std::collections::BTreeMap;
use std::sync::Arc;

use outrigger::kernel::conversation::{
    Block, ModelErrorKind, ModelFailure, ModelTurn, StopReason, ToolCall, Usage,
};
use outrigger::kernel::course::Phase;
use outrigger::kernel::effect::Effect;
use outrigger::kernel::event::{
    Budget, CommandPolicy, Context, Engine, Policy, ReadCall, ReadTool, ReviewPolicy, RunEvent,
    RunSpec, Steer,
};
use outrigger::kernel::file::{
    Encoding, FileNow, NewContent, TextNow, TextSource, WriteOutcome, WrittenThrough,
};
use outrigger::kernel::finding::{
    Applicability, Finding, Fix, FixEdit, GateReport, Outcome, Place, Position, RangeKind,
    Severity, SourceFile, TextRange,
};
use outrigger::kernel::hash::ContentHash;
use outrigger::kernel::ids::{GateId, QuestionId, RequestId, RunId, ToolCallId};
use outrigger::kernel::input::{Command, Input, Stimulus};
use outrigger::kernel::path::RelPath;
use outrigger::kernel::plan::Targets;
use outrigger::kernel::policy::stall::{StallAction, StallPolicy};
use outrigger::kernel::question::{Answer, QuestionState};
use outrigger::kernel::time::Moment;
use outrigger::kernel::tool::{SeenFile, ToolOutput, ToolUse};
use outrigger::kernel::{State, step};

use super::random::Random;

const STEPS: usize = 150;
const FILES: [&str; 3] = ["a.rs", "b.rs", "漢.txt"];

pub struct World {
    random: Random,
    state: State,
    run: RunId,
    now: u64,
    wall_shift: i64,
    jobs: Vec<Effect>,
    stopping: bool,
    facts: Vec<(Moment, RunEvent)>,
    files: BTreeMap<RelPath, String>,
    requests: u64,
    replied: BTreeMap<RequestId, u32>,
    answered: BTreeMap<QuestionId, u32>,
    terminals: u32,
    writes_done: u32,
    /// There was a turn that is sent back as it is.
    turn_paused: bool,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let commands = *random.pick(&[
            CommandPolicy::Ask,
            CommandPolicy::Allow,
            CommandPolicy::Deny,
        ]);
        let action = *random.pick(&[StallAction::Retry, StallAction::Blocker, StallAction::Fail]);
        let iterations = if random.once_in(4) { 3 } else { 50 };
        let spec = RunSpec {
            prompt: "task".into(),
            engine: *random.pick(&[Engine::React, Engine::Plan]),
            model: "m".into(),
            fallback_model: random.once_in(3).then(|| "n".into()),
            policy: Policy {
                commands,
                review: *random.pick(&[
                    ReviewPolicy::Always,
                    ReviewPolicy::Large,
                    ReviewPolicy::Never,
                ]),
                ..Policy::default()
            },
            budget: Budget {
                iterations,
                ..Budget::default()
            },
            stall: StallPolicy {
                timeout_s: 30,
                action,
            },
            task: None,
        };
        let run = RunId::new("r1");
        let mut world = Self {
            random,
            state: State::default(),
            run: run.clone(),
            now: 0,
            wall_shift: 0,
            jobs: Vec::new(),
            stopping: false,
            facts: Vec::new(),
            files: BTreeMap::new(),
            requests: 0,
            replied: BTreeMap::new(),
            answered: BTreeMap::new(),
            terminals: 0,
            writes_done: 0,
            turn_paused: false,
        };
        world.command(Command::Start { run, spec });
        world
    }

    /// Lets things happen, then looks whether everything is as it must be. Says how the run stands.
    pub fn live(mut self) -> String {
        for _ in 0..STEPS {
            self.happen();
            self.check();
            if self.state.runs[&self.run].ended.is_some() && !self.random.once_in(4) {
                break;
            }
        }
        self.check_replay();
        let run = &self.state.runs[&self.run];
        run.ended
            .as_ref()
            .map_or_else(|| "waits".to_owned(), |(outcome, _)| format!("{outcome:?}"))
    }

    fn moment(&mut self) -> Moment {
        self.now += 1 + self.random.next() % 50;
        Moment {
            wall_ms: 1_000_000 + self.wall_shift + i64::try_from(self.now).unwrap(),
            mono_ms: self.now,
        }
    }

    fn command(&mut self, command: Command) {
        self.requests += 1;
        let request = RequestId(self.requests);
        self.replied.insert(request, 0);
        self.feed(Stimulus::Client { request, command });
    }

    fn fact(&mut self, event: RunEvent) {
        self.feed(Stimulus::Fact {
            run: self.run.clone(),
            event,
        });
    }

    fn feed(&mut self, what: Stimulus) {
        let at = self.moment();
        if let Stimulus::Fact { event, .. } = &what {
            assert!(event.is_fact());
            // As the app does: late facts of a run that is over are not recorded.
            let over = self
                .state
                .runs
                .get(&self.run)
                .is_some_and(|run| run.ended.is_some());
            if over && !matches!(event, RunEvent::WriteFinished { .. }) {
                return;
            }
            if let RunEvent::QuestionAnswered { question, .. } = event {
                *self.answered.entry(question.clone()).or_default() += 1;
            }
            self.facts.push((at, event.clone()));
        }
        for effect in step(&mut self.state, Input { at, what }) {
            self.take(effect);
        }
    }

    fn take(&mut self, effect: Effect) {
        match effect {
            Effect::Accept { event, .. } => self.fact(event),
            Effect::Reply { request, .. } => {
                *self.replied.get_mut(&request).expect("a request of ours") += 1;
            }
            Effect::StopWork { .. } => {
                // Writes that have begun end; all else is dropped.
                self.jobs.retain(|job| matches!(job, Effect::Write { .. }));
                self.stopping = true;
            }
            Effect::Record {
                event: RunEvent::Ended { .. },
                ..
            } => self.terminals += 1,
            Effect::Record { .. } | Effect::Publish { .. } | Effect::Progress { .. } => {}
            job => {
                assert!(
                    !self.stopping || matches!(job, Effect::Write { .. }),
                    "work begins while the run is being stopped: {job:?}"
                );
                self.jobs.push(job);
            }
        }
    }

    fn happen(&mut self) {
        match self.random.below(40) {
            0 => self.idle(),
            1 => self.answer_badly(),
            2 if self.random.once_in(4) => self.command(Command::Cancel {
                run: self.run.clone(),
                by: "t".into(),
            }),
            3 => self.steer(),
            4 if self.random.once_in(2) => self.crash(),
            5 => self.feed(Stimulus::Life {
                run: self.run.clone(),
            }),
            6 => self.edit_a_file(),
            7 => {
                self.wall_shift +=
                    3_600_000 - i64::try_from(self.random.next() % 7_200_000).unwrap();
            }
            8..=12 => self.answer(),
            _ => self.perform(),
        }
    }

    fn idle(&mut self) {
        self.now += 20_000 + self.random.next() % 30_000;
        self.feed(Stimulus::Tick);
    }

    fn steer(&mut self) {
        let steer = match self.random.below(4) {
            0 => Steer::Message {
                text: "word".into(),
            },
            1 => Steer::Pause,
            2 => Steer::Model {
                model: "other".into(),
            },
            _ => Steer::GoOn,
        };
        self.command(Command::Steer {
            run: self.run.clone(),
            steer,
            by: "t".into(),
        });
    }

    /// The process dies at any moment; another one reads the log and takes the run up.
    fn crash(&mut self) {
        self.check_replay();
        self.state = self.replayed();
        // Writes may or may not have happened.
        for job in std::mem::take(&mut self.jobs) {
            if let Effect::Write { order, .. } = job
                && self.random.once_in(2)
            {
                self.put(&order.path, &order.content);
            }
        }
        self.stopping = false;
        self.replied.retain(|_, count| *count > 0);
        self.feed(Stimulus::Parked {
            run: self.run.clone(),
        });
        if !self.random.once_in(8) {
            self.command(Command::Resume {
                run: self.run.clone(),
                by: "t".into(),
            });
        }
    }

    fn edit_a_file(&mut self) {
        let path = RelPath::parse(FILES[self.random.below(FILES.len())]).unwrap();
        let text = format!("typed {}\nfoo\n", self.random.below(5));
        self.files.insert(path, text);
    }

    fn open_questions(&self) -> Vec<QuestionId> {
        self.state
            .questions
            .values()
            .filter(|question| question.state == QuestionState::Open)
            .map(|question| question.id.clone())
            .collect()
    }

    fn answer(&mut self) {
        let open = self.open_questions();
        if open.is_empty() {
            return self.perform();
        }
        let id = self.random.pick(&open).clone();
        let question = self.state.questions[&id].clone();
        let answer = match self.random.below(7) {
            6 => Answer::TakeText {
                text: format!("create `{}`\nverify (after 1)", self.random.pick(&FILES)),
            },
            0 => Answer::TakeAll,
            1 => Answer::TakeHunks { hunks: vec![0] },
            2 => Answer::KeepMine { reason: None },
            3 => Answer::Text {
                text: "words".into(),
            },
            _ => {
                let choices: Vec<String> = question
                    .choices
                    .iter()
                    .map(|choice| choice.id.clone())
                    .collect();
                Answer::Choice {
                    choice: self.random.pick(&choices).clone(),
                }
            }
        };
        let stops = matches!(&answer, Answer::Choice { choice } if choice == "stopRun");
        if stops && !self.random.once_in(5) {
            return;
        }
        self.command(Command::Answer {
            question: id,
            answer,
            by: "t".into(),
        });
    }

    fn answer_badly(&mut self) {
        let known: Vec<QuestionId> = self.state.questions.keys().cloned().collect();
        let question = if known.is_empty() {
            QuestionId::new("none")
        } else {
            self.random.pick(&known).clone()
        };
        self.command(Command::Answer {
            question,
            answer: Answer::Choice {
                choice: "nonsense".into(),
            },
            by: "t".into(),
        });
    }

    /// One thing that was to be done is done.
    fn perform(&mut self) {
        if self.stopping && (self.jobs.is_empty() || self.random.once_in(3)) {
            // Stopped only when the writes have ended.
            while !self.jobs.is_empty() {
                self.perform_job();
            }
            self.stopping = false;
            return self.fact(RunEvent::WorkStopped);
        }
        if !self.jobs.is_empty() {
            self.perform_job();
        }
    }

    fn perform_job(&mut self) {
        let at = self.random.below(self.jobs.len());
        match self.jobs.swap_remove(at) {
            Effect::Gather { .. } => self.fact(RunEvent::ContextGathered {
                context: Context {
                    folder: "f".into(),
                    ..Context::default()
                },
                spending: outrigger::kernel::conversation::Spending::default(),
            }),
            Effect::CallModel { call, request, .. } => {
                let ends_with_user = Self::check_request(&request.messages);
                assert!(
                    ends_with_user || self.turn_paused,
                    "the model's words come last: {request:#?}"
                );
                if self.random.once_in(8) {
                    let failure = self.failure();
                    self.fact(RunEvent::ModelFailed {
                        call,
                        failure,
                        bill: outrigger::kernel::conversation::Bill::default(),
                    });
                } else {
                    let (turn, tools) = self.turn();
                    self.turn_paused |= turn.stop == StopReason::Pause;
                    self.fact(RunEvent::ModelReplied {
                        call,
                        turn,
                        tools,
                        bill: outrigger::kernel::conversation::Bill::default(),
                    });
                }
            }
            Effect::RunTool { call, tool, .. } => {
                let output = self.output(&tool);
                self.fact(RunEvent::ToolFinished {
                    call,
                    output,
                    duration_ms: 1,
                });
            }
            Effect::FindTargets { call, paths, .. } => {
                let there = |path: &RelPath| self.files.contains_key(path);
                let targets = Targets {
                    there: paths.into_iter().filter(there).collect(),
                    ..Targets::default()
                };
                self.fact(RunEvent::TargetsFound { call, targets });
            }
            Effect::Inspect { call, path, .. } => {
                let now = self.look(&path);
                self.fact(RunEvent::FileInspected { call, path, now });
            }
            Effect::Write { change, order, .. } => {
                let there = self
                    .files
                    .get(&order.path)
                    .map(|text| ContentHash::of(text.as_bytes()));
                let outcome = if self.random.once_in(10) {
                    WriteOutcome::Failed {
                        error: "disk full".into(),
                    }
                } else if there != order.expected {
                    WriteOutcome::Changed
                } else {
                    self.put(&order.path, &order.content);
                    if self.random.once_in(8) {
                        WriteOutcome::Unknown {
                            error: "cut off".into(),
                        }
                    } else {
                        WriteOutcome::Written {
                            before: order.expected.clone(),
                            after: order.content.hash(),
                            through: WrittenThrough::Disk,
                        }
                    }
                };
                self.fact(RunEvent::WriteFinished {
                    change,
                    path: order.path,
                    outcome,
                });
            }
            Effect::RunGates { round, .. } => {
                let reports = self.reports();
                self.fact(RunEvent::GatesReported { round, reports });
            }
            Effect::ArmTimer { timer, .. } => self.fact(RunEvent::TimerFired { timer }),
            other => panic!("no job: {other:?}"),
        }
    }

    fn put(&mut self, path: &RelPath, content: &NewContent) {
        self.writes_done += 1;
        match content {
            NewContent::Text { text, .. } => self.files.insert(path.clone(), text.to_string()),
            NewContent::Deleted => self.files.remove(path),
        };
    }

    fn look(&mut self, path: &RelPath) -> FileNow {
        if self.random.once_in(20) {
            return FileNow::Refused {
                reason: "no permission".into(),
            };
        }
        match self.files.get(path) {
            None => FileNow::Absent {
                nearest: Vec::new(),
            },
            Some(text) => {
                let hash = ContentHash::of(text.as_bytes());
                let source = if self.random.once_in(3) {
                    TextSource::UnsavedDocument
                } else {
                    TextSource::Disk
                };
                FileNow::Text(TextNow {
                    text: Arc::from(text.as_str()),
                    hash: hash.clone(),
                    encoding: Encoding::Utf8,
                    source,
                    disk: Some(hash),
                    newer_disk: false,
                })
            }
        }
    }

    fn output(&mut self, tool: &ToolUse) -> ToolOutput {
        let seen = match tool {
            ToolUse::Read(read) => self.files.get(&read.path).map(|text| SeenFile {
                path: read.path.clone(),
                hash: ContentHash::of(text.as_bytes()),
                text: Arc::from(text.as_str()),
            }),
            _ => None,
        };
        let is_error = self.random.once_in(4);
        ToolOutput {
            text: format!("output {}", self.random.below(3)),
            is_error,
            seen,
        }
    }

    fn turn(&mut self) -> (ModelTurn, Vec<ReadCall>) {
        let mut blocks = Vec::new();
        if self.random.once_in(3) {
            blocks.push(Block::text("thinking aloud"));
        }
        let calls = if self.random.once_in(4) {
            0
        } else {
            1 + self.random.below(3)
        };
        let mut read = Vec::new();
        for at in 0..calls {
            let call = self.tool_call(at);
            read.push(ReadCall {
                id: call.id.clone(),
                name: call.name.clone(),
                tool: outrigger::tools::schema::parse(&call.name, &call.arguments)
                    .map_or_else(ReadTool::Malformed, ReadTool::Use),
            });
            blocks.push(Block::ToolCall(call));
        }
        let stop = match self.random.below(12) {
            0 => StopReason::MaxTokens,
            1 => StopReason::Pause,
            2 => StopReason::ContextFull,
            _ if calls > 0 => StopReason::ToolUse,
            _ => StopReason::EndTurn,
        };
        (
            ModelTurn {
                blocks,
                stop,
                usage: Usage {
                    input: 100,
                    output: 10,
                    ..Usage::default()
                },
                model: "m".into(),
                request_id: None,
            },
            read,
        )
    }

    fn tool_call(&mut self, at: usize) -> ToolCall {
        let path = *self.random.pick(&FILES);
        let is_drafting = self.state.runs[&self.run].course.phase == Phase::Drafting;
        if is_drafting && self.random.once_in(2) {
            return self.proposal(at);
        }
        let (name, arguments) = match self.random.below(10) {
            0 => ("read", format!(r#"{{"path":"{path}"}}"#)),
            1 | 2 => (
                "write",
                format!(
                    r#"{{"path":"{path}","content":"new {}\nfoo\n"}}"#,
                    self.random.below(4)
                ),
            ),
            3 | 4 => (
                "edit",
                format!(
                    r#"{{"path":"{path}","edits":[{{"old":"foo","new":"bar {}"}}]}}"#,
                    self.random.below(4)
                ),
            ),
            5 => ("command", r#"{"command":"make"}"#.to_owned()),
            6 => (
                "ask",
                r#"{"question":"which?","choices":["a","b"]}"#.to_owned(),
            ),
            7 => (
                "plan",
                r#"{"items":[{"title":"t","state":"done"}]}"#.to_owned(),
            ),
            8 => ("list", "{}".to_owned()),
            _ => ("read", "{broken".to_owned()),
        };
        ToolCall {
            id: ToolCallId::new(format!("c{at}")),
            name: name.into(),
            arguments,
            raw: None,
        }
    }

    fn proposal(&mut self, at: usize) -> ToolCall {
        let mut steps = Vec::new();
        for number in 1..=self.random.below(4) {
            let kind = *self
                .random
                .pick(&["create", "create", "edit", "delete", "command", "verify"]);
            let mut step = serde_json::json!({"kind": kind, "why": "because"});
            match kind {
                "command" => step["command"] = "make".into(),
                "verify" => {}
                _ => step["target"] = (*self.random.pick(&FILES)).into(),
            }
            if self.random.once_in(3) {
                step["depends_on"] = serde_json::json!([self.random.below(number + 1)]);
            }
            steps.push(step);
        }
        let mut arguments = serde_json::json!({ "steps": steps });
        if self.random.once_in(6) {
            arguments["nothing_to_do"] = "it is done".into();
        }
        ToolCall {
            id: ToolCallId::new(format!("c{at}")),
            name: "propose_plan".into(),
            arguments: arguments.to_string(),
            raw: None,
        }
    }

    fn failure(&mut self) -> ModelFailure {
        use ModelErrorKind as Kind;
        let kind = *self.random.pick(&[
            Kind::PromptTooLong,
            Kind::RateLimit,
            Kind::Overloaded,
            Kind::Quota,
            Kind::Auth,
            Kind::MaxOutput,
            Kind::Empty,
            Kind::MalformedToolCall,
            Kind::InvalidRequest,
            Kind::Network,
            Kind::Timeout,
            Kind::ServerError,
            Kind::Unknown,
        ]);
        let retry_after_ms = self
            .random
            .once_in(3)
            .then(|| self.random.next() % 2_000_000);
        ModelFailure {
            kind,
            retryable: true,
            retry_after_ms,
            status: None,
            tokens: None,
            rule: "r".into(),
            raw: String::new(),
            advice: "a".into(),
            usage: outrigger::kernel::conversation::Usage::default(),
        }
    }

    fn reports(&mut self) -> Vec<GateReport> {
        if self.random.once_in(5) {
            return Vec::new();
        }
        let outcome = *self.random.pick(&[
            Outcome::Pass,
            Outcome::Pass,
            Outcome::Fail,
            Outcome::Error,
            Outcome::Missing,
            Outcome::Skipped,
        ]);
        let findings = if outcome == Outcome::Fail {
            vec![self.finding()]
        } else {
            Vec::new()
        };
        vec![GateReport {
            gate: GateId::new("g"),
            outcome,
            partial: false,
            findings,
            notes: vec!["note".into()],
            command: Vec::new(),
            duration_ms: 1,
        }]
    }

    fn finding(&mut self) -> Finding {
        let at = |utf8| Position {
            line: 0,
            utf8,
            utf16: utf8,
            utf32: utf8,
        };
        let file =
            SourceFile::Workspace(RelPath::parse(FILES[self.random.below(FILES.len())]).unwrap());
        let range = TextRange {
            start: at(0),
            end: at(3),
        };
        let hash = file
            .workspace()
            .and_then(|path| self.files.get(path))
            .map(|text| ContentHash::of(text.as_bytes()));
        let place = Place {
            file,
            range,
            kind: RangeKind::Exact,
            bytes: (0, 3),
            hash,
            cell: None,
            line_text: "foo".into(),
            around: Vec::new(),
        };
        let fix = Fix {
            title: "mend it".into(),
            applicability: Applicability::Safe,
            edits: vec![FixEdit {
                place: place.clone(),
                new_text: "mended".into(),
            }],
        };
        Finding {
            gate: GateId::new("g"),
            source: "g".into(),
            place: Some(place),
            severity: Severity::Error,
            code: None,
            href: None,
            message: format!("bad {}", self.random.pick(&["x", "y", "z"])),
            tags: Vec::new(),
            related: Vec::new(),
            fixes: if self.random.once_in(3) {
                vec![fix]
            } else {
                Vec::new()
            },
            test: None,
            rendered: None,
        }
    }

    /// What providers insist on: the sides alternate, and results pair with calls.
    fn check_request(messages: &[outrigger::kernel::conversation::Message]) -> bool {
        use outrigger::kernel::conversation::Role;
        let mut owed: Vec<ToolCallId> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            assert_eq!(
                message.role == Role::User,
                at % 2 == 0,
                "the sides alternate: {messages:#?}"
            );
            let mut words = false;
            for block in &message.blocks {
                match block {
                    Block::ToolCall(call) => owed.push(call.id.clone()),
                    Block::ToolResult { call, .. } => {
                        assert!(!words, "results come before words");
                        assert_eq!(
                            owed.first(),
                            Some(call),
                            "each call has its result, in order: {messages:#?}"
                        );
                        owed.remove(0);
                    }
                    _ => words = true,
                }
            }
            if message.role == Role::User {
                assert!(
                    owed.is_empty(),
                    "calls without results: {owed:?} {messages:#?}"
                );
            }
        }
        assert!(owed.is_empty());
        messages
            .last()
            .is_some_and(|message| message.role == Role::User)
    }

    fn check(&self) {
        for (request, count) in &self.replied {
            assert!(*count <= 1, "{request:?} is answered {count} times");
        }
        for (question, count) in &self.answered {
            assert!(*count <= 1, "{question} is answered {count} times");
        }
        assert!(self.terminals <= 1, "{} ends", self.terminals);
        let run = &self.state.runs[&self.run];
        if run.ended.is_some() {
            assert!(
                self.open_questions().is_empty(),
                "an ended run asks nothing"
            );
            return;
        }
        let can_go_on = !self.jobs.is_empty()
            || self.stopping
            || !self.open_questions().is_empty()
            || run.paused
            || run.parked;
        assert!(
            can_go_on,
            "the run is stuck: {:?} {:?} {:?}",
            run.status, run.waiting, run.current
        );
        assert!(
            run.waiting.is_some() || run.parked || run.messages.is_empty(),
            "waiting has a name: {:?} {:?}",
            run.status,
            run.current
        );
        assert!(
            run.iterations <= run.spec.budget.iterations,
            "the budget holds"
        );
    }

    fn replayed(&self) -> State {
        let mut state = State::default();
        for (at, event) in &self.facts {
            step(
                &mut state,
                Input {
                    at: *at,
                    what: Stimulus::Fact {
                        run: self.run.clone(),
                        event: event.clone(),
                    },
                },
            );
        }
        state
    }

    fn check_replay(&self) {
        let mut replayed = self.replayed();
        let (run, mine) = (
            replayed.runs.get_mut(&self.run).unwrap(),
            &self.state.runs[&self.run],
        );
        if mine.parked {
            return;
        }
        // Of this process only.
        run.last_life = mine.last_life;
        assert_eq!(run, mine, "the facts give the same run");
        assert_eq!(
            replayed.questions, self.state.questions,
            "the facts give the same questions"
        );
    }
}
