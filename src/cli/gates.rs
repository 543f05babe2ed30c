//! `outrigger gates`: a project's checks, run and read without any run of an agent.

mod formats;
mod pretty;

use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use super::output::say;
use super::words::{BAD, BOLD, DIM, GOOD, NAME, clean, styled};
use super::workspace::WorkspaceArguments;
use crate::app::check::{Checked, Checks, Listed, Unused};
use crate::kernel::finding::{GateReport, Outcome};
use crate::kernel::path::RelPath;

/// Run the project's own checks and tests, and show what they find; `list` shows which there are and why.
///
/// Ends with 0 when all is clean, with 1 when there are findings, with 2 when something could not be checked.
///
/// Examples:
///   outrigger gates                          everything that the project uses
///   outrigger gates --changed                what git calls changed
///   outrigger gates ruff mypy src/a.py       two gates, one file
///   outrigger gates list                     what was found, why, and what was not
///   outrigger gates --format sarif > gates.sarif
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// `run` (the default) or `list`, then gates by name, and files or folders.
    #[arg(value_name = "list|run|GATE|FILE")]
    words: Vec<String>,
    /// Only what git calls changed since the last commit, untracked files included.
    #[arg(long, conflicts_with = "all")]
    changed: bool,
    /// The whole project (the default when no file is named).
    #[arg(long)]
    all: bool,
    /// How findings are shown.
    #[arg(long, value_enum, default_value_t = Format::Pretty)]
    format: Format,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// With the lines around each finding.
    Pretty,
    /// One JSON object.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Commands of GitHub Actions, which become annotations.
    Github,
}

/// Trust this folder: what its outrigger.toml and its task files say, as they are now, may be run.
///
/// Holds until one of these files changes. An editor that asks about trust itself needs none of this.
///
/// Examples:
///   outrigger trust
///   outrigger trust --forget
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct TrustArguments {
    /// Take it back.
    #[arg(long)]
    forget: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

pub fn trust(arguments: &TrustArguments) -> anyhow::Result<u8> {
    let root = arguments.workspace.root()?;
    let checks = Checks::open(&root, arguments.workspace.state_dir())?;
    let root = checks.root().display().to_string();
    if arguments.forget {
        checks.distrust()?;
        say(&format!("{} is not trusted any more\n", clean(&root)))?;
        return Ok(0);
    }
    let files = checks.trust()?;
    let of = if files.is_empty() {
        String::new()
    } else {
        format!(", with {} as now", files.join(" and "))
    };
    say(&format!("{} is trusted{of}\n", clean(&root)))?;
    Ok(0)
}

pub async fn gates(arguments: &Arguments) -> anyhow::Result<u8> {
    let root = arguments.workspace.root()?;
    let checks = Checks::open(&root, arguments.workspace.state_dir())?;
    let mut words = arguments.words.as_slice();
    let mut lists = false;
    if let Some((first, rest)) = words.split_first()
        && (first == "list" || first == "run")
    {
        lists = first == "list";
        words = rest;
    }
    if lists {
        return list(&checks, arguments.format, words).await;
    }
    let wish = Wish::read(words, &checks)?;
    if arguments.changed && wish.names_files {
        bail!("name files, or say --changed, not both");
    }
    let paths = if arguments.changed {
        let changed = checks.changed()?;
        if changed.is_empty() {
            tell("nothing has changed since the last commit")?;
            return Ok(0);
        }
        changed
    } else {
        wish.files
    };
    let checked = checks.run(wish.gates, paths).await;
    for problem in &checked.problems {
        tell(&problem.to_string())?;
    }
    if let Some(why) = &checked.refusal {
        tell(&format!("nothing was run: {why}"))?;
        return Ok(2);
    }
    let text = match arguments.format {
        Format::Pretty => pretty::text(&checked.reports, checks.root()),
        Format::Json => formats::json(&checked.reports, verdict(&checked).0)?,
        Format::Sarif => formats::sarif(&checked.reports)?,
        Format::Github => formats::github(&checked.reports),
    };
    say(&text).context("failed to write to standard output")?;
    Ok(verdict(&checked).1)
}

/// In a word, and as exit code.
fn verdict(checked: &Checked) -> (&'static str, u8) {
    let any = |outcome: Outcome| {
        checked
            .reports
            .iter()
            .any(|report| report.outcome == outcome)
    };
    let is_misdeclared = checked
        .problems
        .iter()
        .any(|problem| problem.message.contains("`gate."));
    if any(Outcome::Fail) {
        ("findings", 1)
    } else if any(Outcome::Error) || any(Outcome::Missing) || is_misdeclared {
        ("incomplete", 2)
    } else if any(Outcome::Pass) {
        ("clean", 0)
    } else {
        ("unverified", 2)
    }
}

fn tell(text: &str) -> anyhow::Result<()> {
    writeln!(io::stderr(), "outrigger: {}", clean(text)).context("failed to write")
}

/// What the words of a command line mean.
struct Wish {
    gates: Vec<String>,
    files: Vec<RelPath>,
    names_files: bool,
}

impl Wish {
    fn read(words: &[String], checks: &Checks) -> anyhow::Result<Self> {
        let known = checks.names();
        let mut wish = Self {
            gates: Vec::new(),
            files: Vec::new(),
            names_files: false,
        };
        let here = std::env::current_dir().context("failed to find the current folder")?;
        for word in words {
            if known.contains(word) {
                wish.gates.push(word.clone());
                continue;
            }
            let path = plain(&here.join(word));
            if !path.exists() {
                bail!(
                    "`{}` is no gate and no file; `outrigger gates list` shows the gates",
                    clean(word)
                );
            }
            wish.names_files = true;
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            let inside = real.strip_prefix(checks.root()).with_context(|| {
                format!("{} is not in {}", path.display(), checks.root().display())
            })?;
            if real.is_dir() {
                wish.files.extend(files_below(&real, checks.root()));
            } else {
                wish.files.extend(relative(inside));
            }
        }
        if wish.names_files && wish.files.is_empty() {
            bail!("there are no files below what you name");
        }
        Ok(wish)
    }
}

/// Without `.` and `..`, so far as names alone tell.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

fn relative(path: &Path) -> Option<RelPath> {
    let names: Option<Vec<&str>> = path
        .components()
        .map(|part| part.as_os_str().to_str())
        .collect();
    RelPath::parse(&names?.join("/")).ok()
}

fn files_below(folder: &Path, root: &Path) -> Vec<RelPath> {
    ignore::WalkBuilder::new(folder)
        .require_git(false)
        .build()
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| relative(entry.path().strip_prefix(root).ok()?))
        .collect()
}

async fn list(checks: &Checks, format: Format, words: &[String]) -> anyhow::Result<u8> {
    if let Some(word) = words.first() {
        bail!("`{}`: the list is of all gates", clean(word));
    }
    let (mut listed, unused, checked) = checks.list().await;
    listed.sort_by(|one, other| one.root.cmp(&other.root));
    for problem in &checked.problems {
        tell(&problem.to_string())?;
    }
    let text = match format {
        Format::Json => formats::list(&listed, &unused, checked.refusal.as_deref())?,
        Format::Pretty => as_text(&listed, &unused, checked.refusal.as_deref()),
        Format::Sarif | Format::Github => bail!("the list is there as `pretty` or `json`"),
    };
    say(&text).context("failed to write to standard output")?;
    Ok(0)
}

fn as_text(listed: &[Listed], unused: &[Unused], refusal: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(why) = refusal {
        text.push_str(&format!(
            "{}\n\n",
            styled(BAD, format!("Nothing is run here: {}", clean(why)))
        ));
    }
    if listed.is_empty() {
        text.push_str("Nothing shows that this project uses a gate that is known here.\n");
    }
    for gate in listed {
        let place = if gate.root.is_empty() {
            String::new()
        } else {
            format!(" in {}", clean(&gate.root))
        };
        let name = format!("{:<14}", gate.gate.as_str());
        text.push_str(&format!(
            "{}{}{place}\n",
            styled(NAME, name),
            clean(&gate.why)
        ));
        let program = match &gate.program {
            Ok(path) => styled(DIM, clean(&path.display().to_string())),
            Err(advice) => format!("{}: {}", styled(BAD, "missing"), clean(advice)),
        };
        text.push_str(&format!("{:14}{program}\n", ""));
    }
    let (there, absent): (Vec<&Unused>, Vec<&Unused>) =
        unused.iter().partition(|gate| gate.program.is_some());
    if !there.is_empty() {
        text.push_str(&format!(
            "\n{}\n",
            styled(
                BOLD,
                "Installed, and nothing shows that the project uses them:"
            )
        ));
        for gate in there {
            text.push_str(&format!(
                "  {:<14}{}\n",
                gate.gate.as_str(),
                clean(&gate.looked_for)
            ));
        }
    }
    if !absent.is_empty() {
        text.push_str(&format!(
            "\n{}\n",
            styled(DIM, "Neither installed nor used:")
        ));
        for gate in absent {
            text.push_str(&format!(
                "  {:<14}{}\n",
                gate.gate.as_str(),
                styled(DIM, clean(&gate.looked_for))
            ));
        }
    }
    text
}

/// One line about a report.
fn summary(report: &GateReport) -> String {
    let seconds = format!(
        "{}.{} s",
        report.duration_ms / 1000,
        report.duration_ms % 1000 / 100
    );
    let about = match report.outcome {
        Outcome::Pass if report.findings.is_empty() => styled(GOOD, "passed"),
        Outcome::Pass => format!(
            "{}, {}",
            styled(GOOD, "passed"),
            count(report.findings.len())
        ),
        Outcome::Fail if report.partial => styled(
            BAD,
            format!(
                "{}; not everything could be checked",
                count(report.findings.len())
            ),
        ),
        Outcome::Fail => styled(BAD, count(report.findings.len())),
        Outcome::Error => styled(BAD, "could not run"),
        Outcome::Missing => styled(BAD, "missing"),
        Outcome::Skipped => styled(DIM, "nothing to check"),
    };
    format!(
        "{}{about}  {}",
        styled(NAME, format!("{:<14}", report.gate.as_str())),
        styled(DIM, seconds)
    )
}

fn count(findings: usize) -> String {
    match findings {
        1 => "1 finding".to_owned(),
        more => format!("{more} findings"),
    }
}
