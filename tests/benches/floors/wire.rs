//! A client as thin as can be: frames over the pipes of a child, read and written by the thread that measures.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Writes a frame in one system call.
pub fn write_frame(output: &mut impl Write, body: &[u8], frame: &mut Vec<u8>) {
    frame.clear();
    write!(frame, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
    frame.extend_from_slice(body);
    output.write_all(frame).unwrap();
    output.flush().unwrap();
}

/// Reads a frame into `body`; whether there was one.
pub fn read_frame(input: &mut impl BufRead, body: &mut Vec<u8>) -> bool {
    let mut length = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).unwrap() == 0 {
            return false;
        }
        let text = std::str::from_utf8(&line).unwrap().trim_end();
        if text.is_empty() {
            break;
        }
        if let Some(number) = text.strip_prefix("Content-Length: ") {
            length = number.parse().ok();
        }
    }
    body.resize(length.expect("a frame has a length"), 0);
    input.read_exact(body).unwrap();
    true
}

/// A child that speaks in frames.
pub struct Peer {
    pub child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    frame: Vec<u8>,
    body: Vec<u8>,
    next_id: u64,
}

impl Peer {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::with_capacity(64 * 1024, child.stdout.take().unwrap()),
            child,
            frame: Vec::new(),
            body: Vec::new(),
            next_id: 1,
        }
    }

    /// The real binary, with its state in `state`.
    pub fn outrigger(state: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outrigger"));
        command
            .arg("lsp")
            .env("OUTRIGGER_STATE_DIR", state)
            .env("OUTRIGGER_CONFIG", "");
        Self::start(&mut command)
    }

    pub fn send(&mut self, body: &[u8]) {
        write_frame(&mut self.input, body, &mut self.frame);
    }

    /// The next frame's body.
    pub fn receive(&mut self) -> &[u8] {
        assert!(
            read_frame(&mut self.output, &mut self.body),
            "the child ended"
        );
        &self.body
    }

    /// Sends a request and waits for its result. What the server asks meanwhile is answered with nothing.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(request.to_string().as_bytes());
        loop {
            let mut message = self.message();
            if message["id"] == id && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{method} failed: {message}");
                return message["result"].take();
            }
        }
    }

    pub fn notify(&mut self, method: &str, params: &Value) {
        let notification = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(notification.to_string().as_bytes());
    }

    /// The next message; requests of the server are answered with nothing.
    pub fn message(&mut self) -> Value {
        let message: Value = serde_json::from_slice(self.receive()).unwrap();
        if message.get("method").is_some()
            && let Some(id) = message.get("id")
        {
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": null});
            self.send(answer.to_string().as_bytes());
        }
        message
    }

    /// Shakes hands as a client with these capabilities, in the workspace `root`.
    pub fn initialize(&mut self, root: &Path, capabilities: &Value) {
        let root = format!("file://{}", root.display());
        let folders = json!([{"uri": root, "name": "bench"}]);
        let params = json!({"processId": null, "rootUri": root, "workspaceFolders": folders, "capabilities": capabilities});
        self.request("initialize", &params);
        self.notify("initialized", &json!({}));
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
