//! What is at a path now: the open document's text where there is one that is ahead of the disk, else the disk's.

use std::fs::File;
use std::io::Read;

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::place::{Place, PlaceRefusal, There};
use super::text::decode;
use super::{MAX_TEXT_BYTES, Workspace};
use crate::kernel::file::{Encoding, FileNow, OpenDocument, Overlay, TextNow, TextSource};
use crate::kernel::hash::ContentHash;
use crate::kernel::path::RelPath;
use crate::kernel::plan::Targets;

/// What a file's place holds on disk.
pub(super) enum OnDisk {
    Nothing,
    Bytes {
        bytes: Vec<u8>,
        file: File,
        stat: Box<Stat>,
    },
    TooBig {
        size: u64,
    },
}

/// Why the disk could not be read. For people.
pub(super) type Reason = String;

impl Workspace {
    /// What is at `path` now. Reads the whole file; never fails: what is in the way is said in the answer.
    pub fn inspect(&self, path: &RelPath, overlay: &Overlay) -> FileNow {
        let place = match self.place(path) {
            Ok(place) => place,
            // A parent that is a file: nothing can be there, and nothing can be made there.
            Err(refusal) => {
                return FileNow::Refused {
                    reason: refusal.to_string(),
                };
            }
        };
        let on_disk = match read_place(&place) {
            Ok(on_disk) => on_disk,
            Err(reason) => return FileNow::Refused { reason },
        };
        let document = overlay
            .get(path)
            .or_else(|| place.real.as_ref().and_then(|real| overlay.get(real)));
        match (on_disk, document) {
            (OnDisk::Nothing, None) => FileNow::Absent {
                nearest: self.nearest(path, overlay),
            },
            (OnDisk::TooBig { size }, _) => FileNow::Opaque {
                hash: None,
                size,
                reason: format!(
                    "it has {} MB; files over {} MB are not edited",
                    size / (1024 * 1024),
                    MAX_TEXT_BYTES / (1024 * 1024)
                ),
            },
            (OnDisk::Nothing, Some(document)) => FileNow::Text(of_document(document, None)),
            (OnDisk::Bytes { bytes, .. }, document) => {
                let hash = ContentHash::of(&bytes);
                match (decode(&bytes), document) {
                    (Ok((text, encoding)), document) => {
                        let disk = DiskText {
                            text,
                            encoding,
                            hash,
                        };
                        FileNow::Text(over_disk(document, disk))
                    }
                    (Err(reason), _) => FileNow::Opaque {
                        hash: Some(hash),
                        size: bytes.len() as u64,
                        reason: reason.to_string(),
                    },
                }
            }
        }
    }
}

impl Workspace {
    /// Which of these are there, as files on disk or as unsaved documents.
    pub fn targets(&self, paths: Vec<RelPath>, overlay: &Overlay) -> Targets {
        let mut targets = Targets::default();
        for path in paths {
            let is_there = overlay.contains_key(&path)
                || self
                    .place(&path)
                    .is_ok_and(|place| !matches!(place.there, There::Nothing));
            if is_there {
                targets.there.push(path);
            } else {
                let nearest = self.nearest(&path, overlay);
                if !nearest.is_empty() {
                    targets.nearest.insert(path, nearest);
                }
            }
        }
        targets
    }
}

struct DiskText {
    text: String,
    encoding: Encoding,
    hash: ContentHash,
}

/// A clean document that differs from the disk is older than the disk; a dirty one is the truth.
fn over_disk(document: Option<&OpenDocument>, disk: DiskText) -> TextNow {
    let document = document.filter(|document| {
        document.dirty || document.text == disk.text.as_str() || marked(document, &disk.text)
    });
    match document {
        Some(document) => of_document(document, Some(&disk)),
        None => TextNow {
            text: disk.text.into(),
            hash: disk.hash.clone(),
            encoding: disk.encoding,
            source: TextSource::Disk,
            disk: Some(disk.hash),
            newer_disk: false,
        },
    }
}

/// Some editors hand the byte order mark on as text.
fn marked(document: &OpenDocument, text: &str) -> bool {
    document.text.get_char(0) == Some('\u{feff}') && document.text.slice(1..) == text
}

fn of_document(document: &OpenDocument, disk: Option<&DiskText>) -> TextNow {
    let whole = String::from(&document.text);
    let (text, mark) = match whole.strip_prefix('\u{feff}') {
        Some(text) => (text, true),
        None => (whole.as_str(), false),
    };
    let encoding = match disk {
        Some(disk) => disk.encoding,
        None if mark => Encoding::Utf8Bom,
        None => Encoding::Utf8,
    };
    let hash = ContentHash::of(&encoding.encode(text));
    let equal = disk.is_some_and(|disk| disk.hash == hash);
    let unread = |disk: &DiskText| {
        document
            .saved
            .as_ref()
            .is_some_and(|saved| *saved != disk.hash)
    };
    TextNow {
        text: text.into(),
        hash,
        encoding,
        source: if equal || !document.dirty {
            TextSource::CleanDocument
        } else {
            TextSource::UnsavedDocument
        },
        disk: disk.map(|disk| disk.hash.clone()),
        newer_disk: !equal && document.dirty && disk.is_some_and(unread),
    }
}

/// Reads what stands at a place, without following a link that may stand there by now.
pub(super) fn read_place(place: &Place) -> Result<OnDisk, Reason> {
    match &place.there {
        There::Nothing => return Ok(OnDisk::Nothing),
        There::Folder => return Err("it is a folder".to_owned()),
        There::Special(what) => return Err(format!("it is {what}")),
        There::File => {}
    }
    // Non-blocking: what was a file may be a pipe by now, and opening one waits for its other end.
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let handle = match rustix::fs::openat(&place.folder, &place.name, flags, Mode::empty()) {
        Ok(handle) => handle,
        Err(Errno::NOENT) => return Ok(OnDisk::Nothing),
        Err(Errno::LOOP) => return Err("it was swapped for a link while it was read".to_owned()),
        Err(error) => return Err(PlaceRefusal::from(error).to_string()),
    };
    let stat = rustix::fs::fstat(&handle).map_err(|error| PlaceRefusal::from(error).to_string())?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("it is no regular file".to_owned());
    }
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if size > MAX_TEXT_BYTES {
        return Ok(OnDisk::TooBig { size });
    }
    let mut file = File::from(handle);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // A file can grow while it is read.
    match (&mut file).take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes) {
        Ok(read) if read as u64 > MAX_TEXT_BYTES => Ok(OnDisk::TooBig { size: read as u64 }),
        Ok(_) => Ok(OnDisk::Bytes {
            bytes,
            file,
            stat: Box::new(stat),
        }),
        Err(error) => Err(PlaceRefusal::from(error).to_string()),
    }
}
