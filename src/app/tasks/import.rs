//! Lists of tasks: Markdown, or JSON.
//!
//! JSON is an array of titles and objects, alone or as `{"tasks": […]}`; an object has `title`, and may have `description`,
//! `dependsOn` (ids, titles, or `#` and a number), `done`, and `settings`.

use serde::Deserialize;
use thiserror::Error;

use super::Draft;
use crate::kernel::task::{Task, TaskOrigin, TaskSettings, outline};

/// What a list is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Markdown,
    Json,
}

impl Format {
    /// By the first letter: no list in Markdown begins like JSON.
    pub fn of(text: &str) -> Self {
        if text.trim_start().starts_with(['[', '{']) && !text.trim_start().starts_with("[ ]") {
            Self::Json
        } else {
            Self::Markdown
        }
    }
}

#[derive(Debug, Error)]
pub enum ImportError {
    #[error(
        "the list is not JSON as it is understood here: {0}; give [\"title\", {{\"title\": …, \"description\": …, \"dependsOn\": […]}}]"
    )]
    Json(#[from] serde_json::Error),
    #[error(
        "there is no task in it: each item of a list (`- title`) is one, or else each heading (`## title`)"
    )]
    Nothing,
}

/// What came of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    pub tasks: Vec<Task>,
    /// Items that were marked as done, and left out.
    pub already_done: u32,
}

pub(super) struct Read {
    pub drafts: Vec<Draft>,
    pub already_done: u32,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Whole {
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    depends_on: Vec<String>,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    settings: TaskSettings,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenList {
    Alone(Vec<serde_json::Value>),
    Under { tasks: Vec<serde_json::Value> },
}

struct Item {
    outline: outline::Item,
    settings: TaskSettings,
}

/// The tasks of a list that are not done, each with those it depends on as `#` and a number among them where they are in it.
///
/// # Errors
/// It is no list.
pub fn read_list(text: &str, format: Format) -> Result<Vec<Draft>, ImportError> {
    Ok(read(text, format, None)?.drafts)
}

pub(super) fn read(text: &str, format: Format, file: Option<&String>) -> Result<Read, ImportError> {
    let items: Vec<Item> = match format {
        Format::Markdown => outline::read(text)
            .into_iter()
            .map(|outline| Item {
                outline,
                settings: TaskSettings::default(),
            })
            .collect(),
        Format::Json => read_json(text)?,
    };
    if items.is_empty() {
        return Err(ImportError::Nothing);
    }
    // Numbers and titles count with those that are done, which nobody need wait for.
    let number = |name: &String| {
        name.strip_prefix('#')?
            .parse::<usize>()
            .ok()?
            .checked_sub(1)
    };
    let mut drafts = Vec::new();
    for item in items.iter().filter(|item| !item.outline.done) {
        let mut depends_on = Vec::new();
        for name in &item.outline.depends_on {
            let by_number = number(name).and_then(|at| items.get(at));
            let meant =
                by_number.or_else(|| items.iter().find(|other| other.outline.title == *name));
            match meant {
                Some(other) if other.outline.done => {}
                Some(other) => depends_on.push(place(&items, other)),
                None => depends_on.push(name.clone()),
            }
        }
        drafts.push(Draft {
            title: Some(item.outline.title.clone()),
            description: item.outline.description.clone(),
            origin: TaskOrigin::List {
                file: file.cloned(),
            },
            depends_on,
            settings: item.settings.clone(),
        });
    }
    let done = items.len() - drafts.len();
    Ok(Read {
        drafts,
        already_done: u32::try_from(done).unwrap_or(u32::MAX),
    })
}

/// Its number among those that are to be made.
fn place(items: &[Item], wanted: &Item) -> String {
    let open = items.iter().filter(|item| !item.outline.done);
    let before = open.take_while(|item| !std::ptr::eq(*item, wanted));
    format!("#{}", before.count() + 1)
}

fn read_json(text: &str) -> Result<Vec<Item>, serde_json::Error> {
    let list = match serde_json::from_str(text)? {
        WrittenList::Alone(list) | WrittenList::Under { tasks: list } => list,
    };
    let read = |value: serde_json::Value| {
        // Told apart by hand, so that an error says which field is wrong.
        let whole = match value {
            serde_json::Value::String(title) => Whole {
                title,
                ..Whole::default()
            },
            other => serde_json::from_value(other)?,
        };
        Ok(Item {
            outline: outline::Item {
                title: whole.title,
                description: whole.description,
                depends_on: whole.depends_on,
                done: whole.done,
            },
            settings: whole.settings,
        })
    };
    list.into_iter().map(read).collect()
}
