//! Paths as editors name them: `file` URIs, to and from absolute paths and paths of a workspace.
//!
//! Names are bytes: percent-encoding is undone and made, but nothing is folded, neither case nor Unicode composition.
//! A document keeps the URI that its client gave it; what is made here is only for files that no client has named yet.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use thiserror::Error;

use super::Workspace;
use crate::kernel::path::{PathRefusal, RelPath};

/// What stays as it is in a path of a URI: unreserved characters and the separator.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Completes "failed to use the URI: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UriRefusal {
    #[error("`{0}` names no file: only the scheme `file` does")]
    NotAFile(String),
    #[error("`{0}` names a file of another machine")]
    OtherHost(String),
    #[error("`{0}` holds a path that is not absolute")]
    NotAbsolute(String),
    #[error("`{0}` is no text that a path can hold")]
    NotText(String),
    #[error("`{uri}` is not in the workspace {root}")]
    Outside { uri: String, root: String },
    #[error(transparent)]
    Path(#[from] PathRefusal),
}

/// The URI of an absolute path.
pub fn from_path(path: &Path) -> String {
    format!(
        "file://{}",
        percent_encode(path.as_os_str().as_bytes(), KEPT)
    )
}

/// The absolute path of a `file` URI; query and fragment are left out.
///
/// # Errors
/// Another scheme, another host, a path that is not absolute.
pub fn to_path(uri: &str) -> Result<PathBuf, UriRefusal> {
    let refused = |kind: fn(String) -> UriRefusal| kind(uri.to_owned());
    let rest = uri
        .get(..5)
        .filter(|scheme| scheme.eq_ignore_ascii_case("file:"))
        .and_then(|_| uri.get(5..))
        .ok_or_else(|| refused(UriRefusal::NotAFile))?;
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let at = rest
                .find('/')
                .ok_or_else(|| refused(UriRefusal::NotAbsolute))?;
            let (host, path) = rest.split_at(at);
            if !(host.is_empty() || host.eq_ignore_ascii_case("localhost")) {
                return Err(refused(UriRefusal::OtherHost));
            }
            path
        }
    };
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    if bytes.contains(&0) {
        return Err(refused(UriRefusal::NotText));
    }
    if bytes.first() != Some(&b'/') {
        return Err(refused(UriRefusal::NotAbsolute));
    }
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

impl Workspace {
    /// The absolute path of a file of this workspace. Links on the way are not resolved.
    pub fn absolute(&self, path: &RelPath) -> PathBuf {
        self.root().join(path.as_str())
    }

    /// The URI of a file that no client has named yet.
    pub fn uri(&self, path: &RelPath) -> String {
        from_path(&self.absolute(path))
    }

    /// The path in this workspace of an absolute path, by components: under the root as it was given, or as it really is.
    ///
    /// # Errors
    /// It is not under the root, it is the root, its name is no text, or it is in `.git`.
    pub fn relative(&self, path: &Path) -> Result<RelPath, UriRefusal> {
        let inside = path
            .strip_prefix(&self.root)
            .or_else(|_| path.strip_prefix(&self.given))
            .map_err(|_| UriRefusal::Outside {
                uri: path.to_string_lossy().into_owned(),
                root: self.root.to_string_lossy().into_owned(),
            })?;
        // `..` in an absolute path would be resolved by name here and by links there.
        if inside.components().any(|part| part == Component::ParentDir) {
            return Err(UriRefusal::Path(PathRefusal::Outside(
                path.to_string_lossy().into_owned(),
            )));
        }
        let text = inside
            .to_str()
            .ok_or_else(|| UriRefusal::NotText(path.to_string_lossy().into_owned()))?;
        Ok(RelPath::parse(text)?)
    }

    /// The path in this workspace that a URI names.
    ///
    /// # Errors
    /// As [`to_path`] and [`Workspace::relative`].
    pub fn relative_uri(&self, uri: &str) -> Result<RelPath, UriRefusal> {
        self.relative(&to_path(uri)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_byte_for_byte() {
        let composed = "caf\u{e9}";
        let decomposed = "cafe\u{301}";
        assert_ne!(
            from_path(Path::new(composed)),
            from_path(Path::new(decomposed))
        );
        for name in [
            "/a b/#%?&+.rs",
            "/漢/😀",
            "/-x~",
            "/C:/x",
            "/cafe\u{301}",
            "/caf\u{e9}",
            "/a\\b",
        ] {
            let uri = from_path(Path::new(name));
            assert!(uri.is_ascii(), "{uri}");
            assert_eq!(to_path(&uri), Ok(PathBuf::from(name)), "{uri}");
        }
        assert_eq!(from_path(Path::new("/a b#.rs")), "file:///a%20b%23.rs");
    }

    #[test]
    fn clients_spell_uris_in_many_ways() {
        let rows = [
            ("file:///a/b", "/a/b"),
            ("FILE:///a/b", "/a/b"),
            ("file:/a/b", "/a/b"),
            ("file://localhost/a", "/a"),
            ("file:///a%20b", "/a b"),
            ("file:///a b+c", "/a b+c"),
            ("file:///%e6%BC%a2", "/漢"),
            ("file:///a%2Fb", "/a/b"),
            ("file:///a#L3", "/a"),
            ("file:///100%", "/100%"),
        ];
        for (uri, want) in rows {
            assert_eq!(to_path(uri), Ok(PathBuf::from(want)), "{uri}");
        }
        for uri in [
            "untitled:Untitled-1",
            "http://a/b",
            "file://host/a",
            "file:a",
            "file://",
            "file:///a%00",
            "",
            "é",
        ] {
            assert!(to_path(uri).is_err(), "{uri}");
        }
    }

    #[test]
    fn paths_are_held_against_the_root_by_components() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("work space");
        let link = folder.path().join("link");
        std::fs::create_dir(&root).unwrap();
        std::os::unix::fs::symlink(&root, &link).unwrap();
        let workspace = Workspace::open(&link).unwrap();
        let relative = |path: PathBuf| {
            workspace
                .relative_uri(&from_path(&path))
                .map(|path| path.to_string())
        };
        assert_eq!(relative(root.join("a/é.rs")), Ok("a/é.rs".into()));
        assert_eq!(relative(link.join("a")), Ok("a".into()));
        for outside in [
            root.clone(),
            folder.path().join("work space2/a"),
            root.join("../secret"),
            root.join("a/../../secret"),
            root.join(".git/config"),
            PathBuf::from("/etc/passwd"),
        ] {
            assert!(relative(outside.clone()).is_err(), "{outside:?}");
        }
        let path = RelPath::parse("a b/c").unwrap();
        assert_eq!(workspace.relative_uri(&workspace.uri(&path)), Ok(path));
    }
}
