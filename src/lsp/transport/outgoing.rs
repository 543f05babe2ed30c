//! The way out: what our side sends, in one order, to the editor.
//!
//! A short answer goes out from the thread that has it, when nothing is before it and the editor's end has room: two
//! threads less in every round trip. Everything else waits in the [`Outbox`] for the writer thread, the only one that may
//! ever be held up by an editor that does not read.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::stream::{FusedStream, StreamExt};
use tower_lsp::jsonrpc::{Request, Response};

use super::super::framing::encode;
use super::super::outbox::{Outbox, Outgoing};

/// Bytes written at once when many messages wait.
const BATCH: usize = 64 * 1024;

/// A buffer larger than this is given back after use, in bytes.
const KEPT_BUFFER: usize = 1024 * 1024;

/// What fits into a pipe that has room at all, so that writing it waits for nobody.
#[cfg(unix)]
const SHORT: usize = rustix::pipe::PIPE_BUF;
#[cfg(not(unix))]
const SHORT: usize = 0;

/// Where frames are written.
pub trait Output: Write + Send + 'static {
    /// Whether a write of [`SHORT`] bytes would wait for nobody.
    fn has_room(&self) -> bool;
}

#[cfg(unix)]
impl<W: Write + std::os::fd::AsFd + Send + 'static> Output for W {
    fn has_room(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let mut handles = [PollFd::new(self, PollFlags::OUT)];
        let now = Timespec::default();
        // An end that is closed or broken is the writer thread's to find out.
        poll(&mut handles, Some(&now)).is_ok_and(|_| {
            let [handle] = &handles;
            handle.revents() == PollFlags::OUT
        })
    }
}

#[cfg(not(unix))]
impl<W: Write + Send + 'static> Output for W {
    fn has_room(&self) -> bool {
        false
    }
}

/// Shared by all who send.
pub struct Sender<W> {
    /// Whoever holds it is the only one who adds to the outbox.
    calls: Mutex<Calls>,
    outbox: Outbox,
    /// Held while writing; by the writer thread for as long as the editor makes it wait.
    writing: Mutex<Writing<W>>,
}

/// What our side says unasked, on its way.
struct Calls {
    stream: Pin<Box<dyn FusedStream<Item = Request> + Send>>,
    /// Of the task that waits for more of them: nobody else may leave it without being woken.
    waker: Waker,
}

struct Writing<W> {
    output: W,
    body: Vec<u8>,
    bytes: Vec<u8>,
}

impl<W: Output> Sender<W> {
    pub fn new(output: W, calls: impl FusedStream<Item = Request> + Send + 'static) -> Self {
        Self {
            calls: Mutex::new(Calls {
                stream: Box::pin(calls),
                waker: Waker::noop().clone(),
            }),
            outbox: Outbox::default(),
            writing: Mutex::new(Writing {
                output,
                body: Vec::new(),
                bytes: Vec::new(),
            }),
        }
    }

    /// Sends an answer. What handlers sent before it, goes before it. Never waits for the editor.
    pub fn reply(&self, reply: Response) {
        let reply = Outgoing::Reply(reply);
        let mut calls = lock(&self.calls);
        self.pass_on(&mut calls);
        // While `calls` is held nobody else sends, so nothing can come between looking and writing.
        if let Ok(mut writing) = self.writing.try_lock()
            && self.outbox.is_empty()
            && writing.at_once(&reply)
        {
            return;
        }
        self.outbox.put(reply);
    }

    /// Sends what our side has to say so far.
    pub fn pass_on_calls(&self) {
        self.pass_on(&mut lock(&self.calls));
    }

    /// Sends what our side has to say, for ever.
    pub async fn keep_passing_on(&self) {
        std::future::poll_fn(|context: &mut Context<'_>| {
            let mut calls = lock(&self.calls);
            calls.waker.clone_from(context.waker());
            self.pass_on(&mut calls);
            Poll::<()>::Pending
        })
        .await;
    }

    fn pass_on(&self, calls: &mut Calls) {
        let mut context = Context::from_waker(&calls.waker);
        while !calls.stream.is_terminated()
            && let Poll::Ready(Some(call)) = calls.stream.poll_next_unpin(&mut context)
        {
            self.outbox.put(Outgoing::Call(call));
        }
    }

    /// Nothing will follow; the writer ends when it has written the rest.
    pub fn close(&self) {
        self.pass_on_calls();
        self.outbox.close();
    }

    /// Writes what the outbox holds until it is closed, flushing once for all that waited.
    ///
    /// # Errors
    /// The editor no longer takes it.
    pub fn write_all(&self) -> io::Result<()> {
        while self.outbox.wait() {
            let mut writing = lock(&self.writing);
            writing.all(self.outbox.take())?;
        }
        Ok(())
    }
}

impl<W: Output> Writing<W> {
    /// Writes a short message if that waits for nobody; whether it is written.
    fn at_once(&mut self, message: &Outgoing) -> bool {
        self.body.clear();
        self.bytes.clear();
        let mut short = Short(&mut self.body);
        if SHORT == 0 || serde_json::to_writer(&mut short, message).is_err() {
            return false;
        }
        encode(&self.body, &mut self.bytes);
        // A write that fails is tried again by the writer thread, whose failure ends the process.
        self.bytes.len() <= SHORT
            && self.output.has_room()
            && self.output.write_all(&self.bytes).is_ok()
    }

    fn all(&mut self, messages: Vec<Outgoing>) -> io::Result<()> {
        let Self {
            output,
            body,
            bytes,
        } = self;
        bytes.clear();
        for message in messages {
            body.clear();
            serde_json::to_writer(&mut *body, &message)?;
            encode(body, bytes);
            if bytes.len() >= BATCH {
                output.write_all(bytes)?;
                bytes.clear();
            }
        }
        output.write_all(bytes)?;
        output.flush()?;
        bytes.clear();
        bytes.shrink_to(KEPT_BUFFER);
        body.clear();
        body.shrink_to(KEPT_BUFFER);
        Ok(())
    }
}

/// Takes as much as may be short, and refuses the rest: a long answer costs whoever has it no more than a short one.
struct Short<'a>(&'a mut Vec<u8>);

impl Write for Short<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > SHORT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic in between loses a message at most.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use futures::channel::mpsc;
    use serde_json::json;
    use std::io::Read;
    use std::sync::Arc;

    fn reply(id: i64, text: &str) -> Response {
        Response::from_ok(id.into(), json!(text))
    }

    fn frame(id: i64, text: &str) -> String {
        let body = format!("{{\"jsonrpc\":\"2.0\",\"result\":\"{text}\",\"id\":{id}}}");
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn a_short_answer_needs_no_writer_thread_and_a_long_one_does() {
        let (mut read, write) = io::pipe().unwrap();
        let sender = Sender::new(write, futures::stream::empty().fuse());
        sender.reply(reply(1, "é"));
        let want = frame(1, "é");
        let mut got = vec![0; want.len()];
        read.read_exact(&mut got).unwrap();
        assert_eq!(String::from_utf8(got).unwrap(), want);

        let long = "x".repeat(SHORT);
        sender.reply(reply(2, &long));
        // Short, but behind the long one.
        sender.reply(reply(3, "y"));
        assert!(!sender.outbox.is_empty());
        sender.close();
        sender.write_all().unwrap();
        drop(sender);
        let mut got = String::new();
        read.read_to_string(&mut got).unwrap();
        assert_eq!(got, frame(2, &long) + &frame(3, "y"));
    }

    #[test]
    fn an_editor_that_does_not_read_holds_up_nobody_who_answers() {
        let (mut read, write) = io::pipe().unwrap();
        let sender = Arc::new(Sender::new(write, futures::stream::empty().fuse()));
        let text = "z".repeat(1_000);
        let count = 2_000;
        for id in 0..count {
            sender.reply(reply(id, &text));
        }
        // Here the pipe is full: what did not fit, waits.
        assert!(!sender.outbox.is_empty());
        sender.close();
        let writer = {
            let sender = Arc::clone(&sender);
            std::thread::spawn(move || sender.write_all())
        };
        let want: String = (0..count).map(|id| frame(id, &text)).collect();
        let mut got = vec![0; want.len()];
        read.read_exact(&mut got).unwrap();
        assert!(
            String::from_utf8(got).unwrap() == want,
            "in order and whole"
        );
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn what_was_said_before_an_answer_goes_before_it() {
        let (mut read, write) = io::pipe().unwrap();
        let (mut said, calls) = mpsc::channel(8);
        let sender = Sender::new(write, calls);
        said.try_send(Request::build("a/b").finish()).unwrap();
        sender.reply(reply(1, "x"));
        sender.close();
        sender.write_all().unwrap();
        drop((sender, said));
        let mut got = String::new();
        read.read_to_string(&mut got).unwrap();
        let call = got.find("a/b").unwrap();
        assert!(call < got.find("result").unwrap(), "{got}");
    }

    #[test]
    fn a_closed_end_is_found_out_by_the_writer() {
        let (read, write) = io::pipe().unwrap();
        drop(read);
        let sender = Sender::new(write, futures::stream::empty().fuse());
        sender.reply(reply(1, "x"));
        assert!(!sender.outbox.is_empty());
        sender.close();
        let error = sender.write_all().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
