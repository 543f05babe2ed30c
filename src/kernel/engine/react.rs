//! The `react` engine: a tool-use loop. The model answers, its tool calls are done in order, their results go back, until
//! it answers without a call; then the gates decide whether it is done.

use super::thinking::{call_model, say};
use super::{calls, prompt, verify};
use crate::kernel::event::{Context, ReadCall, RunOutcome};
use crate::kernel::policy::done;
use crate::kernel::run::Run;
use crate::kernel::state::Frame;
use crate::kernel::tool::FinishTask;

pub fn begin(run: &mut Run, frame: &mut Frame<'_>, context: &Context) {
    let task = prompt::task(&run.spec.prompt, context);
    say(run, task);
    call_model(run, frame);
}

/// The model says that it is done: the gates decide whether it is.
pub fn on_final_answer(run: &mut Run, frame: &mut Frame<'_>, text: String) {
    run.closing_text = text;
    if run.changes.is_empty() && !done::gives_a_reason(&run.closing_text) {
        let why = "You have changed no file, and have not said why none had to be changed. Do the task, or say why there is nothing to do.";
        if std::mem::replace(&mut run.asked_for_a_reason, true) {
            let text = format!(
                "the agent changed nothing and gave no reason: {}",
                run.closing_text
            );
            return super::lifecycle::end(run, frame, RunOutcome::Failed, text);
        }
        say(run, why.to_owned());
        return call_model(run, frame);
    }
    if run.changes.is_empty() {
        let text = run.closing_text.clone();
        super::lifecycle::end(run, frame, RunOutcome::Succeeded, text);
    } else {
        verify::all(run, frame);
    }
}

/// The model says in so many words that it is done.
pub fn on_finish(run: &mut Run, frame: &mut Frame<'_>, call: &ReadCall, finish: &FinishTask) {
    let reason = finish
        .nothing_changed_because
        .as_deref()
        .unwrap_or_default();
    if !has_changed(run) && !done::gives_a_reason(reason) {
        let why = "You have changed no file. If nothing had to be changed, say in `nothing_changed_because` why; else go on with the task.";
        return calls::fail(run, frame, call, why.to_owned());
    }
    calls::complete(run, frame, call, "All checks run now.".to_owned());
    calls::drop_queue(run, frame, "You have said that you are done.");
    on_final_answer(run, frame, finish.closing());
}

fn has_changed(run: &Run) -> bool {
    run.changes.values().any(|file| file.before != file.after)
}
