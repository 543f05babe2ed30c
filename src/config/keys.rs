//! The names of all settings, read from the schema that their types give.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A table, a setting, or a table whose names the user chooses.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Table {
        about: String,
        names: BTreeMap<String, Node>,
    },
    /// Any name, each with a value of this kind.
    Map { about: String, each: Box<Node> },
    Setting {
        about: String,
        default: Value,
        choices: Vec<String>,
    },
}

/// One setting, for people and for editors that make their settings page of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Documented {
    /// `budget.tokens`; `*` stands for a name that the user chooses.
    pub name: String,
    pub about: String,
    pub default: Value,
    /// What it may be, where that is a list.
    pub choices: Vec<String>,
    /// The variable that sets it.
    pub variable: Option<String>,
    /// Whether a workspace's file may not set it.
    pub users_only: bool,
}

/// All names.
#[derive(Debug)]
pub struct Keys {
    root: Node,
}

/// What only the user's own layers may set: they say where keys are sent, and what is trusted.
const USERS_ONLY: [&str; 3] = ["models", "providers", "trust"];

/// References of a schema that go deeper than this are taken as one setting: a type that holds itself has no end.
const DEEPEST: usize = 8;

impl Keys {
    pub fn known() -> Self {
        let schema = super::schema();
        let defaults = serde_json::to_value(super::Settings::default()).unwrap_or(Value::Null);
        let schema = schema.to_value();
        let definitions = schema.get("$defs").cloned().unwrap_or(Value::Null);
        Self {
            root: Reader {
                definitions: &definitions,
            }
            .node(&schema, &defaults, 0),
        }
    }

    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Every variable that sets something, with the path that it sets.
    pub fn variables(&self) -> Vec<(String, Vec<String>)> {
        let mut paths = Vec::new();
        settings_of(&self.root, &mut Vec::new(), &mut |path, _| {
            if !path.iter().any(|name| name == "*") {
                paths.push((variable(path), path.to_vec()));
            }
        });
        paths
    }

    pub fn documented(&self) -> Vec<Documented> {
        let mut all = Vec::new();
        settings_of(&self.root, &mut Vec::new(), &mut |path, node| {
            let (about, default, choices) = match node {
                Node::Setting {
                    about,
                    default,
                    choices,
                } => (about.clone(), default.clone(), choices.clone()),
                Node::Table { about, .. } | Node::Map { about, .. } => {
                    (about.clone(), Value::Null, Vec::new())
                }
            };
            let open = path.iter().any(|name| name == "*");
            all.push(Documented {
                name: path.join("."),
                about,
                default,
                choices,
                variable: (!open).then(|| variable(path)),
                users_only: is_users_only(path),
            });
        });
        all
    }
}

/// Whether only the user's own layers may set it.
pub fn is_users_only(path: &[String]) -> bool {
    path.first()
        .is_some_and(|first| USERS_ONLY.contains(&first.as_str()))
}

/// `budget.activeS` is set by `OUTRIGGER_BUDGET_ACTIVE_S`.
fn variable(path: &[String]) -> String {
    let mut name = "OUTRIGGER".to_owned();
    for part in path {
        name.push('_');
        for letter in part.chars() {
            if letter.is_uppercase() {
                name.push('_');
            }
            name.extend(letter.to_uppercase());
        }
    }
    name
}

fn settings_of(node: &Node, path: &mut Vec<String>, visit: &mut impl FnMut(&[String], &Node)) {
    match node {
        Node::Table { names, .. } => {
            for (name, inner) in names {
                path.push(name.clone());
                settings_of(inner, path, visit);
                path.pop();
            }
        }
        Node::Map { each, .. } => {
            path.push("*".to_owned());
            settings_of(each, path, visit);
            path.pop();
        }
        Node::Setting { .. } => visit(path, node),
    }
}

struct Reader<'a> {
    definitions: &'a Value,
}

impl Reader<'_> {
    fn node(&self, schema: &Value, default: &Value, depth: usize) -> Node {
        let about = text(schema, "description");
        let target = self.target(schema);
        let about = if about.is_empty() {
            text(target, "description")
        } else {
            about
        };
        if depth < DEEPEST {
            if let Some(properties) = target.get("properties").and_then(Value::as_object) {
                let names = properties
                    .iter()
                    .map(|(name, inner)| {
                        let default = default.get(name).unwrap_or(&Value::Null);
                        (name.clone(), self.node(inner, default, depth + 1))
                    })
                    .collect();
                return Node::Table { about, names };
            }
            if let Some(each) = target
                .get("additionalProperties")
                .filter(|each| each.is_object())
            {
                let each = Box::new(self.node(each, &Value::Null, depth + 1));
                return Node::Map { about, each };
            }
        }
        Node::Setting {
            about,
            default: default.clone(),
            choices: choices(target),
        }
    }

    /// What a reference, or an optional value, is in the end.
    fn target<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let mut target = schema;
        for _ in 0..DEEPEST {
            let reference = target.get("$ref").and_then(Value::as_str);
            let referred = reference
                .and_then(|name| self.definitions.get(name.trim_start_matches("#/$defs/")));
            let optional = target
                .get("anyOf")
                .and_then(Value::as_array)
                .and_then(|all| {
                    let mut real = all
                        .iter()
                        .filter(|one| one.get("type").and_then(Value::as_str) != Some("null"));
                    real.next().filter(|_| real.next().is_none())
                });
            match referred.or(optional) {
                Some(next) => target = next,
                None => return target,
            }
        }
        target
    }
}

fn text(schema: &Value, name: &str) -> String {
    let text = schema.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// The words of an enumeration, with or without a description each.
fn choices(schema: &Value) -> Vec<String> {
    let words = |schema: &Value| -> Vec<String> {
        let list = schema.get("enum").and_then(Value::as_array);
        let constant = schema.get("const");
        list.into_iter()
            .flatten()
            .chain(constant)
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect()
    };
    let direct = words(schema);
    if !direct.is_empty() {
        return direct;
    }
    let each = schema.get("oneOf").and_then(Value::as_array);
    each.into_iter().flatten().flat_map(words).collect()
}
