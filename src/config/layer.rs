//! One layer: settings of one source, each by its path; and what is wrong with them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::keys::{Keys, Node, is_users_only};
use super::merge::set;
use super::settings::Settings;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// Line from 1; 0 where it is not known.
    File {
        path: PathBuf,
        line: usize,
    },
    Variable(String),
    Editor,
    /// The flags, or the parameters, of one call.
    Call,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line: 0 } => write!(f, "{}", path.display()),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => write!(f, "${name}"),
            Self::Editor => f.write_str("editor settings"),
            Self::Call => f.write_str("this call"),
        }
    }
}

/// What is wrong with a setting. It was left out; everything else holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub origin: Origin,
    /// What is wrong, and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)
    }
}

impl Problem {
    pub fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self {
            origin: Origin::File {
                path: path.to_owned(),
                line: 0,
            },
            message: format!("failed to read the settings: {error}; none of them holds"),
        }
    }

    pub fn untrusted(path: &Path, why: &str) -> Self {
        Self {
            origin: Origin::File {
                path: path.to_owned(),
                line: 0,
            },
            message: format!("what it says is run or permitted does not hold: {why}"),
        }
    }
}

/// A value at its path.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    pub path: Vec<String>,
    pub value: Value,
    pub origin: Origin,
}

#[derive(Debug, Default)]
pub struct Layer {
    pub leaves: Vec<Leaf>,
}

impl Layer {
    /// The value that the last one has at the root.
    pub fn last(&self, name: &str) -> Option<&Value> {
        let named =
            |leaf: &&Leaf| leaf.path.len() == 1 && leaf.path.iter().any(|part| part == name);
        self.leaves.iter().rfind(named).map(|leaf| &leaf.value)
    }

    /// Leaves out what only the user's own file may say. An editor is not the user here: its settings may come from a file
    /// of the workspace.
    pub fn without_users_own(&mut self, problems: &mut Vec<Problem>) {
        self.leaves.retain(|leaf| {
            let kept = !is_users_only(&leaf.path);
            if !kept {
                problems.push(Problem {
                    origin: leaf.origin.clone(),
                    message: format!(
                        "`{}` holds only in your own settings file, because it says {}",
                        leaf.path.join("."),
                        if leaf.path.first().is_some_and(|first| first == "trust") {
                            "which folders may run what"
                        } else {
                            "where keys are sent"
                        }
                    ),
                });
            }
            kept
        });
    }

    /// Settings in the shape of [`super::Settings`], all from one place. Null says nothing.
    pub fn of_value(
        value: &Value,
        origin: &Origin,
        keys: &Keys,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut layer = Self::default();
        let mut walk = Walk {
            origin_at: &mut |_| origin.clone(),
            layer: &mut layer,
            problems,
        };
        walk.enter(keys.root(), &mut Vec::new(), value);
        layer
    }

    /// What variables set. A value is read as JSON where that gives something else than a text: numbers, lists.
    pub fn of_environment(
        environment: &[(String, String)],
        keys: &Keys,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut layer = Self::default();
        for (name, path) in keys.variables() {
            let set = environment.iter().find(|(other, _)| *other == name);
            let Some((_, text)) = set.filter(|(_, text)| !text.is_empty()) else {
                continue;
            };
            let plain = Value::from(text.as_str());
            let read = serde_json::from_str(text).unwrap_or_else(|_| plain.clone());
            // `OUTRIGGER_MODEL=7` is a text that looks like a number.
            let value = if fit(&path, &read).is_err() && fit(&path, &plain).is_ok() {
                plain
            } else {
                read
            };
            Walk {
                origin_at: &mut |_| Origin::Variable(name.clone()),
                layer: &mut layer,
                problems,
            }
            .leaf(&path, &value);
        }
        layer
    }
}

/// Goes through a value along the known names.
pub struct Walk<'a> {
    pub origin_at: &'a mut dyn FnMut(&[String]) -> Origin,
    pub layer: &'a mut Layer,
    pub problems: &'a mut Vec<Problem>,
}

impl Walk<'_> {
    pub fn enter(&mut self, node: &Node, path: &mut Vec<String>, value: &Value) {
        match (node, value) {
            (_, Value::Null) => {}
            (Node::Table { names, .. }, Value::Object(object)) => {
                for (name, inner) in object {
                    // `on_save` is written as often as `onSave`.
                    let name = if names.contains_key(name) {
                        name.clone()
                    } else {
                        camel(name)
                    };
                    path.push(name.clone());
                    match names.get(&name) {
                        Some(node) => self.enter(node, path, inner),
                        None => self.unknown(path, names.keys()),
                    }
                    path.pop();
                }
            }
            (Node::Map { each, .. }, Value::Object(object)) => {
                for (name, inner) in object {
                    path.push(name.clone());
                    // An entry is one value: its parts make sense only together.
                    self.look_for_unknown(each, path, inner);
                    self.leaf(path, inner);
                    path.pop();
                }
            }
            _ => self.leaf(path, value),
        }
    }

    fn look_for_unknown(&mut self, node: &Node, path: &mut Vec<String>, value: &Value) {
        if let (Node::Table { names, .. }, Value::Object(object)) = (node, value) {
            for (name, inner) in object {
                path.push(name.clone());
                match names.get(name).or_else(|| names.get(&camel(name))) {
                    Some(node) => self.look_for_unknown(node, path, inner),
                    None => self.unknown(path, names.keys()),
                }
                path.pop();
            }
        }
    }

    /// A value that the setting cannot have is left out.
    fn leaf(&mut self, path: &[String], value: &Value) {
        if let Err(misfit) = fit(path, value) {
            self.problems.push(Problem {
                origin: (self.origin_at)(&misfit.path),
                message: misfit.message,
            });
            return;
        }
        self.layer.leaves.push(Leaf {
            path: path.to_vec(),
            value: value.clone(),
            origin: (self.origin_at)(path),
        });
    }

    fn unknown<'n>(&mut self, path: &[String], names: impl Iterator<Item = &'n String>) {
        let name = path.last().map_or("", String::as_str);
        let near = names
            .map(|known| {
                (
                    strsim::jaro_winkler(&name.to_lowercase(), &known.to_lowercase()),
                    known,
                )
            })
            .filter(|(likeness, _)| *likeness > NEAR)
            .max_by(|one, other| one.0.total_cmp(&other.0));
        let hint = match near {
            Some((_, known)) => {
                let mut meant = path.to_vec();
                if let Some(last) = meant.last_mut() {
                    last.clone_from(known);
                }
                format!("; did you mean `{}`?", meant.join("."))
            }
            None => "; `outrigger config show` lists the settings".to_owned(),
        };
        self.problems.push(Problem {
            origin: (self.origin_at)(path),
            message: format!("there is no setting `{}`{hint}", path.join(".")),
        });
    }
}

/// Why a value cannot be.
struct Misfit {
    /// Where in the value.
    path: Vec<String>,
    message: String,
}

/// Whether the setting can have the value.
fn fit(path: &[String], value: &Value) -> Result<(), Misfit> {
    let mut alone = Value::Object(Map::new());
    set(&mut alone, path, value.clone());
    let result: Result<Settings, _> = serde_path_to_error::deserialize(alone);
    result.map(drop).map_err(|error| {
        let inner: Vec<String> = error
            .path()
            .iter()
            .filter_map(|segment| match segment {
                Segment::Map { key } => Some(key.clone()),
                Segment::Seq { index } => Some(index.to_string()),
                Segment::Enum { .. } | Segment::Unknown => None,
            })
            .collect();
        let path = if inner.len() > path.len() {
            inner
        } else {
            path.to_vec()
        };
        Misfit {
            message: format!(
                "`{}`: {}; it is left out",
                path.join("."),
                error.into_inner()
            ),
            path,
        }
    })
}

/// `on_save` as `onSave`.
fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
    out
}

/// From here on two names are taken for the same one, misspelt.
const NEAR: f64 = 0.8;
