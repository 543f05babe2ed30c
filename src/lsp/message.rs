//! Bodies to messages: which are replies, which are requests or notifications, and what to answer to the rest.
//!
//! Replies are recognised first, and read leniently: whoever waits for one must hear of it, however odd its shape.
//! Anything else that is wrong with a body concerns that body only; the next one is read as usual.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

use super::mend;

/// What the editor sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// The answer to a request of ours.
    Reply(Response),
    /// A request or a notification.
    Call(Request),
    /// A body that is neither: what to answer to it.
    Refused(Response),
}

/// Reads a body.
pub fn read(body: &[u8]) -> Incoming {
    let mut fields = match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::Array(_)) => {
            return refuse(
                Id::Null,
                ErrorCode::InvalidRequest,
                "batches are not part of LSP",
            );
        }
        Ok(_) => {
            return refuse(
                Id::Null,
                ErrorCode::InvalidRequest,
                "a message is an object",
            );
        }
        Err(error) => {
            let outline = serde_json::from_slice::<Outline>(body).ok();
            let named =
                outline.and_then(|outline| Some((outline.id.as_ref().and_then(read_id)?, outline)));
            return match named {
                Some((id, outline)) => refuse_in_part(id, &outline, &error),
                None => {
                    let why = format!("the message is not valid JSON: {error}");
                    refuse(Id::Null, ErrorCode::ParseError, why)
                }
            };
        }
    };
    let id = fields.get("id").and_then(read_id);
    if fields.contains_key("result") || fields.contains_key("error") {
        return match id {
            Some(id) => Incoming::Reply(read_reply(id, fields)),
            None => refuse(
                Id::Null,
                ErrorCode::InvalidRequest,
                "a reply without a valid id",
            ),
        };
    }
    if !fields.get("method").is_some_and(Value::is_string) {
        let why = "a message has a method, or a result or an error";
        return refuse(id.unwrap_or(Id::Null), ErrorCode::InvalidRequest, why);
    }
    mend::call(&mut fields);
    match serde_json::from_value(Value::Object(fields)) {
        Ok(request) => Incoming::Call(request),
        Err(error) => {
            let why = format!("the message is not a JSON-RPC 2.0 request: {error}");
            refuse(id.unwrap_or(Id::Null), ErrorCode::InvalidRequest, why)
        }
    }
}

/// The top of a message. What is below is skipped, however deep it is.
#[derive(Deserialize)]
struct Outline {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

/// A message whose outline can be read and the rest cannot: whoever waits hears of it.
fn refuse_in_part(id: Id, outline: &Outline, error: &serde_json::Error) -> Incoming {
    let why = format!("the message cannot be read (values may be nested 127 deep): {error}");
    if outline.result.is_none() && outline.error.is_none() {
        return refuse(id, ErrorCode::InvalidRequest, why);
    }
    let error = Error {
        code: ErrorCode::InternalError,
        message: why.into(),
        data: None,
    };
    Incoming::Reply(Response::from_error(id, error))
}

fn read_id(value: &Value) -> Option<Id> {
    match value {
        Value::Number(number) => number.as_i64().map(Id::Number),
        Value::String(text) => Some(Id::String(text.clone())),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn read_reply(id: Id, mut fields: Map<String, Value>) -> Response {
    match fields.remove("error") {
        None | Some(Value::Null) => {
            Response::from_ok(id, fields.remove("result").unwrap_or_default())
        }
        Some(error) => Response::from_error(id, read_error(error)),
    }
}

fn read_error(error: Value) -> Error {
    let code = error.get("code").and_then(Value::as_i64);
    let message = match error.get("message").and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None => error.to_string(),
    };
    Error {
        code: code.map_or(ErrorCode::InternalError, ErrorCode::from),
        message: message.into(),
        data: match error {
            Value::Object(mut fields) => fields.remove("data"),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => None,
        },
    }
}

fn refuse(id: Id, code: ErrorCode, why: impl Into<std::borrow::Cow<'static, str>>) -> Incoming {
    let error = Error {
        code,
        message: why.into(),
        data: None,
    };
    Incoming::Refused(Response::from_error(id, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(code: i64, message: &str, data: Option<Value>) -> Error {
        Error {
            code: code.into(),
            message: message.to_owned().into(),
            data,
        }
    }

    #[test]
    fn replies_are_recognised_before_requests_and_read_leniently() {
        let ok = |id: Id, value| Incoming::Reply(Response::from_ok(id, value));
        let err = |error| Incoming::Reply(Response::from_error(Id::Number(1), error));
        let cases = [
            (
                json!({"jsonrpc":"2.0","id":1,"result":[1]}),
                ok(1.into(), json!([1])),
            ),
            (
                json!({"jsonrpc":"2.0","id":"a","result":null}),
                ok("a".into(), json!(null)),
            ),
            (
                json!({"id":1,"result":true,"error":null}),
                ok(1.into(), json!(true)),
            ),
            (json!({"id":1,"error":null}), ok(1.into(), json!(null))),
            (
                json!({"id":1,"method":"","result":2}),
                ok(1.into(), json!(2)),
            ),
            (
                json!({"id":1,"error":{"code":-32601,"message":"no","data":{"a":1},"odd":2}}),
                err(error(-32601, "no", Some(json!({"a":1})))),
            ),
            (
                json!({"id":1,"error":{"code":"x"}}),
                err(error(-32603, "{\"code\":\"x\"}", None)),
            ),
            (
                json!({"id":1,"error":"gone"}),
                err(error(-32603, "\"gone\"", None)),
            ),
        ];
        for (body, want) in cases {
            assert_eq!(read(body.to_string().as_bytes()), want, "{body}");
        }
    }

    #[test]
    fn a_message_that_is_nested_too_deep_is_answered_by_its_id() {
        for depth in [200, 100_000] {
            let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let request =
                format!("{{\"jsonrpc\":\"2.0\",\"params\":{deep},\"method\":\"x\",\"id\":\"é\"}}");
            let Incoming::Refused(refused) = read(request.as_bytes()) else {
                panic!("not refused");
            };
            assert_eq!(refused.id(), &Id::from("é"));
            let code = refused.error().map(|error| error.code.code());
            assert_eq!(code, Some(-32600));
            let reply = format!("{{\"jsonrpc\":\"2.0\",\"result\":{deep},\"id\":7}}");
            let Incoming::Reply(reply) = read(reply.as_bytes()) else {
                panic!("no reply");
            };
            assert_eq!((reply.id(), reply.is_error()), (&Id::Number(7), true));
        }
    }

    #[test]
    fn requests_and_notifications_are_calls() {
        let call = Request::build("a/b").params(json!({"x":1}));
        let cases = [
            (
                json!({"jsonrpc":"2.0","method":"a/b","params":{"x":1}}),
                call.finish(),
            ),
            (
                json!({"jsonrpc":"2.0","id":7,"method":"a/b"}),
                Request::build("a/b").id(7).finish(),
            ),
        ];
        for (body, want) in cases {
            assert_eq!(
                read(body.to_string().as_bytes()),
                Incoming::Call(want),
                "{body}"
            );
        }
    }

    #[test]
    fn the_rest_is_refused_with_the_id_where_there_is_one() {
        let cases: &[(&[u8], i64, Id)] = &[
            (b"", -32700, Id::Null),
            (b"{", -32700, Id::Null),
            (b"{} {}", -32700, Id::Null),
            (b"\xef\xbb\xbf{}", -32700, Id::Null),
            (
                b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}",
                -32700,
                Id::Null,
            ),
            (b"[]", -32600, Id::Null),
            (
                b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]",
                -32600,
                Id::Null,
            ),
            (b"1", -32600, Id::Null),
            (b"null", -32600, Id::Null),
            (b"{}", -32600, Id::Null),
            (b"{\"result\":1}", -32600, Id::Null),
            (b"{\"id\":3}", -32600, Id::Number(3)),
            (b"{\"id\":3,\"method\":\"x\"}", -32600, Id::Number(3)),
            (
                b"{\"jsonrpc\":\"1.0\",\"id\":\"s\",\"method\":\"x\"}",
                -32600,
                Id::from("s"),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":4}",
                -32600,
                Id::Number(3),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"x\"}",
                -32600,
                Id::Null,
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}",
                -32600,
                Id::Null,
            ),
        ];
        for (body, code, id) in cases {
            let text = String::from_utf8_lossy(body);
            let Incoming::Refused(response) = read(body) else {
                panic!("{text} is not refused");
            };
            let got = response.error().map(|error| error.code.code());
            assert_eq!((got, response.id()), (Some(*code), id), "{text}");
        }
    }
}
