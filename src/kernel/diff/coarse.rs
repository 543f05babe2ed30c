//! Differences of texts that are too long for the finest ones: in time that grows with their length alone.
//!
//! Lines that occur once in each text tie the two together; around each tie whatever is equal is kept. What lies between
//! long enough stretches of equal lines is one difference, unless it is short enough for a fine look. No clock is asked,
//! so the same texts have the same differences on any machine.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

/// Fewer equal lines than this between two differences do not part them.
const STRETCH: usize = 8;

/// Stretches of equal items, `(start in old, start in new, length)`, in order, not overlapping.
pub fn stretches<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    let (mut old_done, mut new_done) = (0, 0);
    for (in_old, in_new) in rising(&ties(old, new)) {
        if in_old < old_done || in_new < new_done {
            continue;
        }
        let before = equal_before(
            old.get(old_done..in_old).unwrap_or_default(),
            new.get(new_done..in_new).unwrap_or_default(),
        );
        let after = equal_after(
            old.get(in_old..).unwrap_or_default(),
            new.get(in_new..).unwrap_or_default(),
        );
        if before + after >= STRETCH {
            found.push((in_old - before, in_new - before, before + after));
            (old_done, new_done) = (in_old + after, in_new + after);
        }
    }
    found
}

/// What lies between the stretches: ranges of old and of new, of which at least one is not empty.
pub fn gaps(
    stretches: &[(usize, usize, usize)],
    (old_len, new_len): (usize, usize),
) -> Vec<(Range<usize>, Range<usize>)> {
    let (mut old_at, mut new_at) = (0, 0);
    let mut found = Vec::new();
    for (old_start, new_start, length) in stretches.iter().copied().chain([(old_len, new_len, 0)]) {
        if old_start > old_at || new_start > new_at {
            found.push((old_at..old_start, new_at..new_start));
        }
        (old_at, new_at) = (old_start + length, new_start + length);
    }
    found
}

pub fn equal_after<T: Eq>(old: &[T], new: &[T]) -> usize {
    let pairs = old.iter().zip(new);
    pairs.take_while(|(old, new)| old == new).count()
}

pub fn equal_before<T: Eq>(old: &[T], new: &[T]) -> usize {
    let pairs = old.iter().rev().zip(new.iter().rev());
    pairs.take_while(|(old, new)| old == new).count()
}

/// Where items are that occur once on both sides, in the order of old.
fn ties<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<(usize, usize)> {
    #[derive(Default, Clone, Copy)]
    struct Seen {
        in_old: (usize, usize),
        in_new: (usize, usize),
    }
    let mut seen: HashMap<&T, Seen> = HashMap::new();
    for (at, item) in old.iter().enumerate() {
        let seen = seen.entry(item).or_default();
        seen.in_old = (seen.in_old.0 + 1, at);
    }
    for (at, item) in new.iter().enumerate() {
        if let Some(seen) = seen.get_mut(item) {
            seen.in_new = (seen.in_new.0 + 1, at);
        }
    }
    let once = seen.values().filter_map(|seen| match seen {
        Seen {
            in_old: (1, old),
            in_new: (1, new),
        } => Some((*old, *new)),
        Seen { .. } => None,
    });
    let mut ties: Vec<(usize, usize)> = once.collect();
    ties.sort_unstable();
    ties
}

/// The longest row of ties that rise on both sides.
fn rising(ties: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the tie with the lowest end; and for each tie the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(ties.len());
    let new_of = |tie: usize| ties.get(tie).map_or(usize::MAX, |(_, new)| *new);
    for (tie, (_, new)) in ties.iter().enumerate() {
        let length = ends.partition_point(|end| new_of(*end) < *new);
        before.push(
            length
                .checked_sub(1)
                .and_then(|last| ends.get(last).copied()),
        );
        match ends.get_mut(length) {
            Some(end) => *end = tie,
            None => ends.push(tie),
        }
    }
    let mut row = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(tie) = next {
        row.extend(ties.get(tie));
        next = before.get(tie).copied().flatten();
    }
    row.reverse();
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_that_cross_are_thinned_to_those_that_rise() {
        let row = rising(&[(0, 5), (1, 1), (2, 2), (3, 0), (4, 4)]);
        assert_eq!(row, [(1, 1), (2, 2), (4, 4)]);
    }

    #[test]
    fn between_long_stretches_lie_the_differences() {
        let old: Vec<u32> = (0..40).collect();
        let mut new = old.clone();
        new.splice(10..12, [100, 101, 102]);
        // Too close to the other to be told apart.
        new[17] = 103;
        new.splice(31..31, [104]);
        let stretches = stretches(&old, &new);
        assert_eq!(stretches, [(0, 0, 10), (17, 18, 13), (30, 32, 10)]);
        let gaps = gaps(&stretches, (old.len(), new.len()));
        assert_eq!(gaps, [(10..17, 10..18), (30..30, 31..32)]);
    }
}
