//! Tool calls, one after the other. Every call of the model gets exactly one result, in order.

use super::lifecycle::waits_for;
use super::{asking, changes, plan, prompt, react, render, sets, thinking, verify};
use crate::kernel::conversation::Block;
use crate::kernel::course::DirectResult;
use crate::kernel::effect::Effect;
use crate::kernel::event::{CommandPolicy, ReadCall, ReadTool, RunEvent};
use crate::kernel::ids::ToolCallId;
use crate::kernel::policy::loops::{self, Circling, Signature};
use crate::kernel::run::{CurrentCall, FileProposal, Held, Run, Stage, WaitingFor};
use crate::kernel::state::Frame;
use crate::kernel::tool::{PlanItem, PlanLine, ToolOutput, ToolUse};

/// Takes the next calls until one has to be waited for; after the last one the model gets the results.
pub fn advance(run: &mut Run, frame: &mut Frame<'_>) {
    while run.current.is_none()
        && run.run_question.is_none()
        && run.ended.is_none()
        && !verify::is_final(run)
    {
        if std::mem::take(&mut run.skip_step) && run.course.step().is_some() {
            run.course.direct = None;
            drop_queue(run, frame, "The user skips this step.");
            return plan::skip(run, frame, "skipped by you");
        }
        if std::mem::take(&mut run.stuck) {
            return asking::about_circles(run, frame);
        }
        if run.paused {
            run.held = Some(Held::NextCall);
            return waits_for(run, frame, WaitingFor::You, "the run to be continued");
        }
        let Some(call) = run.queue.pop_front() else {
            if plan::after_calls(run, frame) {
                return;
            }
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
    let is_own = run
        .course
        .direct
        .as_ref()
        .is_some_and(|direct| direct.call == call.id);
    let offered = prompt::tools(run.course.phase);
    if !is_own && !offered.contains(&call.name.as_str()) {
        let why = format!(
            "`{}` is not to be used now; use one of {}",
            call.name,
            offered.join(", ")
        );
        return fail(run, frame, &call, why);
    }
    match tool {
        ToolUse::Plan(plan) => {
            let item = |line: PlanLine| PlanItem {
                title: line.title,
                state: line.state,
                step: None,
            };
            let items: Vec<PlanItem> = plan.items.into_iter().map(item).collect();
            run.plan.clone_from(&items);
            frame.record(run, RunEvent::PlanUpdated { items });
            complete(run, frame, &call, "The plan is noted.".to_owned());
        }
        ToolUse::ProposePlan(proposed) => plan::on_proposed(run, frame, call, &proposed),
        ToolUse::Read(_)
        | ToolUse::List(_)
        | ToolUse::Glob(_)
        | ToolUse::Search(_)
        | ToolUse::Diagnostics(_) => perform(run, frame, call, tool),
        ToolUse::Check(check) => verify::asked(run, frame, call, check.paths),
        ToolUse::Finish(finish) => react::on_finish(run, frame, &call, &finish),
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
    let mut output = output;
    if let ReadTool::Use(ToolUse::Diagnostics(wanted)) = &current.call.tool {
        let ours = render::reported(run.new_findings(), wanted.path.as_ref());
        let theirs = if output.text.is_empty() {
            "The user's editor reports nothing.\n".to_owned()
        } else {
            format!("In the user's editor:\n{}", output.text)
        };
        output.text = format!("{ours}{theirs}");
    }
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
    give_result(run, call, DirectResult::Completed(text));
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
    give_result(run, call, DirectResult::Failed(error));
}

pub fn deny(run: &mut Run, frame: &mut Frame<'_>, call: &ReadCall, reason: String) {
    frame.record(
        run,
        RunEvent::ToolDenied {
            call: call.id.clone(),
            reason: reason.clone(),
        },
    );
    give_result(run, call, DirectResult::Denied(reason));
}

/// To the model, or to the engine where it made the call itself.
fn give_result(run: &mut Run, call: &ReadCall, result: DirectResult) {
    run.mending = None;
    if let Some(direct) = run.course.direct.as_mut()
        && direct.call == call.id
    {
        direct.result = Some(result);
        return;
    }
    let (text, is_error) = match result {
        DirectResult::Completed(text) => (text, false),
        DirectResult::Failed(text) | DirectResult::Denied(text) => (text, true),
    };
    run.results.push(Block::ToolResult {
        call: call.id.clone(),
        text,
        is_error,
    });
}

/// The rest of a turn's calls is not done; the model's history has a result for each all the same.
pub fn drop_queue(run: &mut Run, frame: &mut Frame<'_>, why: &str) {
    for call in std::mem::take(&mut run.queue) {
        deny(run, frame, &call, format!("Not done. {why}"));
    }
    let results = std::mem::take(&mut run.results);
    if !results.is_empty() {
        thinking::add_blocks(run, results);
    }
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
