//! Gates against real captures and real tools.
//!
//! `OUTRIGGER_GATE_FIXTURES=DIR cargo test --test gates -- --nocapture fixtures` reads every capture below DIR.

#[path = "gates/real_cargo.rs"]
mod real_cargo;
