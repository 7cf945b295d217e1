//! What becomes of a log whose files were cut, changed, lost or swapped: each has a stated outcome,
//! and nothing that was confirmed goes without being said.

use std::fs;
use std::path::{Path, PathBuf};

use clawhold_log::{
    Append, Epoch, Log, LogError, Number, OpenError, SqliteLog, SqliteReader, TakeOver,
};
use rusqlite::Connection;
use tempfile::TempDir;

/// Records in the log of these tests.
const RECORDS: u64 = 12;

#[test]
fn a_write_ahead_file_cut_anywhere_loses_nothing_confirmed_in_silence() {
    let whole = Files::crashed();
    let bytes = fs::read(whole.file("-wal")).unwrap();
    let (mut refused, mut kept_all) = (0, 0);
    for length in (0..=bytes.len()).step_by(509).chain([bytes.len() - 1, bytes.len()]) {
        let files = whole.copy();
        fs::write(files.file("-wal"), &bytes[..length]).unwrap();
        match SqliteLog::open(files.path()) {
            Ok(mut log) => {
                assert_eq!(log.head().unwrap().last, Number(RECORDS), "cut at {length}");
                assert_intact(&mut log, RECORDS);
                kept_all += 1;
            }
            Err(LogError::Open(OpenError::Behind { last, confirmed, .. })) => {
                assert!(last < confirmed, "cut at {length}");
                assert_eq!(confirmed, Number(RECORDS));
                refused += 1;
            }
            Err(other) => panic!("cut at {length}: {other:?}"),
        }
    }
    assert!(refused > 20 && kept_all > 0, "{refused} refused, {kept_all} whole");
}

#[test]
fn a_torn_tail_that_nobody_was_told_of_is_dropped_and_the_log_goes_on() {
    let whole = Files::crashed();
    let bytes = fs::read(whole.file("-wal")).unwrap();
    for length in (0..bytes.len()).step_by(1_021) {
        let files = whole.copy();
        fs::write(files.file("-wal"), &bytes[..length]).unwrap();
        // Before the append was confirmed there was no mark of it.
        fs::remove_file(files.file(".mark")).unwrap();
        let mut log = SqliteLog::open(files.path()).unwrap();
        let last = log.head().unwrap().last;
        assert!(last <= Number(RECORDS));
        assert_intact(&mut log, last.0);
        let epoch = log.head().unwrap().epoch.next();
        let taken = log.take_over(epoch, b"again").unwrap();
        assert_eq!(taken, TakeOver::Done { number: last.next() }, "cut at {length}");
    }
}

#[test]
fn a_bit_that_flips_anywhere_is_noticed_or_changes_nothing() {
    let whole = Files::closed();
    let bytes = fs::read(whole.path()).unwrap();
    let mut noticed = 0;
    for place in (0..bytes.len() * 8).step_by(997) {
        let files = whole.copy();
        let mut flipped = bytes.clone();
        flipped[place / 8] ^= 1 << (place % 8);
        fs::write(files.path(), &flipped).unwrap();
        match look(&files.path()) {
            Ok(bodies) => assert_eq!(bodies, expected(RECORDS), "bit {place}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 50, "{noticed} flips were noticed");
}

#[test]
fn a_file_cut_anywhere_is_refused_or_whole_as_far_as_it_says() {
    let whole = Files::closed();
    let bytes = fs::read(whole.path()).unwrap();
    for length in (0..bytes.len()).step_by(1_000) {
        let files = whole.copy();
        fs::write(files.path(), &bytes[..length]).unwrap();
        let found = look(&files.path());
        assert!(found.is_err(), "cut at {length}: {found:?}");
    }
}

#[test]
fn a_head_that_says_something_else_than_the_records_is_refused() {
    for (change, what) in [
        ("last = last - 1", "last record"),
        ("last = last + 1", "last record"),
        ("first = first + 1", "first record"),
        ("epoch = epoch + 1", "epoch"),
    ] {
        let files = Files::closed();
        files.execute(&format!("UPDATE head SET {change}"));
        match SqliteLog::open(files.path()) {
            Err(LogError::Open(OpenError::Head { what: found, .. })) => assert_eq!(found, what),
            other => panic!("{change}: {other:?}"),
        }
    }
}

#[test]
fn an_older_copy_in_the_place_of_a_log_is_refused() {
    let files = Files::closed();
    let older = fs::read(files.path()).unwrap();
    let mut log = SqliteLog::open(files.path()).unwrap();
    let number = Number(RECORDS + 1);
    assert_eq!(log.append(number, Epoch(1), b"newer").unwrap(), Append::Done);
    drop(log);
    fs::write(files.path(), older).unwrap();
    let error = SqliteLog::open(files.path()).unwrap_err();
    let LogError::Open(error @ OpenError::Behind { .. }) = error else { panic!("{error:?}") };
    let text = error.to_string();
    assert!(text.contains("ends at record 12, but record 13 was confirmed"), "{text}");
    assert!(text.contains("--salvage"), "{text}");
}

#[test]
fn an_emptied_file_is_no_new_log_while_something_was_confirmed() {
    let files = Files::closed();
    fs::write(files.path(), b"").unwrap();
    let error = SqliteLog::open(files.path()).unwrap_err();
    assert!(matches!(error, LogError::Open(OpenError::Behind { .. })), "{error:?}");
}

#[test]
fn a_write_ahead_file_without_its_database_is_kept_and_the_log_refused() {
    let files = Files::crashed();
    let wal = fs::read(files.file("-wal")).unwrap();
    for gone in [true, false] {
        if gone {
            fs::remove_file(files.path()).unwrap();
        } else {
            fs::write(files.path(), b"").unwrap();
        }
        for error in [
            SqliteLog::open(files.path()).unwrap_err(),
            SqliteReader::open(files.path()).unwrap_err(),
        ] {
            assert!(matches!(error, LogError::Open(OpenError::Orphaned { .. })), "{error:?}");
        }
        assert_eq!(fs::read(files.file("-wal")).unwrap(), wal);
    }
}

#[test]
fn a_reader_makes_nothing_where_no_log_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("below/log.db");
    let error = SqliteReader::open(&path).unwrap_err();
    assert!(matches!(error, LogError::Open(OpenError::Missing { .. })), "{error:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_reader_sees_what_a_writer_in_another_handle_has_just_written() {
    let files = Files::closed();
    let mut log = SqliteLog::open(files.path()).unwrap();
    let mut reader = SqliteReader::open(files.path()).unwrap();
    let number = Number(RECORDS + 1);
    assert_eq!(log.append(number, Epoch(1), b"newer").unwrap(), Append::Done);
    assert_eq!(reader.read(number, 1).unwrap()[0].body, b"newer");
    reader.check().unwrap();
}

#[test]
fn a_page_that_cannot_be_read_is_the_damage_of_its_record() {
    let files = Files::closed();
    let mut log = SqliteLog::open(files.path()).unwrap();
    let body = vec![7; 200_000];
    assert_eq!(log.append(Number(13), Epoch(1), &body).unwrap(), Append::Done);
    drop(log);
    // The large record lies on overflow pages; one of them now points nowhere.
    let bytes = fs::read(files.path()).unwrap();
    let mut broken = bytes.clone();
    let page = bytes.len() / 4_096 - 5;
    broken[page * 4_096..page * 4_096 + 4].copy_from_slice(&[0xff; 4]);
    fs::write(files.path(), &broken).unwrap();
    let mut log = SqliteLog::open(files.path()).unwrap();
    assert_intact(&mut log, RECORDS);
    let error = log.read(Number(13), 1).unwrap_err();
    assert!(matches!(error, LogError::Damaged { number: Number(13), .. }), "{error:?}");
}

/// The files of a log.
struct Files(TempDir);

impl Files {
    /// Of a writer that died: what it wrote is in the write-ahead file.
    fn crashed() -> Self {
        let alive = Self(tempfile::tempdir().unwrap());
        let mut log = SqliteLog::open(alive.path()).unwrap();
        fill(&mut log);
        // A copy is what a crash would leave.
        let copy = alive.copy();
        assert!(fs::metadata(copy.file("-wal")).unwrap().len() > 20_000);
        copy
    }

    /// Of a writer that ended well: all of it is in the database.
    fn closed() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        fill(&mut SqliteLog::open(files.path()).unwrap());
        assert!(!files.file("-wal").exists());
        files
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("log.db")
    }

    fn file(&self, suffix: &str) -> PathBuf {
        self.0.path().join(format!("log.db{suffix}"))
    }

    fn copy(&self) -> Self {
        let copy = Self(tempfile::tempdir().unwrap());
        for suffix in ["", "-wal", ".mark"] {
            if self.file(suffix).exists() {
                fs::copy(self.file(suffix), copy.file(suffix)).unwrap();
            }
        }
        copy
    }

    fn execute(&self, sql: &str) {
        Connection::open(self.path()).unwrap().execute(sql, []).unwrap();
    }
}

fn fill(log: &mut SqliteLog) {
    assert_eq!(log.take_over(Epoch(1), &body(1)).unwrap(), TakeOver::Done { number: Number(1) });
    for number in 2..=RECORDS {
        assert_eq!(log.append(Number(number), Epoch(1), &body(number)).unwrap(), Append::Done);
    }
}

fn body(number: u64) -> Vec<u8> {
    format!("record {number} ").repeat(100).into_bytes()
}

fn expected(last: u64) -> Vec<Vec<u8>> {
    (1..=last).map(body).collect()
}

fn assert_intact(log: &mut SqliteLog, last: u64) {
    let mut found = Vec::new();
    while (found.len() as u64) < last {
        let from = Number(found.len() as u64 + 1);
        found.extend(log.read(from, 10_000).unwrap().into_iter().map(|record| record.body));
        found.truncate(usize::try_from(last).unwrap());
    }
    assert_eq!(found, expected(last));
}

/// Opens a log and reads all of it, as a server does.
fn look(path: &Path) -> Result<Vec<Vec<u8>>, LogError> {
    let mut log = SqliteLog::open(path)?;
    let last = log.head()?.last;
    let mut found: Vec<Vec<u8>> = Vec::new();
    while (found.len() as u64) < last.0 {
        let records = log.read(Number(found.len() as u64 + 1), 10_000)?;
        found.extend(records.into_iter().map(|record| record.body));
    }
    Ok(found)
}
