//! Which snapshots are kept: one message that names them all, replaced as a whole.
//!
//! ```text
//! magic 4 | version 2 | count 1 | count × ( at 8 | epoch 8 | pieces 4 | name 16 ) | crc32c 4
//! ```

use crate::frame::{u32_at, u64_at};
use crate::limits::SNAPSHOT_GENERATIONS;
use crate::{Epoch, FrameError, Number};

/// The version of the message. A later layout gets the next number; none is used twice.
const VERSION: u16 = 1;

const MAGIC: [u8; 4] = *b"CLHK";
const HEAD_BYTES: usize = 7;
const GENERATION_BYTES: usize = 36;
const CRC_BYTES: usize = 4;

/// The snapshots that are kept, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shelf {
    pub(super) generations: Vec<Generation>,
}

/// A snapshot that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Generation {
    pub(super) at: Number,
    pub(super) epoch: Epoch,
    pub(super) pieces: u32,
    pub(super) name: Name,
}

/// The name of a snapshot, which its pieces carry in their subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// Where the stream of snapshots ended when it was begun.
    pub(super) begun: u64,
    /// Drawn at random.
    pub(super) drawn: u64,
}

impl Name {
    /// Returns the name as it stands in a subject.
    pub(super) fn token(self) -> String {
        format!("{:016x}{:016x}", self.begun, self.drawn)
    }

    /// Reads a name as it stands in a subject.
    pub(super) fn parse(token: &str) -> Option<Self> {
        let (begun, drawn) = token.split_at_checked(16)?;
        let begun = u64::from_str_radix(begun, 16).ok()?;
        let drawn = u64::from_str_radix(drawn, 16).ok()?;
        let name = Self { begun, drawn };
        (name.token() == token).then_some(name)
    }
}

impl Shelf {
    /// Returns the bytes of the message.
    pub(super) fn encode(&self) -> Vec<u8> {
        let count = u8::try_from(self.generations.len()).expect("two generations are kept");
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.push(count);
        for generation in &self.generations {
            bytes.extend_from_slice(&generation.at.0.to_le_bytes());
            bytes.extend_from_slice(&generation.epoch.0.to_le_bytes());
            bytes.extend_from_slice(&generation.pieces.to_le_bytes());
            bytes.extend_from_slice(&generation.name.begun.to_le_bytes());
            bytes.extend_from_slice(&generation.name.drawn.to_le_bytes());
        }
        let crc = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Returns the shelf in the bytes of a message.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let found = bytes.len();
        if !bytes.starts_with(&MAGIC[..MAGIC.len().min(found)]) {
            return Err(FrameError::Foreign);
        }
        let torn = |expected| FrameError::Torn { expected, found };
        if found < HEAD_BYTES + CRC_BYTES {
            return Err(torn(HEAD_BYTES + CRC_BYTES));
        }
        let version = u16::from_le_bytes([bytes[4], bytes[5]]);
        if version != VERSION {
            return Err(FrameError::Newer { found: version, known: VERSION });
        }
        let count = usize::from(bytes[6]);
        let end = HEAD_BYTES + count * GENERATION_BYTES;
        if SNAPSHOT_GENERATIONS < count || found != end + CRC_BYTES {
            return Err(torn(end + CRC_BYTES));
        }
        let expected = u32_at(bytes, end);
        let found = crc32c::crc32c(&bytes[..end]);
        if found != expected {
            return Err(FrameError::Checksum { expected, found });
        }
        let places = (0..count).map(|place| HEAD_BYTES + place * GENERATION_BYTES);
        Ok(Self { generations: places.map(|place| generation_at(bytes, place)).collect() })
    }
}

fn generation_at(bytes: &[u8], place: usize) -> Generation {
    Generation {
        at: Number(u64_at(bytes, place)),
        epoch: Epoch(u64_at(bytes, place + 8)),
        pieces: u32_at(bytes, place + 16),
        name: Name { begun: u64_at(bytes, place + 20), drawn: u64_at(bytes, place + 28) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf() -> Shelf {
        let name = Name { begun: 5, drawn: 0x0a0b };
        let newer = Generation { at: Number(0x0102), epoch: Epoch(3), pieces: 7, name };
        let name = Name { begun: 1, drawn: 2 };
        let older = Generation { at: Number(9), epoch: Epoch(2), pieces: 1, name };
        Shelf { generations: vec![newer, older] }
    }

    #[test]
    fn the_bytes_of_a_shelf_never_change() {
        let hex: String = shelf().encode().iter().map(|byte| format!("{byte:02x}")).collect();
        let golden = "434c484b0100020201000000000000030000000000000007000000\
                      05000000000000000b0a00000000000009000000000000000200000000000000\
                      0100000001000000000000000200000000000000a9d2a438";
        assert_eq!(hex, golden);
    }

    #[test]
    fn what_was_encoded_is_decoded_and_every_cut_or_flipped_bit_is_noticed() {
        let whole = shelf().encode();
        assert_eq!(Shelf::decode(&whole), Ok(shelf()));
        for length in 0..whole.len() {
            assert!(Shelf::decode(&whole[..length]).is_err(), "cut at {length}");
        }
        for place in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[place / 8] ^= 1 << (place % 8);
            assert!(Shelf::decode(&flipped).is_err(), "bit {place}");
        }
    }

    #[test]
    fn a_name_is_read_as_it_was_written_and_no_other_way() {
        let name = Name { begun: 77, drawn: u64::MAX };
        assert_eq!(Name::parse(&name.token()), Some(name));
        for token in ["", "77", &"g".repeat(32), &"F".repeat(32), &"0".repeat(33)] {
            assert_eq!(Name::parse(token), None, "{token}");
        }
    }
}
