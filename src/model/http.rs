//! Performs one model call over HTTP: sends, reads, minds the clocks. Decides nothing about what it reads.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use reqwest::Response;
use tokio::time::{Instant, timeout, timeout_at};

use crate::kernel::conversation::{ModelFailure, ModelTurn};

use super::classify::{Signal, Stage, classify};
use super::clocks::Clocks;
use super::endpoint::Endpoint;
use super::turn::{Draft, finish};
use super::wire::{Decoder, Encoded, Fault, Step, TURN_CAP};
use super::{Progress, sse};

/// Bytes of an error's body that are read.
const ERROR_BODY_CAP: usize = 64 * 1024;
/// How long a stream is read on for usage and end mark after the provider has said why it stopped.
const GRACE: std::time::Duration = std::time::Duration::from_secs(3);

/// How to reach the net.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transport {
    /// `http://…`, `https://…`; the system's settings decide when `None`.
    pub proxy: Option<String>,
    /// PEM certificates to trust besides the system's.
    pub extra_roots_pem: Vec<Vec<u8>>,
}

/// HTTP clients: one for the net, one for this machine, which never goes through a proxy.
#[derive(Debug, Default)]
pub struct Clients {
    transport: Transport,
    remote: OnceLock<Result<reqwest::Client, String>>,
    local: OnceLock<Result<reqwest::Client, String>>,
}

impl Clients {
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            ..Self::default()
        }
    }

    /// # Errors
    ///
    /// The proxy's address or a certificate cannot be read.
    pub fn client(&self, is_local: bool) -> Result<reqwest::Client, String> {
        let cell = if is_local { &self.local } else { &self.remote };
        cell.get_or_init(|| build(&self.transport, is_local))
            .clone()
    }
}

fn build(transport: &Transport, is_local: bool) -> Result<reqwest::Client, String> {
    // The first one wins, whoever installs it; a second attempt changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let clocks = if is_local {
        Clocks::LOCAL
    } else {
        Clocks::REMOTE
    };
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("outrigger/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(clocks.connect)
        .tcp_nodelay(true)
        // A redirect would carry the key to wherever it points.
        .redirect(reqwest::redirect::Policy::none());
    if is_local {
        builder = builder.no_proxy();
    } else if let Some(proxy) = &transport.proxy {
        let proxy = reqwest::Proxy::all(proxy)
            .map_err(|error| format!("failed to use the proxy: {}", chain(&error)))?;
        builder = builder.no_proxy().proxy(proxy);
    }
    for pem in &transport.extra_roots_pem {
        let roots = reqwest::Certificate::from_pem_bundle(pem)
            .map_err(|error| format!("failed to read a CA certificate: {}", chain(&error)))?;
        builder = builder.tls_certs_merge(roots);
    }
    builder
        .build()
        .map_err(|error| format!("failed to set up HTTP: {}", chain(&error)))
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
    let mut reader = Reader {
        endpoint,
        answer,
        response,
        decoder: Decoder::new(endpoint.wire, &endpoint.model),
        deadline: Instant::now() + endpoint.clocks.first_event,
        is_first: true,
        read: 0,
    };
    reader.read(progress).await?;
    let Reader {
        answer, decoder, ..
    } = reader;
    let mut draft: Draft = decoder.into_draft();
    endpoint.provider.clone_into(&mut draft.provider);
    draft.request_id = answer.request_id.or(draft.request_id);
    draft.id_seed = seed();
    finish(draft, endpoint.context_window)
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
}

/// Reads one successful answer.
struct Reader<'a> {
    endpoint: &'a Endpoint,
    answer: Answer,
    response: Response,
    decoder: Decoder,
    /// When patience ends. Only progress moves it.
    deadline: Instant,
    is_first: bool,
    read: usize,
}

impl Reader<'_> {
    async fn read(
        &mut self,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(), ModelFailure> {
        let mut head: Vec<u8> = Vec::new();
        // A server that does not stream answers with JSON, whatever content type it claims.
        loop {
            let Some(piece) = self.piece().await? else {
                break;
            };
            head.extend_from_slice(&piece);
            if head.iter().any(|byte| !byte.is_ascii_whitespace()) {
                break;
            }
        }
        if matches!(head.trim_ascii_start().first(), Some(b'{' | b'[' | b'<')) {
            return self.whole(head, progress).await;
        }
        let mut events = sse::Decoder::default();
        let mut bytes = Bytes::from(head);
        loop {
            let step = self.events(&mut events, &bytes, progress)?;
            if step == Step::Done {
                return Ok(());
            }
            let next = self.piece().await;
            bytes = match next {
                Ok(Some(bytes)) => bytes,
                // The end of the stream is the end of the turn once the provider has said why it stopped.
                Ok(None) => return self.end(&mut events, progress),
                Err(_) if self.decoder.has_stop() => return Ok(()),
                Err(failure) => return Err(failure),
            };
        }
    }

    fn events(
        &mut self,
        events: &mut sse::Decoder,
        bytes: &[u8],
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Step, ModelFailure> {
        let mut furthest = Step::Alive;
        let decoder = &mut self.decoder;
        let result = events.push(bytes, |event| {
            if furthest == Step::Done {
                return Ok(());
            }
            match decoder.event(&event.data, progress)? {
                Step::Alive => {}
                step => furthest = step,
            }
            Ok::<(), Fault>(())
        });
        result.map_err(|fault| self.fault(fault))?;
        if furthest == Step::Progress {
            self.is_first = false;
            let patience = if self.decoder.has_stop() {
                GRACE
            } else {
                self.endpoint.clocks.idle
            };
            self.deadline = Instant::now() + patience;
        }
        Ok(furthest)
    }

    fn end(
        &mut self,
        events: &mut sse::Decoder,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(), ModelFailure> {
        match events.end() {
            Ok(Some(event)) => {
                let had_stop = self.decoder.has_stop();
                match self.decoder.event(&event.data, progress) {
                    Ok(_) => Ok(()),
                    // Half an event at the very end is a cut, not nonsense.
                    Err(_) if had_stop => Ok(()),
                    Err(Fault::Broken(_)) => Err(self
                        .endpoint
                        .client_failure("stream ended before the turn was complete")),
                    Err(fault) => Err(self.fault(fault)),
                }
            }
            Ok(None) => Ok(()),
            Err(too_large) => Err(self.fault(too_large.into())),
        }
    }

    async fn whole(
        &mut self,
        head: Vec<u8>,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(), ModelFailure> {
        let mut body = head;
        while let Some(piece) = self.piece().await? {
            body.extend_from_slice(&piece);
        }
        match self.decoder.whole(&body, progress) {
            Ok(()) => Ok(()),
            Err(Fault::Reported(body)) => {
                Err(self.answer.failure(self.endpoint, Stage::Http, &body))
            }
            Err(fault) => Err(self.fault(fault)),
        }
    }

    /// The next bytes; `None` at the end.
    async fn piece(&mut self) -> Result<Option<Bytes>, ModelFailure> {
        match timeout_at(self.deadline, self.response.chunk()).await {
            Ok(Ok(piece)) => {
                self.read += piece.as_ref().map_or(0, Bytes::len);
                if self.read > TURN_CAP {
                    return Err(self.fault(Fault::Broken(format!(
                        "stream broken: more than {TURN_CAP} bytes"
                    ))));
                }
                Ok(piece)
            }
            Ok(Err(error)) => Err(self.endpoint.client_failure(&chain(&error))),
            Err(_) => {
                let clocks = &self.endpoint.clocks;
                let waited = if self.is_first {
                    clocks.first_event
                } else {
                    clocks.idle
                };
                Err(self
                    .endpoint
                    .client_failure(&format!("timed out: no event for {} s", waited.as_secs())))
            }
        }
    }

    fn fault(&self, fault: Fault) -> ModelFailure {
        match fault {
            Fault::Reported(event) => self.answer.failure(self.endpoint, Stage::Stream, &event),
            Fault::Broken(message) => self.endpoint.client_failure(&message),
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
