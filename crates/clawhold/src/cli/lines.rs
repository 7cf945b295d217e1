//! Files read line by line, each line with its number and within its limit.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::failure::Failure;

/// Bytes of one line.
const LINE_BYTES_MAX: usize = 1_024 * 1_024;
/// Bytes of a file that is one payload; the server's own limit is below that.
const WHOLE_BYTES_MAX: u64 = 1_024 * 1_024;
/// Jobs or events in one request.
pub(crate) const BATCH_ITEMS_MAX: usize = 500;
/// Bytes in one request, below what the server takes.
pub(crate) const BATCH_BYTES_MAX: usize = 400 * 1_024;

/// The lines of a file that say something, each with its number.
pub(crate) struct Lines {
    name: String,
    reader: Box<dyn BufRead + Send>,
    number: u64,
}

impl Lines {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self { name: name(path), reader: reader(path)?, number: 0 })
    }

    fn read(&mut self) -> Result<Option<String>, Failure> {
        let mut line = Vec::new();
        let limit = LINE_BYTES_MAX as u64 + 2;
        let cannot = |error: io::Error| {
            Failure::failed(format!("cannot read {}", self.name)).because(&error)
        };
        let bytes = (&mut self.reader).take(limit).read_until(b'\n', &mut line).map_err(cannot)?;
        if bytes == 0 {
            return Ok(None);
        }
        self.number += 1;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = if self.number == 1 { text.strip_prefix(BOM).unwrap_or(text) } else { text };
        if text.len() > LINE_BYTES_MAX {
            return Err(self.at(&format!("has more than {LINE_BYTES_MAX} bytes")));
        }
        match std::str::from_utf8(text) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(error) => Err(self.at("is no UTF-8").because(&error)),
        }
    }

    fn at(&self, what: &str) -> Failure {
        Failure::usage(format!("{} line {}: {what}", self.name, self.number))
    }
}

impl Iterator for Lines {
    type Item = Result<(u64, String), Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.read().transpose()? {
                Ok(line) if line.trim_ascii().is_empty() => {}
                Ok(line) => return Some(Ok((self.number, line))),
                Err(failure) => return Some(Err(failure)),
            }
        }
    }
}

/// The mark that some programs write before UTF-8.
pub(crate) const BOM: &[u8] = "\u{feff}".as_bytes();

/// Opens a file; `-` is standard input.
pub(crate) fn reader(path: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path)
        .map_err(|error| Failure::usage(format!("cannot open {}", name(path))).because(&error))?;
    Ok(Box::new(BufReader::with_capacity(64 * 1_024, file)))
}

/// Returns what people call this file.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Reads a file that is one payload; `-` is standard input.
pub(crate) fn read_whole(path: &Path) -> Result<String, Failure> {
    let cannot =
        |error: io::Error| Failure::usage(format!("cannot read {}", name(path))).because(&error);
    let mut bytes = Vec::new();
    reader(path)?.take(WHOLE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > WHOLE_BYTES_MAX {
        let text = format!("{} has more than {WHOLE_BYTES_MAX} bytes", name(path));
        return Err(Failure::usage(text));
    }
    String::from_utf8(bytes)
        .map_err(|error| Failure::usage(format!("{} is no UTF-8", name(path))).because(&error))
}

/// Does work that may wait for standard input on a thread of its own, so that Ctrl-C is heard.
///
/// # Errors
/// When the thread is no more.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::failed("a thread of this command ended").because(&error))
}
