//! How far a run is on its plan. Plain state; the `plan` engine decides over it.

use std::collections::BTreeSet;

use super::ids::ToolCallId;
use super::path::RelPath;
use super::plan::Step;
use super::tool::{PlanItem, PlanItemState};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Course {
    pub phase: Phase,
    pub steps: Vec<TrackedStep>,
    /// Plans that the model proposed and that could not be followed, since the last one that could.
    pub refused_plans: u32,
    /// A call that the engine itself makes, not the model.
    pub direct: Option<Direct>,
    /// Calls that the engine has made.
    pub direct_calls: u32,
    /// Files that were changed in the present step.
    pub touched: BTreeSet<RelPath>,
    /// The model was told that the present step is not done.
    pub nudged: bool,
}

/// What the run does now, as far as its plan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// There is no plan of typed steps: the model goes its own way.
    #[default]
    Free,
    /// The model looks around and makes the plan.
    Drafting,
    /// The plan is made and checked, and not yet begun.
    Drafted,
    /// The step at this place of the list is being done.
    Step(usize),
    /// All steps are over: the whole is verified and mended.
    Closing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackedStep {
    pub step: Step,
    pub state: PlanItemState,
    /// Why it was skipped or failed, or done without a change.
    pub why: String,
}

/// A call of the engine's own, whose result becomes words to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Direct {
    pub call: ToolCallId,
    pub result: Option<DirectResult>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectResult {
    Completed(String),
    Failed(String),
    /// A human did not allow it.
    Denied(String),
}

impl Course {
    /// The step that is being done.
    pub fn step(&self) -> Option<&TrackedStep> {
        match self.phase {
            Phase::Step(at) => self.steps.get(at),
            Phase::Free | Phase::Drafting | Phase::Drafted | Phase::Closing => None,
        }
    }

    /// Whether a later step means to change this file.
    pub fn is_ahead(&self, path: &RelPath) -> bool {
        self.steps
            .iter()
            .filter(|tracked| tracked.state == PlanItemState::Pending)
            .any(|tracked| tracked.step.target.as_ref() == Some(path))
    }

    pub fn items(&self) -> Vec<PlanItem> {
        let item = |tracked: &TrackedStep| PlanItem {
            title: tracked.step.title(),
            state: tracked.state,
            step: Some(tracked.step.clone()),
        };
        self.steps.iter().map(item).collect()
    }
}
