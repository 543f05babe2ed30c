//! Limits of a run, checked before every model call.

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Time,
    Tokens,
    Iterations,
    Cost,
    TaskCost,
    DayCost,
}

impl Limit {
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
}

fn amount(limit: Option<Dollars>) -> String {
    limit.unwrap_or_default().to_string()
}

/// Whether there is a limit, and so much has been spent.
fn is_spent(micros: u64, limit: Option<Dollars>) -> bool {
    limit.is_some_and(|limit| micros >= limit.micros)
}

/// The first limit that is reached.
pub fn reached(spent: Spent, budget: &Budget) -> Option<Limit> {
    if spent.active_ms >= budget.active_s.saturating_mul(1000) {
        Some(Limit::Time)
    } else if spent.tokens >= budget.tokens {
        Some(Limit::Tokens)
    } else if spent.iterations >= budget.iterations {
        Some(Limit::Iterations)
    } else if is_spent(spent.cost_micros, budget.cost) {
        Some(Limit::Cost)
    } else if is_spent(spent.task_micros, budget.task_cost) {
        Some(Limit::TaskCost)
    } else if is_spent(spent.day_micros, budget.day_cost) {
        Some(Limit::DayCost)
    } else {
        None
    }
}

/// The budget with that limit raised by as much again as `spent`, so that work can go on.
pub fn raised(budget: &Budget, limit: Limit, spent: Spent) -> Budget {
    let mut budget = budget.clone();
    match limit {
        Limit::Time => {
            budget.active_s = budget
                .active_s
                .max(spent.active_ms / 1000)
                .saturating_mul(2)
                .max(1);
        }
        Limit::Tokens => {
            budget.tokens = budget.tokens.max(spent.tokens).saturating_mul(2).max(1000);
        }
        Limit::Iterations => {
            budget.iterations = budget
                .iterations
                .max(spent.iterations)
                .saturating_mul(2)
                .max(1);
        }
        Limit::Cost => budget.cost = doubled(budget.cost, spent.cost_micros),
        Limit::TaskCost => budget.task_cost = doubled(budget.task_cost, spent.task_micros),
        Limit::DayCost => budget.day_cost = doubled(budget.day_cost, spent.day_micros),
    }
    budget
}

fn doubled(limit: Option<Dollars>, spent: u64) -> Option<Dollars> {
    limit.map(|limit| Dollars::from_micros(limit.micros.max(spent).saturating_mul(2).max(1)))
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
}
