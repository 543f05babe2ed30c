//! What a list shows of a run, folded from its records. Pure.
//!
//! An overview is a summary of the transcript, never a second truth: folding the records again gives it again.

use serde::{Deserialize, Serialize};

use crate::kernel::conversation::{Cost, Usage};
use crate::kernel::event::{Engine, Record, RunEvent, RunOutcome};
use crate::kernel::ids::{QuestionId, RunId, TaskId};
use crate::kernel::question::{Question, QuestionState};
use crate::kernel::run::{RunStatus, Summary, Waiting};
use crate::kernel::tool::PlanItem;

/// A run as its records up to [`last_seq`](Self::last_seq) tell it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    pub run: RunId,
    /// The task that it is an attempt at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub prompt: String,
    pub engine: Engine,
    pub model: String,
    pub status: RunStatus,
    pub waiting: Option<Waiting>,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// When the last record was written, in milliseconds since 1970.
    pub changed_at: i64,
    /// Number of the last record that is part of this.
    pub last_seq: u64,
    pub usage: Usage,
    pub cost: Cost,
    pub plan: Vec<PlanItem>,
    /// Files changed so far, a file that was changed twice counted twice.
    pub changes: u32,
    /// Every question, in the order of asking.
    pub questions: Vec<Question>,
    pub end: Option<(RunOutcome, Summary)>,
}

impl Overview {
    /// Of a run of which no record is known.
    pub fn new(run: RunId) -> Self {
        Self {
            run,
            task: None,
            prompt: String::new(),
            engine: Engine::default(),
            model: String::new(),
            status: RunStatus::Queued,
            waiting: None,
            started_at: 0,
            changed_at: 0,
            last_seq: 0,
            usage: Usage::default(),
            cost: Cost::default(),
            plan: Vec::new(),
            changes: 0,
            questions: Vec::new(),
            end: None,
        }
    }

    /// Questions that wait for an answer.
    pub fn open_questions(&self) -> impl Iterator<Item = &Question> {
        self.questions
            .iter()
            .filter(|question| question.state == QuestionState::Open)
    }

    /// Takes the next record in. One that was taken in already changes nothing, so that a page may be read again.
    pub fn apply(&mut self, record: &Record) {
        if record.seq <= self.last_seq {
            return;
        }
        self.last_seq = record.seq;
        self.changed_at = record.at;
        let at = record.at;
        match &record.event {
            RunEvent::RunStarted { spec } => {
                self.task.clone_from(&spec.task);
                self.prompt.clone_from(&spec.prompt);
                self.engine = spec.engine;
                self.model.clone_from(&spec.model);
                self.started_at = at;
            }
            RunEvent::StatusChanged { to, waiting, .. } => {
                self.status = *to;
                self.waiting.clone_from(waiting);
            }
            RunEvent::ModelReplied { turn, bill, .. } => {
                self.usage.add(turn.usage);
                self.cost.add(bill.cost);
            }
            RunEvent::ModelFailed { failure, bill, .. } => {
                self.usage.add(failure.usage);
                self.cost.add(bill.cost);
            }
            RunEvent::PlanUpdated { items } => self.plan.clone_from(items),
            RunEvent::ChangeMade { .. } => self.changes = self.changes.saturating_add(1),
            RunEvent::QuestionOpened { question } => self.questions.push(question.clone()),
            RunEvent::QuestionAnswered {
                question,
                answer,
                by,
            } => self.settle(
                question,
                QuestionState::Answered {
                    answer: answer.clone(),
                    by: by.clone(),
                    at,
                },
            ),
            RunEvent::QuestionWithdrawn { question, reason } => self.settle(
                question,
                QuestionState::Withdrawn {
                    reason: reason.clone(),
                    at,
                },
            ),
            RunEvent::Ended { outcome, summary } => {
                self.status = status_of(*outcome);
                self.waiting = None;
                self.end = Some((*outcome, summary.clone()));
            }
            RunEvent::Resumed { .. } => self.end = None,
            RunEvent::ContextGathered { .. }
            | RunEvent::StallDetected { .. }
            | RunEvent::Steered { .. }
            | RunEvent::FileHeld { .. }
            | RunEvent::FileFreed { .. }
            | RunEvent::Resuming { .. }
            | RunEvent::ToolFinished { .. }
            | RunEvent::FileInspected { .. }
            | RunEvent::WriteFinished { .. }
            | RunEvent::GatesReported { .. }
            | RunEvent::CancelRequested { .. }
            | RunEvent::Abandoned { .. }
            | RunEvent::WorkStopped
            | RunEvent::TimerFired { .. }
            | RunEvent::ModelCalled { .. }
            | RunEvent::ModelRetried { .. }
            | RunEvent::BudgetWarned { .. }
            | RunEvent::ToolRequested { .. }
            | RunEvent::ToolStarted { .. }
            | RunEvent::ToolCompleted { .. }
            | RunEvent::ToolFailed { .. }
            | RunEvent::ToolDenied { .. }
            | RunEvent::GatesStarted { .. }
            | RunEvent::GatesJudged { .. }
            | RunEvent::TargetsFound { .. }
            | RunEvent::StepStarted { .. }
            | RunEvent::StepEnded { .. }
            | RunEvent::VerificationFailed { .. }
            | RunEvent::ChangePlanned { .. } => {}
        }
    }

    /// The first answer or withdrawal holds.
    fn settle(&mut self, id: &QuestionId, state: QuestionState) {
        let open = self
            .questions
            .iter_mut()
            .find(|question| question.id == *id && question.state == QuestionState::Open);
        if let Some(question) = open {
            question.state = state;
        }
    }
}

fn status_of(outcome: RunOutcome) -> RunStatus {
    match outcome {
        RunOutcome::Succeeded => RunStatus::Succeeded,
        RunOutcome::Failed => RunStatus::Failed,
        RunOutcome::Cancelled => RunStatus::Cancelled,
        RunOutcome::Interrupted => RunStatus::Interrupted,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::kernel::event::{Budget, Policy, RECORD_VERSION, RunSpec};
    use crate::kernel::question::{Answer, BlockerReason, QuestionKind};

    pub fn record(seq: u64, event: RunEvent) -> Record {
        Record {
            seq,
            at: 1000 + i64::try_from(seq).unwrap(),
            mono: seq,
            kind: event.kind(),
            v: RECORD_VERSION,
            event,
        }
    }

    pub fn started(prompt: &str) -> RunEvent {
        RunEvent::RunStarted {
            spec: RunSpec {
                prompt: prompt.to_owned(),
                engine: Engine::React,
                model: "scripted:x".to_owned(),
                fallback_model: None,
                policy: Policy::default(),
                budget: Budget::default(),
                stall: Default::default(),
                task: None,
            },
        }
    }

    pub fn asked(id: &str) -> RunEvent {
        RunEvent::QuestionOpened {
            question: Question {
                id: QuestionId::new(id),
                run: RunId::new("r1"),
                title: "Which é?".to_owned(),
                detail: String::new(),
                place: None,
                kind: QuestionKind::Blocker {
                    reason: BlockerReason::Asked,
                },
                choices: Vec::new(),
                free_text: true,
                opened_at: 5,
                state: QuestionState::Open,
            },
        }
    }

    pub fn answered(id: &str, text: &str) -> RunEvent {
        RunEvent::QuestionAnswered {
            question: QuestionId::new(id),
            answer: Answer::Text {
                text: text.to_owned(),
            },
            by: "test".to_owned(),
        }
    }

    pub fn ended() -> RunEvent {
        RunEvent::Ended {
            outcome: RunOutcome::Succeeded,
            summary: Summary::default(),
        }
    }

    pub fn of(records: &[Record]) -> Overview {
        let mut overview = Overview::new(RunId::new("r1"));
        for record in records {
            overview.apply(record);
        }
        overview
    }

    fn waiting() -> RunEvent {
        RunEvent::StatusChanged {
            from: RunStatus::Executing,
            to: RunStatus::Waiting,
            waiting: None,
        }
    }

    #[test]
    fn a_run_is_followed_from_start_to_end() {
        let records = [
            record(1, started("fix é")),
            record(2, asked("r1.q1")),
            record(3, asked("r1.q2")),
            record(4, waiting()),
        ];
        let overview = of(&records);
        assert_eq!(overview.prompt, "fix é");
        assert_eq!(
            (overview.started_at, overview.changed_at, overview.last_seq),
            (1001, 1004, 4)
        );
        assert_eq!(overview.status, RunStatus::Waiting);
        assert_eq!(overview.open_questions().count(), 2);
        let mut later = overview;
        later.apply(&record(5, answered("r1.q1", "a")));
        later.apply(&record(6, ended()));
        let open: Vec<&str> = later
            .open_questions()
            .map(|open| open.id.as_str())
            .collect();
        assert_eq!(open, ["r1.q2"]);
        assert_eq!(later.status, RunStatus::Succeeded);
        assert!(later.end.is_some());
    }

    #[test]
    fn a_run_that_is_taken_up_again_is_not_over() {
        let resumed = RunEvent::Resumed {
            by: "test".to_owned(),
        };
        let overview = of(&[
            record(1, started("x")),
            record(2, ended()),
            record(3, resumed),
        ]);
        assert_eq!(overview.end, None);
    }

    #[test]
    fn the_first_answer_holds_and_an_unknown_question_is_no_harm() {
        let overview = of(&[
            record(1, asked("r1.q1")),
            record(2, answered("r1.q1", "first")),
            record(3, answered("r1.q1", "second")),
            record(4, answered("r9.q9", "lost")),
        ]);
        let QuestionState::Answered { answer, .. } = &overview.questions[0].state else {
            panic!("{:?}", overview.questions);
        };
        assert_eq!(
            *answer,
            Answer::Text {
                text: "first".to_owned()
            }
        );
    }

    #[test]
    fn records_taken_in_twice_count_once_and_pages_add_up() {
        let records = [
            record(1, started("x")),
            record(2, asked("r1.q1")),
            record(3, answered("r1.q1", "a")),
            record(4, ended()),
        ];
        let whole = of(&records);
        for cut in 0..=records.len() {
            let mut pages = of(&records[..cut]);
            for record in &records[cut.saturating_sub(2)..] {
                pages.apply(record);
            }
            assert_eq!(pages, whole, "cut at {cut}");
        }
        let json = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Overview>(&json).unwrap(), whole);
    }
}
