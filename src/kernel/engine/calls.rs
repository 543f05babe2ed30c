//! Tool calls, one after the other. Every call of the model gets exactly one result, in order.

use super::lifecycle::waits_for;
use super::{asking, changes, render, sets, thinking};
use crate::kernel::conversation::Block;
use crate::kernel::effect::Effect;
use crate::kernel::event::{CommandPolicy, ReadCall, ReadTool, RunEvent};
use crate::kernel::ids::ToolCallId;
use crate::kernel::policy::loops::{self, Circling, Signature};
use crate::kernel::run::{CurrentCall, FileProposal, Held, Run, Stage, WaitingFor};
use crate::kernel::state::Frame;
use crate::kernel::tool::{ToolOutput, ToolUse};

/// Takes the next calls until one has to be waited for; after the last one the model gets the results.
pub fn advance(run: &mut Run, frame: &mut Frame<'_>) {
    while run.current.is_none() {
        if std::mem::take(&mut run.stuck) {
            return asking::about_circles(run, frame);
        }
        if run.paused {
            run.held = Some(Held::NextCall);
            return waits_for(run, frame, WaitingFor::You, "the run to be continued");
        }
        let Some(call) = run.queue.pop_front() else {
            let results = std::mem::take(&mut run.results);
            thinking::add_blocks(run, results);
            thinking::call_model(run, frame);
            return;
        };
        run.tool_calls += 1;
        start(run, frame, call);
    }
}

/// Goes on after a fact about the current call, unless that call still waits or the run is being stopped.
pub fn go_on(run: &mut Run, frame: &mut Frame<'_>) {
    if run.current.is_none() && run.stopping.is_none() && run.ended.is_none() {
        advance(run, frame);
    }
}

fn start(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall) {
    let summary = match &call.tool {
        ReadTool::Use(tool) => render::tool(tool),
        ReadTool::Malformed(why) => why.lines().next().unwrap_or_default().to_owned(),
    };
    frame.record(
        run,
        RunEvent::ToolRequested {
            call: call.id.clone(),
            name: call.name.clone(),
            summary,
        },
    );
    let tool = match call.tool.clone() {
        ReadTool::Malformed(why) => return fail(run, frame, &call, why),
        ReadTool::Use(tool) => tool,
    };
    match tool {
        ToolUse::Plan(plan) => {
            run.plan.clone_from(&plan.items);
            frame.record(run, RunEvent::PlanUpdated { items: plan.items });
            complete(run, frame, &call, "The plan is noted.".to_owned());
        }
        ToolUse::Read(_) | ToolUse::List(_) | ToolUse::Search(_) => perform(run, frame, call, tool),
        ToolUse::Command(command) => match (run.spec.policy.commands, run.commands_allowed) {
            (CommandPolicy::Allow, _) | (_, true) => {
                perform(run, frame, call, ToolUse::Command(command));
            }
            (CommandPolicy::Deny, _) => {
                let reason = "Commands are not allowed in this run. Do without.";
                deny(run, frame, &call, reason.to_owned());
            }
            (CommandPolicy::Ask, _) => asking::about_command(run, frame, call, &command),
        },
        ToolUse::Write(write) => {
            changes::inspect(run, frame, call, FileProposal::Write(write), 0);
        }
        ToolUse::Edit(edit) => changes::inspect(run, frame, call, FileProposal::Edit(edit), 0),
        ToolUse::MultiEdit(edit) => sets::edit(run, frame, call, edit),
        ToolUse::Delete(delete) => {
            let made_by_run = run
                .changes
                .get(&delete.path)
                .is_some_and(|file| file.before.is_none());
            let proposal = FileProposal::Delete {
                path: delete.path,
                made_by_run,
            };
            changes::inspect(run, frame, call, proposal, 0);
        }
        ToolUse::Move(moved) => sets::relocate(run, frame, call, moved),
        ToolUse::Ask(ask) => asking::for_model(run, frame, call, ask),
    }
}

/// Has a tool performed that changes no file of ours.
pub fn perform(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, tool: ToolUse) {
    frame.record(
        run,
        RunEvent::ToolStarted {
            call: call.id.clone(),
        },
    );
    let detail = format!("{} {}", call.name, render::tool(&tool));
    let overlay = frame.overlay();
    let (id, call_id) = (run.id.clone(), call.id.clone());
    frame.perform(Effect::RunTool {
        run: id,
        call: call_id,
        tool,
        overlay,
    });
    waits_for(run, frame, WaitingFor::Tool, detail);
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Performing,
    });
}

pub fn on_output(run: &mut Run, frame: &mut Frame<'_>, call: &ToolCallId, output: ToolOutput) {
    if !matches!(&run.current, Some(current) if matches!(current.stage, Stage::Performing)) {
        return;
    }
    let Some(current) = take_current(run, call) else {
        return;
    };
    if let Some(seen) = output.seen {
        run.seen.insert(seen.path.clone(), seen);
    }
    if output.is_error {
        fail(run, frame, &current.call, output.text);
    } else {
        complete(run, frame, &current.call, output.text);
    }
    go_on(run, frame);
}

/// Takes the current call if it is this one.
pub fn take_current(run: &mut Run, call: &ToolCallId) -> Option<CurrentCall> {
    run.current.take_if(|current| current.call.id == *call)
}

pub fn complete(run: &mut Run, frame: &mut Frame<'_>, call: &ReadCall, text: String) {
    let text = with_loop_note(run, call, text);
    frame.record(
        run,
        RunEvent::ToolCompleted {
            call: call.id.clone(),
            result: text.clone(),
        },
    );
    run.results.push(Block::ToolResult {
        call: call.id.clone(),
        text,
        is_error: false,
    });
}

pub fn fail(run: &mut Run, frame: &mut Frame<'_>, call: &ReadCall, error: String) {
    let error = with_loop_note(run, call, error);
    frame.record(
        run,
        RunEvent::ToolFailed {
            call: call.id.clone(),
            error: error.clone(),
        },
    );
    run.results.push(Block::ToolResult {
        call: call.id.clone(),
        text: error,
        is_error: true,
    });
}

pub fn deny(run: &mut Run, frame: &mut Frame<'_>, call: &ReadCall, reason: String) {
    frame.record(
        run,
        RunEvent::ToolDenied {
            call: call.id.clone(),
            reason: reason.clone(),
        },
    );
    run.results.push(Block::ToolResult {
        call: call.id.clone(),
        text: reason,
        is_error: true,
    });
}

/// Takes note of a call's end. Who repeats a call and gets the same result is told so; who does not listen is stopped.
fn with_loop_note(run: &mut Run, call: &ReadCall, result: String) -> String {
    run.last_result = Some((call.name.clone(), result.clone()));
    let arguments = match &call.tool {
        ReadTool::Use(tool) => format!("{tool:?}"),
        ReadTool::Malformed(why) => why.clone(),
    };
    run.recent
        .push(Signature::of(&call.name, &arguments, &result));
    if run.recent.len() > loops::WINDOW {
        run.recent.remove(0);
    }
    match loops::judge(&run.recent) {
        Circling::No => result,
        Circling::Tell => {
            format!(
                "{result}\n(You have made this very call several times, with this very result. Do something else: read the file again, take a smaller step, or ask.)"
            )
        }
        Circling::Stuck => {
            run.stuck = true;
            result
        }
    }
}
