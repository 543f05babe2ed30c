//! Carries messages between two byte streams and a language service.
//!
//! Owns the reader thread, the writer thread and the wait for a reason to end. Promises:
//! * Reading waits neither for writing nor for handlers: each runs up to its first pending await on the thread that reads,
//!   and goes on elsewhere. A handler that asks the editor something cannot stop the answer from coming in.
//! * A handler runs up to its first pending await in the order in which its message arrived, before any later message.
//! * A panic in a handler is answered as an internal error and the process lives.
//! * What was sent before a reply, is written before it.
//! * It ends, whatever handlers do, within [`PARK_TIME`] and [`FLUSH_TIME`] of the reason to end; within 100 ms on a
//!   machine whose disk is not choking.
//!
//! A request that is answered without waiting costs no change of threads: it is read, handled and its reply written by the
//! reader thread, if the way out is free (see [`outgoing`]).

mod exchange;
mod outgoing;

use std::io::{self, Read};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower_lsp::{ClientSocket, LanguageServer, LspService};

use self::exchange::{Exchange, News};
use self::outgoing::{Output, Sender};
use super::ending::{self, Ending};

/// How long the owner may take to park what is running. It takes some 10 ms; this is for a disk that makes the owner wait
/// in the middle of a record, when leaving at once would leave the run's processes behind.
pub const PARK_TIME: Duration = Duration::from_millis(500);

/// How long the last messages may take to be written, once there are no more.
pub const FLUSH_TIME: Duration = Duration::from_millis(20);

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
    W: Output,
    P: AsyncFnOnce(&Ending),
{
    let Wires {
        input,
        output,
        body_limit,
    } = wires;
    let (calls, replies) = socket.split();
    let sender = Arc::new(Sender::new(output, calls));
    let exchange = Arc::new(Exchange {
        service: Mutex::new(service),
        replies: Mutex::new(Box::pin(replies)),
        sender: Arc::clone(&sender),
        running: Mutex::new(JoinSet::new()),
        runtime: Handle::current(),
        is_over: AtomicBool::new(false),
    });
    let (told, news) = mpsc::unbounded_channel();
    let (written, mut writer_end) = oneshot::channel();
    let reading = Arc::clone(&exchange);
    let reader = move || reading.read_all(input, body_limit, told);
    let writing = Arc::clone(&sender);
    let writer = move || {
        // Nobody listens when it has ended already.
        let _ = written.send(writing.write_all());
    };
    let threads = thread::Builder::new()
        .name("lsp-write".into())
        .spawn(writer)
        .and_then(|_| thread::Builder::new().name("lsp-read".into()).spawn(reader));
    if let Err(error) = threads {
        return Ending::OutputClosed(error.to_string());
    }

    let ending = tokio::select! {
        ending = reason_to_end(news, &mut writer_end) => ending,
        () = sender.keep_passing_on() => Ending::OutputClosed("nothing more to say".to_owned()),
    };
    ending.tell();
    exchange.end();
    // A slow owner is cut off: what it did not finish is settled by the records at the next start.
    let _ = timeout(PARK_TIME, park(&ending)).await;
    sender.close();
    if !matches!(ending, Ending::OutputClosed(_)) {
        let _ = timeout(FLUSH_TIME, writer_end).await;
    }
    ending
}

async fn reason_to_end(
    mut news: mpsc::UnboundedReceiver<News>,
    writer_end: &mut oneshot::Receiver<io::Result<()>>,
) -> Ending {
    let mut told_to_end = std::pin::pin!(ending::told_to_end());
    let mut parent: Option<BoxFuture<'static, ()>> = None;
    loop {
        tokio::select! {
            told = news.recv() => match told {
                Some(News::Parent(process)) => parent = Some(ending::died(process).boxed()),
                Some(News::Ended(ending)) => return ending,
                // The reading thread is gone without a word: it panicked outside of a handler.
                None => return Ending::EndOfInput,
            },
            written = &mut *writer_end => return Ending::OutputClosed(match written {
                Ok(Err(error)) => error.to_string(),
                Ok(Ok(())) | Err(_) => "the writer stopped".to_owned(),
            }),
            () = wait_for(&mut parent) => return Ending::ParentDied,
            signal = &mut told_to_end => return Ending::Signal(signal),
        }
    }
}

async fn wait_for(event: &mut Option<BoxFuture<'static, ()>>) {
    match event {
        Some(event) => event.await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::super::framing::Fault;
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
