//! The scripted model: a readable file of turns that stands in for a provider.
//!
//! Owns the `*.script.jsonl` format. One header line, then one line per turn, played in order; `expect` says what the
//! turn must be shown and fails loudly, `fault` breaks the turn the way a provider would. Deciding what a turn says
//! ([`Cursor::next`]) is pure; [`play`] performs it in time.

mod check;
mod cursor;
mod expect;
mod fault;
mod parse;
mod play;
mod values;

pub use cursor::{Cursor, PlannedTurn};
pub use expect::{VERIFICATION_FAILED, VERIFICATION_PASSED};
pub use fault::{Fault, RecordedError, recorded_errors};
pub use parse::{Emit, Line, Pace, Script, ScriptError};
pub use play::play;
