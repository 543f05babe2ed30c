//! C and C++: the commands by which a project compiles each file, asked for diagnostics only.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::kernel::path::RelPath;

/// Where build systems leave the list, relative to the workspace.
const PLACES: [&str; 5] = [
    "compile_commands.json",
    "build/compile_commands.json",
    "out/compile_commands.json",
    "cmake-build-debug/compile_commands.json",
    "builddir/compile_commands.json",
];
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Files compiled in one check.
const MAX_UNITS: usize = 200;

/// One file as it is compiled, without what writes anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// `gcc` or `clang`, by the compiler's name.
    pub tool: &'static str,
    pub program: String,
    pub args: Vec<String>,
    pub directory: PathBuf,
}

#[derive(Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    #[serde(default)]
    arguments: Option<Vec<String>>,
    #[serde(default)]
    command: Option<String>,
}

/// The units of these files; all of them when there are none.
pub fn units(workspace: &Path, changed: &[RelPath]) -> Vec<Unit> {
    let list = PLACES
        .iter()
        .map(|place| workspace.join(place))
        .find(|path| {
            std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES)
        });
    let Some(bytes) = list.and_then(|path| std::fs::read(path).ok()) else {
        return Vec::new();
    };
    let entries: Vec<Entry> = serde_json::from_slice(&bytes).unwrap_or_default();
    let changed: Vec<PathBuf> = changed
        .iter()
        .map(|path| workspace.join(path.as_str()))
        .collect();
    let mut units: Vec<Unit> = entries
        .iter()
        .filter(|entry| changed.is_empty() || changed.contains(&entry.directory.join(&entry.file)))
        .filter_map(unit)
        .take(MAX_UNITS)
        .collect();
    // A file may be compiled several times; the same way is looked at once.
    units.dedup();
    units
}

fn unit(entry: &Entry) -> Option<Unit> {
    let words = match (&entry.arguments, &entry.command) {
        (Some(words), _) => words.clone(),
        (None, Some(command)) => split(command),
        (None, None) => return None,
    };
    let mut words = words.into_iter();
    let mut program = words.next()?;
    let is_launcher = |word: &str| {
        ["ccache", "sccache", "distcc"]
            .iter()
            .any(|name| word.rsplit('/').next() == Some(*name))
    };
    while is_launcher(&program) {
        program = words.next()?;
    }
    let name = program
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(&program)
        .to_lowercase();
    let tool = if name.contains("clang") {
        "clang"
    } else if name.contains("gcc") || name.contains("g++") || matches!(name.as_str(), "cc" | "c++")
    {
        "gcc"
    } else {
        return None;
    };
    let mut args = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "-MF" | "-MT" | "-MQ" | "-MJ" => drop(words.next()),
            "-c" | "-S" | "-E" | "-MD" | "-MMD" | "-MP" | "-M" | "-MM" => {}
            word if word.starts_with("-o") && word.len() > 2 && !word.starts_with("-objc") => {}
            _ => args.push(word),
        }
    }
    args.push("-fsyntax-only".to_owned());
    let ours: &[&str] = if tool == "clang" {
        &[
            "-fno-color-diagnostics",
            "-fno-caret-diagnostics",
            "-fdiagnostics-print-source-range-info",
            "-fdiagnostics-parseable-fixits",
            "-ferror-limit=0",
        ]
    } else {
        &["-fdiagnostics-format=json"]
    };
    args.extend(ours.iter().map(|word| (*word).to_owned()));
    Some(Unit {
        tool,
        program,
        args,
        directory: entry.directory.clone(),
    })
}

/// A command line as a shell would split it: quotes and backslashes, nothing else.
fn split(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(c) = letters.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(letters.next()),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_writes_nothing_is_left_of_a_command() {
        let entry = |command: &str| Entry {
            directory: "/b".into(),
            file: "a.c".into(),
            arguments: None,
            command: Some(command.to_owned()),
        };
        let made = unit(&entry(
            r#"ccache /usr/bin/cc -DX="\"a b\"" -Iinc -MD -MF a.d -o a.o -c 'my file.c'"#,
        ))
        .unwrap();
        assert_eq!((made.tool, made.program.as_str()), ("gcc", "/usr/bin/cc"));
        assert_eq!(
            made.args,
            [
                "-DX=\"a b\"",
                "-Iinc",
                "my file.c",
                "-fsyntax-only",
                "-fdiagnostics-format=json"
            ]
        );
        assert_eq!(unit(&entry("clang++ -c a.cc")).unwrap().tool, "clang");
        assert_eq!(unit(&entry("icc -c a.c")), None);
    }
}
