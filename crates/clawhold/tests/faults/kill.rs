//! Whoever is killed or asked to end, the others go on within their bound.

use std::time::Duration;

use crate::fault::{Fault, Target};
use crate::fleet::{Fleet, HOLD_MS, Setting, TTL_MS};
use crate::verdict;

/// How long this machine may take on top of what is promised.
const SLACK: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_killed_the_others_go_on_within_their_bound_and_nothing_is_lost() {
    let mut fleet = Fleet::start(&Setting::default()).await;
    for target in Target::ALL {
        let before = fleet.role().await.token;
        let killed = Fault::Kill(target).begin(&mut fleet).await;
        let answers = fleet.wait_for_answers(3, bound(target) + SLACK).await;
        let acts = fleet.wait_for_acts(1, bound(target) + SLACK).await;
        println!("{target:?} killed: answers go on after {answers:?}, acts after {acts:?}");
        killed.end(&mut fleet);
        let after = fleet.role().await.token;
        // A leader's death raises the token. Nobody else's costs it the role.
        assert_eq!(before < after, target == Target::Leader, "{target:?}: {before}, {after}");
    }
    verdict::close(fleet).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_asked_to_end_hands_over_and_leaves_nothing_in_doubt() {
    let mut fleet = Fleet::start(&Setting::default()).await;
    for target in [Target::ActiveServer, Target::Leader, Target::Worker(0)] {
        let asked = Fault::Terminate(target).begin(&mut fleet).await;
        let acts = fleet.wait_for_acts(1, SLACK).await;
        println!("{target:?} asked to end: acts go on after {acts:?}");
        asked.end(&mut fleet);
        fleet.wait_for_answers(3, SLACK).await;
    }
    let again = doubtful(&fleet);
    assert_eq!(again, 0, "a leader that was asked to end left {again} events in doubt");
    verdict::close(fleet).await;
}

/// Returns how many events reached the sink more than once.
fn doubtful(fleet: &Fleet) -> usize {
    let book = fleet.book();
    let mut positions: Vec<u64> = book.writes().map(|(_, position)| position).collect();
    let count = positions.len();
    positions.dedup();
    count - positions.len()
}

/// Returns what is promised for the time until the others go on.
fn bound(target: Target) -> Duration {
    match target {
        // The kernel's lock tells the standby at once; it never takes longer than the hold.
        Target::ActiveServer => Duration::from_millis(HOLD_MS),
        Target::Leader => Duration::from_millis(TTL_MS),
        Target::StandbyServer | Target::StandbyLeader | Target::Worker(_) => Duration::ZERO,
    }
}
