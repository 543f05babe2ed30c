//! Which task of a batch is started next. Decides and does nothing else.

use serde::{Deserialize, Serialize};

/// How often a run whose process was lost is taken up again, on top of what is asked for.
const TAKEN_UP: u32 = 3;

/// How a task of a batch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// Not started yet.
    #[default]
    Queued,
    Running,
    Succeeded,
    /// Done, but nothing could verify it.
    Unverified,
    Failed,
    /// It waits for an answer.
    Blocked,
    /// Its process was lost, or it was stopped; its run can be taken up.
    Interrupted,
    Cancelled,
}

impl Standing {
    pub fn is_done(self) -> bool {
        matches!(self, Self::Succeeded | Self::Unverified)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Unverified => "unverified",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What the board has to know of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Place {
    pub standing: Standing,
    /// Positions of the tasks that must be done before.
    pub after: Vec<usize>,
    /// How often it was started anew.
    pub attempts: u32,
    /// How often its run was taken up.
    pub taken_up: u32,
    /// There is work of an attempt to go on with.
    pub goes_on: bool,
}

impl Place {
    /// Takes in that its process is started. Whether it begins anew.
    pub fn begins(&mut self) -> bool {
        let anew = !self.goes_on;
        self.attempts += u32::from(anew);
        self.goes_on = true;
        self.standing = Standing::Running;
        anew
    }
}

/// How a batch goes about its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rules {
    pub parallel: usize,
    /// How often a task that failed is started once more.
    pub retry: u32,
    /// Nothing new is begun after a task has failed for good.
    pub stop_on_failure: bool,
}

/// The tasks to start now, in their order.
pub fn next(places: &[Place], rules: &Rules) -> Vec<usize> {
    let running = places
        .iter()
        .filter(|place| place.standing == Standing::Running)
        .count();
    let has_failed = places
        .iter()
        .any(|place| place.standing == Standing::Failed);
    if rules.stop_on_failure && has_failed {
        return Vec::new();
    }
    let may_start = |place: &Place| {
        let is_done = |at: &usize| {
            places
                .get(*at)
                .is_some_and(|other| other.standing.is_done())
        };
        place.standing == Standing::Queued && place.after.iter().all(is_done)
    };
    let startable = (0..places.len()).filter(|at| may_start(&places[*at]));
    startable
        .take(rules.parallel.saturating_sub(running))
        .collect()
}

/// Takes in how a task's process ended: the task is queued once more where the rules say so.
pub fn ended(place: &mut Place, how: Standing, rules: &Rules) {
    place.standing = how;
    match how {
        Standing::Failed if place.attempts <= rules.retry => {
            place.standing = Standing::Queued;
            place.goes_on = false;
        }
        Standing::Interrupted if place.taken_up < TAKEN_UP => {
            place.taken_up += 1;
            place.standing = Standing::Queued;
        }
        Standing::Queued
        | Standing::Running
        | Standing::Succeeded
        | Standing::Unverified
        | Standing::Failed
        | Standing::Blocked
        | Standing::Interrupted
        | Standing::Cancelled => {}
    }
}

/// The task that this one waits for, of those that will not be done now.
pub fn waits_for(places: &[Place], at: usize) -> Option<usize> {
    let place = places.get(at)?;
    let open = |other: &&usize| {
        places
            .get(**other)
            .is_some_and(|other| !other.standing.is_done())
    };
    place.after.iter().find(open).copied()
}

/// The exit code of a batch that has come to its end.
pub fn code(places: &[Place]) -> u8 {
    let any = |standing: Standing| places.iter().any(|place| place.standing == standing);
    if any(Standing::Cancelled) || any(Standing::Interrupted) {
        130
    } else if any(Standing::Failed) {
        1
    } else if any(Standing::Blocked) {
        3
    } else if any(Standing::Queued) {
        1
    } else if any(Standing::Unverified) {
        5
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Standing::*;

    fn places(rows: &[(Standing, &[usize])]) -> Vec<Place> {
        let place = |(standing, after): &(Standing, &[usize])| Place {
            standing: *standing,
            after: after.to_vec(),
            ..Place::default()
        };
        rows.iter().map(place).collect()
    }

    fn rules(parallel: usize) -> Rules {
        Rules {
            parallel,
            retry: 0,
            stop_on_failure: false,
        }
    }

    type Row<'a> = (&'a [(Standing, &'a [usize])], usize, &'a [usize]);

    #[test]
    fn what_is_ready_is_started_as_far_as_there_is_room() {
        let rows: [Row<'_>; 7] = [
            (&[(Queued, &[]), (Queued, &[]), (Queued, &[])], 2, &[0, 1]),
            (&[(Running, &[]), (Queued, &[]), (Queued, &[])], 2, &[1]),
            (&[(Queued, &[]), (Queued, &[0])], 4, &[0]),
            (&[(Succeeded, &[]), (Queued, &[0])], 4, &[1]),
            (&[(Unverified, &[]), (Queued, &[0])], 4, &[1]),
            // What blocks or fails stops only what needs it.
            (&[(Blocked, &[]), (Queued, &[0]), (Queued, &[])], 4, &[2]),
            (&[(Failed, &[]), (Queued, &[0]), (Queued, &[])], 4, &[2]),
        ];
        for (given, parallel, want) in rows {
            assert_eq!(next(&places(given), &rules(parallel)), want, "{given:?}");
        }
        let stop = Rules {
            stop_on_failure: true,
            ..rules(4)
        };
        assert!(next(&places(&[(Failed, &[]), (Queued, &[])]), &stop).is_empty());
        assert_eq!(next(&places(&[(Blocked, &[]), (Queued, &[])]), &stop), [1]);
    }

    #[test]
    fn what_failed_is_tried_again_as_often_as_is_said_and_what_was_lost_is_taken_up() {
        let rules = Rules {
            retry: 1,
            ..rules(1)
        };
        let mut place = Place::default();
        assert!(place.begins());
        ended(&mut place, Failed, &rules);
        assert_eq!(place.standing, Queued);
        assert!(place.begins());
        ended(&mut place, Failed, &rules);
        assert_eq!(place.standing, Failed);
        let mut place = Place::default();
        assert!(place.begins());
        for _ in 0..TAKEN_UP {
            assert!(!place.begins());
            ended(&mut place, Interrupted, &rules);
            assert_eq!(place.standing, Queued);
        }
        ended(&mut place, Interrupted, &rules);
        assert_eq!(place.standing, Interrupted);
    }

    #[test]
    fn what_it_came_to_is_in_the_code() {
        let rows: [(&[Standing], u8); 6] = [
            (&[Succeeded, Succeeded], 0),
            (&[Succeeded, Unverified], 5),
            (&[Unverified, Blocked, Queued], 3),
            (&[Blocked, Failed], 1),
            (&[Queued], 1),
            (&[Failed, Interrupted], 130),
        ];
        for (standings, want) in rows {
            let rows: Vec<(Standing, &[usize])> = standings
                .iter()
                .map(|standing| (*standing, &[][..]))
                .collect();
            assert_eq!(code(&places(&rows)), want, "{standings:?}");
        }
    }
}
