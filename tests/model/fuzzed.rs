//! The bounded run of the fuzz target's checks: real streams, their mutations and pure noise, the same in every run.

use std::time::{Duration, Instant};

use crate::model_stream::{check_error, check_stream};
use crate::wire_bytes::{WIRES, stream_of};

/// A small generator of pseudo-random numbers: the same seeds give the same inputs everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap()
    }
    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}

/// Pieces that provider streams are made of, so that mutations stay near the grammar.
const PIECES: [&str; 14] = [
    "data: ",
    "\n\n",
    "event: error\n",
    "[DONE]",
    "\"error\":null,",
    "\"finish_reason\":\"length\"",
    "\"stop_reason\":\"max_tokens\"",
    "\"index\":0,",
    "{\"choices\":[{\"delta\":{",
    "\\ud83e",
    "\u{feff}",
    "\r",
    ": ping\n\n",
    "[[[[[[[[",
];

fn mutated(stream: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = stream.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => {
                let end = (at + random.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            2 => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            3 => {
                let end = (at + random.below(200)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.byte();
                }
            }
        }
    }
    bytes
}

#[test]
fn ten_thousand_hostile_streams_end_well_and_soon() {
    let script = outrigger::model::script::Script::parse(
        "fuzzed",
        r#"{"script":1}
{"emit":[{"thinking":"größer","signature":"s"},{"text":"完了 🦀"},{"tool":"read","id":"a","args":{"path":"ü"}},{"tool":"edit","id":"b","args":{"path":"b","new":"x\n"}}]}"#,
    )
    .unwrap();
    let planned = outrigger::model::script::Cursor::default()
        .next(&script, &crate::support::request("scripted:s", "go"), &[])
        .unwrap();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut slowest = Duration::ZERO;
    for round in 0..10_000_usize {
        let which = round % WIRES.len();
        let mut input = vec![u8::try_from(which).unwrap(), random.byte()];
        if round % 10 == 9 {
            let length = random.below(300);
            input.extend((0..length).map(|_| random.byte()));
        } else {
            let stream = stream_of(WIRES[which], &planned);
            input.extend(mutated(stream.as_bytes(), &mut random));
        }
        let begun = Instant::now();
        check_stream(&input);
        check_error(&input);
        slowest = slowest.max(begun.elapsed());
    }
    // No hang: generous, because machines can be busy.
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
}
