//! The gates of a project without a run: for the terminal and for CI. Starts no actor and keeps no state but caches.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use thiserror::Error;

use crate::config::trust::{self, TrustFile};
use crate::config::{Loaded, Problem, Sources};
use crate::gates::catalogue::TOOLS;
use crate::gates::{GateRequest, Gates, Tier};
use crate::kernel::finding::GateReport;
use crate::kernel::path::RelPath;
use crate::store::state_dir::{StateDir, StateDirError};

pub use crate::gates::{Listed, Unused};

/// Completes "failed to ".
#[derive(Debug, Error)]
pub enum CheckError {
    #[error(transparent)]
    State(#[from] StateDirError),
    #[error("write down that {path} is trusted: {source}")]
    Trust {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("ask git what has changed: {0}")]
    Git(String),
}

/// The settings of a workspace as this process has them, with what is trusted there.
///
/// # Errors
/// There is no place for state.
pub fn settings(root: &Path, state_dir: Option<&Path>) -> Result<Sources, CheckError> {
    let state = StateDir::open(root, state_dir)?;
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    Ok(Sources::of_process(&root).with_trust_file(trust_file(&state)))
}

/// A workspace's gates.
pub struct Checks {
    root: PathBuf,
    gates: Gates,
    settings: Sources,
    trust_file: TrustFile,
}

/// What came of a check.
#[derive(Debug)]
pub struct Checked {
    pub reports: Vec<GateReport>,
    /// What is wrong with the settings.
    pub problems: Vec<Problem>,
    /// Why nothing was run.
    pub refusal: Option<String>,
}

impl Checks {
    /// # Errors
    /// There is no place for caches.
    pub fn open(root: &Path, state_dir: Option<&Path>) -> Result<Self, CheckError> {
        let state = StateDir::open(root, state_dir)?;
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let trust_file = trust_file(&state);
        let settings = Sources::of_process(&root).with_trust_file(trust_file.clone());
        Ok(Self {
            gates: Gates::new(root.clone(), state.path().join("cache"))
                .with_own_program(own_program()),
            settings,
            trust_file,
            root,
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    fn load(&self) -> Loaded {
        self.settings.load(&Value::Null)
    }

    /// Every name by which a gate can be asked for.
    pub fn names(&self) -> Vec<String> {
        let known = TOOLS.iter().map(|tool| tool.name.to_owned());
        let known = known.filter(|name| name != "generic");
        known.chain(self.load().settings.gate.into_keys()).collect()
    }

    /// Runs the gates of these names, or all that apply, on these files, or everywhere.
    pub async fn run(&self, only: Vec<String>, paths: Vec<RelPath>) -> Checked {
        let loaded = self.load();
        let problems = loaded.problems.clone();
        if let Some(why) = loaded.trust.refusal() {
            return Checked {
                reports: Vec::new(),
                problems,
                refusal: Some(why.to_owned()),
            };
        }
        let request = GateRequest {
            only,
            named: loaded.settings.gate,
            ..GateRequest::new(paths, Tier::Final)
        };
        Checked {
            reports: self.gates.run(request, || {}).await,
            problems,
            refusal: None,
        }
    }

    /// What applies and why, and what does not; nothing of the project is run for it.
    pub async fn list(&self) -> (Vec<Listed>, Vec<Unused>, Checked) {
        let loaded = self.load();
        let problems = loaded.problems.clone();
        let refusal = loaded.trust.refusal().map(str::to_owned);
        let (listed, unused) = self.gates.list(loaded.settings.gate).await;
        let checked = Checked {
            reports: Vec::new(),
            problems,
            refusal,
        };
        (listed, unused, checked)
    }

    /// Trusts the files that say what is run, as they are now. Gives those that are there.
    ///
    /// # Errors
    /// It cannot be written down.
    pub fn trust(&self) -> Result<Vec<&'static str>, CheckError> {
        let written = self.trust_file.write(&trust::hash(&self.root));
        written.map_err(|source| self.untold(source))?;
        let there = |name: &&str| self.root.join(name).is_file();
        Ok(trust::FILES.into_iter().filter(there).collect())
    }

    /// # Errors
    /// What was written down cannot be removed.
    pub fn distrust(&self) -> Result<(), CheckError> {
        let forgotten = self.trust_file.forget();
        forgotten.map_err(|source| self.untold(source))
    }

    fn untold(&self, source: std::io::Error) -> CheckError {
        CheckError::Trust {
            path: self.root.clone(),
            source,
        }
    }

    /// What git calls changed since the last commit, untracked files included.
    ///
    /// # Errors
    /// There is no git, or it knows nothing of the folder.
    pub fn changed(&self) -> Result<Vec<RelPath>, CheckError> {
        let untracked = self.git(&["ls-files", "-z", "--others", "--exclude-standard"])?;
        // Before the first commit everything in the index has changed.
        let changed = self
            .git(&[
                "diff",
                "--name-only",
                "-z",
                "--relative",
                "--no-ext-diff",
                "HEAD",
            ])
            .or_else(|_| self.git(&["ls-files", "-z"]))?;
        let mut paths: Vec<RelPath> = [untracked, changed]
            .iter()
            .flat_map(|text| text.split('\0'))
            .filter(|name| !name.is_empty())
            .filter_map(|name| RelPath::parse(name).ok())
            .collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    fn git(&self, args: &[&str]) -> Result<String, CheckError> {
        // A repository's own settings may name a program to be run; none is.
        let output = Command::new("git")
            .args(["-c", "core.fsmonitor=false"])
            .args(args)
            .current_dir(&self.root)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| CheckError::Git(error.to_string()))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(CheckError::Git(said.trim().to_owned()))
    }
}

/// Our own program; not that of a test which only contains us.
pub fn own_program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let name = program.file_stem()?.to_str()?;
    (name == env!("CARGO_PKG_NAME")).then_some(program)
}

/// Where it is written that a workspace is trusted.
pub fn trust_file(state: &StateDir) -> TrustFile {
    TrustFile(state.path().join("trusted"))
}
