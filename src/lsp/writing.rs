//! Words of the user in any editor: a document is opened in which they write, and saving it answers the question or
//! starts the run.
//!
//! The documents are files beside the sidecar's other state, outside the workspace. An editor tells a server of a save
//! only where it has attached it to the document, so the files themselves are watched, and only while they are open.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lsp_types::request::ShowDocument;
use lsp_types::{MessageType, ShowDocumentParams, ShowDocumentResult};
use tokio::time::sleep;

use super::commands::Passage;
use super::editor::Reply;
use super::places::{self, file_uri};
use super::questions;
use super::session::Session;
use super::start::start;
use crate::kernel::ids::QuestionId;
use crate::kernel::question::{Question, QuestionKind};
use crate::protocol::run::StartParams;

/// How often a document is looked at. A text is taken when it is the same twice: editors do not all save at one stroke.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Looks after which a document that is gone is given up.
const LOOKS_FOR_GONE: u32 = 50;
/// Documents that nobody saved are removed after this time.
const KEEP: Duration = Duration::from_secs(7 * 24 * 3600);
/// Lines of a passage that a prompt quotes.
const QUOTED_LINES: usize = 200;
/// Starts the line above which the user writes.
const MARK: &str = "# --- Outrigger:";

/// Opens a document for the answer to an open question; gives its file.
///
/// # Errors
/// The file cannot be made; for people.
pub async fn open_answer(session: &Arc<Session>, question: Question) -> Result<PathBuf, String> {
    let file = offer_answer_file(session, question).await?;
    show(session, &file, "answer").await;
    Ok(file)
}

/// Makes the file for the answer, which answers when it is saved.
///
/// # Errors
/// The file cannot be made; for people.
pub async fn offer_answer_file(
    session: &Arc<Session>,
    question: Question,
) -> Result<PathBuf, String> {
    let file = session
        .app
        .answer_file(&question.id)
        .ok_or_else(|| format!("question {} cannot be answered by a file", question.id))?;
    let text = answer_document(&question);
    make(&file, &text).await?;
    let purpose = Purpose::Answer(question.id);
    watch(
        session,
        Written {
            file: file.clone(),
            untouched: text,
            purpose,
        },
    );
    Ok(file)
}

/// Opens a document for the prompt of a new run; gives its file.
///
/// # Errors
/// The file cannot be made; for people.
pub async fn open_prompt(
    session: &Arc<Session>,
    about: Option<Passage>,
) -> Result<PathBuf, String> {
    let quoted = match about {
        Some(passage) => quote(session, &passage).await,
        None => String::new(),
    };
    let text = prompt_document(&quoted);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let name = format!("{}.md", since.unwrap_or_default().as_nanos());
    let file = session.app.state_folder().join("prompts").join(name);
    make(&file, &text).await?;
    let purpose = Purpose::Prompt(quoted);
    watch(
        session,
        Written {
            file: file.clone(),
            untouched: text,
            purpose,
        },
    );
    show(session, &file, "prompt").await;
    Ok(file)
}

/// The passage as the prompt quotes it, from the open document.
async fn quote(session: &Session, passage: &Passage) -> String {
    let path = passage.path.clone();
    let document = session
        .app
        .look(move |state| state.documents.get(&path).cloned());
    let text = document.await.ok().flatten();
    let text = text.map(|document| document.text.to_string());
    quoted(passage, &text.unwrap_or_default())
}

fn quoted(passage: &Passage, text: &str) -> String {
    let Passage {
        folder: _,
        path,
        first_line,
        last_line,
    } = passage;
    let first = usize::try_from(first_line.saturating_sub(1)).unwrap_or(usize::MAX);
    let count = usize::try_from(last_line.saturating_sub(*first_line)).unwrap_or(usize::MAX);
    let lines = text.lines().skip(first).take(count.saturating_add(1));
    let mut quoted = format!("This is about {path}, lines {first_line} to {last_line}:\n");
    for line in lines.take(QUOTED_LINES) {
        quoted.push_str("    ");
        quoted.push_str(line);
        quoted.push('\n');
    }
    quoted
}

fn answer_document(question: &Question) -> String {
    let mut text = match &question.kind {
        // What is edited is the plan itself.
        QuestionKind::Plan { document, .. } => format!(
            "{document}\n{MARK} change the plan above this line and save: that plan is followed. ---\n\n{}\n",
            question.title
        ),
        _ => format!(
            "\n{MARK} write your answer above this line and save. What is below is not sent. ---\n\n{}\n",
            questions::text(question, usize::MAX)
        ),
    };
    if !question.choices.is_empty() {
        text.push_str("\nOr write one of these:\n");
        for choice in &question.choices {
            text.push_str(&format!("- {}\n", choice.label));
        }
    }
    text
}

fn prompt_document(quoted: &str) -> String {
    format!(
        "\n{MARK} write above this line what shall be done, and save: that starts a run. ---\n\n{quoted}"
    )
}

/// What the user wrote; empty when nothing.
fn words(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let written: Vec<&str> = text
        .lines()
        .take_while(|line| !line.trim_start().starts_with(MARK))
        .collect();
    written.join("\n").trim().to_owned()
}

/// Makes a file of the user's alone, unless it is there: then it has what the user wrote before.
async fn make(file: &Path, text: &str) -> Result<(), String> {
    let (path, text) = (file.to_owned(), text.to_owned());
    let made = tokio::task::spawn_blocking(move || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
            forget_old(folder);
        }
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(mut new) => io::Write::write_all(&mut new, text.as_bytes()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    });
    let made = made.await.unwrap_or_else(|error| Err(error.into()));
    made.map_err(|error| format!("failed to make {}: {error}", file.display()))
}

fn forget_old(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > KEEP) {
            // What cannot be removed is looked at again another time.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Opens the file in the editor, or says where it is.
async fn show(session: &Arc<Session>, file: &Path, what: &str) {
    let name = file.display().to_string();
    let message = format!("Outrigger: write your {what} into {name} and save it");
    let uri = places::parse_uri(&file_uri(&name.replace(std::path::MAIN_SEPARATOR, "/")));
    let (true, Some(uri)) = (session.client.show_document, uri) else {
        return session.say(MessageType::INFO, message);
    };
    let asked = session.editor.ask::<ShowDocument>(ShowDocumentParams {
        uri,
        external: Some(false),
        take_focus: Some(true),
        selection: None,
    });
    // The editor may take its time; whoever asked for the document need not wait for that.
    let session = Arc::clone(session);
    tokio::spawn(async move {
        let shown = match asked.reply().await {
            Reply::Answered(value) => serde_json::from_value::<ShowDocumentResult>(value)
                .is_ok_and(|result| result.success),
            Reply::Unanswered | Reply::Refused(_) => false,
            Reply::Gone => return,
        };
        if !shown {
            session.say(MessageType::INFO, message);
        }
    });
}

/// Opens a document of ours in the editor; where it cannot, its text is a message.
pub async fn show_text(session: &Arc<Session>, uri: &str, text: String) {
    let (true, Some(uri)) = (session.client.show_document, places::parse_uri(uri)) else {
        return session.say(MessageType::INFO, text);
    };
    let asked = session.editor.ask::<ShowDocument>(ShowDocumentParams {
        uri,
        external: Some(false),
        take_focus: Some(true),
        selection: None,
    });
    let session = Arc::clone(session);
    tokio::spawn(async move {
        let shown = match asked.reply().await {
            Reply::Answered(value) => serde_json::from_value::<ShowDocumentResult>(value)
                .is_ok_and(|result| result.success),
            Reply::Unanswered | Reply::Refused(_) => false,
            Reply::Gone => return,
        };
        if !shown {
            session.say(MessageType::INFO, text);
        }
    });
}

enum Purpose {
    Answer(QuestionId),
    /// With what the prompt quotes.
    Prompt(String),
}

/// A document in which the user writes.
struct Written {
    file: PathBuf,
    /// Its text before the user wrote.
    untouched: String,
    purpose: Purpose,
}

/// Takes what is written when it is saved. One watcher for a file.
fn watch(session: &Arc<Session>, written: Written) {
    if !session.begin_writing(&written.file) {
        return;
    }
    let session = Arc::clone(session);
    tokio::spawn(async move {
        follow(&session, &written).await;
        session.end_writing(&written.file);
        // It has served; what was not sent is still in the editor.
        let _ = tokio::fs::remove_file(&written.file).await;
    });
}

async fn follow(session: &Arc<Session>, written: &Written) {
    let mut taken = written.untouched.clone();
    let mut last = taken.clone();
    let mut gone = 0;
    while gone < LOOKS_FOR_GONE {
        sleep(LOOK_EVERY).await;
        if let Purpose::Answer(question) = &written.purpose
            && session.open_question(question).is_none()
        {
            return;
        }
        // Bytes that are no text are somebody's file under our name: wait for better.
        let Ok(text) = tokio::fs::read_to_string(&written.file).await else {
            gone += 1;
            continue;
        };
        gone = 0;
        let is_whole = text == last;
        last = text;
        if is_whole && last != taken {
            taken.clone_from(&last);
            if send(session, written, words(&last)).await {
                return;
            }
        }
    }
}

/// Whether the words were taken.
async fn send(session: &Arc<Session>, written: &Written, words: String) -> bool {
    if words.is_empty() {
        return false;
    }
    match &written.purpose {
        Purpose::Answer(id) => {
            let Some(question) = session.open_question(id) else {
                return true;
            };
            let answer = questions::answer_in_words(&question, &words);
            let was_taken = session.answer(id.clone(), answer).await;
            if was_taken {
                let message = format!("Outrigger: answered: {}", question.title);
                session.say(MessageType::INFO, message);
            }
            was_taken
        }
        Purpose::Prompt(quoted) => {
            let prompt = format!("{words}\n\n{quoted}").trim_end().to_owned();
            match start(session, StartParams::with_prompt(prompt)).await {
                Ok(_) => {
                    let message = "Outrigger: the run has started".to_owned();
                    session.say(MessageType::INFO, message);
                    true
                }
                Err(error) => {
                    session.say(MessageType::WARNING, error.message.into_owned());
                    false
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::path::RelPath;

    #[test]
    fn what_is_above_the_mark_is_sent() {
        let rows = [
            (prompt_document("x"), ""),
            (format!("use é\r\n80{}", prompt_document("x")), "use é\n80"),
            (format!("\u{feff} a {}", prompt_document("")), "a"),
            ("all mine\n# --- mine\n".to_owned(), "all mine\n# --- mine"),
            (String::new(), ""),
        ];
        for (text, want) in rows {
            assert_eq!(words(&text), want, "{text:?}");
        }
    }

    #[test]
    fn a_passage_is_quoted_by_its_lines() {
        let passage = |first_line, last_line| Passage {
            folder: None,
            path: RelPath::parse("é.rs").unwrap(),
            first_line,
            last_line,
        };
        let text = "one\ntwo\n\nfour";
        assert_eq!(
            quoted(&passage(2, 4), text),
            "This is about é.rs, lines 2 to 4:\n    two\n    \n    four\n"
        );
        for (first, last) in [(9, 10), (0, 0), (3, 2), (u32::MAX, u32::MAX)] {
            let quoted = quoted(&passage(first, last), text);
            assert!(quoted.lines().count() <= 2, "{first} {last}: {quoted}");
        }
    }
}
