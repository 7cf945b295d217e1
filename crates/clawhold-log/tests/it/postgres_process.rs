//! PostgreSQL logs whose server, connections and writers are killed.
//!
//! A test starts this test binary again as its writer: `the_postgres_writer_process` does nothing
//! unless the environment says which log to write.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clawhold_log::{
    Append, Epoch, Log, LogError, Number, PostgresLog, Presence, Record, Settled, TakeOver,
};

use super::postgres_server::{Server, url};

const LOG_VARIABLE: &str = "CLAWHOLD_LOG_TEST_POSTGRES_WRITER";
const WRITER_TEST: [&str; 3] =
    ["--exact", "postgres_process::the_postgres_writer_process", "--nocapture"];
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn what_was_acknowledged_survives_killing_postgresql() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), "");
    let mut log = PostgresLog::open(&server.url("killed")).unwrap();
    assert_eq!(log.take_over(Epoch(1), b"").unwrap(), TakeOver::Done { number: Number(1) });
    let mut next = Number(2);
    let mut unknown = 0;
    for _ in 0..6 {
        let (last, doubts) = thread::scope(|scope| {
            let writer = scope.spawn(|| write_on(&mut log, next));
            thread::sleep(Duration::from_millis(fastrand::u64(50..400)));
            server.kill();
            server.restart();
            writer.join().unwrap()
        });
        assert!(next < last, "nothing was written");
        next = last;
        unknown += doubts;
    }
    // Everything below `next` was acknowledged, or found to have landed.
    check_bodies(&mut log, Number(2), next);
    assert!(0 < unknown, "no kill met an append under way");
}

/// Appends until an outcome is unknown and settled; returns the next number.
fn write_on(log: &mut PostgresLog, from: Number) -> (Number, u32) {
    let mut number = from;
    let since = Instant::now();
    loop {
        assert!(since.elapsed() < PATIENCE, "PostgreSQL is away for too long");
        match log.append(number, Epoch(1), &body(number)) {
            Ok(Append::Done) => number = number.next(),
            Ok(Append::Overtaken { head }) => panic!("{head:?} at {number}"),
            Ok(Append::Unknown { .. }) => return (settle(log, number), 1),
            // It was killed between two appends.
            Err(_) => return (settle(log, number), 0),
        }
    }
}

/// Reads back until it is known what became of the record; returns the next number.
fn settle(log: &mut PostgresLog, number: Number) -> Number {
    let since = Instant::now();
    loop {
        assert!(since.elapsed() < PATIENCE, "PostgreSQL is away for too long");
        match log.settle(number, Epoch(1), &body(number)) {
            Ok(Settled::Landed) => return number.next(),
            Ok(Settled::Absent) => return number,
            Ok(Settled::Overtaken { head }) => panic!("{head:?} at {number}"),
            Err(LogError::Open(error)) if error.to_string().contains("was confirmed") => {
                panic!("{error}")
            }
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[test]
fn a_connection_cut_around_a_commit_leaves_an_outcome_that_reading_back_settles() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), "");
    let relay = Relay::start(server.port());
    let mut log = PostgresLog::open(&url(relay.port, "cut")).unwrap();
    let mut observer = PostgresLog::open(&server.url("cut")).unwrap();
    assert_eq!(log.take_over(Epoch(1), b"").unwrap(), TakeOver::Done { number: Number(1) });
    for number in (2..20).map(Number) {
        let landed = number.0.is_multiple_of(2);
        relay.cut(if landed { CUT_ANSWER } else { CUT_REQUEST });
        let answer = log.append(number, Epoch(1), &body(number)).unwrap();
        assert!(matches!(answer, Append::Unknown { .. }), "{answer:?}");
        if landed {
            assert!(observer.wait(Number(number.0 - 1), PATIENCE).unwrap());
            assert_eq!(settled(&mut log, number), Settled::Landed);
            let again = log.append(number, Epoch(1), &body(number)).unwrap();
            assert!(matches!(again, Append::Overtaken { .. }), "{again:?}");
        } else {
            assert_eq!(settled(&mut log, number), Settled::Absent);
            assert_eq!(log.append(number, Epoch(1), &body(number)).unwrap(), Append::Done);
        }
    }
    check_bodies(&mut observer, Number(2), Number(20));
    relay.cut(CUT_ANSWER);
    // The answer that is cut is to the transaction's beginning: certainly nothing happened.
    log.take_over(Epoch(2), b"").unwrap_err();
    assert_eq!(observer.head().unwrap().epoch, Epoch(1));
    assert_eq!(log.take_over(Epoch(2), b"").unwrap(), TakeOver::Done { number: Number(20) });
}

fn settled(log: &mut PostgresLog, number: Number) -> Settled {
    log.settle(number, Epoch(1), &body(number)).unwrap()
}

#[test]
fn racing_writers_that_are_killed_leave_one_writer_for_each_term() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), "");
    let target = server.url("raced");
    let mut observer = PostgresLog::open(&target).unwrap();
    let mut acknowledged = BTreeMap::new();
    let mut writers = [Process::start(&target), Process::start(&target)];
    for round in 0..14 {
        thread::sleep(Duration::from_millis(fastrand::u64(100..400)));
        if round % 5 == 4 {
            server.kill();
            server.restart();
        }
        let victim = &mut writers[fastrand::usize(0..2)];
        victim.kill();
        acknowledged.extend(victim.acknowledged());
        *victim = Process::start(&target);
    }
    for writer in &mut writers {
        writer.kill();
        acknowledged.extend(writer.acknowledged());
    }
    assert!(100 < acknowledged.len(), "only {} records", acknowledged.len());
    let records = all(&mut observer);
    let mut writer_of = BTreeMap::new();
    let mut epoch = Epoch(0);
    for (record, number) in records.iter().zip(1..) {
        assert_eq!(record.number, Number(number));
        assert!(record.epoch == epoch || record.epoch == epoch.next(), "{record:?}");
        epoch = record.epoch;
        let writer = *writer_of.entry(epoch).or_insert(record.writer);
        assert_eq!(record.writer, writer, "two writers in term {epoch}");
    }
    assert!(5 < epoch.0, "only {epoch} terms");
    for (number, said) in acknowledged {
        let at = usize::try_from(number - 1).unwrap();
        let text = String::from_utf8(records[at].body.clone()).unwrap();
        assert_eq!(text, said, "record {number}");
    }
}

#[test]
fn the_presence_lock_goes_with_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), "");
    let target = server.url("present");
    let mut standby = PostgresLog::open(&target).unwrap();
    let mut writer = Process::start(&target);
    assert!(standby.wait(Number(3), PATIENCE).unwrap());
    assert_eq!(standby.claim_presence(), Presence::HeldByOther);
    writer.kill();
    let killed = Instant::now();
    while standby.claim_presence() != Presence::Held {
        assert!(killed.elapsed() < Duration::from_secs(2), "the lock stays");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_server_that_could_lose_what_it_confirms_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), "full_page_writes = off\n");
    let log = PostgresLog::open(&server.url("safe")).unwrap();
    let concerns = log.concerns().join("\n");
    assert!(concerns.contains("full_page_writes = off"), "{concerns}");
    server.sql("ALTER SYSTEM SET fsync = off");
    server.kill();
    server.restart();
    assert_refused(&server.url("safe"), "fsync = off");
    server.sql("ALTER SYSTEM RESET fsync");
    server.sql("ALTER SYSTEM SET default_transaction_read_only = on");
    server.kill();
    server.restart();
    assert_refused(&server.url("safe"), "takes no writes");
}

#[test]
fn a_replica_is_refused_and_of_several_hosts_the_primary_is_used() {
    let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(folder.path(), "");
    let mut log = PostgresLog::open(&server.url("copied")).unwrap();
    assert_eq!(log.take_over(Epoch(1), b"").unwrap(), TakeOver::Done { number: Number(1) });
    let replica = server.replica(copy.path());
    assert_refused(&replica.url("copied"), "takes no writes");
    let both = server.url("copied").replace(
        &format!("127.0.0.1:{}", server.port()),
        &format!("127.0.0.1:{},127.0.0.1:{}", replica.port(), server.port()),
    );
    let mut log = PostgresLog::open(&both).unwrap();
    assert_eq!(log.append(Number(2), Epoch(1), b"two").unwrap(), Append::Done);
    let concerns = log.concerns().join("\n");
    assert!(concerns.contains("1 replicas and none is synchronous"), "{concerns}");
}

#[test]
fn the_postgres_writer_process() {
    let Ok(target) = std::env::var(LOG_VARIABLE) else { return };
    let mut log = loop {
        match PostgresLog::open(&target) {
            Ok(log) => break log,
            // PostgreSQL was killed a moment ago.
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    };
    loop {
        lead_once(&mut log);
        thread::sleep(Duration::from_millis(fastrand::u64(0..30)));
    }
}

/// Takes over and appends until somebody else has taken over, or the outcome of a takeover cannot
/// be known.
fn lead_once(log: &mut PostgresLog) {
    let _ = log.claim_presence();
    let Ok(head) = log.head() else { return };
    let epoch = head.epoch.next();
    let Ok(TakeOver::Done { number }) = log.take_over(epoch, b"take over") else { return };
    let mut number = number.next();
    for _ in 0..fastrand::u32(10..200) {
        let body = format!("{number} of {epoch} by {}", log.writer().0);
        loop {
            match log.append(number, epoch, body.as_bytes()) {
                Ok(Append::Done) => break,
                Ok(Append::Overtaken { .. }) => {
                    // It may be the record's own first try that stands there.
                    match log.settle(number, epoch, body.as_bytes()) {
                        Ok(Settled::Landed) => break,
                        Ok(_) | Err(_) => return,
                    }
                }
                Ok(Append::Unknown { .. }) | Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        }
        say(&format!("done {number} {body}\n"));
        number = number.next();
    }
}

/// A process that does not outlive its test.
struct Process(Child);

impl Process {
    fn start(target: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(WRITER_TEST).env(LOG_VARIABLE, target).stdout(Stdio::piped());
        Self(command.stderr(Stdio::null()).spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Returns what the writer said was done; a line that the kill cut off says nothing.
    fn acknowledged(&mut self) -> BTreeMap<u64, String> {
        let mut reader = BufReader::new(self.0.stdout.take().unwrap());
        let mut said = BTreeMap::new();
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() != 0 {
            let whole = line.strip_prefix("done ").and_then(|rest| rest.strip_suffix('\n'));
            if let Some((number, body)) = whole.and_then(|rest| rest.split_once(' ')) {
                said.insert(number.parse().unwrap(), body.to_owned());
            }
            line.clear();
        }
        said
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Nothing is cut.
const CUT_NOTHING: u8 = 0;
/// The next request is dropped with its connection.
const CUT_REQUEST: u8 = 1;
/// The next request gets through, and its answer is dropped with the connection.
const CUT_ANSWER: u8 = 2;

/// A relay in front of a server that cuts a connection when it is told to.
struct Relay {
    port: u16,
    cut: Arc<AtomicU8>,
}

impl Relay {
    fn start(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(AtomicU8::new(CUT_NOTHING));
        let told = Arc::clone(&cut);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
                let both = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let there = Arc::clone(&told);
                thread::spawn(move || pass(client, server, &there, CUT_REQUEST));
                let back = Arc::clone(&told);
                thread::spawn(move || pass(both.1, both.0, &back, CUT_ANSWER));
            }
        });
        Self { port, cut }
    }

    fn cut(&self, what: u8) {
        self.cut.store(what, Ordering::SeqCst);
    }
}

/// Passes bytes on until the end, or until it is their turn to be cut.
fn pass(mut from: TcpStream, mut to: TcpStream, cut: &AtomicU8, at: u8) {
    let mut bytes = [0; 65_536];
    while let Ok(count) = from.read(&mut bytes) {
        let cuts =
            cut.compare_exchange(at, CUT_NOTHING, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if count == 0 || cuts || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // The other direction may have ended both already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

fn assert_refused(target: &str, part: &str) {
    match PostgresLog::open(target) {
        Err(LogError::Open(error)) => assert!(error.to_string().contains(part), "{error}"),
        other => panic!("it was not refused: {other:?}"),
    }
}

fn all(log: &mut PostgresLog) -> Vec<Record> {
    log.read(Number(1), usize::MAX).unwrap()
}

fn check_bodies(log: &mut PostgresLog, from: Number, to: Number) {
    let records = log.read(from, usize::MAX).unwrap();
    assert_eq!(records.last().unwrap().number.next(), to);
    for record in records {
        assert_eq!(record.body, body(record.number), "record {}", record.number);
    }
}

/// Returns a body that only this record has, of a size of its own.
fn body(number: Number) -> Vec<u8> {
    let length = usize::try_from(number.0 * 7919 % 5000).unwrap();
    format!("{number} ").into_bytes().into_iter().cycle().take(length).collect()
}

/// Says one line in one write, so that a kill can cut it off but not mix it.
fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    output.write_all(line.as_bytes()).unwrap();
    output.flush().unwrap();
}
