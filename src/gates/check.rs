//! The gates of a workspace, as the app uses them: which apply, run them, read what they say.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use tokio::sync::OnceCell;

use super::catalogue::{self, TOOLS, Tool};
use super::detect::{Applies, detect};
use super::disk::{DiskSources, roots};
use super::facts::Facts;
use super::kinds::{Ask, Ecosystem, Kind};
use super::output::{Artifact, Invocation, ToolOutput};
use super::programs::{self, Found};
use super::run::{ToolCommand, run};
use super::{cargo, text};
use crate::kernel::finding::{GateReport, Outcome};
use crate::kernel::ids::GateId;
use crate::kernel::path::RelPath;

const TIMEOUT: Duration = Duration::from_secs(300);
const TEST_TIMEOUT: Duration = Duration::from_secs(900);
/// The first change of a run waits for the baseline: tests that take longer have none.
const BASELINE_TEST_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_OUTPUT: usize = 64 * 1024 * 1024;
const PYTEST_PLUGIN: &str = include_str!("outrigger_pytest.py");
const VITEST_REPORTER: &str = include_str!("outrigger_vitest.mjs");

/// When gates run, which decides which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Before the first change: what is failing already.
    Baseline,
    /// After a change: what is quick.
    AfterChange,
    /// At the end: everything.
    Final,
}

/// What to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRequest {
    /// Changed files; empty means the whole workspace.
    pub paths: Vec<RelPath>,
    pub tier: Tier,
}

/// A gate that applies, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub gate: GateId,
    /// Where it runs, relative to the workspace; empty for its root.
    pub root: String,
    /// What shows that the project uses it.
    pub why: String,
    /// Where the program was found, or what to do.
    pub program: Result<PathBuf, String>,
}

/// The gates of one workspace.
#[derive(Debug, Clone)]
pub struct Gates {
    root: PathBuf,
    cache: PathBuf,
    /// Asked once: the PATH of the user's login shell, which an editor started from a desktop lacks.
    login_path: Arc<OnceCell<Vec<PathBuf>>>,
}

/// One command to run and read.
struct Job {
    tool: &'static Tool,
    command: ToolCommand,
    found: Found,
    /// The folder is removed with it.
    scratch: Option<tempfile::TempDir>,
    lock_file: Option<cargo::LockFile>,
}

impl Gates {
    /// `root` is the workspace's folder, `cache_dir` a folder outside of it for target folders and caches.
    pub fn new(root: PathBuf, cache_dir: PathBuf) -> Self {
        Self {
            root,
            cache: cache_dir,
            login_path: Arc::default(),
        }
    }

    /// Runs the gates that apply; an empty answer means that none does. `life` is called whenever a tool is heard of.
    /// Dropping the future ends the tools, all of their processes, within a second.
    pub async fn run(
        &self,
        request: GateRequest,
        life: impl Fn() + Send + Sync,
    ) -> Vec<GateReport> {
        let life: &(dyn Fn() + Send + Sync) = &life;
        // Gates that share a lock run one after the other, the others side by side.
        let mut lines: Vec<Vec<Job>> = Vec::new();
        let cargo_jobs = self.cargo_jobs(&request).await;
        if !cargo_jobs.is_empty() {
            lines.push(cargo_jobs);
        }
        for applies in self.detected(&request).await {
            if let Some(job) = self.job(&applies, request.tier).await {
                lines.push(vec![job]);
            }
        }
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let mut reports: Vec<GateReport> = futures::stream::iter(lines)
            .map(|line| async move {
                let mut reports = Vec::new();
                for job in line {
                    reports.push(self.perform(job, life).await);
                }
                reports
            })
            .buffer_unordered(cores)
            .concat()
            .await;
        let rank = |report: &GateReport| {
            TOOLS
                .iter()
                .position(|tool| tool.name == report.gate.as_str())
        };
        reports.sort_by_key(rank);
        reports
    }

    /// What applies to the whole workspace, why, and whether it can run.
    pub async fn list(&self) -> Vec<Listed> {
        let request = GateRequest {
            paths: Vec::new(),
            tier: Tier::Final,
        };
        let mut listed = Vec::new();
        for job in self.cargo_jobs(&request).await {
            listed.push(self.listed(
                job.tool.name,
                &job.command.cwd,
                "Cargo.toml is there".to_owned(),
                &job.found,
            ));
        }
        for applies in self.detected(&request).await {
            let found = self
                .find(
                    applies.builtin.program,
                    applies.builtin.ecosystem,
                    &applies.root,
                )
                .await;
            listed.push(self.listed(applies.builtin.tool, &applies.root, applies.why, &found));
        }
        listed
    }

    fn listed(&self, tool: &str, root: &Path, why: String, found: &Found) -> Listed {
        Listed {
            gate: GateId::new(tool),
            root: root
                .strip_prefix(&self.root)
                .map(super::disk::slashes)
                .unwrap_or_default(),
            why,
            program: match (&found.path, found.advice()) {
                (Some(path), _) => Ok(path.clone()),
                (None, advice) => Err(advice.unwrap_or_default()),
            },
        }
    }

    async fn detected(&self, request: &GateRequest) -> Vec<Applies> {
        let (root, paths, tier) = (self.root.clone(), request.paths.clone(), request.tier);
        // Reads many small files.
        let found = tokio::task::spawn_blocking(move || detect(&root, &paths)).await;
        found
            .unwrap_or_default()
            .into_iter()
            .filter(|applies| belongs(applies.builtin.kind, tier))
            .collect()
    }

    async fn job(&self, applies: &Applies, tier: Tier) -> Option<Job> {
        let builtin = applies.builtin;
        let tool = catalogue::find(builtin.tool)?;
        let found = self
            .find(builtin.program, builtin.ecosystem, &applies.root)
            .await;
        let cache = self.cache_of(builtin.tool, &applies.root);
        let scratch = tempfile::tempdir().ok();
        let folder = scratch
            .as_ref()
            .map_or_else(std::env::temp_dir, |folder| folder.path().to_owned());
        let prepared =
            std::fs::create_dir_all(&cache).and_then(|()| helpers(builtin.tool, &folder));
        if let Err(error) = prepared {
            tracing::warn!(%error, gate = builtin.tool, "no folder for a gate's reports");
        }
        let facts = Facts::new(&self.root, &applies.root);
        let ask = Ask {
            facts: &facts,
            files: &applies.files,
            cache: &cache,
            scratch: &folder,
        };
        let timeout = match (builtin.kind, tier) {
            (Kind::Tests, Tier::Baseline) => BASELINE_TEST_TIMEOUT,
            (Kind::Tests, Tier::AfterChange | Tier::Final) => TEST_TIMEOUT,
            (Kind::Types | Kind::Lint | Kind::Layout, _) => TIMEOUT,
        };
        Some(Job {
            tool,
            command: ToolCommand {
                program: found.path_or_name(),
                args: (builtin.args)(&ask),
                cwd: applies.root.clone(),
                env: (builtin.env)(&ask)
                    .into_iter()
                    .map(|(name, value)| (name, Some(value)))
                    .collect(),
                timeout,
                max_output: MAX_OUTPUT,
            },
            found,
            scratch,
            lock_file: None,
        })
    }

    async fn cargo_jobs(&self, request: &GateRequest) -> Vec<Job> {
        let (root, paths) = (self.root.clone(), request.paths.clone());
        let roots = tokio::task::spawn_blocking(move || cargo::roots(&root, &paths))
            .await
            .unwrap_or_default();
        if roots.is_empty() {
            return Vec::new();
        }
        let found = self.find("cargo", Ecosystem::Rust, &self.root).await;
        let clippy = self.find("cargo-clippy", Ecosystem::Rust, &self.root).await;
        let mut jobs = Vec::new();
        for root in roots {
            let facts = Facts::new(&self.root, &root);
            for gate in cargo::gates(&facts, clippy.path.is_some()) {
                if !belongs(gate.kind, request.tier) {
                    continue;
                }
                let Some(tool) = catalogue::find(gate.tool) else {
                    continue;
                };
                let mut command = cargo::command(found.path_or_name(), &root, &self.cache);
                command.args = gate.args;
                if gate.kind == Kind::Tests && request.tier == Tier::Baseline {
                    command.timeout = BASELINE_TEST_TIMEOUT;
                }
                jobs.push(Job {
                    tool,
                    command,
                    found: found.clone(),
                    scratch: None,
                    lock_file: None,
                });
            }
        }
        jobs
    }

    /// Project's own folder of programs, then the PATH, then the login shell's.
    async fn find(&self, name: &str, ecosystem: Ecosystem, root: &Path) -> Found {
        let own = programs::project_folders(ecosystem, root, &self.root);
        let found = programs::find(name, own.clone());
        if found.path.is_some() {
            return found;
        }
        let login = self.login_path.get_or_init(programs::login_path).await;
        let mut folders = found.searched;
        folders.extend(login.iter().filter(|folder| folder.is_absolute()).cloned());
        folders.dedup();
        programs::find_in(name, folders)
    }

    fn cache_of(&self, tool: &str, root: &Path) -> PathBuf {
        let name = text::hash_of(root.to_string_lossy().as_bytes());
        self.cache.join(tool).join(name.short())
    }

    async fn perform(&self, mut job: Job, life: &(dyn Fn() + Send + Sync)) -> GateReport {
        let started = Instant::now();
        let found = job.found.clone();
        let tool = job.tool;
        if cargo::may_write_lock_file(tool.name) {
            job.lock_file = Some(cargo::LockFile::watch(&job.command.cwd));
        }
        let mut output = run(&job.command, life).await;
        if let Some(args) = older_args(&job.command.args, &output) {
            job.command.args = args;
            output = run(&job.command, life).await;
        }
        let root = self.root.clone();
        let argv = job.command.argv();
        // Reading opens the files that findings name.
        let read = tokio::task::spawn_blocking(move || {
            if let Some(scratch) = &job.scratch {
                output.artifacts = artifacts(scratch.path());
            }
            read(job.tool, &job.command, &root, &output)
        })
        .await;
        let mut report = read.unwrap_or_else(|error| GateReport {
            gate: GateId::new(tool.name),
            outcome: Outcome::Error,
            partial: false,
            findings: Vec::new(),
            notes: vec![format!("the report could not be read: {error}")],
            command: argv,
            duration_ms: 0,
        });
        report.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if report.outcome == Outcome::Missing
            && let Some(advice) = found.advice()
        {
            report.notes.push(advice);
        }
        report
    }
}

/// Layout and tests are looked at before the first change and at the end: half-done work is seldom laid out, and tests
/// take long.
fn belongs(kind: Kind, tier: Tier) -> bool {
    match tier {
        Tier::AfterChange => matches!(kind, Kind::Types | Kind::Lint),
        Tier::Baseline | Tier::Final => true,
    }
}

/// Writes what a tool loads into our folder.
fn helpers(tool: &str, folder: &Path) -> std::io::Result<()> {
    match tool {
        "pytest" => std::fs::write(folder.join("outrigger_pytest.py"), PYTEST_PLUGIN),
        "vitest" => std::fs::write(folder.join("outrigger_vitest.mjs"), VITEST_REPORTER),
        _ => Ok(()),
    }
}

/// Reports in our folder.
fn artifacts(folder: &Path) -> Vec<Artifact> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_report = [".jsonl", ".xml", ".sarif"]
                .iter()
                .any(|ending| name.ends_with(ending));
            let fits = entry
                .metadata()
                .is_ok_and(|meta| meta.len() <= MAX_OUTPUT as u64);
            (is_report && fits).then_some(())?;
            Some(Artifact {
                name,
                bytes: std::fs::read(entry.path()).ok()?,
            })
        })
        .collect()
}

/// What an older release understands, when this one has refused an option.
fn older_args(args: &[String], output: &ToolOutput) -> Option<Vec<String>> {
    let said = super::output::plain(&output.stderr);
    let refused = |option: &str| {
        args.iter().any(|argument| argument == option)
            && said.contains(option)
            && (said.contains("unexpected argument")
                || said.contains("unknown flag")
                || said.contains("Invalid option"))
    };
    if args.first().is_some_and(|first| first == "format") && refused("--output-format") {
        // ruff before its formatter had formats.
        let at = args
            .iter()
            .position(|argument| argument == "--output-format")?;
        let mut args = args.to_vec();
        args.drain(at..(at + 2).min(args.len()));
        return Some(args);
    }
    if refused("--output.json.path") {
        return Some(["run", "--out-format", "json"].map(str::to_owned).to_vec());
    }
    None
}

fn read(tool: &Tool, command: &ToolCommand, root: &Path, output: &ToolOutput) -> GateReport {
    let invocation = Invocation {
        argv: command.argv(),
        version: None,
    };
    let roots = roots(root, &command.cwd);
    let sources = DiskSources::new(root.to_owned());
    tool.report(&invocation, output, (&roots, &sources))
}
