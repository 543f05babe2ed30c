//! What every reader works with: the files, the names, and the parts of a finding that all tools share.

use std::collections::HashSet;
use std::rc::Rc;

use super::columns::Columns;
use super::locate::{Locator, Named, Roots, Sources};
use super::outcome::{Facts, ReportState, Verdicts, decide};
use super::output::{Exit, Invocation, ToolOutput, plain};
use super::place::{Span, place};
use super::text::LineRule;
use crate::kernel::finding::{Finding, GateReport, LineAround, Outcome, Place, Related, Severity};
use crate::kernel::ids::GateId;

/// A report never holds more; how many were left out is a note.
pub const MAX_FINDINGS: usize = 20_000;
const MAX_MESSAGE_BYTES: usize = 16 * 1024;
const MAX_RENDERED_BYTES: usize = 32 * 1024;
const MAX_NOTE_LINES: usize = 20;
/// Nobody reads the lines around more findings than these.
const WITH_LINES_AROUND: usize = 200;
const LINES_AROUND: u32 = 2;
const MAX_LINE_BYTES: usize = 200;

/// Everything a reader may ask while it reads one report.
pub struct Reading<'a> {
    pub gate: GateId,
    /// Shown beside the message.
    pub source: &'a str,
    /// How the tool counts, where the user says so.
    pub columns: Option<Columns>,
    pub invocation: &'a Invocation,
    pub locator: Locator<'a>,
}

/// What a reader found, before the outcome is decided.
#[derive(Debug)]
pub struct Parsed {
    pub report: ReportState,
    /// About the code.
    pub findings: Vec<Finding>,
    /// About the tool's own failure: shown, but never the code's fault.
    pub troubles: Vec<Finding>,
    pub notes: Vec<String>,
    pub nothing: bool,
    pub broken: bool,
    pub partial: bool,
}

impl Parsed {
    pub fn new(report: ReportState) -> Self {
        Self {
            report,
            findings: Vec::new(),
            troubles: Vec::new(),
            notes: Vec::new(),
            nothing: false,
            broken: false,
            partial: false,
        }
    }

    pub fn whole(findings: Vec<Finding>) -> Self {
        Self {
            findings,
            ..Self::new(ReportState::Whole)
        }
    }

    pub fn absent() -> Self {
        Self::new(ReportState::Absent)
    }
}

impl<'a> Reading<'a> {
    pub fn new(
        gate: GateId,
        source: &'a str,
        invocation: &'a Invocation,
        (roots, sources): (&'a Roots, &'a dyn Sources),
    ) -> Self {
        Self {
            gate,
            source,
            columns: None,
            invocation,
            locator: Locator::new(roots, sources),
        }
    }

    /// A finding without place, code and the rest; set them by struct update.
    pub fn finding(&self, severity: Severity, message: &str) -> Finding {
        Finding {
            gate: self.gate.clone(),
            source: self.source.to_owned(),
            place: None,
            severity,
            code: None,
            href: None,
            message: tidy(message, MAX_MESSAGE_BYTES),
            tags: Vec::new(),
            related: Vec::new(),
            fixes: Vec::new(),
            test: None,
            rendered: None,
        }
    }

    /// The place of `span` in the file that the tool calls `name`.
    pub fn place(&self, name: &str, columns: &Columns, span: Span) -> Option<Place> {
        let named = self.locator.find(name)?;
        Some(place(&named, columns, span))
    }

    /// The file itself: its first character.
    pub fn file(&self, named: &Named) -> Place {
        place(
            named,
            &Columns::new(super::columns::Unit::CodePoints),
            Span::File,
        )
    }

    pub fn related(&self, place: Place, message: &str) -> Related {
        Related {
            place,
            message: tidy(message, MAX_MESSAGE_BYTES),
        }
    }

    /// The first of these files that exists, tried where the tool ran and at the workspace's root.
    pub fn first_file(&self, names: &[&str]) -> Option<Rc<Named>> {
        names
            .iter()
            .filter_map(|name| self.locator.find(name))
            .find(|named| named.text.is_some())
    }

    /// A finding about the tool's own failure, at the file that is the best place for it.
    pub fn trouble(&self, anchor: Option<Place>, message: &str) -> Finding {
        Finding {
            place: anchor,
            ..self.finding(Severity::Error, message)
        }
    }

    /// Decides the outcome and puts the report together.
    pub fn report(
        &self,
        verdicts: &Verdicts<'_>,
        output: &ToolOutput,
        mut parsed: Parsed,
    ) -> GateReport {
        self.drop_stale(&mut parsed);
        let missing = missing_text(output);
        let facts = Facts {
            exit: &output.exit,
            report: if output.cut && parsed.report == ReportState::Whole {
                // What was dropped may have held more; what is left is still true.
                ReportState::CutOff
            } else {
                parsed.report
            },
            worst: parsed.findings.iter().map(|finding| finding.severity).min(),
            missing: missing.is_some() && parsed.findings.is_empty(),
            nothing: parsed.nothing,
            broken: parsed.broken || !parsed.troubles.is_empty(),
        };
        let (outcome, partial) = decide(verdicts, &facts);
        let mut notes = parsed.notes;
        let mut findings = match outcome {
            Outcome::Pass | Outcome::Fail => parsed.findings,
            // Findings of a run that failed are true, but not all: they are told, not published.
            Outcome::Error => {
                notes.extend(parsed.findings.iter().take(MAX_NOTE_LINES).map(|finding| {
                    format!("before it failed: {}: {}", finding.at(), finding.message)
                }));
                Vec::new()
            }
            Outcome::Missing | Outcome::Skipped => Vec::new(),
        };
        if outcome == Outcome::Error || outcome == Outcome::Fail {
            findings.extend(parsed.troubles);
        }
        self.explain(outcome, output, missing.as_deref(), &mut notes);
        self.finish(&mut findings, &mut notes);
        GateReport {
            gate: self.gate.clone(),
            outcome,
            partial: partial || (parsed.partial && outcome == Outcome::Fail),
            findings,
            notes,
            command: self.invocation.argv.clone(),
            duration_ms: 0,
        }
    }

    /// A file that went away between the change and the check is nobody's failure.
    fn drop_stale(&self, parsed: &mut Parsed) {
        let (stale, fresh) =
            std::mem::take(&mut parsed.findings)
                .into_iter()
                .partition(|finding| {
                    finding.place.as_ref().is_some_and(|place| {
                        place.hash.is_none() && self.locator.is_gone(&place.file)
                    })
                });
        parsed.findings = fresh;
        let stale: Vec<Finding> = stale;
        for finding in stale.iter().take(MAX_NOTE_LINES) {
            parsed
                .notes
                .push(format!("{} is gone: {}", finding.at(), finding.message));
        }
        parsed.broken |= !stale.is_empty();
    }

    fn explain(
        &self,
        outcome: Outcome,
        output: &ToolOutput,
        missing: Option<&str>,
        notes: &mut Vec<String>,
    ) {
        let program = self.invocation.argv.first().map_or("", String::as_str);
        match outcome {
            Outcome::Missing => notes.push(match missing {
                Some(text) => format!("{} is not installed: {text}", self.source),
                None => format!("`{program}` was not found"),
            }),
            Outcome::Error => {
                notes.push(match &output.exit {
                    Exit::Code(code) => {
                        format!("`{program}` ended with status {code} and no usable report")
                    }
                    Exit::Signal(signal) => format!("`{program}` was ended by signal {signal}"),
                    Exit::TimedOut { after_ms } => {
                        format!("`{program}` was stopped after {} s", after_ms / 1000)
                    }
                    Exit::NotFound => format!("`{program}` was not found"),
                    Exit::NotStarted(why) => format!("`{program}` could not be started: {why}"),
                });
                let said = excerpt(output);
                if !said.is_empty() {
                    notes.push(said);
                }
            }
            Outcome::Pass | Outcome::Fail | Outcome::Skipped => {}
        }
        if output.cut {
            notes.push("the output was too long; the rest was not read".to_owned());
        }
    }

    fn finish(&self, findings: &mut Vec<Finding>, notes: &mut Vec<String>) {
        for finding in findings.iter_mut() {
            finding.code = finding.code.take().filter(|code| !code.is_empty());
            finding.href = finding.href.take().filter(|href| !href.is_empty());
            // An empty message breaks the whole list in some editors.
            if finding.message.is_empty() {
                finding.message = finding
                    .code
                    .clone()
                    .unwrap_or_else(|| format!("{} complains without a message", self.source));
            }
            if let Some(rendered) = &mut finding.rendered {
                *rendered = tidy(rendered, MAX_RENDERED_BYTES);
            }
        }
        // The same error of one header, or of a library and its tests, is one error.
        let mut seen = HashSet::new();
        findings.retain(|finding| {
            seen.insert((
                finding.place.clone(),
                finding.code.clone(),
                finding.message.clone(),
                finding.test.clone(),
            ))
        });
        for finding in findings.iter_mut().take(WITH_LINES_AROUND) {
            self.look_around(finding);
        }
        if findings.len() > MAX_FINDINGS {
            notes.push(format!(
                "{} more findings were left out",
                findings.len() - MAX_FINDINGS
            ));
            findings.truncate(MAX_FINDINGS);
        }
    }
}

impl Reading<'_> {
    /// Adds the lines around a finding's place.
    fn look_around(&self, finding: &mut Finding) {
        let Some(place) = finding.place.as_mut().filter(|place| place.cell.is_none()) else {
            return;
        };
        let named = self.locator.find(&place.file.to_string());
        let Some(named) = named.filter(|named| named.file == place.file) else {
            return;
        };
        let Some(text) = &named.text else { return };
        if place.hash.as_ref() != Some(text.hash()) {
            return;
        }
        let line = place.range.start.line;
        for number in line.saturating_sub(LINES_AROUND)..=line.saturating_add(LINES_AROUND) {
            let Some(span) = text.line(LineRule::Universal, number as usize) else {
                break;
            };
            let mut text = text.slice(span).into_owned();
            if text.len() > MAX_LINE_BYTES {
                let mut cut = MAX_LINE_BYTES;
                while !text.is_char_boundary(cut) {
                    cut -= 1;
                }
                text.truncate(cut);
            }
            place.around.push(LineAround { line: number, text });
        }
    }
}

/// Text for people: no colours, no control characters, no white space at the ends, not endless.
pub fn tidy(text: &str, limit: usize) -> String {
    let text = if text.contains('\u{1b}') {
        anstream::adapter::strip_str(text).to_string()
    } else {
        text.to_owned()
    };
    let mut out: String = text
        .chars()
        .filter(|c| matches!(c, '\n' | '\t') || !c.is_control())
        .collect();
    if out.len() > limit {
        let mut cut = limit;
        while !out.is_char_boundary(cut) {
            cut -= 1;
        }
        out.truncate(cut);
        out.push('…');
    }
    let end = out.trim_end().len();
    out.truncate(end);
    let start = out.len() - out.trim_start().len();
    out.split_off(start)
}

/// The first lines of what the tool said, stderr before stdout.
pub fn excerpt(output: &ToolOutput) -> String {
    for stream in [&output.stderr, &output.stdout] {
        let head = stream.get(..stream.len().min(8 * 1024)).unwrap_or_default();
        let text = plain(head);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .take(MAX_NOTE_LINES)
            .collect();
        if !lines.is_empty() {
            return tidy(&lines.join("\n"), 4 * 1024);
        }
    }
    String::new()
}

/// The line that says that a tool is not there, in the words of shells and of the launchers of each language.
fn missing_text(output: &ToolOutput) -> Option<String> {
    const LINES: [&str; 14] = [
        ": No module named ",
        "npx canceled due to missing packages",
        "could not determine executable to run",
        "no such command: `",
        "is not installed for the toolchain",
        "error: Failed to spawn: `",
        "command not found",
        "is not recognized as an internal or external command",
        "This is not the tsc command you are looking for",
        "ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL",
        "couldn't find the binary",
        "Couldn't find the binary",
        "is not installed, so command",
        "does not have the binary",
    ];
    let code = output.exit.code()?;
    if code == 0 {
        return None;
    }
    let head = output
        .stderr
        .get(..output.stderr.len().min(16 * 1024))
        .unwrap_or_default();
    let text = plain(head);
    let says_so = |line: &&str| {
        LINES.iter().any(|known| line.contains(known))
            // `python -m pytest`, not a test that imports something.
            && (!line.contains("No module named") || is_launcher_line(line))
    };
    let line = text.lines().find(says_so);
    match (line, code) {
        (Some(line), _) => Some(tidy(line, 300)),
        (None, 126 | 127) => Some(tidy(text.lines().next().unwrap_or_default(), 300)),
        (None, _) => None,
    }
}

/// `/usr/bin/python3: No module named pytest`: a path to an interpreter, then the words, then one name.
fn is_launcher_line(line: &str) -> bool {
    let Some((interpreter, module)) = line.split_once(": No module named ") else {
        return false;
    };
    let name = interpreter.rsplit(['/', '\\']).next().unwrap_or_default();
    (name.starts_with("python") || name.starts_with("pypy")) && !module.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(code: i32, stderr: &str) -> ToolOutput {
        ToolOutput {
            stdout: Vec::new(),
            stderr: stderr.as_bytes().to_vec(),
            exit: Exit::Code(code),
            artifacts: Vec::new(),
            cut: false,
        }
    }

    #[test]
    fn a_missing_tool_is_told_from_a_failing_one() {
        for (code, text, want) in [
            (1, "/venv/bin/python: No module named pytest", true),
            (1, "E   ModuleNotFoundError: No module named 'x'", false),
            (127, "bash: line 1: nope: command not found", true),
            (127, "", true),
            (126, "sh: ./x: Permission denied", true),
            (101, "error: no such command: `nextest`", true),
            (
                1,
                "error: 'cargo-clippy' is not installed for the toolchain 'x'",
                true,
            ),
            (
                1,
                "npm error npx canceled due to missing packages and no YES option: [\"tsc\"]",
                true,
            ),
            (2, "error: Failed to spawn: `ruff`", true),
            (1, "ordinary trouble", false),
            (0, "command not found", false),
        ] {
            assert_eq!(missing_text(&output(code, text)).is_some(), want, "{text}");
        }
    }

    #[test]
    fn messages_are_for_people() {
        assert_eq!(tidy(" \u{1b}[31ma\u{1b}[0m\u{7}\r\n b \n", 99), "a\n b");
        assert_eq!(tidy("ééé", 3), "é…");
    }
}
