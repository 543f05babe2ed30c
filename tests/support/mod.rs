//! The one harness of the end-to-end tests: it drives the real binary over stdio as an editor does.
//!
//! Its frame reader is its own and strict, so that the server is not judged by its own code. Everything waits for a fact
//! with a deadline; nothing sleeps. A message that no test claimed fails the test when the editor is dropped.
//!
//! (`mod.rs`, because Cargo takes every other file in `tests` for a test of its own.)

#![allow(dead_code, reason = "each test binary uses a part of the harness")]
#![allow(clippy::expect_used, reason = "a harness fails by panicking")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "`json!` makes values in place"
)]

mod documents;

#[allow(unused_imports, reason = "each test binary uses a part of the harness")]
pub use documents::position;

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long to wait for a fact before the test fails. Long, because machines can be busy; a passing test never waits it out.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// How to start an [`Editor`].
pub struct Start {
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    reading: bool,
    folder: Option<PathBuf>,
    state: Option<PathBuf>,
}

impl Default for Start {
    fn default() -> Self {
        Self {
            arguments: vec!["lsp".into()],
            environment: Vec::new(),
            reading: true,
            folder: None,
            state: None,
        }
    }
}

impl Start {
    /// With the methods by which the transport's tests provoke the server.
    pub fn with_test_methods() -> Self {
        Self::default().env("OUTRIGGER_TEST_METHODS", "1")
    }
    /// Replaces the arguments, `lsp` by default.
    #[must_use]
    pub fn args(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments.iter().map(OsString::from).collect();
        self
    }
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }
    /// The folder in which the server is started: the workspace, unless `initialize` names another. Default: an empty one.
    #[must_use]
    pub fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }
    /// Where the server keeps its state. Default: a folder of its own.
    #[must_use]
    pub fn state(mut self, folder: &Path) -> Self {
        self.state = Some(folder.to_owned());
        self
    }
    /// The editor does not read until [`Editor::start_reading`].
    #[must_use]
    pub fn not_reading(mut self) -> Self {
        self.reading = false;
        self
    }

    /// Starts the binary; nothing is sent yet.
    pub fn start(self) -> Editor {
        let state = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_outrigger"));
        command
            .args(&self.arguments)
            .env_remove("OUTRIGGER_TEST_METHODS")
            .env_remove("OUTRIGGER_MODEL")
            .env("OUTRIGGER_CONFIG", "")
            .env(
                "OUTRIGGER_STATE_DIR",
                self.state.as_deref().unwrap_or(state.path()),
            )
            .envs(self.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let workspace = tempfile::tempdir().expect("a temporary folder");
        command.current_dir(self.folder.as_deref().unwrap_or(workspace.path()));
        let mut child = command.spawn().expect("the binary starts");
        let stderr = child.stderr.take().expect("piped");
        let errors = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&errors);
        let error_reader = std::thread::spawn(move || keep_lines(stderr, &kept));
        let (sender, events) = channel();
        let mut editor = Editor {
            input: child.stdin.take(),
            output: child.stdout.take(),
            child,
            state,
            workspace,
            sender: Some(sender),
            events,
            inbox: VecDeque::new(),
            answers: Vec::new(),
            allowed: HashSet::from(["window/logMessage".to_owned()]),
            next_id: 1,
            initialized: false,
            documents: documents::Documents::default(),
            errors,
            error_reader: Some(error_reader),
        };
        if self.reading {
            editor.start_reading();
        }
        editor
    }

    /// Starts the binary and shakes hands, as a client without any capability.
    pub fn ready(self) -> Editor {
        self.ready_as(json!({ "capabilities": {} })).0
    }

    /// Starts the binary and shakes hands; gives the answer to `initialize` too.
    pub fn ready_as(self, parameters: Value) -> (Editor, Value) {
        let mut editor = self.start();
        let answer = editor.initialize(parameters);
        (editor, answer)
    }
}

enum Event {
    Message(Value),
    /// Something on standard output that is no frame, with what was found.
    Garbage(String),
    Closed,
}

type AnswerTo = Box<dyn FnMut(&Value) -> Value>;

/// An editor that drives the real binary.
pub struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    state: tempfile::TempDir,
    workspace: tempfile::TempDir,
    sender: Option<Sender<Event>>,
    events: Receiver<Event>,
    inbox: VecDeque<Value>,
    answers: Vec<(String, AnswerTo)>,
    allowed: HashSet<String>,
    next_id: i64,
    initialized: bool,
    documents: documents::Documents,
    errors: Arc<Mutex<String>>,
    error_reader: Option<JoinHandle<()>>,
}

impl Editor {
    /// Sends `initialize` and `initialized`; gives the result.
    pub fn initialize(&mut self, parameters: Value) -> Value {
        let result = self.request("initialize", parameters);
        let encoding = result["capabilities"]["positionEncoding"].as_str();
        self.documents.encoding = encoding.unwrap_or("utf-16").to_owned();
        self.notify("initialized", json!({}));
        self.initialized = true;
        result
    }

    /// The server's state folder.
    pub fn state_dir(&self) -> &Path {
        self.state.path()
    }

    /// The folder in which the server was started, unless the test named another.
    pub fn workspace(&self) -> &Path {
        self.workspace.path()
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    // --- sending

    /// Sends bytes as they are.
    ///
    /// # Panics
    /// The server no longer reads.
    pub fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        let written = input.write_all(bytes).and_then(|()| input.flush());
        if let Err(error) = written {
            panic!("failed to write to the server: {error}; {}", self.errors());
        }
    }

    /// Sends a body in a frame.
    pub fn frame(&mut self, body: &[u8]) {
        let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
        bytes.extend_from_slice(body);
        self.raw(&bytes);
    }

    pub fn send(&mut self, message: &Value) {
        self.frame(message.to_string().as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request; gives its id for [`Self::response`].
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// From now on requests are numbered from here.
    pub fn number_requests_from(&mut self, id: i64) {
        self.next_id = id;
    }

    /// Sends a request and waits for its result.
    ///
    /// # Panics
    /// It fails.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        match self.response(id) {
            Ok(result) => result,
            Err(error) => panic!("{method} failed: {error}; {}", self.errors()),
        }
    }

    /// Sends a request and waits for its error.
    ///
    /// # Panics
    /// It succeeds.
    pub fn request_error(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        match self.response(id) {
            Ok(result) => panic!("{method} succeeded: {result}"),
            Err(error) => error,
        }
    }

    /// Answers a request of the server.
    pub fn respond(&mut self, request: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    pub fn respond_error(&mut self, request: &Value, code: i64, message: &str) {
        let error = json!({"code": code, "message": message});
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    }

    // --- receiving

    /// From now on requests with this method are answered by `answer`, which is given the parameters.
    pub fn answer(&mut self, method: &str, answer: impl FnMut(&Value) -> Value + 'static) {
        self.answers.push((method.to_owned(), Box::new(answer)));
    }

    /// Messages with this method need not be claimed.
    pub fn allow(&mut self, method: &str) {
        self.allowed.insert(method.to_owned());
    }

    /// Waits for the response to a request: its result or its error.
    pub fn response(&mut self, id: impl Into<Value>) -> Result<Value, Value> {
        let id = id.into();
        let mut response = self.claim(&format!("a response to {id}"), |message| {
            message.get("method").is_none() && message["id"] == id
        });
        match response.get_mut("error") {
            Some(error) => Err(error.take()),
            None => Ok(response["result"].take()),
        }
    }

    /// Waits for a notification whose parameters satisfy `wanted`; gives the parameters. Others stay unclaimed.
    pub fn notification(&mut self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.claim(&format!("a notification {method}"), |message| {
            message["method"] == method && message.get("id").is_none() && wanted(&message["params"])
        })["params"]
            .take()
    }

    /// Waits for a request of the server; gives the whole message, for [`Self::respond`].
    pub fn server_request(&mut self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.claim(&format!("a request {method}"), |message| {
            message["method"] == method && message.get("id").is_some() && wanted(&message["params"])
        })
    }

    /// Waits for the first message, claimed or not yet seen, that is `wanted`.
    ///
    /// # Panics
    /// It does not come in time, the server ends first, or standard output carries something that is no frame.
    pub fn claim(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        if let Some(at) = self.inbox.iter().position(&wanted) {
            return self.inbox.remove(at).expect("just found");
        }
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.next_event(left) {
                Ok(Event::Message(message)) => {
                    if self.answer_by_itself(&message) {
                        continue;
                    }
                    if wanted(&message) {
                        return message;
                    }
                    self.inbox.push_back(message);
                }
                Ok(Event::Garbage(found)) => panic!("standard output is no frame: {found}"),
                Ok(Event::Closed) => panic!(
                    "the server ended before {what} came; unclaimed: {:?}; {}",
                    self.inbox,
                    self.errors()
                ),
                Err(_) => panic!(
                    "{what} did not come; unclaimed: {:?}; {}",
                    self.inbox,
                    self.errors()
                ),
            }
        }
    }

    fn next_event(&mut self, wait: Duration) -> Result<Event, RecvTimeoutError> {
        match self.events.recv_timeout(wait) {
            Err(RecvTimeoutError::Disconnected) => Ok(Event::Closed),
            other => other,
        }
    }

    fn answer_by_itself(&mut self, message: &Value) -> bool {
        if message.get("id").is_none() {
            return false;
        }
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            return false;
        };
        let Some((_, answer)) = self.answers.iter_mut().find(|(name, _)| name == method) else {
            return false;
        };
        let result = answer(&message["params"]);
        self.respond(message, result);
        true
    }

    /// Messages that came and were not claimed, allowed ones left out. Waits for nothing.
    pub fn unclaimed(&self) -> Vec<Value> {
        self.inbox
            .iter()
            .filter(|message| {
                let method = message.get("method").and_then(Value::as_str);
                method.is_none_or(|method| !self.allowed.contains(method))
            })
            .cloned()
            .collect()
    }

    /// Parameters of messages with this method that came and were not claimed. Waits for nothing.
    pub fn waiting(&self, method: &str) -> impl Iterator<Item = &Value> {
        let is_meant = move |message: &&Value| message["method"] == method;
        self.inbox
            .iter()
            .filter(is_meant)
            .map(|message| &message["params"])
    }

    /// Starts to read what the server writes.
    pub fn start_reading(&mut self) {
        let output = self.output.take().expect("not reading yet");
        let sender = self.sender.take().expect("not reading yet");
        std::thread::spawn(move || read_frames(output, &sender));
    }

    // --- ending

    /// Closes the server's input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Takes the server's input away from the harness and keeps it open.
    pub fn take_input(&mut self) -> ChildStdin {
        self.input.take().expect("the input is open")
    }

    /// Closes the reading end of the server's output. Only while not reading.
    pub fn close_output(&mut self) {
        self.output.take().expect("not reading");
    }

    /// Kills the server, without any chance to park, and waits until it is gone.
    pub fn kill(&mut self) {
        self.child.kill().expect("the server can be killed");
        self.child.wait().expect("the server can be waited for");
    }

    /// Waits until the server has ended; gives its exit code and how long it took.
    ///
    /// # Panics
    /// It does not end in time, or it was killed by a signal.
    pub fn exit_code(&mut self) -> (i32, Duration) {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the server can be waited for") {
                break status;
            }
            assert!(
                start.elapsed() < DEADLINE,
                "the server does not end; {}",
                self.errors()
            );
            // The operating system offers no wait with a deadline; this only looks again.
            std::thread::sleep(Duration::from_millis(1));
        };
        let took = start.elapsed();
        if let Some(reader) = self.error_reader.take() {
            reader.join().expect("standard error is read");
        }
        let code = status.code();
        (
            code.unwrap_or_else(|| panic!("ended by a signal: {status}")),
            took,
        )
    }

    /// What the server wrote to standard error so far.
    pub fn errors(&self) -> String {
        self.errors.lock().expect("sound").clone()
    }

    /// `shutdown`, `exit`, exit code 0, nothing unclaimed.
    pub fn finish(mut self) {
        self.finish_now();
    }

    fn finish_now(&mut self) {
        if self
            .child
            .try_wait()
            .expect("the server can be waited for")
            .is_none()
            && self.input.is_some()
        {
            if self.initialized && (self.output.is_none()) {
                self.request("shutdown", Value::Null);
            }
            self.notify("exit", Value::Null);
            let (code, _) = self.exit_code();
            assert_eq!(
                code,
                i32::from(!self.initialized),
                "exit code; {}",
                self.errors()
            );
        } else {
            // A test that closed the input or output has seen the end it wants.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if self.sender.is_none() {
            loop {
                match self.next_event(DEADLINE) {
                    Ok(Event::Message(message)) => self.inbox.push_back(message),
                    Ok(Event::Garbage(found)) => panic!("standard output is no frame: {found}"),
                    Ok(Event::Closed) => break,
                    Err(_) => panic!("standard output stays open after the end"),
                }
            }
        }
        let unclaimed = self.unclaimed();
        self.inbox.clear();
        assert!(unclaimed.is_empty(), "nobody claimed {unclaimed:#?}");
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        } else {
            self.finish_now();
        }
    }
}

fn keep_lines(stderr: impl Read, kept: &Mutex<String>) {
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        let mut kept = kept.lock().expect("sound");
        kept.push_str(&line);
        kept.push('\n');
    }
}

/// Reads frames of exactly the form the protocol gives, and hands over their messages.
fn read_frames(output: ChildStdout, sender: &Sender<Event>) {
    let mut output = BufReader::new(output);
    loop {
        let event = match read_frame(&mut output) {
            Ok(Some(message)) => Event::Message(message),
            Ok(None) => Event::Closed,
            Err(found) => Event::Garbage(found),
        };
        let last = !matches!(event, Event::Message(_));
        if sender.send(event).is_err() || last {
            return;
        }
    }
}

fn read_frame(output: &mut impl BufRead) -> Result<Option<Value>, String> {
    let mut header = String::new();
    let got = output
        .read_line(&mut header)
        .map_err(|error| error.to_string())?;
    if got == 0 {
        return Ok(None);
    }
    let length = header
        .strip_prefix("Content-Length: ")
        .and_then(|rest| rest.strip_suffix("\r\n"))
        .and_then(|digits| digits.parse::<usize>().ok())
        .ok_or_else(|| format!("header {header:?}"))?;
    let mut rest = vec![0; length + 2];
    output
        .read_exact(&mut rest)
        .map_err(|error| format!("{header:?}, then {error}"))?;
    let body = rest
        .strip_prefix(b"\r\n")
        .ok_or("no empty line after the header")?;
    let message = serde_json::from_slice(body).map_err(|error| format!("body {error}"))?;
    Ok(Some(message))
}
