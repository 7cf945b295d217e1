//! What is wrong with a store, and what to do about it.
//!
//! Nothing is changed. What cannot be looked at because of one finding is left out.

use std::fs;
use std::path::{Path, PathBuf};

use clawhold_core::record::Record;
use clawhold_log::{
    LogError, Number, OpenError, SqliteReader, is_in_use, network_disk, sqlite_path,
};
use serde::Serialize;

use super::RecoveryError;
use super::history::failed;
use crate::clock;
use clawhold_log::chain;

/// Bytes that a disk should have left.
const FREE_BYTES_MIN: u64 = 256 * 1_024 * 1_024;
/// Records after the newest snapshot that make a start slow.
const RECORDS_LONG: u64 = 200_000;
/// Milliseconds that the clock may lie before the newest record.
const CLOCK_BEHIND_MS: u64 = 60_000;
/// Milliseconds that it may lie after it: ten years.
const CLOCK_AHEAD_MS: u64 = 10 * 365 * 86_400_000;
/// Damaged records that are named; the rest is counted by `log verify`.
const DAMAGED_MAX: usize = 10;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// There is no store.
    Missing,
    /// It is a directory.
    Directory,
    /// It may not be read or written.
    Permission,
    /// It is something else.
    Foreign,
    /// A later version wrote it.
    Newer,
    /// Its write-ahead file is there, and it is not.
    Orphaned,
    /// Something that was confirmed is gone.
    ConfirmedLost,
    /// The database file is damaged.
    Damaged,
    /// A record is damaged or missing.
    DamagedRecord,
    /// A snapshot is damaged.
    DamagedSnapshot,
    /// It is on a network disk.
    NetworkDisk,
    /// The disk is nearly full.
    DiskLow,
    /// Starting takes long: many records follow the newest snapshot.
    LongLog,
    /// A server holds the store and does not answer.
    ServerSilent,
    /// The clock is far from the newest record.
    Clock,
    /// It cannot be opened for another reason.
    Unreadable,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// What was seen.
    pub text: String,
    /// What to do.
    pub next: String,
}

/// What was found out about a store.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// The store.
    pub store: String,
    /// Records that it keeps, if they could be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// The last record that its newest snapshot contains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<u64>,
    /// Bytes that are free on its disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// Whether a live process holds it.
    pub in_use: bool,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    fn find(&mut self, kind: Kind, text: impl Into<String>, next: impl Into<String>) {
        self.findings.push(Finding { kind, text: text.into(), next: next.into() });
    }
}

/// Looks at a store. `answers` says whether a server on it answers, if one was asked.
///
/// # Errors
/// [`RecoveryError`] when the URL names no store in a file.
pub fn diagnose(store: &str, answers: Option<bool>) -> Result<Diagnosis, RecoveryError> {
    let path = sqlite_path(store).map_err(|source| failed(store, source))?;
    let mut found = Diagnosis {
        store: store.to_owned(),
        records: None,
        snapshot: None,
        free_bytes: None,
        in_use: is_in_use(path),
        findings: Vec::new(),
    };
    found.look_at_disk(path);
    match SqliteReader::open(path) {
        Ok(mut reader) => {
            found.look_at_permissions(path);
            found.look_at_log(&mut reader);
        }
        Err(error) => found.unopened(path, &error),
    }
    if found.in_use && answers == Some(false) {
        found.find(
            Kind::ServerSilent,
            "a live process holds the store, and its server does not answer",
            "look at its log; stop it with SIGTERM, or kill it: a standby or a new server takes over",
        );
    }
    Ok(found)
}

impl Diagnosis {
    fn look_at_disk(&mut self, path: &Path) {
        let folder = folder(path);
        if let Ok(Some(kind)) = network_disk(&folder) {
            self.find(
                Kind::NetworkDisk,
                format!("{folder:?} is on a {kind} network disk, where locks do not hold"),
                "move the store to a local disk",
            );
        }
        let Ok(disk) = rustix::fs::statvfs(&folder) else { return };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        self.free_bytes = Some(free);
        if free < FREE_BYTES_MIN {
            self.find(
                Kind::DiskLow,
                format!("{} MiB are left on the disk of {folder:?}", free / 1_024 / 1_024),
                "free some: with a full disk nothing is accepted, and nothing that was is lost",
            );
        }
    }

    fn look_at_permissions(&mut self, path: &Path) {
        let suffixes = ["", "-wal", "-shm", ".active", ".mark"];
        for suffix in suffixes {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            let file = PathBuf::from(name);
            let access = rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK;
            if file.exists() && rustix::fs::access(&file, access).is_err() {
                self.find(
                    Kind::Permission,
                    format!("{file:?} may not be written by this user"),
                    "run as the user that the server runs as, or give the file to it with chown",
                );
            }
        }
    }

    fn look_at_log(&mut self, reader: &mut SqliteReader) {
        if let Err(error) = reader.check() {
            self.unsound(&error);
        }
        match reader.structure() {
            Ok(lines) => {
                if let Some(first) = lines.first() {
                    self.find(Kind::Damaged, format!("the file is malformed: {first}"), SALVAGE);
                }
            }
            Err(error) => self.find(Kind::Damaged, chain(&error), SALVAGE),
        }
        let Ok(head) = reader.head() else { return };
        self.records = Some(head.last.0.saturating_add(1).saturating_sub(head.first.0));
        let snapshots = reader.snapshots().unwrap_or_default();
        self.snapshot = snapshots.first().map(|mark| mark.at.0);
        for mark in snapshots {
            if let Err(error) = reader.snapshot(mark) {
                self.find(
                    Kind::DamagedSnapshot,
                    chain(&error),
                    "nothing is lost while an older snapshot and the records after it are intact: \
                     check with `clawhold log verify`, and make a backup",
                );
            }
        }
        self.look_at_records(reader, head.first, head.last);
        let after = head.last.0.saturating_sub(self.snapshot.unwrap_or(0));
        if after > RECORDS_LONG {
            self.find(
                Kind::LongLog,
                format!("{after} records follow the newest snapshot: a start takes long"),
                "let a server run until it takes a snapshot, or stop it in good order",
            );
        }
    }

    fn look_at_records(&mut self, reader: &mut SqliteReader, first: Number, last: Number) {
        let (mut next, mut damaged) = (first, 0);
        while next <= last && damaged < DAMAGED_MAX {
            match reader.read(next, 4 * 1_024 * 1_024) {
                Ok(records) => {
                    let Some(newest) = records.last() else { return };
                    next = newest.number.next();
                    if newest.number == last {
                        self.look_at_clock(&newest.body);
                    }
                }
                Err(error @ (LogError::Damaged { .. } | LogError::Missing { .. })) => {
                    let is_kept = self.snapshot.is_some_and(|at| next.0 <= at);
                    let next_step = if is_kept { KEPT } else { SALVAGE };
                    self.find(Kind::DamagedRecord, chain(&error), next_step);
                    damaged += 1;
                    next = next.next();
                }
                // A running server has trimmed it.
                Err(LogError::Trimmed { first }) => next = first,
                Err(error) => return self.find(Kind::Damaged, chain(&error), SALVAGE),
            }
        }
    }

    fn look_at_clock(&mut self, newest: &[u8]) {
        let Ok(record) = Record::decode(newest) else { return };
        let now = clock::now().at;
        let (at, here) = (clock::rfc3339(record.at), clock::rfc3339(now));
        let behind = record.at.0.saturating_sub(now.0) > CLOCK_BEHIND_MS;
        let ahead = now.0.saturating_sub(record.at.0) > CLOCK_AHEAD_MS;
        if behind || ahead {
            self.find(
                Kind::Clock,
                format!("the clock says {here}, and the newest record is of {at}"),
                "set the clock: schedules count by it. Leases do not, and the log never runs back",
            );
        }
    }

    fn unsound(&mut self, error: &LogError) {
        let text = chain(error);
        if matches!(error, LogError::Open(OpenError::Behind { .. })) {
            return self.find(Kind::ConfirmedLost, text, "put the right files back, or salvage");
        }
        self.find(Kind::Damaged, text, SALVAGE);
    }

    fn unopened(&mut self, path: &Path, error: &LogError) {
        let text = chain(error);
        let LogError::Open(why) = error else {
            return self.find(Kind::Unreadable, text, SALVAGE);
        };
        let denied = fs::File::open(path)
            .is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied);
        let (kind, next) = if denied {
            (Kind::Permission, "run as the user that the server runs as, or chown the files to it")
        } else {
            unopened(why)
        };
        self.find(kind, text, next);
    }
}

const SALVAGE: &str = "restore a backup; or save what is intact with `clawhold backup FILE \
                       --salvage`, which names what is lost, and restore that";
const KEPT: &str = "nothing is lost: the newest snapshot contains it. Make a backup, and have the \
                    disk looked at";

fn unopened(why: &OpenError) -> (Kind, &'static str) {
    match why {
        OpenError::Moved { .. } => (Kind::Missing, "put the file back with its -wal file"),
        OpenError::Missing { .. } => {
            (Kind::Missing, "check the path; `clawhold serve` makes a store there")
        }
        OpenError::Directory { .. } => (Kind::Directory, "name the file in it"),
        OpenError::Orphaned { .. } => (Kind::Orphaned, "put the file back that belongs to it"),
        OpenError::NotADatabase { .. } | OpenError::Foreign { .. } => {
            (Kind::Foreign, "check the path; the file was left alone")
        }
        OpenError::NewerStore { .. } => (Kind::Newer, "use the later program"),
        OpenError::Behind { .. } => (Kind::ConfirmedLost, SALVAGE),
        OpenError::Head { .. } | OpenError::Corrupt { .. } => (Kind::Damaged, SALVAGE),
        OpenError::NetworkDisk { .. } => (Kind::NetworkDisk, "move the store to a local disk"),
        OpenError::File { .. } => (Kind::Permission, "check the path and its permissions"),
        OpenError::Unreachable { .. }
        | OpenError::Unfit { .. }
        | OpenError::Rewound { .. }
        | OpenError::UnknownScheme { .. }
        | OpenError::NotCarried { .. }
        | OpenError::Malformed { .. }
        | OpenError::JetStream(_)
        | OpenError::OldEngine { .. }
        | OpenError::Setting { .. }
        | OpenError::Engine { .. } => (Kind::Unreadable, "see why, and check the file's disk"),
    }
}

fn folder(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}
