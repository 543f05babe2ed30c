//! Plans: typed steps that a run carries out one after the other. Pure: what exists is told by the caller.
//!
//! Promises: a step that is carried out comes after the steps it needs; what exists is never created; a plan that went
//! out as a document ([`document`]) comes back as the same plan.

pub mod document;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path::RelPath;

/// Steps of one plan.
pub const MOST_STEPS: usize = 50;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A file that is not there.
    Create,
    /// A file that is there.
    Edit,
    Delete,
    /// A command line, such as one that adds a dependency.
    Command,
    /// All checks.
    Verify,
}

impl StepKind {
    pub const ALL: [Self; 5] = [
        Self::Create,
        Self::Edit,
        Self::Delete,
        Self::Command,
        Self::Verify,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Command => "command",
            Self::Verify => "verify",
        }
    }
}

/// One item of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// From 1, in the order in which the steps are done.
    pub number: u32,
    pub kind: StepKind,
    /// The file of `create`, `edit` and `delete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<RelPath>,
    /// The command line of `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What it does there, and why; one line.
    pub why: String,
    /// Numbers of the steps that must be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<u32>,
}

impl Step {
    /// One line for lists.
    pub fn title(&self) -> String {
        let what = match (&self.target, &self.command) {
            (Some(path), _) => format!(" {path}"),
            (None, Some(command)) => format!(" `{command}`"),
            (None, None) => String::new(),
        };
        let why = self.why.trim();
        if why.is_empty() {
            format!("{}{what}", self.kind.word())
        } else {
            format!("{}{what}: {why}", self.kind.word())
        }
    }
}

/// What is known of a plan's targets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Targets {
    /// Those that are files now, unsaved ones included.
    pub there: Vec<RelPath>,
    /// Of those that are not: files with a name like theirs.
    pub nearest: BTreeMap<RelPath, Vec<RelPath>>,
}

/// A plan that can be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sound {
    /// Each after those it needs.
    pub steps: Vec<Step>,
    /// What was put right, for people and model.
    pub notes: Vec<String>,
}

/// Checks a plan against what is there. `done` are steps that an earlier plan has carried out: they may be needed, and
/// what they created is there.
///
/// # Errors
/// Everything that is wrong with it, for the one who made it.
pub fn check(steps: Vec<Step>, targets: &Targets) -> Result<Sound, Vec<String>> {
    let mut problems = Vec::new();
    if steps.len() > MOST_STEPS {
        problems.push(format!(
            "the plan has {} steps; at most {MOST_STEPS} can be followed: put together what belongs together",
            steps.len()
        ));
    }
    for step in &steps {
        problems.extend(shape_problem(step));
    }
    problems.extend(number_problems(&steps));
    if !problems.is_empty() {
        return Err(problems);
    }
    let Some(mut steps) = in_order(steps) else {
        return Err(vec![
            "the steps need each other in a circle; leave out what is not needed of `depends_on`"
                .to_owned(),
        ]);
    };
    let mut notes = Vec::new();
    let mut there: BTreeSet<RelPath> = targets.there.iter().cloned().collect();
    for step in &mut steps {
        let Some(path) = step.target.clone() else {
            continue;
        };
        match step.kind {
            StepKind::Create if there.contains(&path) => {
                notes.push(format!(
                    "step {} edits {path}: it exists, so it is not created",
                    step.number
                ));
                step.kind = StepKind::Edit;
            }
            StepKind::Edit if !there.contains(&path) => {
                problems.push(missing(step.number, &path, targets));
            }
            StepKind::Create | StepKind::Edit | StepKind::Verify | StepKind::Command => {}
            StepKind::Delete => {
                there.remove(&path);
            }
        }
        if step.kind == StepKind::Create {
            there.insert(path);
        }
    }
    if problems.is_empty() {
        Ok(Sound { steps, notes })
    } else {
        Err(problems)
    }
}

fn missing(number: u32, path: &RelPath, targets: &Targets) -> String {
    let near = targets.nearest.get(path).map(Vec::as_slice);
    let hint = match near.unwrap_or_default() {
        [] => String::new(),
        near => {
            let names: Vec<&str> = near.iter().map(RelPath::as_str).collect();
            format!(", or is {} meant?", names.join(" or "))
        }
    };
    format!("step {number} edits {path}, which does not exist: plan it as `create`{hint}")
}

/// Whether a step has what its kind needs, and nothing else.
fn shape_problem(step: &Step) -> Option<String> {
    let number = step.number;
    let kind = step.kind.word();
    let problem = match (step.kind, &step.target, step.command.as_deref()) {
        (StepKind::Create | StepKind::Edit | StepKind::Delete, None, _) => {
            format!("step {number} ({kind}) names no file in `target`")
        }
        (StepKind::Create | StepKind::Edit | StepKind::Delete, Some(_), Some(_)) => {
            format!(
                "step {number} ({kind}) has a command as well; make the command a step of its own"
            )
        }
        (StepKind::Command, _, None) => {
            format!("step {number} (command) has no command line in `command`")
        }
        (StepKind::Command, _, Some(line)) if line.trim().is_empty() => {
            format!("step {number} (command) has an empty command line")
        }
        (StepKind::Command, _, Some(line)) if line.contains(['\n', '\r']) => {
            format!(
                "the command line of step {number} has several lines; give one, or several steps"
            )
        }
        (StepKind::Verify, _, Some(_)) => {
            format!("step {number} (verify) runs the project's own checks and takes no command")
        }
        _ => return None,
    };
    Some(problem)
}

fn number_problems(steps: &[Step]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut numbers = BTreeSet::new();
    for step in steps {
        if !numbers.insert(step.number) {
            problems.push(format!("two steps have the number {}", step.number));
        }
    }
    for step in steps {
        for needed in &step.depends_on {
            if *needed == step.number {
                problems.push(format!("step {needed} needs itself"));
            } else if !numbers.contains(needed) {
                problems.push(format!(
                    "step {} needs step {needed}, which is not there",
                    step.number
                ));
            }
        }
    }
    problems
}

/// Each step after those it needs, else as given; numbered anew from 1. `None`: they need each other in a circle.
fn in_order(steps: Vec<Step>) -> Option<Vec<Step>> {
    let mut left = steps;
    let mut ordered: Vec<Step> = Vec::new();
    let mut new_numbers: BTreeMap<u32, u32> = BTreeMap::new();
    while !left.is_empty() {
        let ready = left.iter().position(|step| {
            let needs = &step.depends_on;
            needs.iter().all(|needed| new_numbers.contains_key(needed))
        })?;
        let mut step = left.remove(ready);
        let number = u32::try_from(ordered.len()).unwrap_or(u32::MAX) + 1;
        new_numbers.insert(step.number, number);
        step.number = number;
        for needed in &mut step.depends_on {
            if let Some(new) = new_numbers.get(needed) {
                *needed = *new;
            }
        }
        step.depends_on.sort_unstable();
        step.depends_on.dedup();
        ordered.push(step);
    }
    Some(ordered)
}

/// Paths whose existence decides about a plan.
pub fn paths(steps: &[Step]) -> Vec<RelPath> {
    let paths: BTreeSet<&RelPath> = steps
        .iter()
        .filter_map(|step| step.target.as_ref())
        .collect();
    paths.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests;
