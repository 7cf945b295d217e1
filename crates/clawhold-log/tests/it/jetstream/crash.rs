//! Servers that are killed while records are appended: what was acknowledged is there, and what
//! was in doubt is settled, once each and in order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clawhold_log::{Append, Epoch, JetStreamLog, Log, Number, Record, Settled, TakeOver};

use super::servers::Servers;

const PATIENCE: Duration = Duration::from_secs(90);

#[test]
fn what_was_acknowledged_survives_killing_the_only_server() {
    let servers = Servers::one();
    survive(servers, 6, |servers, _| {
        servers.kill(0);
        servers.start(0);
    });
}

#[test]
fn what_was_acknowledged_survives_killing_the_leader_of_a_cluster() {
    survive(Servers::three(), 3, |servers, _| {
        let leader = leader(servers);
        servers.kill(leader);
        std::thread::sleep(Duration::from_millis(500));
        servers.start(leader);
    });
}

#[test]
fn what_was_acknowledged_survives_killing_a_follower_and_pausing_the_leader_of_a_cluster() {
    survive(Servers::three(), 3, |servers, round| {
        let leader = leader(servers);
        let follower = (leader + 1 + round % 2) % 3;
        servers.kill(follower);
        std::thread::sleep(Duration::from_millis(500));
        servers.start(follower);
        // Two must be there again before the third may stop.
        servers.log("READY");
        servers.signal(leader, "STOP");
        std::thread::sleep(Duration::from_secs(3));
        servers.signal(leader, "CONT");
    });
}

#[test]
fn a_log_opens_and_a_snapshot_is_put_while_one_server_of_three_is_down() {
    let mut servers = Servers::three();
    let mut log = servers.log("LOG");
    assert!(matches!(log.take_over(Epoch(1), b"lead").unwrap(), TakeOver::Done { .. }));
    let leader = leader(&servers);
    servers.kill(leader);
    // Begun while nobody leads the streams.
    let mut chunks = std::iter::repeat_n(vec![7; 100_000], 10);
    while let Err(error) = log.head() {
        println!("{error:?}");
    }
    log.put_snapshot(Number(1), Epoch(1), &mut chunks).unwrap();
    let started = Instant::now();
    let mut other = servers.log("LOG");
    println!("open after {:?}", started.elapsed());
    assert_eq!(other.latest_snapshot().unwrap().unwrap().bytes.len(), 1_000_000);
}

/// What a writer did.
#[derive(Debug, Default)]
struct Written {
    /// The records that were acknowledged or found, by number from 2 on.
    count: u64,
    unknown_count: u64,
    landed_count: u64,
    pause_max: Duration,
}

/// Appends while `disturb` is called so many times, then reads everything back.
fn survive(mut servers: Servers, rounds: usize, disturb: impl Fn(&mut Servers, usize)) {
    let mut log = servers.log("LOG");
    assert!(matches!(log.take_over(Epoch(1), b"lead").unwrap(), TakeOver::Done { .. }));
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(1));
    let written = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(&mut log, &stop, &progress));
        for round in 0..rounds {
            wait_for(&servers, &progress, 40);
            disturb(&mut servers, round);
        }
        wait_for(&servers, &progress, 40);
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    println!("{written:?}");
    let mut reader = servers.log("LOG");
    assert_eq!(reader.head().unwrap().last, Number(written.count + 1));
    let mut records: Vec<Record> = Vec::new();
    while u64::try_from(records.len()).unwrap() <= written.count {
        let next = records.last().map_or(Number(1), |record| record.number.next());
        let more = reader.read(next, usize::MAX).unwrap();
        assert_eq!(more[0].number, next);
        records.extend(more);
    }
    assert_eq!(u64::try_from(records.len()).unwrap(), written.count + 1);
    for record in &records[1..] {
        assert_eq!((record.epoch, record.writer), (Epoch(1), log.writer()));
        assert_eq!(record.body, body(record.number), "record {}", record.number);
    }
    assert!(0 < written.unknown_count, "no append was ever in doubt, so nothing was shown");
}

/// Appends until it is told to stop, settling what is in doubt.
fn write(log: &mut JetStreamLog, stop: &AtomicBool, progress: &AtomicU64) -> Written {
    let mut written = Written::default();
    let mut number = Number(2);
    let mut doubtful = false;
    let mut started = Instant::now();
    loop {
        if !doubtful && stop.load(Ordering::Relaxed) {
            return written;
        }
        let landed = match log.append(number, Epoch(1), &body(number)) {
            Ok(Append::Done) => true,
            Ok(Append::Unknown { .. }) => {
                written.unknown_count += 1;
                doubtful = true;
                std::thread::sleep(Duration::from_millis(20));
                false
            }
            Ok(Append::Overtaken { head }) => {
                assert!(doubtful, "nobody else writes, but the log ends at {head:?}");
                match log.settle(number, Epoch(1), &body(number)) {
                    Ok(Settled::Landed) => {
                        written.landed_count += 1;
                        true
                    }
                    Ok(settled @ (Settled::Absent | Settled::Overtaken { .. })) => {
                        panic!("record {number} is {settled:?}")
                    }
                    Err(_) => false,
                }
            }
            Err(_) => {
                std::thread::sleep(Duration::from_millis(20));
                false
            }
        };
        assert!(started.elapsed() < PATIENCE, "record {number} found no end");
        if landed {
            written.count += 1;
            written.pause_max = written.pause_max.max(started.elapsed());
            number = number.next();
            doubtful = false;
            started = Instant::now();
            progress.store(number.0, Ordering::Relaxed);
        }
    }
}

/// Waits until so many more records are written.
fn wait_for(servers: &Servers, progress: &AtomicU64, count: u64) {
    let (started, before) = (Instant::now(), progress.load(Ordering::Relaxed));
    while progress.load(Ordering::Relaxed) < before + count {
        assert!(started.elapsed() < PATIENCE, "no record is written\n{}", servers.said());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn leader(servers: &Servers) -> usize {
    let started = Instant::now();
    loop {
        if let Some(leader) = servers.leader("LOG") {
            return leader;
        }
        assert!(started.elapsed() < PATIENCE, "no server leads\n{}", servers.said());
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns a body that only this record has, of a size of its own.
fn body(number: Number) -> Vec<u8> {
    let length = usize::try_from(number.0 * 7919 % 5000).unwrap();
    format!("{number} ").into_bytes().into_iter().cycle().take(length).collect()
}
