//! Giving a file another name: one rename, so that it stays the file that it is, with its mode, owner, links and times.

use rustix::fs::{AtFlags, FileType, RenameFlags};
use rustix::io::Errno;

use super::Workspace;
use super::fault::point;
use super::ledger::{ChangeState, Contents, Ledger, Traits, Why};
use super::look::{OnDisk, read_place};
use super::place::{Place, There};
use super::write::{Old, Stop, after_rename, make_folders, same_content, sync_folder};
use crate::kernel::file::{WriteOrder, WriteOutcome, WrittenThrough};
use crate::kernel::hash::ContentHash;
use crate::kernel::path::RelPath;

impl Workspace {
    /// Moves a file to where nothing is, with both changes written down before and settled after. `to` makes the new name
    /// and `from` takes the old one away, each for its reason. The outcomes are in that order.
    pub fn relocate(
        &self,
        to: (&WriteOrder, &Why),
        from: (&WriteOrder, &Why),
        ledger: &Ledger,
    ) -> Vec<WriteOutcome> {
        let _turn = self
            .writing
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let both = |outcome: WriteOutcome| vec![outcome.clone(), outcome];
        match self.rename_recorded(to, from, ledger) {
            Ok(hash) => {
                let written = |before, after| WriteOutcome::Written {
                    before,
                    after,
                    through: WrittenThrough::Disk,
                };
                vec![written(None, Some(hash.clone())), written(Some(hash), None)]
            }
            Err(Stop::Changed) => both(WriteOutcome::Changed),
            Err(Stop::Failed(error)) => both(WriteOutcome::Failed {
                error: format!(
                    "failed to move {} to {}: {error}; nothing was changed",
                    from.0.path, to.0.path
                ),
            }),
            Err(Stop::Unknown(error)) => both(WriteOutcome::Unknown {
                error: format!(
                    "failed to move {} to {} to its end: {error}; look at the files",
                    from.0.path, to.0.path
                ),
            }),
        }
    }

    fn rename_recorded(
        &self,
        (to, to_why): (&WriteOrder, &Why),
        (from, from_why): (&WriteOrder, &Why),
        ledger: &Ledger,
    ) -> Result<ContentHash, Stop> {
        let source = self.place_of(&from.path)?;
        let target = self.place_of(&to.path)?;
        let OnDisk::Bytes { bytes, file, stat } = read_place(&source).map_err(Stop::Failed)? else {
            return Err(Stop::Changed);
        };
        let old = Old {
            hash: ContentHash::of(&bytes),
            file,
            stat,
        };
        if Some(&old.hash) != from.expected.as_ref() {
            return Err(Stop::Changed);
        }
        if self.is_link(&from.path) {
            let why = "it is a link; move the file that it leads to";
            return Err(Stop::Failed(why.to_owned()));
        }
        let is_same_file = match target.there {
            There::Nothing => false,
            // A file system that takes both names for one.
            There::File if is_same(&target, &old) => true,
            There::File | There::Folder | There::Special(_) => return Err(Stop::Changed),
        };
        point("checked");
        let traits = Traits {
            mode: Some(old.stat.st_mode & 0o7777),
            folders: u32::try_from(target.missing.len()).unwrap_or(u32::MAX),
        };
        let failed = |error: super::ledger::LedgerError| Stop::Failed(error.to_string());
        let gone = Contents {
            before: Some(&bytes),
            after: None,
        };
        let made = Contents {
            before: None,
            after: Some(&bytes),
        };
        ledger
            .begin_with(&to.path, made, to_why, traits)
            .map_err(failed)?;
        let whys = [to_why, from_why];
        let done = ledger
            .begin_with(&from.path, gone, from_why, traits)
            .map_err(failed)
            .and_then(|()| rename(&source, target, &old, is_same_file));
        let state = match &done {
            Ok(()) => ChangeState::Made,
            Err(Stop::Changed | Stop::Failed(_)) => ChangeState::NotMade,
            // Left open: whoever looks at the files settles it.
            Err(Stop::Unknown(_)) => return done.map(|()| old.hash),
        };
        for why in whys {
            if let Err(error) = ledger.settle((&why.run, why.change), state, why.at) {
                tracing::warn!("failed to {error}");
            }
        }
        done.map(|()| old.hash)
    }

    fn place_of(&self, path: &RelPath) -> Result<Place, Stop> {
        self.place(path)
            .map_err(|refusal| Stop::Failed(refusal.to_string()))
    }

    /// Whether the name itself is a link, wherever the folders above it lead.
    fn is_link(&self, path: &RelPath) -> bool {
        let stat = rustix::fs::statat(&self.folder, path.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }
}

fn is_same(target: &Place, old: &Old) -> bool {
    let stat = rustix::fs::statat(&target.folder, &target.name, AtFlags::SYMLINK_NOFOLLOW);
    // Two hard links are two files that must both stay.
    stat.is_ok_and(|stat| {
        (stat.st_dev, stat.st_ino) == (old.stat.st_dev, old.stat.st_ino) && old.stat.st_nlink == 1
    })
}

fn rename(source: &Place, target: Place, old: &Old, is_same_file: bool) -> Result<(), Stop> {
    let name = target.name.clone();
    let folder = make_folders(target)?;
    point("before the move");
    let (from, to) = ((&source.folder, &source.name), (&folder, &name));
    if is_same_file {
        rustix::fs::renameat(from.0, from.1, to.0, to.1)?;
    } else {
        match rustix::fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                // File systems that know no such flag: a link fails too if the name is taken.
                match rustix::fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty()) {
                    Err(Errno::EXIST) => return Err(Stop::Changed),
                    other => other?,
                }
                rustix::fs::unlinkat(from.0, from.1, AtFlags::empty())?;
            }
            Err(Errno::EXIST) => return Err(Stop::Changed),
            other => other?,
        }
    }
    point("moved");
    // Somebody saved it just before: that is what was moved, and it goes back to where they think it is.
    let stat = rustix::fs::statat(to.0, to.1, AtFlags::SYMLINK_NOFOLLOW)?;
    if !same_content(&stat, &old.stat) {
        let back = rustix::fs::renameat_with(to.0, to.1, from.0, from.1, RenameFlags::NOREPLACE);
        return match back {
            Ok(()) => Err(Stop::Changed),
            Err(error) => Err(Stop::Unknown(std::io::Error::from(error).to_string())),
        };
    }
    after_rename(sync_folder(&folder))?;
    after_rename(sync_folder(&source.folder))
}
