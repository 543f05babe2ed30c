//! What both sides can do, read once from `initialize` and never looked up again.

use lsp_types::{
    ClientCapabilities, CodeActionKind, CodeActionOptions, CodeActionProviderCapability,
    DiagnosticTag, DidChangeWatchedFilesRegistrationOptions, ExecuteCommandOptions,
    FileOperationFilter, FileOperationPattern, FileOperationRegistrationOptions, FileSystemWatcher,
    GlobPattern, InitializeParams, OneOf, PositionEncodingKind, Registration, RegistrationParams,
    SaveOptions, ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WatchKind,
    WorkspaceFileOperationsServerCapabilities, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities,
};
use serde_json::json;

use super::commands;
use super::edits::Versions;
use crate::kernel::document::PositionEncoding;
use crate::protocol::capabilities::{ClientOffer, ServerOffer};
use crate::protocol::{VERSION, method};

/// What the client can do, as far as it concerns us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The client's name, for "answered by".
    pub client: String,
    pub encoding: PositionEncoding,
    /// It shows progress that the server begins.
    pub progress: bool,
    pub apply_edit: bool,
    pub versions: Versions,
    /// It opens documents when asked to.
    pub show_document: bool,
    /// Code actions may be more than commands.
    pub action_literals: bool,
    pub diagnostics: DiagnosticSupport,
    /// It watches files for servers that ask for it.
    pub watches_files: bool,
    /// What it takes of our own protocol.
    pub offer: ClientOffer,
}

/// Parts of a diagnostic that the client knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiagnosticSupport {
    pub related: bool,
    pub code_href: bool,
    pub data: bool,
    pub tags: Vec<DiagnosticTag>,
}

impl Capabilities {
    pub fn negotiate(params: &InitializeParams) -> Self {
        let client = &params.capabilities;
        let workspace = client.workspace.as_ref();
        let text_document = client.text_document.as_ref();
        let is = |claim: Option<bool>| claim == Some(true);
        let edit = workspace.and_then(|workspace| workspace.workspace_edit.as_ref());
        let actions = text_document.and_then(|document| document.code_action.as_ref());
        Self {
            client: params
                .client_info
                .as_ref()
                .map_or_else(|| "editor".to_owned(), |info| info.name.clone()),
            encoding: choose_encoding(client),
            progress: is(client
                .window
                .as_ref()
                .and_then(|window| window.work_done_progress)),
            apply_edit: is(workspace.and_then(|workspace| workspace.apply_edit)),
            show_document: client
                .window
                .as_ref()
                .and_then(|window| window.show_document.as_ref())
                .is_some_and(|show| show.support),
            versions: match edit.and_then(|edit| edit.document_changes) {
                Some(true) => Versions::Checked,
                Some(false) | None => Versions::Unchecked,
            },
            action_literals: actions
                .is_some_and(|actions| actions.code_action_literal_support.is_some()),
            diagnostics: diagnostic_support(client),
            watches_files: workspace
                .and_then(|workspace| workspace.did_change_watched_files.as_ref())
                .is_some_and(|watching| is(watching.dynamic_registration)),
            offer: client_offer(client),
        }
    }

    /// What we ask for once the client is ready: to hear of files that come and go. What is in them we look at ourselves.
    pub fn registration(&self) -> Option<RegistrationParams> {
        let watchers = DidChangeWatchedFilesRegistrationOptions {
            watchers: vec![FileSystemWatcher {
                glob_pattern: GlobPattern::String("**/*".to_owned()),
                kind: Some(WatchKind::Create | WatchKind::Delete),
            }],
        };
        self.watches_files.then(|| RegistrationParams {
            registrations: vec![Registration {
                id: "outrigger-files".to_owned(),
                method: "workspace/didChangeWatchedFiles".to_owned(),
                register_options: serde_json::to_value(watchers).ok(),
            }],
        })
    }

    /// What we can do, in the answer to `initialize`.
    pub fn server(&self) -> ServerCapabilities {
        ServerCapabilities {
            position_encoding: Some(match self.encoding {
                PositionEncoding::Utf8 => PositionEncodingKind::UTF8,
                PositionEncoding::Utf16 => PositionEncodingKind::UTF16,
                PositionEncoding::Utf32 => PositionEncodingKind::UTF32,
            }),
            text_document_sync: Some(TextDocumentSyncCapability::Options(
                TextDocumentSyncOptions {
                    open_close: Some(true),
                    change: Some(TextDocumentSyncKind::INCREMENTAL),
                    save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
                        include_text: Some(false),
                    })),
                    ..TextDocumentSyncOptions::default()
                },
            )),
            code_action_provider: Some(if self.action_literals {
                CodeActionProviderCapability::Options(CodeActionOptions {
                    code_action_kinds: Some(vec![
                        CodeActionKind::QUICKFIX,
                        CodeActionKind::REFACTOR_REWRITE,
                        CodeActionKind::from(super::gate_actions::FIX_ALL.to_owned()),
                    ]),
                    ..CodeActionOptions::default()
                })
            } else {
                CodeActionProviderCapability::Simple(true)
            }),
            execute_command_provider: Some(ExecuteCommandOptions {
                commands: commands::NAMES.map(str::to_owned).to_vec(),
                ..ExecuteCommandOptions::default()
            }),
            workspace: Some(WorkspaceServerCapabilities {
                workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                    supported: Some(true),
                    change_notifications: Some(OneOf::Left(true)),
                }),
                file_operations: Some(file_operations()),
            }),
            experimental: Some(json!({ "outrigger": server_offer() })),
            ..ServerCapabilities::default()
        }
    }
}

/// We hear of what was done to files and folders anywhere in the workspace.
fn file_operations() -> WorkspaceFileOperationsServerCapabilities {
    let everywhere = || {
        Some(FileOperationRegistrationOptions {
            filters: vec![FileOperationFilter {
                scheme: Some("file".to_owned()),
                pattern: FileOperationPattern {
                    glob: "**/*".to_owned(),
                    ..FileOperationPattern::default()
                },
            }],
        })
    };
    WorkspaceFileOperationsServerCapabilities {
        did_create: everywhere(),
        did_rename: everywhere(),
        did_delete: everywhere(),
        ..WorkspaceFileOperationsServerCapabilities::default()
    }
}

fn server_offer() -> ServerOffer {
    let methods = [
        method::RUN_START,
        method::RUN_CANCEL,
        method::RUN_STEER,
        method::RUN_RESUME,
        method::RUN_LIST,
        method::RUN_EVENTS,
        method::RUN_CHANGES,
        method::RUN_DIFF,
        method::RUN_REVERT,
        method::TASK_CLEAN,
        method::TASK_LIST,
        method::TASK_ADD,
        method::TASK_IMPORT,
        method::TASK_EDIT,
        method::TASK_READY,
        method::TASK_START,
        method::QUESTION_LIST,
        method::QUESTION_ANSWER,
        method::DOCUMENT_READ,
        method::EDITOR_VIEW,
        method::MODELS_LIST,
        method::MODELS_KEY,
        method::SETTINGS_LIST,
        method::TRUST,
    ];
    ServerOffer {
        version: VERSION,
        methods: methods.map(str::to_owned).to_vec(),
    }
}

/// The cheapest for us of those that the client offers. Every client has UTF-16.
fn choose_encoding(client: &ClientCapabilities) -> PositionEncoding {
    let general = client.general.as_ref();
    let offered = general.and_then(|general| general.position_encodings.as_deref());
    let offers = |kind| offered.is_some_and(|offered| offered.contains(&kind));
    if offers(PositionEncodingKind::UTF8) {
        PositionEncoding::Utf8
    } else if offers(PositionEncodingKind::UTF32) {
        PositionEncoding::Utf32
    } else {
        PositionEncoding::Utf16
    }
}

fn diagnostic_support(client: &ClientCapabilities) -> DiagnosticSupport {
    let text_document = client.text_document.as_ref();
    let Some(publish) = text_document.and_then(|document| document.publish_diagnostics.as_ref())
    else {
        return DiagnosticSupport::default();
    };
    DiagnosticSupport {
        related: publish.related_information == Some(true),
        code_href: publish.code_description_support == Some(true),
        data: publish.data_support == Some(true),
        tags: publish
            .tag_support
            .as_ref()
            .map(|tags| tags.value_set.clone())
            .unwrap_or_default(),
    }
}

/// A client that offers something unreadable offers nothing: it is then served as any plain client.
fn client_offer(client: &ClientCapabilities) -> ClientOffer {
    let experimental = client.experimental.as_ref();
    let Some(offer) = experimental.and_then(|experimental| experimental.get("outrigger")) else {
        return ClientOffer::default();
    };
    serde_json::from_value(offer.clone()).unwrap_or_else(|error| {
        tracing::warn!("failed to read capabilities.experimental.outrigger: {error}");
        ClientOffer::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn negotiate(capabilities: &Value) -> Capabilities {
        let params = json!({"capabilities": capabilities, "clientInfo": {"name": "Néovim"}});
        Capabilities::negotiate(&serde_json::from_value(params).unwrap())
    }

    #[test]
    fn the_encoding_is_the_best_that_the_client_offers() {
        let rows = [
            (json!(null), PositionEncoding::Utf16),
            (json!([]), PositionEncoding::Utf16),
            (json!(["utf-16"]), PositionEncoding::Utf16),
            (json!(["utf-7", "utf-16"]), PositionEncoding::Utf16),
            (json!(["utf-16", "utf-32"]), PositionEncoding::Utf32),
            (json!(["utf-16", "utf-32", "utf-8"]), PositionEncoding::Utf8),
        ];
        for (offered, want) in rows {
            let client = negotiate(&json!({"general": {"positionEncodings": offered}}));
            assert_eq!(client.encoding, want, "{offered}");
            let said = serde_json::to_value(client.server()).unwrap();
            let name = format!("{want:?}").to_lowercase().replace("utf", "utf-");
            assert_eq!(said["positionEncoding"], name, "{offered}");
        }
    }

    #[test]
    fn a_client_without_capabilities_is_asked_for_nothing() {
        assert_eq!(
            negotiate(&json!({})),
            Capabilities {
                client: "Néovim".into(),
                encoding: PositionEncoding::Utf16,
                progress: false,
                apply_edit: false,
                show_document: false,
                versions: Versions::Unchecked,
                action_literals: false,
                diagnostics: DiagnosticSupport::default(),
                watches_files: false,
                offer: ClientOffer::default(),
            }
        );
    }

    #[test]
    fn a_client_with_everything_gets_everything() {
        let client = negotiate(&json!({
            "workspace": {"applyEdit": true, "workspaceEdit": {"documentChanges": true}},
            "window": {"workDoneProgress": true, "showDocument": {"support": true}},
            "textDocument": {
                "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}},
                "publishDiagnostics": {
                    "relatedInformation": true, "codeDescriptionSupport": true,
                    "dataSupport": true, "tagSupport": {"valueSet": [1, 2]},
                },
            },
            "experimental": {"other": 1, "outrigger": {"version": 1, "events": true, "save": true, "new": 1}},
        }));
        assert!(client.progress && client.apply_edit && client.action_literals);
        assert!(client.show_document);
        assert_eq!(client.versions, Versions::Checked);
        assert_eq!(
            client.diagnostics,
            DiagnosticSupport {
                related: true,
                code_href: true,
                data: true,
                tags: vec![DiagnosticTag::UNNECESSARY, DiagnosticTag::DEPRECATED],
            }
        );
        assert_eq!(
            client.offer,
            ClientOffer {
                version: 1,
                events: true,
                questions: false,
                save: true,
            }
        );
    }

    #[test]
    fn an_unreadable_offer_is_none() {
        for offer in [json!(true), json!("yes"), json!({"events": "no"})] {
            let client = negotiate(&json!({"experimental": {"outrigger": offer}}));
            assert_eq!(client.offer, ClientOffer::default(), "{offer}");
        }
    }
}
