//! Making a store of a backup, so that nothing that was given is given again.
//!
//! The file is read twice: once to the end, to know that it is whole and comes to the state its
//! maker noted, and once to write. The store takes its place when all of it is durable. It ends
//! with a takeover that nobody holds on to and the entry that raises every number.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use clawhold_core::State;
use clawhold_core::command::{Command, Request, Restore, TakeOver};
use clawhold_core::record::{RECORD_VERSION, Record};
use clawhold_core::replay::Replay;
use clawhold_core::snapshot::SNAPSHOT_VERSION;
use clawhold_core::units::{Epoch, RecordNumber, Text};
use clawhold_log::backup::{BackupError, BackupReader, End, Item};
use clawhold_log::{Restoring, sqlite_path};
use serde::Serialize;

use super::RecoveryError;
use super::backup::Note;
use super::history::{failed, take};
use crate::clock;

/// A store that was made of a backup.
#[derive(Clone, Debug, Serialize)]
pub struct Restored {
    /// The store.
    pub store: String,
    /// Every number that is given from here on lies above this one.
    pub floor: u64,
    /// The newest record of the store.
    pub last_record: u64,
    /// Whether fixes wait for a person to resume automation.
    pub automation_paused: bool,
    /// What the backup says of itself.
    pub backup: Note,
}

/// Makes a store of a backup.
///
/// # Errors
/// [`RecoveryError`] when the backup cannot be used, or something stands where the store would be.
/// Nothing is left there then.
pub fn restore(file: &Path, store: &str) -> Result<Restored, RecoveryError> {
    let place = sqlite_path(store).map_err(|source| failed(store, source))?;
    let (state, end, note) = read_whole(file)?;
    let now = clock::now().at;
    let floor = state.restore_floor(now)?;
    let reason = Text::cut(&format!("restored from a backup of {}", note.at));
    let drawn = drawn()?;
    let command = Command::Restore(Restore { floor, drawn, reason });
    let body = last_record(&state, command, drawn)?;
    let cannot = |source| RecoveryError::Restore { store: store.to_owned(), source };
    let mut restoring = Restoring::begin(place).map_err(cannot)?;
    let again = each(file, |item| match item {
        Item::Snapshot(snapshot) => restoring.snapshot(&snapshot).map_err(cannot),
        Item::Record(record) => restoring.record(&record).map_err(cannot),
        Item::End(_) => Ok(()),
    })?;
    if again != end {
        let what = "it changed while it was read".to_owned();
        let source = BackupError::Damaged { at: 0, what };
        return Err(RecoveryError::Backup { path: file.to_owned(), source });
    }
    let record = restoring.finish(end.epoch, &body).map_err(cannot)?;
    let mut replay = Replay::new(state, RecordNumber(record.0));
    let (number, epoch) = (RecordNumber(record.0), Epoch(end.epoch.next().0));
    let taken = replay.take(number, epoch, &body, |_, _| {});
    taken.map_err(|source| RecoveryError::Record { number: record.0, source })?;
    Ok(Restored {
        store: store.to_owned(),
        floor: floor.0,
        last_record: record.0,
        automation_paused: replay.state().automation().paused().is_some(),
        backup: note,
    })
}

/// Returns the record that ends the store: a takeover that is at once given up, around the entry
/// that raises every number.
fn last_record(state: &State, command: Command, nonce: u64) -> Result<Vec<u8>, RecoveryError> {
    let take_over = Command::TakeOver(TakeOver {
        epoch: Epoch(state.epoch().0 + 1),
        advertise: Text::default(),
        hold_ms: crate::run::HOLD_MS_DEFAULT,
        nonce,
        present: false,
        former_gone: true,
    });
    let commands = [take_over, command, Command::StepDown];
    let requests = commands.map(|command| Request { id: None, actor: None, command });
    let at = clock::now().at.max(state.last().at);
    let record = Record { version: RECORD_VERSION, at, elapsed_ms: 0, requests: requests.into() };
    Ok(record.encode())
}

fn drawn() -> Result<u64, RecoveryError> {
    getrandom::u64().map_err(|error| RecoveryError::File {
        path: "/dev/urandom".into(),
        source: std::io::Error::other(error),
    })
}

/// Reads a backup to its end, and returns the state that it comes to.
fn read_whole(file: &Path) -> Result<(State, End, Note), RecoveryError> {
    let mut replay = Replay::new(State::default(), RecordNumber(1));
    let end = each(file, |item| {
        match item {
            Item::Snapshot(snapshot) => {
                let at = snapshot.at;
                let state = State::restore(&snapshot.bytes);
                let state =
                    state.map_err(|source| RecoveryError::Record { number: at.0, source })?;
                replay = Replay::new(state, RecordNumber(at.next().0));
            }
            Item::Record(record) => take(&mut replay, &record, |_, _| {})?,
            Item::End(_) => {}
        }
        Ok(())
    })?;
    let note: Note = serde_json::from_slice(&end.note).map_err(|error| {
        let source = BackupError::Damaged { at: 0, what: format!("its note: {error}") };
        RecoveryError::Backup { path: file.to_owned(), source }
    })?;
    let found = replay.state().hash();
    if note.state_version == SNAPSHOT_VERSION && found != note.hash {
        let (path, expected) = (file.to_owned(), note.hash);
        return Err(RecoveryError::OtherState { path, expected, found });
    }
    Ok((replay.state().clone(), end, note))
}

/// Shows each item of a backup, and returns its end.
fn each(
    file: &Path,
    mut show: impl FnMut(Item) -> Result<(), RecoveryError>,
) -> Result<End, RecoveryError> {
    let damaged = |source| RecoveryError::Backup { path: file.to_owned(), source };
    let input =
        File::open(file).map_err(|source| RecoveryError::File { path: file.to_owned(), source })?;
    let mut reader = BackupReader::begin(BufReader::new(input)).map_err(damaged)?;
    loop {
        let item = reader.item().map_err(damaged)?;
        if let Item::End(end) = item {
            return Ok(end);
        }
        show(item)?;
    }
}
