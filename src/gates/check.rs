//! The gates of a workspace, as the app uses them: which apply, run them, read what they say.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::cargo;
use super::disk::{DiskSources, roots};
use super::outcome::Verdicts;
use super::output::{Invocation, ToolOutput};
use super::reading::{Parsed, Reading};
use super::run::{ToolCommand, run};
use super::{programs, readers};
use crate::kernel::finding::GateReport;
use crate::kernel::ids::GateId;
use crate::kernel::path::RelPath;

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

/// The gates of one workspace.
#[derive(Debug, Clone)]
pub struct Gates {
    root: PathBuf,
    cache: PathBuf,
}

impl Gates {
    /// `root` is the workspace's folder, `cache_dir` a folder outside of it for target folders and caches.
    pub fn new(root: PathBuf, cache_dir: PathBuf) -> Self {
        Self {
            root,
            cache: cache_dir,
        }
    }

    /// Runs the gates that apply; an empty answer means that none does. `life` is called whenever a tool is heard of.
    /// Dropping the future ends the tools, all of their processes, within a second.
    pub async fn run(
        &self,
        request: GateRequest,
        life: impl Fn() + Send + Sync,
    ) -> Vec<GateReport> {
        let mut reports = Vec::new();
        for root in cargo::roots(&self.root, &request.paths) {
            reports.push(self.cargo_check(&root, &life).await);
        }
        reports
    }

    async fn cargo_check(&self, root: &Path, life: &(dyn Fn() + Send + Sync)) -> GateReport {
        let found = programs::find("cargo");
        let command = cargo::command(found.path_or_name(), root, &self.cache);
        let lock_file = cargo::LockFile::watch(root);
        let mut report = self
            .perform(
                Gate {
                    id: GateId::new("cargo-check"),
                    source: "cargo",
                    verdicts: cargo::VERDICTS,
                    read: readers::cargo::read,
                },
                command,
                life,
            )
            .await;
        drop(lock_file);
        if let Some(advice) = found.advice() {
            report.notes.push(advice);
        }
        report
    }

    async fn perform(
        &self,
        gate: Gate,
        command: ToolCommand,
        life: &(dyn Fn() + Send + Sync),
    ) -> GateReport {
        let started = Instant::now();
        let output = run(&command, life).await;
        let root = self.root.clone();
        let id = gate.id.clone();
        let argv = command.argv();
        // Reading opens the files that findings name.
        let read = tokio::task::spawn_blocking(move || read(&gate, &command, &root, &output)).await;
        let mut report = read.unwrap_or_else(|error| GateReport {
            gate: id,
            outcome: crate::kernel::finding::Outcome::Error,
            partial: false,
            findings: Vec::new(),
            notes: vec![format!("the report could not be read: {error}")],
            command: argv,
            duration_ms: 0,
        });
        report.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        report
    }
}

/// What it takes to read one gate's report.
struct Gate {
    id: GateId,
    source: &'static str,
    verdicts: Verdicts,
    read: fn(&Reading<'_>, &ToolOutput) -> Parsed,
}

fn read(gate: &Gate, command: &ToolCommand, root: &Path, output: &ToolOutput) -> GateReport {
    let invocation = Invocation {
        argv: command.argv(),
        version: None,
    };
    let roots = roots(root, &command.cwd);
    let sources = DiskSources::new(root.to_owned());
    let reading = Reading::new(
        gate.id.clone(),
        gate.source,
        &invocation,
        (&roots, &sources),
    );
    let parsed = (gate.read)(&reading, output);
    reading.report(&gate.verdicts, output, parsed)
}
