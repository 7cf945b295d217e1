//! A backup: one snapshot and the records that follow it, in one file that says when it is whole.
//!
//! It belongs to no engine. Every record and every piece of a snapshot keeps its envelope with
//! its checksum; the end holds a digest of everything before it, so a file that is cut or changed
//! anywhere is refused. All numbers are little-endian.
//!
//! ```text
//! head:  "clawhold backup\n" 16 | version 2 | next 8 | crc32c 4
//! piece: "S" 1 | length 4 | a piece of a snapshot, as the log keeps it
//! record: "R" 1 | length 4 | a record, as the log keeps it
//! end:   "E" 1 | length 4 | note | pieces and records 8 | last 8 | epoch 8 | SHA-256 32
//! ```

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use crate::limits::{RECORD_BODY_BYTES_MAX, SNAPSHOT_CHUNK_BYTES_MAX};
use crate::snapshot::{Cutter, Joiner};
use crate::{Epoch, FrameError, Number, Record, Snapshot, frame};

/// The version of the file. A later layout gets the next number; none is used twice.
pub const VERSION: u16 = 1;

const MAGIC: [u8; 16] = *b"clawhold backup\n";
const PIECE: u8 = b'S';
const RECORD: u8 = b'R';
const END: u8 = b'E';
const DIGEST_BYTES: usize = 32;
const NOTE_BYTES_MAX: usize = 64 * 1_024;
/// An envelope's own bytes, at most.
const ENVELOPE_BYTES_MAX: usize = 64;
const FRAME_BYTES_MAX: usize = ENVELOPE_BYTES_MAX
    + if RECORD_BODY_BYTES_MAX > SNAPSHOT_CHUNK_BYTES_MAX {
        RECORD_BODY_BYTES_MAX
    } else {
        SNAPSHOT_CHUNK_BYTES_MAX
    };

/// A backup cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file begins like something else.
    #[error("the file is no backup of this program")]
    Foreign,

    /// A later version wrote it.
    #[error("the backup has version {found}, this program reads up to {known}: use a later one")]
    Newer {
        /// The version in the file.
        found: u16,
        /// The latest version this program knows.
        known: u16,
    },

    /// The file ends too early.
    #[error("the backup is cut off after byte {at}: copy it again, or use another")]
    Truncated {
        /// How many bytes there are.
        at: u64,
    },

    /// The file was changed after it was written.
    #[error("the backup is damaged at byte {at}, {what}: copy it again, or use another")]
    Damaged {
        /// Where.
        at: u64,
        /// What is wrong there.
        what: String,
    },

    /// The file cannot be read or written.
    #[error("the backup cannot be read or written")]
    Io(#[from] io::Error),
}

/// What a backup ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// What its maker said of it.
    pub note: Vec<u8>,
    /// The newest record in it.
    pub last: Number,
    /// The epoch at that record.
    pub epoch: Epoch,
}

/// What comes next in a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The snapshot. It comes first, if there is one.
    Snapshot(Snapshot),
    /// A record.
    Record(Record),
    /// The end: the whole file is as it was written.
    End(End),
}

/// Writes a backup.
#[derive(Debug)]
pub struct BackupWriter<W> {
    out: W,
    digest: Sha256,
    count: u64,
    last: Number,
    epoch: Epoch,
}

impl<W: Write> BackupWriter<W> {
    /// Begins a backup with the snapshot, or with record 1 when there is none.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(out: W, snapshot: Option<&Snapshot>) -> io::Result<Self> {
        let (last, epoch) = snapshot.map_or_else(Default::default, |kept| (kept.at, kept.epoch));
        let mut writer = Self { out, digest: Sha256::new(), count: 0, last, epoch };
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&VERSION.to_le_bytes());
        head.extend_from_slice(&last.next().0.to_le_bytes());
        let crc = crc32c::crc32c(&head);
        head.extend_from_slice(&crc.to_le_bytes());
        writer.put(&head)?;
        if let Some(kept) = snapshot {
            let mut bytes = kept.bytes.chunks(SNAPSHOT_CHUNK_BYTES_MAX).map(<[u8]>::to_vec);
            for piece in Cutter::new(kept.at, kept.epoch, &mut bytes) {
                writer.put_item(PIECE, &piece)?;
            }
        }
        Ok(writer)
    }

    /// Adds the next record.
    ///
    /// # Errors
    /// When it cannot be written.
    ///
    /// # Panics
    /// When a record is left out.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        assert!(record.number == self.last.next(), "a backup has no hole");
        let encoded = frame::encode(record.number, record.epoch, record.writer, &record.body);
        self.put_item(RECORD, &encoded)?;
        self.last = record.number;
        // A void record has an earlier epoch than the one that overtook it.
        self.epoch = self.epoch.max(record.epoch);
        Ok(())
    }

    /// Returns the newest record so far.
    #[must_use]
    pub fn last(&self) -> Number {
        self.last
    }

    /// Ends the backup and returns what it was written to.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, note: &[u8]) -> io::Result<W> {
        self.framed(END, note)?;
        let mut end = self.count.to_le_bytes().to_vec();
        end.extend_from_slice(&self.last.0.to_le_bytes());
        end.extend_from_slice(&self.epoch.0.to_le_bytes());
        self.put(&end)?;
        let digest = self.digest.finalize();
        self.out.write_all(&digest)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn put_item(&mut self, tag: u8, encoded: &[u8]) -> io::Result<()> {
        self.count += 1;
        self.framed(tag, encoded)
    }

    fn framed(&mut self, tag: u8, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        self.put(&[tag])?;
        self.put(&length.to_le_bytes())?;
        self.put(bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.out.write_all(bytes)
    }
}

/// Reads a backup from its beginning to its end.
#[derive(Debug)]
pub struct BackupReader<R> {
    input: R,
    digest: Sha256,
    at: u64,
    count: u64,
    last: Number,
    epoch: Epoch,
}

impl<R: Read> BackupReader<R> {
    /// Reads the head of a backup.
    ///
    /// # Errors
    /// [`BackupError`] when it is none, a newer one, or damaged.
    pub fn begin(input: R) -> Result<Self, BackupError> {
        let (digest, last, epoch) = (Sha256::new(), Number(0), Epoch(0));
        let mut reader = Self { input, digest, at: 0, count: 0, last, epoch };
        let magic = reader.take_up_to(MAGIC.len())?;
        if !MAGIC.starts_with(&magic) || magic.is_empty() {
            return Err(BackupError::Foreign);
        }
        if magic.len() < MAGIC.len() {
            return Err(BackupError::Truncated { at: reader.at });
        }
        let version: [u8; 2] = reader.array()?;
        let found = u16::from_le_bytes(version);
        if found != VERSION {
            return Err(BackupError::Newer { found, known: VERSION });
        }
        let next: [u8; 8] = reader.array()?;
        let expected = crc32c::crc32c_append(crc32c::crc32c(&magic), &version);
        let expected = crc32c::crc32c_append(expected, &next);
        if u32::from_le_bytes(reader.array()?) != expected {
            return Err(reader.damaged("its head does not add up"));
        }
        reader.last = Number(u64::from_le_bytes(next).saturating_sub(1));
        Ok(reader)
    }

    /// Returns what comes next. Nothing counts before the end has come.
    ///
    /// # Errors
    /// [`BackupError`] names where the file is damaged or cut off.
    pub fn item(&mut self) -> Result<Item, BackupError> {
        let tag = self.tag()?;
        match tag {
            PIECE if self.count == 0 => self.snapshot().map(Item::Snapshot),
            RECORD if self.count > 0 || self.last == Number(0) => self.record().map(Item::Record),
            END => self.end().map(Item::End),
            _ => Err(self.damaged("something that belongs elsewhere stands there")),
        }
    }

    fn snapshot(&mut self) -> Result<Snapshot, BackupError> {
        let mut joiner: Option<Joiner> = None;
        loop {
            let encoded = self.frame()?;
            let piece =
                frame::decode_chunk(&encoded).map_err(|error| self.frame_damaged(&error))?;
            let joiner = joiner.get_or_insert_with(|| Joiner::new(piece.at, piece.epoch));
            joiner.push(&encoded).map_err(|error| self.frame_damaged(&error))?;
            if piece.last {
                break;
            }
            if self.tag()? != PIECE {
                return Err(self.damaged("the snapshot is not whole"));
            }
        }
        let whole = joiner.map(Joiner::finish).unwrap_or(Err(FrameError::Foreign));
        let snapshot = whole.map_err(|error| self.frame_damaged(&error))?;
        if snapshot.at != self.last {
            return Err(self.damaged("the snapshot is another one"));
        }
        self.epoch = snapshot.epoch;
        Ok(snapshot)
    }

    fn record(&mut self) -> Result<Record, BackupError> {
        let encoded = self.frame()?;
        let record = frame::decode_at(self.last.next(), &encoded);
        let record = record.map_err(|error| self.frame_damaged(&error))?;
        self.last = record.number;
        self.epoch = self.epoch.max(record.epoch);
        Ok(record)
    }

    fn end(&mut self) -> Result<End, BackupError> {
        let note = self.bytes(NOTE_BYTES_MAX)?;
        let count = u64::from_le_bytes(self.array()?);
        let last = Number(u64::from_le_bytes(self.array()?));
        let epoch = Epoch(u64::from_le_bytes(self.array()?));
        let expected = self.digest.clone().finalize();
        let digest: [u8; DIGEST_BYTES] = self.array()?;
        if digest[..] != expected[..] {
            return Err(self.damaged("its digest is another"));
        }
        if (count, last, epoch) != (self.count, self.last, self.epoch) {
            return Err(self.damaged("its end does not add up"));
        }
        if !self.take_up_to(1)?.is_empty() {
            return Err(self.damaged("something follows its end"));
        }
        Ok(End { note, last, epoch })
    }

    fn frame(&mut self) -> Result<Vec<u8>, BackupError> {
        self.count += 1;
        self.bytes(FRAME_BYTES_MAX)
    }

    fn tag(&mut self) -> Result<u8, BackupError> {
        let [tag] = self.array()?;
        Ok(tag)
    }

    fn bytes(&mut self, max: usize) -> Result<Vec<u8>, BackupError> {
        let length = u32::from_le_bytes(self.array()?);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > max {
            return Err(self.damaged("a length is beyond its limit"));
        }
        let bytes = self.take_up_to(length)?;
        if bytes.len() < length {
            return Err(BackupError::Truncated { at: self.at });
        }
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BackupError> {
        let bytes = self.take_up_to(N)?;
        bytes.try_into().map_err(|_| BackupError::Truncated { at: self.at })
    }

    fn take_up_to(&mut self, length: usize) -> Result<Vec<u8>, BackupError> {
        let mut bytes = Vec::with_capacity(length);
        let limit = u64::try_from(length).unwrap_or(u64::MAX);
        (&mut self.input).take(limit).read_to_end(&mut bytes)?;
        self.digest.update(&bytes);
        self.at += bytes.len() as u64;
        Ok(bytes)
    }

    fn damaged(&self, what: &str) -> BackupError {
        BackupError::Damaged { at: self.at, what: what.to_owned() }
    }

    fn frame_damaged(&self, error: &FrameError) -> BackupError {
        self.damaged(&error.to_string())
    }
}
