//! Engines: how a run thinks. Each takes the facts of its run and answers with effects.

mod again;
mod answers;
mod asking;
mod calls;
mod changes;
mod correction;
pub(super) mod facts;
mod lifecycle;
mod mend;
mod plan;
mod prompt;
mod react;
mod render;
mod sets;
mod spending;
mod thinking;
mod verify;

pub(super) use lifecycle::progress;
pub use mend::Mending;
