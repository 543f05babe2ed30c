//! `outrigger follow` and `outrigger cancel`: a run of whichever process, from here.

use anyhow::{Context, anyhow};
use clap::Args;
use tokio::sync::mpsc::UnboundedReceiver;

use super::attend::{BY, json_line};
use super::output::say;
use super::view::View;
use super::workspace::{Open, WorkspaceArguments, find_run};
use crate::app::{App, Notice};
use crate::kernel::event::{Record, RunEvent};
use crate::kernel::ids::RunId;

/// Records that are read at once.
const PAGE: usize = 1000;

/// Tell a run from its beginning and go on live, in whichever process it is worked on, until it ends.
///
/// Examples:
///   outrigger follow last
///   outrigger follow r0mx3 --after 120 --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct FollowArguments {
    /// The run: its id, the beginning of it, or `last`.
    run: String,
    /// Only events with a greater number.
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: u64,
    /// One event a line, as editors get them.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

/// Cancel a run, in whichever process it is worked on. Ends when its processes are gone.
///
/// Examples:
///   outrigger cancel last
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CancelArguments {
    /// The run: its id, the beginning of it, or `last`.
    run: String,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

pub async fn follow(arguments: FollowArguments, open: &Open) -> anyhow::Result<u8> {
    let app = arguments.workspace.open(open)?;
    // Before the first page is read: what is written in between comes as a notice.
    let notices = app.subscribe();
    let run = find_run(&app, &arguments.run)?;
    let mut follower = Follower {
        app,
        run,
        last: 0,
        after: arguments.after,
        json: arguments.json,
        view: View::default(),
    };
    let done = follower.follow_to_its_end(notices).await;
    follower.app.park().await;
    done.map(|()| 0)
}

struct Follower {
    app: App,
    run: RunId,
    /// Number of the last record that was taken in.
    last: u64,
    after: u64,
    json: bool,
    view: View,
}

impl Follower {
    async fn follow_to_its_end(
        &mut self,
        mut notices: UnboundedReceiver<Notice>,
    ) -> anyhow::Result<()> {
        if self.catch_up().await? {
            return Ok(());
        }
        while let Some(notice) = notices.recv().await {
            match notice {
                Notice::Recorded { run, record } if run == self.run => {
                    // One that is missing in between is in the transcript.
                    let ended = if record.seq == self.last + 1 {
                        self.tell(&record)?
                    } else {
                        self.catch_up().await?
                    };
                    if ended {
                        return Ok(());
                    }
                }
                Notice::Parked { run } if run == self.run => {
                    let hint = format!(
                        "nobody works on run {run} now; `outrigger resume {run}` takes it up\n"
                    );
                    if !self.json {
                        say(&hint)?;
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the run has ended.
    async fn catch_up(&mut self) -> anyhow::Result<bool> {
        let mut ended = false;
        loop {
            let page = self.app.events(self.run.clone(), self.last, PAGE).await?;
            for record in &page.records {
                ended = self.tell(record)?;
            }
            if !page.more || page.records.is_empty() {
                return Ok(ended);
            }
        }
    }

    fn tell(&mut self, record: &Record) -> anyhow::Result<bool> {
        if record.seq <= self.last {
            return Ok(false);
        }
        self.last = record.seq;
        let mut text = if self.json {
            json_line(&self.run, record)?
        } else {
            self.view.tell(record)
        };
        let end = match &record.event {
            RunEvent::Ended { outcome, summary } => Some((*outcome, summary)),
            _ => None,
        };
        if let (Some((outcome, summary)), false) = (end, self.json) {
            text.push_str(&self.view.closing(outcome, summary));
        }
        if record.seq > self.after {
            say(&text).context("failed to write to standard output")?;
        }
        Ok(end.is_some())
    }
}

pub async fn cancel(arguments: CancelArguments, open: &Open) -> anyhow::Result<u8> {
    let app = arguments.workspace.open(open)?;
    let run = find_run(&app, &arguments.run)?;
    // Answered when what was there at the start is loaded.
    let reply = app
        .look(|_| ())
        .await
        .context("the workspace is no longer open");
    let reply = match reply {
        Ok(()) => app
            .cancel(run.clone(), BY)
            .await
            .context("the workspace is no longer open")?
            .map_err(|refusal| anyhow!(refusal.message)),
        Err(error) => Err(error),
    };
    app.park().await;
    reply?;
    say(&format!("run {run} is cancelled\n"))?;
    Ok(0)
}
