//! Failures as JSON-RPC errors: a code for the protocol, `data.kind` for programs, a message that tells people what to do.

use tower_lsp::jsonrpc::{Error, ErrorCode};

use crate::kernel::effect::{Refusal, RefusalKind};
use crate::protocol::error::{ErrorData, ErrorKind};

/// LSP's "the request was understood and could not be fulfilled".
const REQUEST_FAILED: i64 = -32803;

pub fn error(kind: ErrorKind, message: impl Into<String>) -> Error {
    let code = match kind {
        ErrorKind::InvalidParams => ErrorCode::InvalidParams,
        ErrorKind::UnknownRun
        | ErrorKind::UnknownQuestion
        | ErrorKind::AlreadyAnswered
        | ErrorKind::WrongAnswer
        | ErrorKind::RunOver
        | ErrorKind::UnknownTask
        | ErrorKind::TaskState
        | ErrorKind::NoModel
        | ErrorKind::NoWorkspace
        | ErrorKind::UnknownDocument
        | ErrorKind::Storage => ErrorCode::ServerError(REQUEST_FAILED),
    };
    Error {
        code,
        message: message.into().into(),
        data: serde_json::to_value(ErrorData { kind }).ok(),
    }
}

pub fn refused(refusal: Refusal) -> Error {
    let kind = match refusal.kind {
        RefusalKind::InvalidParams => ErrorKind::InvalidParams,
        RefusalKind::UnknownRun => ErrorKind::UnknownRun,
        RefusalKind::UnknownQuestion => ErrorKind::UnknownQuestion,
        RefusalKind::AlreadyAnswered => ErrorKind::AlreadyAnswered,
        RefusalKind::WrongAnswer => ErrorKind::WrongAnswer,
        RefusalKind::RunOver => ErrorKind::RunOver,
        RefusalKind::Storage => ErrorKind::Storage,
    };
    error(kind, refusal.message)
}

/// The app has ended before it could reply.
pub fn gone() -> Error {
    error(ErrorKind::Storage, "the server is ending; start it again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_has_code_kind_and_message() {
        let refusal = |kind| {
            refused(Refusal {
                kind,
                message: "é: do this".into(),
            })
        };
        let rows = [
            (refusal(RefusalKind::InvalidParams), -32602, "invalidParams"),
            (refusal(RefusalKind::UnknownRun), -32803, "unknownRun"),
            (
                refusal(RefusalKind::AlreadyAnswered),
                -32803,
                "alreadyAnswered",
            ),
            (refusal(RefusalKind::WrongAnswer), -32803, "wrongAnswer"),
            (error(ErrorKind::NoModel, "é: do this"), -32803, "noModel"),
        ];
        for (error, code, kind) in rows {
            assert_eq!(
                serde_json::to_value(error).unwrap(),
                json!({"code": code, "message": "é: do this", "data": {"kind": kind}})
            );
        }
    }
}
