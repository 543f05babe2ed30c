//! Configuration: what the user has set, where, and what it comes to.
//!
//! Layers, each over the one before it: defaults, the user's file, the workspace's `outrigger.toml`, the environment, the
//! editor's settings, the flags of one call. All of them have one shape, [`Settings`], and one schema. Owns the names, the
//! reading of the files and the merging. Promises: a bad value or an unknown name costs that one setting and is told with
//! its file and line, never the rest; every value knows where it comes from; nothing is kept in memory, so that a changed
//! file holds from its next use on; an untrusted workspace says nothing of what is run or permitted, and no workspace says
//! where keys are sent.

mod keys;
mod layer;
mod merge;
mod settings;
mod template;
mod toml_file;
pub mod trust;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use schemars::Schema;
use serde::Deserialize as _;
use serde_json::Value;

pub use layer::{Origin, Problem};
pub use merge::Loaded;
pub use settings::{LogFormat, LogSettings, OnRestart, RunsSettings, Settings};

use keys::Keys;
use layer::{Layer, Leaf};
use trust::{POWERFUL, Said, Trust, TrustFile, TrustRule};

/// The workspace's own file, at its root.
pub const WORKSPACE_FILE: &str = "outrigger.toml";
/// Names the user's file, in place of the platform's custom; empty: there is none.
pub const USER_FILE_VARIABLE: &str = "OUTRIGGER_CONFIG";

/// What an editor says of its settings. Most say both, and the second of them empty when the user has set nothing there.
#[derive(Debug, Clone, PartialEq)]
pub enum EditorSettings {
    /// When it starts.
    Initial(Value),
    /// Later on; over the first.
    Current(Value),
}

/// Where settings come from.
#[derive(Debug, Default)]
pub struct Sources {
    pub user_file: Option<PathBuf>,
    pub workspace_file: Option<PathBuf>,
    /// The process's variables.
    pub environment: Vec<(String, String)>,
    /// Where it is written that the user trusts the workspace.
    pub trust_file: Option<TrustFile>,
    editor: Mutex<[Value; 2]>,
    editors_trust: Mutex<Option<bool>>,
}

impl Sources {
    /// Those of a workspace, for this process.
    pub fn of_process(root: &Path) -> Self {
        let environment: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let variables: BTreeMap<&str, &str> = environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        Self {
            user_file: user_file(&variables),
            workspace_file: Some(root.join(WORKSPACE_FILE)),
            trust_file: None,
            editor: Mutex::default(),
            editors_trust: Mutex::default(),
            environment,
        }
    }

    /// The same, where it is known that the user trusts the workspace if this file says so.
    #[must_use]
    pub fn with_trust_file(mut self, file: TrustFile) -> Self {
        self.trust_file = Some(file);
        self
    }

    /// What the editor has set, in place of what it said before. Anything but an object says nothing.
    pub fn set_editor(&self, settings: EditorSettings) {
        let mut editor = self.editor.lock().unwrap_or_else(PoisonError::into_inner);
        let [initial, current] = &mut *editor;
        match settings {
            EditorSettings::Initial(value) => *initial = value,
            EditorSettings::Current(value) => *current = value,
        }
    }

    /// Whether the editor trusts the workspace, which it asks its user itself.
    pub fn set_editors_trust(&self, trusted: bool) {
        let mut said = self
            .editors_trust
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *said = Some(trusted);
    }

    /// What holds now. `call`: what this one call says, in the shape of [`Settings`].
    pub fn load(&self, call: &Value) -> Loaded {
        let keys = Keys::known();
        let mut layers = Vec::new();
        let mut problems = Vec::new();
        if let Some(path) = &self.user_file {
            layers.extend(read(path, true, &keys, &mut problems));
        }
        let mut of_workspace = self
            .workspace_file
            .as_deref()
            .and_then(|path| read(path, false, &keys, &mut problems));
        let of_environment = Layer::of_environment(&self.environment, &keys, &mut problems);
        let rule = layers
            .iter()
            .chain([&of_environment])
            .filter_map(|layer| layer.last("trust"))
            .filter_map(|value| TrustRule::deserialize(value).ok())
            .next_back();
        let trust = self.decide_trust(of_workspace.as_ref(), rule.unwrap_or_default());
        if let (Some(layer), Some(path), Some(why)) =
            (&mut of_workspace, &self.workspace_file, trust.refusal())
        {
            let all = layer.leaves.len();
            // The editor's own no covers the whole file; else what runs nothing needs no trust.
            let only_powerful = self.editor_trusts() != Some(false);
            layer
                .leaves
                .retain(|leaf| only_powerful && !is_powerful(leaf));
            if layer.leaves.len() < all {
                problems.push(Problem::untrusted(path, why));
            }
        }
        layers.extend(of_workspace);
        layers.push(of_environment);
        {
            let editor = self.editor.lock().unwrap_or_else(PoisonError::into_inner);
            for said in &*editor {
                let mut layer = Layer::of_value(said, &Origin::Editor, &keys, &mut problems);
                layer.without_users_own(&mut problems);
                layers.push(layer);
            }
        }
        layers.push(Layer::of_value(call, &Origin::Call, &keys, &mut problems));
        merge::merge(layers, problems, trust)
    }

    fn editor_trusts(&self) -> Option<bool> {
        *self
            .editors_trust
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn decide_trust(&self, of_workspace: Option<&Layer>, rule: TrustRule) -> Trust {
        let root = self.workspace_file.as_deref().and_then(Path::parent);
        let trusted = self.trust_file.as_ref().and_then(TrustFile::read);
        let now = root.map(trust::hash).unwrap_or_default();
        trust::decide(&Said {
            editor: self.editor_trusts(),
            rule,
            trusted: trusted.as_deref(),
            now: &now,
            is_powerful: of_workspace.is_some_and(|layer| layer.leaves.iter().any(is_powerful)),
        })
    }
}

/// Whether a setting says what is run, or what is done unasked.
fn is_powerful(leaf: &Leaf) -> bool {
    leaf.path
        .first()
        .is_some_and(|first| POWERFUL.contains(&first.as_str()))
}

/// A file that is not there says nothing; one that cannot be read is a problem.
fn read(path: &Path, users: bool, keys: &Keys, problems: &mut Vec<Problem>) -> Option<Layer> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let file = toml_file::File { path, users };
            Some(file.read(&text, keys, problems))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // A folder of that name, or a path through a file, is nothing that the user wrote.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => None,
        Err(error) => {
            problems.push(Problem::unreadable(path, &error));
            None
        }
    }
}

/// Where the user's file lies, by the platform's custom.
fn user_file(variables: &BTreeMap<&str, &str>) -> Option<PathBuf> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    if let Some(chosen) = variables.get(USER_FILE_VARIABLE) {
        return (!chosen.is_empty()).then(|| PathBuf::from(chosen));
    }
    let base = if cfg!(windows) {
        PathBuf::from(set("APPDATA")?)
    } else {
        match set("XDG_CONFIG_HOME").filter(|path| Path::new(path).is_absolute()) {
            Some(path) => PathBuf::from(path),
            None => Path::new(set("HOME")?).join(".config"),
        }
    };
    Some(base.join("outrigger").join("config.toml"))
}

/// The JSON Schema of the files, the editor's settings and the environment alike.
pub fn schema() -> Schema {
    schemars::schema_for!(Settings)
}

/// Every setting's name with what it is for, for editors and people. `*` stands for a name that the user chooses.
pub fn documented() -> Vec<Documented> {
    Keys::known().documented()
}

pub use keys::Documented;

/// An `outrigger.toml` in which every setting is explained and commented out.
pub fn template() -> String {
    template::of(&Keys::known())
}

#[cfg(test)]
mod tests;
