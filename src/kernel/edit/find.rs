//! Where a text is in another: exactly, else by lines with ever more white space ignored.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::super::diff::{lines, split_ending};
use super::Place;

/// How many places of an ambiguous text are shown, and how many lines of each.
const SHOWN_PLACES: usize = 4;
const SHOWN_LINES: usize = 4;

pub(super) enum Found {
    /// Bytes of the text that equal what was looked for.
    Exact(Range<usize>),
    /// Whole lines that equal it but for white space.
    Lines(Range<usize>),
    Several {
        times: usize,
        places: Vec<Place>,
    },
    Nowhere,
}

/// What of a line is compared, from strict to lax.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Ignoring {
    Endings,
    TrailingSpace,
    AllSpace,
}

const LEVELS: [Ignoring; 3] = [
    Ignoring::Endings,
    Ignoring::TrailingSpace,
    Ignoring::AllSpace,
];

/// A text prepared for being searched several times.
pub(super) struct Search<'a> {
    pub text: &'a str,
    pub lines: Vec<&'a str>,
    offsets: Vec<usize>,
    keys: HashMap<Ignoring, Vec<Cow<'a, str>>>,
}

impl<'a> Search<'a> {
    pub fn new(text: &'a str) -> Self {
        let lines = lines(text);
        let mut at = 0;
        let offsets = std::iter::once(0)
            .chain(lines.iter().map(|line| {
                at += line.len();
                at
            }))
            .collect();
        Self {
            text,
            lines,
            offsets,
            keys: HashMap::new(),
        }
    }

    /// Byte offset of the start of a line; of the end for the line after the last.
    pub fn offset(&self, line: usize) -> usize {
        self.offsets.get(line).copied().unwrap_or(self.text.len())
    }

    pub fn find(&mut self, old: &str) -> Found {
        let exact = occurrences(self.text, old);
        match exact.as_slice() {
            [] => {}
            [start] => return Found::Exact(*start..start + old.len()),
            several => {
                let first: Vec<Range<usize>> = several
                    .iter()
                    .map(|start| self.line_of(*start)..self.line_of(start + old.len() - 1) + 1)
                    .collect();
                return self.several(&first);
            }
        }
        let old_lines = lines(old);
        for level in LEVELS {
            let wanted: Vec<Cow<str>> = old_lines.iter().map(|line| key(line, level)).collect();
            let have = self
                .keys
                .entry(level)
                .or_insert_with(|| self.lines.iter().map(|line| key(line, level)).collect());
            let Some(longest) =
                (0..wanted.len()).max_by_key(|at| wanted.get(*at).map_or(0, |line| line.len()))
            else {
                return Found::Nowhere;
            };
            // Lines are compared from the longest one on: blank ones and braces would match everywhere.
            let found: Vec<Range<usize>> = have
                .windows(wanted.len())
                .enumerate()
                .filter(|(_, window)| {
                    window.get(longest) == wanted.get(longest) && *window == wanted
                })
                .map(|(start, _)| start..start + wanted.len())
                .collect();
            match found.as_slice() {
                [] => {}
                [range] => return Found::Lines(range.clone()),
                several => return self.several(several),
            }
        }
        Found::Nowhere
    }

    fn line_of(&self, byte: usize) -> usize {
        self.offsets
            .partition_point(|start| *start <= byte)
            .saturating_sub(1)
    }

    fn several(&self, ranges: &[Range<usize>]) -> Found {
        let places = ranges
            .iter()
            .take(SHOWN_PLACES)
            .map(|range| {
                place(
                    &self.lines,
                    range.start..range.end.min(range.start + SHOWN_LINES),
                )
            })
            .collect();
        Found::Several {
            times: ranges.len(),
            places,
        }
    }
}

pub(super) fn place(lines: &[&str], range: Range<usize>) -> Place {
    let end = range.end.min(lines.len());
    Place {
        line: range.start + 1,
        lines: lines
            .get(range.start.min(end)..end)
            .unwrap_or_default()
            .iter()
            .map(|line| shortened(split_ending(line).0))
            .collect(),
    }
}

/// A line of a minified file can be megabytes long.
fn shortened(line: &str) -> String {
    const LONGEST: usize = 300;
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or("")),
        None => line.to_owned(),
    }
}

/// Starts of all occurrences, overlapping ones included: two that overlap are two places.
fn occurrences(text: &str, wanted: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(wanted)) {
        found.push(from + at);
        from += at + step;
    }
    found
}

fn key(line: &str, level: Ignoring) -> Cow<'_, str> {
    let body = split_ending(line).0;
    match level {
        Ignoring::Endings => Cow::Borrowed(body),
        Ignoring::TrailingSpace => Cow::Borrowed(body.trim_end()),
        Ignoring::AllSpace => {
            let body = body.trim();
            // Nearly every line is as it should be; the search for what is not must cost nothing.
            let odd_space = |c: char| c.is_whitespace() && c != ' ';
            let is_odd = if body.is_ascii() {
                body.bytes().any(|byte| byte.is_ascii_control())
            } else {
                body.contains(odd_space)
            };
            if is_odd || body.contains("  ") {
                Cow::Owned(body.split_whitespace().collect::<Vec<_>>().join(" "))
            } else {
                Cow::Borrowed(body)
            }
        }
    }
}
