//! What users set about gates: rules for all of them, and each gate by its name.
//!
//! Mistakes are found while a value is read, so that whoever reads the file can say on which line they stand.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::readers::pattern::{self, Declared, Matcher};
use crate::kernel::finding::Severity;

/// Each gate's own settings, by its name.
pub type NamedGates = BTreeMap<String, GateSettings>;

/// Rules for all gates.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GatesSettings {
    /// Which files are checked when they are saved outside of a run.
    #[serde(alias = "on_save")]
    pub on_save: OnSave,
    /// Gates, or sources of findings, that the editor's own language servers show already: `cargo-check`, `Pyright`. They are
    /// run and told to the model, and not shown twice.
    pub dedupe: Vec<String>,
}

/// Which files are checked when they are saved outside of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnSave {
    /// Files on which findings are shown, so that these go when they are fixed.
    #[default]
    Findings,
    /// Every file that a gate looks at.
    Always,
    /// None.
    Never,
}

/// One gate: what is different about a known one, or everything about one of your own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GateSettings {
    /// Whether it runs. A known gate that is not set runs where the project shows that it uses the tool.
    pub enabled: Option<bool>,
    /// Program and arguments, no shell. `{files}` stands for the files, `{report}` for the report's path, `{tmp}` for a
    /// folder of its own, `{root}` for the workspace.
    pub command: Vec<String>,
    /// Where the program of a known gate lies.
    pub path: Option<String>,
    /// Arguments added to those of a known gate.
    pub args_extra: Vec<String>,
    /// How the report is read.
    pub format: Option<Format>,
    /// For the format `pattern`: a name (`$gcc`, `$tsc`, one of `.vscode/tasks.json`), or expressions in the form of a
    /// `problemMatcher`.
    #[schemars(schema_with = "anything")]
    pub pattern: Option<Pattern>,
    /// A file to which the tool writes its report, with the stand-ins of `command`.
    pub report: Option<String>,
    /// What a column is.
    pub columns: Option<ColumnUnit>,
    /// The number of the first column, 1 where it is not set.
    pub first_column: Option<i64>,
    /// Whether an end column names the last character rather than the one after it.
    pub inclusive_end: bool,
    /// Whether it checks single files or the whole project.
    pub scope: Option<ScopeSetting>,
    /// Files that make it run, as globs. Not set: all.
    pub triggers: Vec<String>,
    /// What it verifies, which says when it runs.
    pub kind: Option<KindSetting>,
    /// What the tool's exit statuses mean.
    pub exit: ExitSettings,
    /// The least severe finding that fails the gate.
    pub fail_on: Option<Severity>,
    /// Severities by code, `*` at the end for all that begin so: `{ "E5*" = "information" }`.
    pub severity: BTreeMap<String, Severity>,
    /// The longest it may take, such as `60s` or `5m`.
    pub timeout: Option<Seconds>,
    /// The folder in which it runs, relative to the workspace.
    pub directory: Option<String>,
    /// Variables for its process.
    pub env: BTreeMap<String, String>,
}

/// The same fields before it was looked whether they fit together.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[derive(Default)]
struct AsWritten {
    enabled: Option<bool>,
    command: Vec<String>,
    path: Option<String>,
    #[serde(alias = "args_extra")]
    args_extra: Vec<String>,
    format: Option<Format>,
    pattern: Option<Pattern>,
    report: Option<String>,
    columns: Option<ColumnUnit>,
    #[serde(alias = "first_column")]
    first_column: Option<i64>,
    #[serde(alias = "inclusive_end")]
    inclusive_end: bool,
    scope: Option<ScopeSetting>,
    triggers: Vec<Glob>,
    kind: Option<KindSetting>,
    exit: ExitSettings,
    #[serde(alias = "fail_on")]
    fail_on: Option<Severity>,
    severity: BTreeMap<String, Severity>,
    timeout: Option<Seconds>,
    directory: Option<String>,
    env: BTreeMap<String, String>,
}

impl<'de> Deserialize<'de> for GateSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = AsWritten::deserialize(deserializer)?;
        Self::try_from(written).map_err(de::Error::custom)
    }
}

impl TryFrom<AsWritten> for GateSettings {
    type Error = String;

    fn try_from(written: AsWritten) -> Result<Self, String> {
        let is_own = !written.command.is_empty();
        if is_own && written.command.first().is_none_or(String::is_empty) {
            return Err("the command names no program".to_owned());
        }
        if is_own && written.path.is_some() {
            return Err(
                "`path` is for known gates; a gate with a command names its program there"
                    .to_owned(),
            );
        }
        if is_own && !written.args_extra.is_empty() {
            return Err(
                "`argsExtra` is for known gates; put the arguments into `command`".to_owned(),
            );
        }
        match (&written.format, &written.pattern) {
            (Some(Format::Pattern), None) => {
                return Err(
                    "the format `pattern` needs a `pattern`: a name, or a table with `regexp`"
                        .to_owned(),
                );
            }
            (Some(format), Some(_)) if *format != Format::Pattern => {
                return Err("`pattern` goes with format = \"pattern\" only".to_owned());
            }
            _ => {}
        }
        let needs = [
            (
                written.format.is_some() || written.pattern.is_some(),
                "format",
            ),
            (written.report.is_some(), "report"),
        ];
        if let Some((_, name)) = needs.iter().find(|(set, _)| *set && !is_own) {
            return Err(format!(
                "`{name}` goes with a `command` only: a list of the program and its arguments"
            ));
        }
        if let Some(directory) = &written.directory
            && (std::path::Path::new(directory).is_absolute()
                || directory.split(['/', '\\']).any(|name| name == ".."))
        {
            return Err("`directory` has to lie in the workspace".to_owned());
        }
        Ok(Self {
            enabled: written.enabled,
            command: written.command,
            path: written.path,
            args_extra: written.args_extra,
            format: written.format,
            pattern: written.pattern,
            report: written.report,
            columns: written.columns,
            first_column: written.first_column,
            inclusive_end: written.inclusive_end,
            scope: written.scope,
            triggers: written.triggers.into_iter().map(|glob| glob.0).collect(),
            kind: written.kind,
            exit: written.exit,
            fail_on: written.fail_on,
            severity: written.severity,
            timeout: written.timeout,
            directory: written.directory,
            env: written.env,
        })
    }
}

/// How a report is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Seen from its beginning.
    Auto,
    Sarif,
    Junit,
    Tap,
    Rdjson,
    Rdjsonl,
    Checkstyle,
    /// Lines like GCC's: `file:line:column: error: message`.
    Gnu,
    /// Expressions of your own.
    Pattern,
    RuffJson,
    MypyJson,
    PyrightJson,
    PylintJson,
    CargoJson,
    LibtestJson,
    EslintJson,
    OxlintJson,
    #[serde(rename = "shellcheck-json1")]
    ShellcheckJson1,
    HadolintJson,
    MarkdownlintJson,
    GccJson,
    ClangText,
    GoVetJson,
    GoTestJson,
    GolangciJson,
    JestJson,
    Luacheck,
    Yamllint,
    Tsc,
}

/// What a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ColumnUnit {
    Bytes,
    #[serde(alias = "utf32", alias = "code-points")]
    CodePoints,
    Utf16,
    /// Cells of a terminal, tabs to the next multiple of 8.
    Display,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScopeSetting {
    File,
    Project,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KindSetting {
    Types,
    Lint,
    Layout,
    Tests,
}

/// What exit statuses mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ExitSettings {
    pub clean: Vec<i32>,
    pub findings: Vec<i32>,
    /// There was nothing to check.
    pub nothing: Vec<i32>,
}

impl Default for ExitSettings {
    fn default() -> Self {
        Self {
            clean: vec![0],
            findings: vec![1, 2],
            nothing: Vec::new(),
        }
    }
}

/// A time in words: `60s`, `5m`, `1500ms`; a number is seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "String")]
pub struct Seconds(pub Duration);

impl From<Seconds> for String {
    fn from(time: Seconds) -> Self {
        format!("{}ms", time.0.as_millis())
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"60s\" or \"5m\"")
            }

            fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Seconds, E> {
                Ok(Seconds(Duration::from_secs(seconds)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Seconds, E> {
                let digits = text
                    .trim()
                    .trim_end_matches(|c: char| c.is_ascii_alphabetic());
                let unit = text.trim().get(digits.len()..).unwrap_or_default();
                let number: Result<u64, _> = digits.trim().parse();
                let scale = match unit {
                    "ms" => Some(1),
                    "s" | "" => Some(1000),
                    "m" | "min" => Some(60_000),
                    "h" => Some(3_600_000),
                    _ => None,
                };
                match (number, scale) {
                    (Ok(number), Some(scale)) => {
                        Ok(Seconds(Duration::from_millis(number.saturating_mul(scale))))
                    }
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Words)
    }
}

/// A glob that was looked at.
struct Glob(String);

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        globset::Glob::new(&text)
            .map_err(|error| de::Error::custom(format!("this is no glob: {error}")))?;
        Ok(Self(text))
    }
}

/// Expressions, or the name of some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Pattern {
    Named(String),
    Declared(Vec<Declared>),
}

fn anything(_: &mut SchemaGenerator) -> Schema {
    Schema::default()
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyForm;
        impl<'de> Visitor<'de> for AnyForm {
            type Value = Pattern;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a pattern's name, or a table or a list of tables with `regexp`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Pattern, E> {
                Ok(Pattern::Named(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Pattern, A::Error> {
                let one = Declared::deserialize(de::value::MapAccessDeserializer::new(map))?;
                checked(vec![one])
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Pattern, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                checked(all)
            }
        }
        fn checked<E: de::Error>(all: Vec<Declared>) -> Result<Pattern, E> {
            let columns = super::columns::Columns::new(super::columns::Unit::CodePoints);
            Matcher::new(&all, columns).map_err(|error| E::custom(error.to_string()))?;
            Ok(Pattern::Declared(all))
        }
        deserializer.deserialize_any(AnyForm)
    }
}

impl Pattern {
    /// The expressions. `None`: nobody knows the name.
    pub fn resolve(&self, workspace: &std::path::Path) -> Option<Vec<Declared>> {
        match self {
            Self::Declared(all) => Some(all.clone()),
            Self::Named(name) => {
                Matcher::named(name).or_else(|| pattern::of_tasks(workspace, name))
            }
        }
    }
}

/// Reads an expression's text, and refuses what is none.
pub fn regexp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    pattern::compile(&text).map_err(|error| de::Error::custom(error.to_string()))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(value: serde_json::Value) -> String {
        serde_path_to_error::deserialize::<_, GateSettings>(value)
            .map_err(|error| format!("{}: {}", error.path(), error.inner()))
            .unwrap_err()
    }

    #[test]
    fn mistakes_say_what_to_write_instead() {
        for (value, want) in [
            (
                json!({"command": ["x"], "format": "sarf"}),
                "format: unknown variant `sarf`",
            ),
            (
                json!({"command": ["x"], "format": "pattern"}),
                "needs a `pattern`",
            ),
            (
                json!({"command": ["x"], "format": "sarif", "pattern": "$gcc"}),
                "goes with format",
            ),
            (json!({"format": "sarif"}), "goes with a `command`"),
            (json!({"command": "x"}), "command: invalid type: string"),
            (json!({"command": [""]}), "names no program"),
            (
                json!({"command": ["x"], "directory": "../y"}),
                "has to lie in the workspace",
            ),
            (
                json!({"command": ["x"], "triggers": ["a["]}),
                "triggers[0]: this is no glob",
            ),
            (
                json!({"command": ["x"], "timeout": "5 parsecs"}),
                "timeout: invalid value",
            ),
            (
                json!({"command": ["x"], "comand": 1}),
                "unknown field `comand`",
            ),
            (
                json!({"command": ["x"], "format": "pattern", "pattern": [{"regexp": "(", "file": 1}]}),
                "pattern[0].regexp: `(` is not a regular expression",
            ),
            (
                json!({"command": ["x"], "format": "pattern", "pattern": {"regexp": "(x)", "message": 1}}),
                "no pattern names a group for the file",
            ),
        ] {
            let said = error(value);
            assert!(said.contains(want), "{said} has no {want}");
        }
    }

    #[test]
    fn both_spellings_and_all_times() {
        let read = |value| serde_json::from_value::<GateSettings>(value).unwrap();
        let gate = read(json!({"args_extra": ["--preview"], "timeout": "2m"}));
        assert_eq!(
            gate,
            read(json!({"argsExtra": ["--preview"], "timeout": 120}))
        );
        let again = serde_json::to_value(&gate).unwrap();
        assert_eq!(read(again), gate, "what is written can be read");
        let named = read(
            json!({"command": ["make"], "format": "pattern", "pattern": "$gcc", "columns": "bytes"}),
        );
        assert!(
            named
                .pattern
                .unwrap()
                .resolve(std::path::Path::new("/"))
                .is_some()
        );
    }
}
