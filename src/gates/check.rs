//! The gates of a workspace, as the app uses them: which apply, run them, read what they say.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use tokio::sync::OnceCell;

use super::catalogue::{self, TOOLS, Tool};
use super::compile_commands;
use super::declared::{self, StandIns};
use super::detect::{Applies, detect};
use super::disk::{DiskSources, roots};
use super::facts::Facts;
use super::kinds::{Ask, BUILTINS, Ecosystem, Kind, Scope};
use super::locate::{Roots, Sources};
use super::output::{Artifact, Invocation, ToolOutput};
use super::programs::{self, Found};
use super::run::{ToolCommand, run};
use super::settings::{GateSettings, NamedGates, ScopeSetting};
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
const TSC_HELPER: &str = include_str!("outrigger_tsc.cjs");
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

/// Which gates, by what they look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breadth {
    Any,
    /// Those that look at single files.
    Files,
    /// Those that look at a whole project.
    Project,
}

/// What to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRequest {
    /// Changed files; empty means the whole workspace.
    pub paths: Vec<RelPath>,
    pub tier: Tier,
    /// Gates by name; empty means all that apply. Those that are named run whether or not the project uses them.
    pub only: Vec<String>,
    /// What the user has set about single gates.
    pub named: NamedGates,
    pub breadth: Breadth,
}

impl GateRequest {
    /// All gates that apply, with nothing set.
    pub fn new(paths: Vec<RelPath>, tier: Tier) -> Self {
        Self {
            paths,
            tier,
            only: Vec::new(),
            named: NamedGates::new(),
            breadth: Breadth::Any,
        }
    }

    fn spans(&self, by_file: bool) -> bool {
        match self.breadth {
            Breadth::Any => true,
            Breadth::Files => by_file,
            Breadth::Project => !by_file,
        }
    }

    fn wants(&self, gate: &str) -> bool {
        let is_off = || {
            self.named
                .get(gate)
                .is_some_and(|gate| gate.enabled == Some(false))
        };
        if self.only.is_empty() {
            !is_off()
        } else {
            self.only.iter().any(|name| name == gate)
        }
    }

    /// Known gates that run without evidence.
    fn wanted(&self) -> Vec<String> {
        let enabled = self
            .named
            .iter()
            .filter(|(_, gate)| gate.enabled == Some(true));
        let enabled = enabled.map(|(name, _)| name.clone());
        enabled.chain(self.only.iter().cloned()).collect()
    }

    fn settings(&self, gate: &str) -> GateSettings {
        self.named.get(gate).cloned().unwrap_or_default()
    }

    /// Gates that the user declares.
    fn declared(&self) -> impl Iterator<Item = (&String, &GateSettings)> {
        self.named
            .iter()
            .filter(|(name, gate)| !gate.command.is_empty() && self.wants(name))
    }
}

/// A gate that does not apply, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    pub gate: GateId,
    /// What would show that the project uses it.
    pub looked_for: String,
    /// Whether its program is there all the same.
    pub program: Option<PathBuf>,
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
    /// Our own program, which asks Rust's test programs for JSON.
    own_program: Option<PathBuf>,
    /// Asked once: the PATH of the user's login shell, which an editor started from a desktop lacks.
    login_path: Arc<OnceCell<Vec<PathBuf>>>,
}

/// One command to run and read.
struct Job {
    how: How,
    settings: GateSettings,
    /// Where the tool writes its report, when the user says so.
    report: Option<PathBuf>,
    command: ToolCommand,
    found: Found,
    /// The folder is removed with it.
    scratch: Option<tempfile::TempDir>,
    lock_file: Option<cargo::LockFile>,
}

/// How a job's report is read.
#[derive(Clone)]
enum How {
    Known(&'static Tool),
    Declared(String),
}

impl How {
    fn name(&self) -> &str {
        match self {
            Self::Known(tool) => tool.name,
            Self::Declared(name) => name,
        }
    }
}

impl Gates {
    /// `root` is the workspace's folder, `cache_dir` a folder outside of it for target folders and caches.
    pub fn new(root: PathBuf, cache_dir: PathBuf) -> Self {
        Self {
            root,
            cache: cache_dir,
            own_program: None,
            login_path: Arc::default(),
        }
    }

    /// The same, with the program whose `test-runner` asks Rust's test programs for JSON.
    #[must_use]
    pub fn with_own_program(mut self, program: Option<PathBuf>) -> Self {
        self.own_program = program;
        self
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
            if let Some(job) = self.job(&applies, &request).await {
                lines.push(vec![job]);
            }
        }
        for job in self.c_jobs(&request).await {
            lines.push(vec![job]);
        }
        for (name, settings) in request.declared() {
            if let Some(job) = self.declared_job(name, settings, &request).await {
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
                .unwrap_or(TOOLS.len())
        };
        reports.sort_by_key(rank);
        merged(reports)
    }

    /// What applies to the whole workspace, why, and whether it can run; and what does not.
    pub async fn list(&self, named: NamedGates) -> (Vec<Listed>, Vec<Unused>) {
        let request = GateRequest {
            named,
            ..GateRequest::new(Vec::new(), Tier::Final)
        };
        let mut listed = Vec::new();
        for job in self.cargo_jobs(&request).await {
            listed.push(self.listed(
                job.how.name(),
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
        for job in self.c_jobs(&request).await {
            if !listed
                .iter()
                .any(|known| known.gate.as_str() == job.how.name())
            {
                let why = "compile_commands.json says how files are compiled".to_owned();
                listed.push(self.listed(job.how.name(), &self.root, why, &job.found));
            }
        }
        for (name, settings) in request.declared() {
            let cwd = declared::directory(settings, &self.root);
            let found = self.find_declared(settings, &cwd).await;
            listed.push(self.listed(name, &cwd, "outrigger.toml declares it".to_owned(), &found));
        }
        let mut unused = Vec::new();
        for builtin in BUILTINS {
            if listed
                .iter()
                .any(|listed| listed.gate.as_str() == builtin.tool)
            {
                continue;
            }
            let is_off = !request.wants(builtin.tool);
            let evidence: Vec<String> = builtin.evidence.iter().map(ToString::to_string).collect();
            unused.push(Unused {
                gate: GateId::new(builtin.tool),
                looked_for: if is_off {
                    "your settings turn it off".to_owned()
                } else {
                    format!("not found: {}", evidence.join(", "))
                },
                program: programs::find(builtin.program, Vec::new()).path,
            });
        }
        (listed, unused)
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
        let (root, paths, wanted) = (self.root.clone(), request.paths.clone(), request.wanted());
        // Reads many small files.
        let found = tokio::task::spawn_blocking(move || detect(&root, &paths, &wanted)).await;
        found
            .unwrap_or_default()
            .into_iter()
            .filter(|applies| belongs(applies.builtin.kind, request.tier))
            .filter(|applies| request.wants(applies.builtin.tool))
            .filter(|applies| request.spans(!matches!(applies.builtin.scope, Scope::Project(_))))
            .collect()
    }

    async fn job(&self, applies: &Applies, request: &GateRequest) -> Option<Job> {
        let builtin = applies.builtin;
        let tool = catalogue::find(builtin.tool)?;
        let settings = request.settings(builtin.tool);
        let found = match &settings.path {
            Some(path) => programs::at(&self.root.join(path)),
            None => {
                self.find(builtin.program, builtin.ecosystem, &applies.root)
                    .await
            }
        };
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
        let timeout = match (builtin.kind, request.tier) {
            (Kind::Tests, Tier::Baseline) => BASELINE_TEST_TIMEOUT,
            (Kind::Tests, Tier::AfterChange | Tier::Final) => TEST_TIMEOUT,
            (Kind::Types | Kind::Lint | Kind::Layout, _) => TIMEOUT,
        };
        Some(Job {
            how: How::Known(tool),
            report: None,
            command: ToolCommand {
                program: found.path_or_name(),
                args: with_extra((builtin.args)(&ask), &settings.args_extra),
                cwd: applies.root.clone(),
                env: (builtin.env)(&ask)
                    .into_iter()
                    .map(|(name, value)| (name, Some(value)))
                    .collect(),
                timeout: settings.timeout.map_or(timeout, |time| time.0),
                max_output: MAX_OUTPUT,
            },
            settings,
            found,
            scratch,
            lock_file: None,
        })
    }

    async fn declared_job(
        &self,
        name: &str,
        settings: &GateSettings,
        request: &GateRequest,
    ) -> Option<Job> {
        let by_file = settings.scope == Some(ScopeSetting::File);
        if !belongs(declared::kind(settings), request.tier) || !request.spans(by_file) {
            return None;
        }
        let (gate, root, paths) = (settings.clone(), self.root.clone(), request.paths.clone());
        let files = tokio::task::spawn_blocking(move || declared::files(&gate, &root, &paths))
            .await
            .ok()??;
        let cwd = declared::directory(settings, &self.root);
        let found = self.find_declared(settings, &cwd).await;
        let scratch = tempfile::tempdir().ok();
        let folder = scratch
            .as_ref()
            .map_or_else(std::env::temp_dir, |folder| folder.path().to_owned());
        let stand_ins = StandIns {
            root: &self.root,
            scratch: &folder,
            files: &files,
        };
        let env = settings.env.iter();
        Some(Job {
            how: How::Declared(name.to_owned()),
            report: declared::report_path(settings, &stand_ins, &cwd),
            command: ToolCommand {
                program: found.path_or_name(),
                args: declared::arguments(settings, &stand_ins),
                env: env
                    .map(|(name, value)| (name.clone(), Some(value.clone())))
                    .collect(),
                cwd,
                timeout: settings.timeout.map_or(TIMEOUT, |time| time.0),
                max_output: MAX_OUTPUT,
            },
            settings: settings.clone(),
            found,
            scratch,
            lock_file: None,
        })
    }

    /// A name with a folder in it is a path from where the gate runs; any other is searched.
    async fn find_declared(&self, settings: &GateSettings, cwd: &Path) -> Found {
        let name = settings.command.first().map_or("", String::as_str);
        if name.contains(['/', '\\']) {
            return programs::at(&cwd.join(name));
        }
        let mut own = programs::project_folders(Ecosystem::Python, cwd, &self.root);
        own.extend(programs::project_folders(Ecosystem::Node, cwd, &self.root));
        self.find_among(name, own).await
    }

    async fn cargo_jobs(&self, request: &GateRequest) -> Vec<Job> {
        let (root, paths) = (self.root.clone(), request.paths.clone());
        let roots = tokio::task::spawn_blocking(move || cargo::roots(&root, &paths))
            .await
            .unwrap_or_default();
        if roots.is_empty() || !request.spans(false) {
            return Vec::new();
        }
        let found = self.find("cargo", Ecosystem::Rust, &self.root).await;
        let clippy = self.find("cargo-clippy", Ecosystem::Rust, &self.root).await;
        let mut jobs = Vec::new();
        for root in roots {
            let facts = Facts::new(&self.root, &root);
            for gate in cargo::gates(&facts, clippy.path.is_some()) {
                if !belongs(gate.kind, request.tier) || !request.wants(gate.tool) {
                    continue;
                }
                let settings = request.settings(gate.tool);
                let Some(tool) = catalogue::find(gate.tool) else {
                    continue;
                };
                let mut command = cargo::command(found.path_or_name(), &root, &self.cache);
                command.args = with_extra(gate.args, &settings.args_extra);
                if let Some(own) = self
                    .own_program
                    .as_ref()
                    .filter(|_| gate.tool == "cargo-test")
                {
                    command.args.extend(cargo::test_runner(own));
                }
                if gate.kind == Kind::Tests && request.tier == Tier::Baseline {
                    command.timeout = BASELINE_TEST_TIMEOUT;
                }
                if let Some(time) = settings.timeout {
                    command.timeout = time.0;
                }
                jobs.push(Job {
                    how: How::Known(tool),
                    settings,
                    report: None,
                    command,
                    found: found.clone(),
                    scratch: None,
                    lock_file: None,
                });
            }
        }
        jobs
    }

    /// One for each compiled file; their reports become one per compiler.
    async fn c_jobs(&self, request: &GateRequest) -> Vec<Job> {
        if !request.spans(true) {
            return Vec::new();
        }
        let (root, paths) = (self.root.clone(), request.paths.clone());
        let units = tokio::task::spawn_blocking(move || compile_commands::units(&root, &paths))
            .await
            .unwrap_or_default();
        let mut jobs = Vec::new();
        for unit in units {
            let Some(tool) = catalogue::find(unit.tool).filter(|tool| request.wants(tool.name))
            else {
                continue;
            };
            let settings = request.settings(unit.tool);
            let found = if unit.program.contains(['/', '\\']) {
                programs::at(&unit.directory.join(&unit.program))
            } else {
                self.find_among(&unit.program, Vec::new()).await
            };
            jobs.push(Job {
                how: How::Known(tool),
                report: None,
                command: ToolCommand {
                    program: found.path_or_name(),
                    args: with_extra(unit.args, &settings.args_extra),
                    cwd: unit.directory,
                    env: Vec::new(),
                    timeout: settings.timeout.map_or(TIMEOUT, |time| time.0),
                    max_output: MAX_OUTPUT,
                },
                settings,
                found,
                scratch: None,
                lock_file: None,
            });
        }
        jobs
    }

    /// Project's own folder of programs, then the PATH, then the login shell's.
    async fn find(&self, name: &str, ecosystem: Ecosystem, root: &Path) -> Found {
        let own = programs::project_folders(ecosystem, root, &self.root);
        self.find_among(name, own).await
    }

    async fn find_among(&self, name: &str, own: Vec<PathBuf>) -> Found {
        let found = programs::find(name, own);
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
        let how = job.how.clone();
        if cargo::may_write_lock_file(how.name()) {
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
            if let Some(bytes) = job
                .report
                .as_ref()
                .and_then(|path| std::fs::read(path).ok())
            {
                declared::take_report(&job.settings, bytes, &mut output);
            }
            read(&job, &root, &output)
        })
        .await;
        let mut report = read.unwrap_or_else(|error| GateReport {
            gate: GateId::new(how.name()),
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

/// Reports of one gate in several places as one: the worst outcome, all findings, each once.
fn merged(reports: Vec<GateReport>) -> Vec<GateReport> {
    let severity = |outcome: Outcome| match outcome {
        Outcome::Skipped => 0,
        Outcome::Pass => 1,
        Outcome::Missing => 2,
        Outcome::Error => 3,
        Outcome::Fail => 4,
    };
    let mut all: Vec<GateReport> = Vec::new();
    let mut joined: HashSet<GateId> = HashSet::new();
    for report in reports {
        let Some(known) = all.iter_mut().find(|known| known.gate == report.gate) else {
            all.push(report);
            continue;
        };
        let is_broken = |outcome| matches!(outcome, Outcome::Error | Outcome::Missing);
        known.partial |= report.partial || is_broken(report.outcome) || is_broken(known.outcome);
        if severity(report.outcome) > severity(known.outcome) {
            known.outcome = report.outcome;
            known.command = report.command;
        }
        known.findings.extend(report.findings);
        joined.insert(known.gate.clone());
        for note in report.notes {
            if !known.notes.contains(&note) {
                known.notes.push(note);
            }
        }
        known.duration_ms = known.duration_ms.max(report.duration_ms);
    }
    // An error of one header is found wherever it is included.
    for report in all
        .iter_mut()
        .filter(|report| joined.contains(&report.gate))
    {
        let mut seen = HashSet::new();
        report
            .findings
            .retain(|finding| seen.insert(finding.clone()));
    }
    all
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
        "tsc" => std::fs::write(folder.join("outrigger_tsc.cjs"), TSC_HELPER),
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

fn read(job: &Job, root: &Path, output: &ToolOutput) -> GateReport {
    let invocation = Invocation {
        argv: job.command.argv(),
        version: None,
    };
    let roots = roots(root, &job.command.cwd);
    let sources = DiskSources::new(root.to_owned());
    let files: (&Roots, &dyn Sources) = (&roots, &sources);
    match &job.how {
        How::Known(tool) => tool.report_as(&job.settings, &invocation, output, files),
        How::Declared(name) => {
            declared::report((name, &job.settings), &invocation, output, files, root)
        }
    }
}

/// Options of the user's, before what a `--` begins.
fn with_extra(mut args: Vec<String>, extra: &[String]) -> Vec<String> {
    let at = args.iter().position(|word| word == "--");
    let at = at.unwrap_or(args.len());
    args.splice(at..at, extra.iter().cloned());
    args
}
