//! A plan as a text that people read and edit: a numbered list in Markdown.
//!
//! Lines that begin with no number and no kind of step are remarks. What a person wrote is read with forgiveness (numbers
//! may be missing or out of order), but never guessed at: a line that looks like a step and is none is an error with its
//! line number.

use super::{Step, StepKind};
use crate::kernel::path::RelPath;

const HELP: &str = "\
> One step a line; take lines out, change them, add some, move them.
> Kinds: create `FILE`, edit `FILE`, delete `FILE`, command `LINE`, verify. After the colon: what for.
> \"(after 1, 2)\" at the end of a line: these steps are needed first.
";

/// The plan as a document.
pub fn render(steps: &[Step]) -> String {
    let mut text = format!("# Plan\n\n{HELP}\n");
    for step in steps {
        text.push_str(&line(step));
        text.push('\n');
    }
    text
}

fn line(step: &Step) -> String {
    let mut line = format!("{}. {}", step.number, step.kind.word());
    let what = match (&step.target, &step.command) {
        (Some(path), _) => Some(path.as_str()),
        (None, Some(command)) => Some(command.as_str()),
        (None, None) => None,
    };
    if let Some(what) = what {
        line.push(' ');
        line.push_str(&code(what));
    }
    let why = in_one_line(&step.why);
    if !why.is_empty() {
        line.push_str(": ");
        line.push_str(&why);
    }
    if !step.depends_on.is_empty() {
        let needed: Vec<String> = step.depends_on.iter().map(u32::to_string).collect();
        line.push_str(&format!(" (after {})", needed.join(", ")));
    }
    line
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As a code span, fenced by more backticks than it has in a row.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) {
        format!("{fence} {text} {fence}")
    } else {
        format!("{fence}{text}{fence}")
    }
}

/// Reads an edited plan. Steps without a number get the next free one.
///
/// # Errors
/// The first line that cannot be read: its number and why, for people.
pub fn parse(text: &str) -> Result<Vec<Step>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut read: Vec<(Option<u32>, Step)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let step = parse_line(line).map_err(|why| format!("line {}: {why}", at + 1))?;
        read.extend(step);
    }
    if read.is_empty() {
        return Err("there is no step in it; to do nothing, stop the run".to_owned());
    }
    let mut free = read.iter().filter_map(|(number, _)| *number).max();
    let steps = read.into_iter().map(|(number, step)| {
        let number = number.unwrap_or_else(|| {
            let next = free.unwrap_or(0).saturating_add(1);
            free = Some(next);
            next
        });
        Step { number, ..step }
    });
    Ok(steps.collect())
}

fn parse_line(line: &str) -> Result<Option<(Option<u32>, Step)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', '>']) {
        return Ok(None);
    }
    let (number, rest) = numbered(line);
    let (word, rest) = first_word(rest);
    let Some(kind) = StepKind::ALL
        .into_iter()
        .find(|kind| kind.word().eq_ignore_ascii_case(word))
    else {
        if number.is_some() {
            let kinds: Vec<&str> = StepKind::ALL.map(StepKind::word).into();
            return Err(format!(
                "`{word}` is no kind of step; the kinds are {}",
                kinds.join(", ")
            ));
        }
        return Ok(None);
    };
    let (rest, depends_on) = needed(rest.trim())?;
    let (what, why) = match kind {
        StepKind::Verify => (None, rest.trim_start_matches(':').trim()),
        StepKind::Create | StepKind::Edit | StepKind::Delete | StepKind::Command => {
            let (what, why) = span(rest);
            (Some(what), why)
        }
    };
    if what.as_deref().is_some_and(str::is_empty) {
        return Err(format!("`{}` of what?", kind.word()));
    }
    let (target, command) = match (kind, what) {
        (StepKind::Command, command) => (None, command),
        (_, Some(path)) => {
            let path = RelPath::parse(&path).map_err(|why| why.to_string())?;
            (Some(path), None)
        }
        (_, None) => (None, None),
    };
    let step = Step {
        number: 0,
        kind,
        target,
        command,
        why: in_one_line(why),
        depends_on,
    };
    Ok(Some((number, step)))
}

/// `3. rest`, `3) rest`, `- rest`.
fn numbered(line: &str) -> (Option<u32>, &str) {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = line.split_at(digits);
    if let (Ok(number), Some(rest)) = (number.parse(), rest.strip_prefix(['.', ')'])) {
        return (Some(number), rest.trim_start());
    }
    let bare = line.strip_prefix(['-', '*']).unwrap_or(line);
    (None, bare.trim_start())
}

fn first_word(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_alphanumeric())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Takes "(after 1, 2)" off the end.
fn needed(text: &str) -> Result<(&str, Vec<u32>), String> {
    let Some(open) = text.rfind("(after ") else {
        return Ok((text, Vec::new()));
    };
    let Some(list) = text[open..]
        .strip_prefix("(after ")
        .and_then(|rest| rest.strip_suffix(')'))
    else {
        return Ok((text, Vec::new()));
    };
    let numbers: Result<Vec<u32>, _> = list
        .split([',', ' '])
        .filter(|part| !part.is_empty())
        .map(str::parse)
        .collect();
    let numbers = numbers.map_err(|_| format!("`{list}` is no list of step numbers"))?;
    Ok((text[..open].trim_end(), numbers))
}

/// What is between the backticks, or before the colon where there are none; then the rest without its colon.
fn span(text: &str) -> (String, &str) {
    let fence = text.len() - text.trim_start_matches('`').len();
    if fence == 0 {
        let (what, why) = text.split_once(':').unwrap_or((text, ""));
        return (what.trim().to_owned(), why.trim());
    }
    let (ticks, inner) = text.split_at(fence);
    let mut from = 0;
    while let Some(found) = inner[from..].find(ticks) {
        let at = from + found;
        let run = inner[at..].len() - inner[at..].trim_start_matches('`').len();
        if run == fence {
            let what = &inner[..at];
            let padded = what
                .strip_prefix(' ')
                .and_then(|what| what.strip_suffix(' '));
            let what = padded.filter(|what| !what.is_empty()).unwrap_or(what);
            let why = inner[at + run..].trim().trim_start_matches(':').trim();
            return (what.to_owned(), why);
        }
        from = at + run;
    }
    (inner.trim().to_owned(), "")
}
