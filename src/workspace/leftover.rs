//! What stays of a file beside its content: temporary files of a write that was cut off, folders without a file, a mode.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};

use super::Workspace;
use super::look::{OnDisk, read_place};
use super::place::{Place, There};
use super::write::{TEMPORARY_PREFIX, target_mark};
use crate::kernel::path::RelPath;

/// A temporary file of ours whose process is no more.
pub(super) struct Leftover {
    name: OsString,
}

impl Workspace {
    /// Temporary files for what is at a place, of processes that have ended.
    pub(super) fn leftovers(&self, place: &Place) -> Vec<Leftover> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(folder) = rustix::fs::openat(&place.folder, ".", flags, Mode::empty()) else {
            return Vec::new();
        };
        let Ok(entries) = Dir::read_from(&folder) else {
            return Vec::new();
        };
        let mark = target_mark(&place.name);
        entries
            .flatten()
            .map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
            .filter(|name| is_left_behind(name, &mark))
            .map(|name| Leftover { name })
            .collect()
    }

    /// Gives a file that was brought back the permissions that it had; without them it is there all the same.
    pub(super) fn set_mode(&self, path: &RelPath, mode: u32) {
        if let Ok(place) = self.place(path)
            && matches!(place.there, There::File)
        {
            // By handle: the name may lead elsewhere by now.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            if let Ok(file) = rustix::fs::openat(&place.folder, &place.name, flags, Mode::empty()) {
                let _ = rustix::fs::fchmod(&file, Mode::from_raw_mode(mode));
            }
        }
    }

    /// Removes up to `count` folders above a path that is no more, from the innermost on, as long as they are empty.
    pub(super) fn remove_empty_folders(&self, path: &RelPath, count: u32) {
        let mut parts: Vec<&str> = path.components().collect();
        for _ in 0..count {
            parts.pop();
            let Ok(folder) = RelPath::parse(&parts.join("/")) else {
                return;
            };
            let Ok(place) = self.place(&folder) else {
                return;
            };
            let is_folder = matches!(place.there, There::Folder);
            // The system refuses to remove one that holds anything.
            if is_folder
                && rustix::fs::unlinkat(&place.folder, &place.name, AtFlags::REMOVEDIR).is_err()
            {
                return;
            }
        }
    }
}

impl Leftover {
    pub fn bytes(&self, beside: &Place) -> Option<Vec<u8>> {
        let place = Place {
            folder: beside.folder.try_clone().ok()?,
            missing: Vec::new(),
            name: self.name.clone(),
            real: None,
            there: There::File,
        };
        match read_place(&place) {
            Ok(OnDisk::Bytes { bytes, .. }) => Some(bytes),
            Ok(OnDisk::Nothing | OnDisk::TooBig { .. }) | Err(_) => None,
        }
    }

    /// Whether the two files have changed their names.
    pub fn exchange(&self, place: &Place) -> bool {
        rustix::fs::renameat_with(
            &place.folder,
            &self.name,
            &place.folder,
            &place.name,
            RenameFlags::EXCHANGE,
        )
        .is_ok()
    }

    pub fn remove(&self, beside: &Place) {
        let _ = rustix::fs::unlinkat(&beside.folder, &self.name, AtFlags::empty());
    }
}

/// `.outrigger-<process in hex>-<number>-<mark of the target>.tmp` of a process that has ended.
fn is_left_behind(name: &OsStr, mark: &str) -> bool {
    let process = name
        .to_str()
        .and_then(|name| name.strip_prefix(TEMPORARY_PREFIX))
        .and_then(|rest| rest.strip_suffix(".tmp"))
        .and_then(|rest| rest.strip_suffix(mark))
        .and_then(|rest| rest.split_once('-'))
        .and_then(|(process, _)| i32::from_str_radix(process, 16).ok())
        .and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| {
        rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_ended_processes_are_left_behind() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let ended = child.id();
        child.wait().unwrap();
        let rows = [
            (format!(".outrigger-{ended:x}-0-m.tmp"), true),
            (format!(".outrigger-{ended:x}-0-n.tmp"), false),
            (
                format!(".outrigger-{:x}-0-m.tmp", std::process::id()),
                false,
            ),
            (".outrigger-zz-0-m.tmp".to_owned(), false),
            (".outrigger-0-0-m.tmp".to_owned(), false),
            (format!(".other-{ended:x}-0-m.tmp"), false),
        ];
        for (name, want) in rows {
            assert_eq!(is_left_behind(OsStr::new(&name), "m"), want, "{name}");
        }
    }
}
