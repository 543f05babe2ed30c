//! Names of files that look like one that is not there.

use super::Workspace;
use super::walk::Scope;
use crate::kernel::file::Overlay;
use crate::kernel::path::RelPath;

/// Files looked at; a hint is not worth a walk over a monorepo.
const LOOKED_AT: usize = 5_000;
const SHOWN: usize = 5;
/// Share of letters in common, in order, from which on a name is like another.
const ALIKE: f32 = 0.6;

impl Workspace {
    /// Files that `path` may have meant: same name elsewhere, other case, a slip of the pen.
    pub(super) fn nearest(&self, path: &RelPath, overlay: &Overlay) -> Vec<RelPath> {
        let scope = Scope {
            at_most: Some(LOOKED_AT),
            ..Scope::default()
        };
        let Ok(walked) = self.walk(&scope, overlay) else {
            return Vec::new();
        };
        rank(path, walked.files)
    }
}

fn rank(path: &RelPath, files: impl IntoIterator<Item = RelPath>) -> Vec<RelPath> {
    let (whole, name) = (path.as_str().to_lowercase(), path.name().to_lowercase());
    let mut scored: Vec<(f32, RelPath)> = files
        .into_iter()
        .filter_map(|file| {
            let other = file.name().to_lowercase();
            let score = if file.as_str().to_lowercase() == whole {
                3.0
            } else if other == name {
                2.0 + ratio(&whole, &file.as_str().to_lowercase())
            } else {
                ratio(&name, &other)
            };
            (score >= ALIKE).then_some((score, file))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.truncate(SHOWN);
    scored.into_iter().map(|(_, file)| file).collect()
}

fn ratio(a: &str, b: &str) -> f32 {
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    // Most names differ too much in length to be worth a comparison.
    if short * 2 < long {
        return 0.0;
    }
    similar::TextDiff::from_chars(a, b).ratio()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_names_come_first() {
        let parse = |name: &str| RelPath::parse(name).unwrap();
        let files = [
            "src/config.rs",
            "src/lib.rs",
            "Config.rs",
            "src/configs.rs",
            "docs/zebra.md",
        ];
        let found = rank(&parse("config.rs"), files.map(parse));
        let names: Vec<&str> = found.iter().map(RelPath::as_str).collect();
        assert_eq!(names, ["Config.rs", "src/config.rs", "src/configs.rs"]);
    }
}
