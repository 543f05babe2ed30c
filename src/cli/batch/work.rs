//! Working through a batch: starts what is ready, takes in what came of it, until nothing more can be started.
//!
//! Promises: what is known is on disk before the next thing is started; a task that ends in whatever way does not end the
//! others; the first Ctrl-C leaves every run so that it can be taken up, the second ends their processes at once.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use tokio::process::Command;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinSet;

use super::board::{self, Standing};
use super::child::{self, Ended, Job, News, Stop, What};
use super::record::{Batch, Folder, Task, Where};
use super::worktree::Repository;
use crate::cli::attend::interrupts::Interrupts;
use crate::cli::output::say;
use crate::cli::words::{clean, headline};

const TITLE: usize = 40;
/// Characters of a title in a branch's name.
const SLUG: usize = 30;
const TICK: Duration = Duration::from_millis(250);

/// What all tasks of a batch share.
pub struct Workshop {
    pub folder: Folder,
    /// `None`: the work is done in place.
    pub repository: Option<Repository>,
    /// Where the state of runs in place lies, as the user chose it.
    pub state: PathBuf,
    pub json: bool,
    /// Worktrees of one repository are made one after the other.
    pub git: Mutex<()>,
}

/// Works until nothing more can be started.
///
/// # Errors
/// What is known of the batch cannot be kept.
pub async fn work(mut batch: Batch, workshop: Arc<Workshop>) -> anyhow::Result<Batch> {
    let (news, mut told) = mpsc::unbounded_channel();
    let (stop, stopping) = watch::channel(Stop::No);
    let mut interrupts = Interrupts::listen().context("failed to listen for Ctrl-C")?;
    let mut working = JoinSet::new();
    let mut display = Display::new(workshop.json);
    loop {
        let ready = if *stop.borrow() == Stop::No {
            board::next(&batch.places(), &batch.rules)
        } else {
            Vec::new()
        };
        for at in ready {
            let anew = batch.tasks[at].place.begins();
            if workshop.repository.is_some() {
                batch.tasks[at].branch = Some(branch(&batch.id, &batch.tasks[at]));
            }
            workshop.folder.save(&batch)?;
            display.begins(at, &batch.tasks[at])?;
            let (batch, workshop) = (batch.clone(), Arc::clone(&workshop));
            let (news, stopping) = (news.clone(), stopping.clone());
            working.spawn(async move {
                let done = one((at, anew), &batch, &workshop, (&news, stopping)).await;
                (at, done)
            });
        }
        tokio::select! {
            biased;
            Some(news) = told.recv() => take_in(&mut batch, &workshop, &mut display, news)?,
            joined = working.join_next() => {
                let Some(joined) = joined else { break };
                let (at, done) = joined.context("a task's attendant failed")?;
                take_end(&mut batch, at, done, *stop.borrow());
                workshop.folder.save(&batch)?;
                display.ended(at, &batch.tasks[at])?;
            }
            _ = interrupts.next() => {
                let next = if *stop.borrow() == Stop::No { Stop::Park } else { Stop::Kill };
                display.say("stopping; once more to stop at once\n")?;
                stop.send_replace(next);
            }
        }
    }
    Ok(batch)
}

fn take_in(
    batch: &mut Batch,
    workshop: &Workshop,
    display: &mut Display,
    news: News,
) -> anyhow::Result<()> {
    match news.what {
        What::Run(run) => {
            batch.tasks[news.task].run = Some(run);
            workshop.folder.save(batch)
        }
        What::Base(base) => {
            batch.tasks[news.task].base = Some(base);
            workshop.folder.save(batch)
        }
        What::Doing(doing) => {
            display.doing(news.task, &doing);
            Ok(())
        }
        What::Line(event) if workshop.json => {
            let line = json!({
                "batch": batch.id,
                "task": batch.tasks[news.task].id,
                "runId": event.run_id,
                "record": event.record,
            });
            Ok(say(&format!("{line}\n"))?)
        }
        What::Line(_) => Ok(()),
    }
}

/// Takes in how a task's process ended.
pub fn take_end(batch: &mut Batch, at: usize, done: anyhow::Result<Ended>, stop: Stop) {
    let rules = batch.rules.clone();
    let task = &mut batch.tasks[at];
    let ended = done.unwrap_or_else(|why| Ended {
        standing: Standing::Failed,
        words: format!("{why:#}"),
        ..Ended::default()
    });
    if !ended.words.is_empty() {
        task.words = ended.words;
    }
    task.files = ended.files;
    task.active_ms = ended.active_ms;
    task.tokens = ended.usage.total();
    task.cost_micros = ended.cost.micros;
    if stop == Stop::No {
        board::ended(&mut task.place, ended.standing, &rules);
    } else {
        task.place.standing = ended.standing;
    }
}

/// Makes the place for a task, works on it, and keeps the result.
async fn one(
    (at, anew): (usize, bool),
    batch: &Batch,
    workshop: &Workshop,
    (news, stop): (&mpsc::UnboundedSender<News>, watch::Receiver<Stop>),
) -> anyhow::Result<Ended> {
    let task = &batch.tasks[at];
    let (root, state) = places(batch, workshop, task);
    if anew {
        if let Some(base) = make_tree(batch, workshop, task).await? {
            let what = What::Base(base);
            let _ = news.send(News { task: at, what });
        }
        prepare(batch, &root).await?;
    }
    let prompt = workshop.folder.prompt(task);
    let mut words: Vec<String> = ["run", "--json", "--unattended", "--once", "--file"]
        .map(str::to_owned)
        .to_vec();
    words.push(prompt.to_string_lossy().into_owned());
    for setting in batch.settings.iter().chain(&task.settings) {
        words.extend(["--set".to_owned(), setting.clone()]);
    }
    let job = Job {
        at,
        batch,
        task,
        folder: &workshop.folder,
        root: &root,
        state: &state,
        words,
    };
    fs::write(&prompt, &task.prompt)
        .with_context(|| format!("failed to write {}", prompt.display()))?;
    let ended = child::attend(job, news, stop).await?;
    keep(batch, workshop, at, &ended).await?;
    Ok(ended)
}

/// What was done becomes a commit on the task's branch.
///
/// # Errors
/// Git says no.
pub async fn keep(
    batch: &Batch,
    workshop: &Workshop,
    at: usize,
    ended: &Ended,
) -> anyhow::Result<()> {
    if let Some(repository) = workshop
        .repository
        .as_ref()
        .filter(|_| ended.standing.is_done())
    {
        let task = &batch.tasks[at];
        let message = format!("{}\n\n{}", headline(&task.title, 72), ended.words.trim());
        let _one_after_the_other = workshop.git.lock().await;
        repository
            .commit(&workshop.folder.tree(task), &message)
            .await?;
    }
    Ok(())
}

/// The workspace of a task, and where its state lies.
pub fn places(batch: &Batch, workshop: &Workshop, task: &Task) -> (PathBuf, PathBuf) {
    match &workshop.repository {
        Some(repository) => {
            let tree = workshop.folder.tree(task);
            (repository.inside(&tree), workshop.folder.state())
        }
        None => (batch.root.clone(), workshop.state.clone()),
    }
}

/// A task that needs others begins with what came of them.
async fn make_tree(
    batch: &Batch,
    workshop: &Workshop,
    task: &Task,
) -> anyhow::Result<Option<String>> {
    let (Some(repository), Where::Worktrees { base }) = (&workshop.repository, &batch.place) else {
        return Ok(None);
    };
    let branch = task.branch.as_deref().context("the task has no branch")?;
    let needed = task
        .place
        .after
        .iter()
        .filter_map(|at| batch.tasks.get(*at)?.branch.clone());
    let mut start: Vec<String> = needed.collect();
    if start.is_empty() {
        start.push(base.clone());
    }
    let _one_after_the_other = workshop.git.lock().await;
    repository
        .add(&workshop.folder.tree(task), branch, &start)
        .await
        .map(Some)
}

async fn prepare(batch: &Batch, root: &Path) -> anyhow::Result<()> {
    let Some(words) = &batch.prepare else {
        return Ok(());
    };
    let (shell, flag) = if cfg!(windows) {
        ("cmd", "/C")
    } else {
        ("sh", "-c")
    };
    let output = Command::new(shell)
        .args([flag, words])
        .current_dir(root)
        .kill_on_drop(true)
        .output()
        .await;
    let output = output.with_context(|| format!("failed to start `{words}`"))?;
    ensure!(
        output.status.success(),
        "`{words}` ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}

/// `outrigger/b1/2-say-hello`.
fn branch(batch: &str, task: &Task) -> String {
    let mut slug = String::new();
    for letter in task.title.to_lowercase().chars() {
        match letter {
            'a'..='z' | '0'..='9' => slug.push(letter),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let short: String = slug.chars().take(SLUG).collect();
    format!("outrigger/{batch}/{}-{short}", task.id)
        .trim_end_matches('-')
        .to_owned()
}

/// Lines on a terminal that follow the work; elsewhere a line for each beginning and end.
struct Display {
    lines: Option<MultiProgress>,
    bars: BTreeMap<usize, (ProgressBar, String)>,
    is_silent: bool,
}

impl Display {
    fn new(json: bool) -> Self {
        let shows = !json && io::stdout().is_terminal() && io::stderr().is_terminal();
        Self {
            lines: shows.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr())),
            bars: BTreeMap::new(),
            is_silent: json,
        }
    }

    fn say(&self, text: &str) -> io::Result<()> {
        if self.is_silent {
            return Ok(());
        }
        match &self.lines {
            Some(lines) => lines.suspend(|| say(text)),
            None => say(text),
        }
    }

    fn begins(&mut self, at: usize, task: &Task) -> io::Result<()> {
        let title = headline(&task.title, TITLE);
        let Some(lines) = &self.lines else {
            return self.say(&format!("{:>4}  started      {title}\n", task.id));
        };
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed:.dim}");
        let bar = ProgressBar::new_spinner()
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let bar = lines.add(bar);
        let name = format!("{} {title}", task.id);
        bar.set_message(name.clone());
        bar.enable_steady_tick(TICK);
        self.bars.insert(at, (bar, name));
        Ok(())
    }

    fn doing(&self, at: usize, doing: &str) {
        if let Some((bar, name)) = self.bars.get(&at) {
            bar.set_message(format!("{name} · {}", clean(doing)));
        }
    }

    fn ended(&mut self, at: usize, task: &Task) -> io::Result<()> {
        if let (Some((bar, _)), Some(lines)) = (self.bars.remove(&at), &self.lines) {
            bar.finish_and_clear();
            lines.remove(&bar);
        }
        let again = if task.place.standing == Standing::Queued {
            " (again)"
        } else {
            ""
        };
        let (word, title) = (task.place.standing.word(), headline(&task.title, TITLE));
        self.say(&format!("{:>4}  {word:11}  {title}{again}\n", task.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_have_plain_names() {
        for (title, want) in [
            ("Say Hello, world!", "outrigger/b1/2-say-hello-world"),
            ("漢字", "outrigger/b1/2"),
            ("é: fix  ../x", "outrigger/b1/2-fix-x"),
        ] {
            let task = Task {
                id: "2".to_owned(),
                title: title.to_owned(),
                ..Task::default()
            };
            assert_eq!(branch("b1", &task), want);
        }
    }
}
