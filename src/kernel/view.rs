//! What the user looks at: which documents, what is selected, and the problems their editor shows there, of whichever tool.
//!
//! Told by clients that can tell it, each time whole. No decision rests on it: it is context for the model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Severity;
use super::path::RelPath;

/// Letters of a selection, and problems of one document, that are told to the model.
const SELECTION: usize = 4 * 1024;
const PROBLEMS: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct View {
    /// The document in which the user works comes first.
    pub documents: Vec<ViewedDocument>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ViewedDocument {
    pub path: RelPath,
    /// Whether it is on the screen now.
    #[serde(default)]
    pub visible: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// Whole lines, from 1, both included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    pub first_line: u32,
    pub last_line: u32,
    pub text: String,
}

/// What a tool of the user's says of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// From 1.
    pub line: u32,
    pub severity: Severity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub message: String,
}

impl View {
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// For the model; empty when there is nothing to tell.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for document in &self.documents {
            let place = if document.visible { "in view" } else { "open" };
            text.push_str(&format!("{} ({place})\n", document.path));
            if let Some(selection) = document
                .selection
                .as_ref()
                .filter(|selection| !selection.text.trim().is_empty())
            {
                let end = selection.text.floor_char_boundary(SELECTION);
                let shown = selection.text.get(..end).unwrap_or_default();
                let cut = if end < selection.text.len() {
                    " (cut)"
                } else {
                    ""
                };
                text.push_str(&format!(
                    "  selected, lines {} to {}{cut}:\n{}\n",
                    selection.first_line,
                    selection.last_line,
                    shown.trim_end_matches('\n')
                ));
            }
            text.push_str(&problems(document));
        }
        text
    }

    /// What tools say of these documents, of all when none is named.
    pub fn problems_of(&self, path: Option<&RelPath>) -> String {
        let wanted = |document: &&ViewedDocument| path.is_none_or(|path| *path == document.path);
        self.documents.iter().filter(wanted).map(problems).collect()
    }
}

fn problems(document: &ViewedDocument) -> String {
    let mut text = String::new();
    for problem in document.problems.iter().take(PROBLEMS) {
        let severity = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Information => "note",
            Severity::Hint => "hint",
        };
        let names = [problem.source.as_deref(), problem.code.as_deref()];
        let names: Vec<&str> = names.into_iter().flatten().collect();
        text.push_str(&format!(
            "  {}:{}: {severity} {}: {}\n",
            document.path,
            problem.line,
            names.join(" "),
            problem.message.trim_end().replace('\n', "\n    ")
        ));
    }
    let more = document.problems.len().saturating_sub(PROBLEMS);
    if more > 0 {
        text.push_str(&format!("  and {more} more in {}\n", document.path));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_looks_at_is_told_in_bounded_words() {
        let path = |name: &str| RelPath::parse(name).unwrap();
        let problem = |line: u32| Problem {
            line,
            severity: Severity::Warning,
            source: Some("ruff".into()),
            code: Some("F401".into()),
            message: "unused\nreally".into(),
        };
        let view = View {
            documents: vec![
                ViewedDocument {
                    path: path("é.py"),
                    visible: true,
                    selection: Some(Selection {
                        first_line: 2,
                        last_line: 3,
                        text: "漢\nb\n".into(),
                    }),
                    problems: vec![problem(3)],
                },
                ViewedDocument {
                    path: path("b.py"),
                    visible: false,
                    selection: None,
                    problems: (0..25).map(problem).collect(),
                },
            ],
        };
        let told = view.describe();
        assert!(
            told.starts_with("é.py (in view)\n  selected, lines 2 to 3:\n漢\nb\n  é.py:3: warning ruff F401: unused\n    really\nb.py (open)\n"),
            "{told}"
        );
        assert!(told.ends_with("  and 5 more in b.py\n"), "{told}");
        assert_eq!(view.problems_of(Some(&path("é.py"))).lines().count(), 2);
        assert_eq!(View::default().describe(), "");
        let long = View {
            documents: vec![ViewedDocument {
                selection: Some(Selection {
                    first_line: 1,
                    last_line: 1,
                    text: "漢".repeat(SELECTION),
                }),
                problems: Vec::new(),
                ..view.documents[0].clone()
            }],
        };
        assert!(long.describe().len() < SELECTION + 100);
        assert!(long.describe().contains("(cut)"));
    }
}
