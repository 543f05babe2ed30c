//! Reads a settings file in TOML, and knows on which line everything stands.

use std::path::Path;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::Keys;
use super::layer::{Layer, Origin, Problem, Walk};

pub struct File<'a> {
    pub path: &'a Path,
    /// Whether it is the user's own; else a workspace's.
    pub users: bool,
}

impl File<'_> {
    /// What of it is known. A file that is no TOML says nothing but where it breaks.
    pub fn read(&self, text: &str, keys: &Keys, problems: &mut Vec<Problem>) -> Layer {
        // A mark at the beginning is no part of the text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let table = match DeTable::parse(text) {
            Ok(table) => table.into_inner(),
            Err(error) => {
                let at = error.span().map_or(0, |span| line_of(text, span.start));
                problems.push(Problem {
                    origin: self.at(at),
                    message: format!(
                        "this is no TOML: {}; none of the file's settings holds",
                        error.message()
                    ),
                });
                return Layer::default();
            }
        };
        let value = table_value(&table);
        let mut layer = Layer::default();
        let mut origin_at = |path: &[String]| {
            let place = place_of(&table, path);
            self.at(place.map_or(0, |start| line_of(text, start)))
        };
        Walk {
            origin_at: &mut origin_at,
            layer: &mut layer,
            problems,
        }
        .enter(keys.root(), &mut Vec::new(), &value);
        if !self.users {
            layer.without_users_own(problems);
        }
        layer
    }

    fn at(&self, line: usize) -> Origin {
        Origin::File {
            path: self.path.to_owned(),
            line,
        }
    }
}

fn table_value(table: &DeTable<'_>) -> Value {
    let entries = table
        .iter()
        .map(|(name, value)| (name.get_ref().to_string(), value_of(value.get_ref())));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::from(number.as_str()), Value::from),
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map_or_else(|| Value::from(number.as_str()), Value::Number),
        DeValue::Boolean(yes) => Value::from(*yes),
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| value_of(item.get_ref())).collect(),
        DeValue::Table(table) => table_value(table),
    }
}

/// Where the name at the end of the path stands.
fn place_of(table: &DeTable<'_>, path: &[String]) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    // A name may be written in either spelling.
    let (name, value): (_, &Spanned<DeValue<'_>>) = table
        .iter()
        .find(|(name, _)| is_same(name.get_ref(), first))?;
    inside(value, rest).or_else(|| Some(name.span().start))
}

/// Where the rest of a path leads in a value.
fn inside(value: &Spanned<DeValue<'_>>, rest: &[String]) -> Option<usize> {
    let (first, after) = rest.split_first()?;
    match value.get_ref() {
        DeValue::Table(inner) => place_of(inner, rest),
        DeValue::Array(items) => {
            let item = items.get(first.parse::<usize>().ok()?)?;
            inside(item, after).or_else(|| Some(item.span().start))
        }
        _ => None,
    }
}

fn is_same(written: &str, name: &str) -> bool {
    let plain = |text: &str| text.replace('_', "").to_lowercase();
    written == name || (written.contains('_') && plain(written) == plain(name))
}

/// From 1.
fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}
