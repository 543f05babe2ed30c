//! Floors: what the sidecar costs, beside what the same work costs when nothing but the system does it.
//!
//! `cargo bench --bench floors` prints one table of medians. Each of our numbers and its floor are measured in turn, so
//! that a busy machine slows both. The exit code is 1 when a target is missed.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![allow(clippy::expect_used, reason = "a benchmark fails by panicking")]

#[path = "floors/echo.rs"]
mod echo;
#[path = "floors/files.rs"]
mod files;
#[path = "floors/index.rs"]
mod index;
#[path = "floors/process.rs"]
mod process;
#[path = "floors/run.rs"]
mod run;
#[path = "floors/server.rs"]
mod server;
#[path = "floors/storage.rs"]
mod storage;
#[path = "floors/table.rs"]
mod table;
#[path = "floors/terminal.rs"]
mod terminal;
#[path = "floors/wire.rs"]
mod wire;

use std::process::ExitCode;

use table::Row;

/// A name and what is measured under it.
type Measure = (&'static str, fn() -> Row);

const MEASURES: [Measure; 21] = [
    ("start to `initialize` reply", server::start),
    ("round trip of a custom request", server::round_trip),
    ("idle memory (RSS)", server::idle_memory),
    ("size of the binary", server::binary_size),
    ("a tool call of a scripted run", run::per_tool_call),
    ("a step of the kernel", run::kernel_step),
    ("a run with a check", run::with_a_check),
    ("durable append to a transcript", storage::durable_append),
    ("append to a transcript", storage::append),
    ("a page from the middle of a transcript", storage::read),
    ("opening a workspace with many runs", index::open),
    ("terminal: `outrigger --help`", terminal::help),
    ("terminal: `outrigger runs`", terminal::runs),
    ("files: a safe write", files::write),
    (
        "files: 10,000 edits of a large open document",
        files::typing,
    ),
    ("files: list 100,000 files", files::list),
    ("files: an edit in 10,000 lines", files::edit),
    ("files: a merge of 10,000 lines", files::merge),
    ("files: look at a large open document", files::look),
    ("files: differences of a million lines", files::differences),
    ("files: an edit in a million lines", files::decide),
];

fn main() -> ExitCode {
    // The floor is this very program in another role.
    if std::env::args().nth(1).as_deref() == Some(echo::ARGUMENT) {
        echo::serve();
        return ExitCode::SUCCESS;
    }
    if cfg!(debug_assertions) {
        println!("built for debugging: the numbers say nothing; run `cargo bench --bench floors`");
    }
    // Words choose: `cargo bench --bench floors -- transcript`.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let chosen = |what: &str| words.is_empty() || words.iter().any(|word| what.contains(word));
    let rows: Vec<Row> = MEASURES
        .iter()
        .filter(|(what, _)| chosen(what))
        .map(|(what, measure)| Row { what, ..measure() })
        .collect();
    table::print(&rows);
    if rows.iter().all(Row::is_met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
