//! The `react` engine: a tool-use loop. The model answers, its tool calls are done in order, their results go back, until
//! it answers without a call; then the gates decide whether it is done.

use super::thinking::{call_model, say};
use super::{prompt, verify};
use crate::kernel::event::{Context, RunOutcome};
use crate::kernel::run::Run;
use crate::kernel::state::Frame;

pub fn begin(run: &mut Run, frame: &mut Frame<'_>, context: &Context) {
    let task = prompt::task(&run.spec.prompt, context);
    say(run, task);
    call_model(run, frame);
}

/// The model says that it is done: the gates decide whether it is.
pub fn on_final_answer(run: &mut Run, frame: &mut Frame<'_>, text: String) {
    run.closing_text = text;
    if run.changes.is_empty() {
        let text = run.closing_text.clone();
        super::lifecycle::end(run, frame, RunOutcome::Succeeded, text);
    } else {
        verify::all(run, frame);
    }
}
