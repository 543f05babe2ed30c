//! Which files a task is about, told by its words: those it names, and those that have the names it uses.

use std::collections::BTreeSet;

use crate::kernel::path::RelPath;

/// Files that are named whole, and names of code, that are looked at.
const MOST_FILES: usize = 12;
const MOST_SYMBOLS: usize = 8;

/// What a task names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Named {
    /// In the order of the task.
    pub files: Vec<RelPath>,
    /// Names of functions, types and the like.
    pub symbols: Vec<String>,
}

/// Reads a task's words against the files there are.
pub fn named(task: &str, files: &[RelPath]) -> Named {
    let mut named = Named::default();
    let mut seen = BTreeSet::new();
    for word in task.split(|c: char| c.is_whitespace() || "\"'`<>()[]{},;*".contains(c)) {
        let word = word
            .trim_start_matches("./")
            .trim_end_matches(['.', ':', '!', '?']);
        // `src/a.rs:12:3` is a place in a file.
        let path = word.split_once(':').map_or(word, |(path, _)| path);
        if path.is_empty() || !seen.insert(path) {
            continue;
        }
        let meant = meant(path, files);
        if !meant.is_empty() {
            named.files.extend(meant.into_iter().cloned());
        } else if is_symbol(word) {
            let last = word.rsplit(['.', ':', '#']).next().unwrap_or(word);
            if !named.symbols.iter().any(|known| known == last) {
                named.symbols.push(last.to_owned());
            }
        }
    }
    let mut once = BTreeSet::new();
    named.files.retain(|path| once.insert(path.clone()));
    named.files.truncate(MOST_FILES);
    named.symbols.truncate(MOST_SYMBOLS);
    named
}

/// The files that a word means: that path, or all that end in it where they are few.
fn meant<'a>(word: &str, files: &'a [RelPath]) -> Vec<&'a RelPath> {
    if let Some(exact) = files.iter().find(|path| path.as_str() == word) {
        return vec![exact];
    }
    if !word.contains(['.', '/']) {
        return Vec::new();
    }
    let ends_in = |path: &&RelPath| {
        let rest = path.as_str().strip_suffix(word);
        rest.is_some_and(|rest| rest.ends_with('/'))
    };
    let found: Vec<&RelPath> = files.iter().filter(ends_in).collect();
    if found.len() <= 3 { found } else { Vec::new() }
}

/// `parse_line`, `parseLine`, `ParseLine`, `Parser::line`, `a.b`: nothing that prose has.
fn is_symbol(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "_.:#".contains(c);
    let starts = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if word.len() < 3 || word.len() > 80 || !starts || !word.chars().all(plain) {
        return false;
    }
    let inner: Vec<char> = word.chars().collect();
    let humps = inner.windows(2).any(|pair| match pair {
        [one, other] => one.is_lowercase() && other.is_uppercase(),
        _ => false,
    });
    let joined = word.trim_matches('_').contains('_') || word.contains("::");
    let dotted = word.split('.').count() > 1 && word.split('.').all(|part| part.len() > 1);
    humps || joined || dotted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_names_files_and_symbols() {
        let files: Vec<RelPath> = [
            "src/a.rs",
            "src/b/mod.rs",
            "c/mod.rs",
            "README",
            "tests/ü.py",
        ]
        .map(|text| RelPath::parse(text).unwrap())
        .into();
        let rows: [(&str, &[&str], &[&str]); 7] = [
            ("Fix src/a.rs:12:3, please.", &["src/a.rs"], &[]),
            ("Fix `a.rs` and ü.py!", &["src/a.rs", "tests/ü.py"], &[]),
            ("See mod.rs", &["src/b/mod.rs", "c/mod.rs"], &[]),
            ("README says so. README.", &["README"], &[]),
            (
                "parse_line() of LineParser and Parser::line and url.parse",
                &[],
                &["parse_line", "LineParser", "line", "parse"],
            ),
            ("Make it faster, e.g. by 12.5 percent. Really.", &[], &[]),
            ("", &[], &[]),
        ];
        for (task, paths, symbols) in rows {
            let found = named(task, &files);
            let got: Vec<&str> = found.files.iter().map(RelPath::as_str).collect();
            assert_eq!(got, paths, "{task}");
            assert_eq!(found.symbols, symbols, "{task}");
        }
    }
}
