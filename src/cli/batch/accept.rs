//! Taking results of a batch into the user's files, file by file, by the rules of every other write.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use anyhow::{Context, bail};

use super::record::{Batch, Folder, Task};
use super::worktree::Repository;
use crate::app::App;
use crate::app::accept::{Asked, Offered, Settled, Taking, Weighed};
use crate::cli::ask::{self, Reading};
use crate::cli::attend::{PROMPT, edited, menu_of_editor};
use crate::cli::output::say;
use crate::cli::view;
use crate::cli::words::{ASKS, BAD, GOOD, clean, styled};
use crate::kernel::path::RelPath;
use crate::kernel::question::QuestionKind;

/// The commits between which a result lies.
///
/// # Errors
/// There is no result.
pub fn ends(task: &Task) -> anyhow::Result<(&str, &str)> {
    match (&task.base, &task.branch) {
        (Some(base), Some(branch)) if task.place.standing.is_done() => Ok((base, branch)),
        _ => bail!(
            "task {} is {}: there is no result",
            task.id,
            task.place.standing.word()
        ),
    }
}

/// What became of one file.
enum Became {
    Taken,
    Merged,
    Same,
    Kept,
    Refused(String),
    /// The person wants no more.
    Stop,
}

/// The exit code: 3 where something was left because nobody could be asked.
pub async fn accept(
    mut batch: Batch,
    chosen: &[usize],
    (folder, repository): (&Folder, &Repository),
    app: &App,
) -> anyhow::Result<u8> {
    let mut code = 0;
    for at in chosen {
        let task = &batch.tasks[*at];
        let (base, branch) = ends(task)?;
        let mut taking = Taking::new(format!("take task {} of batch {}", task.id, batch.id));
        let title = clean(&task.title).into_owned();
        say(&format!("{} {title}\n", task.id))?;
        let (mut wrote, mut left) = (false, false);
        for name in repository.changed(base, branch).await? {
            let became = one((&name, base, branch), repository, app, &mut taking).await?;
            wrote |= matches!(became, Became::Taken | Became::Merged);
            let (mark, words) = match &became {
                Became::Taken => (styled(GOOD, "✓"), String::new()),
                Became::Merged => (styled(GOOD, "✓"), "merged with your changes".to_owned()),
                Became::Same => (styled(GOOD, "="), "is so already".to_owned()),
                Became::Kept => (styled(ASKS, "–"), "stays as it is".to_owned()),
                Became::Refused(why) => (styled(BAD, "✗"), why.clone()),
                Became::Stop => (styled(ASKS, "–"), "stopped here".to_owned()),
            };
            say(&format!("  {mark} {} {}\n", clean(&name), clean(&words)))?;
            match became {
                Became::Refused(_) => left = true,
                Became::Stop => return Ok(130),
                Became::Taken | Became::Merged | Became::Same | Became::Kept => {}
            }
        }
        if wrote {
            say(&format!(
                "  `outrigger revert {}` takes this back\n",
                taking.id
            ))?;
        }
        if left {
            code = 3;
        } else {
            batch.tasks[*at].accepted = true;
            folder.save(&batch)?;
        }
    }
    Ok(code)
}

async fn one(
    (name, base, branch): (&str, &str, &str),
    repository: &Repository,
    app: &App,
    taking: &mut Taking,
) -> anyhow::Result<Became> {
    let path = match RelPath::parse(name) {
        Ok(path) => path,
        Err(refusal) => return Ok(Became::Refused(refusal.to_string())),
    };
    let before = repository.file(base, name).await?;
    let after = repository.file(branch, name).await?;
    let runs = after.as_ref().is_some_and(|(_, runs)| *runs);
    let offered = Offered {
        path,
        base: before.map(|(bytes, _)| bytes),
        result: after.map(|(bytes, _)| bytes),
    };
    loop {
        let (order, became) = match app.weigh(&offered).await {
            Weighed::Same => return Ok(Became::Same),
            Weighed::Refused(why) => return Ok(Became::Refused(why)),
            Weighed::Write { order, merged } => (
                order,
                if merged {
                    Became::Merged
                } else {
                    Became::Taken
                },
            ),
            Weighed::Ask(asked) => match ask_about(&asked, app).await? {
                Settled::Write(order) => (order, Became::Taken),
                Settled::Keep => return Ok(Became::Kept),
                Settled::Stop => return Ok(Became::Stop),
                Settled::LookAgain => continue,
                Settled::NoAnswer(why) => return Ok(Became::Refused(why)),
            },
        };
        if let Err(why) = app.take(taking, order).await {
            return Ok(Became::Refused(why));
        }
        if runs {
            make_executable(&app.root().join(name))?;
        }
        return Ok(became);
    }
}

/// Git knows of a file's mode only whether it is a program.
fn make_executable(path: &Path) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use std::fs;
        use std::os::unix::fs::PermissionsExt;
        let failed = || format!("failed to make {} executable", path.display());
        let mode = fs::metadata(path)
            .with_context(failed)?
            .permissions()
            .mode();
        let all = mode | (mode & 0o444) >> 2;
        fs::set_permissions(path, fs::Permissions::from_mode(all)).with_context(failed)?;
    }
    Ok(())
}

/// Puts the question to the person; without one the file stays as it is, and that is no answer.
async fn ask_about(asked: &Asked, app: &App) -> anyhow::Result<Settled> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Ok(Settled::NoAnswer(
            "both sides changed the same lines, and nobody is here to ask; accept it in a terminal, or merge the branch".to_owned(),
        ));
    }
    let question = &asked.question;
    let QuestionKind::Overwrite(overwrite) = &question.kind else {
        bail!("this question cannot be asked here");
    };
    say(&format!(
        "{}{}{}",
        view::describe(question),
        ask::menu(question),
        menu_of_editor(question)
    ))?;
    loop {
        say(PROMPT)?;
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        let line = line.await.context("failed to read from the terminal")??;
        if line.is_empty() {
            return Ok(Settled::Stop);
        }
        let reading = match line.trim() {
            "e" => {
                let text = overwrite.texts.proposed.clone().unwrap_or_default();
                edited(overwrite.path.name(), &text).await
            }
            line => ask::read(question, line),
        };
        let answer = match reading {
            Reading::Answer(answer) => answer,
            Reading::Again(why) => {
                say(&format!("  {why}\n"))?;
                continue;
            }
        };
        match app.settle(asked, &answer).await {
            Settled::NoAnswer(why) => say(&format!("  {why}\n"))?,
            settled => return Ok(settled),
        }
    }
}
