//! A store's past, its health, its backups: with real servers, real damage and real restores.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clawhold_client::Client;
use clawhold_client::api::Json;
use clawhold_client::api::role::Acquire;
use clawhold_client::api::session::OpenSession;
use clawhold_client::api::stream::Append;
use rustix::process::Signal;
use serde_json::Value;

use crate::place::{CLAWHOLD, Place, Served, block_on, said};

/// The store of a place.
const STORE: &str = ".local/state/clawhold/clawhold.db";

#[test]
fn the_log_tells_who_asked_what_when_and_what_came_of_it() {
    let place = Place::new();
    let _served = place.serve("");
    place.json("job add mail --text secret-payload");
    place.json("role set billing --ttl 5s");
    place.json("stream append orders --payload 5");
    assert_eq!(place.run("role remove nobody").code, 3);
    let page = place.json("log show");
    let entries = page["entries"].as_array().unwrap();
    let asked: Vec<&str> = entries.iter().map(|entry| entry["asked"].as_str().unwrap()).collect();
    for text in ["a server takes over, term 1", "add 1 job to mail", "set role billing"] {
        assert!(asked.contains(&text), "{text}: {asked:?}");
    }
    let add = entries.iter().find(|entry| entry["command"] == "enqueue").unwrap();
    let effects = add["effects"].as_array().unwrap();
    assert!(effects.contains(&"job 1 of mail queued".into()), "{effects:?}");
    let said = place.run("log show");
    assert!(!said.out.contains("secret-payload"), "{}", said.out);
    assert!(said.out.contains("job 1 of mail queued"), "{}", said.out);
    let from = add["position"].as_u64().unwrap();
    let page = place.json(&format!("log show --from {from} --limit 1"));
    assert_eq!(page["entries"].as_array().unwrap().len(), 1);
    assert_eq!(page["entries"][0]["position"], from);
    let beyond = place.run("log show --from 1000000");
    assert_eq!(beyond.code, 3, "{}", beyond.err);
    assert!(beyond.err.contains("the store reaches from 1 to"), "{}", beyond.err);
}

#[test]
fn the_state_at_any_past_position_is_the_one_that_a_server_had_there() {
    let place = Place::new();
    let served = place.serve("");
    let mut seen = Vec::new();
    for number in 0..5 {
        place.json(&format!("job add mail --text {number}"));
        let hash = block_on(served.client().hash()).unwrap();
        seen.push((hash.position, hash.hash));
    }
    for (position, hash) in &seen {
        assert_eq!(place.json(&format!("log state-at {position}"))["hash"], *hash.as_str());
    }
    served.signal(Signal::KILL);
    assert_eq!(served.end(), None);
    for (position, hash) in &seen {
        let state = place.json(&format!("log state-at {position}"));
        assert_eq!(state["hash"], *hash.as_str());
    }
    let later = place.run("log state-at 99999");
    assert_eq!(later.code, 3);
    assert!(later.err.contains("the store reaches from 0 to"), "{}", later.err);
}

#[test]
fn verify_compares_replays_with_snapshots_and_with_a_running_server() {
    let place = Place::new();
    let served = place.serve("");
    fill(&served, 1_100);
    served.signal(Signal::TERM);
    assert_eq!(served.end(), Some(0));
    let served = place.serve("");
    fill(&served, 20);
    let verified = place.json("log verify");
    assert_eq!(verified["server_agrees"], true, "{verified}");
    assert_eq!(verified["findings"], serde_json::json!([]));
    let snapshots = verified["snapshots"].as_array().unwrap();
    assert!(!snapshots.is_empty(), "{verified}");
    assert_eq!(snapshots[0]["replay_agrees"], true, "{verified}");
    served.signal(Signal::KILL);
    served.end();
    let verified = place.json("log verify");
    assert_eq!(verified["server_agrees"], Value::Null);
}

#[test]
fn a_backup_under_load_is_one_point_in_time_and_holds_nobody_back() {
    let place = Place::new();
    let served = place.serve("");
    fill(&served, 200);
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3).map(|_| writer(&served, &stop)).collect();
    let made: Vec<Value> = (0..3).map(|n| place.json(&format!("backup {n}.backup"))).collect();
    stop.store(true, Ordering::Relaxed);
    let acknowledged: u64 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
    assert!(acknowledged > 10, "{acknowledged} events were taken meanwhile");
    for (number, made) in made.iter().enumerate() {
        let (position, hash) = (made["position"].as_u64().unwrap(), &made["hash"]);
        assert_eq!(place.json(&format!("log state-at {position}"))["hash"], *hash);
        let store = format!("sqlite:{number}.db");
        let restored = place.json(&format!("restore {number}.backup --store {store}"));
        assert_eq!(restored["backup"]["hash"], *hash);
        let verified = place.json(&format!("log verify --store {store}"));
        assert_eq!(verified["findings"], serde_json::json!([]));
    }
}

#[test]
fn after_a_restore_nothing_that_was_given_is_given_again() {
    let place = Place::new();
    let served = place.serve("");
    let before = lead(&served, "billing");
    append(&served, 3);
    place.json("backup early.backup");
    // A time that will be lost: a later token, a job, events, all of them known outside.
    let lost_job = place.json("job add mail --text lost")["id"].as_u64().unwrap();
    let lost_event = append(&served, 4);
    let lost = lead(&served, "shipping");
    served.signal(Signal::KILL);
    served.end();
    let mut floors = Vec::new();
    // Twice from one backup: the second repeats nothing of the first either.
    for store in ["first.db", "second.db"] {
        let restored = place.json(&format!("restore early.backup --store sqlite:{store}"));
        let floor = restored["floor"].as_u64().unwrap();
        let served = place.serve(&format!("--store sqlite:{store}"));
        let status = block_on(served.client().status()).unwrap();
        assert!(status.server.position > floor, "{} {floor}", status.server.position);
        let again = lead(&served, "shipping");
        assert!(again > floor && again > lost && again > before, "{again}");
        let add = format!("job add mail --text new --server {}", served.url);
        let job = place.json(&add)["id"].as_u64().unwrap();
        assert!(job > floor && job > lost_job, "{job}");
        let told =
            place.run(&format!("stream read orders --after {lost_event} --server {}", served.url));
        assert_eq!(told.code, 4, "{}{}", told.out, told.err);
        assert!(told.err.contains("beyond the stream's end, its last event is 3"), "{}", told.err);
        assert!(append(&served, 1) > floor);
        let read = place.json(&format!("stream read orders --after 3 --server {}", served.url));
        assert_eq!(read["events"].as_array().unwrap().len(), 1, "{read}");
        served.signal(Signal::TERM);
        assert_eq!(served.end(), Some(0));
        floors.push(floor);
    }
    assert!(floors[1] > floors[0], "{floors:?}");
}

#[test]
fn a_restore_takes_only_a_whole_backup_and_only_an_empty_place() {
    let place = Place::new();
    place.json("job add mail --text one");
    place.json("backup good.backup");
    let whole = fs::read(place.path().join("good.backup")).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 4;
    let mut newer = whole.clone();
    newer[16] = 9;
    for (name, bytes, text) in [
        ("cut", &whole[..whole.len() - 1], "cut off after byte"),
        ("half", &whole[..whole.len() / 2], "cut off after byte"),
        ("damaged", &damaged[..], "is damaged at byte"),
        ("newer", &newer[..], "has version 9, this program reads up to 1"),
        ("foreign", b"SQLite format 3\0", "is no backup of this program"),
        ("empty", b"", "is no backup of this program"),
    ] {
        place.file(name, bytes);
        let said = place.run(&format!("restore {name} --store sqlite:new.db"));
        assert_eq!(said.code, 1, "{name}: {}{}", said.out, said.err);
        assert!(said.err.contains(text), "{name}: {}", said.err);
        assert!(said.err.contains("next: "), "{name}: {}", said.err);
        let left = fs::read_dir(place.path()).unwrap().map(|found| found.unwrap().file_name());
        let left: Vec<_> = left.filter(|file| file.to_str().unwrap().contains("new.db")).collect();
        assert!(left.is_empty(), "{name}: {left:?}");
    }
    for suffix in ["", "-wal", "-shm"] {
        let stands = place.file(&format!("there.db{suffix}"), "precious");
        let said = place.run("restore good.backup --store sqlite:there.db");
        assert_eq!(said.code, 4, "{}", said.err);
        assert!(said.err.contains("is there already, and a restore writes over nothing"));
        assert_eq!(fs::read(&stands).unwrap(), b"precious");
        fs::remove_file(stands).unwrap();
    }
    let said = place.run("backup good.backup");
    assert_eq!(said.code, 4, "{}", said.err);
    assert_eq!(fs::read(place.path().join("good.backup")).unwrap(), whole);
}

#[test]
fn a_command_that_only_reads_makes_no_store_where_none_is() {
    let place = Place::new();
    for line in ["job list", "status", "role show billing", "log show", "log verify", "export"] {
        let said = place.run(&format!("{line} --store sqlite:nowhere/typo.db"));
        assert!(matches!(said.code, 1 | 3), "{line}: {} {}", said.code, said.err);
        assert!(said.err.contains("check"), "{line}: {}", said.err);
        assert!(!place.path().join("nowhere").exists(), "{line}");
    }
    assert_eq!(place.run("job add mail --text a --store sqlite:nowhere/typo.db").code, 0);
    assert_eq!(place.run("job list --store sqlite:nowhere/typo.db").code, 0);
}

#[test]
fn a_damaged_record_stops_the_server_with_what_to_do_and_the_rest_can_be_saved() {
    let place = Place::new();
    for number in 0..4 {
        place.json(&format!("job add mail --text job-{number}"));
    }
    let page = place.json("log show --limit 1000");
    let third = page["entries"].as_array().unwrap();
    let third = third.iter().filter(|entry| entry["command"] == "enqueue").nth(2).unwrap();
    let record = third["record"].as_u64().unwrap();
    flip(&place, "job-2");
    let mut server = place.command(CLAWHOLD);
    server.args(["serve", "--listen", "127.0.0.1:0"]);
    let said = said(server, b"");
    assert_eq!(said.code, 1, "{}", said.err);
    let text = format!("record {record} is damaged");
    assert!(said.err.contains(&text), "{}", said.err);
    assert!(said.err.contains("clawhold doctor"), "{}", said.err);
    assert!(!said.err.contains("panicked"), "{}", said.err);

    let said = place.run("doctor --json");
    assert_eq!(said.code, 1);
    let found = &said.document()["findings"][0];
    assert_eq!(found["kind"], "damaged_record");
    assert!(found["text"].as_str().unwrap().contains(&text), "{found}");
    assert_eq!(place.run("log verify").code, 1);
    assert_eq!(place.run("backup whole.backup").code, 1);
    assert!(!place.path().join("whole.backup").exists());

    let said = place.run("backup saved.backup --salvage --json");
    assert_eq!(said.code, 1, "{}", said.err);
    assert_eq!(said.document()["lost"]["first_record"], record);
    place.json("restore saved.backup --store sqlite:saved.db");
    let jobs = place.json("job list --store sqlite:saved.db");
    assert_eq!(jobs["items"].as_array().unwrap().len(), 2, "{jobs}");
}

#[test]
fn the_doctor_names_what_is_wrong_and_is_content_with_a_sound_store() {
    let place = Place::new();
    place.json("job add mail --text a");
    let said = place.run("doctor");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("nothing is wrong"), "{}", said.out);

    place.file("notes.db", "an operator's notes, longer than a database's header ".repeat(9));
    place.file("empty.db", "");
    fs::create_dir(place.path().join("folder.db")).unwrap();
    let store = fs::read(place.path().join(STORE)).unwrap();
    let mut newer = store.clone();
    newer[63] = 2;
    place.file("newer.db", newer);
    let mut foreign = store.clone();
    foreign[68..72].copy_from_slice(b"ELSE");
    place.file("foreign.db", foreign);
    place.file("cut.db", &store[..store.len() / 2]);
    place.file("gone.db-wal", [1; 100]);
    for (name, kind) in [
        ("missing.db", "missing"),
        ("notes.db", "foreign"),
        ("empty.db", "missing"),
        ("folder.db", "directory"),
        ("newer.db", "newer"),
        ("foreign.db", "foreign"),
        ("cut.db", "damaged"),
        ("gone.db", "orphaned"),
    ] {
        let said = place.run(&format!("doctor --json --store sqlite:{name}"));
        assert_eq!(said.code, 1, "{name}: {}{}", said.out, said.err);
        let found = said.document();
        let kinds = found["findings"].as_array().unwrap().iter();
        let kinds: Vec<&str> = kinds.map(|one| one["kind"].as_str().unwrap()).collect();
        assert!(kinds.contains(&kind), "{name}: {found}");
    }
}

#[test]
fn a_store_whose_confirmed_end_is_gone_is_refused_and_salvaged() {
    let place = Place::new();
    let served = place.serve("");
    fill(&served, 20);
    served.signal(Signal::KILL);
    served.end();
    // The write-ahead file is lost, as when a store is copied without it.
    let store = place.path().join(STORE);
    let wal = PathBuf::from(format!("{}-wal", store.display()));
    let bytes = fs::read(&wal).unwrap();
    fs::write(&wal, &bytes[..bytes.len() / 2]).unwrap();
    let said = place.run("job add mail --text more");
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("was confirmed: its -wal file was lost or cut"), "{}", said.err);
    let found = place.run("doctor --json").document();
    assert_eq!(found["findings"][0]["kind"], "confirmed_lost", "{found}");
    let said = place.run("backup saved.backup --salvage --json");
    assert_eq!(said.code, 1);
    assert!(said.document()["lost"]["last_record"].as_u64().is_some());
    place.json("restore saved.backup --store sqlite:saved.db");
    assert_eq!(place.run("job add mail --text more --store sqlite:saved.db").code, 0);
}

#[test]
fn a_silent_server_is_named_by_the_doctor() {
    let place = Place::new();
    let served = place.serve("");
    served.signal(Signal::STOP);
    let said = place.run("doctor --json");
    served.signal(Signal::CONT);
    assert_eq!(said.code, 1, "{}", said.out);
    assert_eq!(said.document()["findings"][0]["kind"], "server_silent");
}

#[test]
fn a_store_and_a_backup_of_the_first_version_stay_readable() {
    let place = Place::new();
    let fixture = |name| fs::read(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR")));
    place.file("old.db", fixture("store-v1.db").unwrap());
    place.file("old.backup", fixture("backup-v1.backup").unwrap());
    place.json("restore old.backup --store sqlite:restored.db");
    for store in ["old.db", "restored.db"] {
        let verified = place.json(&format!("log verify --store sqlite:{store}"));
        assert_eq!(verified["findings"], serde_json::json!([]), "{store}");
        let state = place.json(&format!("log state-at 15 --store sqlite:{store}"));
        assert_eq!((&state["jobs"]["queued"], &state["streams"]["orders"]), (&3.into(), &2.into()));
        let jobs = place.json(&format!("job list --store sqlite:{store}"));
        assert_eq!(jobs["items"].as_array().unwrap().len(), 3, "{store}");
        place.json(&format!("job add mail --text more --store sqlite:{store}"));
    }
}

/// Appends events one by one, each a record of its own or nearly.
fn fill(served: &Served, count: usize) {
    let client = served.client();
    block_on(async {
        for number in 0..count {
            let events = [serde_json::json!({ "n": number })];
            append_to(&client, &events).await;
        }
    });
}

/// Appends events and returns the number of the last one.
fn append(served: &Served, count: usize) -> u64 {
    let events = vec![serde_json::json!({ "n": 1 }); count];
    block_on(append_to(&served.client(), &events))
}

/// Takes a role and returns its token.
fn lead(served: &Served, role: &str) -> u64 {
    let client = served.client();
    block_on(async {
        let open = OpenSession { label: "ana".to_owned(), ..OpenSession::default() };
        let session = client.open_session(&open).await.unwrap().reply.session;
        let (ttl_ms, wait_ms, stream) = (None, Some(0), None);
        let acquire = Acquire { session, ttl_ms, wait_ms, stand_by: false, stream };
        client.acquire(role, &acquire).await.unwrap().reply.token
    })
}

async fn append_to(client: &Client, events: &[Value]) -> u64 {
    let events = events.iter().map(|event| Json::parse(event.to_string()).unwrap()).collect();
    let append = Append { events, expected: None };
    client.append("orders", &append).await.unwrap().reply.last
}

fn writer(served: &Served, stop: &Arc<AtomicBool>) -> thread::JoinHandle<u64> {
    let (client, stop) = (served.client(), Arc::clone(stop));
    thread::spawn(move || {
        let mut taken = 0;
        while !stop.load(Ordering::Relaxed) {
            let events = [serde_json::json!({ "n": taken })];
            block_on(append_to(&client, &events));
            taken += 1;
        }
        taken
    })
}

/// Flips a bit of a payload where it lies in the store's file.
fn flip(place: &Place, payload: &str) {
    let path = place.path().join(STORE);
    let mut bytes = fs::read(&path).unwrap();
    let found = bytes.windows(payload.len()).position(|window| window == payload.as_bytes());
    bytes[found.expect("the payload lies in the file")] ^= 1;
    fs::write(path, bytes).unwrap();
}
