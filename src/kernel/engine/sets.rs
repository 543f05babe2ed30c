//! Changes of several files that are made together, or none: all are looked at, decided, asked about one by one where a
//! human has to decide, then written in one go and verified together.

use std::sync::Arc;

use super::calls::{complete, deny, fail};
use super::lifecycle::waits_for;
use super::{asking, changes, verify};
use crate::kernel::conflict::{Conflict, NowKnown};
use crate::kernel::diff::{self, Counted};
use crate::kernel::effect::{Effect, SetWrite};
use crate::kernel::event::{GateRound, ReadCall, RunEvent};
use crate::kernel::file::{FileNow, NewContent, WriteOutcome};
use crate::kernel::file_set::{Decided, FileSet, Part, PlannedPart, SetStep, SetVerdict, SetWish};
use crate::kernel::ids::{ChangeId, QuestionId};
use crate::kernel::path::RelPath;
use crate::kernel::question::Answer;
use crate::kernel::questions;
use crate::kernel::run::{
    AskedConflict, CurrentCall, FileProposal, GivenAnswer, Run, Stage, WaitingFor,
};
use crate::kernel::state::Frame;
use crate::kernel::tool::{EditFile, EditFiles, MoveFile, SeenFile};

/// How often the files are looked at again because one of them changed under a write.
const LOOKS: u32 = 5;

pub fn edit(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, wanted: EditFiles) {
    // What is wanted of one file in several places is one edit of it.
    let mut files: Vec<EditFile> = Vec::new();
    for file in wanted.files {
        match files.iter_mut().find(|known| known.path == file.path) {
            Some(known) => known.edits.extend(file.edits),
            None => files.push(file),
        }
    }
    if files.is_empty() {
        let why = "Nothing was changed: no file is named in `files`.".to_owned();
        return fail(run, frame, &call, why);
    }
    let part = |file: EditFile| Part::new(file.path.clone(), Some(FileProposal::Edit(file)));
    let parts = files.into_iter().map(part).collect();
    look(run, frame, call, FileSet::new(SetWish::Edit, parts));
}

pub fn relocate(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, wanted: MoveFile) {
    if wanted.from == wanted.to {
        let why = format!("{} was not moved: both paths are the same.", wanted.from);
        return fail(run, frame, &call, why);
    }
    let parts = vec![
        Part::new(wanted.to.clone(), None),
        Part::new(wanted.from.clone(), None),
    ];
    look(run, frame, call, FileSet::new(SetWish::Move(wanted), parts));
}

/// Has all files looked at, unless somebody else works on one of them.
pub fn look(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, mut set: FileSet) {
    for part in &mut set.parts {
        part.now = None;
        part.outcome = None;
    }
    set.step = SetStep::Looking;
    if !changes::is_held(run, frame, &call.id, set.paths()) {
        for path in set.paths() {
            changes::look(run, frame, &call.id, path.clone());
        }
    }
    put(run, call, set);
}

fn put(run: &mut Run, call: ReadCall, set: FileSet) {
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Together(Box::new(set)),
    });
}

pub fn on_inspected(
    run: &mut Run,
    frame: &mut Frame<'_>,
    (call, mut set): (ReadCall, FileSet),
    (path, now): (&RelPath, &FileNow),
) {
    if set.step == SetStep::Looking {
        for part in set.parts.iter_mut().filter(|part| part.path == *path) {
            part.now = Some(now.clone());
        }
        if set.parts.iter().all(|part| part.now.is_some()) {
            return decide(run, frame, call, set);
        }
    }
    put(run, call, set);
}

fn decide(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, mut set: FileSet) {
    take_in_made(run, frame, &mut set);
    let verdict = set.decide(
        |path| run.seen.get(path),
        |proposal| changes::policies(run, proposal),
    );
    match verdict {
        SetVerdict::Identical if set.parts.iter().any(|part| part.planned.is_some()) => {
            done(run, frame, call, &set);
        }
        SetVerdict::Identical => {
            let text = "It is all so already; nothing was written.".to_owned();
            complete(run, frame, &call, text);
        }
        SetVerdict::Refuse { message, known } => {
            for (path, known) in known {
                match known {
                    NowKnown::AsBefore => {}
                    NowKnown::Shown(seen) => {
                        run.seen.insert(path, seen);
                    }
                    NowKnown::Gone => {
                        run.seen.remove(&path);
                    }
                }
            }
            fail(run, frame, &call, message);
        }
        SetVerdict::Keep { path, reason } => {
            run.seen.remove(&path);
            let why = reason.map_or_else(String::new, |reason| format!(" They say: {reason}"));
            let text = format!(
                "The user kept their own version of {path}; none of the files was changed.{why} Read it before you propose anything else for it."
            );
            deny(run, frame, &call, text);
        }
        SetVerdict::Ask { part, conflict } => ask(run, frame, call, (set, part, *conflict)),
        SetVerdict::Write(decided) => plan(run, frame, call, (set, decided)),
    }
}

fn ask(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    (mut set, part, conflict): (FileSet, usize, Conflict),
) {
    let Some(proposal) = set.parts.get(part).and_then(|part| part.proposal.clone()) else {
        return fail(run, frame, &call, "Nothing was changed.".to_owned());
    };
    let (mut draft, hunks) = asking::overwrite_draft(&call, &conflict);
    let others = set.parts.len() - 1;
    if others > 0 {
        draft.title = format!(
            "{} (one of {} files that are changed together)",
            draft.title,
            others + 1
        );
    }
    let waits = format!("overwrite {}?", conflict.path);
    let question = questions::open(run, frame, draft);
    waits_for(run, frame, WaitingFor::You, waits);
    set.step = SetStep::Asking {
        question,
        part,
        asked: Box::new(AskedConflict {
            proposal,
            conflict,
            hunks,
        }),
    };
    put(run, call, set);
}

/// The answer about one part. Whether it was one.
pub fn on_answer(
    run: &mut Run,
    frame: &mut Frame<'_>,
    question: &QuestionId,
    answer: &Answer,
) -> bool {
    let is_asked = |current: &mut CurrentCall| {
        matches!(&current.stage, Stage::Together(set)
            if matches!(&set.step, SetStep::Asking { question: open, .. } if open == question))
    };
    let Some(CurrentCall {
        call,
        stage: Stage::Together(mut set),
    }) = run.current.take_if(is_asked)
    else {
        return false;
    };
    let step = std::mem::replace(&mut set.step, SetStep::Looking);
    if let SetStep::Asking { part, asked, .. } = step
        && let Some(part) = set.parts.get_mut(part)
    {
        let answer = asking::for_all_of_the_run(run, &asked.conflict, answer.clone());
        part.answer = Some(Box::new(GivenAnswer {
            asked: *asked,
            answer,
        }));
    }
    // It may all have changed since: keeping needs no look, and gets one all the same.
    look(run, frame, call, *set);
    true
}

fn plan(
    run: &mut Run,
    frame: &mut Frame<'_>,
    call: ReadCall,
    (mut set, decided): (FileSet, Vec<Decided>),
) {
    for Decided {
        part,
        order,
        foreign,
    } in decided
    {
        run.last_change = run.last_change.next();
        let change = run.last_change;
        if let Some(part) = set.parts.get_mut(part) {
            let before = part.now.as_ref().and_then(FileNow::text);
            part.planned = Some(PlannedPart {
                change,
                after: order.content.hash(),
                before_text: before.map(|now| Arc::clone(&now.text)),
                order,
                foreign,
                taken_in: false,
            });
        }
    }
    if run.baseline.is_none() {
        waits_for(run, frame, WaitingFor::Gate, "the baseline");
        set.step = SetStep::AwaitingBaseline;
        put(run, call, set);
    } else {
        write(run, frame, call, set);
    }
}

/// The baseline is known.
pub fn baseline_arrived(run: &mut Run, frame: &mut Frame<'_>) {
    let waits = |current: &mut CurrentCall| matches!(&current.stage, Stage::Together(set) if set.step == SetStep::AwaitingBaseline);
    if let Some(CurrentCall {
        call,
        stage: Stage::Together(set),
    }) = run.current.take_if(waits)
    {
        write(run, frame, call, *set);
    }
}

fn write(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, mut set: FileSet) {
    let mut writes = Vec::new();
    for part in set.parts.iter().filter(|part| !part.is_made()) {
        let Some(planned) = &part.planned else {
            continue;
        };
        frame.record(
            run,
            RunEvent::ChangePlanned {
                change: planned.change,
                call: call.id.clone(),
                path: part.path.clone(),
                before: planned.order.expected.clone(),
                after: planned.after.clone(),
                merged: planned.foreign,
            },
        );
        writes.push(SetWrite {
            change: planned.change,
            order: planned.order.clone(),
            document: frame.documents.get(&part.path).cloned(),
        });
    }
    let paths: Vec<&str> = set.paths().map(RelPath::as_str).collect();
    waits_for(run, frame, WaitingFor::File, paths.join(", "));
    let id = run.id.clone();
    frame.perform(match &set.wish {
        SetWish::Edit => Effect::WriteTogether { run: id, writes },
        SetWish::Move(_) => Effect::Move { run: id, writes },
    });
    set.step = SetStep::Writing;
    put(run, call, set);
}

/// How one write of the present set ended. Whether it was one of them.
pub fn on_written(
    run: &mut Run,
    frame: &mut Frame<'_>,
    change: ChangeId,
    outcome: &WriteOutcome,
) -> bool {
    let is_of = |part: &Part| {
        part.planned
            .as_ref()
            .is_some_and(|planned| planned.change == change)
    };
    let writes = |current: &mut CurrentCall| {
        matches!(&current.stage, Stage::Together(set)
            if set.step == SetStep::Writing && set.parts.iter().any(is_of))
    };
    let Some(CurrentCall {
        call,
        stage: Stage::Together(mut set),
    }) = run.current.take_if(writes)
    else {
        return false;
    };
    for part in set.parts.iter_mut().filter(|part| is_of(part)) {
        part.outcome = Some(outcome.clone());
    }
    let is_open = |part: &Part| part.planned.is_some() && !part.is_made() && part.outcome.is_none();
    if set.parts.iter().any(is_open) || run.stalled.is_some() {
        put(run, call, *set);
    } else {
        conclude(run, frame, call, *set);
    }
    true
}

fn conclude(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, mut set: FileSet) {
    let any = |is: fn(&WriteOutcome) -> bool| {
        set.parts
            .iter()
            .any(|part| part.outcome.as_ref().is_some_and(is))
    };
    let was_written = any(|outcome| matches!(outcome, WriteOutcome::Written { .. }));
    let changed = any(|outcome| matches!(outcome, WriteOutcome::Changed));
    let unknown = any(|outcome| matches!(outcome, WriteOutcome::Unknown { .. }));
    let failed = any(|outcome| matches!(outcome, WriteOutcome::Failed { .. }));
    for at in 0..set.parts.len() {
        take_in_written(run, frame, &mut set, at);
    }
    if run.stopping.is_some() {
        return;
    }
    let may_look = set.looks < LOOKS;
    if may_look && (unknown || (changed && !was_written)) {
        set.looks += 1;
        return look(run, frame, call, set);
    }
    if changed || unknown || failed {
        let text = partly(&set);
        return fail(run, frame, &call, text);
    }
    done(run, frame, call, &set);
}

/// For the model: not all of it was done, and which.
fn partly(set: &FileSet) -> String {
    let is_written = |part: &&Part| matches!(part.outcome, Some(WriteOutcome::Written { .. }));
    let written: Vec<&str> = set
        .parts
        .iter()
        .filter(is_written)
        .map(|part| part.path.as_str())
        .collect();
    let mut text = if written.is_empty() {
        "None of the files was changed.".to_owned()
    } else {
        format!(
            "Not all of the files could be changed, and these, which were, could not be put back: {}.",
            written.join(", ")
        )
    };
    for part in &set.parts {
        let why = match &part.outcome {
            Some(WriteOutcome::Failed { error } | WriteOutcome::Unknown { error }) => error,
            Some(WriteOutcome::Changed) => "it keeps changing while it is written; read it again",
            Some(WriteOutcome::Written { .. }) | None => continue,
        };
        text.push_str(&format!("\n{}: {why}", part.path));
    }
    text
}

/// Takes over what was written although its end was not seen.
fn take_in_made(run: &mut Run, frame: &mut Frame<'_>, set: &mut FileSet) {
    for at in 0..set.parts.len() {
        let made = set.parts.get(at).filter(|part| part.is_made());
        let outcome =
            made.and_then(|part| part.planned.as_ref())
                .map(|planned| WriteOutcome::Written {
                    before: planned.order.expected.clone(),
                    after: planned.after.clone(),
                    through: crate::kernel::file::WrittenThrough::Disk,
                });
        match set.parts.get_mut(at) {
            Some(part) if outcome.is_some() => part.outcome = outcome,
            // It is decided anew.
            Some(part) => part.planned = None,
            None => {}
        }
        take_in_written(run, frame, set, at);
    }
}

fn take_in_written(run: &mut Run, frame: &mut Frame<'_>, set: &mut FileSet, at: usize) {
    let Some(part) = set.parts.get(at) else {
        return;
    };
    let (Some(planned), Some(WriteOutcome::Written { before, after, .. })) =
        (&part.planned, &part.outcome)
    else {
        return;
    };
    if planned.taken_in {
        return;
    }
    let (old, new) = (planned.before_text.as_deref(), text(&planned.order.content));
    let is_move = matches!(set.wish, SetWish::Move(_));
    let counted = if is_move {
        Counted::default()
    } else {
        diff::count_lines(old.unwrap_or_default(), new.as_deref().unwrap_or_default())
    };
    match (after, new) {
        (Some(hash), Some(text)) if !planned.foreign && is_known(run, set, part) => {
            let seen = SeenFile {
                path: part.path.clone(),
                hash: hash.clone(),
                text,
            };
            run.seen.insert(part.path.clone(), seen);
        }
        _ => {
            // The old place of a move: what the agent knew of it, it knows of the new one.
            if !(is_move && after.is_none()) {
                run.seen.remove(&part.path);
            }
        }
    }
    let made = changes::Made {
        change: planned.change,
        path: &part.path,
        before: before.clone(),
        after: after.clone(),
        added: counted.added,
        removed: counted.removed,
    };
    changes::note_change(run, frame, &made);
    if let Some(planned) = set.parts.get_mut(at).and_then(|part| part.planned.as_mut()) {
        planned.taken_in = true;
    }
}

/// Whether the agent has read what stands in the file now.
fn is_known(run: &Run, set: &FileSet, part: &Part) -> bool {
    match &set.wish {
        SetWish::Edit => true,
        SetWish::Move(wanted) => {
            let after = part
                .planned
                .as_ref()
                .and_then(|planned| planned.after.as_ref());
            run.seen
                .get(&wanted.from)
                .is_some_and(|seen| Some(&seen.hash) == after)
        }
    }
}

fn text(content: &NewContent) -> Option<Arc<str>> {
    match content {
        NewContent::Text { text, .. } => Some(Arc::clone(text)),
        NewContent::Deleted => None,
    }
}

/// All of it is written: the gates look at it.
fn done(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, set: &FileSet) {
    let paths: Vec<RelPath> = set.paths().cloned().collect();
    let said = match &set.wish {
        SetWish::Move(MoveFile { from, to }) => {
            run.seen.remove(from);
            format!("{from} was moved to {to}.")
        }
        SetWish::Edit => {
            let names: Vec<&str> = paths.iter().map(RelPath::as_str).collect();
            let mut said = format!("{} files were changed: {}.", names.len(), names.join(", "));
            let foreign: Vec<&str> = set
                .parts
                .iter()
                .filter(|part| part.planned.as_ref().is_some_and(|planned| planned.foreign))
                .map(|part| part.path.as_str())
                .collect();
            if !foreign.is_empty() {
                said.push_str(&format!(
                    " Text of others is in {}: read again before you change it further.",
                    foreign.join(", ")
                ));
            }
            said
        }
    };
    let round = verify::start(run, frame, GateRound::Change, paths.clone());
    let names: Vec<&str> = paths.iter().map(RelPath::as_str).collect();
    waits_for(run, frame, WaitingFor::Gate, names.join(", "));
    run.current = Some(CurrentCall {
        call,
        stage: Stage::Verifying { round, said },
    });
}

/// Goes on after the process that worked on it has ended, or after a stall.
pub fn again(run: &mut Run, frame: &mut Frame<'_>, call: ReadCall, set: FileSet) {
    match &set.step {
        SetStep::Looking | SetStep::Writing => look(run, frame, call, set),
        SetStep::AwaitingBaseline => {
            waits_for(run, frame, WaitingFor::Gate, "the baseline");
            put(run, call, set);
        }
        SetStep::Asking { question, .. } => {
            let detail = format!("question {question}");
            waits_for(run, frame, WaitingFor::You, detail);
            put(run, call, set);
        }
    }
}
