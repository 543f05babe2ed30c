//! Questions in words that any client can show: what is asked, and which answers are offered as buttons and code actions.

use std::path::PathBuf;

use crate::kernel::ids::QuestionId;
use crate::kernel::plan::document;
use crate::kernel::question::{Answer, Hunk, Question, QuestionKind};

/// An answer that can be taken by choosing a title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub title: String,
    pub answer: Answer,
}

/// The kind's name on the wire.
pub fn kind_name(question: &Question) -> &'static str {
    match question.kind {
        QuestionKind::Overwrite(_) => "overwrite",
        QuestionKind::Blocker { .. } => "blocker",
        QuestionKind::Command { .. } => "command",
        QuestionKind::Uncertain { .. } => "uncertain",
        QuestionKind::Budget { .. } => "budget",
        QuestionKind::Plan { .. } => "plan",
    }
}

/// What is asked: the title, and below it what is known, in at most so many lines. (What is known can be a diff of a
/// whole file; clients show it in full elsewhere.)
pub fn text(question: &Question, most_lines: usize) -> String {
    let mut text = question.title.clone();
    if let QuestionKind::Command { command, .. } = &question.kind
        && !text.contains(command)
    {
        text.push_str("\n$ ");
        text.push_str(command);
    }
    let detail: Vec<&str> = question.detail.trim_end().lines().collect();
    for line in detail.iter().take(most_lines) {
        text.push('\n');
        text.push_str(line);
    }
    if detail.len() > most_lines {
        text.push_str(&format!("\n… {} more lines", detail.len() - most_lines));
    }
    text
}

/// Letters of a title in a menu or on a button.
pub const TITLE_LETTERS: usize = 100;

/// A text as a title: in one line, and cut where menus would cut it.
pub fn as_title(text: &str, most_letters: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(most_letters) {
        None => line,
        Some(_) => {
            let kept: String = line.chars().take(most_letters.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

/// The offered choices. Titles differ from each other, so that a client's reply by title is clear.
pub fn offers(question: &Question) -> Vec<Offer> {
    let mut offers: Vec<Offer> = Vec::new();
    for choice in &question.choices {
        let mut title = as_title(&choice.label, TITLE_LETTERS);
        if title.is_empty() {
            title = choice.id.clone();
        }
        if offers.iter().any(|offer| offer.title == title) {
            title = format!("{title} ({})", choice.id);
        }
        offers.push(Offer {
            title,
            answer: Answer::Choice {
                choice: choice.id.clone(),
            },
        });
    }
    offers
}

/// The open questions, for people whose editor shows messages only. `file`: where an answer can be written.
pub fn list_in_words(
    questions: &[Question],
    file: impl Fn(&QuestionId) -> Option<PathBuf>,
) -> String {
    if questions.is_empty() {
        return "Outrigger: no question is open".to_owned();
    }
    let mut text = String::from("Outrigger asks:");
    for question in questions {
        text.push_str(&format!(
            "\n{}: {}",
            question.id,
            as_title(&question.title, TITLE_LETTERS)
        ));
        let titles: Vec<String> = offers(question)
            .into_iter()
            .map(|offer| offer.title)
            .collect();
        if !titles.is_empty() {
            text.push_str(&format!("\n  {}", titles.join(" | ")));
        }
        if let Some(file) = file(&question.id) {
            text.push_str(&format!("\n  or write into {} and save", file.display()));
        }
    }
    text
}

/// What a person means who types `words`: the choice with that id or label, else free text.
pub fn answer_in_words(question: &Question, words: &str) -> Answer {
    let words = words.trim();
    let same = |text: &str| text.trim().eq_ignore_ascii_case(words);
    let chosen = question
        .choices
        .iter()
        .find(|choice| same(&choice.id))
        .or_else(|| question.choices.iter().find(|choice| same(&choice.label)));
    match chosen {
        Some(choice) => Answer::Choice {
            choice: choice.id.clone(),
        },
        None if is_plan(question, words) => Answer::TakeText {
            text: words.to_owned(),
        },
        None => Answer::Text {
            text: words.to_owned(),
        },
    }
}

/// Whether the words are the plan in question as the person has edited it, and not a wish in their own words.
fn is_plan(question: &Question, words: &str) -> bool {
    matches!(question.kind, QuestionKind::Plan { .. })
        && (document::parse(words).is_ok() || words.starts_with('#'))
}

/// For an overwrite of several places: to take one of them alone. `lines` are 0-based, both included.
pub fn hunk_offers(question: &Question, lines: (u32, u32)) -> Vec<Offer> {
    let QuestionKind::Overwrite(overwrite) = &question.kind else {
        return Vec::new();
    };
    if overwrite.hunks.len() < 2 {
        return Vec::new();
    }
    overwrite
        .hunks
        .iter()
        .filter(|hunk| touches(hunk, lines))
        .map(|hunk| Offer {
            title: format!("Take only the change at {}", lines_of(hunk)),
            answer: Answer::TakeHunks {
                hunks: vec![hunk.id],
            },
        })
        .collect()
}

fn touches(hunk: &Hunk, (first, last): (u32, u32)) -> bool {
    let end = hunk.old_start + hunk.old_lines.max(1);
    hunk.old_start <= last && first < end
}

fn lines_of(hunk: &Hunk) -> String {
    let first = hunk.old_start + 1;
    match hunk.old_lines {
        0 | 1 => format!("line {first}"),
        lines => format!("lines {first} to {}", hunk.old_start + lines),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::hash::ContentHash;
    use crate::kernel::ids::{QuestionId, RunId, ToolCallId};
    use crate::kernel::path::RelPath;
    use crate::kernel::question::{
        Choice, ConflictReason, Overwrite, OverwriteTexts, QuestionState,
    };

    fn question(kind: QuestionKind, labels: &[(&str, &str)]) -> Question {
        Question {
            id: QuestionId::new("r.q1"),
            run: RunId::new("r"),
            title: "Overwrite a.rs?".into(),
            detail: String::new(),
            place: None,
            kind,
            choices: labels
                .iter()
                .map(|(id, label)| Choice {
                    id: (*id).into(),
                    label: (*label).into(),
                    effect: String::new(),
                })
                .collect(),
            free_text: false,
            opened_at: 0,
            state: QuestionState::Open,
        }
    }

    fn hunk(id: u32, old_start: u32, old_lines: u32) -> Hunk {
        Hunk {
            id,
            old_start,
            old_lines,
            new_start: 0,
            new_lines: 0,
            removed: Vec::new(),
            added: Vec::new(),
        }
    }

    fn overwrite(hunks: Vec<Hunk>) -> QuestionKind {
        QuestionKind::Overwrite(Overwrite {
            call: ToolCallId::new("c"),
            path: RelPath::parse("a.rs").unwrap(),
            reason: ConflictReason::Exists,
            base: None,
            current: None,
            proposed: Some(ContentHash::of(b"")),
            unsaved: false,
            hunks,
            texts: OverwriteTexts::default(),
        })
    }

    #[test]
    fn titles_are_told_apart() {
        let budget = QuestionKind::Budget {
            limit: "time".into(),
            of: None,
            used: 0,
            at: 0,
        };
        let labels = [("a", "Go on"), ("b", "Go on"), ("c", " "), ("d", "é漢")];
        let titles: Vec<String> = offers(&question(budget, &labels))
            .into_iter()
            .map(|offer| offer.title)
            .collect();
        assert_eq!(titles, ["Go on", "Go on (b)", "c", "é漢"]);
    }

    #[test]
    fn a_title_is_one_line_of_bounded_length() {
        let rows = [
            ("a\r\n  b\tc", 9, "a b c"),
            ("漢字漢字", 4, "漢字漢字"),
            ("漢字漢字漢", 4, "漢字漢…"),
            ("one two", 5, "one…"),
            ("\n", 9, ""),
        ];
        for (text, most, want) in rows {
            assert_eq!(as_title(text, most), want, "{text:?}");
        }
        let long = "x".repeat(500);
        let budget = QuestionKind::Budget {
            limit: "time".into(),
            of: None,
            used: 0,
            at: 0,
        };
        let titles: Vec<String> = offers(&question(budget, &[("a", &long), ("b", &long)]))
            .into_iter()
            .map(|offer| offer.title)
            .collect();
        assert_ne!(titles[0], titles[1]);
        assert!(titles.iter().all(|title| title.chars().count() < 110));
    }

    #[test]
    fn words_are_a_choice_or_free_text() {
        let budget = QuestionKind::Budget {
            limit: "time".into(),
            of: None,
            used: 0,
            at: 0,
        };
        let asked = question(budget, &[("raise", "Go on"), ("stopRun", "raise")]);
        let choice = |id: &str| Answer::Choice { choice: id.into() };
        let rows = [
            ("raise", choice("raise")),
            (" go ON ", choice("raise")),
            ("StopRun", choice("stopRun")),
            (
                " use port 80 ",
                Answer::Text {
                    text: "use port 80".into(),
                },
            ),
        ];
        for (words, want) in rows {
            assert_eq!(answer_in_words(&asked, words), want, "{words}");
        }
    }

    #[test]
    fn a_command_is_always_in_the_words_of_its_question() {
        let kind = QuestionKind::Command {
            command: "rm -r x".into(),
            cwd: None,
        };
        let mut asked = question(kind, &[]);
        asked.detail = "not on the list\n".into();
        assert_eq!(
            text(&asked, 9),
            "Overwrite a.rs?\n$ rm -r x\nnot on the list"
        );
        asked.title = "Run `rm -r x`?".into();
        asked.detail.clear();
        assert_eq!(text(&asked, 9), "Run `rm -r x`?");
        asked.detail = "+é\n-b\n+c\n".into();
        assert_eq!(text(&asked, 3), "Run `rm -r x`?\n+é\n-b\n+c");
        assert_eq!(text(&asked, 1), "Run `rm -r x`?\n+é\n… 2 more lines");
    }

    #[test]
    fn a_change_can_be_taken_alone_where_it_is() {
        let two = question(overwrite(vec![hunk(0, 2, 3), hunk(1, 9, 0)]), &[]);
        let titles = |lines| -> Vec<String> {
            let offers = hunk_offers(&two, lines);
            offers.into_iter().map(|offer| offer.title).collect()
        };
        let (first, second) = (
            "Take only the change at lines 3 to 5",
            "Take only the change at line 10",
        );
        assert_eq!(titles((0, 1)), Vec::<String>::new());
        assert_eq!(titles((2, 2)), [first]);
        assert_eq!(titles((4, 8)), [first]);
        assert_eq!(titles((5, 8)), Vec::<String>::new());
        assert_eq!(titles((9, 9)), [second]);
        assert_eq!(titles((0, 99)), [first, second]);
        assert_eq!(
            hunk_offers(&two, (9, 9))[0].answer,
            Answer::TakeHunks { hunks: vec![1] }
        );
        let one = question(overwrite(vec![hunk(0, 2, 3)]), &[]);
        assert_eq!(hunk_offers(&one, (0, 99)), []);
    }
}
