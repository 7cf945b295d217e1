//! Two servers' processes that race for one log while they, and the servers of NATS, are killed
//! and paused: the history has one writer for each epoch and no hole.
//!
//! A test starts this test binary again as its writers: `the_writer_process` does nothing unless
//! the environment says which log to write.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use clawhold_log::{Append, Epoch, JetStreamLog, Log, Number, Record, Settled, TakeOver, Writer};
use tempfile::NamedTempFile;

use super::servers::{Servers, open, signal_process};

const LOG_VARIABLE: &str = "CLAWHOLD_LOG_TEST_JETSTREAM";
const WRITER_TEST: [&str; 3] = ["--exact", "jetstream::race::the_writer_process", "--nocapture"];
const PATIENCE: Duration = Duration::from_secs(90);
/// After how long without a record a writer takes over.
const HOLD: Duration = Duration::from_millis(700);

#[test]
fn two_writers_on_one_server_are_one_at_a_time() {
    race(Servers::one(), 20, Duration::from_secs(1));
}

#[test]
fn two_writers_on_a_cluster_are_one_at_a_time() {
    race(Servers::three(), 8, Duration::from_secs(4));
}

fn race(mut servers: Servers, rounds: usize, turn: Duration) {
    drop(servers.log("LOG"));
    let url = servers.url("LOG");
    let seed = std::env::var("CLAWHOLD_TEST_SEED")
        .map_or_else(|_| fastrand::u64(..), |s| s.parse().unwrap());
    println!("seed {seed}");
    fastrand::seed(seed);
    let mut acknowledged = Vec::new();
    let mut writers = [Process::start(&url), Process::start(&url)];
    for _ in 0..rounds {
        std::thread::sleep(turn.mul_f64(fastrand::f64()));
        let place = fastrand::usize(..writers.len());
        let node = fastrand::usize(..servers.count());
        match fastrand::u32(..5) {
            0 | 1 => {
                acknowledged.extend(writers[place].kill());
                writers[place] = Process::start(&url);
            }
            2 => {
                signal_process(writers[place].0.id(), "STOP");
                std::thread::sleep(HOLD * 2);
                signal_process(writers[place].0.id(), "CONT");
            }
            3 => {
                servers.kill(node);
                std::thread::sleep(Duration::from_millis(200));
                servers.start(node);
                servers.log("READY");
            }
            _ => {
                servers.signal(node, "STOP");
                std::thread::sleep(HOLD * 3);
                servers.signal(node, "CONT");
            }
        }
    }
    // Whoever is left goes on writing.
    let mut reader = servers.log("LOG");
    let before = reader.head().unwrap().last;
    until_longer(&mut reader, Number(before.0 + 20), &servers);
    for mut writer in writers {
        acknowledged.extend(writer.kill());
    }
    check(&mut reader, &acknowledged);
}

fn until_longer(reader: &mut JetStreamLog, than: Number, servers: &Servers) {
    let started = Instant::now();
    loop {
        let head = reader.head();
        if head.as_ref().is_ok_and(|head| than < head.last) {
            return;
        }
        let said = || servers.said();
        assert!(started.elapsed() < PATIENCE, "nobody writes after {than}: {head:?}\n{}", said());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Checks the whole history, and that it holds what was acknowledged.
fn check(reader: &mut JetStreamLog, acknowledged: &[(Number, Epoch, Writer)]) {
    let last = reader.head().unwrap().last;
    let mut records: Vec<Record> = Vec::new();
    while records.last().is_none_or(|record| record.number < last) {
        let next = records.last().map_or(Number(1), |record| record.number.next());
        records.extend(reader.read(next, usize::MAX).unwrap());
    }
    let mut writers = BTreeMap::new();
    let mut epoch = Epoch(0);
    for (record, place) in records.iter().zip(1..) {
        assert_eq!(record.number, Number(place));
        let begins = record.epoch == epoch.next();
        assert!(begins || record.epoch == epoch, "{} after epoch {epoch}", record.epoch);
        epoch = record.epoch;
        let writer = *writers.entry(epoch).or_insert(record.writer);
        assert_eq!(record.writer, writer, "two writers in epoch {epoch}");
        assert_eq!(begins, record.body.is_empty(), "record {place}");
        assert!(begins || record.body == body(record.number), "record {place}");
    }
    for (number, epoch, writer) in acknowledged {
        let there = &records[usize::try_from(number.0 - 1).unwrap()];
        assert_eq!((there.epoch, there.writer), (*epoch, *writer), "record {number}");
    }
    let count = acknowledged.len();
    println!("{} records, {count} acknowledged, {epoch} epochs", records.len());
    assert!(20 <= count, "only {count} records were acknowledged");
    assert!(Epoch(2) <= epoch, "nobody took over");
}

#[test]
fn the_writer_process() {
    let Some(url) = std::env::var_os(LOG_VARIABLE) else { return };
    let mut log = until_open(url.to_str().unwrap());
    loop {
        let Some(epoch) = follow(&mut log) else { continue };
        let number = match log.take_over(epoch, b"") {
            Ok(TakeOver::Done { number }) => number,
            // Following shows whose the epoch became.
            Ok(TakeOver::Unknown { .. } | TakeOver::Overtaken { .. }) | Err(_) => continue,
        };
        say(number, epoch, log.writer());
        lead(&mut log, number.next(), epoch);
    }
}

fn until_open(url: &str) -> JetStreamLog {
    loop {
        match open(url) {
            Ok(log) => return log,
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Follows until nothing came for a while, and returns the epoch to take over with.
fn follow(log: &mut JetStreamLog) -> Option<Epoch> {
    let mut head = log.head().ok()?;
    while log.wait(head.last, HOLD).ok()? {
        head = log.head().ok()?;
    }
    Some(head.epoch.next())
}

/// Appends until overtaken, settling what is in doubt.
fn lead(log: &mut JetStreamLog, mut number: Number, epoch: Epoch) {
    let mut doubtful = false;
    loop {
        let body = body(number);
        match log.append(number, epoch, &body) {
            Ok(Append::Done) => {}
            Ok(Append::Overtaken { .. }) if !doubtful => return,
            Ok(Append::Overtaken { .. }) => match log.settle(number, epoch, &body) {
                Ok(Settled::Landed) => {}
                Ok(Settled::Absent) | Err(_) => continue,
                Ok(Settled::Overtaken { .. }) => return,
            },
            Ok(Append::Unknown { .. }) => {
                doubtful = true;
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
            Err(_) => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
        }
        say(number, epoch, log.writer());
        doubtful = false;
        number = number.next();
    }
}

/// A process that does not outlive its test, and the file with what it said.
struct Process(Child, NamedTempFile);

impl Process {
    fn start(url: &str) -> Self {
        let said = NamedTempFile::new().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(WRITER_TEST).env(LOG_VARIABLE, url).stdout(said.reopen().unwrap());
        Self(command.spawn().unwrap(), said)
    }

    /// Kills the writer and returns what it said was done; a line that was cut off says nothing.
    fn kill(&mut self) -> Vec<(Number, Epoch, Writer)> {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
        let mut reader = BufReader::new(self.1.reopen().unwrap());
        let mut done = Vec::new();
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() != 0 {
            let said = line.strip_prefix("done ").and_then(|rest| rest.strip_suffix('\n'));
            if let Some(said) = said {
                let numbers: Vec<u64> = said.split(' ').map(|n| n.parse().unwrap()).collect();
                done.push((Number(numbers[0]), Epoch(numbers[1]), Writer(numbers[2])));
            }
            line.clear();
        }
        done
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Says one line in one write, so that a kill can cut it off but not mix it.
fn say(number: Number, epoch: Epoch, writer: Writer) {
    let line = format!("done {number} {epoch} {}\n", writer.0);
    let mut output = std::io::stdout().lock();
    output.write_all(line.as_bytes()).unwrap();
    output.flush().unwrap();
}

/// Returns a body that only this record has, of a size of its own and never empty.
fn body(number: Number) -> Vec<u8> {
    let length = usize::try_from(1 + number.0 * 7919 % 3000).unwrap();
    format!("{number} ").into_bytes().into_iter().cycle().take(length).collect()
}
