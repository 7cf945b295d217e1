//! Who believes to lead: two at once are told, a clean change of hands is not.

use std::time::Duration;

use clawhold_client::api::role::{Acquire, AcquireOutcome, HandOver, Release};
use clawhold_client::api::session::{Beat, LeadClaim, LeadOutcome, OpenSession, OpenedSession};
use rustix::process::Signal;

use super::scene::{LEADER, Process, STANDBY, Scene, TWO_LEADERS, token_of};
use crate::lead::until;
use crate::place::block_on;

const RULE: &str = "Two Active Leaders";
/// Changes of hands of each kind.
const CHANGES: usize = 7;

#[test]
fn a_frozen_leader_that_gives_up_when_it_wakes_is_no_second_leader() {
    let scene = Scene::with(&[TWO_LEADERS]);
    let frozen = Process::lead(&scene, "ana", "--ttl 1s", LEADER);
    let token = token_of(&frozen.wrote(" indexer "));
    let standby = Process::lead(&scene, "ben", "--ttl 1s --standby", STANDBY);
    scene.candidates(1);
    frozen.signal(Signal::STOP);
    assert!(token < standby.promoted().token);
    frozen.signal(Signal::CONT);
    // It is back when it stands in line again: it has been heard of since.
    scene.candidates(1);
    silent(&scene);
}

#[test]
fn a_leader_that_reports_on_under_its_old_token_is_told_with_both_tokens() {
    let scene = Scene::with(&[TWO_LEADERS]);
    let (old, token) = leader(&scene, "ana");
    let standby = Process::lead(&scene, "ben", "--ttl 1s --standby", STANDBY);
    scene.candidates(1);
    assert_eq!(beat(&scene, &old, token), LeadOutcome::Renewed);
    silent(&scene);
    // Its session lives on, and it does not heed that its lease is over.
    let promoted = standby.promoted();
    assert!(token < promoted.token);
    assert_eq!(beat(&scene, &old, token), LeadOutcome::Lost);
    let alert = until("the alert", || scene.alerts(RULE).into_iter().next());
    assert_eq!((alert.group.as_str(), alert.state.as_str()), ("indexer", "firing"));
    let facts = alert.details.join("\n");
    for fact in ["ana", "ben", &format!("token {token} "), &format!("token {} ", promoted.token)] {
        assert!(facts.contains(fact), "{fact}: {facts}");
    }
    let said = scene.paste("openclaw alert list");
    assert!(said.contains(RULE) && said.contains("indexer"), "{said}");
}

#[test]
fn more_than_twenty_clean_changes_of_hands_are_not_told() {
    let scene = Scene::with(&[TWO_LEADERS]);
    let names = ["ana", "ben"];
    let leads = names.map(|name| Process::lead(&scene, name, "--ttl 1s --standby", STANDBY));
    let mut token = 0;
    for change in 0..CHANGES * 2 {
        scene.candidates(1);
        let how = ["", " --now"][change % 2];
        scene.paste(&format!("openclaw role hand-over indexer{how}"));
        token = risen(&scene, token);
        silent(&scene);
    }
    for _ in 0..CHANGES {
        scene.candidates(1);
        scene.paste("openclaw role hand-over indexer --ask");
        token = risen(&scene, token);
        silent(&scene);
    }
    scene.candidates(1);
    // Two beats of each go by, so that whoever was overtaken last has been heard of.
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(400));
    }
    silent(&scene);
    drop(leads);
}

#[test]
fn releases_and_hand_overs_with_a_beat_on_its_way_are_not_told() {
    let scene = Scene::with(&[TWO_LEADERS]);
    let client = scene.client();
    for change in 0..CHANGES {
        let (old, token) = leader(&scene, "ana");
        let (next, _) = open(&scene, "ben");
        let acquire = acquire(&next);
        let waiting = block_on(client.acquire("indexer", &acquire)).unwrap().reply;
        assert_eq!(waiting.outcome, AcquireOutcome::Waiting);
        if change % 2 == 0 {
            let release = Release { session: old.session.clone(), token };
            block_on(client.release("indexer", &release)).unwrap();
        } else {
            let over = HandOver { session: None, token: None, to: None };
            block_on(client.hand_over("indexer", &over)).unwrap();
        }
        // The beat that was on its way when the role changed hands.
        assert_eq!(beat(&scene, &old, token), LeadOutcome::Lost);
        silent(&scene);
        let granted = block_on(client.role("indexer")).unwrap().token;
        assert!(token < granted);
        assert_eq!(beat(&scene, &next, granted), LeadOutcome::Renewed);
        let release = Release { session: next.session.clone(), token: granted };
        block_on(client.release("indexer", &release)).unwrap();
    }
    silent(&scene);
}

/// Waits until the role has a higher token, and returns it.
fn risen(scene: &Scene, before: u64) -> u64 {
    until("a higher token", || {
        let role = block_on(scene.client().role("indexer")).ok()?;
        (role.holder.is_some() && role.token > before).then_some(role.token)
    })
}

fn silent(scene: &Scene) {
    let alerts = scene.alerts(RULE);
    assert!(alerts.is_empty(), "{alerts:#?}");
}

/// Opens a session that outlives its leases.
fn open(scene: &Scene, label: &str) -> (OpenedSession, u64) {
    let open =
        OpenSession { label: label.to_owned(), ttl_ms: Some(60_000), ..OpenSession::default() };
    let opened = block_on(scene.client().open_session(&open)).unwrap().reply;
    let id = opened.id;
    (opened, id)
}

fn acquire(session: &OpenedSession) -> Acquire {
    Acquire {
        session: session.session.clone(),
        ttl_ms: Some(1_000),
        wait_ms: None,
        stand_by: true,
        stream: None,
    }
}

/// Opens a session that leads, and returns it with its token.
fn leader(scene: &Scene, label: &str) -> (OpenedSession, u64) {
    let (opened, _) = open(scene, label);
    let granted = block_on(scene.client().acquire("indexer", &acquire(&opened))).unwrap().reply;
    assert_eq!(granted.outcome, AcquireOutcome::Granted);
    (opened, granted.token)
}

/// Reports to lead under a token, and returns what becomes of the lease.
fn beat(scene: &Scene, session: &OpenedSession, token: u64) -> LeadOutcome {
    let beat = Beat {
        session: session.session.clone(),
        leads: vec![LeadClaim { role: "indexer".to_owned(), token, suspended: false }],
        holds: Vec::new(),
        consumed: Vec::new(),
    };
    block_on(scene.client().beat(&beat)).unwrap().leads[0].outcome
}
