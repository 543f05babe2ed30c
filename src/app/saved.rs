//! Checks that no run asks for: of files that are saved, so that findings on them live.
//!
//! Gates that look at single files start at once, those of whole projects a little later, so that several saves are one
//! check. A newer save ends what an older one began and takes over its files.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::App;
use crate::gates::settings::OnSave;
use crate::gates::{Breadth, GateRequest, Gates, Tier};
use crate::kernel::finding::GateReport;
use crate::kernel::ids::GateId;
use crate::kernel::path::RelPath;
use crate::kernel::recheck::{Covered, OldFindings};

/// Before project-wide gates start.
const REST: Duration = Duration::from_millis(300);

/// What came of a check.
pub struct Rechecked {
    pub covered: Covered,
    pub old: OldFindings,
    pub reports: Vec<GateReport>,
}

/// The check that goes on, and what it is about.
#[derive(Default)]
pub struct SavedFiles {
    /// With the gates that had findings on them.
    pending: BTreeMap<RelPath, BTreeSet<GateId>>,
    task: Option<JoinHandle<()>>,
}

impl SavedFiles {
    /// A file was saved. `on_it`: the gates that have findings on it.
    pub fn add(
        &mut self,
        runtime: &Handle,
        (app, gates): (App, Gates),
        path: RelPath,
        on_it: BTreeSet<GateId>,
    ) {
        if let Some(task) = self.task.take() {
            if task.is_finished() {
                self.pending.clear();
            } else {
                task.abort();
            }
        }
        self.pending.entry(path).or_default().extend(on_it);
        let files = self.pending.clone();
        self.task = Some(runtime.spawn(async move { check(&app, &gates, files).await }));
    }
}

impl SavedFiles {
    /// Ends what goes on, tools included.
    pub fn stop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

async fn check(app: &App, gates: &Gates, files: BTreeMap<RelPath, BTreeSet<GateId>>) {
    let loaded = app.settings(&serde_json::Value::Null);
    let (files, old) = match loaded.settings.gates.on_save {
        OnSave::Never => return,
        OnSave::Always => (files, OldFindings::Shown),
        OnSave::Findings => {
            let shown = files.into_iter().filter(|(_, gates)| !gates.is_empty());
            (shown.collect(), OldFindings::Hidden)
        }
    };
    if files.is_empty() || loaded.trust.refusal().is_some() {
        return;
    }
    let paths: Vec<RelPath> = files.keys().cloned().collect();
    let on_them: BTreeSet<&GateId> = files.values().flatten().collect();
    let only: Vec<String> = match old {
        OldFindings::Shown => Vec::new(),
        OldFindings::Hidden => on_them.iter().map(ToString::to_string).collect(),
    };
    let request = |tier, breadth, only| GateRequest {
        only,
        named: loaded.settings.gate.clone(),
        breadth,
        ..GateRequest::new(paths.clone(), tier)
    };
    // A gate that is asked for by name runs whichever tier it is of.
    let tier = if only.is_empty() {
        Tier::AfterChange
    } else {
        Tier::Final
    };
    let reports = gates
        .run(request(tier, Breadth::Files, only.clone()), || {})
        .await;
    app.checked(Rechecked {
        covered: Covered::Files(paths.iter().cloned().collect()),
        old,
        reports,
    });
    tokio::time::sleep(REST).await;
    let reports = gates
        .run(request(tier, Breadth::Project, only), || {})
        .await;
    app.checked(Rechecked {
        covered: Covered::Everything,
        old,
        reports,
    });
}
