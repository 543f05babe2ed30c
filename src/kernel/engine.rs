//! Engines: how a run thinks. Each takes the facts of its run and answers with effects.

mod again;
mod asking;
mod calls;
mod changes;
mod lifecycle;
mod prompt;
pub(super) mod react;
mod render;
mod sets;
mod thinking;
mod verify;

pub(super) use lifecycle::progress;
