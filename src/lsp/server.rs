//! The methods of the language server protocol: parameters in, inputs out. No handler waits for the editor or for a human.
//!
//! Handlers of notifications post to the app before their first await: that is what keeps them in the order of arrival.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use futures::future::join_all;
use lsp_types::notification::ShowMessage;
use lsp_types::request::RegisterCapability;

use lsp_types::{
    CodeActionParams, CodeActionResponse, CreateFilesParams, DeleteFilesParams,
    DidChangeConfigurationParams, DidChangeTextDocumentParams, DidChangeWatchedFilesParams,
    DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, ExecuteCommandParams, InitializeParams, InitializeResult,
    InitializedParams, LSPAny, MessageType, NumberOrString, RenameFilesParams, ServerInfo,
    ShowMessageParams, Uri, WorkDoneProgressCancelParams,
};
use serde_json::Value;
use tower_lsp::jsonrpc::Result;
use tower_lsp::{ClientSocket, LanguageServer, LspService};

use super::actions::{self, Situation};
use super::capabilities::Capabilities;
use super::commands;
use super::documents;
use super::editor::Editor;
use super::errors::error;
use super::folders::Folders;
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
    pub(super) folders: Arc<Folders>,
    open_workspace: OpenWorkspace,
    /// What the editor told at the start, for folders that are opened later.
    greeting: OnceLock<Greeting>,
}

struct Greeting {
    client: Capabilities,
    settings: Option<Value>,
    has_begun: AtomicBool,
}

/// The service with all its methods, the socket by which it talks to the editor, and its folders to come.
pub fn build(open_workspace: OpenWorkspace) -> (LspService<Server>, ClientSocket, Arc<Folders>) {
    let folders = Arc::<Folders>::default();
    let builder = LspService::build(|client| Server {
        editor: Editor::new(client),
        test: TestMethods::default(),
        folders: Arc::clone(&folders),
        open_workspace,
        greeting: OnceLock::new(),
    });
    let builder = methods::add(builder)
        .custom_method("window/workDoneProgress/cancel", Server::progress_cancelled);
    let (service, socket) = test_methods::add(builder).finish();
    (service, socket, folders)
}

impl Server {
    /// The file of a workspace folder that a URI names, for what is said about documents: others do not concern us.
    fn file(&self, uri: &Uri) -> Option<(Arc<Session>, RelPath)> {
        self.folders.file(uri.as_str())
    }

    /// Each folder hears of its own.
    fn files_changed<'a>(&self, uris: impl Iterator<Item = &'a str>) {
        let uris: Vec<&str> = uris.collect();
        for session in self.folders.all() {
            let ours = uris.iter().filter_map(|uri| session.root.relative(uri));
            let ours: Vec<RelPath> = ours.collect();
            if !ours.is_empty() {
                session.app.files_changed(ours);
            }
        }
    }

    /// Opens a folder, with a session of its own.
    fn open(&self, root: Root, greeting: &Greeting) -> Result<Arc<Session>> {
        let opened = (self.open_workspace)(Path::new(root.path()))
            .map_err(|why| error(ErrorKind::Storage, why))?;
        if let Some(mut settings) = greeting.settings.clone() {
            // No setting: the user does not write it, the editor asks.
            let trusted = settings
                .as_object_mut()
                .and_then(|said| said.remove("trusted"));
            if let Some(trusted) = trusted.and_then(|said| said.as_bool()) {
                opened.app.set_editors_trust(trusted);
            }
            opened
                .app
                .set_editor_settings(EditorSettings::Initial(settings));
        }
        let session = Session::new(opened, root, greeting.client.clone(), self.editor.clone());
        self.folders.add(Arc::clone(&session));
        Ok(session)
    }

    async fn progress_cancelled(&self, params: WorkDoneProgressCancelParams) {
        let NumberOrString::String(token) = params.token else {
            return;
        };
        let run = progress::run_of(&token);
        let of_run = run.and_then(|run| Some((self.folders.of_run(&run).ok()?, run)));
        if let Some((session, run)) = of_run {
            // The run's end is told by its progress; nobody waits here.
            drop(session.app.cancel(run, session.client.client.clone()));
        }
    }
}

impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let client = Capabilities::negotiate(&params);
        let capabilities = client.server();
        let mut roots = find_roots(&params)?.into_iter();
        let greeting = self.greeting.get_or_init(|| Greeting {
            client,
            settings: params.initialization_options,
            has_begun: AtomicBool::new(false),
        });
        if let Some(first) = roots.next() {
            self.open(first, greeting)?;
        }
        for root in roots {
            // The others are served all the same; messages are shown from now on.
            let path = root.path().to_owned();
            if let Err(why) = self.open(root, greeting) {
                tracing::error!("failed to open {path}: {}", why.message);
                let message = format!("Outrigger: failed to open {path}: {}", why.message);
                self.editor.notify::<ShowMessage>(ShowMessageParams {
                    typ: MessageType::ERROR,
                    message,
                });
            }
        }
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
        if let Some(greeting) = self.greeting.get() {
            greeting.has_begun.store(true, Ordering::SeqCst);
            if let Some(registration) = greeting.client.registration() {
                // Whether it is taken makes no difference to us.
                drop(self.editor.ask::<RegisterCapability>(registration));
            }
        }
        for session in self.folders.all() {
            session.begin();
        }
    }

    async fn shutdown(&self) -> Result<()> {
        let sessions = self.folders.all();
        join_all(sessions.iter().map(|session| session.abandon_progress())).await;
        // Answered at once: some editors do not wait before they send `exit`, which is where parking is waited for.
        for session in sessions {
            tokio::spawn(async move { session.park().await });
        }
        Ok(())
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        // Some editors send our section, others all sections.
        let mut settings = params.settings;
        if let Some(ours) = settings.get_mut(env!("CARGO_PKG_NAME")) {
            settings = ours.take();
        }
        for session in self.folders.all() {
            session
                .app
                .set_editor_settings(EditorSettings::Current(settings.clone()));
            session.tell_problems_of_settings();
        }
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        for folder in params.event.removed {
            if let Some(session) = self.folders.remove(folder.uri.as_str()) {
                session.leave();
                tokio::spawn(async move { session.park().await });
            }
        }
        let Some(greeting) = self.greeting.get() else {
            return;
        };
        for folder in params.event.added {
            let uri = folder.uri.as_str();
            let Some(root) = Root::from_uri(uri).filter(|_| !self.folders.has(uri)) else {
                continue;
            };
            match self.open(root, greeting) {
                Ok(session) if greeting.has_begun.load(Ordering::SeqCst) => session.begin(),
                Ok(_) => {}
                Err(why) => {
                    let message = format!("Outrigger: failed to open {uri}: {}", why.message);
                    self.editor.notify::<ShowMessage>(ShowMessageParams {
                        typ: MessageType::ERROR,
                        message,
                    });
                }
            }
        }
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.files_changed(params.changes.iter().map(|change| change.uri.as_str()));
    }

    async fn did_create_files(&self, params: CreateFilesParams) {
        self.files_changed(params.files.iter().map(|file| file.uri.as_str()));
    }

    async fn did_rename_files(&self, params: RenameFilesParams) {
        let both = params
            .files
            .iter()
            .flat_map(|file| [&file.old_uri, &file.new_uri]);
        self.files_changed(both.map(String::as_str));
    }

    async fn did_delete_files(&self, params: DeleteFilesParams) {
        self.files_changed(params.files.iter().map(|file| file.uri.as_str()));
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
        let command = commands::read(&params.command, params.arguments)
            .map_err(|why| error(ErrorKind::InvalidParams, why))?;
        methods::execute(&self.folders, command).await.map(Some)
    }
}

/// The workspace folders, else the root, else the folder in which we were started, which is how simple clients say it.
fn find_roots(params: &InitializeParams) -> Result<Vec<Root>> {
    let folders = params.workspace_folders.iter().flatten();
    let mut named: Vec<&Uri> = folders.map(|folder| &folder.uri).collect();
    #[expect(deprecated, reason = "older clients name no workspace folders")]
    if named.is_empty() {
        named.extend(params.root_uri.as_ref());
    }
    let mut roots: Vec<Root> = Vec::new();
    for uri in named {
        match Root::from_uri(uri.as_str()) {
            Some(root) if roots.iter().any(|known| known.is_at(uri.as_str())) => drop(root),
            Some(root) => roots.push(root),
            // Of several, those that are elsewhere (on another machine, in memory) are not ours to serve.
            None => tracing::warn!("{} is not a folder on this machine's disk", uri.as_str()),
        }
    }
    if !roots.is_empty() {
        return Ok(roots);
    }
    #[expect(deprecated, reason = "older clients name no workspace folders")]
    let elsewhere = params.root_uri.as_ref().or_else(|| {
        let folders = params.workspace_folders.as_ref()?;
        folders.first().map(|folder| &folder.uri)
    });
    if let Some(uri) = elsewhere {
        let message = format!("{} is not a folder on this machine's disk", uri.as_str());
        return Err(error(ErrorKind::NoWorkspace, message));
    }
    let folder = std::env::current_dir().ok();
    let folder = folder
        .as_deref()
        .and_then(Path::to_str)
        .filter(|folder| *folder != "/");
    let root =
        folder.map(|folder| Root::from_path(&folder.replace(std::path::MAIN_SEPARATOR, "/")));
    root.map(|root| vec![root]).ok_or_else(|| {
        error(
            ErrorKind::NoWorkspace,
            "the editor names no workspace folder; open one",
        )
    })
}
