//! The way in: reads messages, and runs their handlers as far as they go without waiting, on the thread that reads.

use std::any::Any;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::future::FutureExt;
use futures::sink::{Sink, SinkExt};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tower::Service;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};
use tower_lsp::{ExitedError, LanguageServer, LspService};

use super::super::ending::Ending;
use super::super::framing::Decoder;
use super::super::mend;
use super::super::message::{self, Incoming};
use super::outgoing::{Output, Sender};

/// Bytes asked of the input at once.
const CHUNK: usize = 64 * 1024;

/// What the reading thread tells the one that waits for the end.
pub enum News {
    /// `initialize` named the editor's process.
    Parent(u64),
    Ended(Ending),
}

/// Takes the editor's replies to our requests.
pub type Replies = Pin<Box<dyn Sink<Response, Error = ExitedError> + Send>>;

/// Shared by the reading thread and the handlers that wait.
pub struct Exchange<S, W> {
    pub service: Mutex<LspService<S>>,
    pub replies: Mutex<Replies>,
    pub sender: Arc<Sender<W>>,
    /// Handlers that wait for something.
    pub running: Mutex<JoinSet<()>>,
    pub runtime: Handle,
    /// Nothing more is to be handled.
    pub is_over: AtomicBool,
}

/// What the reading thread alone knows.
struct Progress {
    shutdown_asked: bool,
    initialized: bool,
    news: mpsc::UnboundedSender<News>,
}

/// What a handler came to.
struct Finished {
    id: Option<Id>,
    method: String,
    outcome: Result<Result<Option<Response>, ExitedError>, Box<dyn Any + Send>>,
}

impl<S: LanguageServer, W: Output> Exchange<S, W> {
    /// Reads until the stream ends or cannot be cut any more, or there is another reason to end.
    pub fn read_all<R: Read>(
        self: &Arc<Self>,
        input: R,
        body_limit: usize,
        news: mpsc::UnboundedSender<News>,
    ) {
        // Handlers begin on this thread.
        let _runtime = self.runtime.enter();
        let mut progress = Progress {
            shutdown_asked: false,
            initialized: false,
            news,
        };
        if let Some(ending) = self.read(input, body_limit, &mut progress) {
            // Nobody listens when there was another reason to end.
            let _ = progress.news.send(News::Ended(ending));
        }
    }

    /// `None`: it was over for another reason.
    fn read<R: Read>(
        self: &Arc<Self>,
        mut input: R,
        body_limit: usize,
        progress: &mut Progress,
    ) -> Option<Ending> {
        let mut decoder = Decoder::new(body_limit);
        let mut chunk = vec![0; CHUNK];
        let end = loop {
            let got = match input.read(&mut chunk) {
                Ok(0) => break decoder.end(),
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::warn!("failed to read from the editor: {error}");
                    break decoder.end();
                }
            };
            let mut rest = chunk.get(..got).unwrap_or_default();
            let fault = loop {
                match decoder.next_body(&mut rest) {
                    Ok(Some(body)) => {
                        let message = message::read(&body);
                        drop(body);
                        if self.is_over.load(Ordering::Acquire) {
                            return None;
                        }
                        if let Some(ending) = self.take(message, progress) {
                            return Some(ending);
                        }
                    }
                    Ok(None) => break None,
                    Err(fault) => break Some(fault),
                }
            };
            if let Some(fault) = fault {
                break Err(fault);
            }
        };
        let Err(fault) = end else {
            return Some(Ending::EndOfInput);
        };
        let error = Error {
            code: ErrorCode::ParseError,
            message: fault.to_string().into(),
            data: None,
        };
        self.sender.reply(Response::from_error(Id::Null, error));
        Some(Ending::Desynchronised(fault))
    }

    fn take(self: &Arc<Self>, message: Incoming, progress: &mut Progress) -> Option<Ending> {
        match message {
            Incoming::Reply(reply) => {
                // Fails only after the end, when nobody waits for replies.
                let _ = lock(&self.replies).start_send_unpin(reply);
                None
            }
            Incoming::Refused(answer) => {
                tracing::warn!(?answer, "refused a message of the editor");
                self.sender.reply(answer);
                None
            }
            Incoming::Call(call) => self.take_call(call, progress),
        }
    }

    fn take_call(self: &Arc<Self>, call: Request, progress: &mut Progress) -> Option<Ending> {
        match call.method() {
            "initialize" if !progress.initialized => {
                progress.initialized = true;
                let parent = call.params().and_then(|params| params.get("processId"));
                if let Some(process) = parent.and_then(Value::as_u64) {
                    let _ = progress.news.send(News::Parent(process));
                }
            }
            "shutdown" => progress.shutdown_asked = true,
            "exit" => {
                // Our side can say nothing any more once the service has seen it.
                self.sender.pass_on_calls();
                // Nor is anybody left to hear that what waits is cancelled.
                self.end();
                self.start(call);
                return Some(Ending::Exit {
                    after_shutdown: progress.shutdown_asked,
                });
            }
            _ => {}
        }
        self.start(call);
        None
    }

    /// Runs the handler up to its first pending await; the rest goes on by itself.
    fn start(self: &Arc<Self>, call: Request) {
        let id = call.id().cloned();
        let method = call.method().to_owned();
        let started = catch_unwind(AssertUnwindSafe(|| lock(&self.service).call(call)));
        let mut handler = match started {
            Ok(handler) => AssertUnwindSafe(handler).catch_unwind(),
            Err(panic) => {
                let outcome = Err(panic);
                return self.finish(Finished {
                    id,
                    method,
                    outcome,
                });
            }
        };
        // A task polls again at once and registers its own waker, so this one need not wake anybody.
        match handler.poll_unpin(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => self.finish(Finished {
                id,
                method,
                outcome,
            }),
            // Its reply must not be lost to an `exit` that follows at once and ends what waits. It waits for our own side
            // only, and not for long; nothing else that may come now has to be read before.
            Poll::Pending if method == "shutdown" => {
                let outcome = self.runtime.block_on(handler);
                self.finish(Finished {
                    id,
                    method,
                    outcome,
                });
            }
            Poll::Pending => {
                let exchange = Arc::clone(self);
                let rest = async move {
                    let outcome = handler.await;
                    exchange.finish(Finished {
                        id,
                        method,
                        outcome,
                    });
                };
                let mut running = lock(&self.running);
                while running.try_join_next().is_some() {}
                // None is begun after all were told to end.
                if !self.is_over.load(Ordering::Acquire) {
                    running.spawn_on(rest, &self.runtime);
                }
            }
        }
    }

    fn finish(&self, finished: Finished) {
        let Finished {
            id,
            method,
            outcome,
        } = finished;
        match (outcome, id) {
            (Ok(Ok(Some(reply))), _) => self.sender.reply(mend::reply(&method, reply)),
            // The service knows no such method and keeps silent about those that begin with `$/`; but whoever asks waits.
            (Ok(Ok(None)), Some(id)) => {
                let error = Error {
                    data: Some(Value::String(method)),
                    ..Error::method_not_found()
                };
                self.sender.reply(Response::from_error(id, error));
            }
            (Ok(Ok(None) | Err(ExitedError { .. })), _) => {}
            (Err(panic), id) => {
                let what = panic_text(panic.as_ref());
                tracing::error!(method, "a handler panicked: {what}");
                if let Some(id) = id {
                    self.forget(&id);
                    let why = format!("failed to handle `{method}`: internal error: {what}");
                    let error = Error {
                        code: ErrorCode::InternalError,
                        message: why.into(),
                        data: None,
                    };
                    self.sender.reply(Response::from_error(id, error));
                }
            }
        }
    }

    /// Lets the service forget a request whose handler panicked, so that its id can be used again.
    fn forget(&self, id: &Id) {
        let cancel = Request::build("$/cancelRequest").params(json!({ "id": id }));
        let _ = lock(&self.service).call(cancel.finish()).now_or_never();
    }

    /// Ends what waits, and lets nothing begin.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        lock(&self.running).abort_all();
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "panic without a message"
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here panics half-way through a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
