//! The tools we know: how each one's report is read and judged.

use super::locate::{Roots, Sources};
use super::outcome::{ReportState, Verdicts};
use super::output::{Invocation, ToolOutput};
use super::readers::{
    biome, cargo, clang, eslint, gcc, generic, go, jest, libtest, mypy, oxlint, plain_linters,
    prettier, pylint, pyright, pytest, ruff, rustfmt, shell, tap, tsc,
};
use super::reading::{Parsed, Reading};
use super::settings::GateSettings;
use crate::kernel::finding::{GateReport, Severity};
use crate::kernel::ids::GateId;

/// What it takes to read one tool's report.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// The gate's id.
    pub name: &'static str,
    /// Shown beside the message.
    pub source: &'static str,
    pub verdicts: Verdicts<'static>,
    pub read: fn(&Reading<'_>, &ToolOutput) -> Parsed,
}

const fn tool(
    name: &'static str,
    source: &'static str,
    verdicts: Verdicts<'static>,
    read: fn(&Reading<'_>, &ToolOutput) -> Parsed,
) -> Tool {
    Tool {
        name,
        source,
        verdicts,
        read,
    }
}

const LINTER: Verdicts<'static> = Verdicts::LINTER;
const COMPILER: Verdicts<'static> = Verdicts::COMPILER;
/// pylint's status is a sum: 1 for a fatal message, 2, 4, 8 and 16 for kinds of findings, 32 for wrong usage.
const PYLINT: &[i32] = &[2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];

/// Every tool, in the order in which their findings are worth reading: syntax and types, lint, layout, tests.
pub const TOOLS: &[Tool] = &[
    tool(
        "cargo-check",
        "cargo",
        COMPILER.findings(&[101]),
        cargo::read,
    ),
    tool("clippy", "cargo", COMPILER.findings(&[101]), cargo::read),
    tool("tsc", "tsc", COMPILER.findings(&[1, 2]), tsc::read),
    tool("mypy", "mypy", COMPILER.findings(&[1, 2]), mypy::read),
    tool("pyright", "pyright", LINTER, pyright::read),
    tool("basedpyright", "basedpyright", LINTER, pyright::read),
    tool(
        "go-build",
        "go build",
        COMPILER.findings(&[1, 2]),
        go::build,
    ),
    tool(
        "go-vet",
        "go vet",
        COMPILER.findings(&[1, 2]).fail_on(Severity::Warning),
        go::vet,
    ),
    tool("gcc", "gcc", COMPILER, gcc::read),
    tool("clang", "clang", COMPILER, clang::read),
    tool("ruff", "ruff", LINTER, ruff::check),
    tool("flake8", "flake8", LINTER, pylint::flake8),
    tool("pylint", "pylint", LINTER.findings(PYLINT), pylint::pylint),
    tool("eslint", "eslint", LINTER, eslint::read),
    tool("biome", "biome", LINTER, biome::read),
    tool("oxlint", "oxlint", LINTER, oxlint::read),
    tool("golangci-lint", "golangci-lint", LINTER, go::golangci),
    tool("shellcheck", "shellcheck", LINTER, shell::shellcheck),
    tool("hadolint", "hadolint", LINTER, shell::hadolint),
    tool(
        "yamllint",
        "yamllint",
        LINTER.findings(&[1, 2]),
        plain_linters::yamllint,
    ),
    tool(
        "markdownlint",
        "markdownlint",
        LINTER,
        plain_linters::markdownlint,
    ),
    tool(
        "luacheck",
        "luacheck",
        LINTER.findings(&[1, 2]),
        plain_linters::luacheck,
    ),
    tool(
        "ruff-format",
        "ruff format",
        LINTER.findings(&[1, 2]),
        ruff::format,
    ),
    tool("rustfmt", "rustfmt", LINTER, rustfmt::read),
    tool(
        "prettier",
        "prettier",
        LINTER.findings(&[1, 2]),
        prettier::read,
    ),
    tool(
        "pytest",
        "pytest",
        LINTER.findings(&[1, 2, 4]).nothing(&[5]),
        pytest::read,
    ),
    tool(
        "cargo-test",
        "cargo test",
        COMPILER.findings(&[101]),
        libtest::read,
    ),
    tool(
        "nextest",
        "nextest",
        COMPILER.findings(&[100, 101]).nothing(&[4]),
        libtest::nextest,
    ),
    tool("go-test", "go test", COMPILER.findings(&[1, 2]), go::test),
    tool("vitest", "vitest", LINTER, jest::vitest),
    tool("jest", "jest", LINTER, jest::read),
    tool("node-test", "node --test", LINTER, tap::read),
    tool("generic", "lint", LINTER.findings(&[1, 2]), generic::read),
];

/// The tool of that name.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

impl Tool {
    /// Reads what one run left behind. Pure, but for what `files` does.
    pub fn report(
        &self,
        invocation: &Invocation,
        output: &ToolOutput,
        files: (&Roots, &dyn Sources),
    ) -> GateReport {
        self.report_as(&GateSettings::default(), invocation, output, files)
    }

    /// The same, with what the user has set about it.
    pub fn report_as(
        &self,
        settings: &GateSettings,
        invocation: &Invocation,
        output: &ToolOutput,
        files: (&Roots, &dyn Sources),
    ) -> GateReport {
        let reading = Reading::new(GateId::new(self.name), self.source, invocation, files);
        let mut parsed = (self.read)(&reading, output);
        if parsed.report == ReportState::Absent
            && !parsed.broken
            && parsed.findings.is_empty()
            && parsed.troubles.is_empty()
            && let Some(other) = generic::structured(&reading, output)
        {
            parsed = other;
        }
        super::declared::adjust(settings, &mut parsed);
        let verdicts = match settings.fail_on {
            Some(severity) => Verdicts {
                fail_on: severity,
                mild_findings_explain: false,
                ..self.verdicts
            },
            None => self.verdicts,
        };
        reading.report(&verdicts, output, parsed)
    }
}
