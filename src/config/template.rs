//! An `outrigger.toml` to begin with: everything explained, nothing set.

use std::fmt::Write as _;

use serde_json::Value;

use super::keys::{Keys, Node, is_users_only};

const HEAD: &str = "# Settings of Outrigger for this workspace. Each line shows a default; take the `# ` away to change it.\n\
                    # `outrigger config show` says what holds and where it comes from.\n";

pub fn of(keys: &Keys) -> String {
    let mut text = HEAD.to_owned();
    if let Node::Table { names, .. } = keys.root() {
        let settings = names
            .iter()
            .filter(|(name, node)| is_setting(node) && !is_users_only(&[(*name).clone()]));
        for (name, node) in settings {
            text.push('\n');
            setting(&mut text, name, node);
        }
        for (name, node) in names.iter().filter(|(_, node)| !is_setting(node)) {
            table(&mut text, &mut vec![name.clone()], node);
        }
    }
    text
}

fn is_setting(node: &Node) -> bool {
    matches!(node, Node::Setting { .. })
}

fn table(text: &mut String, path: &mut Vec<String>, node: &Node) {
    if is_users_only(path) {
        return;
    }
    let (about, names) = match node {
        Node::Table { about, names } => (about, names),
        Node::Map { each, .. } => {
            path.push("NAME".to_owned());
            table(text, path, each);
            path.pop();
            return;
        }
        Node::Setting { .. } => return,
    };
    text.push('\n');
    comment(text, about);
    // The head of a table that the user names is an example, too.
    let example = path.iter().any(|name| name == "NAME");
    let mark = if example { "# " } else { "" };
    let _ = writeln!(text, "{mark}[{}]", path.join("."));
    for (name, node) in names.iter().filter(|(_, node)| is_setting(node)) {
        setting(text, name, node);
    }
    for (name, node) in names.iter().filter(|(_, node)| !is_setting(node)) {
        path.push(name.clone());
        table(text, path, node);
        path.pop();
    }
}

fn setting(text: &mut String, name: &str, node: &Node) {
    let Node::Setting {
        about,
        default,
        choices,
    } = node
    else {
        return;
    };
    comment(text, about);
    if !choices.is_empty() {
        comment(text, &format!("One of: {}.", choices.join(", ")));
    }
    let _ = writeln!(text, "# {name} = {}", toml_text(default));
}

fn comment(text: &mut String, about: &str) {
    for line in about.lines() {
        let _ = writeln!(text, "# {}", line.trim_end());
    }
}

fn toml_text(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        other => other.to_string(),
    }
}
