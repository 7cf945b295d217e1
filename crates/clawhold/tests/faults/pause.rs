//! Whoever stands still: below its ttl nothing changes, past it others act and its own late
//! writes change nothing.

use std::time::Duration;

use crate::fault::{Fault, Target};
use crate::fleet::{Fleet, HOLD_MS, Setting, TTL_MS};
use crate::verdict;

/// How long this machine may take on top of what is promised.
const SLACK: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_stands_still_for_less_than_its_ttl_goes_on_under_its_token() {
    let mut fleet = Fleet::start(&Setting { ttl_ms: 3_000, ..Setting::default() }).await;
    let before = fleet.role().await.token;
    for all in [true, false] {
        // A beat may be a third of the ttl old, and a third of it is notice to the program.
        let frozen = Fault::Freeze { target: Target::Leader, all }.begin(&mut fleet).await;
        fleet.go_on(Duration::from_millis(500)).await;
        frozen.end(&mut fleet);
        fleet.wait_for_acts(2, SLACK).await;
        assert_eq!(fleet.role().await.token, before, "all: {all}");
    }
    verdict::close(fleet).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_stands_still_past_its_ttl_is_replaced_and_changes_nothing_when_it_wakes() {
    let mut fleet = Fleet::start(&Setting::default()).await;
    for all in [true, false] {
        let before = fleet.role().await.token;
        let frozen = Fault::Freeze { target: Target::Leader, all }.begin(&mut fleet).await;
        fleet.go_on(Duration::from_millis(TTL_MS)).await;
        fleet.wait_for_acts(1, SLACK).await;
        let after = fleet.role().await.token;
        assert!(before < after, "{before}, {after}");
        frozen.end(&mut fleet);
        // The one that woke up knows within a beat, and leads only by another grant.
        fleet.wait_for_acts(5, SLACK + SLACK).await;
        assert_eq!(fleet.role().await.token, after);
    }
    verdict::close(fleet).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_standbys_and_servers_that_stand_still_cost_nobody_else_anything() {
    let mut fleet = Fleet::start(&Setting::default()).await;
    let before = fleet.role().await.token;
    for (target, all) in [
        (Target::Worker(0), true),
        (Target::Worker(1), false),
        (Target::StandbyLeader, true),
        (Target::StandbyServer, true),
    ] {
        let frozen = Fault::Freeze { target, all }.begin(&mut fleet).await;
        fleet.go_on(Duration::from_millis(TTL_MS + 500)).await;
        fleet.wait_for_answers(3, SLACK).await;
        frozen.end(&mut fleet);
        fleet.wait_for_acts(2, SLACK).await;
        assert_eq!(fleet.role().await.token, before, "{target:?}");
    }
    verdict::close(fleet).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_active_server_that_stands_still_is_replaced_and_expires_nobody_when_it_wakes() {
    // A server that is frozen in the middle of a commit keeps the lock on the file: the role is to
    // outlive the whole pause, the time between two beats and the notice to its program.
    let setting = Setting { ttl_ms: HOLD_MS * 12, ..Setting::default() };
    let mut fleet = Fleet::start(&setting).await;
    let before = fleet.role().await.token;
    let frozen = Fault::Freeze { target: Target::ActiveServer, all: true }.begin(&mut fleet).await;
    fleet.go_on(Duration::from_millis(HOLD_MS * 3)).await;
    frozen.end(&mut fleet);
    fleet.wait_for_acts(5, SLACK + SLACK).await;
    assert_eq!(fleet.role().await.token, before);
    verdict::close(fleet).await;
}
