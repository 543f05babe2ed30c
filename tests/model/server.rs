//! A server on loopback that answers with exactly the bytes a test gives it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use outrigger::model::endpoint::ProviderSettings;
use outrigger::model::wire::Wire;
use outrigger::model::{Models, ModelsConfig};

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The body is over and the connection closed in order.
    Fin,
    /// The connection is reset.
    Reset,
    /// A chunked body whose last chunk never comes.
    InsideChunk,
    /// Nothing more comes and the connection stays.
    Hang,
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub pieces: Vec<Vec<u8>>,
    pub end: End,
}

impl Answer {
    pub fn stream(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            pieces: vec![body.into()],
            end: End::Fin,
        }
    }
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            ..Self::stream(body)
        }
    }
    pub fn ending(self, end: End) -> Self {
        Self { end, ..self }
    }
    /// The body in pieces of `size` bytes, each written by itself.
    pub fn in_pieces(self, size: usize) -> Self {
        let body = self.pieces.concat();
        Self {
            pieces: body.chunks(size).map(<[u8]>::to_vec).collect(),
            ..self
        }
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

pub struct Server {
    pub base_url: String,
    pub received: Arc<Mutex<Vec<Received>>>,
    /// How many connections the client has closed while an answer hung.
    pub closed: Arc<tokio::sync::Notify>,
}

impl Server {
    /// Answers each connection with the next answer, and all further ones with the last.
    pub async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let closed = Arc::new(tokio::sync::Notify::new());
        let (log, gone) = (Arc::clone(&received), Arc::clone(&closed));
        tokio::spawn(async move {
            let mut next = 0;
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answers[next.min(answers.len() - 1)].clone();
                next += 1;
                tokio::spawn(answer_one(
                    stream,
                    answer,
                    Arc::clone(&log),
                    Arc::clone(&gone),
                ));
            }
        });
        Self {
            base_url,
            received,
            closed,
        }
    }

    /// A client of this server, as provider `test` on that wire.
    pub fn models(&self, wire: Wire) -> Models {
        self.models_with(ProviderSettings {
            wire: Some(wire),
            ..ProviderSettings::default()
        })
    }

    pub fn models_with(&self, settings: ProviderSettings) -> Models {
        let settings = ProviderSettings {
            base_url: Some(self.base_url.clone()),
            ..settings
        };
        Models::new(ModelsConfig {
            providers: BTreeMap::from([("test".to_owned(), settings)]),
            ..ModelsConfig::default()
        })
    }

    pub fn last_request(&self) -> Received {
        self.received
            .lock()
            .unwrap()
            .last()
            .cloned()
            .expect("a request has arrived")
    }
}

async fn answer_one(
    mut stream: TcpStream,
    answer: Answer,
    log: Arc<Mutex<Vec<Received>>>,
    gone: Arc<tokio::sync::Notify>,
) {
    let Some(request) = read_request(&mut stream).await else {
        return;
    };
    log.lock().unwrap().push(request);
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let is_chunked = answer.end == End::InsideChunk;
    head.push_str(if is_chunked {
        "transfer-encoding: chunked\r\n\r\n"
    } else {
        "\r\n"
    });
    let _ = stream.set_nodelay(true);
    let _ = stream.write_all(head.as_bytes()).await;
    for piece in &answer.pieces {
        let sent = if is_chunked {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk).await
        } else {
            stream.write_all(piece).await
        };
        if sent.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    let _ = stream.flush().await;
    match answer.end {
        End::Fin | End::InsideChunk => {
            let _ = stream.shutdown().await;
        }
        End::Reset => {
            // The client must have read what was sent before the reset throws it away; it shows by asking for nothing,
            // so the reset waits until the kernel has handed the bytes over.
            let _ = stream.set_zero_linger();
        }
        End::Hang => {
            let mut nothing = [0; 1];
            let _ = stream.read(&mut nothing).await;
            gone.notify_one();
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while bytes.len() < head_end + 4 + length {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
    let body = serde_json::from_slice(&bytes[head_end + 4..]).unwrap_or(Value::Null);
    Some(Received {
        path,
        headers,
        body,
    })
}
