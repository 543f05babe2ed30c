//! A bench for one run: feeds facts as performers would, and shows what the kernel said last.

use std::sync::Arc;

use outrigger::kernel::conversation::{
    Block, ModelFailure, ModelRequest, ModelTurn, StopReason, ToolCall, Usage,
};
use outrigger::kernel::effect::{Effect, Refusal, Reply};
use outrigger::kernel::event::{
    Budget, Context, Engine, Policy, ReadCall, ReadTool, RunEvent, RunOutcome, RunSpec, Steer,
};
use outrigger::kernel::file::{
    Encoding, FileNow, TextNow, TextSource, WriteOrder, WriteOutcome, WrittenThrough,
};
use outrigger::kernel::finding::{
    Finding, GateReport, Outcome, Place, Position, RangeKind, Severity, SourceFile, TextRange,
};
use outrigger::kernel::hash::ContentHash;
use outrigger::kernel::ids::{GateId, QuestionId, RequestId, RunId, ToolCallId};
use outrigger::kernel::input::{Command, Input, Stimulus};
use outrigger::kernel::path::RelPath;
use outrigger::kernel::plan::Targets;
use outrigger::kernel::question::{Answer, Question, QuestionState};
use outrigger::kernel::run::{Run, Summary};
use outrigger::kernel::time::Moment;
use outrigger::kernel::tool::{SeenFile, ToolOutput};
use outrigger::kernel::{State, step};

#[derive(Clone)]
pub struct Bench {
    pub state: State,
    run: RunId,
    now: u64,
    /// Effects since the last input.
    last: Vec<Effect>,
    all: Vec<Effect>,
    facts: Vec<(Moment, RunEvent)>,
    requests: u64,
}

impl Bench {
    pub fn started(prompt: &str) -> Self {
        Self::with(prompt, |_| {})
    }

    pub fn with(prompt: &str, change: impl FnOnce(&mut RunSpec)) -> Self {
        let mut spec = RunSpec {
            prompt: prompt.into(),
            engine: Engine::React,
            model: "scripted:test".into(),
            fallback_model: None,
            stall: Default::default(),
            task: None,
            policy: Policy::default(),
            budget: Budget::default(),
        };
        change(&mut spec);
        let run = RunId::new("r1");
        let mut bench = Self {
            state: State::default(),
            run: run.clone(),
            now: 0,
            last: Vec::new(),
            all: Vec::new(),
            facts: Vec::new(),
            requests: 0,
        };
        bench.command(Command::Start { run, spec });
        bench
    }

    fn moment(&mut self) -> Moment {
        self.now += 10;
        Moment {
            wall_ms: 1_000_000 + i64::try_from(self.now).unwrap(),
            mono_ms: self.now,
        }
    }

    fn command(&mut self, command: Command) -> RequestId {
        self.requests += 1;
        let request = RequestId(self.requests);
        self.last.clear();
        self.feed(Stimulus::Client { request, command });
        request
    }

    fn feed(&mut self, what: Stimulus) {
        let at = self.moment();
        if let Stimulus::Fact { event, .. } = &what {
            assert!(event.is_fact(), "{event:?}");
            self.facts.push((at, event.clone()));
        }
        for effect in step(&mut self.state, Input { at, what }) {
            self.all.push(effect.clone());
            self.last.push(effect.clone());
            if let Effect::Accept { run, event } = effect {
                self.feed(Stimulus::Fact { run, event });
            }
        }
    }

    pub fn fact(&mut self, event: RunEvent) {
        self.last.clear();
        self.feed(Stimulus::Fact {
            run: self.run.clone(),
            event,
        });
    }

    pub fn run(&self) -> &Run {
        &self.state.runs[&self.run]
    }

    pub fn path(&self, text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    /// Whether the last input led to such an effect.
    pub fn said(&self, is: impl Fn(&Effect) -> bool) -> bool {
        self.last.iter().any(is)
    }

    fn newest<T>(&self, pick: impl Fn(&Effect) -> Option<T>) -> T {
        self.all
            .iter()
            .rev()
            .find_map(pick)
            .unwrap_or_else(|| panic!("no such effect; the last were {:#?}", self.last))
    }

    pub fn context(&mut self) {
        let context = Context {
            folder: "demo".into(),
            files: "a.rs".into(),
            ..Context::default()
        };
        self.fact(RunEvent::ContextGathered {
            context,
            spending: outrigger::kernel::conversation::Spending::default(),
        });
    }

    pub fn baseline(&mut self, reports: Vec<GateReport>) {
        self.gates(reports);
    }

    /// Ends the newest round.
    pub fn gates(&mut self, reports: Vec<GateReport>) {
        let round = self.newest(|effect| match effect {
            Effect::RunGates { round, .. } => Some(*round),
            _ => None,
        });
        self.fact(RunEvent::GatesReported { round, reports });
    }

    /// The request that the last input led to.
    pub fn request(&self) -> ModelRequest {
        let found = self.last.iter().rev().find_map(|effect| match effect {
            Effect::CallModel { request, .. } => Some(request.clone()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("the model is not called: {:#?}", self.last))
    }

    pub fn reply(&mut self, (calls, text): (Vec<ToolCall>, String)) {
        self.reply_with(calls, &text);
    }

    pub fn reply_with(&mut self, calls: Vec<ToolCall>, text: &str) {
        let tools = calls
            .iter()
            .map(|call| ReadCall {
                id: call.id.clone(),
                name: call.name.clone(),
                tool: outrigger::tools::schema::parse(&call.name, &call.arguments)
                    .map_or_else(ReadTool::Malformed, ReadTool::Use),
            })
            .collect();
        let mut blocks: Vec<Block> = if text.is_empty() {
            Vec::new()
        } else {
            vec![Block::text(text)]
        };
        let stop = if calls.is_empty() {
            StopReason::EndTurn
        } else {
            StopReason::ToolUse
        };
        blocks.extend(calls.into_iter().map(Block::ToolCall));
        let turn = ModelTurn {
            blocks,
            stop,
            usage: Usage {
                input: 10,
                output: 5,
                ..Usage::default()
            },
            model: "test".into(),
            request_id: None,
        };
        let call = self.run().last_call;
        self.fact(RunEvent::ModelReplied {
            call,
            turn,
            tools,
            bill: outrigger::kernel::conversation::Bill::default(),
        });
    }

    pub fn model_fails(&mut self, failure: ModelFailure) {
        let call = self.run().last_call;
        self.fact(RunEvent::ModelFailed {
            call,
            failure,
            bill: outrigger::kernel::conversation::Bill::default(),
        });
    }

    fn current_call(&self) -> ToolCallId {
        self.run()
            .current
            .as_ref()
            .map(|current| current.call.id.clone())
            .expect("a current call")
    }

    pub fn inspected(&mut self, now: FileNow) {
        let (call, path) = self.newest(|effect| match effect {
            Effect::Inspect { call, path, .. } => Some((call.clone(), path.clone())),
            _ => None,
        });
        self.fact(RunEvent::FileInspected { call, path, now });
    }

    /// What is there of the proposed plan's targets.
    pub fn targets(&mut self, there: &[&str]) {
        let call = self.newest(|effect| match effect {
            Effect::FindTargets { call, .. } => Some(call.clone()),
            _ => None,
        });
        let targets = Targets {
            there: there.iter().map(|path| self.path(path)).collect(),
            ..Targets::default()
        };
        self.fact(RunEvent::TargetsFound { call, targets });
    }

    /// What the model was last told.
    pub fn told(&self) -> String {
        let request = self.request();
        let blocks = request.messages.last().map(|last| &last.blocks);
        format!("{blocks:?}")
    }

    pub fn write(&self) -> WriteOrder {
        let found = self.last.iter().find_map(|effect| match effect {
            Effect::Write { order, .. } => Some(order.clone()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("nothing is written: {:#?}", self.last))
    }

    pub fn written(&mut self) {
        let order = self.newest(|effect| match effect {
            Effect::Write { order, .. } => Some(order.clone()),
            _ => None,
        });
        self.write_ends(WriteOutcome::Written {
            before: order.expected.clone(),
            after: order.content.hash(),
            through: WrittenThrough::Disk,
        });
    }

    pub fn write_ends(&mut self, outcome: WriteOutcome) {
        let (change, path) = self.newest(|effect| match effect {
            Effect::Write { change, order, .. } => Some((*change, order.path.clone())),
            _ => None,
        });
        self.fact(RunEvent::WriteFinished {
            change,
            path,
            outcome,
        });
    }

    pub fn output(&mut self, text: &str, is_error: bool) {
        let output = ToolOutput {
            text: text.into(),
            is_error,
            seen: None,
        };
        self.fact(RunEvent::ToolFinished {
            call: self.current_call(),
            output,
            duration_ms: 1,
        });
    }

    pub fn read(&mut self, path: &str, text: &str) {
        let seen = SeenFile {
            path: self.path(path),
            hash: ContentHash::of(text.as_bytes()),
            text: text.into(),
        };
        let output = ToolOutput {
            text: text.into(),
            is_error: false,
            seen: Some(seen),
        };
        self.fact(RunEvent::ToolFinished {
            call: self.current_call(),
            output,
            duration_ms: 1,
        });
    }

    /// The one open question.
    pub fn question(&self) -> Question {
        let open: Vec<&Question> = self
            .state
            .questions
            .values()
            .filter(|question| question.state == QuestionState::Open)
            .collect();
        assert_eq!(open.len(), 1, "{open:#?}");
        open[0].clone()
    }

    pub fn answer(&mut self, question: &QuestionId, answer: Answer) -> Result<Reply, Refusal> {
        let request = self.command(Command::Answer {
            question: question.clone(),
            answer,
            by: "tester".into(),
        });
        self.replies(request).expect("a reply")
    }

    pub fn cancel(&mut self) -> RequestId {
        self.command(Command::Cancel {
            run: self.run.clone(),
            by: "tester".into(),
        })
    }

    pub fn replies(&self, to: RequestId) -> Option<Result<Reply, Refusal>> {
        let mut found = self.all.iter().filter_map(|effect| match effect {
            Effect::Reply { request, reply } if *request == to => Some(reply.clone()),
            _ => None,
        });
        let first = found.next();
        assert!(found.next().is_none(), "each request is answered once");
        first
    }

    /// Time passes without anything else.
    pub fn idle(&mut self, ms: u64) {
        self.now += ms;
        self.last.clear();
        self.feed(Stimulus::Tick);
    }

    pub fn lives(&mut self) {
        self.last.clear();
        self.feed(Stimulus::Life {
            run: self.run.clone(),
        });
    }

    pub fn steer(&mut self, steer: Steer) -> Result<Reply, Refusal> {
        let request = self.command(Command::Steer {
            run: self.run.clone(),
            steer,
            by: "tester".into(),
        });
        self.replies(request).expect("a reply")
    }

    /// The process ends, and another one reads the transcript.
    pub fn restarted(&mut self) {
        self.state = self.replayed();
        self.last.clear();
        self.feed(Stimulus::Parked {
            run: self.run.clone(),
        });
    }

    pub fn resume(&mut self) {
        let request = self.command(Command::Resume {
            run: self.run.clone(),
            by: "tester".into(),
        });
        self.replies(request).expect("a reply").expect("resumed");
    }

    pub fn timer(&self) -> u64 {
        self.newest(|effect| match effect {
            Effect::ArmTimer { after_ms, .. } => Some(*after_ms),
            _ => None,
        })
    }

    pub fn timer_fires(&mut self) {
        let timer = self.newest(|effect| match effect {
            Effect::ArmTimer { timer, .. } => Some(*timer),
            _ => None,
        });
        self.fact(RunEvent::TimerFired { timer });
    }

    pub fn ended(&self) -> (RunOutcome, Summary) {
        self.run().ended.clone().unwrap_or_else(|| {
            panic!(
                "the run has not ended: {:?} {:?}",
                self.run().status,
                self.run().waiting
            )
        })
    }

    pub fn terminals(&self) -> usize {
        self.all
            .iter()
            .filter(|effect| {
                matches!(
                    effect,
                    Effect::Record {
                        event: RunEvent::Ended { .. },
                        ..
                    }
                )
            })
            .count()
    }

    /// What was last published for a file.
    pub fn published(&self, path: &str) -> Option<Vec<Finding>> {
        self.all.iter().rev().find_map(|effect| match effect {
            Effect::Publish {
                path: published,
                findings,
            } if published.as_str() == path => Some(findings.clone()),
            _ => None,
        })
    }

    /// The state that a new kernel has after the facts so far.
    pub fn replayed(&self) -> State {
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
}

pub fn tool(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: ToolCallId::new(id),
        name: name.into(),
        arguments: arguments.into(),
        raw: None,
    }
}

/// A turn of one tool call.
pub fn call(name: &str, arguments: &str) -> (Vec<ToolCall>, String) {
    (vec![tool("c1", name, arguments)], String::new())
}

pub fn reply(text: &str) -> (Vec<ToolCall>, String) {
    (Vec::new(), text.into())
}

pub fn absent() -> FileNow {
    FileNow::Absent {
        nearest: Vec::new(),
    }
}

pub fn text_file(text: &str) -> FileNow {
    let hash = ContentHash::of(text.as_bytes());
    FileNow::Text(TextNow {
        text: Arc::from(text),
        hash: hash.clone(),
        encoding: Encoding::Utf8,
        source: TextSource::Disk,
        disk: Some(hash),
        newer_disk: false,
    })
}

pub fn unsaved(text: &str, disk: &str) -> FileNow {
    FileNow::Text(TextNow {
        text: Arc::from(text),
        hash: ContentHash::of(text.as_bytes()),
        encoding: Encoding::Utf8,
        source: TextSource::UnsavedDocument,
        disk: Some(ContentHash::of(disk.as_bytes())),
        newer_disk: false,
    })
}

/// A report of the gate `cargo-check` with one error; none when `path` is empty.
pub fn reject(path: &str, line: u32, code: &str, message: &str) -> GateReport {
    let at = |utf8| Position {
        line,
        utf8,
        utf16: utf8,
        utf32: utf8,
    };
    let finding = |file| Finding {
        gate: GateId::new("cargo-check"),
        source: "cargo".into(),
        place: Some(Place {
            file: SourceFile::Workspace(file),
            range: TextRange {
                start: at(0),
                end: at(1),
            },
            kind: RangeKind::Exact,
            bytes: (0, 1),
            hash: None,
            cell: None,
            line_text: "line".into(),
            around: Vec::new(),
        }),
        severity: Severity::Error,
        code: Some(code.into()),
        href: None,
        message: message.into(),
        tags: Vec::new(),
        related: Vec::new(),
        fixes: Vec::new(),
        test: None,
        rendered: None,
    };
    let findings: Vec<Finding> = RelPath::parse(path).ok().map(finding).into_iter().collect();
    let outcome = if findings.is_empty() {
        Outcome::Pass
    } else {
        Outcome::Fail
    };
    GateReport {
        gate: GateId::new("cargo-check"),
        outcome,
        partial: false,
        findings,
        notes: Vec::new(),
        command: Vec::new(),
        duration_ms: 1,
    }
}
