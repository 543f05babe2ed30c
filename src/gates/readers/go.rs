//! Go: `go build` and `go vet` text, `go vet -json`, `go test -json`.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json;
use super::lines::{Head, head};
use crate::gates::columns::{Columns, Unit};
use crate::gates::locate::join;
use crate::gates::outcome::ReportState;
use crate::gates::output::{ToolOutput, plain};
use crate::gates::place::{Span, place};
use crate::gates::reading::{Parsed, Reading, tidy};
use crate::gates::text::LineRule;
use crate::kernel::finding::{Applicability, Finding, Fix, FixEdit, Place, Severity};

pub const COLUMNS: Columns = Columns::new(Unit::Bytes).lines(LineRule::Lf);

/// `go build`.
pub fn build(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    compiler_text(reading, &plain(&output.stderr), &mut parsed);
    silence(output, &mut parsed);
    troubles(reading, output, &mut parsed);
    parsed
}

/// `go vet`, with and without `-json`. Up to Go 1.19 the JSON is on stderr, between lines of `#`.
pub fn vet(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    for stream in [&output.stdout, &output.stderr] {
        let (values, text) = values(stream);
        for value in values {
            match value {
                Ok(packages) => {
                    parsed.report = ReportState::Whole;
                    analyzers(reading, &packages, &mut parsed);
                }
                Err(()) => {
                    parsed.report = ReportState::CutOff;
                    return parsed;
                }
            }
        }
        compiler_text(reading, &text, &mut parsed);
    }
    silence(output, &mut parsed);
    troubles(reading, output, &mut parsed);
    parsed
}

/// Silence is how Go says that all is well.
fn silence(output: &ToolOutput, parsed: &mut Parsed) {
    if parsed.report == ReportState::Absent && output.exit.code() == Some(0) {
        parsed.report = ReportState::Whole;
    }
    let text = plain(&output.stderr);
    if text.contains("matched no packages") || text.contains("no packages to vet") {
        parsed.nothing = true;
    }
}

/// `go: …` without a place is the module's or the installation's failure.
fn troubles(reading: &Reading<'_>, output: &ToolOutput, parsed: &mut Parsed) {
    if !parsed.findings.is_empty() || output.exit.code() == Some(0) {
        return;
    }
    let text = plain(&output.stderr);
    let Some(line) = text.lines().find(|line| line.starts_with("go: ")) else {
        return;
    };
    let Some(manifest) = reading.first_file(&["go.mod"]) else {
        return;
    };
    let message = format!("{}\n{text}", line.trim_start_matches("go: "));
    parsed
        .troubles
        .push(reading.trouble(Some(reading.file(&manifest)), &message));
}

/// `path:line:column: message` under `# package`, continuation lines behind a tab.
fn compiler_text(reading: &Reading<'_>, text: &str, parsed: &mut Parsed) {
    for line in text.lines() {
        if line.starts_with('#') || line == "too many errors" {
            continue;
        }
        if line.starts_with('\t') {
            if let Some(last) = parsed.findings.last_mut() {
                last.message.push('\n');
                last.message.push_str(&tidy(line, 2048));
            }
            continue;
        }
        let line = line.strip_prefix("vet: ").unwrap_or(line);
        let Some(head) = head(line) else { continue };
        let Some(place) = text_place(reading, &head) else {
            continue;
        };
        if head.rest == "too many errors" {
            continue;
        }
        parsed.report = ReportState::Whole;
        parsed.findings.push(Finding {
            place: Some(place),
            ..reading.finding(Severity::Error, head.rest)
        });
    }
}

fn text_place(reading: &Reading<'_>, head: &Head<'_>) -> Option<Place> {
    let named = reading.locator.find(head.file)?;
    (named.text.is_some() || head.file.ends_with(".go") || head.file.ends_with(".mod"))
        .then(|| place(&named, &COLUMNS, head.span()))
}

/// Package → analyzer → findings, or an error.
type Packages = BTreeMap<String, BTreeMap<String, Box<RawValue>>>;

#[derive(Deserialize)]
struct VetItem {
    posn: String,
    #[serde(default)]
    end: Option<String>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    suggested_fixes: Vec<VetFix>,
}

#[derive(Deserialize)]
struct VetFix {
    #[serde(default)]
    message: String,
    #[serde(default)]
    edits: Vec<VetEdit>,
}

#[derive(Deserialize)]
struct VetEdit {
    filename: String,
    start: usize,
    end: usize,
    #[serde(default)]
    new: String,
}

/// The JSON objects of a stream, one after the other, and the lines that are none.
fn values(stream: &[u8]) -> (Vec<Result<Packages, ()>>, String) {
    let text = plain(stream);
    let mut rest = String::new();
    let mut json = String::new();
    let mut depth_open = false;
    for line in text.lines() {
        if !depth_open && line.starts_with('{') {
            depth_open = true;
        }
        if depth_open {
            json.push_str(line);
            json.push('\n');
            if line.starts_with('}') || (line.starts_with('{') && line.ends_with('}')) {
                depth_open = false;
            }
        } else {
            rest.push_str(line);
            rest.push('\n');
        }
    }
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_str(&json).into_iter::<Packages>() {
        let bad = value.is_err();
        values.push(value.map_err(|_| ()));
        if bad {
            break;
        }
    }
    (values, rest)
}

fn analyzers(reading: &Reading<'_>, packages: &Packages, parsed: &mut Parsed) {
    for analyzers in packages.values() {
        for (analyzer, raw) in analyzers {
            let Ok(items) = serde_json::from_str::<Vec<VetItem>>(raw.get()) else {
                // `{"error": …}`: the analyzer itself could not run.
                parsed.partial = true;
                parsed.notes.push(format!(
                    "vet's {analyzer} failed: {}",
                    tidy(raw.get(), 1000)
                ));
                continue;
            };
            for item in items {
                let finding = vet_finding(reading, analyzer, &item);
                parsed.findings.push(finding);
            }
        }
    }
}

fn vet_finding(reading: &Reading<'_>, analyzer: &str, item: &VetItem) -> Finding {
    let start = super::rustc_text::file_line_column(&item.posn);
    let end = item
        .end
        .as_deref()
        .and_then(super::rustc_text::file_line_column);
    let place = start.and_then(|(file, line, column)| {
        let span = match end {
            Some((_, end_line, end_column)) if end_column > 0 => Span::Exact {
                start: (line, column),
                end: (end_line, end_column),
            },
            Some(_) | None if column > 0 => Span::Start(line, column),
            Some(_) | None => Span::Line(line),
        };
        reading.place(file, &COLUMNS, span)
    });
    let fixes = item
        .suggested_fixes
        .iter()
        .filter_map(|fix| {
            let edits: Option<Vec<FixEdit>> = fix
                .edits
                .iter()
                .map(|edit| {
                    let named = reading.locator.find(&edit.filename)?;
                    let bom = named.text.as_ref()?.bom_len();
                    let span =
                        Span::Bytes(edit.start.saturating_sub(bom), edit.end.saturating_sub(bom));
                    Some(FixEdit {
                        place: place_in(&named, span),
                        new_text: edit.new.clone(),
                    })
                })
                .collect();
            Some(Fix {
                title: fix.message.clone(),
                applicability: Applicability::Suggestion,
                edits: edits.filter(|edits| !edits.is_empty())?,
            })
        })
        .collect();
    Finding {
        place,
        code: Some(analyzer.to_owned()),
        href: Some(format!(
            "https://pkg.go.dev/golang.org/x/tools/go/analysis/passes/{analyzer}"
        )),
        fixes,
        ..reading.finding(Severity::Warning, &item.message)
    }
}

fn place_in(named: &crate::gates::locate::Named, span: Span) -> Place {
    place(named, &COLUMNS, span)
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: Option<String>,
    #[serde(default)]
    import_path: Option<String>,
    #[serde(default)]
    test: Option<String>,
    #[serde(default)]
    output: Option<String>,
}

/// `go test -json`, and `go test`'s text when there is no JSON.
pub fn test(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let mut parsed = Parsed::absent();
    let mut said: HashMap<(String, String), String> = HashMap::new();
    let mut failed: Vec<(String, String)> = Vec::new();
    let mut build = String::new();
    for event in json::lines::<Event>(&output.stdout) {
        let Ok(event) = event else { continue };
        parsed.report = ReportState::Whole;
        let key = (
            event.package.clone().unwrap_or_default(),
            event.test.clone().unwrap_or_default(),
        );
        match event.action.as_str() {
            "output" => said
                .entry(key)
                .or_default()
                .push_str(event.output.as_deref().unwrap_or_default()),
            "build-output" => build.push_str(event.output.as_deref().unwrap_or_default()),
            "fail" => failed.push(key),
            _ => {}
        }
        let _ = event.import_path;
    }
    if parsed.report == ReportState::Absent {
        let text = plain(&output.stdout);
        text_blocks(&text, &mut said, &mut failed);
        if !said.is_empty() || text.lines().any(|line| line.starts_with("ok ")) {
            parsed.report = ReportState::Whole;
        }
    }
    compiler_text(reading, &build, &mut parsed);
    compiler_text(reading, &plain(&output.stderr), &mut parsed);
    let module = module_of(reading);
    for (package, test) in &failed {
        let text = said
            .get(&(package.clone(), test.clone()))
            .map_or("", String::as_str);
        let is_parent = failed
            .iter()
            .any(|(other, name)| other == package && name.starts_with(&format!("{test}/")));
        if test.is_empty() || is_parent {
            // A package fails through its tests, or through a panic outside of them.
            if test.is_empty()
                && !failed
                    .iter()
                    .any(|(other, name)| other == package && !name.is_empty())
            {
                compiler_text(reading, text, &mut parsed);
                if let Some(finding) = panic(reading, text, None) {
                    parsed.findings.push(finding);
                }
            }
            continue;
        }
        let folder = module
            .as_ref()
            .and_then(|(module, root)| package_folder(package, module, root));
        failures(reading, (test, text), folder.as_deref(), &mut parsed);
    }
    if parsed.findings.is_empty()
        && output.exit.code() == Some(0)
        && parsed.report == ReportState::Whole
    {
        parsed.nothing = said.values().all(|text| text.contains("[no test files]"));
    }
    silence(output, &mut parsed);
    troubles(reading, output, &mut parsed);
    parsed
}

/// `--- FAIL: Name (0.00s)` and the lines below it.
fn text_blocks(
    text: &str,
    said: &mut HashMap<(String, String), String>,
    failed: &mut Vec<(String, String)>,
) {
    let mut current: Option<(String, String)> = None;
    for line in text.lines() {
        if let Some(rest) = line.trim_start().strip_prefix("--- FAIL: ") {
            let name = rest.split(" (").next().unwrap_or(rest).to_owned();
            let key = (String::new(), name);
            failed.push(key.clone());
            said.entry(key.clone()).or_default();
            current = Some(key);
        } else if line.starts_with("FAIL") || line.starts_with("ok ") || line.starts_with("--- ") {
            current = None;
        } else if let Some(key) = &current
            && let Some(block) = said.get_mut(key)
        {
            block.push_str(line);
            block.push('\n');
        }
    }
}

/// Module path and its folder.
fn module_of(reading: &Reading<'_>) -> Option<(String, String)> {
    let named = reading.first_file(&["go.mod"])?;
    let text = named.text.as_ref()?;
    let body = text.slice(0..text.body().len());
    let module = body
        .lines()
        .find_map(|line| line.trim().strip_prefix("module "))?;
    let root = crate::gates::locate::parent(&named.absolute).to_owned();
    Some((module.trim().trim_matches('"').to_owned(), root))
}

fn package_folder(package: &str, module: &str, root: &str) -> Option<String> {
    let rest = package.strip_prefix(module)?;
    match rest.strip_prefix('/') {
        Some(inner) => Some(join(root, inner)),
        None => rest.is_empty().then(|| root.to_owned()),
    }
}

/// `    file_test.go:12: message`, relative to the package; more lines of the message are indented deeper.
fn failures(
    reading: &Reading<'_>,
    (test, text): (&str, &str),
    folder: Option<&str>,
    parsed: &mut Parsed,
) {
    let before = parsed.findings.len();
    let bases: Vec<&str> = folder.into_iter().collect();
    let mut depth = 0;
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let body = line.trim_start();
        if body.starts_with("=== ") || body.starts_with("--- ") {
            depth = 0;
            continue;
        }
        if indent > 0
            && let Some(head) = head(body)
            && head.file.ends_with(".go")
            && (depth == 0 || indent <= depth)
        {
            let named = reading.locator.find_from(&bases, head.file);
            depth = indent;
            parsed.findings.push(Finding {
                place: named.map(|named| place(&named, &COLUMNS, head.span())),
                code: Some("test-failed".to_owned()),
                test: Some(test.to_owned()),
                ..reading.finding(Severity::Error, head.rest)
            });
        } else if depth > 0
            && indent > depth
            && let Some(last) = parsed.findings.last_mut()
        {
            if !last.message.is_empty() {
                last.message.push('\n');
            }
            last.message.push_str(&tidy(body, 4096));
        }
    }
    if parsed.findings.len() == before {
        let finding = panic(reading, text, Some(test)).unwrap_or_else(|| Finding {
            place: definition(reading, test, folder),
            code: Some("test-failed".to_owned()),
            test: Some(test.to_owned()),
            rendered: Some(text.to_owned()),
            ..reading.finding(Severity::Error, &format!("{test} failed"))
        });
        parsed.findings.push(finding);
    }
}

/// `panic: message` and the first frame of the project: `\t/path/file.go:12 +0x1d`.
fn panic(reading: &Reading<'_>, text: &str, test: Option<&str>) -> Option<Finding> {
    let message = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("panic: "))?;
    let message = message.split(" [recovered]").next().unwrap_or(message);
    let place = text.lines().find_map(|line| {
        let at = line.strip_prefix('\t')?.split(' ').next()?;
        let (file, line) = at.rsplit_once(':')?;
        let named = reading.locator.find(file)?;
        (reading.locator.is_own(&named) && named.text.is_some())
            .then(|| {
                line.parse()
                    .ok()
                    .map(|line| place(&named, &COLUMNS, Span::Line(line)))
            })
            .flatten()
    });
    Some(Finding {
        place,
        code: Some("panic".to_owned()),
        test: test.map(str::to_owned),
        rendered: Some(text.to_owned()),
        ..reading.finding(Severity::Error, message)
    })
}

/// `func TestName(`, in the package's folder.
fn definition(reading: &Reading<'_>, test: &str, folder: Option<&str>) -> Option<Place> {
    let name = test.split('/').next().unwrap_or(test);
    let wanted = format!("func {name}(");
    let files = reading.locator.files();
    files
        .iter()
        .filter(|file| file.ends_with("_test.go"))
        .filter_map(|file| reading.locator.find(file))
        .filter(|named| {
            folder.is_none_or(|folder| crate::gates::locate::parent(&named.absolute) == folder)
        })
        .find_map(|named| {
            let text = named.text.as_ref()?;
            let at = text
                .body()
                .windows(wanted.len())
                .position(|window| window == wanted.as_bytes())?;
            let start = at + "func ".len();
            Some(place(
                &named,
                &COLUMNS,
                Span::Bytes(start, start + name.len()),
            ))
        })
}

#[derive(Deserialize)]
struct Lint {
    #[serde(rename = "Issues")]
    issues: Option<Vec<Box<RawValue>>>,
    #[serde(rename = "Report", default)]
    report: Option<LintReport>,
}

#[derive(Deserialize)]
struct LintReport {
    #[serde(rename = "Error", default)]
    error: Option<String>,
    #[serde(rename = "Warnings", default)]
    warnings: Option<Vec<LintWarning>>,
}

#[derive(Deserialize)]
struct LintWarning {
    #[serde(rename = "Text", default)]
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct LintIssue {
    #[serde(default)]
    from_linter: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    severity: String,
    pos: LintPos,
    #[serde(default)]
    line_range: Option<LintRange>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct LintPos {
    #[serde(default)]
    filename: String,
    #[serde(default)]
    line: i64,
    #[serde(default)]
    column: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct LintRange {
    from: i64,
    to: i64,
}

/// golangci-lint's JSON of both major releases.
pub fn golangci(reading: &Reading<'_>, output: &ToolOutput) -> Parsed {
    let report = match json::find::<Lint>(&output.stdout) {
        json::Found::Whole(report) => report,
        json::Found::CutOff => return Parsed::new(ReportState::CutOff),
        json::Found::Absent => {
            let mut parsed = Parsed::absent();
            let text = plain(&output.stderr);
            if text.contains("can't load config") {
                parsed.troubles.push(super::lines::config_trouble(
                    reading,
                    output,
                    text.trim(),
                    &[
                        ".golangci.yml",
                        ".golangci.yaml",
                        ".golangci.toml",
                        ".golangci.json",
                    ],
                ));
            }
            parsed.nothing = text.contains("no go files to analyze");
            return parsed;
        }
    };
    let raw = report.issues.unwrap_or_default();
    let (issues, lost) = json::items::<LintIssue>(&raw);
    let mut parsed = Parsed::whole(Vec::new());
    parsed.notes.extend(json::lost_note(lost));
    for issue in issues {
        let span = match (issue.pos.line, issue.pos.column, &issue.line_range) {
            (line, column, _) if line > 0 && column > 0 => Span::Start(line, column),
            (line, ..) if line > 0 => Span::Line(line),
            (_, _, Some(range)) if range.from > 0 && range.to >= range.from => {
                Span::Line(range.from)
            }
            _ => Span::File,
        };
        parsed.findings.push(Finding {
            place: reading.place(&issue.pos.filename, &COLUMNS, span),
            code: Some(issue.from_linter.clone()),
            href: (issue.from_linter != "typecheck").then(|| {
                format!(
                    "https://golangci-lint.run/docs/linters/configuration/#{}",
                    issue.from_linter
                )
            }),
            ..reading.finding(
                super::lines::severity(&issue.severity).unwrap_or(Severity::Error),
                &issue.text,
            )
        });
    }
    if let Some(report) = report.report {
        for warning in report.warnings.unwrap_or_default() {
            parsed.notes.push(tidy(&warning.text, 500));
        }
        if let Some(error) = report.error.filter(|error| !error.is_empty()) {
            parsed.broken = true;
            parsed.notes.push(tidy(&error, 2000));
        }
    }
    parsed
}
