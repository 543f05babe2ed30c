use std::path::Path;

use serde_json::{Value, json};

use super::keys::{Keys, Node};
use super::*;

fn sources(user: Option<&str>, workspace: Option<&str>) -> (tempfile::TempDir, Sources) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: Option<&str>| {
        let path = folder.path().join(name);
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
        }
        Some(path)
    };
    let sources = Sources {
        user_file: file("user.toml", user),
        workspace_file: file(WORKSPACE_FILE, workspace),
        ..Sources::default()
    };
    (folder, sources)
}

#[test]
fn each_layer_lies_over_the_one_before_it() {
    let user = "model = \"a/user\"\n[budget]\ntokens = 1\nactiveS = 1\niterations = 1\n";
    let workspace = "[budget]\ntokens = 2\nactiveS = 2\n";
    let (_folder, mut sources) = sources(Some(user), Some(workspace));
    sources.environment = vec![("OUTRIGGER_BUDGET_TOKENS".to_owned(), "3".to_owned())];
    let says = json!({"budget": {"tokens": 4}, "policy": {"merge": "ask"}});
    sources.set_editor(EditorSettings::Current(says));
    let loaded = sources.load(&json!({"budget": {"tokens": 5}}));
    assert_eq!(loaded.problems, []);
    let settings = &loaded.settings;
    assert_eq!(settings.model.as_deref(), Some("a/user"));
    assert_eq!(settings.budget.iterations, 1);
    assert_eq!(settings.budget.active_s, 2);
    assert_eq!(settings.budget.tokens, 5);
    assert_eq!(loaded.origin("budget.tokens"), Origin::Call);
    assert_eq!(loaded.origin("policy.merge"), Origin::Editor);
    assert_eq!(loaded.origin("policy.conflict"), Origin::Default);
    let file = |path: &Option<PathBuf>, line| Origin::File {
        path: path.clone().unwrap(),
        line,
    };
    assert_eq!(
        loaded.origin("budget.activeS"),
        file(&sources.workspace_file, 3)
    );
    assert_eq!(loaded.origin("model"), file(&sources.user_file, 1));
    let lower = sources.load(&Value::Null);
    assert_eq!(lower.settings.budget.tokens, 4);
    sources.set_editor(EditorSettings::Current(Value::Null));
    let lower = sources.load(&Value::Null);
    assert_eq!(lower.settings.budget.tokens, 3);
}

#[test]
fn a_mistake_costs_one_setting_and_is_told_with_its_line() {
    // What the file says, and what is told of it, by line.
    let rows: [(&str, &[(usize, &str)]); 7] = [
        (
            "\"é\" = 1\n[budgt]\ntokens = 7\n",
            &[(2, "did you mean `budget`")],
        ),
        (
            "[budget]\n# a note\ntokns = 7\n",
            &[(3, "no setting `budget.tokns`; did you mean `budget.tokens`")],
        ),
        ("[budget]\ntokens = \"many\"\n", &[(2, "`budget.tokens`")]),
        ("budget = 7\n", &[(1, "`budget`")]),
        ("[policy]\n\nmerge = \"maybe\"\n", &[(3, "`policy.merge`")]),
        ("model = \"a\"\n[budget\n", &[(2, "no TOML")]),
        ("\u{feff}engine = 3\n", &[(1, "`engine`")]),
    ];
    for (text, expected) in rows {
        let whole = format!("{text}\n[stall]\ntimeoutS = 5\n");
        let (_folder, sources) = sources(None, Some(&whole));
        let loaded = sources.load(&Value::Null);
        for (line, part) in expected {
            let told = loaded.problems.iter().any(|problem| {
                let at = matches!(&problem.origin, Origin::File { line: at, .. } if at == line);
                at && problem.message.contains(part)
            });
            assert!(told, "{text:?}: {:?}", loaded.problems);
        }
        let broken = text.contains("[budget\n");
        let stall = if broken { 300 } else { 5 };
        assert_eq!(loaded.settings.stall.timeout_s, stall, "{text:?}");
        assert_eq!(loaded.settings.budget.tokens, 100_000);
    }
}

#[test]
fn an_untrusted_workspace_says_nothing_of_what_is_run() {
    let text = "[budget]\ntokens = 7\n[gate.x]\ncommand = [\"./x\"]\n";
    let (folder, mut sources) = sources(None, Some(text));
    let loaded = sources.load(&Value::Null);
    assert_eq!(loaded.settings.budget.tokens, 7, "that runs nothing");
    assert!(loaded.settings.gate.is_empty());
    assert!(loaded.problems[0].message.contains("outrigger trust"));
    assert!(loaded.trust.refusal().is_some());
    // `outrigger trust`, until the file changes.
    let file = trust::TrustFile(folder.path().join("trusted"));
    file.write(&trust::hash(folder.path())).unwrap();
    sources.trust_file = Some(file);
    let loaded = sources.load(&Value::Null);
    assert_eq!((loaded.settings.gate.len(), loaded.problems.len()), (1, 0));
    let changed = text.replace("./x", "./y");
    fs::write(folder.path().join(WORKSPACE_FILE), changed).unwrap();
    let loaded = sources.load(&Value::Null);
    assert!(loaded.settings.gate.is_empty());
    assert!(loaded.problems[0].message.contains("has changed"));
    // The editor's word is over both.
    sources.set_editors_trust(true);
    assert_eq!(sources.load(&Value::Null).settings.gate.len(), 1);
    sources.set_editors_trust(false);
    let loaded = sources.load(&Value::Null);
    assert_eq!(loaded.settings.budget.tokens, 100_000);
    let (_folder, empty) = self::sources(None, Some("# nothing\n"));
    assert_eq!(empty.load(&Value::Null).problems, []);
}

#[test]
fn mistakes_of_a_gate_are_told_with_their_line() {
    let text = "[gate.a]\ncommand = [\"x\"]\nformat = \"sarf\"\n\n[gate.b]\ncommand = [\"x\"]\nformat = \"pattern\"\n\n\
                [[gate.b.pattern]]\nregexp = \"(.*)\"\nfile = 1\n\n[[gate.b.pattern]]\nregexp = \"(\"\n\n[gate.c]\ncomand = 1\n\
                \n[gates]\non_save = \"always\"\n";
    let (_folder, sources) = sources(None, Some(text));
    sources.set_editors_trust(true);
    let loaded = sources.load(&Value::Null);
    let lines: Vec<usize> = loaded
        .problems
        .iter()
        .map(|problem| match &problem.origin {
            Origin::File { line, .. } => *line,
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(lines, [3, 14, 17, 17], "{:#?}", loaded.problems);
    assert_eq!(
        loaded.settings.gates.on_save,
        crate::gates::settings::OnSave::Always
    );
}

#[test]
fn variables_are_read_as_what_the_setting_is() {
    let rows = [
        ("OUTRIGGER_MODEL", "7", json!("7")),
        ("OUTRIGGER_BUDGET_ACTIVE_S", "12", json!(12)),
        ("OUTRIGGER_POLICY_MERGE", "ask", json!("ask")),
    ];
    for (name, text, want) in rows {
        let sources = Sources {
            environment: vec![(name.to_owned(), text.to_owned())],
            ..Sources::default()
        };
        let loaded = sources.load(&Value::Null);
        assert_eq!(loaded.problems, [], "{name}");
        let found = loaded
            .listed()
            .into_iter()
            .find(|(_, _, origin)| *origin == Origin::Variable(name.to_owned()));
        assert_eq!(found.unwrap().1, want, "{name}");
    }
    let bad = Sources {
        environment: vec![("OUTRIGGER_BUDGET_TOKENS".to_owned(), "lots".to_owned())],
        ..Sources::default()
    };
    let problem = &bad.load(&Value::Null).problems[0];
    assert_eq!(
        problem.origin,
        Origin::Variable("OUTRIGGER_BUDGET_TOKENS".to_owned())
    );
}

#[test]
fn every_setting_can_stand_alone() {
    fn visit(node: &Node, path: &mut Vec<String>) {
        match node {
            Node::Table { names, .. } => {
                for (name, node) in names {
                    path.push(name.clone());
                    visit(node, path);
                    path.pop();
                }
            }
            Node::Map { .. } => {}
            Node::Setting { default, about, .. } => {
                let mut call = Value::Object(serde_json::Map::new());
                super::merge::set(&mut call, path, default.clone());
                let loaded = Sources::default().load(&call);
                assert_eq!(loaded.problems, [], "{path:?}");
                assert!(!about.is_empty(), "{path:?} is not explained");
            }
        }
    }
    let keys = Keys::known();
    visit(keys.root(), &mut Vec::new());
    assert!(documented().len() > 10);
}

#[test]
fn the_template_sets_nothing_and_all_of_it_can_be_set() {
    let text = template();
    let (_folder, plain) = sources(None, Some(&text));
    let loaded = plain.load(&Value::Null);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.settings, Settings::default());
    for name in ["tokens = 100000", "[budget]", "onRestart"] {
        assert!(text.contains(name), "{name} in\n{text}");
    }
}

#[test]
fn the_users_file_lies_where_the_platform_has_it() {
    type Row = (
        &'static [(&'static str, &'static str)],
        Option<&'static str>,
    );
    let rows: [Row; 5] = [
        (&[("HOME", "/h")], Some("/h/.config/outrigger/config.toml")),
        (
            &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")],
            Some("/x/outrigger/config.toml"),
        ),
        (
            &[("HOME", "/h"), ("XDG_CONFIG_HOME", "not/absolute")],
            Some("/h/.config/outrigger/config.toml"),
        ),
        (
            &[("HOME", "/h"), ("OUTRIGGER_CONFIG", "/my.toml")],
            Some("/my.toml"),
        ),
        (&[("HOME", "/h"), ("OUTRIGGER_CONFIG", "")], None),
    ];
    for (variables, want) in rows {
        let variables = variables.iter().copied().collect();
        assert_eq!(user_file(&variables).as_deref(), want.map(Path::new));
    }
}
