//! A provider on loopback for whole runs: answers each request with the next answer, and keeps what it was asked.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// One answer of the provider.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// The connection breaks in the middle of the body.
    pub breaks: bool,
}

impl Answer {
    pub fn error(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.to_string(),
            breaks: false,
        }
    }
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
    /// A stream of chat completions that says these pieces and stops for that reason.
    pub fn chat(deltas: &[Value], finish: &str) -> Self {
        let mut body = String::new();
        for delta in deltas {
            let chunk = json!({"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta}]});
            body.push_str(&format!("data: {chunk}\n\n"));
        }
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}});
        body.push_str(&format!("data: {end}\n\ndata: [DONE]\n\n"));
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            body,
            breaks: false,
        }
    }
    pub fn text(text: &str) -> Self {
        Self::chat(&[json!({"content": text})], "stop")
    }
    pub fn call(id: &str, name: &str, arguments: &str) -> Self {
        Self::chat(&[call(id, name, arguments)], "tool_calls")
    }
    /// The first half of it, then the connection breaks.
    pub fn breaking(mut self) -> Self {
        self.breaks = true;
        self
    }
}

pub fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]})
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    pub head: String,
    pub body: Value,
}

impl Asked {
    /// Everything that is said in the messages.
    pub fn said(&self) -> String {
        self.body["messages"].to_string()
    }
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }
}

pub struct Provider {
    pub base_url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Provider {
    /// Answers one request after the other; what comes after the last answer gets it again.
    pub fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        // Ends with the test's process.
        std::thread::spawn(move || {
            let mut next = 0;
            for stream in listener.incoming() {
                let answer = answers[next.min(answers.len() - 1)].clone();
                // Whoever asks for the list of models gets none, and no answer is used up.
                let Some(request) = stream.ok().and_then(|stream| serve(stream, &answer)) else {
                    continue;
                };
                log.lock().unwrap().push(request);
                next += 1;
            }
        });
        Self { base_url, asked }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, answer: &Answer) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut piece = [0; 65536];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let length = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, length)| length.trim().parse().unwrap());
    while bytes.len() < head_end + 4 + length {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
    if !head.starts_with("POST") {
        let _ =
            stream.write_all(b"HTTP/1.1 404 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        return None;
    }
    let body = serde_json::from_slice(&bytes[head_end + 4..]).unwrap_or(Value::Null);
    let mut text = format!(
        "HTTP/1.1 {} X\r\nconnection: close\r\ncontent-length: {}\r\n",
        answer.status,
        answer.body.len()
    );
    for (name, value) in &answer.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    let end = if answer.breaks {
        answer.body.len() / 2
    } else {
        answer.body.len()
    };
    text.push_str(answer.body.get(..end).unwrap_or_default());
    // The client may have gone away: that is its right.
    let _ = stream.write_all(text.as_bytes());
    Some(Asked { head, body })
}
