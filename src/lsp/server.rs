//! The methods of the language server: parameters in, inputs out. No handler waits for the editor or for a human.

use lsp_types::{
    InitializeParams, InitializeResult, InitializedParams, ServerCapabilities, ServerInfo,
};
use tower_lsp::jsonrpc::Result;
use tower_lsp::{ClientSocket, LanguageServer, LspService};

use super::editor::Editor;
use super::test_methods::{self, TestMethods};

/// One editor's server.
pub struct Server {
    pub(super) editor: Editor,
    pub(super) test: TestMethods,
}

/// The service with all its methods, and the socket by which it talks to the editor.
pub fn build() -> (LspService<Server>, ClientSocket) {
    let builder = LspService::build(|client| Server {
        editor: Editor::new(client),
        test: TestMethods::default(),
    });
    test_methods::add(builder).finish()
}

impl LanguageServer for Server {
    async fn initialize(&self, _params: InitializeParams) -> Result<InitializeResult> {
        Ok(InitializeResult {
            capabilities: ServerCapabilities::default(),
            server_info: Some(ServerInfo {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            ..InitializeResult::default()
        })
    }

    async fn initialized(&self, _params: InitializedParams) {}

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}
