//! SQLite logs shared by processes that are killed or cannot write.
//!
//! A test starts this test binary again as its writer: `the_writer_process` does nothing unless
//! the environment says which log to write.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clawhold_log::{Append, Epoch, Log, LogError, Number, Presence, SqliteLog, TakeOver};

const LOG_VARIABLE: &str = "CLAWHOLD_LOG_TEST_WRITER";
const WRITER_TEST: [&str; 3] = ["--exact", "sqlite_process::the_writer_process", "--nocapture"];
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn what_was_acknowledged_survives_killing_the_writer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let mut standby = SqliteLog::open(&path).unwrap();
    let mut acknowledged = 0;
    for round in 0..20 {
        let before = standby.head().unwrap().last;
        let mut writer = Process(start_writer(&path));
        let awaited = Number(before.0 + fastrand::u64(1..60));
        assert!(standby.wait(awaited, PATIENCE).unwrap(), "round {round}: the writer stalls");
        assert_eq!(standby.claim_presence(), Presence::HeldByOther);
        for _ in 0..fastrand::u32(0..20_000) {
            std::hint::spin_loop();
        }
        writer.0.kill().unwrap();
        writer.0.wait().unwrap();
        // The lock went with the process: nobody waits for a timeout.
        assert_eq!(standby.claim_presence(), Presence::Held);
        standby.release_presence();
        for number in writer.acknowledged() {
            let record = standby.read(number, 1).unwrap().remove(0);
            assert_eq!(record.number, number);
            assert_eq!(record.body, body(number), "round {round}: record {number}");
            acknowledged += 1;
        }
    }
    check_whole(&mut standby, Epoch(20));
    assert!(20 <= acknowledged, "only {acknowledged} records were acknowledged");
}

#[test]
fn a_standby_takes_over_from_a_writing_process_and_the_writer_ends_as_overtaken() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let mut standby = SqliteLog::open(&path).unwrap();
    let mut writer = Process(start_writer(&path));
    assert!(standby.wait(Number(30), PATIENCE).unwrap(), "the writer stalls");
    let TakeOver::Done { number } = standby.take_over(Epoch(2), b"").unwrap() else {
        panic!("a takeover beats a writer")
    };
    assert!(writer.0.wait().unwrap().success());
    assert!(writer.output().contains("overtaken 2\n"));
    assert_eq!(standby.append(number.next(), Epoch(2), b"led").unwrap(), Append::Done);
    check_whole(&mut standby, Epoch(2));
}

#[test]
#[cfg(unix)]
fn a_disk_that_fails_in_a_commit_is_an_unknown_outcome() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let mut command = Command::new("sh");
    // Beyond the file size limit the write fails as on a broken disk, once its signal is ignored.
    command.args(["-c", "trap '' XFSZ; ulimit -f 400; exec \"$@\"", "sh"]);
    let executable = std::env::current_exe().unwrap();
    command.arg(executable).args(WRITER_TEST).env(LOG_VARIABLE, &path);
    let mut writer = Process(command.stdout(Stdio::piped()).spawn().unwrap());
    let output = writer.output();
    writer.0.wait().unwrap();
    let unknown = output.lines().find_map(|line| line.strip_prefix("unknown "));
    let (number, settled) = unknown.expect(&output).split_once(' ').unwrap();
    assert_eq!(settled, "Absent");

    let number = Number(number.parse().unwrap());
    let mut log = SqliteLog::open(&path).unwrap();
    assert_eq!(log.head().unwrap().last.next(), number);
    assert_eq!(log.append(number, Epoch(1), &body(number)).unwrap(), Append::Done);
    check_whole(&mut log, Epoch(1));
}

#[test]
fn the_writer_process() {
    let Some(path) = std::env::var_os(LOG_VARIABLE) else { return };
    let mut log = SqliteLog::open(path).unwrap();
    assert_eq!(log.claim_presence(), Presence::Held);
    let epoch = log.head().unwrap().epoch.next();
    let TakeOver::Done { number } = log.take_over(epoch, b"").unwrap() else {
        panic!("nobody else takes over")
    };
    let mut number = number.next();
    loop {
        let body = body(number);
        match log.append(number, epoch, &body) {
            Ok(Append::Done) => say(&format!("done {number}\n")),
            Ok(Append::Overtaken { head }) => return say(&format!("overtaken {}\n", head.epoch)),
            Ok(Append::Unknown { .. }) => {
                let settled = log.settle(number, epoch, &body).unwrap();
                return say(&format!("unknown {number} {settled:?}\n"));
            }
            Err(LogError::Busy) => continue,
            Err(error) => panic!("{error:?}"),
        }
        number = number.next();
    }
}

/// A process that does not outlive its test.
struct Process(Child);

impl Process {
    fn output(&mut self) -> String {
        let mut output = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        output
    }

    /// Returns what the writer said was done; a line that the kill cut off says nothing.
    fn acknowledged(&mut self) -> Vec<Number> {
        let mut reader = BufReader::new(self.0.stdout.take().unwrap());
        let mut numbers = Vec::new();
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() != 0 {
            let said = line.strip_prefix("done ").and_then(|rest| rest.strip_suffix('\n'));
            numbers.extend(said.map(|number| Number(number.parse().unwrap())));
            line.clear();
        }
        numbers
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_writer(path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(WRITER_TEST).env(LOG_VARIABLE, path).stdout(Stdio::piped()).spawn().unwrap()
}

/// Checks that the log has no hole and that its epochs rise by one up to `epoch`.
fn check_whole(log: &mut SqliteLog, epoch: Epoch) {
    let last = log.head().unwrap().last;
    let records = log.read(Number(1), usize::MAX).unwrap();
    assert_eq!(records.last().unwrap().number, last);
    let mut current = Epoch(0);
    for record in &records {
        assert!(record.epoch == current || record.epoch == current.next(), "{record:?}");
        current = record.epoch;
    }
    assert_eq!(current, epoch);
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
