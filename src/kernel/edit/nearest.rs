//! What a text that was not found looks most like.

use std::collections::HashSet;

use super::super::diff::{lines, split_ending};
use super::Place;
use super::find::place;

/// Lines shown around the most similar line, and how many such places.
const SHOWN_LINES: usize = 10;
const SHOWN_PLACES: usize = 2;
/// Share of common letter pairs from which on a line counts as similar.
const SIMILAR: f64 = 0.5;
/// Letters of a line that are compared.
const COMPARED: usize = 200;

/// The places whose lines look most like the most telling line of `old`.
pub(super) fn nearest(text: &[&str], old: &str) -> Vec<Place> {
    let old = lines(old);
    let Some((at, telling)) = old
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.trim().len().min(COMPARED))
    else {
        return Vec::new();
    };
    let wanted = pairs(telling);
    let mut scored: Vec<(f64, usize)> = text
        .iter()
        .enumerate()
        .map(|(n, line)| (likeness(&wanted, &pairs(line)), n))
        .filter(|(score, _)| *score >= SIMILAR)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut starts: Vec<usize> = Vec::new();
    let length = old.len().clamp(1, SHOWN_LINES);
    for (_, line) in scored {
        // Show the found line where it would stand in the text that was looked for.
        let start = line.saturating_sub(at.min(length - 1));
        if starts.iter().all(|known| known.abs_diff(start) >= length) {
            starts.push(start);
        }
        if starts.len() == SHOWN_PLACES {
            break;
        }
    }
    starts
        .into_iter()
        .map(|start| place(text, start..start + length))
        .collect()
}

fn pairs(line: &str) -> HashSet<(char, char)> {
    let body = split_ending(line).0.trim();
    body.chars()
        .zip(body.chars().skip(1))
        .take(COMPARED)
        .collect()
}

/// Twice the common pairs over all pairs: 1 for the same set, 0 for nothing in common.
fn likeness(a: &HashSet<(char, char)>, b: &HashSet<(char, char)>) -> f64 {
    let total = a.len() + b.len();
    if total == 0 {
        return 0.0;
    }
    let common = a.intersection(b).count();
    #[expect(clippy::cast_precision_loss, reason = "a few hundred at most")]
    let share = 2.0 * common as f64 / total as f64;
    share
}
