//! The bytes around a record and around a piece of a snapshot.
//!
//! An envelope says whose bytes they are, which version wrote them and where they belong, and
//! its checksum covers all of it. All numbers are little-endian.
//!
//! ```text
//! record:  magic 4 | version 2 | epoch 8 | number 8 | writer 8 | body length 4 | crc32c 4 | body
//! chunk:   magic 4 | version 2 | epoch 8 | at 8     | place 4 | last 1 | body length 4 | crc32c 4 | body
//! ```

use crate::{Epoch, Number, Record, Writer};

/// The version of both envelopes. A later layout gets the next number; none is used twice.
pub const VERSION: u16 = 1;

const RECORD_MAGIC: [u8; 4] = *b"CLHR";
const CHUNK_MAGIC: [u8; 4] = *b"CLHS";
const RECORD_HEADER_BYTES: usize = 38;
const CHUNK_HEADER_BYTES: usize = 35;
const CRC_BYTES: usize = 4;

/// Bytes that are not a whole record or chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The bytes begin like something else.
    #[error("the bytes were not written by this program")]
    Foreign,

    /// A later version wrote them.
    #[error("written in version {found}, this program knows up to {known}")]
    Newer {
        /// The version in the bytes.
        found: u16,
        /// The latest version this program knows.
        known: u16,
    },

    /// There are fewer or more bytes than the envelope says.
    #[error("{found} bytes where {expected} belong")]
    Torn {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },

    /// The bytes changed after they were written.
    #[error("checksum {found:#010x} where {expected:#010x} belongs")]
    Checksum {
        /// The checksum in the envelope.
        expected: u32,
        /// The checksum of the bytes.
        found: u32,
    },

    /// The engine cannot read the place that holds the bytes.
    #[error("the page of the file that holds it is damaged")]
    Page,

    /// Intact bytes that belong elsewhere.
    #[error("bytes of {found} stand where {expected} belongs")]
    Misplaced {
        /// What belongs here.
        expected: u64,
        /// What is here.
        found: u64,
    },
}

/// A piece of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The last record that the snapshot contains.
    pub at: Number,
    /// The epoch at that record.
    pub epoch: Epoch,
    /// 0 for the first piece of the snapshot, then rising by one.
    pub place: u32,
    /// Whether the snapshot ends with this piece.
    pub last: bool,
    /// The bytes of the piece.
    pub body: Vec<u8>,
}

/// Returns the bytes of a record.
#[must_use]
pub fn encode(number: Number, epoch: Epoch, writer: Writer, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RECORD_HEADER_BYTES + body.len());
    bytes.extend_from_slice(&RECORD_MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&epoch.0.to_le_bytes());
    bytes.extend_from_slice(&number.0.to_le_bytes());
    bytes.extend_from_slice(&writer.0.to_le_bytes());
    seal(bytes, body)
}

/// Returns the record in `bytes`.
///
/// # Errors
/// When the bytes are not exactly one intact record of a known version.
pub fn decode(bytes: &[u8]) -> Result<Record, FrameError> {
    let body = unseal(bytes, RECORD_MAGIC, RECORD_HEADER_BYTES)?;
    Ok(Record {
        epoch: Epoch(u64_at(bytes, 6)),
        number: Number(u64_at(bytes, 14)),
        writer: Writer(u64_at(bytes, 22)),
        body: body.to_vec(),
    })
}

/// Returns the record in `bytes` if it is the one that belongs at `number`.
///
/// # Errors
/// As [`decode`], and [`FrameError::Misplaced`] for another record.
pub fn decode_at(number: Number, bytes: &[u8]) -> Result<Record, FrameError> {
    let record = decode(bytes)?;
    if record.number != number {
        return Err(FrameError::Misplaced { expected: number.0, found: record.number.0 });
    }
    Ok(record)
}

/// Returns the bytes of a piece of a snapshot.
#[must_use]
pub fn encode_chunk(chunk: &Chunk) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(CHUNK_HEADER_BYTES + chunk.body.len());
    bytes.extend_from_slice(&CHUNK_MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&chunk.epoch.0.to_le_bytes());
    bytes.extend_from_slice(&chunk.at.0.to_le_bytes());
    bytes.extend_from_slice(&chunk.place.to_le_bytes());
    bytes.push(u8::from(chunk.last));
    seal(bytes, &chunk.body)
}

/// Returns the piece of a snapshot in `bytes`.
///
/// # Errors
/// When the bytes are not exactly one intact piece of a known version.
pub fn decode_chunk(bytes: &[u8]) -> Result<Chunk, FrameError> {
    let body = unseal(bytes, CHUNK_MAGIC, CHUNK_HEADER_BYTES)?;
    Ok(Chunk {
        epoch: Epoch(u64_at(bytes, 6)),
        at: Number(u64_at(bytes, 14)),
        place: u32_at(bytes, 22),
        last: bytes[26] != 0,
        body: body.to_vec(),
    })
}

/// Ends a header with the body's length and the checksum of all other bytes, then adds the body.
fn seal(mut header: Vec<u8>, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("a body is bounded far below 4 GiB");
    header.extend_from_slice(&length.to_le_bytes());
    let crc = checksum(&header, body);
    header.extend_from_slice(&crc.to_le_bytes());
    header.extend_from_slice(body);
    header
}

/// Checks an envelope from the outside in, and returns the body.
fn unseal(bytes: &[u8], magic: [u8; 4], header_bytes: usize) -> Result<&[u8], FrameError> {
    let torn = |expected| FrameError::Torn { expected, found: bytes.len() };
    if !bytes.starts_with(&magic[..magic.len().min(bytes.len())]) {
        return Err(FrameError::Foreign);
    }
    if bytes.len() < header_bytes {
        return Err(torn(header_bytes));
    }
    let version = u16::from_le_bytes([bytes[4], bytes[5]]);
    if version != VERSION {
        return Err(FrameError::Newer { found: version, known: VERSION });
    }
    let (header, body) = bytes.split_at(header_bytes);
    let covered_bytes = header_bytes - CRC_BYTES;
    let length = u32_at(bytes, covered_bytes - 4);
    let expected_bytes =
        usize::try_from(length).map_or(usize::MAX, |n| n.saturating_add(header_bytes));
    if bytes.len() != expected_bytes {
        return Err(torn(expected_bytes));
    }
    let expected = u32_at(bytes, covered_bytes);
    let found = checksum(&header[..covered_bytes], body);
    if found != expected {
        return Err(FrameError::Checksum { expected, found });
    }
    Ok(body)
}

fn checksum(header: &[u8], body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(header), body)
}

/// Returns the number at a place of a header.
pub(crate) fn u64_at(bytes: &[u8], place: usize) -> u64 {
    let field = bytes[place..place + 8].try_into().expect("the slice has eight bytes");
    u64::from_le_bytes(field)
}

/// Returns the number at a place of a header.
pub(crate) fn u32_at(bytes: &[u8], place: usize) -> u32 {
    let field = bytes[place..place + 4].try_into().expect("the slice has four bytes");
    u32::from_le_bytes(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Vec<u8> {
        encode(Number(0x0102), Epoch(3), Writer(0x0a0b), b"job")
    }

    fn chunk() -> Chunk {
        Chunk { at: Number(9), epoch: Epoch(2), place: 1, last: true, body: b"state".to_vec() }
    }

    #[test]
    fn the_bytes_of_a_record_never_change() {
        let golden = "434c48520100030000000000000002010000000000000b0a000000000000\
                      03000000bc25fd8f6a6f62";
        assert_eq!(hex(&record()), golden);
    }

    #[test]
    fn the_bytes_of_a_snapshot_chunk_never_change() {
        let golden = "434c48530100020000000000000009000000000000000100000001\
                      05000000fc90c33f7374617465";
        assert_eq!(hex(&encode_chunk(&chunk())), golden);
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        let expected = Record {
            number: Number(0x0102),
            epoch: Epoch(3),
            writer: Writer(0x0a0b),
            body: b"job".to_vec(),
        };
        assert_eq!(decode(&record()), Ok(expected));
        assert_eq!(decode_chunk(&encode_chunk(&chunk())), Ok(chunk()));
    }

    #[test]
    fn every_cut_of_a_record_is_called_torn() {
        let whole = record();
        for length in 0..whole.len() {
            let error = decode(&whole[..length]).expect_err("a cut record must not decode");
            assert!(matches!(error, FrameError::Torn { .. }), "cut at {length}: {error:?}");
        }
    }

    #[test]
    fn every_flipped_bit_of_a_record_is_noticed() {
        for place in 0..record().len() * 8 {
            let mut flipped = record();
            flipped[place / 8] ^= 1 << (place % 8);
            let error = decode(&flipped).expect_err("a flipped bit must not decode");
            let named = match place / 8 {
                0..4 => matches!(error, FrameError::Foreign),
                4..6 => matches!(error, FrameError::Newer { .. }),
                30..34 => matches!(error, FrameError::Torn { .. }),
                _ => matches!(error, FrameError::Checksum { .. }),
            };
            assert!(named, "bit {place}: {error:?}");
        }
    }

    #[test]
    fn a_record_of_a_later_version_says_which() {
        let mut later = record();
        later[4] = 2;
        assert_eq!(decode(&later), Err(FrameError::Newer { found: 2, known: 1 }));
    }

    #[test]
    fn a_record_in_another_records_place_is_called_misplaced() {
        let error = FrameError::Misplaced { expected: 7, found: 0x0102 };
        assert_eq!(decode_at(Number(7), &record()), Err(error));
    }

    #[test]
    fn a_snapshot_chunk_is_not_a_record() {
        assert_eq!(decode(&encode_chunk(&chunk())), Err(FrameError::Foreign));
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
