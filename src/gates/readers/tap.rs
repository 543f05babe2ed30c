//! TAP 13 and 14: nested subtests, YAML blocks, comments; node's own test runner speaks it.

use super::js_stack;
use crate::gates::columns::{Columns, Unit};
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading};
use crate::gates::text::LineRule;
use crate::kernel::finding::{Finding, Place, Severity};

/// A line is never nested deeper.
const MAX_DEPTH: usize = 64;

/// One `not ok`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Failure<'t> {
    /// Names of the subtests around it, outermost first, then its own.
    path: Vec<String>,
    /// Keys of the YAML block; a block scalar's lines are joined.
    yaml: Vec<(&'t str, String)>,
    /// Comment lines just before it.
    comments: Vec<&'t str>,
}

impl Failure<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.yaml
            .iter()
            .find(|(known, _)| *known == key)
            .map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Stream<'t> {
    failures: Vec<Failure<'t>>,
    points: usize,
    planned: Option<usize>,
    bailed: Option<&'t str>,
}

pub fn read(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let text = plain(&output.stdout);
    let stream = parse(&text);
    if stream.points == 0 && stream.planned.is_none() && stream.bailed.is_none() {
        return Parsed::absent();
    }
    let mut parsed = Parsed::whole(Vec::new());
    for failure in &stream.failures {
        if let Some(finding) = finding(reading, failure) {
            parsed.findings.push(finding);
        }
    }
    if let Some(why) = stream.bailed {
        parsed.broken = true;
        parsed.notes.push(format!("bail out: {why}"));
    }
    match stream.planned {
        Some(0) if stream.points == 0 => parsed.nothing = true,
        Some(planned) if planned > stream.points => {
            parsed.partial = true;
            parsed.notes.push(format!(
                "{planned} tests were planned, {} reported",
                stream.points
            ));
            if parsed.findings.is_empty() {
                parsed.broken = true;
            }
        }
        Some(_) | None => {}
    }
    if stream.planned.is_none() && parsed.findings.is_empty() && stream.bailed.is_none() {
        // Without a plan nobody knows whether it is whole.
        parsed.report = ReportState::CutOff;
    }
    parsed
}

fn parse(text: &str) -> Stream<'_> {
    let mut stream = Stream::default();
    // The names announced by `# Subtest:`, by depth.
    let mut names: Vec<String> = Vec::new();
    let mut comments: Vec<&str> = Vec::new();
    // Depth of the last point that failed, and whether its YAML block is open.
    let mut open: Option<(usize, bool)> = None;
    let mut scalar: Option<usize> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let depth = (indent / 4).min(MAX_DEPTH);
        let body = line.trim_start_matches(' ');
        if let Some((at, in_yaml)) = open {
            let block = at * 4 + 2;
            if in_yaml {
                if body == "..." && indent <= block {
                    open = None;
                    scalar = None;
                } else if let Some(failure) = stream.failures.last_mut() {
                    yaml_line(failure, line, block, &mut scalar);
                }
                continue;
            }
            if body == "---" && indent == block {
                open = Some((at, true));
                continue;
            }
            open = None;
        }
        if let Some(comment) = body.strip_prefix('#') {
            let comment = comment.strip_prefix(' ').unwrap_or(comment);
            if let Some(name) = comment.strip_prefix("Subtest: ") {
                names.truncate(depth);
                names.resize(depth, String::new());
                names.push(unescape(name));
            } else {
                comments.push(comment);
            }
            continue;
        }
        if let Some(plan) = body.strip_prefix("1..") {
            if depth == 0 {
                let digits = plan.split([' ', '#']).next().unwrap_or(plan);
                stream.planned = digits.parse().ok();
            }
            continue;
        }
        if let Some(why) = body.strip_prefix("Bail out!") {
            stream.bailed = Some(why.trim());
            continue;
        }
        let Some((ok, rest)) = point(body) else {
            continue;
        };
        if depth == 0 {
            stream.points += 1;
        }
        let (name, directive) = description(rest);
        if !ok && !directive.is_some_and(is_excused) {
            let mut path: Vec<String> = names.iter().take(depth).cloned().collect();
            path.push(name);
            stream.failures.push(Failure {
                path,
                yaml: Vec::new(),
                comments: std::mem::take(&mut comments),
            });
            open = Some((depth, false));
        }
        comments.clear();
    }
    stream
}

fn point(body: &str) -> Option<(bool, &str)> {
    let (ok, rest) = match body.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, body.strip_prefix("ok")?),
    };
    (rest.is_empty() || rest.starts_with(' ')).then_some((ok, rest))
}

/// Number, dash, name; a directive after an unescaped `#`.
fn description(rest: &str) -> (String, Option<&str>) {
    let rest = rest.trim_start();
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            '#' if !escaped => {
                let name = rest.get(..at).unwrap_or(rest).trim_end();
                return (unescape(name), rest.get(at + 1..).map(str::trim));
            }
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    (unescape(rest), None)
}

fn is_excused(directive: &str) -> bool {
    let word = directive.to_ascii_lowercase();
    word.starts_with("skip") || word.starts_with("todo")
}

fn unescape(text: &str) -> String {
    text.replace("\\#", "#").replace("\\\\", "\\")
}

fn yaml_line<'t>(
    failure: &mut Failure<'t>,
    line: &'t str,
    block: usize,
    scalar: &mut Option<usize>,
) {
    let indent = line.len() - line.trim_start_matches(' ').len();
    if let Some(from) = *scalar
        && (line.trim().is_empty() || indent > block)
    {
        // The first line decides how deep the scalar is.
        let from = if from == 0 { indent } else { from };
        *scalar = Some(from);
        if let Some((_, value)) = failure.yaml.last_mut() {
            if !value.is_empty() {
                value.push('\n');
            }
            value.push_str(line.get(from.min(line.len())..).unwrap_or_default());
        }
        return;
    }
    *scalar = None;
    let Some((key, value)) = line.trim_start().split_once(':') else {
        return;
    };
    let value = value.trim();
    if indent > block {
        // `at:` and `file:`, `line:` below it.
        let inside_at = failure
            .yaml
            .iter()
            .rev()
            .find(|(key, value)| value.is_empty() || *key == "at")
            .is_some_and(|(key, _)| *key == "at");
        if inside_at && matches!(key, "file" | "fileName" | "line" | "lineNumber" | "column") {
            failure.yaml.push((key, unquote(value)));
        }
        return;
    }
    if value.starts_with('|') || value.starts_with('>') {
        *scalar = Some(0);
        failure.yaml.push((key, String::new()));
    } else {
        failure.yaml.push((key, unquote(value)));
    }
}

fn unquote(value: &str) -> String {
    if let Some(inner) = value
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
    {
        return inner.replace("''", "'").replace("\\'", "'");
    }
    if value.starts_with('"')
        && let Ok(text) = serde_json::from_str::<String>(value)
    {
        return text;
    }
    value.to_owned()
}

fn finding(reading: &Reading<'_>, failure: &Failure<'_>) -> Option<Finding> {
    let kind = failure.get("failureType");
    // A suite that fails only through its children is no failure of its own.
    if matches!(kind, Some("subtestsFailed" | "cancelledByParent")) {
        return None;
    }
    let location = failure.get("location");
    let own_file = location.and_then(|at| super::rustc_text::file_line_column(at));
    let name = failure.path.last().map_or("", String::as_str);
    // A file that does not load is a test by its own name.
    let is_file = own_file.is_some_and(|(file, ..)| same_file(reading, file, name));
    if is_file
        && let Some(finding) =
            from_comments(reading, failure).or_else(|| not_loaded(reading, failure, name))
    {
        return Some(finding);
    }
    let frames: Vec<(&str, i64, i64)> = failure
        .get("stack")
        .unwrap_or_default()
        .lines()
        .filter_map(js_stack::frame)
        .collect();
    let (place, related) = js_stack::places(reading, &frames);
    let fallback = own_file.and_then(|(file, line, column)| {
        reading.place(file, &js_stack::V8, Span::Start(line, column))
    });
    let place = place.or(fallback).or_else(|| plain_place(reading, failure));
    let message = failure
        .get("error")
        .or_else(|| failure.get("message"))
        .filter(|text| !text.trim().is_empty())
        .unwrap_or(name);
    let mut message = message.trim_end().to_owned();
    for (key, label) in [
        ("expected", "expected"),
        ("actual", "actual"),
        ("found", "found"),
        ("wanted", "wanted"),
    ] {
        if let Some(value) = failure.get(key)
            && !message.contains(value)
        {
            message.push_str(&format!("\n{label}: {value}"));
        }
    }
    let id = failure.path.join(" > ");
    // node's own code for "a test threw" says less than what it threw.
    let code = failure
        .get("code")
        .filter(|code| *code != "ERR_TEST_FAILURE")
        .or_else(|| failure.get("name"));
    Some(Finding {
        place,
        code: code.map(str::to_owned),
        related,
        test: Some(id).filter(|_| !is_file),
        rendered: failure.get("stack").map(str::to_owned),
        ..reading.finding(Severity::Error, &message)
    })
}

fn same_file(reading: &Reading<'_>, file: &str, name: &str) -> bool {
    let (Some(one), Some(other)) = (reading.locator.find(file), reading.locator.find(name)) else {
        return false;
    };
    one.absolute == other.absolute && one.text.is_some()
}

/// `file` and `line`, `at: { file, line }` as other producers have it.
fn plain_place(reading: &Reading<'_>, failure: &Failure<'_>) -> Option<Place> {
    const COLUMNS: Columns = Columns::new(Unit::Utf16).lines(LineRule::Ecma);
    let file = failure.get("file").or_else(|| failure.get("fileName"))?;
    let line = failure
        .get("line")
        .or_else(|| failure.get("lineNumber"))
        .and_then(|line| line.parse().ok());
    let column = failure.get("column").and_then(|column| column.parse().ok());
    let span = Span::from_numbers((line, column), (None, None));
    reading.place(file, &COLUMNS, span)
}

/// `file:///path:2`, the line, the caret, `SyntaxError: …`: what node prints before the point of a file that does not load.
fn from_comments(reading: &Reading<'_>, failure: &Failure<'_>) -> Option<Finding> {
    let lines = &failure.comments;
    let (index, file, line) = lines.iter().enumerate().find_map(|(index, text)| {
        let (file, line) = text.trim().rsplit_once(':')?;
        let line: i64 = line.parse().ok()?;
        let named = reading.locator.find(file)?;
        named.text.is_some().then_some((index, named, line))
    })?;
    let caret = lines.iter().skip(index + 1).take(3).find_map(|text| {
        let column = text.find('^')?;
        text.trim().chars().all(|c| c == '^').then_some(column)
    });
    let message = lines
        .iter()
        .skip(index + 1)
        .find(|text| js_stack::split(text).name.is_some())?;
    let span = match caret.and_then(|column| i64::try_from(column + 1).ok()) {
        Some(column) => Span::Start(line, column),
        None => Span::Line(line),
    };
    Some(Finding {
        place: Some(place(&file, &js_stack::V8, span)),
        rendered: Some(lines.join("\n")),
        ..reading.finding(Severity::Error, message)
    })
}

/// `Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/path/nope.mjs' imported from …`: where the file names it.
fn not_loaded(reading: &Reading<'_>, failure: &Failure<'_>, file: &str) -> Option<Finding> {
    let message = failure
        .comments
        .iter()
        .find(|text| js_stack::split(text).name.is_some())?;
    let named = reading.locator.find(file)?;
    let wanted = crate::gates::place::quoted_names(message)
        .into_iter()
        .next()
        .map(|name| name.rsplit('/').next().unwrap_or(name));
    let line = named.text.as_ref().zip(wanted).and_then(|(text, wanted)| {
        (0..)
            .map_while(|line| text.line(LineRule::Ecma, line).map(|span| (line, span)))
            .find(|(_, span)| !wanted.is_empty() && text.slice(span.clone()).contains(wanted))
            .and_then(|(line, _)| i64::try_from(line + 1).ok())
    });
    let span = line.map_or(Span::File, Span::Line);
    Some(Finding {
        place: Some(place(&named, &js_stack::V8, span)),
        rendered: Some(failure.comments.join("\n")),
        ..reading.finding(Severity::Error, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_directives_and_yaml() {
        let text = "TAP version 14\n# Subtest: a\n    # Subtest: b \\# c\n    not ok 1 - b \\# c\n      ---\n      error: |-\n        one\n\n          two\n      code: 'it''s'\n      x: \"a\\tb\"\n      ...\n    not ok 2 - t # TODO later\n    not ok 3 - s # skip\n    1..3\nnot ok 1 - a\n1..1\n";
        let stream = parse(text);
        assert_eq!(stream.planned, Some(1));
        assert_eq!(stream.points, 1);
        let [inner, outer] = stream.failures.as_slice() else {
            panic!("{stream:#?}")
        };
        assert_eq!(inner.path, ["a", "b # c"]);
        assert_eq!(inner.get("error"), Some("one\n\n  two"));
        assert_eq!(inner.get("code"), Some("it's"));
        assert_eq!(inner.get("x"), Some("a\tb"));
        assert_eq!(outer.path, ["a"]);
    }
}
