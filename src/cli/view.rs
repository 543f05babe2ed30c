//! A run as lines on a terminal: what has just happened, told once, in order.
//!
//! Turns records into text and does nothing else. Times are from the run's first record, so a run reads the same live and
//! from its transcript.

mod question;

use std::collections::HashMap;

use super::words::{ASKS, BAD, BOLD, DIM, GOOD, NAME, clean, grouped, headline, seconds, styled};
use crate::app::time_of_day;
use crate::kernel::event::{GateRound, Record, RunEvent, RunOutcome, Steer, Verdict};
use crate::kernel::file::{WriteOutcome, WrittenThrough};
use crate::kernel::finding::{Finding, Severity};
use crate::kernel::ids::{ChangeId, GateRoundId, QuestionId, ToolCallId};
use crate::kernel::policy::lease;
use crate::kernel::question::{Answer, Question};
use crate::kernel::run::{FileChange, Summary, Verification};
use crate::kernel::tool::{PlanItem, PlanItemState};

pub use question::{answer_in_words, describe};

/// Characters of a line that quotes something long.
const LINE: usize = 100;
/// Findings told after a round of gates.
const FINDINGS: usize = 5;

/// What has to be remembered to tell the next event.
#[derive(Debug, Default)]
pub struct View {
    start_ms: Option<i64>,
    tools: HashMap<ToolCallId, String>,
    written: HashMap<ChangeId, WrittenThrough>,
    reported: HashMap<GateRoundId, Vec<Finding>>,
    questions: HashMap<QuestionId, Question>,
    /// Gates that passed in the last round of all.
    final_gates: Vec<String>,
}

impl View {
    /// The lines to print for this record, each with its line break; empty for what only machines want to know.
    pub fn tell(&mut self, record: &Record) -> String {
        let start = *self.start_ms.get_or_insert(record.at);
        let entry = self.entry(record);
        entry.map_or_else(String::new, |entry| {
            entry.at(u64::try_from(record.at.saturating_sub(start)).unwrap_or(0))
        })
    }

    /// What a person wants to know when a run is over.
    pub fn closing(&self, outcome: RunOutcome, summary: &Summary) -> String {
        let mut text = format!(
            "\n{}  {}\n",
            match outcome {
                RunOutcome::Succeeded => styled(GOOD.bold(), "Succeeded"),
                RunOutcome::Failed => styled(BAD, "Failed"),
                RunOutcome::Cancelled => styled(BAD, "Cancelled"),
                RunOutcome::Interrupted => styled(BAD, "Interrupted"),
            },
            clean(summary.text.trim())
        );
        let mut row = |name: &str, value: &str| {
            text.push_str(&told_row(name, value));
        };
        for (at, file) in summary.files.iter().enumerate() {
            let what = match file.change {
                FileChange::Created => "created",
                FileChange::Edited => "edited",
                FileChange::Deleted => "deleted",
            };
            let value = format!(
                "{} {what}, +{} -{}",
                clean(file.path.as_str()),
                file.added,
                file.removed
            );
            row(if at == 0 { "files" } else { "" }, &value);
        }
        if summary.files.is_empty() {
            row("files", "none changed");
        }
        row(
            "gates",
            &match summary.verification {
                Verification::Passed if self.final_gates.is_empty() => "passed".to_owned(),
                Verification::Passed => format!("passed: {}", clean(&self.final_gates.join(", "))),
                Verification::Failed => "failed".to_owned(),
                Verification::Unverified => "none could check the work".to_owned(),
                Verification::NotNeeded => "nothing to check".to_owned(),
            },
        );
        row(
            "time",
            &format!(
                "{}, of which {} working",
                seconds(summary.elapsed_ms),
                seconds(summary.active_ms)
            ),
        );
        row(
            "tokens",
            &format!(
                "{} in, {} out, in {} model calls and {} tool calls",
                grouped(summary.usage.input),
                grouped(summary.usage.output),
                summary.model_calls,
                summary.tool_calls
            ),
        );
        if let Some(percent) = summary
            .usage
            .cache_hit_percent()
            .filter(|_| summary.usage.cache_read > 0)
        {
            row(
                "cache",
                &format!("{percent} % of what went in came from the provider's cache"),
            );
        }
        if let Some(cost) = super::words::cost(summary.cost) {
            row("cost", &cost);
        }
        text
    }

    fn entry(&mut self, record: &Record) -> Option<Entry> {
        match &record.event {
            RunEvent::RunStarted { spec } => Some(Entry::new(
                "run",
                format!(
                    "{}\n{}",
                    styled(BOLD, headline(&spec.prompt, LINE)),
                    styled(
                        DIM,
                        format!("model {}{}", clean(&spec.model), no_real_model(&spec.model))
                    )
                ),
            )),
            RunEvent::ContextGathered { context, .. } => {
                let files = context.files.lines().count();
                let folder = clean(&context.folder);
                Some(Entry::new("context", format!("{folder}: {files} files")))
            }
            RunEvent::ModelReplied { turn, .. } => {
                let text = turn.text();
                let text = text.trim();
                (!text.is_empty()).then(|| Entry::new("model", clean(text).into_owned()))
            }
            RunEvent::ModelFailed { failure, .. } => {
                Some(Entry::new("model", styled(BAD, clean(&failure.advice))))
            }
            RunEvent::ModelRetried { what, after_ms, .. } => {
                let when = match i64::try_from(*after_ms) {
                    Ok(0) | Err(_) => "again".to_owned(),
                    Ok(after) => {
                        let at = time_of_day(record.at.saturating_add(after));
                        format!("again in {}, at {at}", seconds(*after_ms))
                    }
                };
                Some(Entry::new("model", format!("{when}: {}", clean(what))))
            }
            RunEvent::FileHeld { path, by, .. } => {
                let text = format!("waits for {}", clean(&lease::in_words(path, by)));
                Some(Entry::more(styled(DIM, text)))
            }
            RunEvent::BudgetWarned {
                limit, used, at, ..
            } => {
                let percent = used.saturating_mul(100) / (*at).max(1);
                let said = format!("{percent} % of the budget of {} is used", clean(limit));
                Some(Entry::new("budget", styled(ASKS, said)))
            }
            RunEvent::PlanUpdated { items } => Some(Entry::new("plan", plan(items))),
            RunEvent::StepEnded { step, state, why } => {
                let said = match state {
                    PlanItemState::Failed => styled(BAD, "failed"),
                    PlanItemState::Skipped => styled(DIM, "skipped"),
                    PlanItemState::Done | PlanItemState::InProgress | PlanItemState::Pending => {
                        return (!why.is_empty()).then(|| {
                            Entry::new("step", format!("{}: {}", step.number, headline(why, LINE)))
                        });
                    }
                };
                let why = headline(why, LINE);
                Some(Entry::new("step", format!("{} {said}: {why}", step.number)))
            }
            RunEvent::VerificationFailed { gates, next, .. } => {
                let gates = clean(&gates.join(", ")).into_owned();
                let text = format!("{gates} keeps rejecting the work; {}", clean(next));
                Some(Entry::new("rejected", styled(BAD, text)))
            }
            RunEvent::ToolRequested {
                call,
                name,
                summary,
            } => {
                self.tools.insert(call.clone(), name.clone());
                // A plan is told by its items, a question by itself.
                (name != "plan" && name != "propose_plan" && name != "ask")
                    .then(|| Entry::new(name, headline(summary, LINE)).named())
            }
            RunEvent::ToolFinished { call, output, .. } => {
                let name = self.tools.get(call).map_or("tool", String::as_str);
                let lines = output.text.lines().count();
                let text = match name {
                    "command" => headline(&output.text, LINE),
                    _ => format!("{lines} lines"),
                };
                (!output.is_error).then(|| Entry::more(styled(DIM, format!("→ {text}"))))
            }
            RunEvent::ToolFailed { error, .. } => Some(Entry::more(styled(
                BAD,
                format!("✗ {}", headline(error, LINE)),
            ))),
            RunEvent::ToolDenied { reason, .. } => Some(Entry::more(styled(
                BAD,
                format!("✗ {}", headline(reason, LINE)),
            ))),
            RunEvent::WriteFinished {
                change, outcome, ..
            } => {
                if let WriteOutcome::Written { through, .. } = outcome {
                    self.written.insert(*change, *through);
                }
                None
            }
            RunEvent::ChangeMade {
                change,
                path,
                before,
                after,
                added,
                removed,
            } => {
                let what = match (before, after) {
                    (None, _) => "created",
                    (_, None) => "deleted",
                    _ => "changed",
                };
                let through = self
                    .written
                    .remove(change)
                    .map_or("", |through| match through {
                        WrittenThrough::Disk => "",
                        WrittenThrough::EditorSaved => ", through the editor, saved",
                        WrittenThrough::EditorAndDisk => ", through the editor, and on disk",
                        WrittenThrough::EditorUnsaved => ", through the editor, not saved",
                    });
                Some(Entry::more(format!(
                    "{} {} {what}, +{added} -{removed} lines{through}",
                    styled(GOOD, "✓"),
                    clean(path.as_str())
                )))
            }
            RunEvent::GatesReported { round, reports } => {
                let findings = reports
                    .iter()
                    .flat_map(|report| report.findings.iter().cloned());
                self.reported.insert(*round, findings.collect());
                None
            }
            RunEvent::GatesJudged {
                round,
                why,
                verdict,
            } => {
                let findings = self.reported.remove(round).unwrap_or_default();
                if *why == GateRound::Final {
                    self.final_gates.clone_from(&verdict.passed);
                }
                verdict_entry(*why, verdict, &findings)
            }
            RunEvent::QuestionOpened { question } => {
                self.questions.insert(question.id.clone(), question.clone());
                Some(Entry::new("question", describe(question)).asking())
            }
            RunEvent::QuestionAnswered {
                question,
                answer,
                by,
            } => {
                let words = self.questions.get(question).map_or_else(
                    || answer_in_words(None, answer),
                    |question| answer_in_words(Some(question), answer),
                );
                let by = clean(by);
                Some(Entry::new(
                    "answer",
                    format!("{} {}", styled(BOLD, words), styled(DIM, format!("({by})"))),
                ))
            }
            RunEvent::QuestionWithdrawn { reason, .. } => Some(Entry::new(
                "question",
                format!("withdrawn: {}", clean(reason)),
            )),
            RunEvent::CancelRequested { by } | RunEvent::Abandoned { by } => {
                Some(Entry::new("run", format!("stopped by {}", clean(by))))
            }
            RunEvent::StallDetected { idle_ms } => {
                let text = format!(
                    "{} without a sign of life; what hangs is stopped",
                    seconds(*idle_ms)
                );
                Some(Entry::new("stall", styled(BAD, text)))
            }
            RunEvent::Steered { steer, by } => {
                let words = match steer {
                    Steer::Message { text } => clean(text).into_owned(),
                    Steer::Pause => "paused".to_owned(),
                    Steer::GoOn => "goes on".to_owned(),
                    Steer::SkipStep => "skips the present step".to_owned(),
                    Steer::Model { model } => format!("from now on by {}", clean(model)),
                };
                let by = styled(DIM, format!("({})", clean(by)));
                Some(Entry::new("steer", format!("{words} {by}")))
            }
            RunEvent::Resumed { by } => {
                let text = format!("taken up again by {}", clean(by));
                Some(Entry::new("run", text))
            }
            RunEvent::Resuming { uncertain } => (!uncertain.is_empty()).then(|| {
                let text = format!("not certain: {}", clean(&uncertain.join("; ")));
                Entry::more(text)
            }),
            RunEvent::StatusChanged { .. }
            | RunEvent::ModelCalled { .. }
            | RunEvent::ToolStarted { .. }
            | RunEvent::TargetsFound { .. }
            | RunEvent::StepStarted { .. }
            | RunEvent::ToolCompleted { .. }
            | RunEvent::FileInspected { .. }
            | RunEvent::FileFreed { .. }
            | RunEvent::WorkStopped
            | RunEvent::TimerFired { .. }
            | RunEvent::GatesStarted { .. }
            | RunEvent::ChangePlanned { .. }
            | RunEvent::Ended { .. } => None,
        }
    }
}

/// A labelled paragraph.
struct Entry {
    label: String,
    style: anstyle::Style,
    text: String,
}

impl Entry {
    fn new(label: &str, text: String) -> Self {
        Self {
            label: clean(label).into_owned(),
            style: DIM,
            text,
        }
    }

    /// Belongs to the entry above.
    fn more(text: String) -> Self {
        Self::new("", text)
    }

    fn named(mut self) -> Self {
        self.style = NAME;
        self
    }

    fn asking(mut self) -> Self {
        self.style = super::words::ASKS;
        self
    }

    fn at(&self, ms: u64) -> String {
        told(
            &seconds(ms),
            &styled(self.style, format!("{:<9}", self.label)),
            &self.text,
        )
    }
}

/// Lines beside time and label.
fn told(time: &str, label: &str, text: &str) -> String {
    let mut out = String::new();
    for (at, line) in text.lines().enumerate() {
        if at == 0 {
            out.push_str(&format!(
                "{} {label} {line}\n",
                styled(DIM, format!("{time:>8}"))
            ));
        } else {
            out.push_str(&format!("{:19}{line}\n", ""));
        }
    }
    out
}

/// A line beside the run's own, such as what the editor does.
pub fn aside(label: &str, text: &str) -> String {
    told("", &styled(DIM, format!("{label:<9}")), &styled(DIM, text))
}

fn plan(items: &[PlanItem]) -> String {
    items
        .iter()
        .map(|item| {
            let title = clean(&item.title);
            match item.state {
                PlanItemState::Pending => format!("○ {title}\n"),
                PlanItemState::InProgress => {
                    format!("{} {}\n", styled(NAME, "◐"), styled(BOLD, title))
                }
                PlanItemState::Done => format!("{} {title}\n", styled(GOOD, "●")),
                PlanItemState::Skipped => styled(DIM, format!("– {title}")) + "\n",
                PlanItemState::Failed => format!("{} {title}\n", styled(BAD, "✗")),
            }
        })
        .collect()
}

fn verdict_entry(why: GateRound, verdict: &Verdict, findings: &[Finding]) -> Option<Entry> {
    let label = match why {
        GateRound::Baseline => "baseline",
        GateRound::Change => "check",
        GateRound::Final => "final",
        GateRound::Asked => "asked",
    };
    let mut text = String::new();
    if !verdict.passed.is_empty() {
        let also = if verdict.old_findings > 0 {
            format!(" ({} findings were there before)", verdict.old_findings)
        } else {
            String::new()
        };
        let pass = if verdict.passed.len() == 1 {
            "passes"
        } else {
            "pass"
        };
        text.push_str(&format!(
            "{} {} {pass}{also}\n",
            styled(GOOD, "✓"),
            clean(&verdict.passed.join(", "))
        ));
    }
    if !verdict.failed.is_empty() {
        let gates = clean(&verdict.failed.join(", ")).into_owned();
        text.push_str(&match why {
            GateRound::Baseline => {
                format!("{gates} already fails, {} findings\n", verdict.old_findings)
            }
            GateRound::Change | GateRound::Final | GateRound::Asked => {
                format!("{} {gates} rejects it\n", styled(BAD, "✗"))
            }
        });
    }
    if why != GateRound::Baseline {
        let new = |finding: &&Finding| {
            let at = finding.at();
            verdict.first.iter().any(|line| line.starts_with(&at))
        };
        for finding in findings.iter().filter(new).take(FINDINGS) {
            text.push_str(&finding_lines(finding));
        }
    }
    for broken in &verdict.broken {
        text.push_str(&format!("? {}\n", clean(broken)));
    }
    (!text.is_empty()).then(|| Entry::new(label, text))
}

/// `path:line:column code message`, and the line itself with the place marked.
pub fn finding_lines(finding: &Finding) -> String {
    let (word, style) = match finding.severity {
        Severity::Error => ("error", BAD),
        Severity::Warning => ("warning", super::words::ASKS),
        Severity::Information => ("note", DIM),
        Severity::Hint => ("hint", DIM),
    };
    let code = finding
        .code
        .as_deref()
        .map(|code| format!(" {}", clean(code)))
        .unwrap_or_default();
    let mut text = format!(
        "{} {}: {}\n",
        styled(BOLD, clean(&finding.at())),
        styled(style, format!("{word}{code}")),
        headline(&finding.message, LINE)
    );
    if let Some(place) = finding
        .place
        .as_ref()
        .filter(|place| !place.line_text.trim().is_empty())
    {
        let line = place.line_text.trim_end();
        let start = usize::try_from(place.range.start.utf32).unwrap_or(0);
        let end = if place.range.end.line == place.range.start.line {
            usize::try_from(place.range.end.utf32).unwrap_or(0)
        } else {
            line.chars().count()
        };
        // Tabs stay tabs, so that the mark stands below its place.
        let indent: String = line
            .chars()
            .take(start)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let mark = "^".repeat(end.saturating_sub(start).max(1));
        text.push_str(&format!(
            "  │ {}\n  │ {indent}{}\n",
            clean(line),
            styled(style, mark)
        ));
    }
    text
}

/// A row of a summary.
pub fn told_row(name: &str, value: &str) -> String {
    format!("  {} {value}\n", styled(DIM, format!("{name:<11}")))
}

/// A model that is none is marked as what it is.
fn no_real_model(model: &str) -> &'static str {
    if model.starts_with("scripted:") {
        " (a script, no network)"
    } else if model.starts_with("replay:") {
        " (a recording, no network)"
    } else {
        ""
    }
}
