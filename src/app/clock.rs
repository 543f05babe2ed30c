//! The clock and the names that need it.

use std::hash::{BuildHasher, RandomState};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::kernel::ids::RunId;
use crate::kernel::time::Moment;

/// Gives the time as the kernel takes it.
pub struct Clock {
    start: Instant,
}

impl Clock {
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    pub fn now(&self) -> Moment {
        let mono_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Moment {
            wall_ms: wall_ms(),
            mono_ms,
        }
    }
}

/// Milliseconds since 1970.
pub fn wall_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A moment as a time of day where the user is, with the date where that is another day: "14:32:05".
pub fn time_of_day(at_ms: i64) -> String {
    let zone = jiff::tz::TimeZone::system();
    let here = |ms: i64| {
        Some(
            jiff::Timestamp::from_millisecond(ms)
                .ok()?
                .to_zoned(zone.clone()),
        )
    };
    match (here(at_ms), here(wall_ms())) {
        (Some(at), Some(now)) if at.date() == now.date() => at.strftime("%H:%M:%S").to_string(),
        (Some(at), _) => at.strftime("%H:%M on %Y-%m-%d").to_string(),
        (None, _) => "a time that no calendar has".to_owned(),
    }
}

/// A new run's name: `r`, the time and a random part, so that names sort by start and never repeat between processes.
pub fn new_run_id() -> RunId {
    let time = u64::try_from(wall_ms()).unwrap_or_default();
    // The standard library seeds each `RandomState` from the system's randomness.
    let random = RandomState::new().hash_one(std::process::id());
    RunId::new(format!("r{}{}", base36(time, 9), base36(random, 4)))
}

/// The last `digits` digits of `number` in base 36.
fn base36(mut number: u64, digits: usize) -> String {
    let mut text = vec![b'0'; digits];
    for digit in text.iter_mut().rev() {
        *digit = b"0123456789abcdefghijklmnopqrstuvwxyz"
            [usize::try_from(number % 36).unwrap_or_default()];
        number /= 36;
    }
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_unique() {
        let names: std::collections::BTreeSet<RunId> = (0..100).map(|_| new_run_id()).collect();
        assert!(names.len() > 95, "{names:?}");
        assert!(names.iter().all(|name| name.as_str().len() == 14));
        assert_eq!(base36(36 * 36 - 1, 3), "0zz");
    }
}
