//! Cases about appending, taking over, reading and presence.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::{Bench, PATIENCE, append, body, head, latest, lead, put, read, refuse, take_over};
use crate::limits::RECORD_BODY_BYTES_MAX;
use crate::{Append, Epoch, FrameError, Head, Log, LogError, Number, Presence, Settled, TakeOver};

/// An empty log says so.
pub fn an_empty_log_says_so(bench: &dyn Bench) {
    let mut log = bench.handle();
    assert_eq!(head(&mut log), Head { last: Number(0), epoch: Epoch(0), first: Number(1) });
    assert_eq!(read(&mut log, 1), []);
    assert!(matches!(log.latest_snapshot(), Ok(None)));
    assert!(matches!(log.trim(Number(9)), Ok(0)));
}

/// Records are read as they were appended.
pub fn records_are_read_as_they_were_appended(bench: &dyn Bench) {
    let mut log = lead(bench);
    for place in 2..=50 {
        append(&mut log, place, 1, &body(place));
    }
    let records = read(&mut bench.handle(), 1);
    assert_eq!(records.len(), 50);
    for (record, place) in records.iter().zip(1..) {
        let expected = if place == 1 { b"take over".to_vec() } else { body(place) };
        assert_eq!(record.number, Number(place));
        assert_eq!(record.epoch, Epoch(1));
        assert_eq!(record.writer, log.writer());
        assert_eq!(record.body, expected);
    }
    assert_eq!(head(&mut log), Head { last: Number(50), epoch: Epoch(1), first: Number(1) });
}

/// An append that leaves a gap is refused.
pub fn an_append_that_leaves_a_gap_is_refused(bench: &dyn Bench) {
    let mut log = lead(bench);
    for number in [3, 4, u64::MAX] {
        refuse(&mut log, number, 1);
    }
}

/// An append at a taken number is refused.
pub fn an_append_at_a_taken_number_is_refused(bench: &dyn Bench) {
    let mut log = lead(bench);
    append(&mut log, 2, 1, b"first");
    for number in [0, 1, 2] {
        refuse(&mut log, number, 1);
    }
    assert_eq!(read(&mut log, 2)[0].body, b"first");
}

/// An append in another epoch is refused.
pub fn an_append_in_another_epoch_is_refused(bench: &dyn Bench) {
    let mut log = lead(bench);
    take_over(&mut log, 2);
    for epoch in [1, 3, u64::MAX] {
        refuse(&mut log, 3, epoch);
    }
    append(&mut log, 3, 2, b"current");
}

/// Nobody appends before a takeover.
pub fn nobody_appends_before_a_takeover(bench: &dyn Bench) {
    let mut log = bench.handle();
    assert!(matches!(log.append(Number(1), Epoch(0), b""), Err(LogError::EpochZero)));
    refuse(&mut log, 1, 1);
    assert!(matches!(log.take_over(Epoch(0), b""), Err(LogError::EpochZero)));
}

/// A takeover must follow the current epoch.
pub fn a_takeover_must_follow_the_current_epoch(bench: &dyn Bench) {
    let mut log = bench.handle();
    for (epoch, fits) in [(2, false), (1, true), (1, false), (3, false), (2, true)] {
        let before = head(&mut log);
        let answer = log.take_over(Epoch(epoch), b"take over").expect("nothing fails");
        let expected = if fits {
            TakeOver::Done { number: before.last.next() }
        } else {
            TakeOver::Overtaken { head: before }
        };
        assert_eq!(answer, expected, "takeover of epoch {epoch}");
    }
    let records = read(&mut log, 1);
    let epochs: Vec<u64> = records.iter().map(|record| record.epoch.0).collect();
    assert_eq!(epochs, [1, 2]);
}

/// A takeover beats a busy writer and fences it.
pub fn a_takeover_beats_a_busy_writer_and_fences_it(bench: &dyn Bench) {
    let mut busy = lead(bench);
    let mut standby = bench.handle();
    let (last, refused_by) = thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut number = Number(2);
            loop {
                match busy.append(number, Epoch(1), b"busy").expect("nothing fails") {
                    Append::Done => number = number.next(),
                    Append::Overtaken { head } => return (number, head, busy),
                    Append::Unknown { cause } => panic!("unknown: {cause}"),
                }
            }
        });
        assert!(standby.wait(Number(20), PATIENCE).expect("nothing fails"));
        let number = take_over(&mut standby, 2);
        let (last, head, mut busy) = writer.join().expect("the writer ends by being overtaken");
        for number in [number, head.last.0, head.last.0 + 1] {
            refuse(&mut busy, number, 1);
        }
        assert_eq!(last, Number(number));
        (number, head)
    });
    assert_eq!(refused_by.epoch, Epoch(2));
    append(&mut standby, last + 1, 2, b"the standby leads");
    let records = read(&mut standby, 1);
    let late = records.iter().filter(|record| last < record.number.0 && record.epoch != Epoch(2));
    assert_eq!(late.count(), 0, "records of the old epoch after the takeover");
}

/// Of two racing takeovers exactly one wins.
pub fn of_two_racing_takeovers_exactly_one_wins(bench: &dyn Bench) {
    const ROUNDS: u64 = 40;
    let barrier = Barrier::new(2);
    let race = || {
        let mut log = bench.handle();
        let mut won = Vec::new();
        for epoch in 1..=ROUNDS {
            barrier.wait();
            match log.take_over(Epoch(epoch), b"race").expect("nothing fails") {
                TakeOver::Done { number } => won.push((number, log.writer())),
                TakeOver::Overtaken { head } => assert_eq!(head.epoch, Epoch(epoch)),
                TakeOver::Unknown { cause } => panic!("unknown: {cause}"),
            }
            barrier.wait();
        }
        won
    };
    let mut won = thread::scope(|scope| {
        let racers = [scope.spawn(race), scope.spawn(race)];
        racers.map(|racer| racer.join().expect("no racer fails")).concat()
    });
    won.sort_unstable();
    let records = read(&mut bench.handle(), 1);
    let kept: Vec<_> = records.iter().map(|record| (record.number, record.writer)).collect();
    assert_eq!(won, kept);
    assert_eq!(records.len(), usize::try_from(ROUNDS).expect("a small number"));
}

/// Racing appends at one number land once.
pub fn racing_appends_at_one_number_land_once(bench: &dyn Bench) {
    const ROUNDS: u64 = 40;
    drop(lead(bench));
    let barrier = Barrier::new(2);
    let race = || {
        let mut log = bench.handle();
        let mut done_count = 0;
        for number in 2..2 + ROUNDS {
            barrier.wait();
            let answer = log.append(Number(number), Epoch(1), b"race").expect("nothing fails");
            match answer {
                Append::Done => done_count += 1,
                Append::Overtaken { head } => assert_eq!(head.last, Number(number)),
                Append::Unknown { cause } => panic!("unknown: {cause}"),
            }
            barrier.wait();
        }
        done_count
    };
    let done_count: u64 = thread::scope(|scope| {
        let racers = [scope.spawn(race), scope.spawn(race)];
        racers.map(|racer| racer.join().expect("no racer fails")).iter().sum()
    });
    assert_eq!(done_count, ROUNDS);
}

/// Reading back settles an unknown outcome.
pub fn reading_back_settles_an_unknown_outcome(bench: &dyn Bench) {
    let mut log = lead(bench);
    let settle = |log: &mut Box<dyn Log>, number, epoch, body: &[u8]| {
        log.settle(Number(number), Epoch(epoch), body).expect("nothing fails")
    };
    assert_eq!(settle(&mut log, 2, 1, b"mine"), Settled::Absent);
    append(&mut log, 2, 1, b"mine");
    assert_eq!(settle(&mut log, 2, 1, b"mine"), Settled::Landed);
    let mut standby = bench.handle();
    take_over(&mut standby, 2);
    assert_eq!(settle(&mut log, 2, 1, b"mine"), Settled::Landed);
    let head = head(&mut log);
    assert_eq!(settle(&mut log, 3, 1, b"take over"), Settled::Overtaken { head });
    assert_eq!(settle(&mut log, 4, 1, b"mine"), Settled::Overtaken { head });
}

/// A follower sees each record once and in order.
pub fn a_follower_sees_each_record_once_and_in_order(bench: &dyn Bench) {
    const RECORDS: u64 = 300;
    let mut log = lead(bench);
    let follow = || {
        let mut follower = bench.handle();
        let mut applied = Number(0);
        while applied < Number(RECORDS) {
            assert!(follower.wait(applied, PATIENCE).expect("nothing fails"));
            let records = follower.read(applied.next(), 200).expect("nothing fails");
            assert!(!records.is_empty(), "woken at {applied} without a record");
            for record in records {
                assert_eq!(record.number, applied.next());
                applied = record.number;
            }
        }
        applied
    };
    thread::scope(|scope| {
        let followers = [scope.spawn(follow), scope.spawn(follow)];
        for number in 2..=RECORDS {
            append(&mut log, number, 1, &body(number));
        }
        for follower in followers {
            assert_eq!(follower.join().expect("no follower fails"), Number(RECORDS));
        }
    });
}

/// Waiting ends with the next record or the timeout.
pub fn waiting_ends_with_the_next_record_or_the_timeout(bench: &dyn Bench) {
    let mut log = lead(bench);
    let mut follower = bench.handle();
    let short = Duration::from_millis(5);
    assert!(follower.wait(Number(0), Duration::ZERO).expect("nothing fails"));
    assert!(!follower.wait(Number(1), short).expect("nothing fails"));
    thread::scope(|scope| {
        let waiting = scope.spawn(move || follower.wait(Number(1), PATIENCE));
        append(&mut log, 2, 1, b"wake up");
        assert!(waiting.join().expect("the follower ends").expect("nothing fails"));
    });
}

/// A read stops at its byte limit but returns one record.
pub fn a_read_stops_at_its_byte_limit_but_returns_one_record(bench: &dyn Bench) {
    let mut log = lead(bench);
    for number in 2..=6 {
        append(&mut log, number, 1, &[7; 100]);
    }
    for (bytes_max, count) in [(0, 1), (99, 1), (100, 1), (199, 1), (200, 2), (1000, 5)] {
        let records = log.read(Number(2), bytes_max).expect("nothing fails");
        assert_eq!(records.len(), count, "with {bytes_max} bytes");
    }
}

/// A reader beyond the end is told.
pub fn a_reader_beyond_the_end_is_told(bench: &dyn Bench) {
    let mut log = lead(bench);
    assert_eq!(read(&mut log, 2), []);
    let error = log.read(Number(3), 1).expect_err("3 is beyond the end");
    assert!(matches!(error, LogError::Beyond { from: Number(3), last: Number(1) }), "{error:?}");
}

/// A record of the largest size fits and one byte more does not.
pub fn a_record_of_the_largest_size_fits_and_one_byte_more_does_not(bench: &dyn Bench) {
    let mut log = lead(bench);
    let largest = vec![0xa5; RECORD_BODY_BYTES_MAX];
    append(&mut log, 2, 1, &largest);
    assert_eq!(read(&mut log, 2)[0].body, largest);
    let larger = vec![0xa5; RECORD_BODY_BYTES_MAX + 1];
    let errors = [
        log.append(Number(3), Epoch(1), &larger).expect_err("it is too large"),
        log.take_over(Epoch(2), &larger).expect_err("it is too large"),
    ];
    for error in errors {
        assert!(matches!(error, LogError::TooLarge { .. }), "{error:?}");
    }
    assert_eq!(head(&mut log).last, Number(2));
}

/// An empty body is a record.
pub fn an_empty_body_is_a_record(bench: &dyn Bench) {
    let mut log = lead(bench);
    append(&mut log, 2, 1, b"");
    assert_eq!(read(&mut log, 2)[0].body, b"");
}

/// A damaged record is named and those before it are read.
pub fn a_damaged_record_is_named_and_those_before_it_are_read(bench: &dyn Bench) {
    let mut log = lead(bench);
    for number in 2..=5 {
        append(&mut log, number, 1, &body(number));
    }
    bench.damage_record(Number(4));
    assert_eq!(read(&mut log, 1).len(), 3);
    let error = log.read(Number(4), 1000).expect_err("record 4 is damaged");
    let LogError::Damaged { number, source } = error else { panic!("{error:?}") };
    assert_eq!(number, Number(4));
    assert!(matches!(source, FrameError::Checksum { .. }), "{source:?}");
}

/// Reopening keeps everything.
pub fn reopening_keeps_everything(bench: &dyn Bench) {
    let mut log = lead(bench);
    append(&mut log, 2, 1, b"kept");
    put(&mut log, 2, b"state");
    let before = (head(&mut log), read(&mut log, 1), latest(&mut log));
    drop(log);
    let mut log = bench.handle();
    assert_eq!((head(&mut log), read(&mut log, 1), latest(&mut log)), before);
}

/// One handle holds presence until it is dropped.
pub fn one_handle_holds_presence_until_it_is_dropped(bench: &dyn Bench) {
    let mut active = bench.handle();
    let mut standby = bench.handle();
    if active.claim_presence() == Presence::Unsupported {
        return;
    }
    assert_eq!(active.claim_presence(), Presence::Held);
    assert_eq!(standby.claim_presence(), Presence::HeldByOther);
    drop(active);
    assert_eq!(standby.claim_presence(), Presence::Held);
}

/// Presence can be handed over.
pub fn presence_can_be_handed_over(bench: &dyn Bench) {
    let mut active = bench.handle();
    let mut standby = bench.handle();
    if active.claim_presence() == Presence::Unsupported {
        return;
    }
    standby.release_presence();
    assert_eq!(standby.claim_presence(), Presence::HeldByOther);
    active.release_presence();
    assert_eq!(standby.claim_presence(), Presence::Held);
    assert_eq!(active.claim_presence(), Presence::HeldByOther);
}
