//! What a drill finds out about one file: SHA-256, size and lines, in steps that can be resumed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::digest::common::hazmat::{SerializableState, SerializedState};
use sha2::{Digest, Sha256};

/// Bytes read in one step.
const STEP_BYTES: usize = 64 * 1_024;

/// What was found out about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Index {
    /// It was read to its end.
    File {
        /// SHA-256 of its bytes, in hex.
        sha256: String,
        /// Its size.
        bytes: u64,
        /// Its line feeds.
        lines: u64,
    },
    /// It could not be read.
    Unreadable {
        /// Why, in words that do not depend on the moment.
        error: String,
    },
}

impl Index {
    /// Reads the file at `path` in one go.
    pub(crate) fn of(path: &Path) -> Self {
        let mut progress = Progress::start();
        match progress.read_on(path, &mut |_| true) {
            Ok(_) => progress.finish(),
            Err(error) => Self::unreadable(&error),
        }
    }

    /// Returns the result for a file that could not be read.
    pub(crate) fn unreadable(error: &io::Error) -> Self {
        Self::Unreadable { error: error.kind().to_string() }
    }
}

/// How far the reading of a file has come.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    hash: Sha256,
    bytes: u64,
    lines: u64,
}

/// Progress as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// Bytes read.
    pub(crate) bytes: u64,
    /// Line feeds among them.
    pub(crate) lines: u64,
    /// The inner state of SHA-256 after them, in hex.
    pub(crate) state: String,
}

impl Progress {
    /// Returns the progress before the first byte.
    pub(crate) fn start() -> Self {
        Self { hash: Sha256::new(), bytes: 0, lines: 0 }
    }

    /// Returns the progress that was written down; none if it makes no sense.
    pub(crate) fn resume(checkpoint: &Checkpoint) -> Option<Self> {
        let state = from_hex(&checkpoint.state)?;
        let state = SerializedState::<Sha256>::try_from(state.as_slice()).ok()?;
        let hash = Sha256::deserialize(&state).ok()?;
        Some(Self { hash, bytes: checkpoint.bytes, lines: checkpoint.lines })
    }

    /// Returns the progress as it is written down.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        let state = to_hex(&self.hash.serialize());
        Checkpoint { bytes: self.bytes, lines: self.lines, state }
    }

    /// Reads the file on from where this progress stands, and asks `go_on` after each step.
    /// Returns whether the end was reached.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn read_on(
        &mut self,
        path: &Path,
        go_on: &mut dyn FnMut(&Self) -> bool,
    ) -> io::Result<bool> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.bytes))?;
        let mut buffer = vec![0; STEP_BYTES];
        loop {
            let count = match file.read(&mut buffer) {
                Ok(0) => return Ok(true),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let step = &buffer[..count];
            self.hash.update(step);
            self.bytes += u64::try_from(count).unwrap_or(0);
            let lines = step.iter().filter(|byte| **byte == b'\n').count();
            self.lines += u64::try_from(lines).unwrap_or(0);
            if !go_on(self) {
                return Ok(false);
            }
        }
    }

    /// Returns what was found out once the end was reached.
    pub(crate) fn finish(self) -> Index {
        let sha256 = to_hex(&self.hash.finalize());
        Index::File { sha256, bytes: self.bytes, lines: self.lines }
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_indexed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("f");
        fs::write(&path, "abc").unwrap();
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
        assert_eq!(Index::of(&path), Index::File { sha256, bytes: 3, lines: 0 });
        let gone = place.path().join("gone");
        assert_eq!(Index::of(&gone), Index::Unreadable { error: "entity not found".to_owned() });
    }

    #[test]
    fn reading_in_parts_gives_what_reading_at_once_gives() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("f");
        let mut random = fastrand::Rng::with_seed(11);
        let bytes: Vec<u8> = (0..5 * STEP_BYTES + 17).map(|_| random.u8(..32)).collect();
        fs::write(&path, &bytes).unwrap();
        let mut progress = Progress::start();
        let mut parts = 0;
        while !progress.read_on(&path, &mut |_| false).unwrap() {
            let text = serde_json::to_string(&progress.checkpoint()).unwrap();
            progress = Progress::resume(&serde_json::from_str(&text).unwrap()).unwrap();
            parts += 1;
        }
        assert_eq!(parts, 6);
        assert_eq!(progress.finish(), Index::of(&path));
    }

    #[test]
    fn a_checkpoint_that_makes_no_sense_is_refused() {
        for state in ["", "0", "zz", "00ff"] {
            let checkpoint = Checkpoint { bytes: 1, lines: 0, state: state.to_owned() };
            assert!(Progress::resume(&checkpoint).is_none(), "{state}");
        }
    }
}
