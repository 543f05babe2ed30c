//! Keeps the dependency table in the docs of `src/lib.rs` true: who may use whom, and what the kernel must not know.
//!
//! Sources are read token by token, so comments and strings do not count, and paths inside macros, groups, inner modules
//! and behind `super` do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value
)] // a test may panic

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Modules, each with those it may use besides itself.
type Table = BTreeMap<String, BTreeSet<String>>;

/// What would make the kernel impure. A path is refused when it begins like this, or has a segment of this name.
const IMPURE_PATHS: [&[&str]; 9] = [
    &["tokio"],
    &["serde_json"],
    &["lsp_types"],
    &["tower_lsp"],
    &["std", "fs"],
    &["std", "process"],
    &["std", "net"],
    &["std", "thread"],
    &["std", "env"],
];
const IMPURE_NAMES: [&str; 2] = ["Instant", "SystemTime"];

/// A path as the source spells it, after `use` groups are unfolded, and the module it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mention {
    inside: Vec<String>,
    path: Vec<String>,
}

#[test]
fn modules_use_only_what_the_table_allows() {
    let table = table_of(&read(&source().join("lib.rs")));
    let mut complaints = Vec::new();
    let files = rust_files(&source());
    assert!(files.len() > table.len(), "{files:?}");
    for file in files {
        let inside = module_of(&file);
        complaints.extend(
            judge(&read(&file), &inside, &table)
                .into_iter()
                .map(|complaint| format!("{}: {complaint}", file.display())),
        );
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_module_has_its_row() {
    let library = read(&source().join("lib.rs"));
    let table = table_of(&library);
    let declared: BTreeSet<String> = declared_modules(&library).into_iter().collect();
    let described: BTreeSet<String> = table.keys().cloned().collect();
    assert_eq!(declared, described, "modules of lib.rs against rows");
    for (module, uses) in &table {
        for used in uses {
            assert!(table.contains_key(used), "{module} may use unknown {used}");
            assert!(
                !reaches(&table, used, module, &mut BTreeSet::new()),
                "{module} and {used} use each other"
            );
        }
    }
}

/// The test of the test: each of these must be noticed, and the innocent ones not.
#[test]
fn violations_are_caught() {
    let table = table_of(
        "//! | module | what for | may use |\n//! |---|---|---|\n\
         //! | `kernel` | decides | nothing |\n//! | `tools` | does | `kernel` |\n\
         //! | `lsp` | shows | `kernel` |\n//! | `cli` | shows | `kernel` |\n",
    );
    let bad = [
        ("kernel", "use crate::tools::Commands;"),
        ("tools", "use crate::lsp;"),
        ("tools", "use crate::{kernel::ids, lsp::{self, x}};"),
        ("tools", "fn f() { let x = crate::lsp::f(); }"),
        ("tools", "fn f() { assert!(crate::cli::f(), \"{}\", 1); }"),
        ("tools", "use super::lsp::x;"),
        ("tools", "mod tests { use super::super::lsp::x; }"),
        ("tools::command", "use super::super::lsp::x;"),
        ("tools", "use crate::unheard_of::x;"),
        ("tools", "pub(in crate::cli) fn f() {}"),
        ("kernel", "use tokio::sync::mpsc;"),
        ("kernel", "use std::{collections::BTreeMap, fs};"),
        ("kernel", "fn f() { std::process::exit(1) }"),
        (
            "kernel",
            "fn f() { let _ = ::std::net::TcpStream::connect(\"\"); }",
        ),
        ("kernel", "use std::{time::{Duration, Instant}};"),
        (
            "kernel",
            "use std::time; fn f() { time::SystemTime::now(); }",
        ),
        ("kernel", "use std::thread::*;"),
        ("kernel", "use serde_json as json;"),
        (
            "kernel::tests",
            "use lsp_types::Range; use crate::tools::x;",
        ),
        ("kernel", "fn f(x: lsp_types::Range) {}"),
        ("cli", "use lsp_types::Range;"),
        ("cli", "use tower_lsp::lsp_types::Range;"),
    ];
    for (module, text) in bad {
        let found = judge(
            text,
            &module.split("::").map(str::to_owned).collect::<Vec<_>>(),
            &table,
        );
        assert!(!found.is_empty(), "not noticed in {module}: {text}");
    }
    let good = [
        ("kernel::edit::tests", "use serde_json::json; use std::fs;"),
        ("kernel", "mod tests { use serde_json::json; }"),
        (
            "kernel::run",
            "use super::ids; use crate::kernel::x; use std::time::Duration;",
        ),
        (
            "kernel",
            "//! Not tokio, not `crate::lsp`.\nconst A: &str = \"std::fs crate::lsp\";",
        ),
        (
            "kernel",
            "mod tests { use super::*; use super::super::kernel::x; }",
        ),
        (
            "tools",
            "use crate::kernel::{ids::{self}, x}; use tokio::fs; use std::process::Command;",
        ),
        ("lsp", "use lsp_types::Range; use tower_lsp::LspService;"),
        ("kernel", "fn f(process: u32, fs: u32) { process.max(fs) }"),
    ];
    for (module, text) in good {
        let found = judge(
            text,
            &module.split("::").map(str::to_owned).collect::<Vec<_>>(),
            &table,
        );
        assert!(found.is_empty(), "wrongly refused in {module}: {found:?}");
    }
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// `src/kernel/diff/tests.rs`: `kernel`, `diff`, `tests`. The binary's and the library's roots: nothing.
fn module_of(file: &Path) -> Vec<String> {
    let path = file.strip_prefix(source()).unwrap().with_extension("");
    let parts: Vec<String> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    match parts.as_slice() {
        [only] if only == "lib" || only == "main" => Vec::new(),
        _ => parts,
    }
}

/// Rows `| `module` | what for | `used`, `used` |` in the crate's docs.
fn table_of(library: &str) -> Table {
    let names = |cell: &str| -> Vec<String> {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    library
        .lines()
        .filter_map(|line| line.strip_prefix("//! |"))
        .filter_map(|row| {
            let cells: Vec<&str> = row.trim_end().trim_end_matches('|').split('|').collect();
            let module = names(cells.first()?).first()?.clone();
            Some((module, names(cells.last()?).into_iter().collect()))
        })
        .collect()
}

fn declared_modules(library: &str) -> Vec<String> {
    library
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .map(str::to_owned)
        .collect()
}

fn reaches(table: &Table, from: &str, to: &str, seen: &mut BTreeSet<String>) -> bool {
    from == to
        || (seen.insert(from.to_owned())
            && table
                .get(from)
                .is_some_and(|uses| uses.iter().any(|next| reaches(table, next, to, seen))))
}

/// Complaints about one file that stands in the module `inside`.
fn judge(text: &str, inside: &[String], table: &Table) -> Vec<String> {
    let Some(module) = inside.first() else {
        // The roots put the modules together.
        return Vec::new();
    };
    let tokens: TokenStream = text.parse().expect("the file is Rust");
    let mut mentions = Vec::new();
    collect(&tokens, inside, &mut mentions);
    let mut complaints = Vec::new();
    for mention in mentions {
        let path = mention.path.join("::");
        if let Some(used) = module_used(&mention)
            && used != *module
            && !table.get(module).is_some_and(|uses| uses.contains(&used))
        {
            complaints.push(format!("`{module}` may not use `{used}` (`{path}`)"));
        }
        // A test of the kernel may look at the disk or write JSON; what it tests may not.
        let is_tested = !mention.inside.iter().any(|part| part == "tests");
        if module == "kernel" && is_tested && is_impure(&mention.path) {
            complaints.push(format!("the kernel may not use `{path}`"));
        }
        let speaks_lsp = mention
            .path
            .iter()
            .any(|part| part == "lsp_types" || part == "tower_lsp");
        if speaks_lsp && module != "lsp" {
            complaints.push(format!("only `lsp` may use `{path}`"));
        }
    }
    complaints
}

/// The module of ours that a path leads to, where it begins at `crate` or at `super`.
fn module_used(mention: &Mention) -> Option<String> {
    match mention.path.first()?.as_str() {
        "crate" | "outrigger" => mention.path.get(1).cloned(),
        "super" => {
            let ups = mention
                .path
                .iter()
                .take_while(|part| *part == "super")
                .count();
            let rest = mention.path.get(ups);
            match mention.inside.len().checked_sub(ups) {
                Some(0) | None => rest.cloned(),
                Some(_) => mention.inside.first().cloned(),
            }
        }
        _ => None,
    }
}

fn is_impure(path: &[String]) -> bool {
    IMPURE_PATHS.iter().any(|start| {
        path.len() >= start.len()
            && path
                .iter()
                .zip(start.iter())
                .all(|(part, want)| part == want)
    }) || path
        .iter()
        .any(|part| IMPURE_NAMES.contains(&part.as_str()))
}

/// Every path in the tokens, with the inner module it stands in.
fn collect(tokens: &TokenStream, inside: &[String], found: &mut Vec<Mention>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Ident(word) if *word == "mod" => {
                if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
                    (tokens.get(at + 1), tokens.get(at + 2))
                {
                    let mut inner = inside.to_vec();
                    inner.push(name.to_string());
                    collect(&body.stream(), &inner, found);
                    at += 3;
                } else {
                    at += 1;
                }
            }
            TokenTree::Ident(_) => {
                let (paths, next) = paths_from(&tokens, at);
                found.extend(paths.into_iter().map(|path| Mention {
                    inside: inside.to_vec(),
                    path,
                }));
                at = next;
            }
            TokenTree::Group(group) => {
                collect(&group.stream(), inside, found);
                at += 1;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => at += 1,
        }
    }
}

/// The path that begins at an identifier, with its `{…}` unfolded, and the place behind it.
fn paths_from(tokens: &[TokenTree], start: usize) -> (Vec<Vec<String>>, usize) {
    let mut path = Vec::new();
    let mut at = start;
    while let Some(TokenTree::Ident(word)) = tokens.get(at) {
        path.push(word.to_string());
        at += 1;
        if !is_separator(tokens, at) {
            return (vec![path], at);
        }
        at += 2;
    }
    let Some(TokenTree::Group(group)) = tokens.get(at) else {
        // `a::*`, `a::<T>`: what follows stands for itself.
        return (vec![path], at);
    };
    if group.delimiter() != Delimiter::Brace {
        return (vec![path], at);
    }
    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
    let mut paths = Vec::new();
    let mut place = 0;
    while let Some(token) = inner.get(place) {
        if matches!(token, TokenTree::Ident(_)) {
            let (tails, next) = paths_from(&inner, place);
            paths.extend(tails.into_iter().map(|tail| {
                let mut whole = path.clone();
                whole.extend(tail.into_iter().filter(|part| part != "self"));
                whole
            }));
            place = next;
            // `x as y`: the new name is no path.
            if matches!(inner.get(place), Some(TokenTree::Ident(word)) if *word == "as") {
                place += 2;
            }
        } else {
            place += 1;
        }
    }
    (paths, at + 1)
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let colon =
        |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
    colon(at) && colon(at + 1)
}
