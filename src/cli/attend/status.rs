//! The lines at the bottom of a terminal that say what goes on right now: the step of the plan, what is waited for and since
//! when, what it has cost so far. Only where both streams are a terminal.

use std::io::{self, IsTerminal};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::words::{clean, cost, grouped};
use crate::kernel::conversation::{Cost, Usage};
use crate::kernel::effect::Progress;
use crate::kernel::event::RunEvent;
use crate::kernel::tool::{PlanItem, PlanItemState};

#[derive(Debug)]
pub struct Status {
    bar: Option<ProgressBar>,
    message: String,
    since: Instant,
    plan: Vec<PlanItem>,
    usage: Usage,
    cost: Cost,
}

impl Status {
    /// `wanted`: the output is for people.
    pub fn new(wanted: bool) -> Self {
        let shows = wanted && io::stdout().is_terminal() && io::stderr().is_terminal();
        Self {
            bar: shows.then(|| {
                ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
                    .with_style(style("{wide_msg:.dim}"))
            }),
            message: String::new(),
            since: Instant::now(),
            plan: Vec::new(),
            usage: Usage::default(),
            cost: Cost::default(),
        }
    }

    /// Takes in what the run has come to.
    pub fn learn(&mut self, event: &RunEvent) {
        match event {
            RunEvent::PlanUpdated { items } => {
                self.plan.clone_from(items);
                if let Some(bar) = &self.bar {
                    bar.set_style(style("{prefix}\n{wide_msg:.dim}"));
                }
            }
            RunEvent::ModelReplied { turn, bill, .. } => {
                self.usage.add(turn.usage);
                self.cost.add(bill.cost);
            }
            _ => {}
        }
    }

    pub fn set(&mut self, progress: &Progress) {
        if self.message != progress.message {
            self.message.clone_from(&progress.message);
            self.since = Instant::now();
        }
    }

    /// With the time since the message changed.
    pub fn draw(&self) {
        let Some(bar) = self.bar.as_ref().filter(|_| !self.message.is_empty()) else {
            return;
        };
        bar.set_prefix(step(&self.plan));
        bar.set_message(self.line(self.since.elapsed().as_secs()));
        bar.tick();
    }

    fn line(&self, seconds: u64) -> String {
        let first = self.message.lines().next().unwrap_or_default();
        let mut line = clean(first).into_owned();
        if seconds > 1 {
            line.push_str(&format!(" {seconds} s"));
        }
        if self.usage.total() > 0 {
            line.push_str(&format!(" · {} tokens", grouped(self.usage.total())));
        }
        if let Some(cost) = cost(self.cost).filter(|_| self.cost.micros > 0) {
            line.push_str(&format!(" · {cost}"));
        }
        line
    }

    /// Takes the lines away, so that others can be written there.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            // Drawn again with the next message.
            bar.reset();
        }
    }
}

/// Both templates are ours and are read by every test that draws.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// The step that is being done, and how many there are.
fn step(plan: &[PlanItem]) -> String {
    let at = plan
        .iter()
        .position(|item| item.state == PlanItemState::InProgress);
    at.map_or_else(String::new, |at| {
        format!(
            "step {} of {}: {}",
            at + 1,
            plan.len(),
            clean(&plan[at].title)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_what_is_waited_for_how_long_and_at_what_cost() {
        let mut status = Status::new(false);
        status.message = "waits for anthropic/é\nmore".to_owned();
        assert_eq!(status.line(1), "waits for anthropic/é");
        status.usage.input = 12_000;
        status.usage.output = 345;
        status.cost.micros = 30_000;
        let line = status.line(12);
        assert!(
            line.starts_with("waits for anthropic/é 12 s · 12,345 tokens · $0.03"),
            "{line}"
        );
    }

    #[test]
    fn the_step_is_the_one_in_progress() {
        let item = |title: &str, state| PlanItem {
            title: title.to_owned(),
            state,
            step: None,
        };
        let plan = [
            item("read", PlanItemState::Done),
            item("write", PlanItemState::InProgress),
            item("test", PlanItemState::Pending),
        ];
        assert_eq!(step(&plan), "step 2 of 3: write");
        assert_eq!(step(&plan[..1]), "");
    }
}
