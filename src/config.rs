//! Configuration: what the user has set, where, and what it comes to.
//!
//! Layers, each over the one before it: defaults, the user's file, the workspace's `outrigger.toml`, the environment, the
//! editor's settings, the flags of one call. All of them have one shape, [`Settings`], and one schema. Owns the names, the
//! reading of the files and the merging. Promises: a bad value or an unknown name costs that one setting and is told with
//! its file and line, never the rest; every value knows where it comes from; nothing is kept in memory, so that a changed
//! file holds from its next use on; an untrusted workspace sets nothing, and no workspace says where keys are sent.

mod keys;
mod layer;
mod merge;
mod settings;
mod template;
mod toml_file;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use schemars::Schema;
use serde_json::Value;

pub use layer::{Origin, Problem};
pub use merge::Loaded;
pub use settings::{LogFormat, LogSettings, OnRestart, RunsSettings, Settings};

use keys::Keys;
use layer::Layer;

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
    editor: Mutex<[Value; 2]>,
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
            editor: Mutex::default(),
            environment,
        }
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

    /// What holds now. `trusted`: whether the workspace's file may say anything. `call`: what this one call says, in the
    /// shape of [`Settings`].
    pub fn load(&self, trusted: bool, call: &Value) -> Loaded {
        let keys = Keys::known();
        let mut layers = Vec::new();
        let mut problems = Vec::new();
        if let Some(path) = &self.user_file {
            layers.extend(read(path, true, &keys, &mut problems));
        }
        if let Some(path) = &self.workspace_file {
            match read(path, false, &keys, &mut problems) {
                Some(layer) if trusted => layers.push(layer),
                Some(layer) if !layer.is_empty() => problems.push(Problem::untrusted(path)),
                Some(_) | None => {}
            }
        }
        layers.push(Layer::of_environment(
            &self.environment,
            &keys,
            &mut problems,
        ));
        {
            let editor = self.editor.lock().unwrap_or_else(PoisonError::into_inner);
            for said in &*editor {
                let mut layer = Layer::of_value(said, &Origin::Editor, &keys, &mut problems);
                layer.without_users_own(&mut problems);
                layers.push(layer);
            }
        }
        layers.push(Layer::of_value(call, &Origin::Call, &keys, &mut problems));
        merge::merge(layers, problems)
    }
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
