//! From the bytes of a successful answer to a draft of a turn, however they are cut. Pure.

use crate::kernel::conversation::Usage;

use super::Progress;
use super::sse;
use super::turn::Draft;
use super::wire::{Decoder, Fault, Step, TURN_CAP, Wire};

/// An answer while it arrives.
#[derive(Debug, Clone)]
pub struct Incoming {
    decoder: Decoder,
    form: Form,
    read: usize,
    is_done: bool,
}

/// What the first bytes tell, whatever content type the server claims.
#[derive(Debug, Clone)]
enum Form {
    /// Only white space so far.
    Unknown,
    Events(sse::Decoder),
    /// One JSON document, or a page of HTML.
    Whole(Vec<u8>),
}

impl Incoming {
    /// `model` is what the turn is said to come from until the provider says it.
    pub fn new(wire: Wire, model: &str) -> Self {
        Self {
            decoder: Decoder::new(wire, model),
            form: Form::Unknown,
            read: 0,
            is_done: false,
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    ///
    /// The provider reports an error, or the stream cannot be read on.
    pub fn push(
        &mut self,
        bytes: &[u8],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Step, Fault> {
        self.read += bytes.len();
        if self.read > TURN_CAP {
            return Err(Fault::Broken(format!(
                "stream broken: more than {TURN_CAP} bytes"
            )));
        }
        let mut bytes = bytes;
        if let Form::Unknown = self.form {
            bytes = bytes.trim_ascii_start();
            match bytes.first() {
                None => return Ok(Step::Alive),
                Some(b'{' | b'[' | b'<') => self.form = Form::Whole(Vec::new()),
                Some(_) => self.form = Form::Events(sse::Decoder::default()),
            }
        }
        match &mut self.form {
            Form::Unknown => Ok(Step::Alive),
            Form::Whole(body) => {
                body.extend_from_slice(bytes);
                Ok(Step::Progress)
            }
            Form::Events(events) => {
                let (decoder, is_done) = (&mut self.decoder, &mut self.is_done);
                let mut furthest = Step::Alive;
                events.push(bytes, |event| {
                    if *is_done {
                        return Ok(());
                    }
                    match decoder.event(&event, progress)? {
                        Step::Alive => {}
                        step => {
                            *is_done = step == Step::Done;
                            furthest = step;
                        }
                    }
                    Ok::<(), Fault>(())
                })?;
                Ok(furthest)
            }
        }
    }

    /// What the provider has counted up to now.
    pub fn usage(&self) -> Usage {
        self.decoder.usage()
    }

    /// Whether the provider has said why it stopped: all that may still come is usage and an end mark.
    pub fn has_stop(&self) -> bool {
        self.decoder.has_stop()
    }

    /// The answer ended in order.
    ///
    /// # Errors
    ///
    /// It is an error, or it ended before the turn was complete.
    pub fn end(mut self, progress: &mut dyn FnMut(Progress)) -> Result<Draft, Fault> {
        match &mut self.form {
            Form::Unknown => {}
            Form::Whole(body) => self.decoder.whole(body, progress)?,
            Form::Events(events) => {
                let last = if self.is_done { None } else { events.end()? };
                let had_stop = self.decoder.has_stop();
                if let Some(Err(fault)) = last.map(|event| self.decoder.event(&event, progress)) {
                    match fault {
                        // Half an event at the very end is a cut, not nonsense.
                        Fault::Broken(_) if had_stop => {}
                        Fault::Broken(_) => return Err(Fault::Cut),
                        Fault::Reported(_) | Fault::Refused(_) | Fault::Cut => return Err(fault),
                    }
                }
            }
        }
        self.broken_off().ok_or(Fault::Cut)
    }

    /// The connection broke, or nothing more came: the draft, if nothing of the turn is missing.
    pub fn broken_off(self) -> Option<Draft> {
        self.decoder.has_stop().then(|| self.decoder.into_draft())
    }
}
