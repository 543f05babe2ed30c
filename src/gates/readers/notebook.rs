//! Jupyter notebooks: a place inside a cell.

use serde::Deserialize;

use crate::gates::columns::Columns;
use crate::gates::locate::Named;
use crate::gates::place::{Span, place as place_in};
use crate::gates::text::SourceText;
use crate::kernel::finding::Place;

#[derive(Deserialize)]
struct Notebook {
    #[serde(default)]
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(default)]
    source: Source,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Source {
    Text(String),
    Lines(Vec<String>),
}

impl Default for Source {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// The place of `span` in a 0-based cell, counted over all cells; the range is relative to the cell. A notebook that is
/// not understood gives its first character.
pub fn place(named: &Named, cell: u32, columns: &Columns, span: Span) -> Option<Place> {
    let whole = place_in(named, columns, Span::File);
    let Some(source) = cell_text(named, cell) else {
        return Some(whole);
    };
    let inner = Named {
        file: named.file.clone(),
        absolute: named.absolute.clone(),
        text: Some(SourceText::new(source.into_bytes())),
    };
    Some(Place {
        cell: Some(cell),
        hash: whole.hash,
        ..place_in(&inner, columns, span)
    })
}

fn cell_text(named: &Named, cell: u32) -> Option<String> {
    let text = named.text.as_ref()?;
    let notebook: Notebook = serde_json::from_slice(text.body()).ok()?;
    let cell = notebook.cells.into_iter().nth(cell as usize)?;
    Some(match cell.source {
        Source::Text(text) => text,
        Source::Lines(lines) => lines.concat(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::columns::Unit;
    use crate::kernel::finding::SourceFile;

    #[test]
    fn places_are_relative_to_the_cell() {
        let json =
            r##"{"cells": [{"source": ["# T\n"]}, {"source": ["a\n", "s = \"é😀\"; bad\n"]}]}"##;
        let named = Named {
            file: SourceFile::Outside("/x.ipynb".to_owned()),
            absolute: "/x.ipynb".to_owned(),
            text: Some(SourceText::new(json.as_bytes().to_vec())),
        };
        let columns = Columns::new(Unit::CodePoints);
        let found = place(&named, 1, &columns, Span::Start(2, 11)).unwrap();
        assert_eq!(found.cell, Some(1));
        assert_eq!(found.range.start.line, 1);
        assert_eq!((found.range.start.utf32, found.range.start.utf16), (10, 11));
        let gone = place(&named, 7, &columns, Span::Start(2, 11)).unwrap();
        assert_eq!((gone.cell, gone.range.start.line), (None, 0));
    }
}
