//! Backups: whole or refused, whatever was cut or changed.

use std::fs;

use clawhold_log::backup::{BackupError, BackupReader, BackupWriter, End, Item};
use clawhold_log::{
    Epoch, Log, LogError, Number, Record, RestoreError, Restoring, Snapshot, SqliteLog,
    SqliteReader, Writer,
};

#[test]
fn what_was_written_is_read_in_order_and_then_the_end() {
    for snapshot in [Some(snapshot()), None] {
        let items = read(&written(snapshot.as_ref())).unwrap();
        let first = snapshot.as_ref().map_or(1, |kept| kept.at.0 + 1);
        let mut expected: Vec<Item> = snapshot.map(Item::Snapshot).into_iter().collect();
        expected.extend((first..first + 3).map(|number| Item::Record(record(number))));
        let end = End { note: b"a note".to_vec(), last: Number(first + 2), epoch: Epoch(3) };
        expected.push(Item::End(end));
        assert_eq!(items, expected);
    }
}

#[test]
fn every_cut_is_refused() {
    let whole = written(Some(&snapshot()));
    for length in (0..whole.len()).step_by(997).chain([whole.len() - 1]) {
        let error = read(&whole[..length]).expect_err("a cut backup must not be whole");
        let named = match length {
            0 => matches!(error, BackupError::Foreign),
            _ => matches!(error, BackupError::Truncated { .. }),
        };
        assert!(named, "cut at {length}: {error:?}");
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    let whole = written(Some(&snapshot()));
    for place in (0..whole.len() * 8).step_by(9_973).chain(whole.len() * 8 - 300..whole.len() * 8) {
        let mut flipped = whole.clone();
        flipped[place / 8] ^= 1 << (place % 8);
        assert!(read(&flipped).is_err(), "bit {place}");
    }
}

#[test]
fn what_follows_the_end_is_refused() {
    let mut longer = written(None);
    longer.push(0);
    assert!(matches!(read(&longer), Err(BackupError::Damaged { .. })));
}

#[test]
fn a_later_backup_and_another_programs_file_are_named() {
    let mut later = written(None);
    later[16] = 2;
    assert!(matches!(read(&later), Err(BackupError::Newer { found: 2, known: 1 })));
    assert!(matches!(read(b"SQLite format 3\0 and more"), Err(BackupError::Foreign)));
}

#[test]
fn the_head_of_a_backup_never_changes() {
    let hex: String = written(None)[..30].iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(hex.starts_with("636c6177686f6c64206261636b75700a0100010000000000000"), "{hex}");
}

#[test]
fn a_log_made_of_a_backup_holds_the_same_and_begins_a_new_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("log.db");
    // The mark of an earlier log there, which had come further.
    fs::write(folder.path().join("log.db.mark"), b"old").unwrap();
    let kept = snapshot();
    let mut restoring = Restoring::begin(&place).unwrap();
    restoring.snapshot(&kept).unwrap();
    let first = kept.at.0 + 1;
    for number in first..first + 3 {
        restoring.record(&record(number)).unwrap();
    }
    assert!(!place.exists(), "nothing stands there before all of it is durable");
    let number = restoring.finish(Epoch(3), b"restored").unwrap();
    assert_eq!(number, Number(first + 3));
    let mut log = SqliteLog::open(&place).unwrap();
    let head = log.head().unwrap();
    assert_eq!((head.first, head.last, head.epoch), (Number(first), number, Epoch(4)));
    assert_eq!(log.latest_snapshot().unwrap(), Some(kept));
    let records = log.read(Number(first), usize::MAX).unwrap();
    assert_eq!(records[..3], (first..first + 3).map(record).collect::<Vec<_>>());
    assert_eq!(records[3].body, b"restored");
    let mut reader = SqliteReader::open(&place).unwrap();
    reader.check().unwrap();
    assert_eq!(reader.structure().unwrap(), [""; 0]);
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.retain(|name| name.to_str().unwrap().contains("restoring"));
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn nothing_that_stands_in_the_place_is_written_over() {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(format!("log.db{suffix}"));
        fs::write(&file, b"precious").unwrap();
        let error = Restoring::begin(&folder.path().join("log.db")).unwrap_err();
        assert!(matches!(&error, RestoreError::Exists { found } if *found == file), "{error:?}");
        assert_eq!(fs::read(&file).unwrap(), b"precious");
    }
}

#[test]
fn a_log_that_came_to_stand_there_meanwhile_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("log.db");
    let mut restoring = Restoring::begin(&place).unwrap();
    restoring.record(&record(1)).unwrap();
    fs::write(&place, b"precious").unwrap();
    let error = restoring.finish(Epoch(3), b"restored").unwrap_err();
    assert!(matches!(error, RestoreError::Exists { .. }), "{error:?}");
    assert_eq!(fs::read(&place).unwrap(), b"precious");
}

#[test]
fn a_place_that_a_live_server_holds_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("log.db");
    let mut log = SqliteLog::open(&place).unwrap();
    let _ = log.claim_presence();
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(folder.path().join(format!("log.db{suffix}")));
    }
    let error = Restoring::begin(&place).unwrap_err();
    assert!(matches!(error, RestoreError::InUse { .. }), "{error:?}");
}

#[test]
fn a_snapshot_that_is_damaged_is_named_and_the_older_one_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("log.db");
    let mut log = SqliteLog::open(&place).unwrap();
    let _ = log.take_over(Epoch(1), b"").unwrap();
    for text in [b"older", b"newer"] {
        log.put_snapshot(Number(1), Epoch(1), &mut std::iter::once(text.to_vec())).unwrap();
    }
    let database = rusqlite::Connection::open(&place).unwrap();
    let sql =
        "UPDATE chunk SET frame = zeroblob(40) WHERE snapshot = (SELECT max(id) FROM snapshot)";
    assert_eq!(database.execute(sql, []).unwrap(), 1);
    let mut reader = SqliteReader::open(&place).unwrap();
    let marks = reader.snapshots().unwrap();
    let error = reader.snapshot(marks[0]).unwrap_err();
    assert!(matches!(error, LogError::SnapshotDamaged { at: Number(1), .. }), "{error:?}");
    assert_eq!(reader.snapshot(marks[1]).unwrap().bytes, b"older");
}

fn snapshot() -> Snapshot {
    let bytes = (0..600_000_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
    Snapshot { at: Number(40), epoch: Epoch(2), bytes }
}

fn record(number: u64) -> Record {
    let body = format!("record {number}").repeat(20).into_bytes();
    Record { number: Number(number), epoch: Epoch(3), writer: Writer(9), body }
}

fn written(snapshot: Option<&Snapshot>) -> Vec<u8> {
    let mut writer = BackupWriter::begin(Vec::new(), snapshot).unwrap();
    for _ in 0..3 {
        writer.record(&record(writer.last().0 + 1)).unwrap();
    }
    writer.finish(b"a note").unwrap()
}

fn read(bytes: &[u8]) -> Result<Vec<Item>, BackupError> {
    let mut reader = BackupReader::begin(bytes)?;
    let mut items = Vec::new();
    loop {
        items.push(reader.item()?);
        if matches!(items.last(), Some(Item::End(_))) {
            return Ok(items);
        }
    }
}
