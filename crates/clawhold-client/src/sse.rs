//! Server-sent events, cut out of a stream of bytes.

/// Bytes that one event may have before its stream is given up.
const EVENT_BYTES_MAX: usize = 8 * 1_024 * 1_024;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Its name; empty when it has none.
    pub(crate) name: String,
    /// Its data.
    pub(crate) data: String,
    /// The id to go on from, when it bears one.
    pub(crate) id: Option<String>,
}

/// The end of a line and of an event is looked for here.
#[derive(Clone, Debug, Default)]
pub(crate) struct SseParser {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    bytes: usize,
}

/// An event has more bytes than any event of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl SseParser {
    /// Takes bytes in and returns the events that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
                self.bytes += 1;
                if self.bytes > EVENT_BYTES_MAX {
                    return Err(TooLong);
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                self.bytes = 0;
                let event = std::mem::take(&mut self.event);
                if std::mem::take(&mut self.has_data) {
                    events.push(event);
                }
            } else {
                self.take_line(&String::from_utf8_lossy(line));
            }
        }
        Ok(events)
    }

    fn take_line(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "id" => self.event.id = Some(value.to_owned()),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // A comment (an empty field), `retry`, and whatever is not known.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str =
        ": hello\n\nevent: job\r\ndata: {\"a\":\r\ndata: 1}\r\nid: 7\r\n\r\ndata:x\n\nid: 8\n\n";

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let whole = SseParser::default().feed(STREAM.as_bytes()).unwrap();
        let job = SseEvent {
            name: "job".to_owned(),
            data: "{\"a\":\n1}".to_owned(),
            id: Some("7".to_owned()),
        };
        let plain = SseEvent { data: "x".to_owned(), ..SseEvent::default() };
        assert_eq!(whole, [job, plain]);
        for size in 1..STREAM.len() {
            let mut parser = SseParser::default();
            let mut events = Vec::new();
            for chunk in STREAM.as_bytes().chunks(size) {
                events.append(&mut parser.feed(chunk).unwrap());
            }
            assert_eq!(events, whole, "chunks of {size}");
        }
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut parser = SseParser::default();
        let chunk = vec![b'x'; EVENT_BYTES_MAX];
        assert_eq!(parser.feed(&chunk), Ok(Vec::new()));
        assert_eq!(parser.feed(b"xx"), Err(TooLong));
    }
}
