//! Lays the layers over each other.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::keys::{Documented, is_users_only};
use super::layer::{Layer, Origin, Problem};
use super::settings::Settings;
use super::trust::Trust;

/// What holds, where each value comes from, and what was left out.
#[derive(Debug)]
pub struct Loaded {
    pub settings: Settings,
    /// By path, `budget.tokens`; what is not in it is the default.
    origins: BTreeMap<String, Origin>,
    pub problems: Vec<Problem>,
    /// Whether anything of the workspace may be run.
    pub trust: Trust,
}

impl Loaded {
    pub fn origin(&self, name: &str) -> Origin {
        self.origins.get(name).cloned().unwrap_or(Origin::Default)
    }

    /// What is wrong with what the call itself says.
    pub fn problems_of_the_call(&self) -> impl Iterator<Item = &Problem> {
        self.problems
            .iter()
            .filter(|problem| problem.origin == Origin::Call)
    }

    pub fn is_set(&self, name: &str) -> bool {
        self.origins.contains_key(name)
    }

    /// [`Self::listed`] without what only the user's own layers may set: that can hold secrets, and no editor sets it.
    pub fn listed_for_editors(&self) -> Vec<(String, Value, Origin)> {
        let mut listed = self.listed();
        listed.retain(|(name, _, _)| {
            let path: Vec<String> = name.split('.').map(str::to_owned).collect();
            !is_users_only(&path)
        });
        listed
    }

    /// Every setting with its value and where that comes from; entries under names of the user's choice included.
    pub fn listed(&self) -> Vec<(String, Value, Origin)> {
        let all = serde_json::to_value(&self.settings).unwrap_or(Value::Null);
        let names = super::documented()
            .into_iter()
            .map(|Documented { name, .. }| name)
            .filter(|name| !name.contains('*'))
            .chain(self.origins.keys().cloned());
        let names: BTreeSet<String> = names.collect();
        let value = |name: &str| {
            let mut parts = name.split('.');
            parts.try_fold(&all, |value, part| value.get(part)).cloned()
        };
        names
            .into_iter()
            .map(|name| {
                let (value, origin) = (value(&name), self.origin(&name));
                (name, value.unwrap_or(Value::Null), origin)
            })
            .collect()
    }
}

pub fn merge(layers: Vec<Layer>, mut problems: Vec<Problem>, trust: Trust) -> Loaded {
    let mut all = Value::Object(Map::new());
    let mut origins = BTreeMap::new();
    for leaf in layers.into_iter().flat_map(|layer| layer.leaves) {
        set(&mut all, &leaf.path, leaf.value);
        origins.insert(leaf.path.join("."), leaf.origin);
    }
    let settings = Settings::deserialize(all).unwrap_or_else(|error| {
        // Each leaf fitted by itself; together they must.
        problems.push(Problem {
            origin: Origin::Default,
            message: format!("the settings do not fit together: {error}; the defaults hold"),
        });
        Settings::default()
    });
    Loaded {
        settings,
        origins,
        problems,
        trust,
    }
}

/// Sets the value at the path, making tables on the way.
pub fn set(value: &mut Value, path: &[String], new: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = new;
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    if let Value::Object(object) = value {
        set(object.entry(first).or_insert(Value::Null), rest, new);
    }
}
