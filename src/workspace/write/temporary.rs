//! The file beside the one that is written.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::super::fault::point;
use super::{Old, Stop};
use crate::kernel::hash::ContentHash;

/// Names of files that are being written start so; listings leave them out, recovery removes them.
pub(in super::super) const TEMPORARY_PREFIX: &str = ".outrigger-";

/// Says in a temporary name which name it is for; recovery must not take one file's remains for another's.
pub(in super::super) fn target_mark(target: &OsStr) -> String {
    ContentHash::of(target.as_bytes()).short().to_owned()
}

/// A file that nobody knows yet; removed unless it got its name.
pub(super) struct Temporary<'a> {
    pub folder: &'a OwnedFd,
    pub name: OsString,
    file: OwnedFd,
    removed: bool,
}

static COUNTER: AtomicU64 = AtomicU64::new(0);

impl<'a> Temporary<'a> {
    pub fn make(folder: &'a OwnedFd, target: &OsStr, mode: Mode) -> Result<Self, Stop> {
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            // Short, so that a name at the system's limit can be replaced too.
            let mark = target_mark(target);
            let name = format!(
                "{TEMPORARY_PREFIX}{:x}-{number:x}-{mark}.tmp",
                std::process::id()
            );
            match rustix::fs::openat(folder, &name, flags, mode) {
                Ok(file) => {
                    point("temporary made");
                    return Ok(Self {
                        folder,
                        name: name.into(),
                        file,
                        removed: false,
                    });
                }
                // Left behind by a process that had our number.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub fn fill(&self, bytes: &[u8]) -> Result<(), Stop> {
        let mut file = File::from(self.file.try_clone()?);
        let half = bytes.len() / 2;
        if cfg!(test) {
            // Two writes under test, so that a crash between them can be had.
            file.write_all(bytes.get(..half).unwrap_or_default())?;
            point("half written");
            file.write_all(bytes.get(half..).unwrap_or_default())?;
        } else {
            file.write_all(bytes)?;
        }
        point("written");
        rustix::fs::fsync(self.file.as_fd())?;
        point("synced");
        Ok(())
    }

    /// Mode and extended attributes, and owner where we may.
    pub fn take_after(&self, old: &Old) -> Result<(), Stop> {
        let stat = &old.stat;
        let own = rustix::fs::fstat(&self.file)?;
        if (own.st_uid, own.st_gid) != (stat.st_uid, stat.st_gid) {
            let given = rustix::fs::fchown(
                &self.file,
                Some(Uid::from_raw(stat.st_uid)),
                Some(Gid::from_raw(stat.st_gid)),
            );
            if given.is_err() {
                // The group alone may be ours to give.
                let _ = rustix::fs::fchown(&self.file, None, Some(Gid::from_raw(stat.st_gid)));
            }
        }
        copy_attributes(&old.file, &self.file);
        // After the owner: changing that takes the set-id bits away.
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
        point("mode set");
        Ok(())
    }

    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Removes what has the temporary name by now.
    pub fn remove(&mut self) {
        if !self.removed {
            self.removed = true;
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Access lists, labels and what people attach to files. Those that only the system may set stay behind.
fn copy_attributes(from: &File, to: &OwnedFd) {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        let mut names = vec![0_u8; 4096];
        let Ok(length) = rustix::fs::flistxattr(from, &mut names) else {
            return;
        };
        names.truncate(length);
        let mut value = vec![0_u8; 64 * 1024];
        for name in names
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
        {
            if let Ok(length) = rustix::fs::fgetxattr(from, name, &mut value) {
                let value = value.get(..length).unwrap_or_default();
                let _ = rustix::fs::fsetxattr(to, name, value, rustix::fs::XattrFlags::empty());
            }
        }
    }
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    {
        let _ = (from, to);
    }
}
