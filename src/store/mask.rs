//! Masks secrets in text that goes to disk: values known to be secret, and keys of the shapes that providers give them.
//!
//! Works on text as it is before JSON escapes it, so that a secret beside a line break or a quote is found too.

mod known;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use thiserror::Error;

use self::known::{SHAPES, from_env_file, is_env_file, is_secret_variable};

/// What stands in the place of a secret value of the environment or of a `.env` file.
const VALUE_MASK: &str = "[masked]";

/// Secrets could not be prepared to be found. Completes "failed to ".
#[derive(Debug, Error)]
#[error("prepare the masking of secrets: {0}")]
pub struct MaskError(String);

/// Knows the secrets of one workspace.
#[derive(Debug)]
pub struct Mask {
    values: AhoCorasick,
    shapes: Regex,
}

impl Mask {
    /// Masks the values of secret-looking variables among `environment`, what `env_files` (texts of `.env` files) define, and
    /// the keys of known shapes.
    ///
    /// # Errors
    /// When there are too many or too long values to search for them at once.
    pub fn new<'a>(
        environment: impl IntoIterator<Item = (&'a str, &'a str)>,
        env_files: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, MaskError> {
        let variables = environment
            .into_iter()
            .filter(|(name, value)| is_secret_variable(name, value))
            .map(|(_, value)| value.to_owned());
        let mut values: Vec<String> = variables
            .chain(env_files.into_iter().flat_map(from_env_file))
            .collect();
        // A text that holds JSON, such as a tool's arguments, has the value in its escaped form.
        let escaped: Vec<String> = values
            .iter()
            .filter_map(|value| serde_json::to_string(value).ok())
            .filter_map(|quoted| {
                let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
                Some(inner.to_owned())
            })
            .collect();
        values.extend(escaped);
        values.sort_unstable();
        values.dedup();
        let values = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&values)
            .map_err(|error| MaskError(error.to_string()))?;
        let shapes = SHAPES.map(|(_, shape)| format!("({shape})")).join("|");
        let shapes = Regex::new(&shapes).map_err(|error| MaskError(error.to_string()))?;
        Ok(Self { values, shapes })
    }

    /// Masks what this process's environment and the `.env` files directly in `root` hold. A file that cannot be read holds
    /// nothing that a run could have read.
    ///
    /// # Errors
    /// As [`Mask::new`].
    pub fn of_workspace(root: &Path) -> Result<Self, MaskError> {
        let text = |value: OsString| value.into_string().ok();
        let environment: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((text(name)?, text(value)?)))
            .collect();
        let env_files: Vec<String> = std::fs::read_dir(root)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_str().is_some_and(is_env_file))
            .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
            .collect();
        Self::new(
            environment
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
            env_files.iter().map(String::as_str),
        )
    }

    /// `text` with its secrets masked.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = self.mask_values(text);
        match self.mask_shapes(&text) {
            Some(masked) => Cow::Owned(masked),
            None => text,
        }
    }

    fn mask_values<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.values.is_match(text) {
            return Cow::Borrowed(text);
        }
        let mut masked = String::with_capacity(text.len());
        self.values
            .replace_all_with(text, &mut masked, |_, _, masked| {
                masked.push_str(VALUE_MASK);
                true
            });
        Cow::Owned(masked)
    }

    fn mask_shapes(&self, text: &str) -> Option<String> {
        let mut masked = String::new();
        let mut copied = 0;
        let mut from = 0;
        while let Some(found) = self.shapes.captures_at(text, from) {
            let whole = found.get(0)?;
            from = whole.end();
            let kind = SHAPES
                .iter()
                .zip(found.iter().skip(1))
                .find(|(_, group)| group.is_some());
            let (Some(((kind, _), _)), true) = (kind, begins_word(text, whole.start())) else {
                // A key may begin inside what only looked like one.
                from = next_char(text, whole.start());
                continue;
            };
            masked.push_str(text.get(copied..whole.start())?);
            masked.push_str("[masked ");
            masked.push_str(kind);
            masked.push(']');
            copied = whole.end();
        }
        if copied == 0 {
            return None;
        }
        masked.push_str(text.get(copied..)?);
        Some(masked)
    }

    /// Appends `record` as one line of JSON without its line end; the secrets in its strings are masked, its keys are not
    /// touched.
    ///
    /// # Errors
    /// When the record cannot be written as JSON; `line` is then as it was.
    pub fn write_json<T: Serialize>(
        &self,
        record: &T,
        line: &mut Vec<u8>,
    ) -> Result<(), serde_json::Error> {
        let before = line.len();
        let formatter = Masking {
            mask: self,
            text: String::new(),
            in_key: false,
        };
        let written = record.serialize(&mut serde_json::Serializer::with_formatter(
            &mut *line, formatter,
        ));
        if written.is_err() {
            line.truncate(before);
        }
        written
    }
}

/// Whether a key that begins at `start` is a word of its own: after a letter it is none, except after the letter of an
/// escape such as `\n` in a text that holds JSON.
fn begins_word(text: &str, start: usize) -> bool {
    let mut before = text.get(..start).unwrap_or_default().chars().rev();
    match (before.next(), before.next()) {
        (Some(letter), Some('\\')) if "nrtbf".contains(letter) => true,
        (Some(letter), _) => !letter.is_alphanumeric() && letter != '_',
        (None, _) => true,
    }
}

fn next_char(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.chars().next().map_or(1, char::len_utf8)
}

/// Collects each string as it is before escaping, masks it, and only then writes it.
struct Masking<'m> {
    mask: &'m Mask,
    text: String,
    in_key: bool,
}

impl Formatter for Masking<'_> {
    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.in_key = true;
        CompactFormatter.begin_object_key(writer, first)
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.in_key = false;
        CompactFormatter.end_object_key(writer)
    }

    fn begin_string<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.in_key {
            return CompactFormatter.begin_string(writer);
        }
        self.text.clear();
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.in_key {
            return CompactFormatter.write_string_fragment(writer, fragment);
        }
        self.text.push_str(fragment);
        Ok(())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        if self.in_key {
            return CompactFormatter.write_char_escape(writer, escape);
        }
        self.text.push(match escape {
            CharEscape::Quote => '"',
            CharEscape::ReverseSolidus => '\\',
            CharEscape::Solidus => '/',
            CharEscape::Backspace => '\u{8}',
            CharEscape::FormFeed => '\u{c}',
            CharEscape::LineFeed => '\n',
            CharEscape::CarriageReturn => '\r',
            CharEscape::Tab => '\t',
            CharEscape::AsciiControl(byte) => char::from(byte),
        });
        Ok(())
    }

    fn end_string<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.in_key {
            return CompactFormatter.end_string(writer);
        }
        serde_json::to_writer(&mut *writer, &self.mask.apply(&self.text)).map_err(io::Error::from)
    }

    fn write_raw_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // Ready-made JSON: read it, so that the strings in it come through here too.
        let value: serde_json::Value = serde_json::from_str(fragment)?;
        let mut line = Vec::new();
        self.mask.write_json(&value, &mut line)?;
        writer.write_all(&line)
    }
}

#[cfg(test)]
mod tests;
