//! The methods of the language server protocol: parameters in, inputs out. No handler waits for the editor or for a human.
//!
//! Handlers of notifications post to the app before their first await: that is what keeps them in the order of arrival.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use lsp_types::{
    CodeActionParams, CodeActionResponse, DidChangeConfigurationParams,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, ExecuteCommandParams, InitializeParams, InitializeResult,
    InitializedParams, LSPAny, NumberOrString, ServerInfo, Uri, WorkDoneProgressCancelParams,
};
use tower_lsp::jsonrpc::Result;
use tower_lsp::{ClientSocket, LanguageServer, LspService};

use super::actions::{self, Situation};
use super::capabilities::Capabilities;
use super::commands;
use super::documents;
use super::editor::Editor;
use super::errors::error;
use super::methods;
use super::places::Root;
use super::progress;
use super::session::{OpenWorkspace, Session};
use super::test_methods::{self, TestMethods};
use crate::app::EditorSettings;
use crate::kernel::input::DocumentNews;
use crate::kernel::path::RelPath;
use crate::protocol::error::ErrorKind;

/// One editor's server.
pub struct Server {
    pub(super) editor: Editor,
    pub(super) test: TestMethods,
    open_workspace: OpenWorkspace,
    session: Arc<OnceLock<Arc<Session>>>,
}

/// Where the session will be, once there is one.
pub type SessionPlace = Arc<OnceLock<Arc<Session>>>;

/// The service with all its methods, the socket by which it talks to the editor, and its session to come.
pub fn build(open_workspace: OpenWorkspace) -> (LspService<Server>, ClientSocket, SessionPlace) {
    let session = SessionPlace::default();
    let builder = LspService::build(|client| Server {
        editor: Editor::new(client),
        test: TestMethods::default(),
        open_workspace,
        session: Arc::clone(&session),
    });
    let builder = methods::add(builder)
        .custom_method("window/workDoneProgress/cancel", Server::progress_cancelled);
    let (service, socket) = test_methods::add(builder).finish();
    (service, socket, session)
}

impl Server {
    /// The session.
    ///
    /// # Errors
    /// `initialize` has not opened a workspace.
    pub(super) fn session(&self) -> Result<&Arc<Session>> {
        self.session.get().ok_or_else(|| {
            error(
                ErrorKind::NoWorkspace,
                "no workspace folder is open; open one and start the server again",
            )
        })
    }

    /// The file of the workspace that a URI names, for what is said about documents: others do not concern us.
    fn file(&self, uri: &Uri) -> Option<(&Arc<Session>, RelPath)> {
        let session = self.session.get()?;
        let path = session.root.relative(uri.as_str())?;
        Some((session, path))
    }

    async fn progress_cancelled(&self, params: WorkDoneProgressCancelParams) {
        let NumberOrString::String(token) = params.token else {
            return;
        };
        if let (Some(session), Some(run)) = (self.session.get(), progress::run_of(&token)) {
            // The run's end is told by its progress; nobody waits here.
            drop(session.app.cancel(run, session.client.client.clone()));
        }
    }
}

impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let client = Capabilities::negotiate(&params);
        let root = find_root(&params)?;
        let opened = (self.open_workspace)(Path::new(root.path()))
            .map_err(|why| error(ErrorKind::Storage, why))?;
        if let Some(options) = params.initialization_options {
            let settings = EditorSettings::Initial(options);
            opened.app.set_editor_settings(settings);
        }
        let capabilities = client.server();
        let session = Session::new(opened, root, client, self.editor.clone());
        // A second `initialize` is refused before it comes here.
        let _ = self.session.set(session);
        Ok(InitializeResult {
            capabilities,
            server_info: Some(ServerInfo {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            ..InitializeResult::default()
        })
    }

    async fn initialized(&self, _params: InitializedParams) {
        if let Some(session) = self.session.get() {
            session.begin();
        }
    }

    async fn shutdown(&self) -> Result<()> {
        if let Some(session) = self.session.get() {
            session.abandon_progress().await;
            // Answered at once: some editors do not wait before they send `exit`, which is where parking is waited for.
            let session = Arc::clone(session);
            tokio::spawn(async move { session.park().await });
        }
        Ok(())
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        let Some(session) = self.session.get() else {
            return;
        };
        // Some editors send our section, others all sections.
        let mut settings = params.settings;
        if let Some(ours) = settings.get_mut(env!("CARGO_PKG_NAME")) {
            settings = ours.take();
        }
        session
            .app
            .set_editor_settings(EditorSettings::Current(settings));
        session.tell_problems_of_settings();
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let document = &params.text_document;
        if let Some((session, path)) = self.file(&document.uri) {
            session.document_opened(&path, document.uri.as_str(), document.version);
            session.app.document(path, documents::opened(params));
        }
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let document = &params.text_document;
        if let Some((session, path)) = self.file(&document.uri) {
            session.document_changed(&path, document.version);
            let news = documents::changed(params, session.client.encoding);
            session.app.document(path, news);
        }
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        if let Some((session, path)) = self.file(&params.text_document.uri) {
            session
                .app
                .document(path, DocumentNews::Saved { disk: None });
        }
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        if let Some((session, path)) = self.file(&params.text_document.uri) {
            session.document_closed(&path);
            session.app.document(path, DocumentNews::Closed);
        }
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        let Some((session, path)) = self.file(&params.text_document.uri) else {
            return Ok(None);
        };
        let wanted = path.clone();
        let document = session
            .app
            .look(move |state| state.documents.get(&wanted).cloned());
        let document = document.await.ok().flatten();
        let (findings, questions) = session.on_file(&path);
        let offered = actions::offer(&Situation {
            path: &path,
            range: params.range,
            context: &params.context,
            findings: &findings,
            questions: &questions,
            document: document.as_ref(),
            root: &session.root,
            client: &session.client,
        });
        Ok(Some(offered))
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<LSPAny>> {
        let session = self.session()?;
        let command = commands::read(&params.command, params.arguments)
            .map_err(|why| error(ErrorKind::InvalidParams, why))?;
        methods::execute(session, command).await.map(Some)
    }
}

/// The first workspace folder, else the root, else the folder in which we were started, which is how simple clients say it.
fn find_root(params: &InitializeParams) -> Result<Root> {
    let folders = params.workspace_folders.iter().flatten();
    let mut named = folders.map(|folder| &folder.uri);
    #[expect(deprecated, reason = "older clients name no workspace folders")]
    let uri = named.next().or(params.root_uri.as_ref());
    if let Some(uri) = uri {
        return Root::from_uri(uri.as_str()).ok_or_else(|| {
            let message = format!("{} is not a folder on this machine's disk", uri.as_str());
            error(ErrorKind::NoWorkspace, message)
        });
    }
    let folder = std::env::current_dir().ok();
    let folder = folder
        .as_deref()
        .and_then(Path::to_str)
        .filter(|folder| *folder != "/");
    folder
        .map(|folder| Root::from_path(&folder.replace(std::path::MAIN_SEPARATOR, "/")))
        .ok_or_else(|| {
            error(
                ErrorKind::NoWorkspace,
                "the editor names no workspace folder; open one",
            )
        })
}
