//! Where a path leads: a handle on its folder, its name there, and what stands there.
//!
//! Why not the system's own `RESOLVE_BENEATH`, nor a library around it: links are fine as long as they stay inside, also
//! absolute ones, and we must know the real names on the way to refuse `.git` and our state folder.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use thiserror::Error;

use super::Workspace;
use crate::kernel::path::RelPath;

/// Links followed on one path before it is taken for a loop; the system's own limit.
const MAX_LINKS: usize = 40;

/// Why a path leads to no file of ours. Says what is the matter; the caller says on which path.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlaceRefusal {
    #[error("the link `{link}` leads out of the workspace, to `{target}`")]
    LinkOut { link: String, target: String },
    #[error("it leads into .git, which only git may touch")]
    GitFolder,
    #[error("it leads into a folder that belongs to the sidecar or to git")]
    Forbidden,
    #[error("`{0}` on the way to it is no folder")]
    NotAFolder(String),
    #[error("too many links on the way to it; they may lead in a circle")]
    TooManyLinks,
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for PlaceRefusal {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

/// A folder whatever its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    pub inode: u64,
}

impl Identity {
    pub fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }
}

/// Where a path leads to.
pub(super) struct Place {
    /// The folder, or the deepest one that is there.
    pub folder: OwnedFd,
    /// Folders to make under `folder` before `name` can be.
    pub missing: Vec<OsString>,
    pub name: OsString,
    /// The path without links; `None` where it is not text.
    pub real: Option<RelPath>,
    pub there: There,
}

pub(super) enum There {
    Nothing,
    File,
    Folder,
    /// What it is, with its article.
    Special(&'static str),
}

pub(super) fn identity(folder: &Path) -> Option<Identity> {
    let stat = rustix::fs::stat(folder).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::Directory).then(|| Identity::of(&stat))
}

/// A handle for looking up names, which needs no permission to list them where the system knows such handles.
pub(super) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, folder_flags(), Mode::empty())?)
}

fn folder_flags() -> OFlags {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        flags | OFlags::PATH
    }
    #[cfg(not(target_os = "linux"))]
    {
        flags | OFlags::RDONLY
    }
}

impl Workspace {
    /// Follows `path` from the root.
    pub(super) fn place(&self, path: &RelPath) -> Result<Place, PlaceRefusal> {
        let mut walk = Walk {
            workspace: self,
            opened: Vec::new(),
            links: 0,
        };
        let components = path.components().map(OsString::from).collect();
        walk.follow(components)
    }
}

struct Walk<'a> {
    workspace: &'a Workspace,
    /// Folders entered under the root, with their names.
    opened: Vec<(OsString, OwnedFd)>,
    links: usize,
}

impl Walk<'_> {
    fn here(&self) -> BorrowedFd<'_> {
        match self.opened.last() {
            Some((_, folder)) => folder.as_fd(),
            None => self.workspace.folder.as_fd(),
        }
    }

    fn follow(&mut self, mut rest: VecDeque<OsString>) -> Result<Place, PlaceRefusal> {
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                // Only links hold these. Leaving the root was refused when the link was read.
                self.opened.pop();
                continue;
            }
            if name.as_bytes().eq_ignore_ascii_case(b".git") {
                return Err(PlaceRefusal::GitFolder);
            }
            let stat = match rustix::fs::statat(self.here(), &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return self.nothing(name, rest),
                Err(error) => return Err(error.into()),
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => self.read_link(&name, &mut rest)?,
                FileType::Directory if rest.is_empty() => {
                    if self.workspace.forbidden.contains(&Identity::of(&stat)) {
                        return Err(PlaceRefusal::Forbidden);
                    }
                    return self.found(name, There::Folder);
                }
                FileType::Directory => self.enter(name)?,
                kind if rest.is_empty() => {
                    let there = match kind {
                        FileType::RegularFile => There::File,
                        FileType::Fifo => There::Special("a named pipe"),
                        FileType::Socket => There::Special("a socket"),
                        FileType::CharacterDevice | FileType::BlockDevice => {
                            There::Special("a device")
                        }
                        FileType::Symlink | FileType::Directory | FileType::Unknown => {
                            There::Special("a special file")
                        }
                    };
                    return self.found(name, there);
                }
                _ => return Err(PlaceRefusal::NotAFolder(lossy(&name))),
            }
        }
        // A link to the root itself.
        Ok(Place {
            folder: self.workspace.folder.try_clone()?,
            missing: Vec::new(),
            name: OsString::from("."),
            real: None,
            there: There::Folder,
        })
    }

    fn enter(&mut self, name: OsString) -> Result<(), PlaceRefusal> {
        let folder = match rustix::fs::openat(self.here(), &name, folder_flags(), Mode::empty()) {
            Ok(folder) => folder,
            // It was a folder a moment ago.
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(PlaceRefusal::NotAFolder(lossy(&name)));
            }
            Err(error) => return Err(error.into()),
        };
        if !self.workspace.forbidden.is_empty() {
            let identity = Identity::of(&rustix::fs::fstat(&folder)?);
            if self.workspace.forbidden.contains(&identity) {
                return Err(PlaceRefusal::Forbidden);
            }
        }
        self.opened.push((name, folder));
        Ok(())
    }

    /// Puts what a link says in front of the rest.
    fn read_link(
        &mut self,
        name: &OsStr,
        rest: &mut VecDeque<OsString>,
    ) -> Result<(), PlaceRefusal> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(PlaceRefusal::TooManyLinks);
        }
        let target = rustix::fs::readlinkat(self.here(), name, Vec::new())?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        let leads_out = || PlaceRefusal::LinkOut {
            link: lossy(name),
            target: target.to_string_lossy().into_owned(),
        };
        let relative = if target.is_absolute() {
            let inside = target
                .strip_prefix(&self.workspace.root)
                .or_else(|_| target.strip_prefix(&self.workspace.given))
                .map_err(|_| leads_out())?;
            self.opened.clear();
            inside
        } else {
            &target
        };
        // How deep below the root each part of the way is; links on it are looked at when they are reached.
        let mut depth = self.opened.len();
        let mut parts = Vec::new();
        for part in relative.components() {
            match part {
                Component::Normal(name) => {
                    depth += 1;
                    parts.push(name.to_owned());
                }
                Component::ParentDir => {
                    depth = depth.checked_sub(1).ok_or_else(leads_out)?;
                    parts.push(OsString::from(".."));
                }
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(leads_out()),
            }
        }
        for part in parts.into_iter().rev() {
            rest.push_front(part);
        }
        Ok(())
    }

    fn nothing(&self, name: OsString, rest: VecDeque<OsString>) -> Result<Place, PlaceRefusal> {
        let mut names: Vec<OsString> = std::iter::once(name).chain(rest).collect();
        let odd = |name: &OsString| name == ".." || name.as_bytes().eq_ignore_ascii_case(b".git");
        if names.iter().any(odd) {
            return Err(PlaceRefusal::NotAFolder(lossy(
                names.first().map_or(OsStr::new(""), OsString::as_os_str),
            )));
        }
        let real = self.real(&names);
        let name = names.pop().unwrap_or_default();
        Ok(Place {
            folder: self.here().try_clone_to_owned()?,
            missing: names,
            name,
            real,
            there: There::Nothing,
        })
    }

    fn found(&self, name: OsString, there: There) -> Result<Place, PlaceRefusal> {
        Ok(Place {
            folder: self.here().try_clone_to_owned()?,
            missing: Vec::new(),
            real: self.real(std::slice::from_ref(&name)),
            name,
            there,
        })
    }

    fn real(&self, names: &[OsString]) -> Option<RelPath> {
        let parts: Option<Vec<&str>> = self
            .opened
            .iter()
            .map(|(name, _)| name)
            .chain(names)
            .map(|name| name.to_str())
            .collect();
        RelPath::parse(&parts?.join("/")).ok()
    }
}

fn lossy(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}
