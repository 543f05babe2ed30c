//! Findings with the lines around them, for people.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

use super::super::words::{BOLD, clean, styled};
use super::{count, summary};
use crate::kernel::finding::{Applicability, Finding, GateReport, Outcome, Place, Severity};
use crate::kernel::hash::ContentHash;

/// Findings that are drawn; the others are counted.
const SHOWN: usize = 200;
/// Lines before and after.
const AROUND: usize = 1;
/// Longer ranges are drawn by their first line.
const LONGEST: usize = 8;

pub fn text(reports: &[GateReport], root: &Path) -> String {
    let mut sources = Sources {
        root,
        texts: HashMap::new(),
    };
    let mut text = String::new();
    let all = reports.iter().flat_map(|report| &report.findings);
    for finding in all.clone().take(SHOWN) {
        text.push_str(&sources.draw(finding));
        text.push_str("\n\n");
    }
    let left_out = all.count().saturating_sub(SHOWN);
    if left_out > 0 {
        text.push_str(&format!(
            "… and {left_out} more; --format json has them all\n\n"
        ));
    }
    for report in reports {
        text.push_str(&format!("{}\n", summary(report)));
        for note in &report.notes {
            for line in note.lines() {
                text.push_str(&format!("              {}\n", clean(line)));
            }
        }
    }
    if reports.is_empty() {
        text.push_str("no gate applies; `outrigger gates list` says what was looked for\n");
    } else if reports
        .iter()
        .all(|report| report.outcome == Outcome::Skipped)
    {
        text.push_str(&format!(
            "{}\n",
            styled(BOLD, "unverified: no gate had anything to check")
        ));
    } else if reports.len() > 1 {
        let failed = reports.iter().map(|report| report.findings.len()).sum();
        text.push_str(&format!(
            "{}\n",
            styled(BOLD, format!("{} gates, {}", reports.len(), count(failed)))
        ));
    }
    text
}

struct Sources<'a> {
    root: &'a Path,
    texts: HashMap<String, Option<(String, ContentHash)>>,
}

impl Sources<'_> {
    fn draw(&mut self, finding: &Finding) -> String {
        let level = match finding.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Information => Level::INFO,
            Severity::Hint => Level::HELP,
        };
        let message = clean(&finding.message).into_owned();
        let (headline, rest) = message.split_once('\n').unwrap_or((&message, ""));
        let mut title = level.primary_title(headline.to_owned());
        if let Some(code) = &finding.code {
            title = title.id(clean(code).into_owned());
        }
        if let Some(href) = &finding.href {
            title = title.id_url(clean(href).into_owned());
        }
        let mut group = title.elements(std::iter::empty::<Origin<'_>>());
        if let Some(place) = &finding.place {
            let path = clean(&place.file.to_string()).into_owned();
            match self.excerpt(place) {
                Some((source, first_line, span)) => {
                    let snippet = Snippet::source(source)
                        .line_start(first_line)
                        .path(path)
                        // The lines around are there to be seen.
                        .fold(false)
                        .annotation(AnnotationKind::Primary.span(span));
                    group = group.element(snippet);
                }
                None => {
                    let start = place.range.start;
                    let origin = Origin::path(path)
                        .line(start.line as usize + 1)
                        .char_column(start.utf32 as usize + 1);
                    group = group.element(origin);
                }
            }
        }
        if !rest.trim().is_empty() {
            group = group.element(Level::NOTE.message(rest.trim_end().to_owned()));
        }
        for related in &finding.related {
            let start = related.place.range.start;
            let at = format!(
                "{}:{}:{}",
                related.place.file,
                start.line + 1,
                start.utf32 + 1
            );
            let said = format!("{at}: {}", related.message);
            group = group.element(Level::NOTE.message(clean(&said).into_owned()));
        }
        for fix in &finding.fixes {
            let how = match fix.applicability {
                Applicability::Safe => "safe fix",
                Applicability::Unsafe => "fix that may change the meaning",
                Applicability::Suggestion => "suggestion",
            };
            let said = format!("{how}: {}", fix.title);
            group = group.element(Level::HELP.message(clean(&said).into_owned()));
        }
        let source = Level::NOTE
            .with_name("gate")
            .message(clean(&finding.source).into_owned());
        Renderer::styled().render(&[group.element(source)])
    }

    /// The lines around a place, the number of the first of them, and the range in them. `None`: the text is not what the
    /// tool saw.
    fn excerpt(&mut self, place: &Place) -> Option<(String, usize, Range<usize>)> {
        let path = place.file.workspace().filter(|_| place.cell.is_none())?;
        let root = self.root;
        let known = self.texts.entry(path.to_string()).or_insert_with(|| {
            let bytes = std::fs::read(root.join(path.as_str())).ok()?;
            let hash = ContentHash::of(&bytes);
            let text = String::from_utf8(bytes).ok()?;
            let text = text
                .strip_prefix('\u{feff}')
                .map(str::to_owned)
                .unwrap_or(text);
            Some((text, hash))
        });
        let (text, hash) = known.as_ref()?;
        if place.hash.as_ref() != Some(hash) {
            return None;
        }
        let (start, end) = (place.bytes.0 as usize, place.bytes.1 as usize);
        let before = text.get(..start)?;
        let range = text.get(start..end)?;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let first = before.matches('\n').count();
        let (mut from, mut number) = (line_start, first + 1);
        for _ in 0..AROUND.min(first) {
            from = text
                .get(..from.saturating_sub(1))?
                .rfind('\n')
                .map_or(0, |at| at + 1);
            number -= 1;
        }
        let end = if range.lines().count() > LONGEST {
            start + range.find(['\r', '\n']).unwrap_or(range.len())
        } else {
            end
        };
        let mut to = end;
        for _ in 0..=AROUND {
            let rest = text.get(to..)?;
            to = rest.find('\n').map_or(text.len(), |at| to + at + 1);
        }
        let shown = text.get(from..to)?.trim_end_matches(['\r', '\n']);
        let span = start - from..(end - from).min(shown.len()).max(start - from);
        // Letters that steer a terminal are drawn as marks of the same length.
        let safe: String = shown.chars().map(harmless).collect();
        (safe.len() == shown.len()).then_some((safe, number, span))
    }
}

/// A letter of the same length that does not steer a terminal.
fn harmless(letter: char) -> char {
    match letter {
        '\n' | '\t' | '\r' => letter,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        letter if letter.is_control() && letter.len_utf8() == 1 => '?',
        letter if letter.is_control() => '¿',
        letter => letter,
    }
}
