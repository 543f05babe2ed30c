//! Worktrees of git for the tasks of a batch: outside of the user's tree, each on a branch of its own.
//!
//! Promises: neither the user's files nor index nor HEAD are touched; no hook of the repository is run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use tokio::process::Command;

/// The repository around a workspace folder.
#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
    /// Where the workspace is in it: "" or `sub/folder/`.
    prefix: String,
}

impl Repository {
    /// `None`: the folder is in no repository, or there is no git.
    pub async fn around(root: &Path) -> Option<Self> {
        let prefix = git(root, ["rev-parse", "--show-prefix"]).await.ok()?;
        Some(Self {
            root: root.to_owned(),
            prefix: prefix.trim_end_matches('\n').to_owned(),
        })
    }

    /// The commit that is checked out.
    ///
    /// # Errors
    /// There is none yet.
    pub async fn head(&self) -> anyhow::Result<String> {
        let head = git(&self.root, ["rev-parse", "--verify", "HEAD^{commit}"]).await;
        let head = head.context(
            "this repository has no commit to start from; commit something, or use --in-place",
        )?;
        Ok(head.trim().to_owned())
    }

    /// Whether the user has changes that no worktree will have.
    pub async fn has_uncommitted(&self) -> bool {
        let status = git(
            &self.root,
            ["status", "--porcelain", "--untracked-files=normal"],
        )
        .await;
        status.is_ok_and(|text| !text.trim().is_empty())
    }

    /// The workspace folder in a worktree.
    pub fn inside(&self, tree: &Path) -> PathBuf {
        tree.join(&self.prefix)
    }

    /// A new worktree on a new branch, with the results of other branches in it. What an earlier attempt left at both places
    /// goes. Gives the commit that the work begins from.
    ///
    /// # Errors
    /// Git says no, or the results contradict each other.
    pub async fn add(&self, tree: &Path, branch: &str, start: &[String]) -> anyhow::Result<String> {
        self.remove(tree, branch).await;
        let (first, others) = start
            .split_first()
            .context("there is nothing to start from")?;
        git(
            &self.root,
            [
                OsStr::new("worktree"),
                "add".as_ref(),
                "--quiet".as_ref(),
                "-b".as_ref(),
                branch.as_ref(),
                tree.as_os_str(),
                first.as_ref(),
            ],
        )
        .await
        .context("failed to make a worktree")?;
        for other in others {
            let merged = git(tree, ["merge", "--quiet", "--no-edit", other.as_str()]).await;
            if let Err(why) = merged {
                bail!(
                    "the results of the tasks before it contradict each other ({other}): {why:#}"
                );
            }
        }
        Ok(git(tree, ["rev-parse", "HEAD"]).await?.trim().to_owned())
    }

    /// Everything that is new in a worktree becomes a commit on its branch.
    ///
    /// # Errors
    /// Git says no.
    pub async fn commit(&self, tree: &Path, message: &str) -> anyhow::Result<()> {
        git(tree, ["add", "--all"]).await?;
        if git(tree, ["diff", "--cached", "--quiet"]).await.is_ok() {
            return Ok(());
        }
        git(
            tree,
            ["commit", "--quiet", "--no-verify", "--message", message],
        )
        .await?;
        Ok(())
    }

    /// Takes a worktree and its branch away, as far as they are there.
    pub async fn remove(&self, tree: &Path, branch: &str) {
        let tree = tree.as_os_str();
        let words = [
            OsStr::new("worktree"),
            "remove".as_ref(),
            "--force".as_ref(),
            tree,
        ];
        // What is not there need not go.
        let _ = git(&self.root, words).await;
        let _ = std::fs::remove_dir_all(tree);
        let _ = git(&self.root, ["worktree", "prune"]).await;
        let _ = git(&self.root, ["branch", "--quiet", "-D", branch]).await;
    }

    /// What lies between two commits, in the workspace folder, as a patch.
    ///
    /// # Errors
    /// Git says no.
    pub async fn patch(&self, base: &str, branch: &str) -> anyhow::Result<String> {
        git(&self.root, ["diff", "--binary", base, branch]).await
    }

    /// The files that differ between two commits, relative to the workspace folder; what lies outside of it is left out.
    ///
    /// # Errors
    /// Git says no.
    pub async fn changed(&self, base: &str, branch: &str) -> anyhow::Result<Vec<String>> {
        let words = [
            "diff",
            "--name-only",
            "--no-renames",
            "--relative",
            "-z",
            base,
            branch,
        ];
        let names = git(&self.root, words).await?;
        Ok(names
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// A file of a commit, and whether it is a program; `None`: it is not in it.
    ///
    /// # Errors
    /// Git says no.
    pub async fn file(&self, commit: &str, path: &str) -> anyhow::Result<Option<(Vec<u8>, bool)>> {
        let whole = format!("{}{path}", self.prefix);
        let listed = git(
            &self.root,
            ["ls-tree", "--full-tree", "-z", commit, "--", whole.as_str()],
        )
        .await?;
        let Some((about, _)) = listed.split_once('\t') else {
            return Ok(None);
        };
        let mut about = about.split(' ');
        let (mode, kind, hash) = (about.next(), about.next(), about.next());
        ensure!(kind == Some("blob"), "{path} is no file");
        let hash = hash.context("git told no hash")?;
        let bytes = bytes(&self.root, ["cat-file", "blob", hash]).await?;
        Ok(Some((bytes, mode == Some("100755"))))
    }
}

async fn git(
    folder: &Path,
    words: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> anyhow::Result<String> {
    let bytes = bytes(folder, words).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn bytes(
    folder: &Path,
    words: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new("git");
    // A person without a name can have results all the same.
    for setting in [
        "core.hooksPath=/dev/null",
        "commit.gpgSign=false",
        "core.quotePath=false",
    ] {
        command.args(["-c", setting]);
    }
    if std::env::var_os("GIT_AUTHOR_NAME").is_none() {
        command
            .env("GIT_COMMITTER_NAME", "Outrigger")
            .env("GIT_COMMITTER_EMAIL", "outrigger@localhost")
            .env("GIT_AUTHOR_NAME", "Outrigger")
            .env("GIT_AUTHOR_EMAIL", "outrigger@localhost");
    }
    let output = command
        .args(words)
        .current_dir(folder)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .output()
        .await
        .context("failed to start git")?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("git: {}", errors.trim());
    }
    Ok(output.stdout)
}
