//! What can be done about a finding besides its own fixes: all safe fixes at once, leaving it alone, the tool's own words.

use lsp_types::{CodeAction, CodeActionKind, TextEdit};
use serde_json::json;

use super::actions::{Situation, command, edits_of};
use super::commands;
use super::diagnostics::render_finding;
use super::edits::workspace_edit;
use crate::kernel::document::PositionEncoding;
use crate::kernel::finding::silence::{self, SilenceAt};
use crate::kernel::finding::{Applicability, Finding, Fix};
use crate::kernel::hash::ContentHash;

/// The kind under which all safe fixes are made at once, on request or on save.
pub const FIX_ALL: &str = "source.fixAll.outrigger";

/// All safe fixes of the file that do not touch each other, as one edit. Asked for by its kind, or where there are several.
pub fn fix_all(situation: &Situation<'_>) -> Option<CodeAction> {
    let document = situation.document?;
    let now = ContentHash::of(document.text.to_string().as_bytes());
    let all = situation.findings.iter().flat_map(|finding| &finding.fixes);
    let safe = all.filter(|fix| fix.applicability == Applicability::Safe);
    let mut taken: Vec<(u32, u32)> = Vec::new();
    let mut edits: Vec<TextEdit> = Vec::new();
    let mut count = 0;
    for fix in safe {
        let ranges = ranges(fix);
        let is_free = ranges
            .iter()
            .all(|range| taken.iter().all(|other| !overlap(*range, *other)));
        let Some(more) = edits_of(fix, situation.path, &now, situation.client).filter(|_| is_free)
        else {
            continue;
        };
        taken.extend(ranges);
        edits.extend(more);
        count += 1;
    }
    let is_asked_for = situation.context.only.is_some();
    if count == 0 || (count == 1 && !is_asked_for) {
        return None;
    }
    Some(CodeAction {
        title: format!("Fix all that is safe to fix ({count})"),
        kind: Some(CodeActionKind::from(FIX_ALL.to_owned())),
        edit: Some(workspace_edit(document, edits, situation.client.versions)?),
        ..CodeAction::default()
    })
}

fn ranges(fix: &Fix) -> Vec<(u32, u32)> {
    fix.edits.iter().map(|edit| edit.place.bytes).collect()
}

/// Two insertions at one place touch as well: nobody knows in which order they are meant.
fn overlap(one: (u32, u32), other: (u32, u32)) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}

/// The comment by which the tool leaves this one alone.
pub fn silence(finding: &Finding, situation: &Situation<'_>) -> Option<CodeAction> {
    let document = situation.document?;
    let silence = silence::of(finding)?;
    let place = finding.place.as_ref()?;
    let line = place.range.start.line as usize;
    let text = document.text.get_line(line)?.to_string();
    let text = text.trim_end_matches(['\r', '\n']);
    let words = silence.comment.trim();
    if text.contains(
        words
            .split([':', '[', '=', ' '])
            .find(|word| word.len() > 2)
            .unwrap_or(words),
    ) {
        // A line that has such a comment would need it changed, not another one.
        return None;
    }
    let edit = match silence.at {
        SilenceAt::EndOfLine => insertion(line, text, silence.comment, situation.client.encoding),
        SilenceAt::LineBefore => {
            let indent: String = text
                .chars()
                .take_while(|c| matches!(c, ' ' | '\t'))
                .collect();
            let new_text = format!("{indent}{}\n", silence.comment);
            insertion(line, "", new_text, situation.client.encoding)
        }
    };
    let code = finding.code.as_deref().unwrap_or_default();
    Some(CodeAction {
        title: format!("Disable {code} here"),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![render_finding(
            finding,
            situation.root,
            situation.client,
        )]),
        edit: Some(workspace_edit(
            document,
            vec![edit],
            situation.client.versions,
        )?),
        ..CodeAction::default()
    })
}

/// Puts `new_text` after `before` on a line.
fn insertion(line: usize, before: &str, new_text: String, encoding: PositionEncoding) -> TextEdit {
    let column = match encoding {
        PositionEncoding::Utf8 => before.len(),
        PositionEncoding::Utf16 => before.encode_utf16().count(),
        PositionEncoding::Utf32 => before.chars().count(),
    };
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let at = lsp_types::Position {
        line: number(line),
        character: number(column),
    };
    TextEdit {
        range: lsp_types::Range { start: at, end: at },
        new_text,
    }
}

/// Opens what the tool itself said.
pub fn own_words(finding: &Finding, situation: &Situation<'_>) -> Option<CodeAction> {
    finding.rendered.as_ref()?;
    let title = format!("Show what {} says", finding.source);
    Some(CodeAction {
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![render_finding(
            finding,
            situation.root,
            situation.client,
        )]),
        command: Some(command(
            commands::SHOW_GATE,
            &title,
            json!({ "gate": finding.gate, "folder": situation.root.folder_uri() }),
        )),
        title,
        ..CodeAction::default()
    })
}

/// Lets a run fix all that one gate finds.
pub fn run_for_gate(finding: &Finding, situation: &Situation<'_>) -> Option<CodeAction> {
    let of_gate = situation
        .findings
        .iter()
        .filter(|other| other.gate == finding.gate);
    if of_gate.count() < 2 {
        return None;
    }
    let title = format!("Fix all of {} in this file with Outrigger", finding.source);
    let mut prompt = format!("Fix what {} finds in {}:", finding.source, situation.path);
    for other in situation
        .findings
        .iter()
        .filter(|other| other.gate == finding.gate)
        .take(40)
    {
        let code = other
            .code
            .as_deref()
            .map(|code| format!(" {code}"))
            .unwrap_or_default();
        prompt.push_str(&format!(
            "\n- {}{code}: {}",
            other.at(),
            other.message.trim_end()
        ));
    }
    let argument = json!({ "prompt": prompt, "folder": situation.root.folder_uri() });
    Some(CodeAction {
        kind: Some(CodeActionKind::QUICKFIX),
        command: Some(command(commands::RUN, &title, argument)),
        title,
        ..CodeAction::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_fixes_are_not_combined() {
        for (one, other, want) in [
            ((0, 2), (3, 4), false),
            ((0, 3), (3, 4), true),
            ((3, 3), (3, 3), true),
            ((5, 6), (1, 2), false),
        ] {
            assert_eq!(overlap(one, other), want, "{one:?} {other:?}");
        }
    }

    #[test]
    fn columns_are_the_clients() {
        for (encoding, want) in [
            (PositionEncoding::Utf8, 9),
            (PositionEncoding::Utf16, 4),
            (PositionEncoding::Utf32, 3),
        ] {
            let edit = insertion(0, "é漢😀", "x".into(), encoding);
            assert_eq!(edit.range.start.character, want);
        }
    }
}
