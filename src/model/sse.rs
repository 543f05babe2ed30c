//! Server-sent events: bytes in any pieces to events. Pure.
//!
//! Promises: no event is larger than [`EVENT_CAP`]; the last event counts even if the stream ends without its empty
//! line, as two providers' streams do; any of the three line ends works; comments come out as nothing.

/// Bytes of one event's data.
pub const EVENT_CAP: usize = 8 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// The `event:` field; empty where there is none.
    pub name: String,
    /// The `data:` lines, joined by line breaks. As bytes, because nothing says they are UTF-8.
    pub data: Vec<u8>,
}

/// An event went over [`EVENT_CAP`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stream broken: an event is larger than {EVENT_CAP} bytes")]
pub struct TooLarge;

/// The decoder. Feed it with [`Decoder::push`], and call [`Decoder::end`] when the stream is over.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last line ended in CR, so a LF that follows belongs to it.
    after_cr: bool,
    is_begun: bool,
}

impl Decoder {
    /// Takes the next piece and hands every event it completes to `take`, which may end the stream by an error.
    ///
    /// # Errors
    ///
    /// An event is too large, or what `take` returned.
    pub fn push<E: From<TooLarge>>(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(Event) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(end);
            let ended_by_cr = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            if ended_by_cr {
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            let complete = if self.line.is_empty() {
                self.field(line)?
            } else {
                self.hold(line)?;
                let line = std::mem::take(&mut self.line);
                let complete = self.field(&line)?;
                self.line = line;
                self.line.clear();
                complete
            };
            if let Some(event) = complete {
                take(event)?;
            }
        }
        self.hold(bytes)?;
        Ok(())
    }

    /// The stream is over: the event that was not closed, if it has data.
    ///
    /// # Errors
    ///
    /// The event is too large.
    pub fn end(&mut self) -> Result<Option<Event>, TooLarge> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.field(&line)?;
        }
        Ok(self.dispatch())
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + bytes.len() > EVENT_CAP {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn field(&mut self, line: &[u8]) -> Result<Option<Event>, TooLarge> {
        let line = if self.is_begun {
            line
        } else {
            self.is_begun = true;
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        };
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        if let Some(value) = value_of(line, b"data") {
            if self.event.data.len() + value.len() > EVENT_CAP {
                return Err(TooLarge);
            }
            if self.has_data {
                self.event.data.push(b'\n');
            }
            self.event.data.extend_from_slice(value);
            self.has_data = true;
        } else if let Some(value) = value_of(line, b"event") {
            self.event.name = String::from_utf8_lossy(value).into_owned();
        } else if let Some(value) = value_of(line, b"error") {
            // No field of the standard; llama.cpp's server reported errors so for a long time.
            "error".clone_into(&mut self.event.name);
            self.event.data = value.to_vec();
            self.has_data = true;
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

/// The value of a field, without the one space that may follow the colon.
fn value_of<'a>(line: &'a [u8], field: &[u8]) -> Option<&'a [u8]> {
    let rest = line.strip_prefix(field)?;
    if rest.is_empty() {
        return Some(rest);
    }
    let value = rest.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, TooLarge> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let text = |event: Event| (event.name, String::from_utf8(event.data).unwrap());
        for piece in pieces {
            decoder.push(piece, |event| {
                events.push(text(event));
                Ok::<(), TooLarge>(())
            })?;
        }
        events.extend(decoder.end()?.map(text));
        Ok(events)
    }

    fn pair(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn the_forms_of_an_event() {
        let table: [(&str, Vec<(String, String)>); 10] = [
            ("data: a\n\n", vec![pair("", "a")]),
            (
                "event: x\ndata:a\r\n\r\ndata: b\r\r",
                vec![pair("x", "a"), pair("", "b")],
            ),
            ("data: a\ndata:  b\n\n", vec![pair("", "a\n b")]),
            ("error: {}\n\n", vec![pair("error", "{}")]),
            (": keep-alive\n\n: again\n\n", vec![]),
            ("event: only\n\ndata: a\n\n", vec![pair("", "a")]),
            ("\u{feff}data: ü\n\n", vec![pair("", "ü")]),
            ("data: last\n", vec![pair("", "last")]),
            ("data: cut", vec![pair("", "cut")]),
            (
                "id: 7\nretry: 10\ndatabase: no\ndata\n\n",
                vec![pair("", "")],
            ),
        ];
        for (text, events) in table {
            assert_eq!(decode(&[text.as_bytes()]), Ok(events), "{text:?}");
        }
    }

    #[test]
    fn an_event_over_the_cap_is_refused_however_it_comes() {
        let line = vec![b'x'; EVENT_CAP + 1];
        assert_eq!(decode(&[b"data: ", &line]), Err(TooLarge));
        let half = vec![b'x'; EVENT_CAP / 2];
        assert_eq!(
            decode(&[b"data: ", &half, b"\ndata: ", &half, b"\ndata: x\n\n"]),
            Err(TooLarge)
        );
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "(data: [a-zü]{0,9}|event: x|: c|)(\r\n|\n|\r){1,2}(data: [a-z ]{0,5}(\r\n|\n|\r){0,3}){0,4}", size in 1usize..9) {
            let whole = decode(&[text.as_bytes()]);
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(decode(&pieces), whole);
        }
    }
}
