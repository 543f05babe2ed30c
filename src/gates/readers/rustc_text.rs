//! rustc's and cargo's text for people: what is left when there is no JSON (a broken manifest, a failed build script, a
//! doctest), and the panics in it.

use super::cargo::{RUSTC, manifest_place};
use super::panic;
use crate::gates::place::{Span, non_blank, place};
use crate::gates::reading::{Parsed, Reading};
use crate::gates::text::LineRule;
use crate::kernel::finding::{Finding, Place, Severity};

/// One message of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMessage<'t> {
    pub severity: Severity,
    pub code: Option<&'t str>,
    pub summary: &'t str,
    /// File, line, column of the first `-->`.
    pub at: Option<(&'t str, i64, i64)>,
    /// The indented lines and causes that follow, up to the next message.
    pub rest: Vec<&'t str>,
}

/// Splits a text into its messages.
pub fn split(text: &str) -> Vec<TextMessage<'_>> {
    let mut messages: Vec<TextMessage<'_>> = Vec::new();
    for line in text.lines() {
        if let Some((severity, code, summary)) = head(line) {
            messages.push(TextMessage {
                severity,
                code,
                summary,
                at: None,
                rest: Vec::new(),
            });
        } else if let Some(message) = messages.last_mut() {
            if message.at.is_none()
                && let Some(at) = line.trim_start().strip_prefix("--> ")
            {
                message.at = file_line_column(at);
            }
            message.rest.push(line);
        }
    }
    messages
}

fn head(line: &str) -> Option<(Severity, Option<&str>, &str)> {
    let (severity, rest) = match line.strip_prefix("error") {
        Some(rest) => (Severity::Error, rest),
        None => (Severity::Warning, line.strip_prefix("warning")?),
    };
    if let Some(summary) = rest.strip_prefix(": ") {
        return Some((severity, None, summary));
    }
    let (code, summary) = rest.strip_prefix('[')?.split_once("]: ")?;
    Some((severity, Some(code), summary))
}

/// `path:line:column`, or `path:line`; the path may hold colons.
pub fn file_line_column(text: &str) -> Option<(&str, i64, i64)> {
    let text = text.trim().trim_end_matches(':');
    let (rest, last) = text.rsplit_once(':')?;
    let last: i64 = last.parse().ok()?;
    match rest.rsplit_once(':') {
        Some((file, line)) if line.parse::<i64>().is_ok() && !file.is_empty() => {
            Some((file, line.parse().ok()?, last))
        }
        Some(_) | None => (!rest.is_empty()).then_some((rest, last, 0)),
    }
}

/// Adds what the text says to a report whose JSON does not explain the failure.
pub fn read_into(reading: &Reading<'_>, text: &str, parsed: &mut Parsed) {
    for message in split(text) {
        if is_echo(message.summary) {
            continue;
        }
        if message.severity == Severity::Warning && message.at.is_none() {
            parsed.notes.push(message.summary.to_owned());
            continue;
        }
        if let Some(finding) = positioned(reading, &message)
            .or_else(|| manifest_error(reading, &message))
            .or_else(|| build_script(reading, &message))
        {
            parsed.findings.push(finding);
        } else {
            let anchor = dependency_place(reading, message.summary)
                .or_else(|| manifest_place(reading, "Cargo.toml"));
            parsed
                .troubles
                .push(reading.trouble(anchor, &whole(&message)));
        }
    }
}

/// What cargo repeats after the compiler has spoken.
fn is_echo(summary: &str) -> bool {
    summary.starts_with("could not compile ")
        || summary.starts_with("aborting due to ")
        || summary.contains(" generated ") && summary.ends_with("warnings")
        || summary.contains(" generated ") && summary.ends_with("warning")
        || summary.starts_with("test failed, to rerun pass")
        || summary.starts_with("doctest failed, to rerun pass")
        || summary.ends_with(" target failed:")
        || summary.ends_with(" targets failed:")
        || summary.starts_with("build failed, waiting for other jobs")
}

fn positioned(reading: &Reading<'_>, message: &TextMessage<'_>) -> Option<Finding> {
    let (file, line, column) = message.at?;
    let place = reading.place(file, &RUSTC, Span::Start(line, column))?;
    Some(Finding {
        place: Some(place),
        code: message.code.map(str::to_owned),
        rendered: Some(format!("{}\n{}", message.summary, message.rest.join("\n"))),
        ..reading.finding(message.severity, &with_causes(message))
    })
}

/// `failed to parse manifest at …`, with the position in the text of the TOML reader when there is one.
fn manifest_error(reading: &Reading<'_>, message: &TextMessage<'_>) -> Option<Finding> {
    let path = message
        .summary
        .strip_prefix("failed to parse manifest at `")
        .or_else(|| {
            message
                .summary
                .strip_prefix("failed to parse lock file at: ")
        })
        .or_else(|| member_of(message))
        .or_else(|| {
            message
                .summary
                .strip_prefix("could not parse input as TOML in ")
        })?
        .trim_end_matches('`');
    let named = reading.locator.find(path)?;
    let causes = causes(message);
    let at = message.rest.iter().find_map(|line| {
        let rest = line.trim().strip_prefix("TOML parse error at line ")?;
        let (line, column) = rest.split_once(", column ")?;
        Some((line.parse().ok()?, column.trim().parse().ok()?))
    });
    let span = at.map_or(Span::File, |(line, column)| Span::Start(line, column));
    // The last cause says what is wrong; the others say where it was noticed.
    let summary = causes.last().copied().unwrap_or(message.summary);
    Some(Finding {
        place: Some(place(&named, &RUSTC, span)),
        rendered: Some(format!("{}\n{}", message.summary, message.rest.join("\n"))),
        ..reading.finding(Severity::Error, &format!("{summary}\n{}", message.summary))
    })
}

/// The manifest that lists a member which cannot be loaded.
fn member_of<'t>(message: &TextMessage<'t>) -> Option<&'t str> {
    message
        .summary
        .starts_with("failed to load manifest for workspace member")
        .then_some(())?;
    message
        .rest
        .iter()
        .find_map(|line| line.trim().strip_prefix("referenced by workspace at `"))
}

fn build_script(reading: &Reading<'_>, message: &TextMessage<'_>) -> Option<Finding> {
    if !message
        .summary
        .starts_with("failed to run custom build command")
    {
        return None;
    }
    let text = message.rest.join("\n");
    let panic = panic::find_all(&text).into_iter().next()?;
    let place = panic.place(reading)?;
    Some(Finding {
        place: Some(place),
        code: Some("build-script".to_owned()),
        rendered: Some(format!("{}\n{text}", message.summary)),
        ..reading.finding(
            Severity::Error,
            &format!("{}\n{}", panic.message, message.summary),
        )
    })
}

/// The line of the manifest that names what the message quotes, when there is exactly one.
fn dependency_place(reading: &Reading<'_>, summary: &str) -> Option<Place> {
    let named = reading.first_file(&["Cargo.toml"])?;
    let text = named.text.as_ref()?;
    for name in crate::gates::place::quoted_names(summary) {
        let name = name.split([' ', '@', '=']).next().unwrap_or(name);
        let hits: Vec<usize> = (0..)
            .map_while(|line| text.line(LineRule::Lf, line).map(|span| (line, span)))
            .filter(|(_, span)| {
                let line = text.slice(span.clone());
                line.trim_start()
                    .trim_start_matches("[dependencies.")
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.trim_start().starts_with(['=', '.', ']']))
            })
            .map(|(line, _)| line)
            .collect();
        if let [line] = hits.as_slice() {
            let (start, end) = non_blank(text, LineRule::Lf, *line);
            return Some(place(&named, &RUSTC, Span::Bytes(start, end)));
        }
    }
    None
}

/// The lines under `Caused by:`, without drawings.
fn causes<'t>(message: &TextMessage<'t>) -> Vec<&'t str> {
    let mut causes = Vec::new();
    let mut inside = false;
    for line in &message.rest {
        let text = line.trim();
        if text == "Caused by:" {
            inside = true;
        } else if inside && !text.is_empty() && !is_drawing(text) {
            causes.push(text);
        }
    }
    causes
}

fn is_drawing(text: &str) -> bool {
    text.starts_with('|')
        || text.starts_with("TOML parse error at")
        || text
            .split_once(" |")
            .is_some_and(|(number, _)| number.trim().parse::<u32>().is_ok())
}

fn with_causes(message: &TextMessage<'_>) -> String {
    let mut text = message.summary.to_owned();
    for line in &message.rest {
        let line = line.trim_start();
        if let Some(note) = line.strip_prefix("= ")
            && !super::cargo::is_noise(note)
        {
            text.push('\n');
            text.push_str(note);
        }
    }
    text
}

fn whole(message: &TextMessage<'_>) -> String {
    format!("{}\n{}", message.summary, message.rest.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_text() {
        assert_eq!(file_line_column("a.rs:3:11"), Some(("a.rs", 3, 11)));
        assert_eq!(
            file_line_column("C:\\a.rs:3:11:"),
            Some(("C:\\a.rs", 3, 11))
        );
        assert_eq!(file_line_column("a.rs:3"), Some(("a.rs", 3, 0)));
        assert_eq!(file_line_column("a.rs"), None);
        assert_eq!(file_line_column(":3"), None);
    }

    #[test]
    fn messages_are_split() {
        let messages = split(
            "noise\nerror[E1]: a\n --> x:1:2\n  |\n\nwarning: b\nerror: c\n\nCaused by:\n  d\n",
        );
        let heads: Vec<_> = messages
            .iter()
            .map(|message| (message.code, message.summary, message.at))
            .collect();
        assert_eq!(
            heads,
            [
                (Some("E1"), "a", Some(("x", 1, 2))),
                (None, "b", None),
                (None, "c", None)
            ]
        );
    }
}
