//! What calls of models have cost, by day: one book for all workspaces and processes of a user.
//!
//! Owns `<base>/spendings/YYYY-MM-DD.jsonl`, days in UTC. Promises: a line is written whole by one append, so that processes
//! need no lock; a line that cannot be read is left out of the sum.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::transcript::make_private_folder;
use crate::kernel::conversation::{Cost, Spending, Usage};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Days that a task's sum looks back.
const LOOKED_BACK: i64 = 14;
/// Days after which a book is thrown away.
const KEPT: i64 = 400;

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Milliseconds since 1970.
    at: i64,
    /// The task, or the run where it has none.
    task: String,
    model: String,
    input: u64,
    output: u64,
    micros: u64,
    #[serde(default)]
    unpriced_tokens: u64,
}

impl Entry {
    pub fn new(at: i64, task: &str, model: &str, usage: Usage, cost: Cost) -> Self {
        Self {
            at,
            task: task.to_owned(),
            model: model.to_owned(),
            input: usage.input,
            output: usage.output,
            micros: cost.micros,
            unpriced_tokens: cost.unpriced_tokens,
        }
    }
}

/// The book. Opening it touches nothing.
#[derive(Debug, Clone)]
pub struct Spendings {
    folder: PathBuf,
}

impl Spendings {
    /// `state` is the state folder of a workspace; the book lies beside it.
    pub fn beside(state: &Path) -> Self {
        Self {
            folder: state.parent().unwrap_or(state).join("spendings"),
        }
    }

    /// # Errors
    /// The book cannot be written.
    pub fn add(&self, entry: &Entry) -> io::Result<()> {
        let path = self.page(entry.at);
        if !path.exists() {
            make_private_folder(&self.folder)?;
            self.throw_away_old(entry.at);
        }
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path)?.write_all(&line)
    }

    /// What the day of `now` and a task have cost.
    ///
    /// # Errors
    /// The book is there and cannot be read.
    pub fn totals(&self, now: i64, task: &str) -> io::Result<Spending> {
        let mut spending = Spending::default();
        for back in 0..LOOKED_BACK {
            let text = match fs::read(self.page(now - back * DAY_MS)) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let lines = text.split(|byte| *byte == b'\n');
            for entry in lines.filter_map(|line| serde_json::from_slice::<Entry>(line).ok()) {
                if back == 0 {
                    spending.day_micros = spending.day_micros.saturating_add(entry.micros);
                }
                if entry.task == task {
                    spending.task_micros = spending.task_micros.saturating_add(entry.micros);
                }
            }
        }
        Ok(spending)
    }

    fn page(&self, at: i64) -> PathBuf {
        self.folder
            .join(format!("{}.jsonl", day(at.div_euclid(DAY_MS))))
    }

    /// Best effort: what cannot be removed stays.
    fn throw_away_old(&self, now: i64) {
        let oldest = format!("{}.jsonl", day(now.div_euclid(DAY_MS) - KEPT));
        for file in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = file.file_name();
            let is_old = name.to_str().is_some_and(|name| {
                name.len() == oldest.len() && name.ends_with(".jsonl") && name < oldest.as_str()
            });
            if is_old {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// A day as `YYYY-MM-DD`, from days since 1970; the proleptic Gregorian calendar.
fn day(days: i64) -> String {
    // Years begin in March here, so that the leap day comes last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at: i64, task: &str, micros: u64) -> Entry {
        let usage = Usage {
            input: 10,
            output: 2,
            ..Usage::default()
        };
        Entry::new(at, task, "a/b", usage, Cost::of(Some(micros), &usage))
    }

    #[test]
    fn days_have_names() {
        let rows = [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_788, "2026-12-01"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ];
        for (days, name) in rows {
            assert_eq!(day(days), name);
        }
    }

    #[test]
    fn a_day_and_a_task_are_added_up() {
        let folder = tempfile::tempdir().unwrap();
        let book = Spendings::beside(&folder.path().join("workspace"));
        let noon = 20_788 * DAY_MS + DAY_MS / 2;
        assert_eq!(book.totals(noon, "t1").unwrap(), Spending::default());
        book.add(&entry(noon - DAY_MS, "t1", 1)).unwrap();
        book.add(&entry(noon, "t1", 10)).unwrap();
        book.add(&entry(noon, "t2", 100)).unwrap();
        let page = folder.path().join("spendings/2026-12-01.jsonl");
        let mut text = fs::read_to_string(&page).unwrap();
        text.insert_str(0, "half a li\n");
        fs::write(&page, text).unwrap();
        let spending = Spending {
            task_micros: 11,
            day_micros: 110,
        };
        assert_eq!(book.totals(noon, "t1").unwrap(), spending);
    }

    #[test]
    fn old_books_are_thrown_away_and_other_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let book = Spendings::beside(&folder.path().join("workspace"));
        let now = 20_788 * DAY_MS;
        book.add(&entry(now - (KEPT + 2) * DAY_MS, "t", 1)).unwrap();
        let note = folder.path().join("spendings/0000.txt");
        fs::write(&note, "mine").unwrap();
        book.add(&entry(now, "t", 1)).unwrap();
        let left = fs::read_dir(folder.path().join("spendings"))
            .unwrap()
            .count();
        assert!(left == 2 && note.exists());
    }
}
