//! The sample project: what is on disk, what the person has typed and not saved, and what is right in the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What the run is asked to do.
pub const PROMPT: &str = "Let durations be given in hours, such as `2h`.";

pub const CODE: &str = "src/lib.rs";
pub const README: &str = "README.md";

const CODE_ON_DISK: &str = include_str!("sample/lib.rs");
pub const README_ON_DISK: &str = include_str!("sample/readme.md");
const SCRIPT: &str = include_str!("demo.script.jsonl");

/// A line that the person has just typed into each file.
const TYPED_CODE: &str = "/// Whole numbers only: there is no `1.5m`.\n";
pub const TYPED_README: &str = "Durations as people write them, for our timers.\n";

/// Folders and files of one demo, all below one temporary folder.
#[derive(Debug)]
pub struct Sample {
    pub project: PathBuf,
    /// The scripted model's name; its file lies beside the project.
    pub model: String,
    pub state: PathBuf,
}

impl Sample {
    /// # Errors
    /// A file cannot be written.
    pub fn make(folder: &Path) -> io::Result<Self> {
        let project = folder.join("tempo");
        fs::create_dir_all(project.join("src"))?;
        fs::write(
            project.join("Cargo.toml"),
            include_str!("sample/manifest.toml"),
        )?;
        fs::write(project.join("Cargo.lock"), include_str!("sample/lock.toml"))?;
        fs::write(project.join(".gitignore"), "/target\n")?;
        fs::write(project.join(CODE), CODE_ON_DISK)?;
        fs::write(project.join(README), README_ON_DISK)?;
        fs::write(folder.join("demo.script.jsonl"), SCRIPT)?;
        Ok(Self {
            project,
            // From the project, in which the sidecar is started.
            model: "scripted:../demo.script.jsonl".to_owned(),
            state: folder.join("state"),
        })
    }
}

/// `src/lib.rs` as it is in the editor: a line more than on disk.
pub fn code_in_editor() -> String {
    CODE_ON_DISK.replace("pub fn seconds", &format!("{TYPED_CODE}pub fn seconds"))
}

/// `README.md` as it is in the editor: a line other than on disk.
pub fn readme_in_editor() -> String {
    README_ON_DISK.replace("Durations as people write them.\n", TYPED_README)
}

/// `src/lib.rs` when the run is done and days were not wanted: the agent's lines and the typed one.
pub fn code_in_the_end() -> String {
    code_in_editor()
        .replace(
            "const UNITS: [(char, u64); 2] = [('s', 1), ('m', 60)];",
            "const UNITS: [(char, u64); 3] = [('s', 1), ('m', 60), ('h', 3600)];",
        )
        .replace(
            "        assert_eq!(seconds(\"5m\"), Some(300));\n",
            "        assert_eq!(seconds(\"5m\"), Some(300));\n        assert_eq!(seconds(\"2h\"), Some(7200));\n",
        )
}

/// `README.md` when only the new row was taken.
pub fn readme_in_the_end() -> String {
    readme_in_editor() + "| `h`  | 3600    |\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_and_what_is_done_show() {
        for text in [code_in_editor(), code_in_the_end()] {
            assert!(text.contains(TYPED_CODE));
        }
        for text in [readme_in_editor(), readme_in_the_end()] {
            assert!(text.contains(TYPED_README));
        }
        assert!(code_in_the_end().contains("; 3]") && code_in_the_end().contains("\"2h\""));
        assert_ne!(code_in_editor(), CODE_ON_DISK);
        assert_ne!(readme_in_editor(), README_ON_DISK);
    }
}
