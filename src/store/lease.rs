//! Who works on a run: one process at a time, found dead without waiting for it. What a lease means is decided here, as
//! plain data; [`owner`] looks at processes and the database holds the leases.

pub mod owner;

use serde::{Deserialize, Serialize};

/// The owner renews its leases this often, in milliseconds.
pub const HEARTBEAT_MS: u64 = 1000;
/// Without a new heartbeat for this long an owner that cannot be looked at counts as dead.
pub const SILENCE_MS: u64 = 5000;

/// A process that may own runs. Two processes are never equal, also not over time and machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    pub pid: u32,
    /// When the process started, as the system says it: a number that is used again has another start.
    pub started: String,
    /// The machine and its boot: processes of another one cannot be looked at.
    pub machine: String,
}

/// What the observer knows of an owner now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// A process with this number and this start is there.
    Alive,
    /// There is none.
    Gone,
    /// It cannot be looked at: another machine, or a system that does not tell. For so many milliseconds of the observer's
    /// own clock its heartbeat has not changed.
    Hidden { silent_ms: u64 },
}

/// Whether a lease still binds others. No wall clock decides it: clocks jump, and those of two machines differ.
pub fn is_held(sight: Sight) -> bool {
    match sight {
        Sight::Alive => true,
        Sight::Gone => false,
        Sight::Hidden { silent_ms } => silent_ms < SILENCE_MS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_with_its_owner_or_with_its_silence() {
        let cases = [
            (Sight::Alive, true),
            (Sight::Gone, false),
            (Sight::Hidden { silent_ms: 0 }, true),
            (Sight::Hidden { silent_ms: 4999 }, true),
            (Sight::Hidden { silent_ms: 5000 }, false),
        ];
        for (sight, want) in cases {
            assert_eq!(is_held(sight), want, "{sight:?}");
        }
    }
}
