//! The search tool: ripgrep over the disk with the open documents laid over it.

use std::sync::Mutex;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use super::Workspace;
use super::look::{OnDisk, read_place};
use super::read::{failed, shortened};
use super::text::decode;
use super::walk::Scope;
use crate::kernel::file::Overlay;
use crate::kernel::path::RelPath;
use crate::kernel::tool::{SearchFiles, ToolOutput};

/// Lines shown in all and of one file.
const SHOWN: usize = 200;
const SHOWN_OF_FILE: usize = 50;
const LINE_CHARS: usize = 300;

impl Workspace {
    /// Shows the model the lines that match, with path and number.
    pub fn search(&self, args: &SearchFiles, overlay: &Overlay) -> ToolOutput {
        let matcher = RegexMatcherBuilder::new()
            .multi_line(true)
            .crlf(true)
            .line_terminator(Some(b'\n'))
            .build(&args.pattern);
        let matcher = match matcher {
            Ok(matcher) => matcher,
            Err(error) => {
                return failed(format!(
                    "the pattern `{}` cannot be read: {error}",
                    args.pattern
                ));
            }
        };
        let scope = Scope {
            under: args.path.as_ref(),
            glob: args.glob.as_deref(),
            at_most: None,
        };
        let files: Vec<RelPath> = match self.walk(&scope, overlay) {
            Ok(walked) => walked.files,
            Err(reason) => return failed(reason),
        };
        let mut found = self.search_files(&matcher, &files, overlay);
        found.sort_by(|a, b| a.path.cmp(&b.path));
        ToolOutput {
            text: render(&found, files.len()),
            is_error: false,
            seen: None,
        }
    }

    fn search_files(
        &self,
        matcher: &RegexMatcher,
        files: &[RelPath],
        overlay: &Overlay,
    ) -> Vec<Matches> {
        let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let share = files.len().div_ceil(threads).max(1);
        let found = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for part in files.chunks(share) {
                let found = &found;
                scope.spawn(move || {
                    let mine: Vec<Matches> = part
                        .iter()
                        .filter_map(|path| self.search_file(matcher, path, overlay))
                        .collect();
                    if let Ok(mut found) = found.lock() {
                        found.extend(mine);
                    }
                });
            }
        });
        found.into_inner().unwrap_or_default()
    }

    fn search_file(
        &self,
        matcher: &RegexMatcher,
        path: &RelPath,
        overlay: &Overlay,
    ) -> Option<Matches> {
        let text = match overlay.get(path) {
            Some(document) if document.dirty => String::from(&document.text).into_bytes(),
            open => match read_place(&self.place(path).ok()?).ok()? {
                OnDisk::Bytes { bytes, .. } => match bytes.as_slice() {
                    // Whatever is no UTF-8 is searched as what it says; the rest as it is, to find names in Latin-1 too.
                    [0xef | 0xff | 0xfe, ..] => match decode(&bytes) {
                        Ok((text, _)) => text.into_bytes(),
                        Err(_) => bytes,
                    },
                    _ => bytes,
                },
                OnDisk::Nothing => String::from(&open?.text).into_bytes(),
                OnDisk::TooBig { .. } => return None,
            },
        };
        let mut matches = Matches {
            path: path.clone(),
            lines: Vec::new(),
            count: 0,
        };
        SearcherBuilder::new()
            .line_number(true)
            .bom_sniffing(false)
            .binary_detection(BinaryDetection::quit(0))
            .build()
            .search_slice(matcher, &text, &mut matches)
            .ok()?;
        (matches.count > 0).then_some(matches)
    }
}

struct Matches {
    path: RelPath,
    /// 1-based numbers and texts of the first lines.
    lines: Vec<(u64, String)>,
    count: usize,
}

impl Sink for Matches {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.count += 1;
        if self.lines.len() < SHOWN_OF_FILE {
            let line = String::from_utf8_lossy(found.bytes());
            let line = line.trim_end_matches(['\n', '\r']);
            self.lines.push((
                found.line_number().unwrap_or_default(),
                shortened(line, LINE_CHARS).into_owned(),
            ));
        }
        Ok(true)
    }
}

fn render(found: &[Matches], searched: usize) -> String {
    let total: usize = found.iter().map(|matches| matches.count).sum();
    if total == 0 {
        return format!("(no line matches in {searched} files)\n");
    }
    let mut text = String::new();
    let mut shown = 0;
    for matches in found {
        for (number, line) in matches.lines.iter().take(SHOWN - shown) {
            text.push_str(&format!("{}:{number}: {line}\n", matches.path));
            shown += 1;
        }
    }
    if shown < total {
        text.push_str(&format!(
            "({shown} of {total} lines in {} files are shown; narrow the pattern, the path or the glob)\n",
            found.len()
        ));
    }
    text
}
