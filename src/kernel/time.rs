//! Time as the kernel sees it: two numbers that come in with every input.

use serde::{Deserialize, Serialize};

/// When an input arrived.
///
/// `wall_ms` is for people and logs: milliseconds since 1970, may jump. `mono_ms` is for durations: milliseconds of a
/// clock that never goes back and stands still while the machine sleeps; its zero is the start of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    pub wall_ms: i64,
    pub mono_ms: u64,
}

impl Moment {
    /// Milliseconds since `earlier`; zero when `earlier` is of a later or another process.
    pub fn since(self, earlier: Self) -> u64 {
        self.mono_ms.saturating_sub(earlier.mono_ms)
    }
}
