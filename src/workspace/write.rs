//! Writes: a new file beside the old one, made durable, then put in its place; only over what was expected.
//!
//! A file with several hard links is written in place, since replacing it would part it from its other names: the one
//! case in which a crash can leave it neither old nor new. The ledger holds both texts before the write begins.

mod temporary;

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{Access, AtFlags, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::fault::point;
use super::look::{OnDisk, read_place};
use super::place::{Place, There};
use super::{MAX_TEXT_BYTES, Workspace};
use crate::kernel::file::{NewContent, WriteOrder, WriteOutcome, WrittenThrough};
use crate::kernel::hash::ContentHash;
use temporary::Temporary;

pub(super) use temporary::{TEMPORARY_PREFIX, target_mark};

/// Why nothing was written.
pub(super) enum Stop {
    Changed,
    Failed(String),
    Unknown(String),
}

impl From<Errno> for Stop {
    fn from(error: Errno) -> Self {
        std::io::Error::from(error).into()
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Workspace {
    /// Performs a write. On every outcome but `Unknown` the file is as said; a crash leaves it old or new.
    pub fn write(&self, order: &WriteOrder) -> WriteOutcome {
        let path = &order.path;
        // A panic while writing leaves no state of ours behind: the lock guards nothing but the order.
        let _turn = self
            .writing
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        match self.perform(order) {
            Ok(after) => WriteOutcome::Written {
                before: order.expected.clone(),
                after,
                through: WrittenThrough::Disk,
            },
            Err(Stop::Changed) => WriteOutcome::Changed,
            Err(Stop::Failed(error)) => WriteOutcome::Failed {
                error: format!("failed to write {path}: {error}; nothing was changed"),
            },
            Err(Stop::Unknown(error)) => WriteOutcome::Unknown {
                error: format!("failed to write {path} to its end: {error}; look at the file"),
            },
        }
    }

    fn perform(&self, order: &WriteOrder) -> Result<Option<ContentHash>, Stop> {
        let place = self
            .place(&order.path)
            .map_err(|refusal| Stop::Failed(refusal.to_string()))?;
        let old = match read_place(&place).map_err(Stop::Failed)? {
            OnDisk::Nothing => None,
            OnDisk::Bytes { bytes, file, stat } => Some(Old {
                hash: ContentHash::of(&bytes),
                file,
                stat,
            }),
            OnDisk::TooBig { .. } => return Err(Stop::Changed),
        };
        if old.as_ref().map(|old| &old.hash) != order.expected.as_ref() {
            return Err(Stop::Changed);
        }
        point("checked");
        let (text, encoding) = match &order.content {
            NewContent::Text { text, encoding } => (text, *encoding),
            NewContent::Deleted => {
                if let Some(old) = old {
                    delete(&place, &old.stat)?;
                }
                return Ok(None);
            }
        };
        let bytes = encoding.encode(text);
        if bytes.len() as u64 > MAX_TEXT_BYTES {
            let most = MAX_TEXT_BYTES / (1024 * 1024);
            return Err(Stop::Failed(format!("it would be larger than {most} MB")));
        }
        let after = ContentHash::of(&bytes);
        match old {
            // So already: no byte, no time stamp moves.
            Some(old) if old.hash == after => {}
            None => create(place, &bytes)?,
            Some(old) if old.stat.st_nlink > 1 => write_in_place(&place, &bytes, &old.stat)?,
            Some(old) => replace(&place, &bytes, &old)?,
        }
        Ok(Some(after))
    }
}

/// The file as it was when its content was compared.
pub(super) struct Old {
    pub hash: ContentHash,
    pub file: File,
    pub stat: Box<Stat>,
}

/// Makes the folders that are missing, and the file in them, unless something stands there by now.
fn create(place: Place, bytes: &[u8]) -> Result<(), Stop> {
    let name = place.name.clone();
    let folder = make_folders(place)?;
    // As `open` would make it: the user's mask applies.
    let mut temporary = Temporary::make(&folder, &name, Mode::from_raw_mode(0o666))?;
    temporary.fill(bytes)?;
    point("before rename");
    rename_new(&temporary, &name)?;
    point("renamed");
    temporary.remove();
    after_rename(sync_folder(&folder))
}

/// Makes the folders that are missing, and opens the last one.
pub(super) fn make_folders(place: Place) -> Result<OwnedFd, Stop> {
    let mut folder = place.folder;
    for name in &place.missing {
        match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {
                point("folder made");
                sync_folder(&folder)?;
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        folder = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
    }
    Ok(folder)
}

/// Gives a file its name unless that is taken by now.
fn rename_new(temporary: &Temporary, name: &OsString) -> Result<(), Stop> {
    let (folder, own) = (temporary.folder, &temporary.name);
    let renamed = match rustix::fs::renameat_with(folder, own, folder, name, RenameFlags::NOREPLACE)
    {
        // File systems that know no such flag: a link fails too if the name is taken.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            rustix::fs::linkat(folder, own, folder, name, AtFlags::empty())
        }
        result => result,
    };
    match renamed {
        Err(Errno::EXIST) => Err(Stop::Changed),
        result => Ok(result?),
    }
}

fn replace(place: &Place, bytes: &[u8], old: &Old) -> Result<(), Stop> {
    check_writable(place, &old.stat)?;
    let mut temporary = Temporary::make(&place.folder, &place.name, Mode::from_raw_mode(0o600))?;
    temporary.fill(bytes)?;
    temporary.take_after(old)?;
    point("before exchange");
    let exchange = |flags| {
        rustix::fs::renameat_with(
            temporary.folder,
            &temporary.name,
            &place.folder,
            &place.name,
            flags,
        )
    };
    // The two names change places: what stood there at that very moment can still be looked at, and put back.
    match exchange(RenameFlags::EXCHANGE) {
        Ok(()) => {
            point("exchanged");
            if !is_still(&temporary, old) {
                put_back(&temporary, || exchange(RenameFlags::EXCHANGE))?;
                return Err(Stop::Changed);
            }
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if !stands_unchanged(place, old) {
                return Err(Stop::Changed);
            }
            rustix::fs::renameat(
                temporary.folder,
                &temporary.name,
                &place.folder,
                &place.name,
            )?;
        }
        Err(Errno::NOENT) => return Err(Stop::Changed),
        Err(error) => return Err(error.into()),
    }
    temporary.remove();
    point("old removed");
    after_rename(sync_folder(&place.folder))
}

/// Somebody saved the file just before the exchange: their text is under the temporary name, and goes back. If what comes
/// out in return is not what we had put there, they have saved once more, and that is what has to stand there.
fn put_back(temporary: &Temporary, exchange: impl Fn() -> Result<(), Errno>) -> Result<(), Stop> {
    let unknown = |error: Errno| Stop::Unknown(std::io::Error::from(error).to_string());
    let held = || {
        rustix::fs::statat(temporary.folder, &temporary.name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|stat| stat.st_ino)
            .map_err(unknown)
    };
    let mut put_before = rustix::fs::fstat(temporary.file()).map_err(unknown)?.st_ino;
    loop {
        let put = held()?;
        match exchange() {
            Ok(()) => {}
            // They deleted it meanwhile, and what we hold is older than that.
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(unknown(error)),
        }
        if held()? == put_before {
            return Ok(());
        }
        put_before = put;
    }
}

/// The new bytes are in place; that they are on the disk for good is what cannot be told.
pub(super) fn after_rename(synced: Result<(), Stop>) -> Result<(), Stop> {
    synced.map_err(|stop| match stop {
        Stop::Failed(error) => Stop::Unknown(error),
        Stop::Changed | Stop::Unknown(_) => stop,
    })
}

fn write_in_place(place: &Place, bytes: &[u8], old: &Stat) -> Result<(), Stop> {
    check_writable(place, old)?;
    let flags =
        OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(
        &place.folder,
        &place.name,
        flags,
        Mode::empty(),
    )?);
    let stat = rustix::fs::fstat(&file)?;
    if !same_content(&stat, old) {
        return Err(Stop::Changed);
    }
    // Take the space first: a full disk must not cut the file.
    let grows = bytes.len() as u64 > u64::try_from(old.st_size).unwrap_or_default();
    if grows && let Err(error) = reserve(&file, bytes.len() as u64) {
        file.set_len(u64::try_from(old.st_size).unwrap_or_default())?;
        return Err(error.into());
    }
    let unknown = |error: std::io::Error| Stop::Unknown(error.to_string());
    point("before writing in place");
    if cfg!(test) {
        let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
        file.write_all_at(half, 0).map_err(unknown)?;
        point("half written in place");
    }
    file.write_all_at(bytes, 0).map_err(unknown)?;
    point("written in place");
    file.set_len(bytes.len() as u64).map_err(unknown)?;
    point("length set");
    file.sync_all().map_err(unknown)
}

fn reserve(file: &File, length: u64) -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    {
        match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, length) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
            result => result,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, length);
        Ok(())
    }
}

fn delete(place: &Place, old: &Stat) -> Result<(), Stop> {
    match rustix::fs::statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if same_content(&stat, old) => {}
        Ok(_) | Err(Errno::NOENT) => return Err(Stop::Changed),
        Err(error) => return Err(error.into()),
    }
    point("before unlink");
    rustix::fs::unlinkat(&place.folder, &place.name, AtFlags::empty())?;
    point("unlinked");
    after_rename(sync_folder(&place.folder))
}

/// Replacing needs no permission on the file itself, so the user's wish not to have it written must be looked at.
fn check_writable(place: &Place, stat: &Stat) -> Result<(), Stop> {
    let read_only = || Stop::Failed("it is read-only".to_owned());
    if stat.st_mode & 0o222 == 0 {
        return Err(read_only());
    }
    match rustix::fs::accessat(
        &place.folder,
        &place.name,
        Access::WRITE_OK,
        AtFlags::EACCESS,
    ) {
        Err(Errno::ACCESS | Errno::ROFS | Errno::PERM) => Err(read_only()),
        _ => Ok(()),
    }
}

/// Whether a file was not written to since `old`. Times have the disk's precision, so a change within it that keeps the
/// size is seen only by the content.
pub(super) fn same_content(stat: &Stat, old: &Stat) -> bool {
    stat.st_ino == old.st_ino
        && stat.st_size == old.st_size
        && (stat.st_mtime, stat.st_mtime_nsec) == (old.st_mtime, old.st_mtime_nsec)
}

/// After the exchange: whether the file that stood there is the one whose content was expected.
fn is_still(temporary: &Temporary, old: &Old) -> bool {
    let place = Place {
        folder: match temporary.folder.try_clone() {
            Ok(folder) => folder,
            Err(_) => return false,
        },
        missing: Vec::new(),
        name: temporary.name.clone(),
        real: None,
        there: There::File,
    };
    stands_unchanged(&place, old)
}

fn stands_unchanged(place: &Place, old: &Old) -> bool {
    match rustix::fs::statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if same_content(&stat, &old.stat) => true,
        Ok(_) => matches!(
            read_place(place),
            Ok(OnDisk::Bytes { bytes, .. }) if ContentHash::of(&bytes) == old.hash
        ),
        Err(_) => false,
    }
}

pub(super) fn sync_folder(folder: &OwnedFd) -> Result<(), Stop> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listing = match rustix::fs::openat(folder, ".", flags, Mode::empty()) {
        Ok(listing) => listing,
        // A folder that may be entered but not read cannot be synced by us.
        Err(Errno::ACCESS) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    match rustix::fs::fsync(&listing) {
        Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
        result => Ok(result?),
    }
}
