//! How each tool is told to leave one place alone: a comment of its own.

use super::Finding;

/// A comment that silences a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    pub comment: String,
    pub at: SilenceAt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SilenceAt {
    /// After what is on the line.
    EndOfLine,
    /// On a line of its own before it, as far in as the line is.
    LineBefore,
}

/// The comment for a finding; `None` where its tool has none, or where it would silence more than this rule.
pub fn of(finding: &Finding) -> Option<Silence> {
    let code = finding.code.as_deref()?;
    let end = |comment: String| {
        Some(Silence {
            comment,
            at: SilenceAt::EndOfLine,
        })
    };
    let before = |comment: String| {
        Some(Silence {
            comment,
            at: SilenceAt::LineBefore,
        })
    };
    match finding.gate.as_str() {
        // A syntax error cannot be silenced.
        "ruff" | "flake8" if is_rule(code) => end(format!("  # noqa: {code}")),
        "mypy" if code != "syntax" => end(format!("  # type: ignore[{code}]")),
        "pyright" | "basedpyright" if code.starts_with("report") => {
            end(format!("  # pyright: ignore[{code}]"))
        }
        "pylint" if code != "syntax-error" => end(format!("  # pylint: disable={code}")),
        "eslint" => before(format!("// eslint-disable-next-line {code}")),
        "oxlint" => before(format!("// oxlint-disable-next-line {}", inner(code))),
        "biome" if code.contains('/') => before(format!("// biome-ignore {code}: reason")),
        "clippy" | "cargo-check" if code.starts_with("clippy::") => {
            before(format!("#[allow({code})]"))
        }
        "tsc" => before(format!("// @ts-expect-error {code}")),
        "shellcheck" => before(format!("# shellcheck disable={code}")),
        "hadolint" => before(format!("# hadolint ignore={code}")),
        "yamllint" if code != "syntax" => end(format!("  # yamllint disable-line rule:{code}")),
        "markdownlint" => before(format!(
            "<!-- markdownlint-disable-next-line {} -->",
            code.split('/').next().unwrap_or(code)
        )),
        "luacheck" => end(format!(
            "  -- luacheck: ignore {}",
            code.trim_start_matches(|c: char| c.is_alphabetic())
        )),
        "golangci-lint" => end(format!(" //nolint:{code}")),
        _ => None,
    }
}

/// `F401`, not `invalid-syntax`.
fn is_rule(code: &str) -> bool {
    code.starts_with(|c: char| c.is_ascii_uppercase())
        && code.ends_with(|c: char| c.is_ascii_digit())
        && code != "E999"
}

/// `eslint(no-debugger)` as `no-debugger`.
fn inner(code: &str) -> &str {
    code.split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'))
        .unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::finding::Severity;
    use crate::kernel::ids::GateId;

    #[test]
    fn each_tool_has_its_own_words() {
        for (gate, code, want) in [
            ("ruff", "F401", Some("  # noqa: F401")),
            ("ruff", "invalid-syntax", None),
            (
                "mypy",
                "attr-defined",
                Some("  # type: ignore[attr-defined]"),
            ),
            (
                "oxlint",
                "eslint(no-debugger)",
                Some("// oxlint-disable-next-line no-debugger"),
            ),
            (
                "clippy",
                "clippy::needless_return",
                Some("#[allow(clippy::needless_return)]"),
            ),
            ("clippy", "E0308", None),
            (
                "markdownlint",
                "MD001/heading-increment",
                Some("<!-- markdownlint-disable-next-line MD001 -->"),
            ),
            ("pytest", "AssertionError", None),
        ] {
            let finding = Finding {
                gate: GateId::new(gate),
                source: gate.into(),
                place: None,
                severity: Severity::Error,
                code: Some(code.into()),
                href: None,
                message: "m".into(),
                tags: Vec::new(),
                related: Vec::new(),
                fixes: Vec::new(),
                test: None,
                rendered: None,
            };
            let got = of(&finding).map(|silence| silence.comment);
            assert_eq!(got.as_deref(), want, "{gate} {code}");
        }
    }
}
