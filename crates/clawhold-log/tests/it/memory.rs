//! The memory engine, and the faults that simulations ask of it.

use clawhold_log::{
    Append, Epoch, Fault, Log, LogError, MemoryStore, Number, Settled, TakeOver, conformance,
};

conformance!(MemoryStore::new());

#[test]
fn a_write_whose_answer_was_lost_is_found_by_reading_back() {
    for (fault, settled) in
        [(Fault::UnknownLanded, Settled::Landed), (Fault::UnknownAbsent, Settled::Absent)]
    {
        let store = MemoryStore::new();
        let mut log = lead(&store);
        store.inject(log.writer(), fault);
        let answer = log.append(Number(2), Epoch(1), b"job").unwrap();
        assert!(matches!(answer, Append::Unknown { .. }), "{answer:?}");
        assert_eq!(log.settle(Number(2), Epoch(1), b"job").unwrap(), settled);
    }
}

#[test]
fn a_write_that_is_not_synced_is_seen_by_nobody_and_keeps_others_out_until_it_is() {
    let store = MemoryStore::new();
    let mut log = lead(&store);
    let mut other = store.handle();
    store.inject(log.writer(), Fault::Unsynced);
    assert!(matches!(log.append(Number(2), Epoch(1), b"job").unwrap(), Append::Unknown { .. }));
    assert_eq!(other.head().unwrap().last, Number(1));
    assert!(matches!(other.take_over(Epoch(2), b"mine").unwrap_err(), LogError::Busy));
    assert_eq!(store.sync(), Some(Number(2)));
    assert_eq!(other.read(Number(2), 1).unwrap()[0].body, b"job");
    assert_eq!(store.sync(), None);
}

#[test]
fn a_power_cut_keeps_a_whole_unsynced_record_and_drops_a_torn_one_and_nothing_else() {
    for (kept_bytes, kept) in [(0, None), (20, None), (usize::MAX, Some(Number(2)))] {
        let store = MemoryStore::new();
        let mut log = lead(&store);
        store.inject(log.writer(), Fault::Unsynced);
        assert!(matches!(log.append(Number(2), Epoch(1), b"job").unwrap(), Append::Unknown { .. }));
        assert_eq!(store.cut_power(kept_bytes), kept);
        let next = Number(kept.map_or(2, |kept| kept.0 + 1));
        assert_eq!(log.append(next, Epoch(1), b"more").unwrap(), Append::Done);
        assert_eq!(log.head().unwrap().last, next);
    }
}

#[test]
fn a_disk_that_lied_about_its_sync_loses_the_newest_record() {
    let store = MemoryStore::new();
    let mut log = lead(&store);
    assert_eq!(log.append(Number(2), Epoch(1), b"job").unwrap(), Append::Done);
    assert!(store.lose_last());
    assert_eq!(log.head().unwrap().last, Number(1));
    assert_eq!(log.append(Number(2), Epoch(1), b"other").unwrap(), Append::Done);
    assert_eq!(log.read(Number(2), 1).unwrap()[0].body, b"other");
}

#[test]
fn a_late_write_and_its_retry_land_once() {
    let store = MemoryStore::new();
    let mut log = lead(&store);
    store.inject(log.writer(), Fault::UnknownLate);
    assert!(matches!(log.append(Number(2), Epoch(1), b"job").unwrap(), Append::Unknown { .. }));
    assert_eq!(log.settle(Number(2), Epoch(1), b"job").unwrap(), Settled::Absent);
    assert_eq!(store.deliver_late(), 1);
    let retry = log.append(Number(2), Epoch(1), b"job").unwrap();
    assert_eq!(retry, Append::Overtaken { head: log.head().unwrap() });
    assert_eq!(log.settle(Number(2), Epoch(1), b"job").unwrap(), Settled::Landed);
    assert_eq!(log.head().unwrap().last, Number(2));
}

#[test]
fn a_late_write_of_an_overtaken_server_changes_nothing() {
    let store = MemoryStore::new();
    let mut old = lead(&store);
    store.inject(old.writer(), Fault::UnknownLate);
    assert!(matches!(old.append(Number(2), Epoch(1), b"late").unwrap(), Append::Unknown { .. }));
    let mut standby = store.handle();
    let number = Number(2);
    assert_eq!(standby.take_over(Epoch(2), b"standby").unwrap(), TakeOver::Done { number });
    assert_eq!(store.deliver_late(), 0);
    assert_eq!(standby.read(number, 1).unwrap()[0].body, b"standby");
}

#[test]
fn a_takeover_whose_answer_was_lost_is_recognised_by_its_writer() {
    let store = MemoryStore::new();
    let mut log = store.handle();
    store.inject(log.writer(), Fault::UnknownLanded);
    assert!(matches!(log.take_over(Epoch(1), b"same").unwrap(), TakeOver::Unknown { .. }));
    let begins = log.read(Number(1), 1).unwrap().remove(0);
    assert_eq!((begins.epoch, begins.writer), (Epoch(1), log.writer()));
}

#[test]
fn a_full_log_refuses_until_there_is_room() {
    let store = MemoryStore::new();
    let mut log = lead(&store);
    store.limit_bytes(Some(100));
    assert!(matches!(log.append(Number(2), Epoch(1), &[0; 50]), Err(LogError::Full)));
    store.limit_bytes(None);
    assert_eq!(log.append(Number(2), Epoch(1), &[0; 50]).unwrap(), Append::Done);
    store.inject(log.writer(), Fault::Full);
    store.inject(log.writer(), Fault::Busy);
    assert!(matches!(log.append(Number(3), Epoch(1), b""), Err(LogError::Full)));
    assert!(matches!(log.append(Number(3), Epoch(1), b""), Err(LogError::Busy)));
    assert_eq!(log.append(Number(3), Epoch(1), b"").unwrap(), Append::Done);
}

fn lead(store: &MemoryStore) -> impl Log + use<> {
    let mut log = store.handle();
    let number = Number(1);
    assert_eq!(log.take_over(Epoch(1), b"lead").unwrap(), TakeOver::Done { number });
    log
}
