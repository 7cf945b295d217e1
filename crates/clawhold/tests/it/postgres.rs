//! Servers on a log in PostgreSQL, on a server that the tests start themselves.

#[path = "../../../clawhold-log/tests/it/postgres_server.rs"]
#[expect(dead_code, reason = "these tests use a part of it")]
mod postgres_server;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use self::postgres_server::Server;
use crate::failover::{HOLD, Load, Member, same_state};
use crate::place::Place;

/// Rounds of a kill, unless the environment asks for more.
const ROUNDS: usize = 4;
const ROUNDS_VARIABLE: &str = "CLAWHOLD_TEST_KILLS";

#[test]
fn every_acknowledged_job_is_there_after_active_servers_are_killed_under_load() {
    let (database, place) = (Database::start(), Place::new());
    let store = database.server.url("killed");
    let mut active = Member::start_on(&place, Some(&store));
    active.wait_active();
    let mut accepted = BTreeSet::new();
    let mut silences = Vec::new();
    for _ in 0..rounds() {
        let standby = Member::start_on(&place, Some(&store));
        let load = Load::start(&[&standby, &active]);
        load.wait_for(100);
        active.kill();
        let killed = Instant::now();
        load.wait_for_more(1);
        silences.push(killed.elapsed());
        load.wait_for_more(50);
        accepted.extend(load.stop());
        active = standby;
    }
    silences.sort();
    let worst = silences.last().unwrap();
    assert!(*worst < HOLD + Duration::from_millis(300), "silent for {silences:?}");
    assert_eq!(active.missing(&accepted), BTreeSet::new());
    let late = Member::start_on(&place, Some(&store));
    same_state(&late, &active);
}

#[test]
fn servers_live_through_the_death_of_postgresql() {
    let (mut database, place) = (Database::start(), Place::new());
    let store = database.server.url("reborn");
    let first = Member::start_on(&place, Some(&store));
    let second = Member::start_on(&place, Some(&store));
    let load = Load::start(&[&first, &second]);
    for _ in 0..3 {
        load.wait_for_more(50);
        database.server.kill();
        database.server.restart();
    }
    load.wait_for_more(50);
    let accepted = load.stop();
    assert_eq!(first.missing(&accepted), BTreeSet::new());
    same_state(&first, &second);
}

#[test]
fn commands_work_on_the_database_itself_and_beside_a_server_and_show_no_password() {
    let (database, place) = (Database::start(), Place::new());
    let store = database.server.url("alone");
    let made = place.json(&format!("store migrate --store {store}"));
    assert_eq!((&made["records"], &made["concerns"]), (&0.into(), &serde_json::json!([])));
    let said = place.run(&format!("job add mail --text hello --store {store}"));
    assert_eq!(said.code, 0, "{}", said.err);
    let member = Member::start_on(&place, Some(&store));
    member.wait_active();
    let jobs = place.json(&format!("job list --store {store}"));
    assert_eq!(jobs["items"].as_array().unwrap().len(), 1, "{jobs}");
    let status = place.json(&format!("status --server {}", member.url));
    let shown = status["server"]["store"].as_str().unwrap();
    assert!(shown.starts_with("postgres://clawhold@127.0.0.1:"), "{shown}");
    for line in [
        "log verify",
        "doctor",
        "backup x.backup",
        "restore x.backup",
        "serve --listen 127.0.0.1:0 --hold 1ms",
    ] {
        let said = place.run(&format!("{line} --store {store}"));
        assert_ne!(said.code, 0, "{line}");
        assert!(
            !format!("{}{}", said.out, said.err).contains("pass%2Fword"),
            "{line}: {}",
            said.err
        );
    }
    let wrong = store.replace("a%20pass%2Fword", "s3cret");
    let said = place.run(&format!("serve --listen 127.0.0.1:0 --store {wrong}"));
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("password authentication failed"), "{}", said.err);
    assert!(!said.err.contains("s3cret"), "{}", said.err);
}

#[test]
fn a_drill_in_a_database_keeps_every_promise_and_leaves_nothing_there() {
    let (database, place) = (Database::start(), Place::new());
    for number in 0..12 {
        place.file(&format!("files/{number}"), "line\n".repeat(number * 1_000));
    }
    let store = database.server.url("ignored");
    let said = place.run(&format!("drill files --seed 3 --json --store {store}"));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert_eq!(said.document()["ok"], true);
    let left = "SELECT count(*) FROM pg_namespace WHERE nspname ~ '^(clawhold|ignored)'";
    assert_eq!(database.server.sql(left), "0");
}

/// A database and its folder.
struct Database {
    server: Server,
    _folder: TempDir,
}

impl Database {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        Self { server: Server::start(folder.path(), ""), _folder: folder }
    }
}

fn rounds() -> usize {
    let asked = std::env::var(ROUNDS_VARIABLE).ok();
    asked.map_or(ROUNDS, |text| text.parse().unwrap())
}
