//! What clients send not quite as they should, made right before strict readers see it; and the last touch to answers.
//!
//! * URIs that are not encoded. A URI with a space or an `é` in it is none to a strict reader, which would drop the whole
//!   message: a document would be open and nobody would know.
//! * Our own answers, where LSP is newer than the library of its types.
//! * Methods of ours without parameters, which stand for empty ones.
//! * `outrigger/trust` as a notification: a handler that answers is never called for one.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use tower_lsp::jsonrpc::Response;

use super::methods::TRUST_TOLD;
use super::virtual_documents;
use crate::protocol::method;

/// Fields that hold a URI, wherever they are in a message.
const FIELDS: [&str; 2] = ["uri", "rootUri"];

/// Mends a request or a notification.
pub fn call(fields: &mut Map<String, Value>) {
    let method = fields.get("method").and_then(Value::as_str);
    let is_ours = method.is_some_and(|method| method.starts_with("outrigger/"));
    if method == Some(method::TRUST) && !fields.contains_key("id") {
        fields.insert("method".to_owned(), Value::from(TRUST_TOLD));
    }
    match fields.get_mut("params") {
        Some(params) => uris(params),
        None if is_ours => {
            fields.insert("params".to_owned(), Value::Object(Map::new()));
        }
        None => {}
    }
}

/// Adds to our answers what the types of our library have no fields for.
pub fn reply(method: &str, reply: Response) -> Response {
    if method != "initialize" {
        return reply;
    }
    let (id, result) = reply.into_parts();
    let result = result.map(|mut result| {
        if let Some(workspace) = result.pointer_mut("/capabilities/workspace")
            && let Some(fields) = workspace.as_object_mut()
        {
            // Of LSP 3.18.
            let schemes = json!({ "schemes": [virtual_documents::SCHEME] });
            fields.insert("textDocumentContent".to_owned(), schemes);
        }
        result
    });
    Response::from_parts(id, result)
}

/// Encodes what is not encoded in the URIs of a message.
fn uris(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if FIELDS.contains(&name.as_str()) => {
                        if let Cow::Owned(encoded) = encode(text) {
                            *text = encoded;
                        }
                    }
                    other => uris(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(uris),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Leaves alone what is right already.
fn encode(uri: &str) -> Cow<'_, str> {
    let bytes = uri.as_bytes();
    let is_right = |(at, byte): (usize, &u8)| match byte {
        b'%' => {
            let digits = bytes.get(at + 1..at + 3).unwrap_or_default();
            digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit)
        }
        byte => byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'()*+,;=".contains(byte),
    };
    if bytes.iter().enumerate().all(is_right) {
        return Cow::Borrowed(uri);
    }
    let mut encoded = String::with_capacity(uri.len() + 16);
    for (at, byte) in bytes.iter().enumerate() {
        if is_right((at, byte)) {
            encoded.push(char::from(*byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    Cow::Owned(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsp::places::parse_uri;

    #[test]
    fn what_is_no_uri_becomes_one_and_what_is_one_stays() {
        let rows = [
            ("file:///a/%C3%A9%20b.rs", "file:///a/%C3%A9%20b.rs"),
            ("untitled:Untitled-1", "untitled:Untitled-1"),
            ("git:/x?y=1#z", "git:/x?y=1#z"),
            ("file:///a/é b.rs", "file:///a/%C3%A9%20b.rs"),
            ("file:///a/[id].tsx", "file:///a/%5Bid%5D.tsx"),
            ("file:///a/100%.txt", "file:///a/100%25.txt"),
            ("file:///a/%4", "file:///a/%254"),
            ("file:///c:\\a", "file:///c:%5Ca"),
        ];
        for (given, want) in rows {
            assert_eq!(encode(given), want);
            assert!(parse_uri(want).is_some(), "{want}");
        }
    }

    #[test]
    fn our_methods_always_have_parameters() {
        let rows = [
            (
                json!({"method": "outrigger/run/list"}),
                json!({"method": "outrigger/run/list", "params": {}}),
            ),
            (json!({"method": "shutdown"}), json!({"method": "shutdown"})),
            (json!({"method": 7}), json!({"method": 7})),
        ];
        for (mut given, want) in rows {
            call(given.as_object_mut().unwrap());
            assert_eq!(given, want);
        }
    }

    #[test]
    fn uris_are_found_wherever_they_are_and_nothing_else_is_touched() {
        let mut message = json!({
            "rootUri": "file:///é",
            "workspaceFolders": [{"uri": "file:///a b", "name": "a b"}],
            "textDocument": {"uri": "file:///ü", "text": "uri: é b"},
        });
        uris(&mut message);
        assert_eq!(
            message,
            json!({
                "rootUri": "file:///%C3%A9",
                "workspaceFolders": [{"uri": "file:///a%20b", "name": "a b"}],
                "textDocument": {"uri": "file:///%C3%BC", "text": "uri: é b"},
            })
        );
    }
}
