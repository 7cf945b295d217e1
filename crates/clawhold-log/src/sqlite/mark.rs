//! The newest record that an append was confirmed for, kept beside the log.
//!
//! SQLite drops the end of a write-ahead file that is torn, and cannot tell a crash before an
//! append was confirmed from a file that was cut, lost or swapped for an older copy afterwards.
//! The mark is written after a record is durable, so a log that ends before its mark has lost
//! something that was confirmed. The mark itself is not synced: after a loss of power it may lag
//! behind the log, which says nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use super::file;
use crate::Number;

const MAGIC: [u8; 4] = *b"CLHM";
const BYTES: usize = 16;

/// The file that holds the mark, open for writing.
#[derive(Debug)]
pub(super) struct Mark(Option<File>);

impl Mark {
    /// Opens the mark of the log at `path`. Where there can be none, nothing is marked.
    pub(super) fn open(path: &Path) -> Self {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        file::only_for_owner(&mut options);
        Self(options.open(file::beside(path, ".mark")).ok())
    }

    /// Notes that the record is durable. One that cannot be noted is not missed.
    pub(super) fn note(&self, number: Number) {
        if let Some(file) = &self.0 {
            let _ = write_all_at(file, &encode(number));
        }
    }
}

/// Returns the mark of the log at `path`; nothing when there is none, or one that is torn.
pub(super) fn read(path: &Path) -> Option<Number> {
    let mut bytes = Vec::with_capacity(BYTES);
    let file = File::open(file::beside(path, ".mark")).ok()?;
    file.take(BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
    decode(&bytes)
}

fn encode(number: Number) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..12].copy_from_slice(&number.0.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..12]);
    bytes[12..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<Number> {
    let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
    let number = u64::from_le_bytes(bytes[4..12].try_into().ok()?);
    (encode(Number(number)) == *bytes).then_some(Number(number))
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, 0)
}

#[cfg(not(unix))]
fn write_all_at(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_mark_never_change() {
        let hex: String = encode(Number(0x0102)).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, "434c484d0201000000000000452a3457");
    }

    #[test]
    fn a_mark_that_is_cut_or_changed_says_nothing() {
        let whole = encode(Number(7));
        assert_eq!(decode(&whole), Some(Number(7)));
        for length in 0..BYTES {
            assert_eq!(decode(&whole[..length]), None);
        }
        for bit in 0..BYTES * 8 {
            let mut flipped = whole;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&flipped), None, "bit {bit}");
        }
    }
}
