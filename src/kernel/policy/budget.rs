//! Limits of a run, checked before every model call.

use crate::kernel::event::Budget;

/// What a run has used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    pub active_ms: u64,
    pub tokens: u64,
    pub iterations: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Time,
    Tokens,
    Iterations,
}

impl Limit {
    /// The limit with its number, for people.
    pub fn describe(self, budget: &Budget) -> String {
        match self {
            Self::Time => format!("{} s of work", budget.active_s),
            Self::Tokens => format!("{} tokens", budget.tokens),
            Self::Iterations => format!("{} model turns", budget.iterations),
        }
    }
}

/// The first limit that is reached.
pub fn reached(spent: Spent, budget: &Budget) -> Option<Limit> {
    if spent.active_ms >= budget.active_s.saturating_mul(1000) {
        Some(Limit::Time)
    } else if spent.tokens >= budget.tokens {
        Some(Limit::Tokens)
    } else if spent.iterations >= budget.iterations {
        Some(Limit::Iterations)
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
        };
        let spent = |active_ms, tokens, iterations| Spent {
            active_ms,
            tokens,
            iterations,
        };
        let rows = [
            (spent(9_999, 99, 2), None),
            (spent(10_000, 0, 0), Some(Limit::Time)),
            (spent(0, 100, 0), Some(Limit::Tokens)),
            (spent(0, 0, 3), Some(Limit::Iterations)),
        ];
        for (spent, want) in rows {
            assert_eq!(reached(spent, &budget), want, "{spent:?}");
            if let Some(limit) = want {
                assert_eq!(reached(spent, &raised(&budget, limit, spent)), None);
            }
        }
    }
}
