//! Which elements of a sequence are certainly unchanged in another: those that every longest common subsequence pairs
//! with the same element.

use std::ops::Range;

use similar::DiffOp;

use crate::kernel::diff::operations;

/// Cells of the alignment table above which certainty is approximated.
const MAX_CELLS: usize = 4_000_000;

/// For each element of `old`, the element of `new` that it is certainly paired with.
///
/// Exact while `(changes + 1) × length` stays below a bound; beyond it, the pairs of one diff, without those that the
/// neighbouring change could be slid over.
pub(super) fn certain_pairs(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    let operations = operations(old, new);
    let mut pairs = vec![None; old.len()];
    let mut changes = 0;
    for operation in &operations {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = *operation
        {
            for step in 0..len {
                if let Some(pair) = pairs.get_mut(old_index + step) {
                    *pair = Some(new_index + step);
                }
            }
        } else {
            changes += operation.old_range().len() + operation.new_range().len();
        }
    }
    if changes == 0 {
        return pairs;
    }
    let band = Band {
        reach: changes,
        width: 2 * changes + 1,
    };
    if band.width.saturating_mul(old.len() + 1) <= MAX_CELLS {
        exact(old, new, band)
    } else {
        drop_slidable(old, new, &operations, &mut pairs);
        pairs
    }
}

/// The diagonals that a best alignment can touch: one with `changes` insertions and deletions never leaves the main
/// diagonal by more than that, and a best alignment has no more than the diff at hand.
#[derive(Clone, Copy)]
struct Band {
    reach: usize,
    width: usize,
}

impl Band {
    fn cell(self, i: usize, j: usize) -> Option<usize> {
        let across = (j + self.reach).checked_sub(i)?;
        (across < self.width).then_some(i * self.width + across)
    }

    fn columns(self, i: usize, len: usize) -> Range<usize> {
        i.saturating_sub(self.reach)..(i + self.reach + 1).min(len + 1)
    }
}

fn exact(old: &[&str], new: &[&str], band: Band) -> Vec<Option<usize>> {
    let (old, new) = intern(old, new);
    let cells = band.width * (old.len() + 1);
    // Length of the longest common subsequence of the two parts before (after) each cell.
    let mut before = vec![0_u32; cells];
    let mut after = vec![0_u32; cells];
    let get = |table: &[u32], i: usize, j: usize| {
        band.cell(i, j)
            .and_then(|cell| table.get(cell))
            .copied()
            .unwrap_or(0)
    };
    for i in 0..=old.len() {
        for j in band.columns(i, new.len()) {
            let mut best = 0;
            if i > 0 {
                best = best.max(get(&before, i - 1, j));
            }
            if j > 0 {
                best = best.max(get(&before, i, j - 1));
            }
            if i > 0 && j > 0 && old.get(i - 1) == new.get(j - 1) {
                best = best.max(get(&before, i - 1, j - 1) + 1);
            }
            if let Some(slot) = band.cell(i, j).and_then(|cell| before.get_mut(cell)) {
                *slot = best;
            }
        }
    }
    for i in (0..=old.len()).rev() {
        for j in band.columns(i, new.len()).rev() {
            let mut best = 0;
            if i < old.len() {
                best = best.max(get(&after, i + 1, j));
            }
            if j < new.len() {
                best = best.max(get(&after, i, j + 1));
            }
            if i < old.len() && j < new.len() && old.get(i) == new.get(j) {
                best = best.max(get(&after, i + 1, j + 1) + 1);
            }
            if let Some(slot) = band.cell(i, j).and_then(|cell| after.get_mut(cell)) {
                *slot = best;
            }
        }
    }
    let longest = get(&after, 0, 0);
    // Every best alignment has exactly one pair of each rank; where only one pair exists, all of them have it.
    let mut by_rank: Vec<Rank> = vec![Rank::None; longest as usize];
    for i in 0..old.len() {
        for j in band.columns(i, new.len()) {
            if j >= new.len() || old.get(i) != new.get(j) {
                continue;
            }
            let rank = get(&before, i, j);
            if rank + 1 + get(&after, i + 1, j + 1) != longest {
                continue;
            }
            if let Some(slot) = by_rank.get_mut(rank as usize) {
                *slot = match slot {
                    Rank::None => Rank::One(i, j),
                    Rank::One(..) | Rank::Several => Rank::Several,
                };
            }
        }
    }
    let mut pairs = vec![None; old.len()];
    for rank in by_rank {
        if let Rank::One(i, j) = rank
            && let Some(pair) = pairs.get_mut(i)
        {
            *pair = Some(j);
        }
    }
    pairs
}

#[derive(Clone, Copy)]
enum Rank {
    None,
    One(usize, usize),
    Several,
}

/// Numbers for texts, so that the table compares numbers.
fn intern<'a>(old: &[&'a str], new: &[&'a str]) -> (Vec<usize>, Vec<usize>) {
    let mut known = std::collections::HashMap::new();
    let mut number = |text: &'a str| {
        let next = known.len();
        *known.entry(text).or_insert(next)
    };
    (
        old.iter().map(|text| number(text)).collect(),
        new.iter().map(|text| number(text)).collect(),
    )
}

/// Takes back the pairs over which a change can be moved up or down without changing the result.
fn drop_slidable(old: &[&str], new: &[&str], operations: &[DiffOp], pairs: &mut [Option<usize>]) {
    for operation in operations {
        let (from, to) = (operation.old_range(), operation.new_range());
        let (text, range) = match operation {
            DiffOp::Equal { .. } | DiffOp::Replace { .. } => continue,
            DiffOp::Delete { .. } => (old, from.clone()),
            DiffOp::Insert { .. } => (new, to),
        };
        let mut up = 0;
        while range.start > up && text.get(range.start - up - 1) == text.get(range.end - up - 1) {
            up += 1;
            if let Some(pair) = from.start.checked_sub(up).and_then(|at| pairs.get_mut(at)) {
                *pair = None;
            }
        }
        let mut down = 0;
        while range.end + down < text.len()
            && text.get(range.start + down) == text.get(range.end + down)
        {
            if let Some(pair) = pairs.get_mut(from.end + down) {
                *pair = None;
            }
            down += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_of_every_best_alignment_are_certain() {
        type Row = (
            &'static [&'static str],
            &'static [&'static str],
            &'static [Option<usize>],
        );
        let rows: [Row; 5] = [
            (&["a", "b"], &["a", "x", "b"], &[Some(0), Some(2)]),
            // The new "a" may be the first or the second.
            (&["a", "b"], &["a", "a", "b"], &[None, Some(2)]),
            (&["a", "b"], &["b", "a"], &[None, None]),
            (
                &["a", "b", "c", "b"],
                &["a", "c", "b"],
                &[Some(0), None, Some(1), Some(2)],
            ),
            (&[], &["a"], &[]),
        ];
        for (old, new, want) in rows {
            assert_eq!(certain_pairs(old, new), want, "{old:?} {new:?}");
        }
    }

    #[test]
    fn beyond_the_bound_slidable_pairs_are_dropped() {
        let old = ["x", "", "y", "", "z"];
        let new = ["x", "", "new", "", "y", "", "z"];
        let ops = operations(&old, &new);
        let mut pairs = vec![Some(0), Some(1), Some(4), Some(5), Some(6)];
        drop_slidable(&old, &new, &ops, &mut pairs);
        assert_eq!(pairs[0], Some(0));
        assert_eq!(pairs[1], None, "the blank line before may be the new one");
        assert_eq!(pairs[2..], [Some(4), Some(5), Some(6)]);
    }
}
