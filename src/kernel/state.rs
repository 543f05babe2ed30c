//! The state of one workspace, and the frame in which every decision is made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::effect::{Effect, Progress};
use super::event::RunEvent;
use super::file::Overlay;
use super::finding::Finding;
use super::ids::{GateId, QuestionId, RequestId, RunId};
use super::path::RelPath;
use super::policy::lease::Leases;
use super::question::Question;
use super::run::Run;
use super::time::Moment;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub runs: BTreeMap<RunId, Run>,
    /// Every question of every run, answered ones included.
    pub questions: BTreeMap<QuestionId, Question>,
    pub documents: Overlay,
    /// When the user last typed in a document.
    pub typed: BTreeMap<RelPath, Moment>,
    /// Requests that are answered when their run has stopped.
    pub(super) stop_requests: Vec<(RunId, RequestId)>,
    /// Findings of checks that no run asked for.
    pub(super) standing: BTreeMap<GateId, Vec<Finding>>,
    /// Gates that could not look again since they last found something.
    pub(super) stale: BTreeSet<GateId>,
    /// Files and folders that were deleted since the gates last looked: nothing shows on them.
    pub(super) gone: BTreeSet<RelPath>,
    /// What clients were last told, so that only changes are said.
    pub(super) published: BTreeMap<RelPath, Vec<Finding>>,
    pub(super) progress: BTreeMap<RunId, Progress>,
}

impl State {
    /// What clients were last told of all files.
    pub fn shown_findings(&self) -> impl Iterator<Item = &Finding> {
        self.published.values().flatten()
    }

    /// The gates that have findings on a file, as clients were last told.
    pub fn gates_on(&self, path: &RelPath) -> BTreeSet<GateId> {
        let findings = self.published.get(path).into_iter().flatten();
        findings.map(|finding| finding.gate.clone()).collect()
    }
}

impl State {
    /// Whether a file, or a folder above it, was deleted since the gates last looked.
    pub(super) fn is_gone(&self, path: &RelPath) -> bool {
        let below = |gone: &RelPath| {
            let rest = path.as_str().strip_prefix(gone.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.gone.iter().any(below)
    }
}

/// One step over one run: the time, the run's surroundings, and the effects so far.
pub(super) struct Frame<'a> {
    pub now: Moment,
    pub questions: &'a mut BTreeMap<QuestionId, Question>,
    pub documents: &'a Overlay,
    pub leases: Leases<'a>,
    pub effects: Vec<Effect>,
}

impl Frame<'_> {
    pub fn record(&mut self, run: &Run, event: RunEvent) {
        self.effects.push(Effect::Record {
            run: run.id.clone(),
            event,
        });
    }
    pub fn perform(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
    pub fn overlay(&self) -> Overlay {
        Arc::clone(self.documents)
    }
}
