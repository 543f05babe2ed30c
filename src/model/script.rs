//! The scripted model: a readable file of turns that stands in for a provider, named `scripted:FILE`.
//!
//! Owns the `*.script.jsonl` format: JSON lines, one header, then one line per turn, played in order. Empty lines and
//! lines that begin with `//` are skipped.
//!
//! ```jsonl
//! {"script":1,"name":"fix-import","model":"scripted/demo","context_window":8192}
//! {"expect":{"last":{"role":"user","contains":["unused import"]},"tools":["read"]},"emit":[{"text":"Looking."},{"tool":"read","id":"c1","args":{"path":"a.rs"}}]}
//! {"fault":{"http":429,"retry_after":0.2,"body":{"error":{"message":"Rate limit exceeded"}}},"times":1}
//! {"expect":{"last":{"role":"tool","id":"c1"}},"emit":[{"tool":"edit","id":"c2","args":{"base":"${c1.sha256}"}}],"pace":{"ttft_ms":40,"chunk":8,"gap_ms":5}}
//! {"when":{"verify":"failed"},"emit":[{"tool":"read","id":"c3","args":{"path":"a.rs"}}],"goto":"again"}
//! {"label":"again","emit":[{"text":"Done."}],"stop":"end","usage":{"in":500,"out":9}}
//! ```
//!
//! * `expect` fails loudly when the request is another one: `last` is everything after the model's last turn (`role`,
//!   `id` of a tool call, `contains`, `lacks`), `system`, `anywhere`, `nowhere` are texts, `tools` must be on offer.
//! * `emit` holds `text`, `thinking` (with `signature`), `tool` with `id` and `args` or `raw_tool_args`, `stop`, `usage`.
//! * `fault` is a kind (`"overloaded"`), or one of `ref` (a recorded error), `http` (with `body`, `headers`,
//!   `retry_after` in seconds), `json200`, `error_event`, `drop_after`, `eof_after`, `stall_ms`, `stall`, `bad_frame`,
//!   `no_done`. The last seven may follow what the line emits. `times` serves a line several times.
//! * `when` skips a line whose condition does not hold; `goto` goes on at a `label`; `optional` lines may stay unused.
//! * `${id.sha256}`, `${id.line:/pattern/}` (its first group, else the line) and `${id.text}` come from the result of
//!   that tool call; `$${` is a literal `${`. An id that is used again is sent as `id-2`, `id-3`, ….
//! * Every request is checked as a provider would (results pair with calls), and one over `context_window` is answered
//!   with `prompt_too_long`. A request after the end fails; [`super::Models::finish`] names turns that stayed unused.
//!
//! Deciding what a turn says ([`Cursor::next`]) is pure; [`play`] performs it in time.

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
