//! Tasks from a list in Markdown: each item of a list at the margin is a task, what is indented below it its description.
//! A text without such a list has its headings as tasks, with what stands below each.
//!
//! `- [x]` is done already and left out. A line `Depends on: t3, #1, "Title"` below an item names what must be done first:
//! a task that exists, an item of this list by its number, or one by its title.

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Item {
    pub title: String,
    pub description: String,
    /// As written: to be looked up.
    pub depends_on: Vec<String>,
    pub done: bool,
}

/// The items of a text, in order, those that are done included: their numbers count.
pub fn read(text: &str) -> Vec<Item> {
    let mut found = collect(text, list_item);
    if found.is_empty() {
        found = collect(text, heading);
    }
    found
}

/// Lines that `begins` reads begin an item; the others belong to the one before.
fn collect(text: &str, begins: impl Fn(&str) -> Option<Item>) -> Vec<Item> {
    let mut found: Vec<Item> = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if !in_code
            && !is_fence
            && let Some(item) = begins(line)
        {
            found.push(item);
            continue;
        }
        in_code ^= is_fence;
        let Some(item) = found.last_mut() else {
            continue;
        };
        match dependencies(line).filter(|_| !in_code) {
            Some(names) => item.depends_on.extend(names),
            None => {
                item.description.push_str(line);
                item.description.push('\n');
            }
        }
    }
    for item in &mut found {
        item.description = unindented(&item.description);
    }
    found
}

/// `- title`, `* [ ] title`, `1. title`, at the margin.
fn list_item(line: &str) -> Option<Item> {
    let bullet = line.strip_prefix(['-', '*', '+']);
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.len())
            .then_some(rest)?
            .strip_prefix(['.', ')'])
    };
    let rest = bullet.or_else(numbered)?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim();
    let boxed = |mark: &str| rest.strip_prefix(mark).map(str::trim_start);
    let (title, done) = match (boxed("[ ]"), boxed("[x]").or_else(|| boxed("[X]"))) {
        (Some(title), _) => (title, false),
        (None, Some(title)) => (title, true),
        (None, None) => (rest, false),
    };
    (!title.is_empty()).then(|| Item {
        title: title.to_owned(),
        done,
        ..Item::default()
    })
}

/// `## title`; a title of the whole text (`# …`) is none.
fn heading(line: &str) -> Option<Item> {
    let rest = line.strip_prefix("##")?.trim_start_matches('#');
    let title = rest.strip_prefix(' ')?.trim();
    (!title.is_empty()).then(|| Item {
        title: title.to_owned(),
        ..Item::default()
    })
}

fn dependencies(line: &str) -> Option<Vec<String>> {
    let line = line.trim().trim_start_matches(['-', '*', ' ']);
    let (word, names) = line.split_once(':')?;
    if !word.eq_ignore_ascii_case("depends on") {
        return None;
    }
    let names = names.split(',').map(|name| name.trim().trim_matches('"'));
    Some(
        names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

/// Without the indentation that all lines share, and without empty lines around.
fn unindented(text: &str) -> String {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let filled = text.lines().filter(|line| !line.trim().is_empty());
    let shared = filled.map(indentation).min().unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.get(shared..).unwrap_or_default())
        .collect();
    lines.join("\n").trim_matches('\n').trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(title: &str, description: &str, depends_on: &[&str]) -> Item {
        Item {
            title: title.into(),
            description: description.into(),
            depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
            done: false,
        }
    }

    #[test]
    fn a_list_is_read_with_what_belongs_to_each_item() {
        let text = "# Plan\n\nSome words.\n\n- [ ] Größe prüfen\n  in `a.rs`\n\n    - a detail\n  Depends on: t3, \"Old one\"\n- [x] Old one\n* 漢字\n1. numbered\n  - Depends on: #1\n```\n- not an item\nDepends on: nothing\n```\n";
        let mut old = item("Old one", "", &[]);
        old.done = true;
        assert_eq!(
            read(text),
            [
                item(
                    "Größe prüfen",
                    "in `a.rs`\n\n  - a detail",
                    &["t3", "Old one"]
                ),
                old,
                item("漢字", "", &[]),
                item(
                    "numbered",
                    "```\n- not an item\nDepends on: nothing\n```",
                    &["#1"]
                ),
            ]
        );
    }

    #[test]
    fn without_a_list_headings_are_tasks() {
        let text = "# All\n\n## One\n\nwords\n\n### Two\nDepends on: #1\n\n-not a list\n";
        assert_eq!(
            read(text),
            [
                item("One", "words", &[]),
                item("Two", "-not a list", &["#1"])
            ]
        );
        assert_eq!(read("nothing here\n"), []);
    }
}
