//! Cases about snapshots, and about trimming what they contain.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Bench, append, body, head, latest, lead, put, read, take_over, trim_all};
use crate::limits::{SNAPSHOT_CHUNK_BYTES_MAX, TRIM_RECORDS_MAX};
use crate::{Epoch, FrameError, Head, LogError, Number};

/// A snapshot is visible only when whole.
pub fn a_snapshot_is_visible_only_when_whole(bench: &dyn Bench) {
    let mut log = lead(bench);
    append(&mut log, 2, 1, b"more");
    put(&mut log, 1, b"older");
    let mut reader = bench.handle();
    let mut seen = Vec::new();
    let mut chunks = (0..4_u8).map(|piece| {
        seen.push(latest(&mut reader));
        vec![piece; SNAPSHOT_CHUNK_BYTES_MAX]
    });
    log.put_snapshot(Number(2), Epoch(1), &mut chunks).expect("nothing fails");
    assert_eq!(seen, vec![Some((1, b"older".to_vec())); 4]);
    let (at, bytes) = latest(&mut log).expect("the newest is whole");
    assert_eq!((at, bytes.len()), (2, 4 * SNAPSHOT_CHUNK_BYTES_MAX));
}

/// A snapshot that breaks off leaves the one before.
pub fn a_snapshot_that_breaks_off_leaves_the_one_before(bench: &dyn Bench) {
    let mut log = lead(bench);
    put(&mut log, 1, b"older");
    let mut chunks = (0..4_u8).map(|piece| {
        assert!(piece < 3, "the process dies here");
        vec![piece; SNAPSHOT_CHUNK_BYTES_MAX]
    });
    let died =
        catch_unwind(AssertUnwindSafe(|| log.put_snapshot(Number(1), Epoch(1), &mut chunks)));
    assert!(died.is_err());
    drop(log);
    let mut log = bench.handle();
    assert_eq!(latest(&mut log), Some((1, b"older".to_vec())));
    put(&mut log, 1, b"newer");
    assert_eq!(latest(&mut log), Some((1, b"newer".to_vec())));
}

/// Two snapshots are kept and a damaged newest falls back.
pub fn two_snapshots_are_kept_and_a_damaged_newest_falls_back(bench: &dyn Bench) {
    let mut log = lead(bench);
    for number in 2..=4 {
        append(&mut log, number, 1, b"");
        put(&mut log, number, &body(number));
    }
    assert_eq!(latest(&mut log), Some((4, body(4))));
    bench.damage_snapshot(0);
    assert_eq!(latest(&mut log), Some((3, body(3))));
    let found = log.latest_snapshot().expect("nothing fails").expect("one is intact");
    assert_eq!(found.epoch, Epoch(1));
}

/// A damaged snapshot is not counted as kept.
pub fn a_damaged_snapshot_is_not_counted_as_kept(bench: &dyn Bench) {
    let mut log = lead(bench);
    for number in 2..=4 {
        append(&mut log, number, 1, b"");
    }
    put(&mut log, 2, b"two");
    put(&mut log, 3, b"three");
    bench.damage_snapshot(0);
    put(&mut log, 4, b"four");
    bench.damage_snapshot(0);
    assert_eq!(latest(&mut log), Some((2, b"two".to_vec())));
}

/// A lost state is an error and not an empty one.
pub fn a_lost_state_is_an_error_and_not_an_empty_one(bench: &dyn Bench) {
    let mut log = lead(bench);
    for number in 2..=4 {
        append(&mut log, number, 1, b"");
    }
    put(&mut log, 2, b"two");
    bench.damage_snapshot(0);
    assert_eq!(latest(&mut log), None, "every record is still there");
    put(&mut log, 3, b"three");
    put(&mut log, 4, b"four");
    trim_all(&mut log, 4);
    bench.damage_snapshot(0);
    bench.damage_snapshot(1);
    let error = log.latest_snapshot().expect_err("records that it stood for are gone");
    let LogError::SnapshotsDamaged { first, source } = error else { panic!("{error:?}") };
    assert_eq!(first, Number(4));
    assert!(matches!(source, FrameError::Checksum { .. }), "{source:?}");
}

/// A snapshot lies between the newest and the end.
pub fn a_snapshot_lies_between_the_newest_and_the_end(bench: &dyn Bench) {
    let mut log = lead(bench);
    append(&mut log, 2, 1, b"");
    append(&mut log, 3, 1, b"");
    put(&mut log, 2, b"two");
    for at in [1, 4] {
        let mut chunks = std::iter::once(Vec::new());
        let error = log.put_snapshot(Number(at), Epoch(1), &mut chunks).expect_err("no place");
        assert!(matches!(error, LogError::SnapshotPlace { .. }), "{error:?}");
    }
    put(&mut log, 3, b"three");
}

/// Snapshots of any size come back whole.
pub fn snapshots_of_any_size_come_back_whole(bench: &dyn Bench) {
    let mut log = lead(bench);
    let most = SNAPSHOT_CHUNK_BYTES_MAX;
    for (piece_bytes, pieces) in
        [(0, 0), (0, 3), (1, 1), (1000, 700), (most, 1), (most, 2), (most + 1, 1), (3 * most, 2)]
    {
        let mut chunks = (0..=u8::MAX).cycle().take(pieces).map(|fill| vec![fill; piece_bytes]);
        let expected = chunks.clone().collect::<Vec<_>>().concat();
        log.put_snapshot(Number(1), Epoch(1), &mut chunks).expect("nothing fails");
        let found = latest(&mut log).expect("it is whole");
        assert!(found == (1, expected), "{pieces} pieces of {piece_bytes} bytes differ");
    }
}

/// Nothing is trimmed before two snapshots contain it.
pub fn nothing_is_trimmed_before_two_snapshots_contain_it(bench: &dyn Bench) {
    let mut log = lead(bench);
    for number in 2..=30 {
        append(&mut log, number, 1, b"");
    }
    assert_eq!(trim_all(&mut log, 30), 0);
    put(&mut log, 10, b"ten");
    assert_eq!(trim_all(&mut log, 30), 0);
    put(&mut log, 20, b"twenty");
    assert_eq!(trim_all(&mut log, 4), 4);
    assert_eq!(trim_all(&mut log, 30), 6);
    assert_eq!(head(&mut log).first, Number(11));
    assert_eq!(read(&mut log, 11).len(), 20);
}

/// The last record is never trimmed.
pub fn the_last_record_is_never_trimmed(bench: &dyn Bench) {
    let mut log = lead(bench);
    append(&mut log, 2, 1, b"last");
    put(&mut log, 2, b"a");
    put(&mut log, 2, b"b");
    assert_eq!(trim_all(&mut log, u64::MAX), 1);
    assert_eq!(read(&mut log, 2)[0].body, b"last");
}

/// Trimming goes in bounded steps.
pub fn trimming_goes_in_bounded_steps(bench: &dyn Bench) {
    let mut log = lead(bench);
    for number in 2..=TRIM_RECORDS_MAX + 50 {
        append(&mut log, number, 1, b"");
    }
    put(&mut log, TRIM_RECORDS_MAX + 20, b"a");
    put(&mut log, TRIM_RECORDS_MAX + 40, b"b");
    for expected in [TRIM_RECORDS_MAX, 20, 0] {
        let removed = log.trim(Number(TRIM_RECORDS_MAX + 30)).expect("nothing fails");
        assert_eq!(removed, expected);
    }
}

/// Numbers go on after a trim and reopening.
pub fn numbers_go_on_after_a_trim_and_reopening(bench: &dyn Bench) {
    let mut log = lead(bench);
    append(&mut log, 2, 1, b"");
    put(&mut log, 2, b"a");
    put(&mut log, 2, b"b");
    trim_all(&mut log, 2);
    append(&mut log, 3, 1, b"after the trim");
    drop(log);
    let mut log = bench.handle();
    let expected = Head { last: Number(3), epoch: Epoch(1), first: Number(2) };
    assert_eq!(head(&mut log), expected);
    assert_eq!(take_over(&mut log, 2), 4);
    append(&mut log, 5, 2, b"after reopening");
    assert_eq!(read(&mut log, 2).len(), 4);
}

/// A reader below the floor is told.
pub fn a_reader_below_the_floor_is_told(bench: &dyn Bench) {
    let mut log = lead(bench);
    for number in 2..=6 {
        append(&mut log, number, 1, b"");
    }
    put(&mut log, 4, b"a");
    put(&mut log, 6, b"b");
    trim_all(&mut log, 6);
    for from in [0, 1, 4] {
        let error = log.read(Number(from), 1).expect_err("it was trimmed");
        assert!(matches!(error, LogError::Trimmed { first: Number(5) }), "{from}: {error:?}");
    }
}
