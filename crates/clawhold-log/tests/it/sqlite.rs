//! The SQLite engine: the conformance suite, and what is its own about files.

use std::fs;
use std::path::{Path, PathBuf};

use clawhold_log::conformance::Bench;
use clawhold_log::{
    Append, Epoch, Log, LogError, Number, OpenError, SqliteLog, SqliteOptions, TakeOver,
    conformance,
};
use rusqlite::Connection;
use tempfile::TempDir;

struct Sqlite {
    directory: TempDir,
}

impl Sqlite {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("log.db")
    }

    fn execute(&self, sql: &str) -> usize {
        Connection::open(self.path()).unwrap().execute(sql, []).unwrap()
    }
}

impl Bench for Sqlite {
    fn handle(&self) -> Box<dyn Log> {
        Box::new(SqliteLog::open(self.path()).unwrap())
    }

    fn damage_record(&self, number: Number) {
        damage(&self.path(), &format!("SELECT rowid, frame FROM record WHERE number = {number}"));
    }

    fn damage_snapshot(&self, age: usize) {
        damage(
            &self.path(),
            &format!(
                "SELECT rowid, frame FROM chunk WHERE snapshot =
                 (SELECT id FROM snapshot WHERE whole ORDER BY id DESC LIMIT 1 OFFSET {age})
                 ORDER BY place DESC"
            ),
        );
    }
}

conformance!(Sqlite::new());

#[test]
fn a_file_that_is_moved_away_is_written_no_more() {
    let bench = Sqlite::new();
    let mut log = SqliteLog::open(bench.path()).unwrap();
    assert_eq!(log.take_over(Epoch(1), b"one").unwrap(), TakeOver::Done { number: Number(1) });
    let away = bench.directory.path().join("away.db");
    fs::rename(bench.path(), &away).unwrap();
    assert_moved(&mut log);
    // Another file at its place is not the log either.
    fs::copy(&away, bench.path()).unwrap();
    assert_moved(&mut log);
    fs::rename(&away, bench.path()).unwrap();
    assert_eq!(log.append(Number(2), Epoch(1), b"two").unwrap(), Append::Done);
}

fn assert_moved(log: &mut SqliteLog) {
    let error = log.append(Number(2), Epoch(1), b"two").unwrap_err();
    assert!(matches!(error, LogError::Open(OpenError::Moved { .. })), "{error:?}");
    let error = log.head().unwrap_err();
    assert!(matches!(error, LogError::Open(OpenError::Moved { .. })), "{error:?}");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let bench = Sqlite::new();
    let text = b"an operator's notes, longer than the header of a database: ".repeat(9);
    fs::write(bench.path(), &text).unwrap();
    let error = refused(&bench.path());
    assert!(matches!(error, OpenError::NotADatabase { .. }), "{error:?}");
    let named = format!("{:?} is not a log: it is not a database, name another", bench.path());
    assert!(error.to_string().starts_with(&named), "{error}");
    assert_eq!(fs::read(bench.path()).unwrap(), text);
}

#[test]
fn another_programs_database_is_refused_and_left_alone() {
    let bench = Sqlite::new();
    bench.execute("CREATE TABLE bookmark (url TEXT)");
    let before = fs::read(bench.path()).unwrap();
    let error = refused(&bench.path());
    assert!(matches!(error, OpenError::Foreign { found: 0, .. }), "{error:?}");
    assert_eq!(fs::read(bench.path()).unwrap(), before);
}

#[test]
fn a_log_of_a_later_version_is_refused_by_its_version() {
    let bench = Sqlite::new();
    drop(bench.handle());
    bench.execute("PRAGMA user_version = 2");
    let error = refused(&bench.path());
    assert!(matches!(error, OpenError::NewerStore { found: 2, known: 1, .. }), "{error:?}");
}

#[test]
fn a_directory_is_refused_with_a_path_to_use() {
    let bench = Sqlite::new();
    let error = refused(bench.directory.path());
    assert!(matches!(error, OpenError::Directory { .. }), "{error:?}");
}

#[test]
fn a_file_in_a_place_that_cannot_be_made_is_named() {
    let bench = Sqlite::new();
    fs::write(bench.path(), "a file").unwrap();
    let error = refused(&bench.path().join("below/log.db"));
    assert!(matches!(error, OpenError::File { .. }), "{error:?}");
}

#[test]
#[cfg(unix)]
fn directories_and_files_are_made_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Sqlite::new();
    let state = bench.directory.path().join("state/clawhold");
    let path = state.join("log.db");
    let mut log = clawhold_log::open(&format!("sqlite:{}", path.display())).unwrap();
    assert_eq!(log.take_over(Epoch(1), b"").unwrap(), TakeOver::Done { number: Number(1) });
    let _ = log.claim_presence();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    let mut files = Vec::new();
    for entry in fs::read_dir(&state).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
        files.push(entry.file_name().into_string().unwrap());
    }
    files.sort();
    assert_eq!(files, ["log.db", "log.db-shm", "log.db-wal", "log.db.active", "log.db.mark"]);
}

#[test]
fn many_handles_opened_at_once_make_one_log() {
    let bench = Sqlite::new();
    let barrier = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                assert_eq!(bench.handle().head().unwrap().last, Number(0));
            });
        }
    });
}

#[test]
fn handles_differ_in_the_name_they_write_under() {
    let bench = Sqlite::new();
    assert_ne!(bench.handle().writer(), bench.handle().writer());
}

#[test]
fn a_full_log_refuses_keeps_what_it_has_and_takes_more_after_a_trim() {
    let bench = Sqlite::new();
    let options = SqliteOptions { file_bytes_max: Some(2 << 20) };
    let mut log = SqliteLog::open_with(bench.path(), options).unwrap();
    assert_eq!(log.take_over(Epoch(1), b"").unwrap(), TakeOver::Done { number: Number(1) });
    let body = vec![7; 100_000];
    let mut number = Number(2);
    let error = loop {
        match log.append(number, Epoch(1), &body) {
            Ok(answer) => assert_eq!(answer, Append::Done),
            Err(error) => break error,
        }
        if number.0.is_multiple_of(5) {
            log.put_snapshot(number, Epoch(1), &mut std::iter::empty()).unwrap();
        }
        number = number.next();
    };
    assert!(matches!(error, LogError::Full), "{error:?}");
    assert!(Number(10) < number, "full at {number}");
    assert_eq!(log.head().unwrap().last.next(), number);
    let kept = log.read(Number(2), usize::MAX).unwrap();
    assert!(kept.iter().all(|record| record.body == body), "a kept record differs");
    let mut chunks = std::iter::once(vec![1; 1 << 20]);
    let error = log.put_snapshot(Number(number.0 - 1), Epoch(1), &mut chunks).unwrap_err();
    assert!(matches!(error, LogError::Full), "{error:?}");

    assert_eq!(log.trim(number).unwrap(), 5 * (number.0.saturating_sub(1) / 5) - 5);
    assert_eq!(log.append(number, Epoch(1), &body).unwrap(), Append::Done);
}

#[test]
fn snapshots_that_were_retired_or_broke_off_take_no_room() {
    let bench = Sqlite::new();
    let mut log = bench.handle();
    for _ in 0..5 {
        let mut chunks = (0..40).map(|_| vec![1; 100_000]);
        log.put_snapshot(Number(0), Epoch(0), &mut chunks).unwrap();
    }
    let count = |sql: &str| -> i64 {
        let connection = Connection::open(bench.path()).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count("SELECT count(*) FROM snapshot"), 2);
    assert_eq!(count("SELECT count(DISTINCT snapshot) FROM chunk"), 2);
}

#[test]
fn a_record_that_was_taken_away_is_missed() {
    let bench = Sqlite::new();
    let mut log = bench.handle();
    assert_eq!(log.take_over(Epoch(1), b"").unwrap(), TakeOver::Done { number: Number(1) });
    assert_eq!(log.append(Number(2), Epoch(1), b"").unwrap(), Append::Done);
    bench.execute("DELETE FROM record WHERE number = 2");
    let error = log.read(Number(2), 1).unwrap_err();
    assert!(matches!(error, LogError::Missing { number: Number(2) }), "{error:?}");
}

fn refused(path: &Path) -> OpenError {
    match SqliteLog::open(path) {
        Err(LogError::Open(error)) => error,
        other => panic!("{path:?} was not refused: {other:?}"),
    }
}

fn damage(path: &Path, select: &str) {
    let connection = Connection::open(path).unwrap();
    let (row, mut frame): (i64, Vec<u8>) =
        connection.query_row(select, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    *frame.last_mut().unwrap() ^= 1;
    let table = if select.contains("FROM record") { "record" } else { "chunk" };
    let update = format!("UPDATE {table} SET frame = ?1 WHERE rowid = ?2");
    assert_eq!(connection.execute(&update, rusqlite::params![frame, row]).unwrap(), 1);
}
