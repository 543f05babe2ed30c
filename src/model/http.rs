//! Performs one model call over HTTP: sends, reads, minds the clocks. Decides nothing about what it reads.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Response;
use tokio::time::{Instant, timeout, timeout_at};

use crate::kernel::conversation::{ModelFailure, ModelTurn};

use super::Progress;
use super::classify::{Signal, Stage, classify};
use super::clocks::Clocks;
use super::endpoint::Endpoint;
use super::stream::Incoming;
use super::turn::{Draft, finish};
use super::wire::{Encoded, Fault, Step};

/// Bytes of an error's body that are read.
const ERROR_BODY_CAP: usize = 64 * 1024;
/// How long a stream is read on for usage and end mark after the provider has said why it stopped.
const GRACE: Duration = Duration::from_secs(3);

/// How to reach the net.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Transport {
    /// `http://…`, `https://…`; the system's settings decide when `None`.
    pub proxy: Option<String>,
    /// PEM files with certificates to trust besides the system's; read when the first call is made.
    pub ca_files: Vec<PathBuf>,
    /// The same, as bytes.
    pub extra_roots_pem: Vec<Vec<u8>>,
}

/// HTTP clients: one for each way to the net, one for this machine, which never goes through a proxy.
#[derive(Debug, Default)]
pub struct Clients {
    made: Mutex<HashMap<(Place, Transport), reqwest::Client>>,
}

impl Clients {
    /// # Errors
    ///
    /// The proxy's address or a certificate cannot be read.
    pub fn client(&self, transport: &Transport, place: Place) -> Result<reqwest::Client, String> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (place, transport.clone());
        if let Some(client) = made.get(&key) {
            return Ok(client.clone());
        }
        // What fails is tried again the next time: the file may be there then.
        let client = build(transport, place)?;
        made.insert(key, client.clone());
        Ok(client)
    }
}

/// Where a client connects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// This machine.
    pub is_local: bool,
    /// How long the connection may take to stand.
    pub connect: Duration,
}

impl Place {
    pub const LOCAL: Self = Self {
        is_local: true,
        connect: Clocks::LOCAL.connect,
    };
    pub const REMOTE: Self = Self {
        is_local: false,
        connect: Clocks::REMOTE.connect,
    };
}

fn build(transport: &Transport, place: Place) -> Result<reqwest::Client, String> {
    // The first one wins, whoever installs it; a second attempt changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("outrigger/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(place.connect)
        .tcp_nodelay(true)
        // A redirect would carry the key to wherever it points.
        .redirect(reqwest::redirect::Policy::none());
    if place.is_local {
        builder = builder.no_proxy();
    } else if let Some(proxy) = &transport.proxy {
        let proxy = reqwest::Proxy::all(proxy)
            .map_err(|error| format!("failed to use the proxy: {}", chain(&error)))?;
        builder = builder.no_proxy().proxy(proxy);
    }
    let mut roots = transport.extra_roots_pem.clone();
    for file in &transport.ca_files {
        let pem = std::fs::read(file)
            .map_err(|error| format!("failed to read the CA file {}: {error}", file.display()))?;
        roots.push(pem);
    }
    for pem in &roots {
        let roots = reqwest::Certificate::from_pem_bundle(pem)
            .map_err(|error| format!("failed to read a CA certificate: {}", chain(&error)))?;
        builder = builder.tls_certs_merge(roots);
    }
    builder.build().map_err(|error| {
        // The certificates are looked into only here.
        let with = if roots.is_empty() {
            ""
        } else {
            " with your CA certificates"
        };
        format!("failed to set up HTTP{with}: {}", chain(&error))
    })
}

/// Sends the request and reads the answer to its end. Cancel by dropping the future: the connection is closed.
///
/// # Errors
///
/// Whatever went wrong, classified.
pub async fn perform(
    client: &reqwest::Client,
    endpoint: &Endpoint,
    encoded: &Encoded,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<ModelTurn, ModelFailure> {
    let total = endpoint.clocks.total;
    match timeout(total, exchange(client, endpoint, encoded, progress)).await {
        Ok(result) => result,
        Err(_) => Err(endpoint.client_failure(&format!(
            "timed out: the whole call took longer than {} s",
            total.as_secs()
        ))),
    }
}

async fn exchange(
    client: &reqwest::Client,
    endpoint: &Endpoint,
    encoded: &Encoded,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<ModelTurn, ModelFailure> {
    let mut request = client
        .post(format!("{}{}", endpoint.base_url, encoded.path))
        .header("content-type", "application/json")
        .header("accept", "text/event-stream, application/json");
    for (name, value) in &encoded.headers {
        request = request.header(*name, value);
    }
    if let Some(key) = &endpoint.key {
        let (name, prefix) = &encoded.key_header;
        let mut value =
            reqwest::header::HeaderValue::from_str(&format!("{prefix}{}", key.reveal())).map_err(
                |_| {
                    super::failure(
                        "model.key",
                        &format!(
                            "the key of {} has a character that no header may have",
                            endpoint.provider
                        ),
                    )
                },
            )?;
        value.set_sensitive(true);
        request = request.header(name, value);
    }
    for (name, value) in &endpoint.headers {
        request = request.header(name, value);
    }
    let sending = request.body(encoded.body.to_string()).send();
    let response = match timeout(endpoint.clocks.headers, sending).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(endpoint.client_failure(&chain(&error))),
        Err(_) => {
            let waited = endpoint.clocks.headers.as_secs();
            return Err(endpoint.client_failure(&format!("timed out: no headers for {waited} s")));
        }
    };
    let answer = Answer::of(&response);
    if !response.status().is_success() {
        let body = read_up_to(response, ERROR_BODY_CAP, endpoint).await;
        return Err(answer.failure(endpoint, Stage::Http, &body));
    }
    let mut draft = read(response, endpoint, &answer, progress).await?;
    endpoint.provider.clone_into(&mut draft.provider);
    draft.request_id = answer.request_id.or(draft.request_id);
    draft.id_seed = seed();
    finish(draft, endpoint.context_window)
}

/// Reads a successful answer to its end. Only progress moves the deadline.
async fn read(
    mut response: Response,
    endpoint: &Endpoint,
    answer: &Answer,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Draft, ModelFailure> {
    let mut incoming = Incoming::new(endpoint.wire, &endpoint.model);
    let mut patience = endpoint.clocks.first_event;
    let mut deadline = Instant::now() + patience;
    let broke_off = loop {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(bytes))) => match incoming.push(&bytes, progress) {
                Ok(Step::Alive) => {}
                Ok(Step::Progress) => {
                    patience = if incoming.has_stop() {
                        GRACE
                    } else {
                        endpoint.clocks.idle
                    };
                    deadline = Instant::now() + patience;
                }
                Ok(Step::Done) => break None,
                Err(fault) => {
                    return Err(ModelFailure {
                        usage: incoming.usage(),
                        ..answer.fault(endpoint, fault)
                    });
                }
            },
            Ok(Ok(None)) => break None,
            Ok(Err(error)) => break Some(chain(&error)),
            Err(_) => {
                break Some(format!(
                    "timed out: no event for {} s",
                    patience.as_secs_f32()
                ));
            }
        }
    };
    let usage = incoming.usage();
    let ended = match broke_off {
        None => incoming
            .end(progress)
            .map_err(|fault| answer.fault(endpoint, fault)),
        Some(how) => incoming
            .broken_off()
            .ok_or_else(|| endpoint.client_failure(&how)),
    };
    ended.map_err(|failure| ModelFailure { usage, ..failure })
}

/// What the headers of an answer say.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    request_id: Option<String>,
}

impl Answer {
    fn of(response: &Response) -> Self {
        let headers: Vec<(String, String)> = response
            .headers()
            .iter()
            .filter_map(|(name, value)| {
                Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
            })
            .collect();
        let named = |wanted: &str| {
            headers
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| value.clone())
        };
        Self {
            status: response.status().as_u16(),
            request_id: named("request-id")
                .or_else(|| named("x-request-id"))
                .or_else(|| named("apim-request-id")),
            headers,
        }
    }

    fn failure(&self, endpoint: &Endpoint, stage: Stage, body: &str) -> ModelFailure {
        let mut signal = Signal::new(stage, body)
            .status(self.status)
            .headers(&self.headers)
            .provider(&endpoint.provider);
        signal.now_ms = now_ms();
        classify(&signal)
    }

    fn fault(&self, endpoint: &Endpoint, fault: Fault) -> ModelFailure {
        match fault {
            Fault::Reported(event) => self.failure(endpoint, Stage::Stream, &event),
            Fault::Refused(body) => self.failure(endpoint, Stage::Http, &body),
            Fault::Broken(message) => endpoint.client_failure(&message),
            Fault::Cut => endpoint.client_failure("stream ended before the turn was complete"),
        }
    }
}

/// Reads a body as text, as far as it comes and as much as is allowed.
pub(super) async fn read_up_to(mut response: Response, most: usize, endpoint: &Endpoint) -> String {
    let mut body: Vec<u8> = Vec::new();
    let deadline = Instant::now() + endpoint.clocks.idle;
    while body.len() < most {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(piece))) => body.extend_from_slice(&piece),
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    body.truncate(most);
    String::from_utf8_lossy(&body).into_owned()
}

/// An error with its causes: reqwest's own text rarely says what happened.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}

fn now_ms() -> Option<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

/// A text that no other call of any process gets, for ids of tool calls that come without one.
fn seed() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!(
        "{:x}{:x}{count:x}",
        now_ms().unwrap_or_default(),
        std::process::id()
    )
}
