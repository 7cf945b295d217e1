//! The newest record that this host knows to be confirmed, shared by the handles of a process.
//!
//! A database can be replaced behind a server's back: by a replica that lagged, or by an older
//! copy. Its connections break then, and with every connection that is made the record is looked
//! for again. A file keeps it over restarts, where there is a folder for it. The file is not
//! synced: after a loss of power it may lag behind the log, which says nothing.

use std::fs::{File, OpenOptions, create_dir_all};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sha2::{Digest, Sha256};

use super::address::Address;
use crate::{Epoch, Head, LogError, Number, OpenError};

/// The bytes of a frame that tell it from any other: numbers, writer, length and checksum.
pub(super) const MARK_BYTES: usize = 38;

const MAGIC: [u8; 4] = *b"CLHP";
const FILE_BYTES: usize = 62;

/// The newest confirmed record.
#[derive(Debug, Default)]
pub(super) struct Seen {
    newest: Mutex<Option<Confirmed>>,
    file: Option<(PathBuf, File)>,
}

/// What is known of a confirmed record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Confirmed {
    pub(super) number: Number,
    epoch: Epoch,
    mark: [u8; MARK_BYTES],
}

impl Seen {
    /// Opens what a file in `folder` knows of the log at `address`.
    pub(super) fn open(address: &Address, folder: Option<&Path>) -> Result<Self, LogError> {
        let Some(folder) = folder else { return Ok(Self::default()) };
        let digest = Sha256::digest(address.shown.as_bytes());
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let path = folder.join(format!("postgres-{name}.mark"));
        let (newest, file) =
            open_file(&path).map_err(|source| OpenError::File { path: path.clone(), source })?;
        Ok(Self { newest: Mutex::new(newest), file: Some((path, file)) })
    }

    /// Notes a record that was appended or read.
    pub(super) fn note(&self, number: Number, epoch: Epoch, frame: &[u8]) {
        let mut newest = self.newest.lock().expect("no holder of the lock panics");
        if newest.as_ref().is_some_and(|newest| number <= newest.number) {
            return;
        }
        let mut mark = [0; MARK_BYTES];
        mark.copy_from_slice(&frame[..MARK_BYTES]);
        let confirmed = Confirmed { number, epoch, mark };
        if let Some((_, file)) = &self.file {
            // One that cannot be noted is not missed.
            let _ = file.write_all_at(&confirmed.encode(), 0);
        }
        *newest = Some(confirmed);
    }

    /// Returns the newest.
    pub(super) fn newest(&self) -> Option<Confirmed> {
        self.newest.lock().expect("no holder of the lock panics").clone()
    }

    /// Refuses a log that ends before a confirmed record.
    pub(super) fn check_end(
        &self,
        address: &Address,
        confirmed: &Confirmed,
        head: Head,
    ) -> Result<(), LogError> {
        if confirmed.number <= head.last {
            return Ok(());
        }
        Err(self.rewound(address, confirmed, format!("ends at record {}", head.last)))
    }

    /// Refuses a log that does not hold a confirmed record any more. `mark` is the beginning of
    /// what stands at its number.
    pub(super) fn check(
        &self,
        address: &Address,
        confirmed: &Confirmed,
        head: Head,
        mark: Option<&[u8]>,
    ) -> Result<(), LogError> {
        self.check_end(address, confirmed, head)?;
        let found = if head.epoch < confirmed.epoch {
            format!("is in term {} again, after {}", head.epoch, confirmed.epoch)
        } else if confirmed.number < head.first || mark == Some(&confirmed.mark) {
            return Ok(());
        } else {
            "holds another record in its place".to_owned()
        };
        Err(self.rewound(address, confirmed, found))
    }

    fn rewound(&self, address: &Address, confirmed: &Confirmed, found: String) -> LogError {
        let (store, confirmed) = (address.shown.clone(), confirmed.number);
        let accept = match &self.file {
            Some((path, _)) => format!("remove {path:?}, on each host its own, and start again"),
            None => "start the servers again".to_owned(),
        };
        OpenError::Rewound { store, confirmed, found, accept }.into()
    }
}

impl Confirmed {
    fn encode(&self) -> [u8; FILE_BYTES] {
        let mut bytes = [0; FILE_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..12].copy_from_slice(&self.number.0.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.epoch.0.to_le_bytes());
        bytes[20..58].copy_from_slice(&self.mark);
        let crc = crc32c::crc32c(&bytes[..58]);
        bytes[58..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Returns what a file holds; nothing when it is torn.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; FILE_BYTES] = bytes.try_into().ok()?;
        let number = Number(u64::from_le_bytes(bytes[4..12].try_into().ok()?));
        let epoch = Epoch(u64::from_le_bytes(bytes[12..20].try_into().ok()?));
        let confirmed = Self { number, epoch, mark: bytes[20..58].try_into().ok()? };
        (confirmed.encode() == *bytes).then_some(confirmed)
    }
}

fn open_file(path: &Path) -> io::Result<(Option<Confirmed>, File)> {
    if let Some(folder) = path.parent() {
        create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(path)?;
    let mut bytes = Vec::with_capacity(FILE_BYTES);
    Read::by_ref(&mut file).take(FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok((Confirmed::decode(&bytes), file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_what_was_confirmed_and_a_torn_one_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let address = Address::parse("postgres://ann:pw@db/log").unwrap();
        let seen = Seen::open(&address, Some(folder.path())).unwrap();
        assert_eq!(seen.newest(), None);
        let frame = crate::frame::encode(Number(7), Epoch(2), crate::Writer(3), b"body");
        seen.note(Number(7), Epoch(2), &frame);
        seen.note(Number(6), Epoch(1), &frame);
        let again = Seen::open(&address, Some(folder.path())).unwrap();
        assert_eq!(again.newest(), seen.newest());
        assert_eq!(again.newest().unwrap().number, Number(7));
        let bytes = again.newest().unwrap().encode();
        for length in 0..FILE_BYTES {
            assert_eq!(Confirmed::decode(&bytes[..length]), None);
        }
        for bit in 0..FILE_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Confirmed::decode(&flipped), None, "bit {bit}");
        }
    }
}
