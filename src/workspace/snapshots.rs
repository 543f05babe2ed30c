//! Contents of files as they were, found by their hash: compressed, each kept once.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::fault::point;
use crate::kernel::hash::ContentHash;

/// Quick rather than small: a write waits for it.
const LEVEL: i32 = 1;

/// A folder of snapshots, `<first two digits>/<rest>.zst`. Several processes may use it at once.
#[derive(Debug)]
pub(super) struct Snapshots {
    folder: PathBuf,
}

impl Snapshots {
    pub fn open(folder: PathBuf) -> io::Result<Self> {
        make_private(&folder)?;
        Ok(Self { folder })
    }

    /// Keeps the bytes, and gives back their name. They are on the disk for good when this returns.
    pub fn keep(&self, bytes: &[u8]) -> io::Result<ContentHash> {
        let hash = ContentHash::of(bytes);
        let path = self.path(&hash)?;
        if path.exists() {
            return Ok(hash);
        }
        let folder = path.parent().unwrap_or(&self.folder);
        let made = !folder.exists();
        make_private(folder)?;
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.write_all(&zstd::bulk::compress(bytes, LEVEL)?)?;
        point("snapshot written");
        temporary.as_file().sync_all()?;
        point("snapshot synced");
        // Whoever was quicker kept the same bytes.
        temporary.persist(&path)?;
        point("snapshot named");
        File::open(folder)?.sync_all()?;
        if made {
            File::open(&self.folder)?.sync_all()?;
        }
        Ok(hash)
    }

    /// The bytes of that name.
    ///
    /// # Errors
    /// They were never kept, or the file is damaged: what is given back is what the hash says, or nothing.
    pub fn get(&self, hash: &ContentHash) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        zstd::stream::Decoder::new(File::open(self.path(hash)?)?)?.read_to_end(&mut bytes)?;
        if ContentHash::of(&bytes) != *hash {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the snapshot {} is damaged", hash.short()),
            ));
        }
        Ok(bytes)
    }

    /// A hash comes from a file that anybody may have written: it must not lead elsewhere.
    fn path(&self, hash: &ContentHash) -> io::Result<PathBuf> {
        let hex = hash.0.len() == 64 && hash.0.bytes().all(|byte| byte.is_ascii_hexdigit());
        match (hex, hash.0.get(..2), hash.0.get(2..)) {
            (true, Some(start), Some(rest)) => {
                Ok(self.folder.join(start).join(format!("{rest}.zst")))
            }
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{hash}` is no content hash"),
            )),
        }
    }
}

/// Makes a folder that is the user's alone.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_once_and_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::open(folder.path().join("a/b")).unwrap();
        let texts: [&[u8]; 3] = [b"", b"\xff\0binary", &b"long ".repeat(100_000)];
        for bytes in texts {
            let hash = snapshots.keep(bytes).unwrap();
            assert_eq!(snapshots.keep(bytes).unwrap(), hash);
            assert_eq!(snapshots.get(&hash).unwrap(), bytes);
        }
        let files = fs::read_dir(folder.path().join("a/b")).unwrap().count();
        assert_eq!(files, 3);
    }

    #[test]
    fn damage_and_foreign_names_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::open(folder.path().to_owned()).unwrap();
        let hash = snapshots.keep(b"text").unwrap();
        fs::write(
            snapshots.path(&hash).unwrap(),
            zstd::bulk::compress(b"other", 1).unwrap(),
        )
        .unwrap();
        assert!(
            snapshots
                .get(&hash)
                .unwrap_err()
                .to_string()
                .contains("damaged")
        );
        fs::write(snapshots.path(&hash).unwrap(), "no zstd").unwrap();
        assert!(snapshots.get(&hash).is_err());
        assert!(
            snapshots
                .get(&ContentHash("../../etc/passwd".into()))
                .is_err()
        );
        assert!(snapshots.get(&ContentHash::of(b"never kept")).is_err());
    }
}
