//! The first rung of the ladder: the tools' own safe repairs, made before a model is asked.
//!
//! A repair is a change like any other: planned, recorded, written under the same conditions, verified. It is made only
//! to what the run itself has just written; where something else is there by now, it is left and the model is told.

use super::changes;
use crate::kernel::diff;
use crate::kernel::event::{ReadCall, Verdict};
use crate::kernel::path::RelPath;
use crate::kernel::policy::fixes;
use crate::kernel::run::{FileProposal, Run};
use crate::kernel::state::Frame;
use crate::kernel::tool::WriteFile;

/// A repair that is being made for a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Mending {
    /// What the call itself came to, for the model, and what the gates said of it.
    pub call: String,
    pub verdict: Verdict,
    /// The same with what was repaired.
    pub said: String,
}

/// A call that has changed a file, and what the gates said of that.
pub struct Judged<'a> {
    pub call: ReadCall,
    pub path: &'a RelPath,
    pub said: &'a str,
    pub verdict: &'a Verdict,
}

/// Repairs what can be repaired in the file that the call has changed; where there is nothing, gives the call back.
pub fn start(run: &mut Run, frame: &mut Frame<'_>, judged: Judged<'_>) -> Option<ReadCall> {
    let Judged {
        call,
        path,
        said,
        verdict,
    } = judged;
    if run.mending.is_some() || verdict.new_findings == 0 {
        return Some(call);
    }
    let repaired = run.seen.get(path).and_then(|file| {
        let findings = fixes::of_file(run.new_findings(), path);
        Some((fixes::safe(findings, file)?, file.text.clone()))
    });
    let Some((repaired, before)) = repaired else {
        return Some(call);
    };
    let titles = repaired.titles.join("; ");
    let patch = diff::unified(path, Some(&before), Some(&repaired.text));
    run.mending = Some(Mending {
        call: said.to_owned(),
        verdict: verdict.clone(),
        said: format!(
            "{said}\nThen the tool's own safe repairs were made in it ({titles}):\n{patch}"
        ),
    });
    let proposal = FileProposal::Write(WriteFile {
        path: path.clone(),
        content: repaired.text,
    });
    changes::inspect(run, frame, call, proposal, 0);
    None
}
