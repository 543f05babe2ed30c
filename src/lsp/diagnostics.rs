//! Findings and open questions as diagnostics.
//!
//! Owns what the editor shows for each file: the union of the findings and the questions on it, published only when it
//! changes, under the client's own spelling of the file's URI, and cleared when it is gone.

use std::collections::BTreeMap;

use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag,
    Location, NumberOrString, PublishDiagnosticsParams,
};
use serde_json::json;

use super::capabilities::Capabilities;
use super::places::{self, Root, parse_uri};
use super::questions;
use crate::kernel::finding::{Finding, FindingTag, Place, Related, Severity};
use crate::kernel::ids::QuestionId;
use crate::kernel::path::RelPath;
use crate::kernel::question::Question;

/// Diagnostics shown on one file; more make editors slow and tell nobody anything.
const SHOWN_PER_FILE: usize = 500;

/// Lines of a question's detail in its diagnostic, which editors show in a small box or at the end of a line.
const DETAIL_LINES: usize = 10;

/// Name of ours where a tool gives its name.
pub const SOURCE: &str = "outrigger";

/// What is shown where.
#[derive(Debug, Default)]
pub struct Diagnostics {
    files: BTreeMap<RelPath, FileDiagnostics>,
}

#[derive(Debug, Default)]
struct FileDiagnostics {
    findings: Vec<Finding>,
    /// Version of the open document that the findings' places are in.
    findings_version: Option<i32>,
    questions: BTreeMap<QuestionId, Question>,
    /// As the client last spelled it.
    uri: Option<String>,
    /// Version of the open document, as the client last said; `None`: not open.
    version: Option<i32>,
    published: Option<Published>,
}

#[derive(Debug, Clone, PartialEq)]
struct Published {
    uri: String,
    diagnostics: Vec<Diagnostic>,
}

impl Diagnostics {
    /// All findings to show on the file now.
    pub fn set_findings(&mut self, path: &RelPath, findings: Vec<Finding>, version: Option<i32>) {
        let file = self.files.entry(path.clone()).or_default();
        file.findings = findings;
        file.findings_version = version;
    }

    pub fn open_question(&mut self, path: &RelPath, question: Question) {
        let file = self.files.entry(path.clone()).or_default();
        file.questions.insert(question.id.clone(), question);
    }

    /// Gives the file that showed the question.
    pub fn close_question(&mut self, question: &QuestionId) -> Option<RelPath> {
        let (path, file) = self
            .files
            .iter_mut()
            .find(|(_, file)| file.questions.contains_key(question))?;
        file.questions.remove(question);
        Some(path.clone())
    }

    pub fn document_opened(&mut self, path: &RelPath, uri: String, version: i32) {
        let file = self.files.entry(path.clone()).or_default();
        file.uri = Some(uri);
        file.version = Some(version);
    }

    pub fn document_changed(&mut self, path: &RelPath, version: i32) {
        if let Some(file) = self.files.get_mut(path) {
            file.version = Some(version);
        }
    }

    pub fn document_closed(&mut self, path: &RelPath) {
        if let Some(file) = self.files.get_mut(path) {
            file.version = None;
        }
    }

    /// Version of the open document, as the client last said.
    pub fn version(&self, path: &RelPath) -> Option<i32> {
        self.files.get(path)?.version
    }

    pub fn findings(&self, path: &RelPath) -> &[Finding] {
        self.files
            .get(path)
            .map(|file| file.findings.as_slice())
            .unwrap_or_default()
    }

    /// What to publish so that the editor shows nothing of ours any more.
    pub fn clear(&mut self) -> Vec<PublishDiagnosticsParams> {
        let shown = std::mem::take(&mut self.files).into_values();
        shown
            .filter_map(|file| file.published)
            .filter(|published| !published.diagnostics.is_empty())
            .filter_map(|published| message(&published.uri, Vec::new(), None))
            .collect()
    }

    /// What to publish so that the editor shows the file as it is; nothing when it does already.
    pub fn refresh(
        &mut self,
        path: &RelPath,
        root: &Root,
        client: &Capabilities,
    ) -> Vec<PublishDiagnosticsParams> {
        let Some(file) = self.files.get_mut(path) else {
            return Vec::new();
        };
        let uri = file.uri.clone().unwrap_or_else(|| root.uri(path));
        let now = Published {
            uri,
            diagnostics: render_file(file, root, client),
        };
        let before = file.published.take();
        let nothing_shown = |shown: &Option<Published>| {
            shown
                .as_ref()
                .is_none_or(|shown| shown.diagnostics.is_empty())
        };
        let mut messages = Vec::new();
        if let Some(before) = before.as_ref().filter(|before| before.uri != now.uri)
            && !before.diagnostics.is_empty()
        {
            messages.extend(message(&before.uri, Vec::new(), None));
        }
        let is_news = match &before {
            Some(before) if before.uri == now.uri => before.diagnostics != now.diagnostics,
            Some(_) | None => !nothing_shown(&Some(now.clone())),
        };
        if is_news {
            // A version that is not the document's own makes a strict client drop the whole message.
            let version = file
                .findings_version
                .filter(|version| file.version == Some(*version));
            messages.extend(message(&now.uri, now.diagnostics.clone(), version));
        }
        file.published = Some(now);
        messages
    }
}

fn message(
    uri: &str,
    diagnostics: Vec<Diagnostic>,
    version: Option<i32>,
) -> Option<PublishDiagnosticsParams> {
    Some(PublishDiagnosticsParams {
        uri: parse_uri(uri)?,
        diagnostics,
        version,
    })
}

fn render_file(file: &FileDiagnostics, root: &Root, client: &Capabilities) -> Vec<Diagnostic> {
    let questions = file
        .questions
        .values()
        .map(|question| render_question(question, client));
    let mut findings: Vec<&Finding> = file.findings.iter().collect();
    // Whatever order gates run in, the same findings are the same message.
    findings.sort_by_key(|finding| {
        let range = finding.place.as_ref().map(|place| place.range);
        (
            finding.severity,
            range,
            &finding.source,
            &finding.code,
            &finding.message,
        )
    });
    let left_out = findings.len().saturating_sub(SHOWN_PER_FILE);
    findings.truncate(SHOWN_PER_FILE);
    let findings = findings
        .into_iter()
        .map(|finding| render_finding(finding, root, client));
    let mut diagnostics: Vec<Diagnostic> = questions.chain(findings).collect();
    if left_out > 0 {
        diagnostics.push(Diagnostic {
            severity: Some(DiagnosticSeverity::INFORMATION),
            source: Some(SOURCE.to_owned()),
            message: format!("{left_out} more findings in this file are not shown"),
            ..Diagnostic::default()
        });
    }
    diagnostics
}

/// One finding. Its place must be in the file on which it is shown.
pub fn render_finding(finding: &Finding, root: &Root, client: &Capabilities) -> Diagnostic {
    let known = &client.diagnostics;
    let range = finding.place.as_ref().map(|place| place.range);
    let href = finding.href.as_deref().and_then(parse_uri);
    let tags: Vec<DiagnosticTag> = finding
        .tags
        .iter()
        .map(|tag| match tag {
            FindingTag::Unnecessary => DiagnosticTag::UNNECESSARY,
            FindingTag::Deprecated => DiagnosticTag::DEPRECATED,
        })
        .filter(|tag| known.tags.contains(tag))
        .collect();
    let related: Vec<DiagnosticRelatedInformation> = finding
        .related
        .iter()
        .filter_map(|related| render_related(related, root, client))
        .collect();
    Diagnostic {
        range: places::range(range.unwrap_or_default(), client.encoding),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Information => DiagnosticSeverity::INFORMATION,
            Severity::Hint => DiagnosticSeverity::HINT,
        }),
        code: finding.code.clone().map(NumberOrString::String),
        code_description: href
            .filter(|_| known.code_href && finding.code.is_some())
            .map(|href| CodeDescription { href }),
        source: Some(finding.source.clone()),
        message: message_of(finding),
        related_information: (known.related && !related.is_empty()).then_some(related),
        tags: (!tags.is_empty()).then_some(tags),
        data: known
            .data
            .then(|| json!({ "gate": finding.gate, "rendered": finding.rendered })),
    }
}

/// Never empty: some clients refuse a diagnostic without a message.
fn message_of(finding: &Finding) -> String {
    if finding.message.trim().is_empty() {
        let code = finding.code.clone();
        code.unwrap_or_else(|| format!("{} gives no message", finding.source))
    } else {
        finding.message.clone()
    }
}

fn render_related(
    related: &Related,
    root: &Root,
    client: &Capabilities,
) -> Option<DiagnosticRelatedInformation> {
    Some(DiagnosticRelatedInformation {
        location: location(&related.place, root, client)?,
        message: related.message.clone(),
    })
}

fn location(place: &Place, root: &Root, client: &Capabilities) -> Option<Location> {
    Some(Location {
        uri: parse_uri(&root.source_uri(&place.file))?,
        range: places::range(place.range, client.encoding),
    })
}

/// A question, on the place in doubt.
pub fn render_question(question: &Question, client: &Capabilities) -> Diagnostic {
    let range = question.place.as_ref().map(|place| place.range);
    Diagnostic {
        range: places::range(range.unwrap_or_default(), client.encoding),
        severity: Some(DiagnosticSeverity::INFORMATION),
        code: Some(NumberOrString::String(
            questions::kind_name(question).to_owned(),
        )),
        source: Some(SOURCE.to_owned()),
        message: questions::text(question, DETAIL_LINES),
        data: client
            .diagnostics
            .data
            .then(|| json!({ "questionId": question.id })),
        ..Diagnostic::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::finding::{Position, RangeKind, SourceFile, TextRange};
    use crate::kernel::ids::{GateId, RunId};
    use crate::kernel::question::{BlockerReason, QuestionKind, QuestionPlace, QuestionState};
    use serde_json::Value;

    fn client(encoding: &str) -> Capabilities {
        let params = json!({"capabilities": {
            "general": {"positionEncodings": [encoding]},
            "textDocument": {"publishDiagnostics": {
                "relatedInformation": true, "codeDescriptionSupport": true,
                "dataSupport": true, "tagSupport": {"valueSet": [1]},
            }},
        }});
        Capabilities::negotiate(&serde_json::from_value(params).unwrap())
    }

    fn root() -> Root {
        Root::from_uri("file:///w").unwrap()
    }

    fn path() -> RelPath {
        RelPath::parse("src/é.rs").unwrap()
    }

    fn place(file: SourceFile, line: u32) -> Place {
        let at = |utf8, utf16, utf32| Position {
            line,
            utf8,
            utf16,
            utf32,
        };
        Place {
            file,
            range: TextRange {
                start: at(9, 4, 3),
                end: at(12, 7, 6),
            },
            kind: RangeKind::Exact,
            bytes: (9, 12),
            hash: None,
            cell: None,
            line_text: String::new(),
            around: Vec::new(),
        }
    }

    fn finding(message: &str, line: u32) -> Finding {
        Finding {
            gate: GateId::new("cargo-check"),
            source: "cargo".into(),
            place: Some(place(SourceFile::Workspace(path()), line)),
            severity: Severity::Error,
            code: Some("E0308".into()),
            href: Some("https://doc.rust-lang.org/error_codes/E0308.html".into()),
            message: message.into(),
            tags: vec![FindingTag::Unnecessary, FindingTag::Deprecated],
            related: vec![Related {
                place: place(SourceFile::Outside("/lib/x y.rs".into()), 3),
                message: "defined here".into(),
            }],
            fixes: Vec::new(),
            test: None,
            rendered: Some("error[E0308]: …".into()),
        }
    }

    fn question() -> Question {
        Question {
            id: QuestionId::new("r.q1"),
            run: RunId::new("r"),
            title: "Which port?".into(),
            detail: String::new(),
            place: Some(QuestionPlace {
                path: path(),
                range: TextRange::default(),
            }),
            kind: QuestionKind::Blocker {
                reason: BlockerReason::Asked,
            },
            choices: Vec::new(),
            free_text: true,
            opened_at: 0,
            state: QuestionState::Open,
        }
    }

    fn json_of(messages: Vec<PublishDiagnosticsParams>) -> Vec<Value> {
        let value = |message| serde_json::to_value(message).unwrap();
        messages.into_iter().map(value).collect()
    }

    #[test]
    fn a_finding_is_rendered_with_all_that_the_client_knows() {
        for (encoding, columns) in [("utf-8", [9, 12]), ("utf-16", [4, 7]), ("utf-32", [3, 6])] {
            let got = render_finding(&finding("mismatched types", 1), &root(), &client(encoding));
            let range = |line: u32| {
                json!({
                    "start": {"line": line, "character": columns[0]},
                    "end": {"line": line, "character": columns[1]},
                })
            };
            assert_eq!(
                serde_json::to_value(got).unwrap(),
                json!({
                    "range": range(1),
                    "severity": 1,
                    "code": "E0308",
                    "codeDescription": {"href": "https://doc.rust-lang.org/error_codes/E0308.html"},
                    "source": "cargo",
                    "message": "mismatched types",
                    "relatedInformation": [{
                        "location": {"uri": "file:///lib/x%20y.rs", "range": range(3)},
                        "message": "defined here",
                    }],
                    "tags": [1],
                    "data": {"gate": "cargo-check", "rendered": "error[E0308]: …"},
                })
            );
        }
        let plain = Capabilities::negotiate(&lsp_types::InitializeParams::default());
        let got = render_finding(&finding("x", 1), &root(), &plain);
        assert_eq!(
            (
                got.code_description,
                got.related_information,
                got.tags,
                got.data
            ),
            (None, None, None, None)
        );
    }

    #[test]
    fn a_diagnostic_always_has_a_message() {
        let mut empty = finding(" \n", 1);
        assert_eq!(message_of(&empty), "E0308");
        empty.code = None;
        assert_eq!(message_of(&empty), "cargo gives no message");
    }

    #[test]
    fn findings_and_questions_are_merged_published_on_change_and_cleared() {
        let (root, client) = (root(), client("utf-16"));
        let mut shown = Diagnostics::default();
        let texts = |messages: Vec<PublishDiagnosticsParams>| -> Vec<Vec<String>> {
            let texts = |message: PublishDiagnosticsParams| {
                message
                    .diagnostics
                    .into_iter()
                    .map(|it| it.message)
                    .collect()
            };
            messages.into_iter().map(texts).collect()
        };
        shown.set_findings(&path(), vec![finding("b", 2), finding("a", 1)], None);
        assert_eq!(texts(shown.refresh(&path(), &root, &client)), [["a", "b"]]);
        shown.set_findings(&path(), vec![finding("a", 1), finding("b", 2)], None);
        assert!(
            shown.refresh(&path(), &root, &client).is_empty(),
            "the order is no news"
        );
        shown.open_question(&path(), question());
        assert_eq!(
            texts(shown.refresh(&path(), &root, &client)),
            [["Which port?", "a", "b"]]
        );
        shown.set_findings(&path(), Vec::new(), None);
        assert_eq!(
            texts(shown.refresh(&path(), &root, &client)),
            [["Which port?"]]
        );
        assert_eq!(shown.close_question(&QuestionId::new("r.q1")), Some(path()));
        assert_eq!(shown.close_question(&QuestionId::new("r.q1")), None);
        let cleared: [[&str; 0]; 1] = [[]];
        assert_eq!(texts(shown.refresh(&path(), &root, &client)), cleared);
        assert!(shown.refresh(&path(), &root, &client).is_empty());
    }

    #[test]
    fn a_file_is_shown_under_the_clients_own_uri_and_version() {
        let (root, client) = (root(), client("utf-16"));
        let mut shown = Diagnostics::default();
        let publish = |shown: &mut Diagnostics| -> Vec<Value> {
            let messages = json_of(shown.refresh(&path(), &root, &client));
            let brief = |message: &Value| {
                json!([
                    message["uri"],
                    message["version"],
                    message["diagnostics"].as_array().unwrap().len()
                ])
            };
            messages.iter().map(brief).collect()
        };
        shown.set_findings(&path(), vec![finding("a", 1)], None);
        assert_eq!(
            publish(&mut shown),
            [json!(["file:///w/src/%C3%A9.rs", null, 1])]
        );
        shown.document_opened(&path(), "file:///w/src/%c3%a9.rs".into(), 4);
        assert_eq!(
            publish(&mut shown),
            [
                json!(["file:///w/src/%C3%A9.rs", null, 0]),
                json!(["file:///w/src/%c3%a9.rs", null, 1]),
            ]
        );
        shown.set_findings(&path(), vec![finding("b", 1)], Some(4));
        assert_eq!(
            publish(&mut shown),
            [json!(["file:///w/src/%c3%a9.rs", 4, 1])]
        );
        shown.document_changed(&path(), 5);
        shown.set_findings(&path(), vec![finding("c", 1)], Some(4));
        assert_eq!(
            publish(&mut shown),
            [json!(["file:///w/src/%c3%a9.rs", null, 1])]
        );
        shown.document_closed(&path());
        shown.set_findings(&path(), Vec::new(), None);
        assert_eq!(
            publish(&mut shown),
            [json!(["file:///w/src/%c3%a9.rs", null, 0])]
        );
    }

    #[test]
    fn ten_thousand_findings_are_capped_and_counted() {
        let (root, client) = (root(), client("utf-16"));
        let mut shown = Diagnostics::default();
        let findings = (0..10_000).map(|line| finding("x", line)).collect();
        shown.set_findings(&path(), findings, None);
        let messages = shown.refresh(&path(), &root, &client);
        let last = messages[0].diagnostics.last().unwrap();
        assert_eq!(messages[0].diagnostics.len(), SHOWN_PER_FILE + 1);
        assert_eq!(
            last.message,
            "9500 more findings in this file are not shown"
        );
    }
}
