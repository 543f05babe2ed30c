//! What one process says to another that works on a run, as text in the database.

use serde::{Deserialize, Serialize};

use crate::app::clock::new_run_id;
use crate::kernel::effect::{Refusal, RefusalKind, Reply};
use crate::kernel::event::Steer;
use crate::kernel::ids::{QuestionId, RunId};
use crate::kernel::input::Command;
use crate::kernel::question::Answer;

/// A command that may come from another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Word {
    Answer {
        question: QuestionId,
        answer: Answer,
        by: String,
    },
    Cancel {
        run: RunId,
        by: String,
    },
    Steer {
        run: RunId,
        steer: Steer,
        by: String,
    },
}

/// A word, and where its answer is waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Letter {
    pub answer_at: String,
    pub word: Word,
}

impl Letter {
    pub fn new(word: Word) -> Self {
        Self {
            answer_at: format!("answer-{}", new_run_id()),
            word,
        }
    }
}

impl Word {
    /// The run that the command is about, and the word for it; `None` for what no other process can do.
    pub fn of(command: &Command) -> Option<(RunId, Self)> {
        match command.clone() {
            Command::Start { .. } | Command::Resume { .. } => None,
            Command::Cancel { run, by } => Some((run.clone(), Self::Cancel { run, by })),
            Command::Steer { run, steer, by } => {
                Some((run.clone(), Self::Steer { run, steer, by }))
            }
            Command::Answer {
                question,
                answer,
                by,
            } => {
                let (run, _) = question.0.rsplit_once(".q")?;
                let run = RunId::new(run);
                let word = Self::Answer {
                    question,
                    answer,
                    by,
                };
                Some((run, word))
            }
        }
    }

    pub fn into_command(self) -> Command {
        match self {
            Self::Answer {
                question,
                answer,
                by,
            } => Command::Answer {
                question,
                answer,
                by,
            },
            Self::Cancel { run, by } => Command::Cancel { run, by },
            Self::Steer { run, steer, by } => Command::Steer { run, steer, by },
        }
    }
}

pub fn write_answer(reply: &Result<Reply, Refusal>) -> String {
    serde_json::to_string(reply).unwrap_or_default()
}

/// An answer that cannot be read comes from another version: what became of the word is in the run's transcript.
pub fn read_answer(body: &str) -> Result<Reply, Refusal> {
    serde_json::from_str(body).unwrap_or_else(|error| {
        Err(Refusal {
            kind: RefusalKind::Storage,
            message: format!(
                "the answer of the process that works on the run cannot be read ({error}); \
                 look at the run to see what became of it"
            ),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_answers_come_through_as_they_were() {
        let run = RunId::new("r1");
        let question = QuestionId::new("r1.q2");
        let commands = [
            Command::Cancel {
                run: run.clone(),
                by: "é".to_owned(),
            },
            Command::Steer {
                run: run.clone(),
                steer: Steer::Pause,
                by: "x".to_owned(),
            },
            Command::Answer {
                question: question.clone(),
                answer: Answer::Text {
                    text: "so\nund so".to_owned(),
                },
                by: "x".to_owned(),
            },
        ];
        for command in commands {
            let (about, word) = Word::of(&command).unwrap();
            assert_eq!(about, run);
            let text = serde_json::to_string(&Letter::new(word)).unwrap();
            let letter: Letter = serde_json::from_str(&text).unwrap();
            assert_eq!(letter.word.into_command(), command);
        }
        let answers = [
            Ok(Reply::Answered { question }),
            Err(Refusal {
                kind: RefusalKind::AlreadyAnswered,
                message: "by é".to_owned(),
            }),
        ];
        for answer in answers {
            assert_eq!(read_answer(&write_answer(&answer)), answer);
        }
        assert!(read_answer("{").is_err());
        let resume = Command::Resume {
            run,
            by: String::new(),
        };
        assert_eq!(Word::of(&resume), None);
    }
}
