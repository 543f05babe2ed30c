//! The columns of mypy's native parser: code points minus surplus bytes, so that one number names several places.
//!
//! `reported = code points - (bytes - code points)` of the line before the place; on the first line of a file with BOM two
//! less. The number is turned back into all places that have it, and the most plausible one is taken: where the message's
//! quoted name stands, where a token begins, outside of strings.

use crate::gates::place::{quoted_names, token_end};
use crate::gates::text::{LineRule, SourceText, glyphs};

/// Offsets of start and end of what mypy reports at `start` (1-based line, reported column) and `end`. `None` when no place
/// of the line has that number; no end when none of the places for it makes a range.
pub fn find(
    text: &SourceText,
    start: (i64, i64),
    end: Option<(i64, i64)>,
    message: &str,
) -> Option<(usize, Option<usize>)> {
    let starts = places(text, start);
    let best = starts
        .into_iter()
        .max_by_key(|at| (plausibility(text, *at, message), std::cmp::Reverse(*at)))?;
    let end = end.and_then(|end| {
        places(text, end)
            .into_iter()
            .filter(|at| *at > best && is_one_expression(text, best, *at))
            .max_by_key(|at| {
                (
                    i32::from(
                        quoted_names(message)
                            .iter()
                            .any(|name| text.slice(best..*at) == **name),
                    ),
                    i32::from(ends_token(text, *at)),
                    std::cmp::Reverse(*at),
                )
            })
    });
    Some((best, end))
}

/// How well a finding with `message` would start at `offset`.
pub fn plausibility(text: &SourceText, offset: usize, message: &str) -> i32 {
    let rest = text.slice_bytes(offset..text.body().len());
    let Some(first) = glyphs(rest).next() else {
        return 0;
    };
    let token = text.slice(offset..token_end(text, offset));
    let quoted = quoted_names(message)
        .iter()
        .any(|name| *name == token || token.trim_matches(['"', '\'']) == *name);
    let mut score = 0;
    if quoted {
        score += 4;
    }
    if !first.char.is_whitespace() && !is_name_before(text, offset, first.char) {
        score += 2;
    }
    if is_in_string(text, offset) {
        score -= 3;
    }
    if matches!(first.char, ';' | ',' | ')' | ']' | '}' | ':' | '=') {
        score -= 1;
    }
    score
}

fn places(text: &SourceText, (line, column): (i64, i64)) -> Vec<usize> {
    let Some(index) = line
        .checked_sub(1)
        .and_then(|line| usize::try_from(line).ok())
    else {
        return Vec::new();
    };
    let Some(span) = text.line(LineRule::Universal, index) else {
        return Vec::new();
    };
    let shift = if index == 0 && text.bom_len() > 0 {
        2
    } else {
        0
    };
    let target = column.saturating_add(shift);
    let mut places = Vec::new();
    let mut reported: i64 = 0;
    for glyph in glyphs(text.slice_bytes(span.clone())) {
        if reported == target {
            places.push(span.start + glyph.offset);
        }
        reported += 2 - i64::try_from(glyph.len).unwrap_or(1);
    }
    if reported == target {
        places.push(span.end);
    }
    places
}

fn line_before(text: &SourceText, offset: usize) -> &[u8] {
    let line = text.line_of(LineRule::Universal, offset);
    let start = text
        .line(LineRule::Universal, line)
        .map_or(0, |span| span.start);
    text.slice_bytes(start..offset.max(start))
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn is_name_before(text: &SourceText, offset: usize, first: char) -> bool {
    is_name(first)
        && glyphs(line_before(text, offset))
            .last()
            .is_some_and(|glyph| is_name(glyph.char))
}

/// Whether a string of the line is still open at `offset`.
fn is_in_string(text: &SourceText, offset: usize) -> bool {
    open_quote(line_before(text, offset)).is_some()
}

fn open_quote(bytes: &[u8]) -> Option<char> {
    let mut open = None;
    let mut escaped = false;
    for glyph in glyphs(bytes) {
        match (open, glyph.char) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(quote), c) if c == quote => open = None,
            (None, c @ ('"' | '\'')) => open = Some(c),
            (None, '#') => return None,
            _ => {}
        }
    }
    open
}

/// Brackets and quotes closed, no end of a statement inside.
fn is_one_expression(text: &SourceText, start: usize, end: usize) -> bool {
    let bytes = text.slice_bytes(start..end);
    if open_quote(bytes).is_some() {
        return false;
    }
    let mut depth = 0_i32;
    let mut open = None;
    for glyph in glyphs(bytes) {
        match (open, glyph.char) {
            (Some(quote), c) if c == quote => open = None,
            (Some(_), _) => {}
            (None, c @ ('"' | '\'')) => open = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ';') => return false,
            (None, _) => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

fn ends_token(text: &SourceText, offset: usize) -> bool {
    let before = glyphs(line_before(text, offset)).last();
    let after = glyphs(text.slice_bytes(offset..text.body().len())).next();
    match (before, after) {
        (Some(before), _) if before.char.is_whitespace() => false,
        (Some(before), Some(after)) => !(is_name(before.char) && is_name(after.char)),
        (Some(_), None) => true,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_turned_back() {
        let text = SourceText::new(
            "x: int = \"é漢😀\"; y = undefined_name\n"
                .as_bytes()
                .to_vec(),
        );
        let found = |column, end, message: &str| {
            let (start, end) = find(&text, (1, column), Some((1, end)), message).unwrap();
            let end = end.unwrap_or_else(|| token_end(&text, start));
            text.slice(start..end).into_owned()
        };
        assert_eq!(
            found(14, 28, "Name \"undefined_name\" is not defined"),
            "undefined_name"
        );
        // The literal's own end cannot be told from its number.
        assert_eq!(
            found(9, 11, "Incompatible types (expression has type \"str\")"),
            "\"é漢😀\""
        );
        assert!(find(&text, (1, 999), None, "").is_none());
        assert!(find(&text, (i64::MIN, 1), None, "").is_none());
    }
}
