//! Limits of a run, checked before every model call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::event::Budget;
use crate::kernel::money::Dollars;

/// What a run has used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    pub active_ms: u64,
    pub tokens: u64,
    pub iterations: u32,
    pub cost_micros: u64,
    /// What all runs of the task, and of the day, have cost with it.
    pub task_micros: u64,
    pub day_micros: u64,
}

/// In the order in which they are looked at.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Limit {
    /// Counted in seconds.
    Time,
    Tokens,
    /// Counted in turns of the model.
    Iterations,
    /// Counted in millionths of a dollar, as are those that follow.
    Cost,
    TaskCost,
    DayCost,
}

/// From how much of a limit on a run is warned, in percent.
pub const WARNED_AT: u64 = 80;

impl Limit {
    pub const ALL: [Self; 6] = [
        Self::Time,
        Self::Tokens,
        Self::Iterations,
        Self::Cost,
        Self::TaskCost,
        Self::DayCost,
    ];

    /// The limit with its number, for people.
    pub fn describe(self, budget: &Budget) -> String {
        match self {
            Self::Time => format!("{} s of work", budget.active_s),
            Self::Tokens => format!("{} tokens", budget.tokens),
            Self::Iterations => format!("{} model turns", budget.iterations),
            Self::Cost => format!("{} for this run", amount(budget.cost)),
            Self::TaskCost => format!("{} for this task", amount(budget.task_cost)),
            Self::DayCost => format!("{} for this day", amount(budget.day_cost)),
        }
    }

    /// How much of it is used, and where it is, in the limit's own unit. `None`: there is no such limit.
    pub fn measure(self, spent: Spent, budget: &Budget) -> Option<(u64, u64)> {
        let money = |used: u64, limit: Option<Dollars>| Some((used, limit?.micros));
        match self {
            Self::Time => Some((spent.active_ms / 1000, budget.active_s)),
            Self::Tokens => Some((spent.tokens, budget.tokens)),
            Self::Iterations => Some((spent.iterations.into(), budget.iterations.into())),
            Self::Cost => money(spent.cost_micros, budget.cost),
            Self::TaskCost => money(spent.task_micros, budget.task_cost),
            Self::DayCost => money(spent.day_micros, budget.day_cost),
        }
    }

    /// Reads what a person types as a new limit: `200000`, `200k`, `1.5m`, `$2.50`, each maybe with words after it.
    pub fn read(self, text: &str) -> Option<u64> {
        let text = text.trim();
        let text = text
            .strip_prefix("raise it to")
            .or_else(|| text.strip_prefix("raise to"))
            .unwrap_or(text)
            .trim();
        let is_money = matches!(self, Self::Cost | Self::TaskCost | Self::DayCost);
        let text = text.strip_prefix('$').filter(|_| is_money).unwrap_or(text);
        let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_'));
        let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
        let number: f64 = digits.replace('_', "").parse().ok()?;
        let rest = rest.trim();
        let factor = match rest {
            "k" | "K" => 1e3,
            "m" | "M" if self == Self::Time => 60.0,
            "m" | "M" => 1e6,
            "min" | "minutes" if self == Self::Time => 60.0,
            "" => 1.0,
            words if words.len() > 1 && words.chars().all(|c| c.is_alphabetic() || c == ' ') => 1.0,
            _ => return None,
        };
        let unit = if is_money { 1e6 } else { 1.0 };
        let all = (number * factor * unit).round();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // In range: checked right here.
        (1.0..1e15).contains(&all).then_some(all as u64)
    }
}

fn amount(limit: Option<Dollars>) -> String {
    limit.unwrap_or_default().to_string()
}

/// The first limit that is reached.
pub fn reached(spent: Spent, budget: &Budget) -> Option<Limit> {
    Limit::ALL.into_iter().find(|limit| {
        let measured = limit.measure(spent, budget);
        measured.is_some_and(|(used, at)| used >= at)
    })
}

/// The limits of which so much is used that it is time to say so.
pub fn nearly_reached(spent: Spent, budget: &Budget) -> impl Iterator<Item = Limit> {
    Limit::ALL.into_iter().filter(move |limit| {
        let measured = limit.measure(spent, budget);
        measured.is_some_and(|(used, at)| {
            used < at && used.saturating_mul(100) >= at.saturating_mul(WARNED_AT)
        })
    })
}

/// The budget with that limit doubled, or raised to twice what is `spent`, so that work can go on.
pub fn raised(budget: &Budget, limit: Limit, spent: Spent) -> Budget {
    let (used, at) = limit.measure(spent, budget).unwrap_or_default();
    let least = if limit == Limit::Tokens { 1000 } else { 1 };
    raised_to(budget, limit, at.max(used).saturating_mul(2).max(least))
}

/// The budget with that limit at `to`, in the limit's own unit.
pub fn raised_to(budget: &Budget, limit: Limit, to: u64) -> Budget {
    let mut budget = budget.clone();
    let money = Some(Dollars::from_micros(to));
    match limit {
        Limit::Time => budget.active_s = to,
        Limit::Tokens => budget.tokens = to,
        Limit::Iterations => budget.iterations = u32::try_from(to).unwrap_or(u32::MAX),
        Limit::Cost => budget.cost = money,
        Limit::TaskCost => budget.task_cost = money,
        Limit::DayCost => budget.day_cost = money,
    }
    budget
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_reached_not_passed() {
        let budget = Budget {
            active_s: 10,
            tokens: 100,
            iterations: 3,
            cost: Some(Dollars::from_micros(50)),
            task_cost: Some(Dollars::from_micros(60)),
            day_cost: Some(Dollars::from_micros(70)),
        };
        let spent = |active_ms, tokens, iterations| Spent {
            active_ms,
            tokens,
            iterations,
            cost_micros: 49,
            task_micros: 59,
            day_micros: 69,
        };
        let free = spent(0, 0, 0);
        let rows = [
            (spent(9_999, 99, 2), None),
            (spent(10_000, 0, 0), Some(Limit::Time)),
            (spent(0, 100, 0), Some(Limit::Tokens)),
            (spent(0, 0, 3), Some(Limit::Iterations)),
            (
                Spent {
                    cost_micros: 50,
                    ..free
                },
                Some(Limit::Cost),
            ),
            (
                Spent {
                    task_micros: 60,
                    ..free
                },
                Some(Limit::TaskCost),
            ),
            (
                Spent {
                    day_micros: 80,
                    ..free
                },
                Some(Limit::DayCost),
            ),
        ];
        for (spent, want) in rows {
            assert_eq!(reached(spent, &budget), want, "{spent:?}");
            if let Some(limit) = want {
                assert_eq!(reached(spent, &raised(&budget, limit, spent)), None);
            }
        }
    }

    #[test]
    fn a_run_is_warned_from_four_fifths_on_and_no_longer_when_it_is_over() {
        let budget = Budget {
            active_s: 10,
            tokens: 100,
            iterations: 5,
            cost: Some(Dollars::from_micros(1000)),
            ..Budget::default()
        };
        let spent = |seconds: u64, tokens, iterations, cost_micros| Spent {
            active_ms: seconds * 1000,
            tokens,
            iterations,
            cost_micros,
            task_micros: 9,
            day_micros: 9,
        };
        let rows = [
            (spent(7, 79, 3, 799), vec![]),
            (
                spent(8, 80, 4, 800),
                vec![Limit::Time, Limit::Tokens, Limit::Iterations, Limit::Cost],
            ),
            (spent(10, 99, 5, 0), vec![Limit::Tokens]),
        ];
        for (spent, want) in rows {
            let near: Vec<Limit> = nearly_reached(spent, &budget).collect();
            assert_eq!(near, want, "{spent:?}");
        }
    }

    #[test]
    fn a_new_limit_is_read_as_people_type_it() {
        let rows = [
            (Limit::Tokens, "200000", Some(200_000)),
            (Limit::Tokens, " 200k ", Some(200_000)),
            (Limit::Tokens, "1.5m", Some(1_500_000)),
            (Limit::Tokens, "200_000 tokens", Some(200_000)),
            (Limit::Tokens, "raise to 5k", Some(5_000)),
            (Limit::Time, "20 min", Some(1200)),
            (Limit::Time, "90 seconds", Some(90)),
            (Limit::Cost, "$2.50", Some(2_500_000)),
            (Limit::Cost, "0.1", Some(100_000)),
            (Limit::Tokens, "$5", None),
            (Limit::Tokens, "more", None),
            (Limit::Tokens, "-5", None),
            (Limit::Tokens, "0", None),
            (Limit::Tokens, "1e99", None),
            (Limit::Tokens, "5 %", None),
            (Limit::Iterations, "", None),
        ];
        for (limit, text, want) in rows {
            assert_eq!(limit.read(text), want, "{limit:?} {text:?}");
        }
    }
}
