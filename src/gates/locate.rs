//! From the name a tool prints to a file: inside the workspace, outside it, or no file at all.
//!
//! Promises: a file is called a file of the workspace only when its name lies under a root by components and, where it
//! exists, its real path does so too. Each file is read once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::text::SourceText;
use crate::kernel::finding::SourceFile;
use crate::kernel::path::RelPath;

/// Larger files are not read: findings in them have the tool's own numbers and no text.
pub const MAX_SOURCE_BYTES: u64 = 64 * 1024 * 1024;

/// The files as they are now, or as they were when the tool ran. Paths are absolute, with `/` between names.
pub trait Sources {
    /// The bytes of a regular file of at most [`MAX_SOURCE_BYTES`].
    fn read(&self, path: &str) -> Option<Vec<u8>>;
    fn exists(&self, path: &str) -> bool;
    /// The path without symbolic links, when it exists.
    fn canonical(&self, path: &str) -> Option<String>;
    /// Files of the workspace, relative to its root; only asked when a name alone does not lead to a file.
    fn files(&self) -> Vec<String>;
}

/// Where a tool ran. All paths absolute, normalised, with `/` between names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Names of the workspace's folder: as it was opened, and its real path. Never empty in use.
    pub workspace: Vec<String>,
    /// The folder the tool was started in.
    pub cwd: String,
}

/// A file that a tool named.
#[derive(Debug)]
pub struct Named {
    pub file: SourceFile,
    pub absolute: String,
    /// `None`: it is gone, not readable, or too large.
    pub text: Option<SourceText>,
}

pub struct Locator<'a> {
    roots: &'a Roots,
    sources: &'a dyn Sources,
    by_name: RefCell<HashMap<String, Option<Rc<Named>>>>,
    by_path: RefCell<HashMap<String, Rc<Named>>>,
    files: RefCell<Option<Rc<Vec<String>>>>,
}

impl<'a> Locator<'a> {
    pub fn new(roots: &'a Roots, sources: &'a dyn Sources) -> Self {
        Self {
            roots,
            sources,
            by_name: RefCell::default(),
            by_path: RefCell::default(),
            files: RefCell::default(),
        }
    }

    pub fn roots(&self) -> &Roots {
        self.roots
    }

    /// What another locator over the same files is made from.
    pub fn parts(&self) -> (&'a Roots, &'a dyn Sources) {
        (self.roots, self.sources)
    }

    /// The file a tool calls `name`: an absolute path, a `file:` URI, or relative to where it ran.
    pub fn find(&self, name: &str) -> Option<Rc<Named>> {
        self.find_from(&[], name)
    }

    /// The same, with folders that are tried before the tool's own. Virtual names (`<stdin>`, `node:fs`) are no files.
    pub fn find_from(&self, bases: &[&str], name: &str) -> Option<Rc<Named>> {
        let key = format!("{}\0{name}", bases.join("\0"));
        if let Some(known) = self.by_name.borrow().get(&key) {
            return known.clone();
        }
        let found = self
            .absolute(bases, name)
            .and_then(|absolute| self.open(&absolute));
        self.by_name.borrow_mut().insert(key, found.clone());
        found
    }

    /// The only file of the workspace whose path ends with the components of `suffix`.
    pub fn find_by_suffix(&self, suffix: &str) -> Option<Rc<Named>> {
        let suffix = suffix.trim_start_matches(['.', '/']);
        if suffix.is_empty() {
            return None;
        }
        let files = self.files();
        let mut hits = files.iter().filter(|file| {
            file.strip_suffix(suffix)
                .is_some_and(|before| before.is_empty() || before.ends_with('/'))
        });
        let only = hits.next()?;
        if hits.next().is_some() {
            return None;
        }
        let root = self.roots.workspace.first()?;
        self.open(&join(root, only))
    }

    /// Files of the workspace, relative to its root.
    pub fn files(&self) -> Rc<Vec<String>> {
        let known = self.files.borrow().clone();
        known.unwrap_or_else(|| {
            let files = Rc::new(self.sources.files());
            *self.files.borrow_mut() = Some(Rc::clone(&files));
            files
        })
    }

    /// Whether a path that a tool printed lies in the workspace and in no folder of installed packages.
    pub fn is_own(&self, named: &Named) -> bool {
        const FOREIGN: [&str; 8] = [
            "node_modules",
            "site-packages",
            "dist-packages",
            ".venv",
            "venv",
            ".tox",
            "target",
            "vendor",
        ];
        named
            .file
            .workspace()
            .is_some_and(|path| !path.components().any(|part| FOREIGN.contains(&part)))
    }

    /// Whether a file that was named is no longer there.
    pub fn is_gone(&self, file: &SourceFile) -> bool {
        let SourceFile::Workspace(path) = file else {
            return false;
        };
        self.roots
            .workspace
            .iter()
            .all(|root| !self.sources.exists(&join(root, path.as_str())))
    }

    fn absolute(&self, bases: &[&str], name: &str) -> Option<String> {
        let name = clean(name)?;
        if let Some(absolute) = as_absolute(&name) {
            return normalise(&absolute);
        }
        let workspace = self.roots.workspace.first().map(String::as_str);
        let candidates: Vec<String> = bases
            .iter()
            .copied()
            .chain([self.roots.cwd.as_str()])
            .chain(workspace)
            .filter_map(|base| normalise(&join(base, &name)))
            .collect();
        if let Some(there) = candidates
            .iter()
            .find(|candidate| self.sources.exists(candidate))
        {
            return Some(there.clone());
        }
        if let Some(named) = self.find_by_suffix(&name) {
            return Some(named.absolute.clone());
        }
        candidates.into_iter().next()
    }

    fn open(&self, absolute: &str) -> Option<Rc<Named>> {
        if let Some(known) = self.by_path.borrow().get(absolute) {
            return Some(Rc::clone(known));
        }
        let named = Rc::new(Named {
            file: self.classify(absolute)?,
            absolute: absolute.to_owned(),
            text: self.sources.read(absolute).map(SourceText::new),
        });
        self.by_path
            .borrow_mut()
            .insert(absolute.to_owned(), Rc::clone(&named));
        Some(named)
    }

    fn classify(&self, absolute: &str) -> Option<SourceFile> {
        let inside = |path: &str| {
            self.roots
                .workspace
                .iter()
                .find_map(|root| strip_root(path, root).map(str::to_owned))
        };
        let Some(relative) = inside(absolute) else {
            return Some(SourceFile::Outside(absolute.to_owned()));
        };
        match self.sources.canonical(absolute) {
            // A link out of the workspace: the file that would be changed is elsewhere.
            Some(real) if inside(&real).is_none() => Some(SourceFile::Outside(real)),
            Some(_) | None => RelPath::parse(&relative).ok().map(SourceFile::Workspace),
        }
    }
}

/// `path` relative to `root`, when it lies under it by components.
fn strip_root<'p>(path: &'p str, root: &str) -> Option<&'p str> {
    let root = root.trim_end_matches('/');
    path.strip_prefix(root)?.strip_prefix('/')
}

/// `base` and `name` with one `/` between.
pub fn join(base: &str, name: &str) -> String {
    format!("{}/{name}", base.trim_end_matches('/'))
}

/// The folder of a path.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn clean(name: &str) -> Option<String> {
    let name = name.trim();
    if name.is_empty() || name.contains(['\0', '\n']) || name.starts_with('<') || name == "-" {
        return None;
    }
    for scheme in [
        "node:",
        "data:",
        "http:",
        "https:",
        "webpack:",
        "internal/",
        "native:",
    ] {
        if name.starts_with(scheme) {
            return None;
        }
    }
    let Some(rest) = name.strip_prefix("file:") else {
        return Some(name.to_owned());
    };
    // file:///x, file://localhost/x, file:/x, and what careless tools make of a relative path: file://x
    let rest = rest
        .strip_prefix("//localhost")
        .or_else(|| rest.strip_prefix("//"))
        .unwrap_or(rest);
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let path = percent_encoding::percent_decode_str(rest)
        .decode_utf8_lossy()
        .into_owned();
    if path.is_empty() || path.contains(['\0', '\n']) {
        return None;
    }
    // file:///C:/x
    match path.strip_prefix('/') {
        Some(after) if has_drive(after) => Some(after.to_owned()),
        Some(_) | None => Some(path),
    }
}

fn as_absolute(name: &str) -> Option<String> {
    let verbatim = name.strip_prefix(r"\\?\").unwrap_or(name);
    if has_drive(verbatim) {
        return Some(verbatim.replace('\\', "/"));
    }
    name.starts_with('/').then(|| name.to_owned())
}

/// `C:\` or `C:/`.
fn has_drive(name: &str) -> bool {
    let mut letters = name.chars();
    matches!(
        (letters.next(), letters.next(), letters.next()),
        (Some(drive), Some(':'), Some('/' | '\\')) if drive.is_ascii_alphabetic()
    )
}

/// An absolute path without `.`, `..` and empty components. `..` above the root stays there, as the kernel does it.
fn normalise(path: &str) -> Option<String> {
    let (drive, rest) = if has_drive(path) {
        path.split_at_checked(2)?
    } else {
        ("", path)
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    Some(format!("{drive}/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake(Vec<(&'static str, &'static str)>);

    impl Sources for Fake {
        fn read(&self, path: &str) -> Option<Vec<u8>> {
            self.exists(path).then(|| b"x".to_vec())
        }
        fn exists(&self, path: &str) -> bool {
            self.0.iter().any(|(known, _)| *known == path)
        }
        fn canonical(&self, path: &str) -> Option<String> {
            let (_, real) = self.0.iter().find(|(known, _)| *known == path)?;
            Some((*real).to_owned())
        }
        fn files(&self) -> Vec<String> {
            self.0
                .iter()
                .filter_map(|(known, _)| strip_root(known, "/w").map(str::to_owned))
                .collect()
        }
    }

    #[test]
    fn names_lead_to_files() {
        let sources = Fake(vec![
            ("/w/a.rs", "/w/a.rs"),
            ("/w/sub/b.rs", "/w/sub/b.rs"),
            ("/w/sub/é b.rs", "/w/sub/é b.rs"),
            ("/w/link.rs", "/etc/passwd"),
            ("/x/c.h", "/x/c.h"),
        ]);
        let roots = Roots {
            workspace: vec!["/w".to_owned(), "/real/w".to_owned()],
            cwd: "/w/sub".to_owned(),
        };
        let locator = Locator::new(&roots, &sources);
        let find = |name: &str| locator.find(name).map(|named| named.file.to_string());
        for (name, want) in [
            ("b.rs", Some("sub/b.rs")),
            ("./x/../b.rs", Some("sub/b.rs")),
            ("a.rs", Some("a.rs")), // relative to the workspace
            ("/w/a.rs", Some("a.rs")),
            ("/real/w/a.rs", Some("a.rs")),
            ("file:///w/sub/%C3%A9%20b.rs", Some("sub/é b.rs")),
            ("../../x/c.h", Some("/x/c.h")),
            ("/w2/a.rs", Some("/w2/a.rs")), // not under /w by components
            ("/w/../etc/passwd", Some("/etc/passwd")),
            ("../link.rs", Some("/etc/passwd")), // a link that leaves the workspace
            ("gone.rs", Some("sub/gone.rs")),
            ("/w/.git/config", None),
            ("<stdin>", None),
            ("node:internal/x", None),
            ("", None),
            ("a\0b", None),
            ("C:\\w\\a.rs", Some("C:/w/a.rs")),
        ] {
            assert_eq!(find(name).as_deref(), want, "{name}");
        }
        assert!(locator.find_by_suffix("b.rs").is_some());
        assert!(locator.find_by_suffix(".rs").is_none(), "not a component");
    }
}
