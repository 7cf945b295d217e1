//! Servers on a log in NATS JetStream, on NATS servers that the tests start themselves.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::failover::{Load, Member, same_state};
use crate::nats_server::Nats;
use crate::place::{PATIENCE, Place};

#[test]
fn a_drill_on_one_nats_server_keeps_every_promise_and_leaves_nothing_there() {
    let (nats, place) = (Nats::start(1, "sync_interval: always"), Place::new());
    drill(&place, &nats.url());
    let streams = nats.streams(0);
    let end = Instant::now() + PATIENCE;
    // The server takes what was removed from the disk when it has time, under a hidden name.
    loop {
        let left: Vec<_> = fs::read_dir(&streams).unwrap().flatten().collect();
        let names: Vec<_> = left.iter().map(|entry| entry.file_name()).collect();
        if names.is_empty() {
            break;
        }
        assert!(Instant::now() < end, "left there: {names:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_drill_on_three_nats_servers_keeps_every_promise() {
    let (nats, place) = (Nats::start(3, "sync_interval: always"), Place::new());
    drill(&place, &nats.url());
}

#[test]
fn every_acknowledged_job_is_there_after_servers_and_a_nats_server_are_killed_under_load() {
    let (mut nats, place) = (Nats::start(3, "sync_interval: always"), Place::new());
    let store = nats.url();
    let mut active = Member::start_on(&place, Some(&store));
    active.wait_active();
    let mut accepted = BTreeSet::new();
    for round in 0..3 {
        let standby = Member::start_on(&place, Some(&store));
        let load = Load::start(&[&standby, &active]);
        load.wait_for(50);
        active.kill();
        load.wait_for_more(1);
        nats.kill(round);
        load.wait_for_more(20);
        nats.run(round);
        load.wait_for_more(20);
        accepted.extend(load.stop());
        active = standby;
    }
    assert_eq!(active.missing(&accepted), BTreeSet::new());
    let late = Member::start_on(&place, Some(&store));
    same_state(&late, &active);
}

#[test]
fn servers_that_confirm_before_they_sync_are_refused_unless_the_loss_is_accepted() {
    let (nats, place) = (Nats::start(1, ""), Place::new());
    let said = place.run(&format!("serve --listen 127.0.0.1:0 --store {}", nats.url()));
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("accept_loss_window=true"), "{}", said.err);
    assert!(!said.err.contains("app-secret"), "{}", said.err);
    let served = place.serve(&format!("--accept-loss-window --store {}", nats.url()));
    let said = place.run(&format!("job add mail --text hello --server {}", served.url));
    assert_eq!(said.code, 0, "{}", said.err);
    let said = place.run("serve --accept-loss-window --store sqlite:here.db");
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("is for a store in NATS"), "{}", said.err);
}

fn drill(place: &Place, store: &str) {
    for number in 0..12 {
        place.file(&format!("files/{number}"), "line\n".repeat(number * 1_000));
    }
    let said = place.run(&format!("drill files --seed 3 --json --store {store}"));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert_eq!(said.document()["ok"], true);
}
