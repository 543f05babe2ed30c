//! Carries messages between two byte streams and a language service.
//!
//! Owns the reader thread, the writer thread and the loop between them. Promises:
//! * Reading waits for nothing but the loop, and the loop waits neither for writing nor for handlers. A handler that asks
//!   the editor something cannot stop the answer from coming in.
//! * A handler runs up to its first pending await in the order in which its message arrived, before any later message.
//! * A panic in a handler is answered as an internal error and the process lives.
//! * What was sent before a reply, is written before it.
//! * It ends, whatever handlers do, within [`PARK_TIME`] and [`FLUSH_TIME`] of the reason to end; within 100 ms on a
//!   machine whose disk is not choking.

use std::any::Any;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::sink::SinkExt;
use futures::stream::{FusedStream, StreamExt};
use futures::task::noop_waker_ref;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower::Service;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};
use tower_lsp::{ClientSocket, ExitedError, LanguageServer, LspService};

use super::ending::{self, Ending};
use super::framing::{Decoder, Fault, encode};
use super::message::{self, Incoming};
use super::outbox::{Outbox, Outgoing};

/// How long the owner may take to park what is running. It takes some 10 ms; this is for a disk that makes the owner wait
/// in the middle of a record, when leaving at once would leave the run's processes behind.
pub const PARK_TIME: Duration = Duration::from_millis(500);

/// How long the last messages may take to be written, once there are no more.
pub const FLUSH_TIME: Duration = Duration::from_millis(20);

/// Messages read ahead of the loop.
const READ_AHEAD: usize = 64;

/// Bytes asked of the input at once.
const CHUNK: usize = 64 * 1024;

/// A buffer larger than this is given back after use, in bytes.
const KEPT_BUFFER: usize = 1024 * 1024;

/// The two ends of the stream to the editor, and the longest body accepted from it, in bytes.
pub struct Wires<R, W> {
    pub input: R,
    pub output: W,
    pub body_limit: usize,
}

/// Serves until there is a reason to end, lets `park` do its part for at most [`PARK_TIME`], and gives the reason.
/// Threads that still wait for the streams are left behind: the caller is expected to end the process.
pub async fn serve<S, R, W, P>(
    wires: Wires<R, W>,
    service: LspService<S>,
    socket: ClientSocket,
    park: P,
) -> Ending
where
    S: LanguageServer,
    R: Read + Send + 'static,
    W: Write + Send + 'static,
    P: AsyncFnOnce(&Ending),
{
    let outbox = Arc::new(Outbox::default());
    let (frames, mut incoming) = mpsc::channel(READ_AHEAD);
    let (written, mut writer_end) = oneshot::channel();
    let Wires {
        input,
        output,
        body_limit,
    } = wires;
    let reader = move || read_all(input, body_limit, &frames);
    let writer_box = Arc::clone(&outbox);
    let writer = move || {
        // Nobody listens when the loop has gone already.
        let _ = written.send(write_all(output, &writer_box));
    };
    let threads = thread::Builder::new()
        .name("lsp-read".into())
        .spawn(reader)
        .and_then(|_| {
            thread::Builder::new()
                .name("lsp-write".into())
                .spawn(writer)
        });
    if let Err(error) = threads {
        return Ending::OutputClosed(error.to_string());
    }

    let mut exchange = Exchange {
        service,
        socket,
        outbox,
        running: JoinSet::new(),
        shutdown_asked: false,
        parent: None,
    };
    let ending = exchange.run(&mut incoming, &mut writer_end).await;
    ending.tell();
    exchange.running.abort_all();
    // A slow owner is cut off: what it did not finish is settled by the records at the next start.
    let _ = timeout(PARK_TIME, park(&ending)).await;
    exchange.pass_on_calls();
    exchange.outbox.close();
    if !matches!(ending, Ending::OutputClosed(_)) {
        let _ = timeout(FLUSH_TIME, writer_end).await;
    }
    ending
}

/// What the reader thread hands over.
enum Frame {
    Message(Incoming),
    /// Nothing follows.
    End(Result<(), Fault>),
}

/// Reads until the stream ends, cannot be cut any more, or nobody listens.
fn read_all<R: Read>(mut input: R, body_limit: usize, frames: &mpsc::Sender<Frame>) {
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
                    let read = Frame::Message(message::read(&body));
                    drop(body);
                    if frames.blocking_send(read).is_err() {
                        return;
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
    // Nobody listens when the loop has gone already.
    let _ = frames.blocking_send(Frame::End(end));
}

/// Writes what the outbox holds until it is closed, flushing once for all that waited.
fn write_all<W: Write>(mut output: W, outbox: &Outbox) -> io::Result<()> {
    let mut body = Vec::new();
    let mut bytes = Vec::new();
    while let Some(messages) = outbox.take() {
        for message in messages {
            body.clear();
            serde_json::to_writer(&mut body, &message)?;
            encode(&body, &mut bytes);
            if bytes.len() >= CHUNK {
                output.write_all(&bytes)?;
                bytes.clear();
            }
        }
        output.write_all(&bytes)?;
        output.flush()?;
        bytes.clear();
        bytes.shrink_to(KEPT_BUFFER);
        body.shrink_to(KEPT_BUFFER);
    }
    Ok(())
}

/// The loop's own state.
struct Exchange<S> {
    service: LspService<S>,
    /// Gives what our side sends to the editor; takes the editor's replies.
    socket: ClientSocket,
    outbox: Arc<Outbox>,
    running: JoinSet<Finished>,
    shutdown_asked: bool,
    parent: Option<BoxFuture<'static, ()>>,
}

/// What a handler came to.
struct Finished {
    id: Option<Id>,
    method: String,
    outcome: Result<Result<Option<Response>, ExitedError>, Box<dyn Any + Send>>,
}

impl<S: LanguageServer> Exchange<S> {
    async fn run(
        &mut self,
        incoming: &mut mpsc::Receiver<Frame>,
        writer_end: &mut oneshot::Receiver<io::Result<()>>,
    ) -> Ending {
        let mut told_to_end = std::pin::pin!(ending::told_to_end());
        loop {
            tokio::select! {
                frame = incoming.recv() => {
                    if let Some(ending) = self.take_frame(frame) {
                        return ending;
                    }
                }
                Some(call) = self.socket.next() => {
                    self.outbox.put(Outgoing::Call(call));
                    self.pass_on_calls();
                }
                Some(finished) = self.running.join_next() => {
                    if let Ok(finished) = finished {
                        self.finish(finished);
                    }
                }
                written = &mut *writer_end => return Ending::OutputClosed(match written {
                    Ok(Err(error)) => error.to_string(),
                    Ok(Ok(())) | Err(_) => "the writer stopped".to_owned(),
                }),
                () = wait_for(&mut self.parent) => return Ending::ParentDied,
                signal = &mut told_to_end => return Ending::Signal(signal),
            }
        }
    }

    fn take_frame(&mut self, frame: Option<Frame>) -> Option<Ending> {
        match frame {
            Some(Frame::Message(Incoming::Reply(reply))) => {
                // Fails only after the end, when nobody waits for replies.
                let _ = self.socket.start_send_unpin(reply);
                None
            }
            Some(Frame::Message(Incoming::Refused(answer))) => {
                tracing::warn!(?answer, "refused a message of the editor");
                self.reply(answer);
                None
            }
            Some(Frame::Message(Incoming::Call(call))) => self.take_call(call),
            Some(Frame::End(Err(fault))) => {
                let error = Error {
                    code: ErrorCode::ParseError,
                    message: fault.to_string().into(),
                    data: None,
                };
                self.reply(Response::from_error(Id::Null, error));
                Some(Ending::Desynchronised(fault))
            }
            Some(Frame::End(Ok(()))) | None => Some(Ending::EndOfInput),
        }
    }

    fn take_call(&mut self, call: Request) -> Option<Ending> {
        match call.method() {
            "initialize" if self.parent.is_none() => {
                let parent = call.params().and_then(|params| params.get("processId"));
                if let Some(process) = parent.and_then(Value::as_u64) {
                    self.parent = Some(ending::died(process).boxed());
                }
            }
            "shutdown" => self.shutdown_asked = true,
            "exit" => {
                // The socket gives nothing any more once the service has seen it.
                self.pass_on_calls();
                self.start(call);
                return Some(Ending::Exit {
                    after_shutdown: self.shutdown_asked,
                });
            }
            _ => {}
        }
        self.start(call);
        None
    }

    /// Runs the handler up to its first pending await; the rest goes on by itself.
    fn start(&mut self, call: Request) {
        let id = call.id().cloned();
        let method = call.method().to_owned();
        let service = &mut self.service;
        let started = catch_unwind(AssertUnwindSafe(|| service.call(call)));
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
        match handler.poll_unpin(&mut Context::from_waker(noop_waker_ref())) {
            Poll::Ready(outcome) => self.finish(Finished {
                id,
                method,
                outcome,
            }),
            Poll::Pending => {
                self.running.spawn(async move {
                    let outcome = handler.await;
                    Finished {
                        id,
                        method,
                        outcome,
                    }
                });
            }
        }
    }

    fn finish(&mut self, finished: Finished) {
        let Finished {
            id,
            method,
            outcome,
        } = finished;
        match outcome {
            Ok(Ok(Some(reply))) => self.reply(reply),
            Ok(Ok(None) | Err(ExitedError { .. })) => {}
            Err(panic) => {
                let what = panic_text(panic.as_ref());
                tracing::error!(method, "a handler panicked: {what}");
                if let Some(id) = id {
                    self.forget(&id);
                    let error = Error {
                        code: ErrorCode::InternalError,
                        message: format!("failed to handle `{method}`: internal error: {what}")
                            .into(),
                        data: None,
                    };
                    self.reply(Response::from_error(id, error));
                }
            }
        }
    }

    /// Lets the service forget a request whose handler panicked, so that its id can be used again.
    fn forget(&mut self, id: &Id) {
        let cancel = Request::build("$/cancelRequest").params(json!({ "id": id }));
        let _ = self.service.call(cancel.finish()).now_or_never();
    }

    /// What handlers sent before the reply goes before it.
    fn reply(&mut self, reply: Response) {
        self.pass_on_calls();
        self.outbox.put(Outgoing::Reply(reply));
    }

    fn pass_on_calls(&mut self) {
        while !self.socket.is_terminated()
            && let Some(Some(call)) = self.socket.next().now_or_never()
        {
            self.outbox.put(Outgoing::Call(call));
        }
    }
}

async fn wait_for(event: &mut Option<BoxFuture<'static, ()>>) {
    match event {
        Some(event) => event.await,
        None => std::future::pending().await,
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

#[cfg(test)]
mod tests {
    use super::*;
    use lsp_types::{InitializeParams, InitializeResult};
    use std::time::Instant;
    use tower_lsp::Client;
    use tower_lsp::jsonrpc::Result as RpcResult;

    struct Idle;

    impl LanguageServer for Idle {
        async fn initialize(&self, _: InitializeParams) -> RpcResult<InitializeResult> {
            Ok(InitializeResult::default())
        }
        async fn shutdown(&self) -> RpcResult<()> {
            Ok(())
        }
    }

    /// Serves `input` from memory, then the end of input; gives the ending and all that was written.
    async fn serve_all(
        input: &'static [u8],
        park: impl AsyncFnOnce(Client, Ending),
    ) -> (Ending, String) {
        let (mut written, output) = io::pipe().unwrap();
        let mut kept = None;
        let (service, socket) = LspService::new(|client| {
            kept = Some(client);
            Idle
        });
        let client = kept.unwrap();
        let wires = Wires {
            input,
            output,
            body_limit: 1_000,
        };
        let ending = serve(wires, service, socket, async |ending: &Ending| {
            park(client, ending.clone()).await;
        })
        .await;
        let mut text = String::new();
        written.read_to_string(&mut text).unwrap();
        (ending, text)
    }

    #[tokio::test]
    async fn the_owner_parks_once_and_its_last_words_are_written() {
        let mut heard = Vec::new();
        let (ending, text) = serve_all(b"", async |client, ending| {
            heard.push(ending);
            client
                .show_message(lsp_types::MessageType::INFO, "parked")
                .await;
        })
        .await;
        assert_eq!(ending, Ending::EndOfInput);
        assert_eq!(heard, [Ending::EndOfInput]);
        assert!(text.contains("parked"), "{text}");
    }

    #[tokio::test]
    async fn an_owner_that_hangs_is_cut_off() {
        let start = Instant::now();
        let (ending, text) = serve_all(b"X: 1\r\n\r\n", async |_, _| {
            std::future::pending::<()>().await;
        })
        .await;
        assert_eq!(ending, Ending::Desynchronised(Fault::NoLength));
        assert!(text.contains("-32700"), "{text}");
        assert!(start.elapsed() >= PARK_TIME);
    }
}
