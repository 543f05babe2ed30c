use std::sync::LazyLock;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;

fn mask() -> &'static Mask {
    static MASK: LazyLock<Mask> = LazyLock::new(|| {
        let environment = [
            ("API_KEY", "s3cr3t-value"),
            ("LONG_TOKEN", "s3cr3t-value-and-more"),
            ("DB_PASSWORD", "quo\"te\nü1"),
            ("QUOTED_SECRET", "\"in quotes\""),
            ("EDITOR", "editor-value-1"),
        ];
        Mask::new(environment, ["IN_FILE=from-a-file-1"]).unwrap()
    });
    &MASK
}

/// Keys are put together here: no scanner shall take them for real ones.
fn key(prefix: &str, length: usize) -> String {
    format!("{prefix}{}", "Ab1".repeat(length).get(..length).unwrap())
}

#[test]
fn known_values_are_masked() {
    let mask = mask();
    let cases = [
        ("nothing here", "nothing here"),
        ("s3cr3t-value", "[masked]"),
        // The longer one, not its beginning.
        ("x s3cr3t-value-and-more y", "x [masked] y"),
        ("s3cr3t-values3cr3t-value", "[masked][masked]"),
        ("a quo\"te\nü1 b", "a [masked] b"),
        // As it stands in JSON inside the text.
        (r#"{"a": "quo\"te\nü1"}"#, r#"{"a": "[masked]"}"#),
        (r#"{"a": "\"in quotes\""}"#, r#"{"a": "[masked]"}"#),
        ("from-a-file-1", "[masked]"),
        ("editor-value-1", "editor-value-1"),
    ];
    for (text, want) in cases {
        assert_eq!(mask.apply(text), want, "{text:?}");
    }
}

#[test]
fn keys_are_masked_by_their_shape() {
    let mask = mask();
    let jwt = format!("{}.{}.{}", key("eyJ", 20), key("eyJ", 20), key("", 20));
    let pem = [
        "-----BEGIN RSA PRIVATE",
        " KEY-----\nAb1\n-----END RSA PRIVATE",
        " KEY-----",
    ]
    .concat();
    let cases = [
        (key("sk-ant-api03-", 40), "Anthropic key"),
        (key("sk-or-v1-", 40), "OpenRouter key"),
        (key("sk-proj-", 40), "API key"),
        (key("AIza", 35), "Google key"),
        (key("ghp_", 36), "GitHub token"),
        (key("github_pat_", 50), "GitHub token"),
        (key("glpat-", 20), "GitLab token"),
        (["AK", "IAABCDEFGHIJKLMNOP"].concat(), "AWS key id"),
        (key("xoxb-", 20), "Slack token"),
        (key("sk_live_", 24), "Stripe key"),
        (key("gsk_", 50), "Groq key"),
        (key("hf_", 34), "Hugging Face token"),
        (jwt, "JSON web token"),
        (key("Bearer ", 30), "bearer token"),
        (pem, "private key"),
    ];
    for (secret, kind) in cases {
        let masked = format!("[masked {kind}]");
        // Alone, in a sentence, after a line break, after an escaped line break, between quotes.
        for (before, after) in [
            ("", ""),
            ("a ", ", b"),
            ("é\n", "\n"),
            (r"x\n", r"\n"),
            ("=\"", "\""),
        ] {
            assert_eq!(
                mask.apply(&format!("{before}{secret}{after}")),
                format!("{before}{masked}{after}"),
                "{kind}"
            );
        }
        assert_eq!(
            mask.apply(&format!("{secret} {secret}")),
            format!("{masked} {masked}")
        );
    }
    assert_eq!(
        mask.apply("postgres://user:pass@host/db"),
        "[masked URL with password]host/db"
    );
}

#[test]
fn what_only_looks_like_a_key_stays() {
    let mask = mask();
    for text in [
        "task-abcdefghijklmnopqrstuvwxyz",
        "sk-short",
        "https://host:8080/a@b",
        "bearer of bad news",
        "risk-assessment-of-the-year",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "漢sk-abcdefghijklmnopqrstuvwxyz",
    ] {
        assert_eq!(mask.apply(text), text);
    }
    // What looked like one may have one inside.
    let inner = key("ghp_", 36);
    assert_eq!(
        mask.apply(&format!("task-{inner}")),
        "task-[masked GitHub token]"
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Sample {
    #[serde(rename = "s3cr3t-value")]
    key: String,
    text: Vec<String>,
    number: i64,
}

#[test]
fn json_keeps_its_form() {
    let sample = Sample {
        key: "s3cr3t-value".to_owned(),
        text: vec![
            "\u{1}\t\"\\/é😀\u{7f}".to_owned(),
            "a\"s3cr3t-value\n".to_owned(),
        ],
        number: -1,
    };
    let mut line = b"before".to_vec();
    mask().write_json(&sample, &mut line).unwrap();
    assert_eq!(
        String::from_utf8(line).unwrap(),
        "before{\"s3cr3t-value\":\"[masked]\",\"text\":[\"\\u0001\\t\\\"\\\\/é😀\u{7f}\",\"a\\\"[masked]\\n\"],\"number\":-1}"
    );
}

#[test]
fn ready_made_json_is_masked_too() {
    let raw = RawValue::from_string(r#"{"a": ["s3cr3t\u002dvalue", 1]}"#.to_owned()).unwrap();
    let mut line = Vec::new();
    mask().write_json(&raw, &mut line).unwrap();
    assert_eq!(String::from_utf8(line).unwrap(), r#"{"a":["[masked]",1]}"#);
}

#[test]
fn a_record_that_cannot_be_written_leaves_nothing() {
    let map = std::collections::BTreeMap::from([(vec![1], "a key that is no text")]);
    let mut line = b"before".to_vec();
    assert!(mask().write_json(&map, &mut line).is_err());
    assert_eq!(line, b"before");
}

#[test]
fn the_workspace_s_own_files_are_read() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join(".env.local"), "K=local-secret-1\n").unwrap();
    std::fs::write(root.path().join(".env.example"), "K=example-value-1\n").unwrap();
    let mask = Mask::of_workspace(root.path()).unwrap();
    assert_eq!(
        mask.apply("local-secret-1 example-value-1"),
        "[masked] example-value-1"
    );
    // A workspace that is not there has no such files.
    assert!(Mask::of_workspace(&root.path().join("gone")).is_ok());
}

proptest! {
    #[test]
    fn a_line_without_secrets_is_what_serde_writes(text in any::<String>(), keys in any::<Vec<String>>()) {
        let mask = mask();
        prop_assume!(mask.apply(&text) == text);
        let value: serde_json::Map<String, serde_json::Value> = keys
            .into_iter()
            .map(|key| (key, serde_json::Value::String(text.clone())))
            .collect();
        let mut line = Vec::new();
        mask.write_json(&value, &mut line).unwrap();
        prop_assert_eq!(String::from_utf8(line).unwrap(), serde_json::to_string(&value).unwrap());
    }

    #[test]
    fn no_secret_survives_in_any_surroundings(before in any::<String>(), after in any::<String>()) {
        let mask = mask();
        let mut line = Vec::new();
        mask.write_json(&format!("{before}s3cr3t-value{after}"), &mut line).unwrap();
        prop_assert!(!String::from_utf8(line).unwrap().contains("s3cr3t-value"));
    }

    #[test]
    fn masking_twice_is_masking_once(text in "(s3cr3t-value|sk-[a-zA-Z0-9]{25}|Bearer [a-z]{20}|.){0,8}") {
        let mask = mask();
        let once = mask.apply(&text).into_owned();
        prop_assert_eq!(mask.apply(&once).into_owned(), once);
    }
}
