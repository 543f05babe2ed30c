//! Outrigger: an editor sidecar for coding-agent runs.
//!
//! An editor starts the binary and speaks the language server protocol with it over stdio, plus a few methods of our own.
//! It can then launch runs of a coding agent, see what the verification gates reject as ordinary squiggles, follow the
//! run as ordinary progress, approve an overwrite in an ordinary diff, and answer what blocks the run where the cursor
//! is. The same binary serves a terminal and CI.
//!
//! ```text
//! editor ⇄ stdio ⇄ lsp ─┐            ┌─ model      (providers, scripted)
//! terminal ⇄ cli ───────┼─⇄ app ⇄ ───┼─ tools      (search, commands)
//!                       │    │       ├─ gates      (run tools, read reports)
//!                       │  kernel    ├─ workspace  (files under the editor's buffers)
//!                       │  (pure)    └─ store      (transcript, state)
//! ```
//!
//! # The rooms
//!
//! Each module's own docs say what it owns and promises. Dependencies point one way; a test reads this table and fails
//! when the sources do not keep to it.
//!
//! | module | what it is for | may use |
//! |---|---|---|
//! | `kernel` | decides: runs, engines, policies, questions, conflicts, findings; a pure step from state and input to effects | nothing |
//! | `protocol` | the contract with the editors: custom methods and their types, no logic | `kernel` |
//! | `model` | providers, scripted and recorded models; classifies their errors | `kernel` |
//! | `tools` | what an agent may do besides files: commands; the schemas of all tools | `kernel` |
//! | `gates` | finds and runs checkers and tests, reads their reports into findings | `kernel` |
//! | `workspace` | files under the editor's buffers: safe paths, reading, searching, atomic writing | `kernel` |
//! | `store` | the sidecar's own files: transcripts, with secrets masked | `kernel` |
//! | `config` | what the user has set: files, environment, editor, flags in one shape, each value with its origin | `kernel`, `model`, `gates` |
//! | `app` | one actor that owns a workspace's state: records, steps the kernel, has its effects performed | `kernel`, `config`, `model`, `tools`, `gates`, `workspace`, `store` |
//! | `lsp` | renders the app to an editor; alone knows the protocol's types | `app`, `config`, `protocol`, `kernel` |
//! | `cli` | renders the app to a terminal, one file per subcommand | `app`, `config`, `protocol`, `kernel` |
//!
//! # What always holds
//!
//! * **The kernel is pure.** No clock, no I/O, no async, no randomness, no JSON, no type of the language server protocol:
//!   time and hashes come in as inputs. So every decision can be tested as a table, and replayed.
//! * **A fact is in the transcript before the kernel sees it**, and a side effect is recorded before it starts. The facts
//!   of a run, fed to a new kernel, give the same state.
//! * **Performers perform and do not decide.** Each can be cancelled at any moment and ends within a bound.
//! * **No handler waits for the editor or for a human.** Questions are durable state, answered by id from anywhere; the
//!   first valid answer wins; dismissed and timed out are no answers.
//! * **The editor's buffers are the truth.** Reads see unsaved text; an open document is changed by a versioned edit, any
//!   other file by an atomic write. Keeping or cancelling leaves every byte as it was.
//! * **Nothing from outside can panic us**: not the editor, the model, a tool's report, a file.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))] // a test may panic

pub mod app;
pub mod cli;
pub mod config;
pub mod gates;
pub mod kernel;
pub mod lsp;
pub mod model;
pub mod protocol;
pub mod store;
pub mod tools;
pub mod workspace;
