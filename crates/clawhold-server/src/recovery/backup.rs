//! Making a backup: the newest snapshot, and the records that follow up to the newest.
//!
//! Records are read in short transactions, a few at a time: no commit waits for it, and the
//! backup ends at the record that was the newest when it began. Each record is applied as it is
//! copied, so a backup that was made is known to be one that can be restored.

use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clawhold_core::State;
use clawhold_core::replay::Replay;
use clawhold_core::snapshot::SNAPSHOT_VERSION;
use clawhold_core::units::RecordNumber;
use clawhold_log::backup::BackupWriter;
use clawhold_log::{LogError, Number, Snapshot};
use serde::{Deserialize, Serialize};

use super::RecoveryError;
use super::history::{History, failed, take};
use crate::clock;

/// Times that a backup is begun anew because a server has trimmed what was to be read next.
const TRIES_MAX: usize = 5;

/// What a backup says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The position of the newest entry in it.
    pub position: u64,
    /// When that entry was written, RFC 3339.
    pub at: String,
    /// The hash of the state at that position.
    pub hash: String,
    /// When the backup was made, RFC 3339.
    pub made: String,
    /// The store that it was made of.
    pub store: String,
    /// The version of the state's form: the hash of another one is another.
    pub state_version: u32,
}

/// A backup that was made.
#[derive(Clone, Debug, Serialize)]
pub struct BackedUp {
    /// The file.
    pub file: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// Records in it, after its snapshot.
    pub records: u64,
    /// The newest record in it.
    pub last_record: u64,
    /// What it says of itself.
    #[serde(flatten)]
    pub note: Note,
    /// What was lost, if something was: only when damage was to be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
}

/// What could not be saved of a damaged store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// The first record that is not in the backup.
    pub first_record: u64,
    /// The last one that is known to have been there.
    pub last_record: u64,
    /// Why.
    pub why: String,
}

/// Makes a backup of a store in a new file. With `salvage` it ends before the first damage, and
/// says what is lost; else damage is an error.
///
/// # Errors
/// [`RecoveryError`] when the store or the file is not what it should be. No file is left then.
pub fn backup(store: &str, file: &Path, salvage: bool) -> Result<BackedUp, RecoveryError> {
    if file.symlink_metadata().is_ok() {
        return Err(RecoveryError::Exists { path: file.to_owned() });
    }
    let mut history = History::open(store)?;
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = Part(PathBuf::from(part));
    for _ in 1..TRIES_MAX {
        match write(&mut history, file, &part.0, salvage) {
            Err(RecoveryError::Trimmed) => {}
            done => return done,
        }
    }
    write(&mut history, file, &part.0, salvage)
}

/// A file that is being written; it goes unless it came to be the backup.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        // It is gone when all went well.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn write(
    history: &mut History,
    file: &Path,
    part: &Path,
    salvage: bool,
) -> Result<BackedUp, RecoveryError> {
    let cannot = |path: &Path| {
        let path = path.to_owned();
        move |source| RecoveryError::File { path, source }
    };
    let mut options = OpenOptions::new();
    let out = options.write(true).create(true).truncate(true).mode(0o600).open(part);
    let out = BufWriter::new(out.map_err(cannot(part))?);
    if !salvage {
        let store = history.store.clone();
        history.reader.check().map_err(|source| failed(&store, source))?;
    }
    let last = history.head()?.last.max(history.reader.confirmed().unwrap_or_default());
    let base = newest(history, salvage)?;
    let mut writer = BackupWriter::begin(out, base.0.as_ref()).map_err(cannot(part))?;
    let begun = writer.last();
    let mut replay = Replay::new(base.1, RecordNumber(begun.next().0));
    let lost = copy(history, &mut replay, &mut writer, last, part, salvage)?;
    if writer.last() == Number(0) {
        return Err(RecoveryError::NothingLeft);
    }
    let (state, last_record) = (replay.state(), writer.last().0);
    let note = Note {
        position: state.last().position.0,
        at: clock::rfc3339(state.last().at),
        hash: state.hash(),
        made: clock::rfc3339(clock::now().at),
        store: history.store.clone(),
        state_version: SNAPSHOT_VERSION,
    };
    let text = serde_json::to_vec(&note).expect("text and numbers are always JSON");
    let out = writer.finish(&text).map_err(cannot(part))?;
    let out = out.into_inner().map_err(|error| cannot(part)(error.into_error()))?;
    out.sync_all().map_err(cannot(part))?;
    let bytes = out.metadata().map_err(cannot(part))?.len();
    put_in_place(part, file)?;
    let records = last_record - begun.0;
    Ok(BackedUp { file: file.to_owned(), bytes, records, last_record, note, lost })
}

/// Returns the snapshot to begin with and its state: the newest that is intact.
fn newest(
    history: &mut History,
    salvage: bool,
) -> Result<(Option<Snapshot>, State), RecoveryError> {
    let store = history.store.clone();
    for mark in history.snapshots()? {
        let kept = match history.reader.snapshot(mark) {
            Ok(kept) => kept,
            // An older one, and the records after it, come to the same.
            Err(LogError::SnapshotDamaged { .. }) => continue,
            Err(source) => return Err(failed(&store, source)),
        };
        match State::restore(&kept.bytes) {
            Ok(state) => return Ok((Some(kept), state)),
            Err(_) if salvage => {}
            Err(source) => return Err(RecoveryError::Record { number: kept.at.0, source }),
        }
    }
    match history.head()?.first {
        Number(1) => Ok((None, State::default())),
        _ if salvage => Err(RecoveryError::NothingLeft),
        first => Err(RecoveryError::NoBase { first: first.0 }),
    }
}

/// Copies the records up to `last`; returns what is lost of them.
fn copy<W: std::io::Write>(
    history: &mut History,
    replay: &mut Replay,
    writer: &mut BackupWriter<W>,
    last: Number,
    part: &Path,
    salvage: bool,
) -> Result<Option<Lost>, RecoveryError> {
    while writer.last() < last {
        let next = writer.last().next();
        let records = match history.read(next) {
            Ok(records) => records,
            Err(RecoveryError::Trimmed) => return Err(RecoveryError::Trimmed),
            Err(error) if salvage => return Ok(Some(lost(next, last, &error))),
            Err(error) => return Err(error),
        };
        if records.is_empty() {
            let why = "the log ends before what was confirmed".to_owned();
            let (first_record, last_record) = (next.0, last.0);
            return Ok(Some(Lost { first_record, last_record, why }));
        }
        for record in records.iter().filter(|record| record.number <= last) {
            match take(replay, record, |_, _| {}) {
                Ok(()) => {}
                Err(error) if salvage => return Ok(Some(lost(record.number, last, &error))),
                Err(error) => return Err(error),
            }
            writer.record(record).map_err(|source| {
                let path = part.to_owned();
                RecoveryError::File { path, source }
            })?;
        }
    }
    Ok(None)
}

fn lost(first: Number, last: Number, error: &RecoveryError) -> Lost {
    let why = clawhold_log::chain(error);
    Lost { first_record: first.0, last_record: last.0, why }
}

/// Gives the file its name, unless another has come to bear it.
fn put_in_place(part: &Path, file: &Path) -> Result<(), RecoveryError> {
    std::fs::hard_link(part, file).map_err(|source| {
        let path = file.to_owned();
        if source.kind() == std::io::ErrorKind::AlreadyExists {
            return RecoveryError::Exists { path };
        }
        RecoveryError::File { path, source }
    })?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|source| {
        let path = folder.to_owned();
        RecoveryError::File { path, source }
    })
}
