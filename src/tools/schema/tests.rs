use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::kernel::path::RelPath;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

#[test]
fn every_tool_is_offered_in_full() {
    let specs = specs();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
    assert_eq!(
        names,
        [
            "read",
            "write",
            "edit",
            "multi_edit",
            "delete",
            "move",
            "list",
            "search",
            "command",
            "ask",
            "plan",
            "glob",
            "check",
            "diagnostics",
            "finish",
            "propose_plan"
        ]
    );
    for spec in &specs {
        let text = spec.schema.to_string();
        assert!(!spec.description.is_empty(), "{}", spec.name);
        assert_eq!(spec.schema["type"], "object", "{}", spec.name);
        for banned in ["$ref", "$defs", "$schema", "definitions"] {
            assert!(!text.contains(banned), "{} has {banned}: {text}", spec.name);
        }
        closed(&spec.schema, spec.name);
    }
}

/// Every object of a schema, however deep, takes no further properties.
fn closed(schema: &Value, place: &str) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") {
                assert_eq!(fields["additionalProperties"], false, "{place}");
            }
            for (name, inner) in fields {
                closed(inner, &format!("{place}/{name}"));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| closed(item, place)),
        _ => {}
    }
}

#[test]
fn a_nested_schema_is_inlined() {
    let specs = specs();
    let edit = specs.iter().find(|spec| spec.name == "edit").unwrap();
    assert_eq!(
        edit.description,
        "Change parts of an existing file, by `edits` or by `patch`. All changes are made, or none."
    );
    assert_eq!(
        edit.schema,
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["path"],
            "properties": {
                "path": {"type": "string", "description": "Path relative to the workspace root."},
                "edits": {
                    "type": "array",
                    "default": [],
                    "description": "The replacements, each of text as it is in the file now.",
                    "items": {
                        "type": "object",
                        "description": "One replacement of an edit.",
                        "additionalProperties": false,
                        "required": ["old", "new"],
                        "properties": {
                            "old": {"type": "string", "description": "Text to find: whole lines with enough around them to occur exactly once."},
                            "new": {"type": "string", "description": "Text to put there."}
                        }
                    }
                },
                "patch": {
                    "type": ["string", "null"],
                    "default": null,
                    "description": "Instead of `edits`: a unified diff of this file. Its line numbers are not looked at."
                }
            }
        })
    );
}

#[test]
fn calls_that_fit_are_read() {
    let read = ToolUse::Read(ReadFile {
        path: path("src/é.rs"),
        from_line: Some(3),
        lines: None,
    });
    let list = ToolUse::List(ListFiles {
        path: None,
        glob: None,
    });
    let cases = [
        ("read", r#"{"path": "./src/é.rs", "from_line": 3}"#, &read),
        // Quoted twice.
        (
            "read",
            r#""{\"path\": \"src/é.rs\", \"from_line\": 3}""#,
            &read,
        ),
        ("list", "{}", &list),
        ("list", "", &list),
        ("list", " \n", &list),
        ("list", r#"{"path": null}"#, &list),
    ];
    for (name, arguments, want) in cases {
        assert_eq!(parse(name, arguments).as_ref(), Ok(want), "{arguments}");
    }
}

#[test]
fn calls_that_do_not_fit_are_explained() {
    let cases = [
        (
            "read_file",
            "{}",
            "there is no tool `read_file`; did you mean `read`? the tools are `read`, `write`, `edit`, `multi_edit`, `delete`, `move`, `list`, `search`, `command`, `ask`, `plan`, `glob`, `check`, `diagnostics`, `finish`, `propose_plan`",
        ),
        (
            "Serach",
            "{}",
            "there is no tool `Serach`; did you mean `search`? the tools are `read`, `write`, `edit`, `multi_edit`, `delete`, `move`, `list`, `search`, `command`, `ask`, `plan`, `glob`, `check`, `diagnostics`, `finish`, `propose_plan`",
        ),
        (
            "",
            "{}",
            "there is no tool ``; the tools are `read`, `write`, `edit`, `multi_edit`, `delete`, `move`, `list`, `search`, `command`, `ask`, `plan`, `glob`, `check`, `diagnostics`, `finish`, `propose_plan`",
        ),
        (
            "read",
            r#"{"path": "a"#,
            "the arguments of `read` are not valid JSON: EOF while parsing a string at line 1 column 11",
        ),
        (
            "read",
            "{}",
            "the arguments of `read` do not fit: missing field `path`; it takes `path` and optionally `from_line`, `lines`",
        ),
        (
            "read",
            r#"{"path": "a", "line": 1}"#,
            "the arguments of `read` do not fit: `line`: unknown field `line`, expected one of `path`, `from_line`, `lines`; it takes `path` and optionally `from_line`, `lines`",
        ),
        (
            "read",
            r#"{"path": "../b"}"#,
            "the arguments of `read` do not fit: `path`: `../b` is outside the workspace; give a path relative to the workspace root; it takes `path` and optionally `from_line`, `lines`",
        ),
        (
            "edit",
            r#"{"path": "a", "edits": [{"old": "x", "new": "y"}, {"old": 5, "new": "z"}]}"#,
            "the arguments of `edit` do not fit: `edits[1].old`: invalid type: integer `5`, expected a string; it takes `path` and optionally `edits`, `patch`",
        ),
        (
            "read",
            "[1]",
            "the arguments of `read` are an array; give a JSON object with `path` and optionally `from_line`, `lines`",
        ),
        (
            "read",
            r#""src/a.rs""#,
            "the arguments of `read` are a string, and not of valid JSON: expected value at line 1 column 1; give a JSON object",
        ),
    ];
    for (name, arguments, want) in cases {
        assert_eq!(parse(name, arguments).unwrap_err(), want);
    }
}

proptest! {
    #[test]
    fn garbage_is_refused_or_read_and_never_panics(name in ".{0,80}", arguments in ".{0,200}") {
        let _ = parse(&name, &arguments);
        for spec in specs() {
            let _ = parse(spec.name, &arguments);
        }
    }

    #[test]
    fn cut_arguments_are_refused(cut in 0_usize..62) {
        let whole = r#"{"path": "src/é.rs", "edits": [{"old": "漢", "new": "😀"}]}"#;
        prop_assume!(cut > 0 && cut < whole.len() && whole.is_char_boundary(cut));
        prop_assert!(parse("edit", &whole[..cut]).is_err());
    }

    #[test]
    fn what_is_written_is_read_back(content in any::<String>(), line in any::<u32>()) {
        let call = ToolUse::Write(WriteFile { path: path("a b/漢.rs"), content: content.clone() });
        let arguments = json!({"path": "a b/漢.rs", "content": content}).to_string();
        prop_assert_eq!(parse("write", &arguments), Ok(call));
        let arguments = json!({"path": "x", "from_line": line}).to_string();
        prop_assert!(parse("read", &arguments).is_ok());
    }
}
