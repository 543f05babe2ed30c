//! The workspace folders of one editor: for each a session with an app and state of its own.
//!
//! Promises: a file belongs to the innermost folder that holds it; what names a run or a question goes to the folder in
//! which the run is; what names neither goes to the only folder, or is refused with the folders to choose from. With one
//! folder, as most editors have, all of this is that folder.

use std::sync::{Arc, PoisonError, RwLock};

use tower_lsp::jsonrpc::Result;

use super::errors::error;
use super::session::Session;
use crate::kernel::ids::{QuestionId, RunId};
use crate::kernel::path::RelPath;
use crate::protocol::error::ErrorKind;

/// In the order in which the editor named them.
#[derive(Default)]
pub struct Folders {
    sessions: RwLock<Vec<Arc<Session>>>,
}

impl Folders {
    pub fn all(&self) -> Vec<Arc<Session>> {
        // A list is swapped whole: no panic leaves half of one.
        let sessions = self.sessions.read();
        sessions.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn add(&self, session: Arc<Session>) {
        let mut sessions = self
            .sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        sessions.push(session);
    }

    /// Takes the folder with this URI off the list.
    pub fn remove(&self, uri: &str) -> Option<Arc<Session>> {
        let mut sessions = self
            .sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let at = sessions
            .iter()
            .position(|session| session.root.is_at(uri))?;
        Some(sessions.remove(at))
    }

    /// Whether a folder is there under this URI.
    pub fn has(&self, uri: &str) -> bool {
        self.all().iter().any(|session| session.root.is_at(uri))
    }

    /// The file that a URI names; `None` for files outside, which do not concern us.
    pub fn file(&self, uri: &str) -> Option<(Arc<Session>, RelPath)> {
        let sessions = self.all().into_iter();
        let holding = sessions.filter_map(|session| {
            let path = session.root.relative(uri)?;
            Some((session, path))
        });
        holding.max_by_key(|(session, _)| session.root.path().len())
    }

    /// The first folder.
    ///
    /// # Errors
    /// None is open.
    pub fn first(&self) -> Result<Arc<Session>> {
        let sessions = self.all();
        sessions.into_iter().next().ok_or_else(no_folder)
    }

    /// The folder of a run. Of one that is nowhere, the first, which will say so.
    ///
    /// # Errors
    /// No folder is open.
    pub fn of_run(&self, run: &RunId) -> Result<Arc<Session>> {
        let sessions = self.all();
        if sessions.len() > 1 {
            let knows = |session: &&Arc<Session>| session.app.has_trace_of(run);
            if let Some(session) = sessions.iter().find(knows) {
                return Ok(Arc::clone(session));
            }
        }
        sessions.into_iter().next().ok_or_else(no_folder)
    }

    /// The folder of a question.
    ///
    /// # Errors
    /// No folder is open.
    pub fn of_question(&self, question: &QuestionId) -> Result<Arc<Session>> {
        let asked = self
            .all()
            .into_iter()
            .find(|session| session.open_question(question).is_some());
        match (asked, question.as_str().rsplit_once(".q")) {
            (Some(session), _) => Ok(session),
            (None, Some((run, _))) => self.of_run(&RunId::new(run)),
            (None, None) => self.first(),
        }
    }

    /// The folder that a client names by URI, path or last name; the only one when it names none.
    ///
    /// # Errors
    /// None has that name, or several could be meant.
    pub fn named(&self, name: Option<&str>) -> Result<Arc<Session>> {
        let sessions = self.all();
        let Some(name) = name else {
            return match sessions.as_slice() {
                [] => Err(no_folder()),
                [session] => Ok(Arc::clone(session)),
                [..] => Err(refused("several folders are open; name one", &sessions)),
            };
        };
        let is_meant = |session: &&Arc<Session>| {
            let root = &session.root;
            let path = root.path();
            root.is_at(name) || path == name.trim_end_matches('/') || last_name(path) == name
        };
        let meant: Vec<&Arc<Session>> = sessions.iter().filter(is_meant).collect();
        match meant.as_slice() {
            [session] => Ok(Arc::clone(session)),
            [] => Err(refused(
                &format!("`{name}` is none of the open folders"),
                &sessions,
            )),
            [..] => Err(refused(
                &format!("`{name}` is the name of several folders"),
                &sessions,
            )),
        }
    }

    /// The folder in which a relative path is meant: the only one that has such a file.
    ///
    /// # Errors
    /// Several have one, or none.
    pub fn of_relative(&self, path: &RelPath) -> Result<Arc<Session>> {
        let sessions = self.all();
        if let [session] = sessions.as_slice() {
            return Ok(Arc::clone(session));
        }
        let has_it = |session: &&Arc<Session>| {
            session.version(path).is_some()
                || std::path::Path::new(session.root.path())
                    .join(path.as_str())
                    .exists()
        };
        let holding: Vec<&Arc<Session>> = sessions.iter().filter(has_it).collect();
        match holding.as_slice() {
            [session] => Ok(Arc::clone(session)),
            [] => Err(refused(
                &format!("{path} is in none of the open folders"),
                &sessions,
            )),
            [..] => Err(refused(
                &format!("{path} is in several folders; name one"),
                &sessions,
            )),
        }
    }
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn refused(what: &str, sessions: &[Arc<Session>]) -> tower_lsp::jsonrpc::Error {
    let roots: Vec<&str> = sessions.iter().map(|session| session.root.path()).collect();
    let message = format!("{what} (`folder`): {}", roots.join(", "));
    error(ErrorKind::InvalidParams, message)
}

fn no_folder() -> tower_lsp::jsonrpc::Error {
    error(
        ErrorKind::NoWorkspace,
        "no workspace folder is open; open one and start the server again",
    )
}
