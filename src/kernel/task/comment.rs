//! What a comment asks for: `// TODO(ada): say which line`.

const MARKS: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];
/// What ends a comment in one line or another.
const ENDS: [&str; 6] = ["*/", "-->", "*)", "--}}", "%>", "#}"];

/// What the line asks for, without the marks around it; `None` for a line that asks for nothing.
pub fn wish_of(line: &str) -> Option<String> {
    let found = MARKS.iter().filter_map(|mark| {
        let at = whole_word(line, mark)?;
        Some((at, at + mark.len()))
    });
    let (_, after) = found.min()?;
    let mut rest = line.get(after..)?;
    if let Some(inside) = rest.strip_prefix('(') {
        rest = inside.split_once(')').map_or(inside, |(_, rest)| rest);
    }
    let mut rest = rest
        .trim_start_matches([':', '-', ' ', '\t', '!'])
        .trim_end();
    for end in ENDS {
        rest = rest.strip_suffix(end).unwrap_or(rest).trim_end();
    }
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// Where `word` stands by itself: `TODO:` and not `TODOS` or `AUTODOC`.
fn whole_word(line: &str, word: &str) -> Option<usize> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = line.get(..*at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_any_language_are_understood() {
        let rows = [
            ("    // TODO: say which line", Some("say which line")),
            ("# TODO(ada) größer machen", Some("größer machen")),
            ("x = 1  # FIXME - off by one", Some("off by one")),
            ("/* HACK: twice */", Some("twice")),
            ("<!-- TODO 漢字 -->", Some("漢字")),
            ("-- XXX why?", Some("why?")),
            ("// TODO!", None),
            ("// TODO:", None),
            ("let TODOS = 1;", None),
            ("AUTODOC", None),
            ("// nothing to do", None),
            ("// todo in small letters is prose", None),
            ("// FIXME a // TODO b", Some("a // TODO b")),
        ];
        for (line, want) in rows {
            assert_eq!(wish_of(line).as_deref(), want, "{line}");
        }
    }
}
