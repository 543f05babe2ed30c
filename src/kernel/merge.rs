//! Three-way merges that are clean only when there is one way to read them.
//!
//! A line-based merge depends on which lines the diffs pair with each other, and with repeated lines (blank lines, braces)
//! several pairings are equally good: one tool puts an insertion before such a line, another after it, and the merged texts
//! differ. Here a base line counts as unchanged only if every best alignment pairs it with the same line ([`align`]); all
//! that lies between two such lines is one region. A region that only one side changed is taken from that side; what both
//! changed is merged word by word where that is as unambiguous, else it is a conflict.

mod align;

use super::diff::{lines, split_ending};
use align::certain_pairs;

/// What became of a three-way merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    Clean(String),
    /// Both sides changed the same place in different ways.
    Conflict {
        /// The merged text in which `ours` wins where the two sides overlap: everything else that `theirs` changed is
        /// kept. Never to be written unasked.
        preferring_ours: String,
    },
}

impl Merge {
    /// The merged text when it is clean.
    pub fn clean(self) -> Option<String> {
        match self {
            Self::Clean(text) => Some(text),
            Self::Conflict { .. } => None,
        }
    }
}

/// Merges the changes that `ours` and `theirs` each made to `base`. Symmetric, but for what a conflict prefers.
pub fn three_way(base: &str, ours: &str, theirs: &str) -> Merge {
    if ours == theirs || theirs == base {
        return Merge::Clean(ours.to_owned());
    }
    if ours == base {
        return Merge::Clean(theirs.to_owned());
    }
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    let mut text = String::new();
    let mut conflict = false;
    for region in regions(&base, &ours, &theirs) {
        match merge_region(&region) {
            Some(merged) => text.push_str(&merged),
            None => {
                conflict = true;
                text.extend(region.ours.iter().copied());
            }
        }
    }
    if conflict {
        Merge::Conflict {
            preferring_ours: text,
        }
    } else {
        Merge::Clean(text)
    }
}

/// What stands between two lines that are certainly unchanged on both sides, or such a line itself.
struct Region<'a, 'b> {
    base: &'b [&'a str],
    ours: &'b [&'a str],
    theirs: &'b [&'a str],
}

fn regions<'a, 'b>(
    base: &'b [&'a str],
    ours: &'b [&'a str],
    theirs: &'b [&'a str],
) -> Vec<Region<'a, 'b>> {
    let in_ours = certain_pairs(base, ours);
    let in_theirs = certain_pairs(base, theirs);
    let mut found = Vec::new();
    let mut start = (0, 0, 0);
    let anchors = in_ours
        .iter()
        .zip(&in_theirs)
        .enumerate()
        .filter_map(|(line, (o, t))| Some((line, (*o)?, (*t)?)));
    let end = (base.len(), ours.len(), theirs.len());
    for (b, o, t) in anchors.chain([end]) {
        let between = Region {
            base: base.get(start.0..b).unwrap_or_default(),
            ours: ours.get(start.1..o).unwrap_or_default(),
            theirs: theirs.get(start.2..t).unwrap_or_default(),
        };
        if !(between.base.is_empty() && between.ours.is_empty() && between.theirs.is_empty()) {
            found.push(between);
        }
        if let (Some(base), Some(ours), Some(theirs)) =
            (base.get(b..=b), ours.get(o..=o), theirs.get(t..=t))
        {
            found.push(Region { base, ours, theirs });
        }
        start = (b + 1, o + 1, t + 1);
    }
    found
}

fn merge_region(region: &Region) -> Option<String> {
    let Region { base, ours, theirs } = *region;
    if ours == theirs || theirs == base {
        return Some(ours.concat());
    }
    if ours == base {
        return Some(theirs.concat());
    }
    merge_words(base, ours, theirs)
}

/// Line by line, when both sides kept the number of lines: two edits of one line go together if words that neither
/// touched lie between them.
fn merge_words(base: &[&str], ours: &[&str], theirs: &[&str]) -> Option<String> {
    if base.len() != ours.len() || base.len() != theirs.len() {
        return None;
    }
    let mut text = String::new();
    for ((base, ours), theirs) in base.iter().zip(ours).zip(theirs) {
        if ours == theirs || theirs == base {
            text.push_str(ours);
        } else if ours == base {
            text.push_str(theirs);
        } else {
            text.push_str(&merge_one_line(base, ours, theirs)?);
        }
    }
    Some(text)
}

fn merge_one_line(base: &str, ours: &str, theirs: &str) -> Option<String> {
    // Different endings are no matter of words.
    if split_ending(ours).1 != split_ending(theirs).1 {
        return None;
    }
    let (base, ours, theirs) = (words(base), words(ours), words(theirs));
    let regions = regions(&base, &ours, &theirs);
    let mut text = String::new();
    // Between the edits of the two sides must stand a word, not only punctuation or space.
    let mut last_changed_by = None;
    let mut word_since = true;
    for region in regions {
        let changed_by = match (region.ours == region.base, region.theirs == region.base) {
            (true, true) => {
                word_since |= region.base.iter().any(|token| is_word(token));
                text.push_str(&region.ours.concat());
                continue;
            }
            (false, true) => Side::Ours,
            (true, false) => Side::Theirs,
            (false, false) if region.ours == region.theirs => Side::Both,
            (false, false) => return None,
        };
        if last_changed_by.is_some_and(|last| last != changed_by) && !word_since {
            return None;
        }
        last_changed_by = Some(changed_by);
        word_since = false;
        let taken = match changed_by {
            Side::Ours | Side::Both => region.ours,
            Side::Theirs => region.theirs,
        };
        text.push_str(&taken.concat());
    }
    Some(text)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Ours,
    Theirs,
    Both,
}

fn is_word(token: &str) -> bool {
    token.chars().next().is_some_and(is_word_letter)
}

fn is_word_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Runs of letters and digits, runs of white space, and every other character alone.
fn words(line: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if is_word_letter(c) => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut found = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in line.char_indices() {
        let this = kind(c);
        if at > start && (last != Some(this) || this == 2) {
            found.extend(line.get(start..at));
            start = at;
        }
        last = Some(this);
    }
    if start < line.len() {
        found.extend(line.get(start..));
    }
    found
}

#[cfg(test)]
mod tests;
