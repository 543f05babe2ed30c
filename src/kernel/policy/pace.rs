//! How long a run may go on without getting anywhere. What a run does moves the limit, what it says does not.

/// Turns without progress for the smallest of tasks, and for each item of the plan on top.
const LEAST: u32 = 30;
const FOR_ITEM: u32 = 2;
const MOST: u32 = 60;

/// Turns that a task of this size may take before something must have come of them: a changed file, a mended finding.
pub fn patience(plan_items: usize) -> u32 {
    let items = u32::try_from(plan_items).unwrap_or(u32::MAX);
    LEAST
        .saturating_add(items.saturating_mul(FOR_ITEM))
        .min(MOST)
}

/// The turns that were in vain, when they are too many.
pub fn in_vain(turns: u32, progress_at: u32, plan_items: usize) -> Option<u32> {
    let since = turns.saturating_sub(progress_at);
    (since >= patience(plan_items)).then_some(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_task_may_take_longer_and_progress_extends_it() {
        let rows = [
            (29, 0, 0, None),
            (30, 0, 0, Some(30)),
            (30, 1, 0, None),
            (55, 25, 0, Some(30)),
            (30, 0, 5, None),
            (40, 0, 5, Some(40)),
            (60, 0, 1000, Some(60)),
            (0, 9, 0, None),
        ];
        for (turns, progress_at, items, want) in rows {
            assert_eq!(
                in_vain(turns, progress_at, items),
                want,
                "{turns} {progress_at} {items}"
            );
        }
    }
}
