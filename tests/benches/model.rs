//! What the model's client costs beside a reader of the bare socket: per event, to the first token, for a large stream, and
//! in memory. `cargo bench --bench model` prints the table; each of our numbers and its floor are measured in turn.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

#[allow(dead_code, reason = "the other benchmark judges in more ways")]
#[path = "floors/table.rs"]
mod table;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use outrigger::kernel::conversation::{Block, Message, ModelRequest, Role};
use outrigger::kernel::ids::RunId;
use outrigger::model::endpoint::ProviderSettings;
use outrigger::model::stream::Incoming;
use outrigger::model::wire::Wire;
use outrigger::model::{Models, ModelsConfig, sse};
use serde_json::json;
use table::{Row, Target, median, microseconds, milliseconds};

const EVENTS: usize = 2000;
const ROUNDS: usize = 15;

/// A stream of chat completions of so many events.
fn stream(events: usize) -> Vec<u8> {
    let mut text = String::new();
    for at in 0..events {
        let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": {"content": format!(" token {at}")}, "logprobs": null, "finish_reason": null}]});
        text.push_str(&format!("data: {chunk}\n\n"));
    }
    text.push_str("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    text.into_bytes()
}

/// Serves the same answer to every connection, from a thread that ends with the process.
fn serve(body: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 65536];
            let _ = stream.read(&mut request).unwrap();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
            // A reader that has what it wants may go.
            let _ = stream.write_all(&body);
        }
    });
    address
}

/// Time to the first byte of the body, and to the last.
fn raw(address: &str) -> (Duration, Duration) {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(b"POST /chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}")
        .unwrap();
    let mut bytes = [0; 65536];
    let mut head = Vec::new();
    let mut first = None;
    loop {
        let count = stream.read(&mut bytes).unwrap();
        if count == 0 {
            break;
        }
        if first.is_none() {
            head.extend_from_slice(&bytes[..count]);
            if head.windows(6).any(|window| window == b"data: ") {
                first = Some(begun.elapsed());
            }
        }
    }
    (first.unwrap(), begun.elapsed())
}

struct Client {
    models: Models,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    fn new(address: &str) -> Self {
        let settings = ProviderSettings {
            wire: Some(Wire::OpenAi),
            base_url: Some(format!("http://{address}")),
            ..ProviderSettings::default()
        };
        Self {
            models: Models::new(ModelsConfig {
                providers: BTreeMap::from([("bench".to_owned(), settings)]),
                ..ModelsConfig::default()
            }),
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap(),
        }
    }

    /// Time to the first token, and to the complete turn.
    fn call(&self) -> (Duration, Duration) {
        let request = ModelRequest {
            model: "bench/m".to_owned(),
            system: "You are careful.".to_owned(),
            messages: vec![Message {
                role: Role::User,
                blocks: vec![Block::text("go")],
            }],
            tools: Vec::new(),
            max_output_tokens: None,
        };
        let begun = Instant::now();
        let mut first = None;
        let turn =
            self.runtime.block_on(
                self.models
                    .call(&RunId::new("r"), request, &[], |_progress| {
                        first.get_or_insert_with(|| begun.elapsed());
                    }),
            );
        let whole = begun.elapsed();
        assert!(
            turn.unwrap()
                .text()
                .ends_with(&format!(" token {}", EVENTS - 1))
        );
        (first.unwrap(), whole)
    }
}

fn over_the_socket() -> [Row; 2] {
    let address = serve(stream(EVENTS));
    let client = Client::new(&address);
    client.call();
    let mut samples: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let (first, whole) = raw(&address);
        let (our_first, our_whole) = client.call();
        for (list, sample) in samples.iter_mut().zip([first, whole, our_first, our_whole]) {
            list.push(sample);
        }
    }
    let [first, whole, our_first, our_whole] = samples.map(|mut list| median(&mut list));
    #[allow(clippy::cast_precision_loss)] // A few thousand.
    let per_event = |time: Duration| microseconds(time) / EVENTS as f64;
    [
        Row {
            what: "an event, over a bare reader",
            ours: per_event(our_whole.saturating_sub(whole)),
            floor: Some(per_event(whole)),
            unit: "µs",
            target: Target::AtMost(200.0),
            note: format!(
                "{EVENTS} events, median of {ROUNDS}; the floor is what the bare reader takes"
            ),
        },
        Row {
            what: "to the first token, over a bare reader",
            ours: milliseconds(our_first.saturating_sub(first)),
            floor: Some(milliseconds(first)),
            unit: "ms",
            target: Target::AtMost(1.0),
            note: "a new connection each, encoding of the request included".to_owned(),
        },
    ]
}

const MEGABYTE: f64 = 1e6;

/// Megabytes a second, the best of three: what is wanted is the code's speed, not the machine's load.
fn speed(bytes: usize, mut work: impl FnMut()) -> f64 {
    let times = (0..3).map(|_| {
        let begun = Instant::now();
        work();
        begun.elapsed().as_secs_f64()
    });
    let best = times.fold(f64::INFINITY, f64::min);
    #[allow(clippy::cast_precision_loss)] // Far below 2^52.
    let bytes = bytes as f64;
    bytes / MEGABYTE / best
}

fn large_streams() -> Vec<Row> {
    let body = stream(500_000);
    let body = &body[..body.len().min(100_000_000)];
    let mut events = 0_usize;
    let mut decoder = sse::Decoder::default();
    let before = resident_kb();
    let decoding = speed(body.len(), || {
        for piece in body.chunks(16 * 1024) {
            let taken: Result<(), sse::TooLarge> = decoder.push(piece, |event| {
                events += usize::from(!event.data.is_empty());
                Ok(())
            });
            taken.unwrap();
        }
    });
    let grown = resident_kb().saturating_sub(before);
    assert!(events > 1_000_000);
    let floor = speed(body.len(), || {
        let lines: usize = body
            .chunks(16 * 1024)
            .map(|piece| memchr_count(b'\n', piece))
            .sum();
        assert!(lines > 0);
    });
    // A whole turn may have 32 MB: what the wires make of its events, words included.
    let turn = stream(100_000);
    let reading = speed(turn.len(), || {
        let mut incoming = Incoming::new(Wire::OpenAi, "m");
        for piece in turn.chunks(16 * 1024) {
            incoming.push(piece, &mut |_| {}).unwrap();
        }
        assert!(incoming.has_stop());
    });
    #[allow(clippy::cast_precision_loss)] // Kilobytes.
    let grown = grown as f64 / 1024.0;
    vec![
        Row {
            what: "100 MB of events decoded",
            ours: decoding,
            floor: Some(floor),
            unit: "MB/s",
            target: Target::AtLeast(300.0),
            note: "in pieces of 16 KiB; the floor counts the line ends".to_owned(),
        },
        Row {
            what: "memory after 300 MB of events",
            ours: grown,
            unit: "MB",
            target: Target::AtMost(16.0),
            note: "growth of the resident set while they were decoded".to_owned(),
            ..Row::default()
        },
        Row {
            what: "a turn of 100,000 events, words included",
            ours: reading,
            unit: "MB/s",
            note: "JSON of each event read".to_owned(),
            ..Row::default()
        },
    ]
}

fn memchr_count(needle: u8, bytes: &[u8]) -> usize {
    memchr::memchr_iter(needle, bytes).count()
}

/// 0 where the system does not say.
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

fn main() -> ExitCode {
    if cfg!(debug_assertions) {
        println!("built for debugging: the numbers say nothing; run `cargo bench --bench model`");
    }
    let mut rows: Vec<Row> = over_the_socket().into();
    rows.extend(large_streams());
    table::print(&rows);
    if rows.iter().all(Row::is_met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
