//! Asking a person at the terminal: what can be typed, and what a typed line means.

use super::words::{ASKS, DIM, clean, styled};
use crate::kernel::question::{Answer, Choice, Overwrite, Question, QuestionKind};
use crate::kernel::questions::choice;

/// What a typed line means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    Answer(Answer),
    /// It is no answer; what to type instead.
    Again(String),
}

/// One line of a menu: what is typed, what it does, and what happens then.
pub fn row(keys: &str, what: &str, effect: &str) -> String {
    let effect = if effect.is_empty() {
        String::new()
    } else {
        styled(DIM, format!("  {}", clean(effect)))
    };
    let keys = styled(ASKS, format!("{keys:>8}"));
    format!("  {keys} {}{effect}\n", clean(what))
}

/// What can be typed, one line each.
pub fn menu(question: &Question) -> String {
    let mut text = String::new();
    let mut row = |keys: &str, what: &str, effect: &str| text.push_str(&row(keys, what, effect));
    let QuestionKind::Overwrite(overwrite) = &question.kind else {
        for (at, choice) in question.choices.iter().enumerate() {
            row(&(at + 1).to_string(), &choice.label, &choice.effect);
        }
        if question.free_text {
            row("TEXT", "an answer in your own words", "");
        }
        return text;
    };
    row("a", "take all", "the file becomes what the agent proposes");
    if let Some(always) = always(question) {
        row("A", &always.label, &always.effect);
    }
    match overwrite.hunks.len() {
        0 | 1 => {}
        2 => row("1 or 2", "take one change only", "the rest stays as it is"),
        last => row(
            &format!("1 … {last}"),
            "take these changes only, such as 1 3",
            "the rest stays as it is",
        ),
    }
    row(
        "k",
        "keep mine",
        "the file stays as it is and the agent is told",
    );
    row("k WHY", "keep mine, and tell the agent why", "");
    row("s", "stop the run", "what it has written stays");
    text
}

/// The offer to answer all such questions of the run at once.
fn always(question: &Question) -> Option<&Choice> {
    let mut choices = question.choices.iter();
    choices.find(|offered| offered.id == choice::TAKE_ALL_RUN)
}

pub fn read(question: &Question, line: &str) -> Reading {
    let line = line.trim();
    match &question.kind {
        QuestionKind::Overwrite(_) if line == "A" && always(question).is_some() => {
            let choice = choice::TAKE_ALL_RUN.to_owned();
            Reading::Answer(Answer::Choice { choice })
        }
        QuestionKind::Overwrite(overwrite) => read_overwrite(overwrite, line),
        _ => read_choice(question, line),
    }
}

fn read_overwrite(overwrite: &Overwrite, line: &str) -> Reading {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word, rest.trim()) {
        ("a" | "all", "") => Reading::Answer(Answer::TakeAll),
        ("k" | "keep", "") => Reading::Answer(Answer::KeepMine { reason: None }),
        ("k" | "keep", reason) => Reading::Answer(Answer::KeepMine {
            reason: Some(reason.to_owned()),
        }),
        ("s" | "stop", "") => Reading::Answer(Answer::StopRun),
        _ => read_hunks(overwrite, line),
    }
}

fn read_hunks(overwrite: &Overwrite, line: &str) -> Reading {
    let mut hunks = Vec::new();
    for word in line.split([' ', ',', '\t']).filter(|word| !word.is_empty()) {
        let hunk = word
            .parse::<usize>()
            .ok()
            .and_then(|number| overwrite.hunks.get(number.checked_sub(1)?));
        match hunk {
            Some(hunk) if hunks.contains(&hunk.id) => {}
            Some(hunk) => hunks.push(hunk.id),
            None => {
                return Reading::Again(format!(
                    "`{}` is none of a, k, s or a change's number",
                    clean(word)
                ));
            }
        }
    }
    if hunks.is_empty() {
        return Reading::Again("type a, k, s or the numbers of changes".to_owned());
    }
    Reading::Answer(Answer::TakeHunks { hunks })
}

fn read_choice(question: &Question, line: &str) -> Reading {
    if line.is_empty() {
        return Reading::Again("type the number of an answer".to_owned());
    }
    let by_number = line
        .parse::<usize>()
        .ok()
        .and_then(|number| question.choices.get(number.checked_sub(1)?));
    let by_name = || {
        question.choices.iter().find(|choice| {
            choice.id.eq_ignore_ascii_case(line) || choice.label.eq_ignore_ascii_case(line)
        })
    };
    match by_number.or_else(by_name) {
        Some(choice) => Reading::Answer(Answer::Choice {
            choice: choice.id.clone(),
        }),
        None if question.free_text => Reading::Answer(Answer::Text {
            text: line.to_owned(),
        }),
        None => Reading::Again(format!(
            "`{}` is none of the answers; type a number from 1 to {}",
            clean(line),
            question.choices.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn question(kind: &Value, free_text: bool) -> Question {
        serde_json::from_value(json!({
            "id": "r.q1", "run": "r", "title": "?", "kind": kind, "freeText": free_text, "openedAt": 0,
            "choices": [
                { "id": "yes", "label": "Yes, please", "effect": "" },
                { "id": "stopRun", "label": "Stop the run", "effect": "" },
            ],
            "state": { "state": "open" },
        }))
        .unwrap()
    }

    fn overwrite() -> Question {
        let hunk = |id: u32| json!({ "id": id, "oldStart": id, "oldLines": 1, "newStart": id, "newLines": 1, "removed": ["a\n"], "added": ["b\n"] });
        let hunks = [hunk(0), hunk(1), hunk(2)];
        question(
            &json!({
                "kind": "overwrite", "call": "c", "path": "a", "reason": "exists", "base": null, "current": null,
                "proposed": null, "unsaved": false, "hunks": hunks,
            }),
            false,
        )
    }

    #[test]
    fn a_line_about_an_overwrite_is_read() {
        let keep = |reason: Option<&str>| Answer::KeepMine {
            reason: reason.map(str::to_owned),
        };
        let hunks = |hunks: &[u32]| Answer::TakeHunks {
            hunks: hunks.to_vec(),
        };
        let rows = [
            ("a", Some(Answer::TakeAll)),
            (" all \n", Some(Answer::TakeAll)),
            ("k", Some(keep(None))),
            (
                "k ich schreibe noch daran: é",
                Some(keep(Some("ich schreibe noch daran: é"))),
            ),
            ("2", Some(hunks(&[1]))),
            ("1, 3 1", Some(hunks(&[0, 2]))),
            ("s", Some(Answer::StopRun)),
            ("", None),
            ("0", None),
            ("4", None),
            ("1 x", None),
            ("all of it", None),
        ];
        for (line, want) in rows {
            match (read(&overwrite(), line), want) {
                (Reading::Answer(answer), Some(want)) => assert_eq!(answer, want, "{line:?}"),
                (Reading::Again(_), None) => {}
                (reading, want) => panic!("{line:?}: {reading:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn always_is_one_letter_where_it_is_offered() {
        let mut asked = overwrite();
        assert!(matches!(read(&asked, "A"), Reading::Again(_)));
        assert!(!menu(&asked).contains("Always"), "{}", menu(&asked));
        asked.choices.push(Choice {
            id: choice::TAKE_ALL_RUN.into(),
            label: "Always for this run".into(),
            effect: String::new(),
        });
        let always = Answer::Choice {
            choice: choice::TAKE_ALL_RUN.into(),
        };
        assert_eq!(read(&asked, " A\n"), Reading::Answer(always));
        assert!(menu(&asked).contains("Always for this run"));
    }

    #[test]
    fn a_line_with_an_answer_is_read() {
        let choice = |id: &str| Some(Answer::Choice { choice: id.into() });
        let text = |text: &str| Some(Answer::Text { text: text.into() });
        let rows = [
            ("1", true, choice("yes")),
            ("2", true, choice("stopRun")),
            ("YES", true, choice("yes")),
            ("yes, please", true, choice("yes")),
            ("3", true, text("3")),
            ("3", false, None),
            ("vielleicht", true, text("vielleicht")),
            ("vielleicht", false, None),
            ("  ", true, None),
        ];
        for (line, free_text, want) in rows {
            let question = question(&json!({ "kind": "blocker", "reason": "asked" }), free_text);
            match (read(&question, line), want) {
                (Reading::Answer(answer), Some(want)) => assert_eq!(answer, want, "{line:?}"),
                (Reading::Again(_), None) => {}
                (reading, want) => panic!("{line:?}: {reading:?}, not {want:?}"),
            }
        }
    }
}
