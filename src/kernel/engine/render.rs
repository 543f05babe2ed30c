//! Findings in words, for the model and for people.

use crate::kernel::conversation::ModelFailure;
use crate::kernel::event::Verdict;
use crate::kernel::finding::for_model::findings_for_model;
use crate::kernel::finding::{Finding, Fingerprint};
use crate::kernel::path::RelPath;
use crate::kernel::tool::{PlanItemState, ToolUse};

/// Failures that the run did not cause, for an agent that asks.
pub fn old<'a>(findings: impl Iterator<Item = &'a Finding>) -> String {
    let findings: Vec<&Finding> = findings.collect();
    if findings.is_empty() {
        return String::new();
    }
    format!(
        "{} finding(s) were there before your work:\n{}",
        findings.len(),
        findings_for_model(&findings, &[])
    )
}

/// What the gates found in the run's work, in all of it or in one file.
pub fn reported<'a>(findings: impl Iterator<Item = &'a Finding>, path: Option<&RelPath>) -> String {
    let is_wanted = |item: &&Finding| {
        path.is_none_or(|path| item.file().and_then(|file| file.workspace()) == Some(path))
    };
    let wanted: Vec<&Finding> = findings.filter(is_wanted).collect();
    if wanted.is_empty() {
        return "The project's checks report nothing new in your work.\n".to_owned();
    }
    format!(
        "{} new finding(s) of the project's checks:\n{}",
        wanted.len(),
        findings_for_model(&wanted, &[])
    )
}

/// One line for lists of a few.
pub fn headline(finding: &Finding) -> String {
    let code = finding
        .code
        .as_deref()
        .map(|code| format!("{code} "))
        .unwrap_or_default();
    format!(
        "{} {code}{}",
        finding.at(),
        finding.message.lines().next().unwrap_or_default()
    )
}

/// The state of verification for the model: what is broken beside what was `before`, what could not run.
pub fn verification<'a>(
    verdict: &Verdict,
    findings: impl Iterator<Item = &'a Finding>,
    before: &[Fingerprint],
) -> String {
    let mut text = String::new();
    let findings: Vec<&Finding> = findings.collect();
    if findings.is_empty() {
        if !verdict.passed.is_empty() {
            text.push_str(&format!(
                "Verification: {} found nothing new.\n",
                verdict.passed.join(", ")
            ));
        }
    } else {
        text.push_str(&format!(
            "Verification: {} new finding(s). Your changes caused them:\n",
            findings.len()
        ));
        text.push_str(&findings_for_model(&findings, before));
    }
    for broken in &verdict.broken {
        text.push_str(&format!(
            "A check could not run, which is not your code's fault: {broken}\n"
        ));
    }
    text
}

/// What a tool call is about, in a few words.
pub fn tool(tool: &ToolUse) -> String {
    let first_line = |text: &str| {
        text.lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(100)
            .collect::<String>()
    };
    match tool {
        ToolUse::Read(read) => read.path.to_string(),
        ToolUse::Write(write) => write.path.to_string(),
        ToolUse::Edit(edit) => edit.path.to_string(),
        ToolUse::MultiEdit(edit) => {
            let paths: Vec<&str> = edit.files.iter().map(|file| file.path.as_str()).collect();
            first_line(&paths.join(", "))
        }
        ToolUse::Delete(delete) => delete.path.to_string(),
        ToolUse::Move(moved) => format!("{} → {}", moved.from, moved.to),
        ToolUse::List(list) => list
            .path
            .as_ref()
            .map_or_else(|| ".".to_owned(), ToString::to_string),
        ToolUse::Search(search) => search.pattern.clone(),
        ToolUse::Command(command) => first_line(&command.command),
        ToolUse::Ask(ask) => first_line(&ask.question),
        ToolUse::Plan(plan) => format!("{} steps", plan.items.len()),
        ToolUse::Glob(find) => find.pattern.clone(),
        ToolUse::Check(check) if check.paths.is_empty() => "everything".to_owned(),
        ToolUse::Check(check) => {
            let paths: Vec<&str> = check.paths.iter().map(RelPath::as_str).collect();
            paths.join(", ")
        }
        ToolUse::Diagnostics(wanted) => wanted
            .path
            .as_ref()
            .map_or_else(|| "everything".to_owned(), ToString::to_string),
        ToolUse::Finish(finish) => first_line(&finish.summary),
        ToolUse::ProposePlan(plan) => format!("{} steps", plan.steps.len()),
    }
}

/// A model failure for people.
pub fn failure(failure: &ModelFailure) -> String {
    let words = provider_words(failure);
    if words.is_empty() {
        failure.advice.clone()
    } else {
        format!("{}\n\n{words}", failure.advice)
    }
}

/// What the provider itself said, for those who have read the advice; may be empty.
pub fn provider_words(failure: &ModelFailure) -> String {
    let raw = failure.raw.trim();
    if raw.is_empty() {
        String::new()
    } else {
        format!("The provider's own words:\n{raw}")
    }
}

pub fn plan_state(state: PlanItemState) -> &'static str {
    match state {
        PlanItemState::Pending => "to do",
        PlanItemState::InProgress => "doing",
        PlanItemState::Done => "done",
        PlanItemState::Skipped => "skipped",
        PlanItemState::Failed => "failed",
    }
}
