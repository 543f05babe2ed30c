//! A run's progress in the editor: one token a run, a begin, at most four reports a second, the last one never lost, and
//! an end for every begin. Plain state: the time comes in, what to send comes out.

use lsp_types::{
    WorkDoneProgress, WorkDoneProgressBegin, WorkDoneProgressEnd, WorkDoneProgressReport,
};

use crate::kernel::effect::Progress;
use crate::kernel::ids::RunId;

/// Milliseconds between two reports.
pub const REPORT_EVERY_MS: u64 = 250;

const TOKEN_PREFIX: &str = "outrigger/run/";

/// The run's token. A text, because some clients take no numbers.
pub fn token(run: &RunId) -> String {
    format!("{TOKEN_PREFIX}{run}")
}

/// The run whose progress has this token.
pub fn run_of(token: &str) -> Option<RunId> {
    token.strip_prefix(TOKEN_PREFIX).map(RunId::new)
}

/// What to do now.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask the editor to make room for the token; its reply goes to [`RunProgress::created`].
    Create,
    Send(WorkDoneProgress),
    /// Call [`RunProgress::tick`] after so many milliseconds.
    TickAfter(u64),
}

/// Whether the editor made room for the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    Yes,
    /// It refused, or is gone: nothing may be sent for the token.
    No,
}

/// The progress of one run.
#[derive(Debug, Default)]
pub struct RunProgress {
    stage: Stage,
    /// The newest that is not sent yet.
    waiting: Option<Progress>,
    /// When the last one was sent.
    sent_ms: u64,
    ticking: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    New,
    Creating,
    Shown,
    Over,
}

impl RunProgress {
    /// There is news. `now_ms` never goes back.
    pub fn update(&mut self, progress: Progress, now_ms: u64) -> Vec<Step> {
        if self.stage == Stage::Over {
            return Vec::new();
        }
        self.waiting = Some(progress);
        match self.stage {
            Stage::New => {
                self.stage = Stage::Creating;
                vec![Step::Create]
            }
            Stage::Shown => self.send_what_is_due(now_ms),
            Stage::Creating | Stage::Over => Vec::new(),
        }
    }

    /// The editor replied to [`Step::Create`].
    pub fn created(&mut self, created: Created, now_ms: u64) -> Vec<Step> {
        if self.stage != Stage::Creating {
            return Vec::new();
        }
        let Some(first) = self.waiting.take() else {
            return Vec::new();
        };
        if created == Created::No {
            self.stage = Stage::Over;
            return Vec::new();
        }
        self.stage = Stage::Shown;
        self.sent_ms = now_ms;
        let begin = WorkDoneProgress::Begin(WorkDoneProgressBegin {
            title: first.title.clone(),
            cancellable: Some(true),
            message: Some(first.message.clone()),
            percentage: first.percentage,
        });
        let mut steps = vec![Step::Send(begin)];
        if first.ended {
            steps.extend(self.end(first));
        }
        steps
    }

    /// The time asked for by [`Step::TickAfter`] has passed.
    pub fn tick(&mut self, now_ms: u64) -> Vec<Step> {
        self.ticking = false;
        if self.stage == Stage::Shown {
            self.send_what_is_due(now_ms)
        } else {
            Vec::new()
        }
    }

    /// The run's owner is gone: what was begun is ended.
    pub fn abandon(&mut self, message: &str) -> Vec<Step> {
        if self.stage != Stage::Shown {
            self.stage = Stage::Over;
            return Vec::new();
        }
        self.end(Progress {
            title: String::new(),
            message: message.to_owned(),
            percentage: None,
            until: None,
            ended: true,
        })
    }

    fn send_what_is_due(&mut self, now_ms: u64) -> Vec<Step> {
        let Some(newest) = self.waiting.take() else {
            return Vec::new();
        };
        if newest.ended {
            return self.end(newest);
        }
        let due_ms = self.sent_ms + REPORT_EVERY_MS;
        if now_ms < due_ms {
            self.waiting = Some(newest);
            if self.ticking {
                return Vec::new();
            }
            self.ticking = true;
            return vec![Step::TickAfter(due_ms - now_ms)];
        }
        self.sent_ms = now_ms;
        vec![Step::Send(WorkDoneProgress::Report(
            WorkDoneProgressReport {
                cancellable: Some(true),
                message: Some(newest.message),
                percentage: newest.percentage,
            },
        ))]
    }

    fn end(&mut self, last: Progress) -> Vec<Step> {
        self.stage = Stage::Over;
        vec![Step::Send(WorkDoneProgress::End(WorkDoneProgressEnd {
            message: Some(last.message),
        }))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn news(message: &str, ended: bool) -> Progress {
        Progress {
            title: "Fix the tests".into(),
            message: message.into(),
            percentage: None,
            until: None,
            ended,
        }
    }

    /// `begin a`, `report b`, `end c`, `create`, `tick 100`.
    fn said(steps: Vec<Step>) -> Vec<String> {
        let text = |message: Option<String>| message.unwrap_or_default();
        steps
            .into_iter()
            .map(|step| match step {
                Step::Create => "create".into(),
                Step::TickAfter(ms) => format!("tick {ms}"),
                Step::Send(WorkDoneProgress::Begin(begin)) => {
                    format!("begin {}: {}", begin.title, text(begin.message))
                }
                Step::Send(WorkDoneProgress::Report(report)) => {
                    format!("report {}", text(report.message))
                }
                Step::Send(WorkDoneProgress::End(end)) => format!("end {}", text(end.message)),
            })
            .collect()
    }

    #[test]
    fn a_run_begins_reports_slowly_and_ends() {
        let mut progress = RunProgress::default();
        assert_eq!(said(progress.update(news("a", false), 0)), ["create"]);
        assert!(progress.update(news("b", false), 10).is_empty());
        let begun = progress.created(Created::Yes, 20);
        assert_eq!(said(begun), ["begin Fix the tests: b"]);
        assert_eq!(said(progress.update(news("c", false), 100)), ["tick 170"]);
        assert!(progress.update(news("d", false), 200).is_empty());
        assert_eq!(said(progress.tick(270)), ["report d"]);
        assert!(progress.tick(600).is_empty());
        assert_eq!(said(progress.update(news("e", false), 600)), ["report e"]);
        assert_eq!(said(progress.update(news("f", false), 610)), ["tick 240"]);
        assert_eq!(said(progress.update(news("done", true), 611)), ["end done"]);
        assert!(progress.tick(850).is_empty());
        assert!(progress.update(news("late", false), 900).is_empty());
    }

    #[test]
    fn a_run_that_ends_before_the_editor_made_room_is_begun_and_ended() {
        let mut progress = RunProgress::default();
        progress.update(news("a", false), 0);
        progress.update(news("done", true), 5);
        let steps = progress.created(Created::Yes, 9);
        assert_eq!(said(steps), ["begin Fix the tests: done", "end done"]);
    }

    #[test]
    fn nothing_is_sent_for_a_token_that_the_editor_refused() {
        let mut progress = RunProgress::default();
        progress.update(news("a", false), 0);
        assert!(progress.created(Created::No, 1).is_empty());
        assert!(progress.update(news("done", true), 2).is_empty());
        assert!(progress.abandon("gone").is_empty());
    }

    #[test]
    fn a_token_names_its_run() {
        let run = RunId::new("20261130-é");
        assert_eq!(run_of(&token(&run)), Some(run));
        assert_eq!(run_of("someone/else"), None);
    }

    proptest! {
        #[test]
        fn begins_and_ends_match_and_reports_keep_their_distance(
            pauses in proptest::collection::vec(0_u64..400, 1..60),
            room_at in 0_usize..60,
        ) {
            let mut progress = RunProgress::default();
            let mut now = 0;
            let mut tick_at = None;
            let mut sent: Vec<(u64, String)> = Vec::new();
            let mut take = |steps: Vec<Step>, now: u64, tick_at: &mut Option<u64>| {
                for step in &steps {
                    if let Step::TickAfter(ms) = step {
                        *tick_at = Some(now + ms);
                    }
                }
                sent.extend(said(steps).into_iter().map(|text| (now, text)));
            };
            for (number, pause) in pauses.iter().enumerate() {
                if let Some(at) = tick_at.filter(|at| *at <= now + pause) {
                    tick_at = None;
                    let steps = progress.tick(at);
                    take(steps, at, &mut tick_at);
                }
                now += pause;
                let steps = progress.update(news(&number.to_string(), false), now);
                take(steps, now, &mut tick_at);
                if number == room_at {
                    let steps = progress.created(Created::Yes, now);
                    take(steps, now, &mut tick_at);
                }
            }
            if let Some(at) = tick_at {
                let steps = progress.tick(at.max(now));
                take(steps, at.max(now), &mut tick_at);
            }
            let last = (pauses.len() - 1).to_string();
            let shown = room_at < pauses.len();
            let told: Vec<_> = sent
                .iter()
                .filter(|(_, text)| text.starts_with("report") || text.starts_with("begin"))
                .collect();
            if shown {
                let newest = &told.last().unwrap().1;
                prop_assert!(newest.ends_with(&format!(" {last}")), "{newest} is not the last, {last}");
            }
            for pair in told.windows(2) {
                prop_assert!(pair[1].0 - pair[0].0 >= REPORT_EVERY_MS);
            }
            let end = said(progress.update(news("done", true), now + 1));
            prop_assert_eq!(end, if shown { vec!["end done".to_owned()] } else { vec![] });
        }
    }
}
