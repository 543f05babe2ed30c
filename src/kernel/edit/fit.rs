//! A proposal fitted to the file: unchanged lines stay byte for byte, new ones get the file's endings and indentation.

use std::collections::BTreeMap;
use std::ops::Range;

use similar::DiffOp;

use super::super::diff::{lines, operations, split_ending};
use super::super::tool::Replacement;

/// `proposed` with the line endings of `existing`: a line that `existing` has keeps the ending it has there, a new one
/// gets that of its neighbour, or `ending` where there is none. Whether the last line has an ending is the proposal's choice.
pub fn fit_endings(existing: &str, proposed: &str, ending: Option<&str>) -> String {
    let existing = lines(existing);
    let proposed = lines(proposed);
    let mut fitted = String::new();
    for line in pair_up(&bodies(&existing), &bodies(&proposed)) {
        let Some((body, own)) = proposed.get(line.new).map(|line| split_ending(line)) else {
            continue;
        };
        fitted.push_str(body);
        fitted.push_str(chosen_ending(&existing, &line, own, ending));
    }
    fitted
}

/// `edit.new` fitted to those lines of the file (`range`) that equal `edit.old` but for white space.
pub(super) fn fit_region(
    file: &[&str],
    range: Range<usize>,
    edit: &Replacement,
    ending: Option<&str>,
) -> String {
    let region = file.get(range).unwrap_or_default();
    let (old, new) = (lines(&edit.old), lines(&edit.new));
    let indents = Indents::learn(file, region, &old, &new);
    let mut fitted = String::new();
    for line in pair_up(&bodies(&old), &bodies(&new)) {
        let Some((body, own)) = new.get(line.new).map(|line| split_ending(line)) else {
            continue;
        };
        match line.same.and_then(|at| region.get(at)) {
            Some(kept) => fitted.push_str(split_ending(kept).0),
            None => fitted.push_str(&indents.translate(body, line.after)),
        }
        fitted.push_str(chosen_ending(region, &line, own, ending));
    }
    fitted
}

/// The line ending used where `bytes` stand: that of the first line that ends in or after them, else of the last before.
pub(super) fn ending_near(text: &str, bytes: Range<usize>) -> Option<&str> {
    let first = |text: &str, at: usize| match text.as_bytes().get(at) {
        Some(b'\n') => "\n",
        Some(_) if text.as_bytes().get(at + 1) == Some(&b'\n') => "\r\n",
        _ => "\r",
    };
    let rest = text.get(bytes.start..)?;
    if let Some(at) = rest.find(['\n', '\r']) {
        return Some(first(rest, at));
    }
    let before = text.get(..bytes.start)?;
    before.rfind(['\n', '\r']).map(|at| {
        let crlf = at > 0 && before.as_bytes().get(at - 1) == Some(&b'\r');
        first(before, if crlf { at - 1 } else { at })
    })
}

/// A line of the new text.
struct Paired {
    new: usize,
    /// The line of the old text that it is.
    same: Option<usize>,
    /// Number of old lines that stand before it: its neighbour is the last of them.
    after: usize,
}

fn bodies<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().map(|line| split_ending(line).0).collect()
}

fn pair_up(old: &[&str], new: &[&str]) -> Vec<Paired> {
    let mut paired = Vec::with_capacity(new.len());
    for operation in operations(old, new) {
        let (from, to) = (operation.old_range(), operation.new_range());
        let same = matches!(operation, DiffOp::Equal { .. });
        for (step, new) in to.enumerate() {
            paired.push(Paired {
                new,
                same: same.then_some(from.start + step),
                // Lines that replace others stand where those stood, one by one.
                after: (from.start + step).min(from.end),
            });
        }
    }
    paired
}

fn chosen_ending<'a>(
    existing: &[&'a str],
    line: &Paired,
    own: &'a str,
    fallback: Option<&'a str>,
) -> &'a str {
    if own.is_empty() {
        return own;
    }
    let ending_of = |at: usize| {
        existing
            .get(at)
            .map(|line| split_ending(line).1)
            .filter(|ending| !ending.is_empty())
    };
    if let Some(kept) = line.same.and_then(ending_of) {
        return kept;
    }
    // At most the last line has no ending, so that this looks at two lines.
    let neighbour = (0..=line.after).rev().find_map(ending_of).or(fallback);
    match neighbour {
        // A bare return inside new text is a character that someone meant, unless the file ends its lines so.
        Some(_) if own == "\r" => own,
        Some(ending) => ending,
        None => own,
    }
}

/// How the model's indentation maps to the file's, learnt from the lines that matched.
struct Indents<'a> {
    /// The model's and the file's indentation of each matched line; `None` for blank ones.
    known: Vec<Option<(&'a str, &'a str)>>,
    /// One level of the model's and of the file's.
    model_unit: usize,
    file_unit: String,
}

impl<'a> Indents<'a> {
    fn learn(file: &[&'a str], region: &[&'a str], old: &[&'a str], new: &[&'a str]) -> Self {
        let known: Vec<Option<(&str, &str)>> = old
            .iter()
            .zip(region)
            .map(|(old, file)| (!old.trim().is_empty()).then(|| (indent(old), indent(file))))
            .collect();
        let model_unit = usual_step(old).or_else(|| usual_step(new)).unwrap_or(4);
        let tabs = |lines: &[&str]| {
            let indented = lines.iter().filter(|line| !indent(line).is_empty());
            let (tabs, all) = indented.fold((0, 0), |(tabs, all), line| {
                (tabs + usize::from(line.starts_with('\t')), all + 1)
            });
            (all > 0).then_some(tabs * 2 > all)
        };
        let file_unit = if tabs(region).or_else(|| tabs(file)).unwrap_or(false) {
            "\t".to_owned()
        } else {
            " ".repeat(usual_step(file).unwrap_or(4))
        };
        Self {
            known,
            model_unit,
            file_unit,
        }
    }

    /// A new line of the model, indented as the file would have it. `at` is the old line that it stands by.
    fn translate(&self, line: &str, at: usize) -> String {
        let own = indent(line);
        let body = line.get(own.len()..).unwrap_or("");
        if body.is_empty() {
            // A blank line: its white space is nobody's indentation.
            return line.to_owned();
        }
        let mut candidates: Vec<(usize, &str, &str)> = self
            .known
            .iter()
            .enumerate()
            .filter_map(|(n, pair)| pair.map(|(model, file)| (n.abs_diff(at), model, file)))
            .collect();
        candidates.sort_by_key(|(distance, ..)| *distance);
        if let Some((_, _, file)) = candidates.iter().find(|(_, model, _)| *model == own) {
            return format!("{file}{body}");
        }
        let deeper = candidates
            .iter()
            .filter(|(_, model, _)| own.starts_with(model))
            .max_by_key(|(distance, model, _)| (model.len(), std::cmp::Reverse(*distance)));
        if let Some((_, model, file)) = deeper {
            let rest = own.get(model.len()..).unwrap_or("");
            return format!("{file}{}{body}", self.convert(rest));
        }
        let Some((_, model, file)) = candidates
            .iter()
            .min_by_key(|(distance, model, _)| (model.len(), *distance))
        else {
            return line.to_owned();
        };
        // Less deep than anything that matched: as many levels less as in the model's text.
        let levels = (self.width(model).saturating_sub(self.width(own))).div_ceil(self.model_unit);
        let mut kept = *file;
        for _ in 0..levels {
            kept = kept
                .strip_suffix(self.file_unit.as_str())
                .unwrap_or_else(|| kept.trim_end_matches(' '));
        }
        format!("{kept}{body}")
    }

    fn width(&self, indent: &str) -> usize {
        indent
            .chars()
            .map(|c| if c == '\t' { self.model_unit } else { 1 })
            .sum()
    }

    /// Indentation beyond what is known, in the file's unit if the model used another kind.
    fn convert(&self, rest: &str) -> String {
        let file_has_tabs = self.file_unit == "\t";
        if rest.contains('\t') == file_has_tabs {
            return rest.to_owned();
        }
        self.file_unit
            .repeat(self.width(rest).div_ceil(self.model_unit))
    }
}

fn indent(line: &str) -> &str {
    let body = split_ending(line).0;
    body.get(..body.len() - body.trim_start().len())
        .unwrap_or("")
}

/// How many spaces one level is: the most frequent step from a line to a deeper one; in doubt the smaller.
fn usual_step(lines: &[&str]) -> Option<usize> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    let mut last = 0;
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        let indent = indent(line);
        if indent.contains('\t') {
            continue;
        }
        if indent.len() > last {
            *counts.entry(indent.len() - last).or_default() += 1;
        }
        last = indent.len();
    }
    counts
        .into_iter()
        .max_by_key(|(step, count)| (*count, std::cmp::Reverse(*step)))
        .map(|(step, _)| step)
}
