//! The tools themselves, found, run and read through the same door as the app.
//!
//! `tests/gates/install-tools` puts them into `target/tools`; where it was not run these tests say so and check nothing.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use outrigger::gates::{GateRequest, Gates, Tier};
use outrigger::kernel::finding::{Finding, GateReport, Outcome};
use outrigger::kernel::path::RelPath;

fn tools() -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools");
    let there = tools.join("py/bin/yamllint").exists()
        && tools.join("node/node_modules/.bin/vitest").exists();
    if !there {
        println!("not checked: run tests/gates/install-tools first");
    }
    there.then_some(tools)
}

struct Project {
    folder: tempfile::TempDir,
    cache: tempfile::TempDir,
}

impl Project {
    fn new(tools: &Path, files: &[(&str, &str)]) -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
            cache: tempfile::tempdir().unwrap(),
        };
        for (path, text) in files {
            let path = project.folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink(tools.join("py"), project.folder.path().join(".venv")).unwrap();
        // A folder of links: linters leave out a folder of this name, not a link.
        let modules = project.folder.path().join("node_modules");
        std::fs::create_dir(&modules).unwrap();
        for entry in std::fs::read_dir(tools.join("node/node_modules")).unwrap() {
            let entry = entry.unwrap();
            std::os::unix::fs::symlink(entry.path(), modules.join(entry.file_name())).unwrap();
        }
        project
    }

    fn names(&self) -> Vec<PathBuf> {
        let mut names: Vec<PathBuf> = ignore::WalkBuilder::new(self.folder.path())
            .standard_filters(false)
            .filter_entry(|entry| {
                entry.file_name() != "node_modules" && entry.file_name() != ".venv"
            })
            .build()
            .map(|entry| entry.unwrap().into_path())
            .collect();
        names.sort();
        names
    }

    async fn run(&self, paths: &[&str], tier: Tier) -> Vec<GateReport> {
        let before = self.names();
        let gates = Gates::new(self.folder.path().to_owned(), self.cache.path().to_owned());
        let paths = paths
            .iter()
            .map(|path| RelPath::parse(path).unwrap())
            .collect();
        let reports = gates.run(GateRequest::new(paths, tier), || {}).await;
        assert_eq!(self.names(), before, "nothing is created in the project");
        reports
    }
}

fn report<'r>(reports: &'r [GateReport], gate: &str) -> &'r GateReport {
    reports
        .iter()
        .find(|report| report.gate.as_str() == gate)
        .unwrap_or_else(|| panic!("no report of {gate} in {reports:#?}"))
}

/// `path:line:start-end code`, columns in UTF-16 from 0.
fn brief(finding: &Finding) -> String {
    let place = finding
        .place
        .as_ref()
        .unwrap_or_else(|| panic!("{finding:#?}"));
    format!(
        "{}:{}:{}-{} {}",
        place.file,
        place.range.start.line + 1,
        place.range.start.utf16,
        place.range.end.utf16,
        finding.code.as_deref().unwrap_or_default()
    )
}

fn briefs(report: &GateReport) -> Vec<String> {
    let mut briefs: Vec<String> = report.findings.iter().map(brief).collect();
    briefs.sort();
    briefs
}

#[tokio::test]
async fn python() {
    let Some(tools) = tools() else { return };
    let project = Project::new(
        &tools,
        &[
            (
                "pyproject.toml",
                "[tool.ruff.lint]\nselect = [\"F\"]\n[tool.ruff.format]\n[tool.mypy]\n[tool.basedpyright]\n[tool.pytest.ini_options]\n",
            ),
            (".flake8", "[flake8]\nselect = F\n"),
            (
                "app.py",
                "def f() -> str:\n\ts = \"é漢😀\"; return undefined_name\n",
            ),
            (
                "test_app.py",
                "def test_it():\n    s = \"é漢😀\"; assert s == \"x\", \"no\"\n",
            ),
        ],
    );
    let reports = project.run(&[], Tier::Final).await;
    let at = "app.py:2:20-34";
    for (gate, code) in [
        ("ruff", "F821"),
        ("flake8", "F821"),
        ("mypy", "name-defined"),
        ("basedpyright", "reportUndefinedVariable"),
    ] {
        let report = report(&reports, gate);
        assert_eq!(report.outcome, Outcome::Fail, "{report:#?}");
        let want = format!("{at} {code}");
        assert!(
            briefs(report).contains(&want),
            "{want}: {:#?}",
            briefs(report)
        );
    }
    let layout = report(&reports, "ruff-format");
    assert_eq!(layout.outcome, Outcome::Fail, "{layout:#?}");
    assert!(
        layout
            .findings
            .iter()
            .any(|finding| !finding.fixes.is_empty()),
        "{layout:#?}"
    );
    let tests = report(&reports, "pytest");
    assert_eq!(
        briefs(tests),
        ["test_app.py:2:23-31 AssertionError"],
        "{tests:#?}"
    );
    assert_eq!(
        tests.findings[0].test.as_deref(),
        Some("test_app.py::test_it")
    );

    // After a change only what is quick, and only that file.
    let reports = project.run(&["test_app.py"], Tier::AfterChange).await;
    assert!(
        reports
            .iter()
            .all(|report| report.gate.as_str() != "pytest")
    );
    assert_eq!(
        report(&reports, "ruff").outcome,
        Outcome::Pass,
        "{reports:#?}"
    );
}

#[tokio::test]
async fn pytest_collection() {
    let Some(tools) = tools() else { return };
    let project = Project::new(
        &tools,
        &[
            ("pytest.ini", "[pytest]\n"),
            ("test_import.py", "x = \"é\"; import no_such_module_zz\n"),
            ("test_syntax.py", "x = \"é漢😀\"; y = )\n"),
            (
                "test_fixture.py",
                "import pytest\n@pytest.fixture\ndef broken():\n    raise ValueError(\"ö\")\ndef test_a(broken): pass\ndef test_ok(): pass\n",
            ),
        ],
    );
    let reports = project.run(&[], Tier::Final).await;
    assert_eq!(
        briefs(report(&reports, "pytest")),
        [
            "test_fixture.py:4:4-25 ValueError",
            "test_import.py:1:9-33 ModuleNotFoundError",
            "test_syntax.py:1:16-17 SyntaxError",
        ],
        "{reports:#?}"
    );
}

#[tokio::test]
async fn javascript() {
    let Some(tools) = tools() else { return };
    let line = "\tconst s = \"é漢😀\"; undefinedName; debugger;\n";
    let project = Project::new(
        &tools,
        &[
            (
                "package.json",
                "{\"type\":\"module\",\"devDependencies\":{\"eslint\":\"*\",\"oxlint\":\"*\",\"vitest\":\"*\"}}",
            ),
            (
                "eslint.config.mjs",
                "export default [{rules: {\"no-undef\": 2}}];\n",
            ),
            ("biome.json", "{}"),
            (
                "tsconfig.json",
                "{\"compilerOptions\":{\"types\":[],\"skipLibCheck\":true},\"include\":[\"a.ts\"]}",
            ),
            (".prettierrc", "{}"),
            ("a.js", line),
            ("a.ts", "const s = \"é漢😀\"; const n: number = s;\n"),
            (
                "a.test.js",
                "import { test, expect } from \"vitest\";\ntest(\"t\", () => { const s = \"é漢😀\"; expect(s).toBe(1); });\n",
            ),
        ],
    );
    let reports = project
        .run(&["a.js", "a.ts", "a.test.js"], Tier::Final)
        .await;
    let has = |gate: &str, want: &str| {
        let report = report(&reports, gate);
        assert_eq!(report.outcome, Outcome::Fail, "{report:#?}");
        assert!(
            briefs(report).contains(&want.to_owned()),
            "{want}: {:#?}",
            briefs(report)
        );
    };
    has("eslint", "a.js:1:19-32 no-undef");
    has("biome", "a.js:1:34-43 lint/suspicious/noDebugger");
    has("tsc", "a.ts:1:24-25 TS2322");
    has("vitest", "a.test.js:2:46-50 AssertionError");
    has("prettier", "a.js:1:0-0 unformatted");
    let mild = report(&reports, "oxlint");
    assert_eq!(mild.outcome, Outcome::Pass, "warnings alone");
    assert!(
        briefs(mild).contains(&"a.js:1:34-43 eslint(no-debugger)".to_owned()),
        "{mild:#?}"
    );
}

#[tokio::test]
async fn a_tool_that_is_used_but_not_there_is_missing() {
    let project = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join(".oxlintrc.json"), "{}").unwrap();
    let gates = Gates::new(project.path().to_owned(), cache.path().to_owned());
    let request = GateRequest::new(Vec::new(), Tier::Final);
    let reports = gates.run(request, || {}).await;
    let missing = report(&reports, "oxlint");
    assert_eq!(missing.outcome, Outcome::Missing, "{missing:#?}");
    assert!(
        missing
            .notes
            .iter()
            .any(|note| note.contains("looked for in")),
        "{missing:#?}"
    );
    let (listed, _) = gates.list(BTreeMap::new()).await;
    assert_eq!(listed.len(), 1, "{listed:#?}");
    assert!(listed[0].why.contains(".oxlintrc.json"), "{listed:#?}");
    assert!(listed[0].program.is_err(), "{listed:#?}");
}
