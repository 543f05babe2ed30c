//! Documents that are in no file: the sides of an overwrite, what a run changed, and what a gate said in its own words.
//!
//! Read-only, of the scheme `outrigger`. Read by `outrigger/document/read`, and by clients of LSP 3.18 through
//! `workspace/textDocumentContent`.

use tower_lsp::jsonrpc::Result;

use super::errors::{error, gone};
use super::folders::Folders;
use super::methods::find_question;
use crate::app::ChangeSide;
use crate::kernel::finding::{Finding, SourceFile};
use crate::kernel::ids::{GateId, QuestionId, RunId};
use crate::kernel::merge::{Merge, three_way};
use crate::kernel::path::RelPath;
use crate::kernel::question::{OverwriteTexts, QuestionKind};
use crate::protocol::error::ErrorKind;

/// The method of LSP 3.18.
pub const METHOD: &str = "workspace/textDocumentContent";

/// Of all our URIs.
pub const SCHEME: &str = "outrigger";

const FORMS: &str = "the forms are outrigger:/question/<questionId>/base|current|proposed|merged|plan, outrigger:/run/<runId>/before|after/<path> and outrigger:/gate/<gateId>";

/// What a URI of ours names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Document {
    Side(QuestionId, Side),
    Plan(QuestionId),
    Changed(RunId, ChangeSide, RelPath),
    Gate(GateId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Base,
    Current,
    Proposed,
    Merged,
}

/// The text behind a URI.
///
/// # Errors
/// There is no such document.
pub async fn read(folders: &Folders, uri: &str) -> Result<String> {
    let unknown = |why: &str| {
        let message = format!("failed to read {uri}: {why}");
        error(ErrorKind::UnknownDocument, message)
    };
    match parse(uri).ok_or_else(|| unknown(FORMS))? {
        Document::Side(id, side) => {
            let session = folders.of_question(&id)?;
            let question = find_question(&session, &id).await?;
            let QuestionKind::Overwrite(overwrite) = question.kind else {
                return Err(unknown("the question is not about overwriting a file"));
            };
            Ok(text_of(&overwrite.texts, side))
        }
        Document::Plan(id) => {
            let session = folders.of_question(&id)?;
            let question = find_question(&session, &id).await?;
            let QuestionKind::Plan { document, .. } = question.kind else {
                return Err(unknown("the question is not about a plan"));
            };
            Ok(document)
        }
        Document::Changed(run, side, path) => {
            let session = folders.of_run(&run)?;
            let text = session.app.changed_text(run, path, side).await;
            text.map(Option::unwrap_or_default)
                .map_err(|why| unknown(&format!("failed to {why}")))
        }
        Document::Gate(gate) => {
            let mut texts = Vec::new();
            for session in folders.all() {
                let wanted = gate.clone();
                let said = session.app.look(move |state| {
                    let findings = state.shown_findings();
                    let of_gate = findings.filter(|finding| finding.gate == wanted);
                    of_gate.map(in_its_own_words).collect::<Vec<_>>()
                });
                texts.extend(said.await.map_err(|_| gone())?);
            }
            if texts.is_empty() {
                return Err(unknown("that gate has no findings now"));
            }
            Ok(texts.join("\n"))
        }
    }
}

fn parse(uri: &str) -> Option<Document> {
    let decoded = percent_encoding::percent_decode_str(uri)
        .decode_utf8()
        .ok()?;
    let rest = decoded.strip_prefix(SCHEME)?.strip_prefix(':')?;
    let rest = rest.trim_start_matches('/');
    if let Some(gate) = rest.strip_prefix("gate/") {
        return (!gate.is_empty()).then(|| Document::Gate(GateId::new(gate)));
    }
    if let Some(changed) = rest.strip_prefix("run/") {
        let (run, changed) = changed.split_once('/')?;
        let (side, path) = changed.split_once('/')?;
        let side = match side {
            "before" => ChangeSide::Before,
            "after" => ChangeSide::After,
            _ => return None,
        };
        let path = RelPath::parse(path).ok()?;
        return Some(Document::Changed(RunId::new(run), side, path));
    }
    let (id, side) = rest.strip_prefix("question/")?.split_once('/')?;
    let side = match side {
        "plan" => return Some(Document::Plan(QuestionId::new(id))),
        "base" => Side::Base,
        "current" => Side::Current,
        "proposed" => Side::Proposed,
        "merged" => Side::Merged,
        _ => return None,
    };
    Some(Document::Side(QuestionId::new(id), side))
}

/// A side that is not there is empty, which is what a diff shows.
fn text_of(texts: &OverwriteTexts, side: Side) -> String {
    let text = |side: &Option<std::sync::Arc<str>>| side.as_deref().unwrap_or_default().to_owned();
    match side {
        Side::Base => text(&texts.base),
        Side::Current => text(&texts.current),
        Side::Proposed => text(&texts.proposed),
        Side::Merged => {
            let (base, ours) = (text(&texts.base), text(&texts.current));
            match three_way(&base, &ours, &text(&texts.proposed)) {
                Merge::Clean(text) => text,
                Merge::Conflict { preferring_ours } => preferring_ours,
            }
        }
    }
}

fn in_its_own_words(finding: &Finding) -> String {
    if let Some(rendered) = &finding.rendered {
        return rendered.trim_end().to_owned() + "\n";
    }
    let place = finding.place.as_ref().map_or_else(String::new, |place| {
        let file = match &place.file {
            SourceFile::Workspace(path) => path.as_str(),
            SourceFile::Outside(path) => path.as_str(),
        };
        let start = place.range.start;
        format!("{file}:{}:{}: ", start.line + 1, start.utf32 + 1)
    });
    let code = finding.code.as_deref();
    let code = code.map_or_else(String::new, |code| format!(" [{code}]"));
    format!("{place}{}{code}\n", finding.message.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_uris() {
        let side = |side| Some(Document::Side(QuestionId::new("run-1.q2"), side));
        let rows = [
            ("outrigger:/question/run-1.q2/base", side(Side::Base)),
            (
                "outrigger:///question/run-1.q2/current",
                side(Side::Current),
            ),
            (
                "outrigger:/question/run%2D1.q2/proposed",
                side(Side::Proposed),
            ),
            ("outrigger:/question/run-1.q2/merged", side(Side::Merged)),
            ("outrigger:/question/run-1.q2/theirs", None),
            (
                "outrigger:/question/run-1.q2/plan",
                Some(Document::Plan(QuestionId::new("run-1.q2"))),
            ),
            (
                "outrigger:/gate/cargo-check",
                Some(Document::Gate(GateId::new("cargo-check"))),
            ),
            ("outrigger:/gate/", None),
            (
                "outrigger:/run/run-1/before/src/%C3%A9.rs",
                Some(Document::Changed(
                    RunId::new("run-1"),
                    ChangeSide::Before,
                    RelPath::parse("src/é.rs").unwrap(),
                )),
            ),
            ("outrigger:/run/run-1/before/../x", None),
            ("outrigger:/run/run-1/then/x", None),
            ("outrigger:/run/run-1", None),
            ("file:///question/x/base", None),
        ];
        for (uri, want) in rows {
            assert_eq!(parse(uri), want, "{uri}");
        }
    }

    #[test]
    fn the_merged_side_has_what_both_changed_and_yours_where_they_meet() {
        let texts = |current: &str, proposed: &str| OverwriteTexts {
            base: Some("a\nb\nc\nd\ne\n".into()),
            current: Some(current.into()),
            proposed: Some(proposed.into()),
        };
        let merged = |current, proposed| text_of(&texts(current, proposed), Side::Merged);
        assert_eq!(
            merged("é\nb\nc\nd\ne\n", "a\nb\nc\nd\n漢\n"),
            "é\nb\nc\nd\n漢\n"
        );
        assert_eq!(
            merged("a\nb\nmine\nd\ne\n", "a\nb\nits\nd\ne\n"),
            "a\nb\nmine\nd\ne\n"
        );
        assert_eq!(text_of(&OverwriteTexts::default(), Side::Merged), "");
    }
}
