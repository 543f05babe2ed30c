//! Reads captures: a folder for each tool, a folder in it for each case, as `tests/fixtures/gates/README.md` describes.

use std::path::{Path, PathBuf};

use outrigger::gates::catalogue;
use outrigger::gates::columns::{Columns, Unit};
use outrigger::gates::locate::{Roots, Sources};
use outrigger::gates::output::{Artifact, Exit, Invocation, ToolOutput, Version};
use outrigger::gates::readers::pattern::{self, Declared, Matcher};
use outrigger::gates::reading::Reading;
use outrigger::kernel::finding::GateReport;
use outrigger::kernel::ids::GateId;
use serde_json::Value;

/// One case.
pub struct Capture {
    pub tool: String,
    pub name: String,
    pub folder: PathBuf,
    pub invocation: Invocation,
    pub output: ToolOutput,
    pub expected: Value,
}

/// All cases below a folder, by name.
pub fn all(root: &Path) -> Vec<Capture> {
    let mut captures = Vec::new();
    for tool in folders(root) {
        for case in folders(&tool) {
            if case.join("cmd.txt").is_file() {
                captures.push(load(&tool, &case));
            }
        }
    }
    captures
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap_or_else(|error| panic!("{}: {error}", root.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn load(tool: &Path, case: &Path) -> Capture {
    let read = |name: &str| std::fs::read(case.join(name)).unwrap_or_default();
    let expected = serde_json::from_slice(&read("expected.json")).unwrap_or_default();
    let mut artifacts = Vec::new();
    collect(&case.join("artifacts"), "", &mut |name, path| {
        artifacts.push(Artifact {
            name,
            bytes: std::fs::read(path).unwrap(),
        });
    });
    Capture {
        tool: file_name(tool),
        name: file_name(case),
        folder: case.to_owned(),
        invocation: invocation(&String::from_utf8_lossy(&read("cmd.txt"))),
        output: ToolOutput {
            stdout: read("stdout"),
            stderr: read("stderr"),
            exit: exit(&String::from_utf8_lossy(&read("exit"))),
            artifacts,
            cut: false,
        },
        expected,
    }
}

fn exit(text: &str) -> Exit {
    let text = text.trim();
    match text.strip_prefix("signal ") {
        Some(signal) => Exit::Signal(signal.parse().unwrap()),
        None => Exit::Code(text.parse().unwrap()),
    }
}

/// The command line, and what the folder it came from says of the version (see the captures' own page).
fn invocation(text: &str) -> Invocation {
    let command: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let argv: Vec<String> = command
        .join("\n")
        .split_whitespace()
        .map(|word| word.trim_matches(['\'', '"']).to_owned())
        .collect();
    let program = argv
        .iter()
        .find(|word| !word.contains('=') || word.starts_with('/'))
        .cloned()
        .unwrap_or_default();
    let version = |major, minor| Some(Version { major, minor });
    let version = match (program.rsplit('/').next().unwrap_or_default(), &program) {
        ("mypy", path) if path.contains("/venv1/") => version(1, 20),
        ("mypy", _) => version(2, 4),
        ("ruff", path) if path.contains("/venv9/") => version(0, 9),
        ("ruff", _) => version(0, 17),
        _ => None,
    };
    Invocation { argv, version }
}

fn collect(folder: &Path, prefix: &str, found: &mut dyn FnMut(String, &Path)) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = format!("{prefix}{}", file_name(&path));
        if path.is_dir() {
            collect(&path, &format!("{name}/"), found);
        } else {
            found(name, &path);
        }
    }
}

/// The case's files under the names that the capture has for them.
pub struct CaseFiles(pub PathBuf);

impl CaseFiles {
    fn real(&self, path: &str) -> Option<PathBuf> {
        let inside = path
            .strip_prefix("/workspace/")
            .map(|rest| ("workspace", rest));
        let outside = path.strip_prefix("/outside/").map(|rest| ("outside", rest));
        let (folder, rest) = inside.or(outside)?;
        Some(self.0.join(folder).join(rest))
    }
}

impl Sources for CaseFiles {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.real(path)?).ok()
    }
    fn exists(&self, path: &str) -> bool {
        self.real(path).is_some_and(|path| path.exists())
    }
    fn canonical(&self, path: &str) -> Option<String> {
        self.exists(path).then(|| path.to_owned())
    }
    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        collect(&self.0.join("workspace"), "", &mut |name, _| {
            files.push(name);
        });
        files
    }
}

pub fn roots() -> Roots {
    Roots {
        workspace: vec!["/workspace".to_owned()],
        cwd: "/workspace".to_owned(),
    }
}

impl Capture {
    pub fn title(&self) -> String {
        format!("{}/{}", self.tool, self.name)
    }

    pub fn report(&self) -> GateReport {
        self.report_of(&self.output)
    }

    /// What the case's reader makes of another output.
    pub fn report_of(&self, output: &ToolOutput) -> GateReport {
        let roots = roots();
        let files = CaseFiles(self.folder.clone());
        let tool = catalogue::find(&self.tool)
            .unwrap_or_else(|| panic!("no reader for the tool `{}`", self.tool));
        match self.declared_pattern() {
            Some(declared) => {
                let matcher = Matcher::new(&declared, Columns::new(Unit::CodePoints)).unwrap();
                let reading = Reading::new(
                    GateId::new("generic"),
                    "lint",
                    &self.invocation,
                    (&roots, &files),
                );
                let parsed = pattern::read(&reading, output, &matcher);
                reading.report(&tool.verdicts, output, parsed)
            }
            None => tool.report(&self.invocation, output, (&roots, &files)),
        }
    }

    /// The pattern that the user of this case declared; the notes quote it as TOML.
    fn declared_pattern(&self) -> Option<Vec<Declared>> {
        #[derive(serde::Deserialize)]
        struct Gate {
            pattern: Vec<Declared>,
        }
        let notes = self.expected.get("notes")?.as_str()?;
        let start = notes.find("pattern = [")?;
        let text = notes.get(start..)?;
        let end = text
            .match_indices(']')
            .map(|(at, _)| at + 1)
            .find(|end| toml::from_str::<Gate>(&text[..*end]).is_ok())?;
        Some(toml::from_str::<Gate>(&text[..end]).unwrap().pattern)
    }
}
