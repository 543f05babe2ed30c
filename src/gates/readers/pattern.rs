//! Patterns in the shape of VS Code's `problemMatcher`: what a user declares for a tool that nobody else knows.
//!
//! The same keys and the same meaning: several patterns match consecutive lines, the last one may loop. Expressions may
//! look around, so they run with a step limit; a line that exceeds it does not match.

use std::path::Path;

use fancy_regex::{Captures, Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lines;
use crate::gates::columns::Columns;
use crate::gates::locate::Named;
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, checked, place};
use crate::gates::reading::{Parsed, Reading};
use crate::kernel::finding::{Finding, Severity};

const STEP_LIMIT: usize = 200_000;
/// Longer lines are no diagnostics.
const MAX_LINE: usize = 16 * 1024;

/// One pattern, as it is declared.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Declared {
    #[serde(deserialize_with = "crate::gates::settings::regexp")]
    pub regexp: String,
    /// `location` (the default) or `file`.
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub file: Option<usize>,
    /// `line`, `line,column` or `line,column,endLine,endColumn` in one group.
    #[serde(default)]
    pub location: Option<usize>,
    #[serde(default)]
    pub line: Option<usize>,
    #[serde(default, alias = "character")]
    pub column: Option<usize>,
    #[serde(default, alias = "end_line")]
    pub end_line: Option<usize>,
    #[serde(default, alias = "endCharacter", alias = "end_column")]
    pub end_column: Option<usize>,
    #[serde(default)]
    pub severity: Option<usize>,
    #[serde(default)]
    pub code: Option<usize>,
    #[serde(default)]
    pub message: Option<usize>,
    #[serde(default, rename = "loop")]
    pub loops: bool,
}

/// Patterns ready to run, and how their numbers count.
#[derive(Debug)]
pub struct Matcher {
    patterns: Vec<(Regex, Declared)>,
    columns: Columns,
    /// Nobody measured the tool: look whether quoted names are where they should be.
    unsure: bool,
    default_severity: Severity,
    source: Option<String>,
}

/// Why a pattern cannot be used. Completes "failed to use the pattern: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("there is no pattern")]
    Empty,
    #[error("`{0}` is not a regular expression: {1}")]
    Regexp(String, String),
    #[error("`{0}` names no group for the message")]
    NoMessage(String),
    #[error("no pattern names a group for the file")]
    NoFile,
    #[error("only the last pattern may loop")]
    Loop,
}

impl Matcher {
    /// # Errors
    /// See [`PatternError`].
    pub fn new(declared: &[Declared], columns: Columns) -> Result<Self, PatternError> {
        let mut patterns = Vec::new();
        let Some((last, before)) = declared.split_last() else {
            return Err(PatternError::Empty);
        };
        if before.iter().any(|pattern| pattern.loops) {
            return Err(PatternError::Loop);
        }
        if declared.iter().all(|pattern| pattern.file.is_none()) {
            return Err(PatternError::NoFile);
        }
        if declared.iter().all(|pattern| pattern.message.is_none())
            && last.kind.as_deref() != Some("file")
        {
            return Err(PatternError::NoMessage(last.regexp.clone()));
        }
        for pattern in declared {
            patterns.push((compile(&pattern.regexp)?, pattern.clone()));
        }
        Ok(Self {
            patterns,
            columns,
            unsure: true,
            default_severity: Severity::Error,
            source: None,
        })
    }

    /// The severity of matches that name none.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.default_severity = severity;
        self
    }

    /// The columns of this tool are known for sure.
    #[must_use]
    pub fn measured(mut self) -> Self {
        self.unsure = false;
        self
    }

    #[must_use]
    pub fn source(mut self, source: &str) -> Self {
        self.source = Some(source.to_owned());
        self
    }

    /// One of VS Code's own: `$tsc`, `$gcc`, `$eslint-stylish`, `$eslint-compact`, `$go`, `$rustc`, `$msCompile`.
    pub fn named(name: &str) -> Option<Vec<Declared>> {
        let one = |regexp: &str, groups: [Option<usize>; 6]| {
            let [file, line, column, severity, code, message] = groups;
            vec![Declared {
                regexp: regexp.to_owned(),
                file,
                line,
                column,
                severity,
                code,
                message,
                ..Declared::empty()
            }]
        };
        let stylish = || {
            vec![
                Declared {
                    regexp: r"^((?:[a-zA-Z]:)?[^\s].*)$".to_owned(),
                    kind: Some("location".to_owned()),
                    file: Some(1),
                    ..Declared::empty()
                },
                Declared {
                    regexp: r"^\s+(\d+):(\d+)\s+(error|warning|info)\s+(.+?)(?:\s\s+(\S+))?$"
                        .to_owned(),
                    line: Some(1),
                    column: Some(2),
                    severity: Some(3),
                    message: Some(4),
                    code: Some(5),
                    loops: true,
                    ..Declared::empty()
                },
            ]
        };
        Some(match name {
            "$gcc" => one(
                r"^(.*?):(\d+):(\d*):?\s+(?:fatal\s+)?(warning|error):\s+(.*)$",
                [Some(1), Some(2), Some(3), Some(4), None, Some(5)],
            ),
            "$tsc" => one(
                r"^([^\s].*)[\(:](\d+)[,:](\d+)(?:\):\s+|\s+-\s+)(error|warning|info)\s+(TS\d+)\s*:\s*(.*)$",
                [Some(1), Some(2), Some(3), Some(4), Some(5), Some(6)],
            ),
            "$msCompile" => one(
                r"^(?:\s*\d+>)?(\S.*?)\((\d+)(?:,(\d+))?(?:,\d+,\d+)?\)\s*:\s+(?:\S+\s+)?(error|warning|info)\s+(\w+\d+)\s*:\s*(.*)$",
                [Some(1), Some(2), Some(3), Some(4), Some(5), Some(6)],
            ),
            "$go" => one(
                r"^([^:\s][^:]*\.go):(\d+):(?:(\d+):)?\s+(?:(warning|error):\s+)?(.*)$",
                [Some(1), Some(2), Some(3), Some(4), None, Some(5)],
            ),
            "$eslint-compact" => one(
                r"^(.+):\sline\s(\d+),\scol\s(\d+),\s(Error|Warning|Info)\s-\s(.+?)(?:\s\((.+)\))?$",
                [Some(1), Some(2), Some(3), Some(4), Some(6), Some(5)],
            ),
            "$eslint-stylish" => stylish(),
            "$rustc" => vec![
                Declared {
                    regexp: r"^(warning|warn|error)(?:\[(.*?)\])?: (.*)$".to_owned(),
                    severity: Some(1),
                    code: Some(2),
                    message: Some(3),
                    ..Declared::empty()
                },
                Declared {
                    regexp: r"^[\s->=]*(.*?):(\d*):(\d*)\s*$".to_owned(),
                    file: Some(1),
                    line: Some(2),
                    column: Some(3),
                    ..Declared::empty()
                },
            ],
            _ => return None,
        })
    }

    /// The findings of a text, and whether anything matched.
    pub fn run(&self, reading: &Reading<'_>, bases: &[&str], text: &str) -> Vec<Finding> {
        let lines: Vec<&str> = text.lines().collect();
        let mut findings = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            match self.block(reading, bases, lines.get(at..).unwrap_or_default()) {
                Some((mut found, used)) => {
                    findings.append(&mut found);
                    at += used.max(1);
                }
                None => at += 1,
            }
        }
        findings
    }

    /// All patterns on consecutive lines from here, the last one as often as it loops.
    fn block(
        &self,
        reading: &Reading<'_>,
        bases: &[&str],
        lines: &[&str],
    ) -> Option<(Vec<Finding>, usize)> {
        let mut parts = Parts::default();
        let (last, before) = self.patterns.split_last()?;
        for (index, (regex, pattern)) in before.iter().enumerate() {
            let line = lines.get(index)?;
            parts.take(&captures(regex, line)?, pattern);
        }
        let mut used = before.len();
        let mut findings = Vec::new();
        while let Some(found) = lines.get(used).and_then(|line| captures(&last.0, line)) {
            let mut own = parts.clone();
            own.take(&found, &last.1);
            used += 1;
            findings.push(self.finding(reading, bases, &own));
            if !last.1.loops {
                break;
            }
        }
        (!findings.is_empty()).then_some((findings, used))
    }

    fn finding(&self, reading: &Reading<'_>, bases: &[&str], parts: &Parts) -> Finding {
        let message = parts.message.clone().unwrap_or_default();
        let named = parts
            .file
            .as_deref()
            .and_then(|file| reading.locator.find_from(bases, file));
        let severity = parts
            .severity
            .as_deref()
            .and_then(lines::severity)
            .unwrap_or(self.default_severity);
        Finding {
            source: self
                .source
                .clone()
                .unwrap_or_else(|| reading.source.to_owned()),
            place: named.map(|named| self.place(&named, parts, &message)),
            code: parts.code.clone(),
            ..reading.finding(severity, &message)
        }
    }

    fn place(&self, named: &Named, parts: &Parts, message: &str) -> crate::kernel::finding::Place {
        let span = if parts.whole_file {
            Span::File
        } else {
            Span::from_numbers(
                (parts.line, parts.column),
                (parts.end_line, parts.end_column),
            )
        };
        if self.unsure {
            checked(named, &self.columns, span, message)
        } else {
            place(named, &self.columns, span)
        }
    }
}

impl Declared {
    fn empty() -> Self {
        Self {
            regexp: String::new(),
            kind: None,
            file: None,
            location: None,
            line: None,
            column: None,
            end_line: None,
            end_column: None,
            severity: None,
            code: None,
            message: None,
            loops: false,
        }
    }
}

#[derive(Debug, Default, Clone)]
struct Parts {
    file: Option<String>,
    line: Option<i64>,
    column: Option<i64>,
    end_line: Option<i64>,
    end_column: Option<i64>,
    severity: Option<String>,
    code: Option<String>,
    message: Option<String>,
    whole_file: bool,
}

impl Parts {
    fn take(&mut self, found: &Captures<'_, str>, pattern: &Declared) {
        let get = |group: Option<usize>| {
            group
                .and_then(|group| found.get(group))
                .map(|text| text.as_str().trim())
                .filter(|text| !text.is_empty())
        };
        let text = |slot: &mut Option<String>, group| {
            if let Some(text) = get(group) {
                *slot = Some(text.to_owned());
            }
        };
        let number = |slot: &mut Option<i64>, group| {
            if let Some(number) = get(group).and_then(|text| text.parse().ok()) {
                *slot = Some(number);
            }
        };
        text(&mut self.file, pattern.file);
        text(&mut self.severity, pattern.severity);
        text(&mut self.code, pattern.code);
        number(&mut self.line, pattern.line);
        number(&mut self.column, pattern.column);
        number(&mut self.end_line, pattern.end_line);
        number(&mut self.end_column, pattern.end_column);
        // The words of a message may come on several lines.
        if let Some(more) = get(pattern.message) {
            self.message = Some(match self.message.take() {
                Some(before) => format!("{before}\n{more}"),
                None => more.to_owned(),
            });
        }
        if let Some(location) = get(pattern.location) {
            let numbers: Vec<Option<i64>> = location
                .split([',', ':', '.', '-'])
                .filter(|part| !part.is_empty())
                .map(|part| part.trim().parse().ok())
                .collect();
            match numbers.as_slice() {
                [line] => self.line = *line,
                [line, column] => (self.line, self.column) = (*line, *column),
                [line, column, end_line, end_column] => {
                    (self.line, self.column) = (*line, *column);
                    (self.end_line, self.end_column) = (*end_line, *end_column);
                }
                _ => {}
            }
        }
        self.whole_file |= pattern.kind.as_deref() == Some("file");
    }
}

/// # Errors
/// It is no regular expression.
pub fn compile(regexp: &str) -> Result<Regex, PatternError> {
    RegexBuilder::new(&from_javascript(regexp))
        .backtrack_limit(STEP_LIMIT)
        .build()
        .map_err(|error| PatternError::Regexp(regexp.to_owned(), error.to_string()))
}

/// The patterns of a problem matcher that the tasks of VS Code in the workspace use under this name: the matcher's own name,
/// its owner, or the label of its task.
pub fn of_tasks(workspace: &Path, name: &str) -> Option<Vec<Declared>> {
    let text = std::fs::read_to_string(workspace.join(".vscode/tasks.json")).ok()?;
    let file: Value = serde_json::from_str(&without_comments(&text)).ok()?;
    let tasks = file.get("tasks").and_then(Value::as_array);
    let matchers_of = |holder: &Value| -> Vec<Value> {
        match holder.get("problemMatcher") {
            Some(Value::Array(all)) => all.clone(),
            Some(one) => vec![one.clone()],
            None => Vec::new(),
        }
    };
    let labelled = tasks.into_iter().flatten().flat_map(|task| {
        let label = task.get("label").or_else(|| task.get("taskName"));
        let label = label.and_then(Value::as_str).unwrap_or_default();
        let named = matchers_of(task).into_iter();
        named.map(move |matcher| (label.to_owned(), matcher))
    });
    let top = matchers_of(&file)
        .into_iter()
        .map(|matcher| (String::new(), matcher));
    let name = name.strip_prefix('$').unwrap_or(name);
    labelled.chain(top).find_map(|(label, matcher)| {
        let is_called = |key: &str| matcher.get(key).and_then(Value::as_str) == Some(name);
        (label == name || is_called("name") || is_called("owner"))
            .then(|| of_matcher(&matcher))
            .flatten()
    })
}

fn of_matcher(matcher: &Value) -> Option<Vec<Declared>> {
    if let Some(name) = matcher.as_str() {
        return Matcher::named(name);
    }
    match matcher.get("pattern").or_else(|| matcher.get("base"))? {
        Value::String(name) => Matcher::named(name),
        Value::Array(all) => all
            .iter()
            .map(|one| serde_json::from_value(one.clone()).ok())
            .collect(),
        one => Some(vec![serde_json::from_value(one.clone()).ok()?]),
    }
}

/// JSON as editors write it for people: comments and commas before a closing bracket are taken out.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut in_text = false;
    while let Some(c) = letters.next() {
        match c {
            '\\' if in_text => {
                out.push(c);
                out.extend(letters.next());
                continue;
            }
            '"' => in_text = !in_text,
            '/' if !in_text && letters.peek() == Some(&'/') => {
                while letters.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            '/' if !in_text && letters.peek() == Some(&'*') => {
                letters.next();
                let mut before = ' ';
                for c in letters.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
                continue;
            }
            '}' | ']' if !in_text && out.trim_end().ends_with(',') => {
                out.truncate(out.trim_end().len() - 1);
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

/// JavaScript reads a dash after a class escape, as in `[\w-.]`, as a dash; here it has to be escaped.
fn from_javascript(regexp: &str) -> String {
    let mut out = String::with_capacity(regexp.len() + 4);
    let mut in_class = false;
    let mut letters = regexp.chars().peekable();
    while let Some(c) = letters.next() {
        out.push(c);
        match c {
            '\\' => {
                let Some(escaped) = letters.next() else { break };
                out.push(escaped);
                let is_set = matches!(escaped, 'w' | 'd' | 's' | 'W' | 'D' | 'S');
                if in_class && is_set && letters.next_if_eq(&'-').is_some() {
                    out.push_str("\\-");
                }
            }
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
    }
    out
}

fn captures<'t>(regex: &Regex, line: &'t str) -> Option<Captures<'t, str>> {
    if line.len() > MAX_LINE {
        return None;
    }
    regex.captures(line).ok().flatten()
}

/// Runs a matcher over both streams.
pub fn read(reading: &Reading<'_>, output: &ToolOutput, matcher: &Matcher) -> Parsed {
    let stdout = plain(&output.stdout);
    let folders = super::gcc::entered_folders(&stdout);
    let bases: Vec<&str> = folders.iter().map(String::as_str).collect();
    let mut findings = matcher.run(reading, &bases, &stdout);
    findings.extend(matcher.run(reading, &bases, &plain(&output.stderr)));
    let mut parsed = Parsed::absent();
    if !findings.is_empty() || output.exit.code() == Some(0) {
        parsed.report = ReportState::Whole;
    }
    parsed.findings = findings;
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::columns::Unit;

    #[test]
    fn matchers_of_vs_codes_tasks_go_by_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".vscode")).unwrap();
        let tasks = r#"{
            // of the team
            "version": "2.0.0",
            "tasks": [{
                "label": "house", "type": "shell", "command": "./lint // not a comment",
                "problemMatcher": [{ "owner": "house-rules", /* here */
                    "pattern": { "regexp": "^(.*):(\\d+) (.*)$", "file": 1, "line": 2, "message": 3, }, }],
            }, { "label": "tsc", "problemMatcher": "$tsc" }],
        }"#;
        std::fs::write(folder.path().join(".vscode/tasks.json"), tasks).unwrap();
        let columns = Columns::new(Unit::CodePoints);
        for name in ["house", "$house-rules", "tsc"] {
            let declared = of_tasks(folder.path(), name).unwrap_or_else(|| panic!("{name}"));
            assert!(Matcher::new(&declared, columns).is_ok(), "{name}");
        }
        assert!(of_tasks(folder.path(), "other").is_none());
    }

    #[test]
    fn mistakes_are_named() {
        let columns = Columns::new(Unit::CodePoints);
        let declare = |regexp: &str, file, message| Declared {
            regexp: regexp.to_owned(),
            file,
            message,
            ..Declared::empty()
        };
        let error = |declared: &[Declared]| Matcher::new(declared, columns).unwrap_err();
        assert_eq!(error(&[]), PatternError::Empty);
        assert!(matches!(
            error(&[declare("(", Some(1), Some(1))]),
            PatternError::Regexp(..)
        ));
        assert_eq!(error(&[declare("x", None, Some(1))]), PatternError::NoFile);
        assert!(matches!(
            error(&[declare("x", Some(1), None)]),
            PatternError::NoMessage(_)
        ));
        let looping = Declared {
            loops: true,
            ..declare("x", Some(1), Some(1))
        };
        assert_eq!(error(&[looping.clone(), looping]), PatternError::Loop);
        assert_eq!(from_javascript(r"[\s->]\-[\w-]"), r"[\s\->]\-[\w\-]");
        for name in [
            "$tsc",
            "$gcc",
            "$eslint-stylish",
            "$eslint-compact",
            "$go",
            "$rustc",
            "$msCompile",
        ] {
            let declared = Matcher::named(name).unwrap();
            assert!(Matcher::new(&declared, columns).is_ok(), "{name}");
        }
    }
}
