//! Old logs stay readable: records and a snapshot as version 1 wrote them.
//!
//! The fixture is never written again. When the record version rises, its own fixture is added
//! beside this one by running the test with `CLAWHOLD_WRITE_FIXTURES=1`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{env, fs};

use clawhold_core::State;
use clawhold_core::command::Request;
use clawhold_core::record::{RECORD_VERSION, Record};
use clawhold_core::snapshot::SNAPSHOT_VERSION;
use clawhold_core::units::{Position, RequestId, Served, Stamp, Timestamp};

use crate::draw::{self, Dice};

/// Records in the fixture.
const RECORDS: u64 = 1_500;
/// Kinds of commands that the fixture holds.
const KINDS: usize = 35;

#[test]
fn a_log_of_version_1_is_read_byte_for_byte_and_comes_to_the_same_state() {
    if env::var_os("CLAWHOLD_WRITE_FIXTURES").is_some() {
        write_fixtures();
    }
    let mut state = State::default();
    let mut kinds = BTreeSet::new();
    for line in fs::read_to_string(fixture("log-v1.txt")).unwrap().lines() {
        let bytes = from_hex(line);
        let record = Record::decode(&bytes).unwrap();
        assert_eq!(record.encode(), bytes);
        kinds.extend(record.requests.iter().map(kind));
        apply(&mut state, &record);
    }
    assert!(kinds.len() >= KINDS, "{} kinds: {kinds:?}", kinds.len());
    for version in 1..=SNAPSHOT_VERSION {
        let file = fixture(&format!("snapshot-v{version}.txt"));
        let snapshot = from_hex(fs::read_to_string(file).unwrap().trim());
        let restored = State::restore(&snapshot).unwrap();
        assert!(restored == state, "snapshot {version} is another state than the replayed log's");
        let written = restored.snapshot();
        assert!(version < SNAPSHOT_VERSION || written == snapshot, "it is written in another way");
    }
}

fn apply(state: &mut State, record: &Record) {
    for request in &record.requests {
        let last = state.last();
        let stamp = Stamp {
            at: last.at.max(record.at),
            served: Served(last.served.0 + record.elapsed_ms),
            position: Position(last.position.0 + 1),
        };
        state.apply(stamp, request);
    }
}

fn kind(request: &Request) -> String {
    let told = format!("{:?}", request.command);
    told.split('(').next().unwrap_or_default().to_owned()
}

/// Writes the snapshot of the current version, from the log that stands there; and the log, if
/// there is none of the current version.
fn write_fixtures() {
    if fixture(&format!("log-v{RECORD_VERSION}.txt")).exists() {
        return write_snapshot(&replayed());
    }
    let (mut dice, mut state, mut log) = (Dice(1), State::default(), String::new());
    for number in 0..RECORDS {
        let elapsed_ms = draw::elapsed_ms(&mut dice);
        let command = draw::command(&mut dice, &state);
        let id = dice.chance(10).then(|| RequestId::parse(&format!("r{number}")).unwrap());
        let at = Timestamp(state.last().at.0 + elapsed_ms);
        let requests = [Request { id, actor: None, command }].into();
        let record = Record { version: RECORD_VERSION, at, elapsed_ms, requests };
        apply(&mut state, &record);
        log.push_str(&to_hex(&record.encode()));
        log.push('\n');
    }
    fs::create_dir_all(fixture("")).unwrap();
    fs::write(fixture(&format!("log-v{RECORD_VERSION}.txt")), log).unwrap();
    write_snapshot(&state);
}

fn write_snapshot(state: &State) {
    let snapshot = to_hex(&state.snapshot());
    fs::write(fixture(&format!("snapshot-v{SNAPSHOT_VERSION}.txt")), snapshot + "\n").unwrap();
}

fn replayed() -> State {
    let mut state = State::default();
    let log = fs::read_to_string(fixture(&format!("log-v{RECORD_VERSION}.txt"))).unwrap();
    for line in log.lines() {
        apply(&mut state, &Record::decode(&from_hex(line)).unwrap());
    }
    state
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().collect();
    let pairs = digits.chunks(2).map(|pair| pair.iter().collect::<String>());
    pairs.map(|pair| u8::from_str_radix(&pair, 16).unwrap()).collect()
}
