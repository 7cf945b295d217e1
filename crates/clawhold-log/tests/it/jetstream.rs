//! The JetStream engine: the conformance suite on one server and on three, and what is its own.

mod bench;
mod crash;
mod gate;
mod race;
mod servers;

use std::time::Instant;

use clawhold_log::conformance::{self, Bench};
use clawhold_log::{Append, Epoch, FrameError, Log, LogError, Number, Settled, TakeOver};

use bench::JetStream;
use servers::{Servers, Setup};

mod on_one_server {
    use clawhold_log::conformance;

    use super::*;

    conformance!(JetStream { servers: &Servers::one(), stream: "LOG".to_owned() });
}

/// One test, because a cluster takes longer to start than all cases take to run.
#[test]
fn a_cluster_of_three_passes_every_case() {
    let servers = Servers::three();
    for (name, case) in conformance::cases() {
        println!("{name}");
        case(&JetStream { servers: &servers, stream: format!("L{}", fastrand::u32(..)) });
    }
}

#[test]
fn a_message_of_another_program_shows_as_a_damaged_record_and_nothing_is_written_after_it() {
    let servers = Servers::one();
    let mut log = servers.log("LOG");
    lead(&mut log);
    assert_eq!(log.append(Number(2), Epoch(1), b"job").unwrap(), Append::Done);
    bench::publish(&servers.url("LOG"), "clawhold.LOG.record".to_owned(), b"hello");
    let error = log.append(Number(3), Epoch(1), b"job").unwrap_err();
    let foreign = FrameError::Foreign;
    assert!(matches!(error, LogError::Damaged { number: Number(3), source } if source == foreign));
    let error = log.read(Number(3), 1).unwrap_err();
    assert!(matches!(error, LogError::Damaged { number: Number(3), .. }), "{error:?}");
    let error = servers::open(&servers.url("LOG")).unwrap_err();
    assert!(matches!(error, LogError::Damaged { number: Number(3), .. }), "{error:?}");
}

#[test]
fn a_log_that_became_shorter_is_not_gone_on_with() {
    let servers = Servers::one();
    let mut log = servers.log("LOG");
    lead(&mut log);
    for number in 2..=5 {
        assert_eq!(log.append(Number(number), Epoch(1), b"job").unwrap(), Append::Done);
    }
    bench::delete(&servers.url("LOG"), "LOG");
    // Another server makes the stream again, and leads in the same epoch.
    let mut other = servers.log("LOG");
    lead(&mut other);
    let errors = [
        log.append(Number(6), Epoch(1), b"job").unwrap_err(),
        log.head().unwrap_err(),
        log.take_over(Epoch(2), b"").unwrap_err(),
    ];
    for error in errors {
        let shorter = matches!(error, LogError::Shorter { last: Number(1), seen: Number(5) });
        assert!(shorter, "{error:?}");
    }
}

#[test]
fn a_follower_reads_on_after_its_consumer_is_gone() {
    let mut servers = Servers::one();
    let mut log = servers.log("LOG");
    lead(&mut log);
    let mut follower = servers.log("LOG");
    assert!(follower.wait(Number(0), PATIENCE).unwrap());
    assert_eq!(follower.read(Number(1), 1).unwrap().len(), 1);
    assert!(!follower.wait(Number(1), std::time::Duration::from_millis(5)).unwrap());
    // The consumer is kept in the server's memory only.
    servers.kill(0);
    servers.start(0);
    let mut log = servers.log("LOG");
    assert_eq!(log.append(Number(2), Epoch(1), b"job").unwrap(), Append::Done);
    let started = Instant::now();
    while !follower.wait(Number(1), PATIENCE).unwrap_or(false) {
        assert!(started.elapsed() < PATIENCE);
    }
    assert_eq!(follower.read(Number(2), 1).unwrap()[0].body, b"job");
}

#[test]
fn a_server_that_does_not_answer_leaves_the_outcome_unknown_and_the_same_bytes_settle_it() {
    let servers = Servers::one();
    let mut log = servers.log("LOG");
    lead(&mut log);
    servers.signal(0, "STOP");
    let answer = log.append(Number(2), Epoch(1), b"late").unwrap();
    assert!(matches!(answer, Append::Unknown { .. }), "{answer:?}");
    servers.signal(0, "CONT");
    let started = Instant::now();
    // The message was on its way, so it may land now, after it was looked for, or never.
    let landed = loop {
        match log.append(Number(2), Epoch(1), b"late") {
            Ok(Append::Done) => break true,
            Ok(Append::Overtaken { .. }) => {
                break log.settle(Number(2), Epoch(1), b"late").unwrap() == Settled::Landed;
            }
            Ok(Append::Unknown { .. }) | Err(_) => assert!(started.elapsed() < PATIENCE),
        }
    };
    assert!(landed);
    assert_eq!(log.append(Number(3), Epoch(1), b"next").unwrap(), Append::Done);
    let bodies: Vec<Vec<u8>> =
        log.read(Number(1), 1000).unwrap().into_iter().map(|record| record.body).collect();
    assert_eq!(bodies, [b"lead".to_vec(), b"late".to_vec(), b"next".to_vec()]);
}

#[test]
fn a_store_that_is_full_refuses_and_takes_the_same_record_once_there_is_room() {
    let servers = Servers::one();
    let bench = JetStream { servers: &servers, stream: "LOG".to_owned() };
    let mut log = bench.handle();
    assert!(matches!(log.take_over(Epoch(1), b"lead").unwrap(), TakeOver::Done { .. }));
    bench::edit(&servers.url("LOG"), "LOG", |config| config.max_bytes = 300_000);
    let body = vec![7; 100_000];
    let mut number = Number(2);
    let full = loop {
        match log.append(number, Epoch(1), &body) {
            Ok(Append::Done) => number = number.next(),
            other => break other,
        }
    };
    assert!(matches!(full, Err(LogError::Full)), "{full:?}");
    assert_eq!(number, Number(4));
    bench::edit(&servers.url("LOG"), "LOG", |config| config.max_bytes = -1);
    assert_eq!(log.append(number, Epoch(1), &body).unwrap(), Append::Done);
}

/// A cluster of NATS servers beyond their limit does not even answer readers.
#[test]
fn servers_that_have_no_room_left_refuse_and_with_more_room_have_all_that_was_confirmed() {
    for count in [1, 3] {
        let mut servers =
            Servers::with(count, Setup { store_bytes_max: 1 << 20, ..Setup::default() });
        let mut log = servers.log("LOG");
        lead(&mut log);
        let body = vec![7; 100_000];
        let mut number = Number(2);
        let full = loop {
            match log.append(number, Epoch(1), &body) {
                Ok(Append::Done) => number = number.next(),
                other => break other,
            }
        };
        assert!(matches!(full, Err(LogError::Full)), "{full:?}");
        assert!(Number(8) < number, "full at {number}");
        servers.grow(Setup::default());
        let mut log = servers.log("LOG");
        assert_eq!(log.head().unwrap().last.next(), number);
        assert_eq!(log.append(number, Epoch(1), &body).unwrap(), Append::Done);
        for place in 2..=number.0 {
            assert_eq!(log.read(Number(place), 1).unwrap()[0].body, body, "record {place}");
        }
    }
}

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

fn lead(log: &mut impl Log) {
    let number = Number(1);
    assert_eq!(log.take_over(Epoch(1), b"lead").unwrap(), TakeOver::Done { number });
}
