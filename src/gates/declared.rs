//! Gates that a user declares: when one runs, how it is called, how its report is read.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::catalogue::{self, Tool};
use super::columns::{Columns, Tab, Unit};
use super::detect::argument;
use super::disk::slashes;
use super::kinds::Kind;
use super::locate::{Roots, Sources};
use super::outcome::Verdicts;
use super::output::{Artifact, Invocation, ToolOutput};
use super::readers::pattern::{self, Matcher};
use super::readers::{checkstyle, gcc, generic, junit, rdjson, sarif, tap};
use super::reading::{Parsed, Reading};
use super::settings::{ColumnUnit, Format, GateSettings, KindSetting, ScopeSetting};
use crate::kernel::finding::{GateReport, Severity};
use crate::kernel::ids::GateId;
use crate::kernel::path::RelPath;

/// Files named on one command line.
const MAX_FILES: usize = 1000;

/// What stands in a command for what is known only when it runs.
pub struct StandIns<'a> {
    pub root: &'a Path,
    pub scratch: &'a Path,
    /// Relative to where it runs, each safe as an argument.
    pub files: &'a [String],
}

/// When a gate of this kind runs.
pub fn kind(settings: &GateSettings) -> Kind {
    match settings.kind {
        Some(KindSetting::Types) => Kind::Types,
        Some(KindSetting::Lint) | None => Kind::Lint,
        Some(KindSetting::Layout) => Kind::Layout,
        Some(KindSetting::Tests) => Kind::Tests,
    }
}

/// The folder in which it runs.
pub fn directory(settings: &GateSettings, workspace: &Path) -> PathBuf {
    match &settings.directory {
        Some(directory) => workspace.join(directory),
        None => workspace.to_owned(),
    }
}

/// The files that it looks at, relative to where it runs; `None`: it has nothing to do with what has changed.
pub fn files(
    settings: &GateSettings,
    workspace: &Path,
    changed: &[RelPath],
) -> Option<Vec<String>> {
    let triggers = globs(&settings.triggers);
    let fits = |path: &str| settings.triggers.is_empty() || triggers.is_match(path);
    let relevant: Vec<&RelPath> = changed.iter().filter(|path| fits(path.as_str())).collect();
    if !changed.is_empty() && relevant.is_empty() {
        return None;
    }
    let by_file = settings.scope == Some(ScopeSetting::File)
        || settings.command.iter().any(|word| word == "{files}");
    if !by_file {
        return Some(Vec::new());
    }
    let folder = directory(settings, workspace);
    let relative = |path: &Path| {
        path.strip_prefix(&folder)
            .ok()
            .map(|path| argument(&slashes(path)))
    };
    let files: Vec<String> = if changed.is_empty() {
        super::detect::walker(&folder)
            .build()
            .flatten()
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
            .filter(|entry| {
                let path = entry.path().strip_prefix(workspace).map(slashes);
                path.is_ok_and(|path| fits(&path))
            })
            .filter_map(|entry| relative(entry.path()))
            .take(MAX_FILES)
            .collect()
    } else {
        let there = relevant
            .into_iter()
            .map(|path| workspace.join(path.as_str()));
        let there = there.filter(|path| path.is_file());
        there
            .filter_map(|path| relative(&path))
            .take(MAX_FILES)
            .collect()
    };
    // Every one of them is gone.
    (!files.is_empty()).then_some(files)
}

fn globs(patterns: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        // They were looked at when they were read.
        if let Ok(glob) = Glob::new(pattern) {
            set.add(glob);
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

/// The arguments, without the program.
pub fn arguments(settings: &GateSettings, stand_ins: &StandIns<'_>) -> Vec<String> {
    let mut args = Vec::new();
    for word in settings.command.iter().skip(1) {
        if word == "{files}" {
            args.extend(stand_ins.files.iter().cloned());
        } else {
            args.push(filled(word, settings, stand_ins));
        }
    }
    args
}

fn filled(word: &str, settings: &GateSettings, stand_ins: &StandIns<'_>) -> String {
    let simple = |word: &str| {
        word.replace("{tmp}", &slashes(stand_ins.scratch))
            .replace("{root}", &slashes(stand_ins.root))
    };
    match &settings.report {
        Some(report) if word.contains("{report}") => {
            simple(&word.replace("{report}", &simple(report)))
        }
        _ => simple(word),
    }
}

/// Where the tool writes its report, if it does.
pub fn report_path(
    settings: &GateSettings,
    stand_ins: &StandIns<'_>,
    cwd: &Path,
) -> Option<PathBuf> {
    let report = settings.report.as_ref()?;
    Some(cwd.join(filled(report, settings, stand_ins)))
}

/// Puts the report that a tool has written where its reader looks for it.
pub fn take_report(settings: &GateSettings, bytes: Vec<u8>, output: &mut ToolOutput) {
    let name = match settings.format {
        Some(Format::Sarif) => "report.sarif",
        Some(Format::Junit | Format::Checkstyle) => "report.xml",
        Some(Format::Auto) | None => "report",
        Some(_) => {
            output.stdout = bytes;
            return;
        }
    };
    output.artifacts.push(Artifact {
        name: name.to_owned(),
        bytes,
    });
}

/// Reads what one run of a declared gate left behind.
pub fn report(
    (name, settings): (&str, &GateSettings),
    invocation: &Invocation,
    output: &ToolOutput,
    files: (&Roots, &dyn Sources),
    workspace: &Path,
) -> GateReport {
    let known = reader(settings.format.unwrap_or(Format::Auto));
    let source = match known {
        Reader::Tool(tool) => tool.source,
        Reader::Generic(_) | Reader::Pattern => name,
    };
    let mut reading = Reading::new(GateId::new(name), source, invocation, files);
    reading.columns = columns(settings);
    let mut parsed = match known {
        Reader::Tool(tool) => (tool.read)(&reading, output),
        Reader::Generic(read) => read(&reading, output),
        Reader::Pattern => by_pattern(&reading, output, settings, workspace),
    };
    adjust(settings, &mut parsed);
    let verdicts = Verdicts {
        clean: &settings.exit.clean,
        findings: &settings.exit.findings,
        nothing: &settings.exit.nothing,
        fail_on: settings.fail_on.unwrap_or(Severity::Error),
        mild_findings_explain: settings.fail_on.is_none(),
    };
    reading.report(&verdicts, output, parsed)
}

/// Severities as the user wants them.
pub fn adjust(settings: &GateSettings, parsed: &mut Parsed) {
    if settings.severity.is_empty() {
        return;
    }
    for finding in &mut parsed.findings {
        let Some(code) = finding.code.as_deref() else {
            continue;
        };
        let fits = |pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => code.starts_with(start),
            None => code == pattern,
        };
        let chosen = settings
            .severity
            .iter()
            .filter(|(pattern, _)| fits(pattern));
        // The longest pattern knows best.
        if let Some((_, severity)) = chosen.max_by_key(|(pattern, _)| pattern.len()) {
            finding.severity = *severity;
        }
    }
}

fn by_pattern(
    reading: &Reading<'_>,
    output: &ToolOutput,
    settings: &GateSettings,
    workspace: &Path,
) -> Parsed {
    let broken = |why: String| {
        let mut parsed = Parsed::absent();
        parsed.broken = true;
        parsed.notes.push(why);
        parsed
    };
    let Some(declared) = settings
        .pattern
        .as_ref()
        .and_then(|pattern| pattern.resolve(workspace))
    else {
        return broken(format!(
            "nobody knows the pattern {:?}; it is none of VS Code's own and none of .vscode/tasks.json",
            settings.pattern
        ));
    };
    let unit = columns(settings).unwrap_or(Columns::new(Unit::Utf16));
    match Matcher::new(&declared, unit) {
        Ok(matcher) if settings.columns.is_some() => {
            pattern::read(reading, output, &matcher.measured())
        }
        Ok(matcher) => pattern::read(reading, output, &matcher),
        Err(error) => broken(format!("failed to use the pattern: {error}")),
    }
}

/// How the tool counts, if the user says anything about it.
fn columns(settings: &GateSettings) -> Option<Columns> {
    let is_said =
        settings.columns.is_some() || settings.first_column.is_some() || settings.inclusive_end;
    let unit = match settings.columns {
        Some(ColumnUnit::Bytes) => Unit::Bytes,
        Some(ColumnUnit::CodePoints) => Unit::CodePoints,
        Some(ColumnUnit::Utf16) | None => Unit::Utf16,
        Some(ColumnUnit::Display) => Unit::Display(Tab::Stops(8)),
    };
    let mut columns = Columns::new(unit).column_from(settings.first_column.unwrap_or(1));
    if settings.inclusive_end {
        columns = columns.inclusive();
    }
    is_said.then_some(columns)
}

#[derive(Clone, Copy)]
enum Reader {
    Tool(&'static Tool),
    Generic(fn(&Reading<'_>, &ToolOutput) -> Parsed),
    Pattern,
}

fn reader(format: Format) -> Reader {
    let tool =
        |name: &str| catalogue::find(name).map_or(Reader::Generic(generic::read), Reader::Tool);
    match format {
        Format::Auto => Reader::Generic(generic::read),
        Format::Sarif => Reader::Generic(sarif::read),
        Format::Junit => Reader::Generic(junit::read),
        Format::Tap => Reader::Generic(tap::read),
        Format::Rdjson | Format::Rdjsonl => Reader::Generic(rdjson::read),
        Format::Checkstyle => Reader::Generic(checkstyle::read),
        Format::Gnu => Reader::Generic(gcc::gnu),
        Format::Pattern => Reader::Pattern,
        Format::RuffJson => tool("ruff"),
        Format::MypyJson => tool("mypy"),
        Format::PyrightJson => tool("pyright"),
        Format::PylintJson => tool("pylint"),
        Format::CargoJson => tool("cargo-check"),
        Format::LibtestJson => tool("cargo-test"),
        Format::EslintJson => tool("eslint"),
        Format::OxlintJson => tool("oxlint"),
        Format::ShellcheckJson1 => tool("shellcheck"),
        Format::HadolintJson => tool("hadolint"),
        Format::MarkdownlintJson => tool("markdownlint"),
        Format::GccJson => tool("gcc"),
        Format::ClangText => tool("clang"),
        Format::GoVetJson => tool("go-vet"),
        Format::GoTestJson => tool("go-test"),
        Format::GolangciJson => tool("golangci-lint"),
        Format::JestJson => tool("jest"),
        Format::Luacheck => tool("luacheck"),
        Format::Yamllint => tool("yamllint"),
        Format::Tsc => tool("tsc"),
    }
}
