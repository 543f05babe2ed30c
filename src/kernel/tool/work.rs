//! Tools that change no file: have the work checked, see what is reported, say that it is done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ListFiles;
use crate::kernel::path::RelPath;

/// Find files by name, honouring ignore files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindFiles {
    /// A glob, such as `**/*_test.rs` or `src/**/mod.ts`.
    pub pattern: String,
    /// Folder relative to the workspace root. Default: the root.
    #[serde(default)]
    pub path: Option<RelPath>,
}

impl From<FindFiles> for ListFiles {
    fn from(find: FindFiles) -> Self {
        Self {
            path: find.path,
            glob: Some(find.pattern),
        }
    }
}

/// Run the project's checks (linters, compilers, tests) now. They also run by themselves after each change, the quick ones,
/// and before you are done, all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckWork {
    /// Only the checks of these files. Default: everything.
    pub paths: Vec<RelPath>,
}

/// See the problems that are reported now: what the project's checks found in your work, and what the user's editor shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadDiagnostics {
    /// Only those of this file. Default: all.
    pub path: Option<RelPath>,
}

/// Say that the task is done. All checks run; you are done when they find nothing new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishTask {
    /// What you did, in a few sentences, for the user.
    pub summary: String,
    /// What shows that it works: a test that passes, an output that you saw.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// Only if you changed no file: why nothing had to be changed.
    #[serde(default)]
    pub nothing_changed_because: Option<String>,
}

impl FinishTask {
    /// The run's closing words.
    pub fn closing(&self) -> String {
        let mut text = self.summary.trim().to_owned();
        if let Some(why) = &self.nothing_changed_because {
            text.push_str(&format!("\nNothing was changed: {}", why.trim()));
        }
        for evidence in &self.evidence {
            text.push_str(&format!("\n- {}", evidence.trim()));
        }
        text.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_words_have_the_evidence() {
        let finish = FinishTask {
            summary: " Größer. ".into(),
            evidence: vec!["test_größer passes".into()],
            nothing_changed_because: None,
        };
        assert_eq!(finish.closing(), "Größer.\n- test_größer passes");
        let nothing = FinishTask {
            summary: String::new(),
            evidence: Vec::new(),
            nothing_changed_because: Some("it is right already".into()),
        };
        assert_eq!(
            nothing.closing(),
            "Nothing was changed: it is right already"
        );
    }
}
