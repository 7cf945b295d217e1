//! A leader whose packets are lost without a word, in one direction: it gives up by its own clock,
//! and the standby leads under a higher token.

use std::time::Duration;

use crate::fault::{Fault, Target};
use crate::fleet::{Fleet, Setting, TTL_MS};
use crate::relay::{Law, Way};
use crate::verdict;

/// How long this machine may take on top of what is promised.
const SLACK: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_not_heard_gives_up_and_the_standby_acts() {
    cut_off(Law { up: Way::Lost, down: Way::Open }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_hears_nothing_stops_renewing_so_that_the_standby_acts() {
    cut_off(Law { up: Way::Open, down: Way::Lost }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_leader_sent_before_it_lost_its_lease_changes_nothing_when_it_arrives_late() {
    cut_off(Law { up: Way::Held, down: Way::Held }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_network_costs_nobody_the_role() {
    let mut fleet = Fleet::start(&Setting { ttl_ms: 3_000, ..Setting::default() }).await;
    let before = fleet.role().await.token;
    let law = Law { up: Way::Slow(100), down: Way::Slow(100) };
    let mut slow = Vec::new();
    for target in Target::MEMBERS {
        slow.push(Fault::Hole { target, law }.begin(&mut fleet).await);
    }
    fleet.go_on(Duration::from_secs(5)).await;
    slow.into_iter().for_each(|one| one.end(&mut fleet));
    fleet.wait_for_acts(1, SLACK).await;
    assert_eq!(fleet.role().await.token, before);
    verdict::close(fleet).await;
}

async fn cut_off(law: Law) {
    let mut fleet = Fleet::start(&Setting::default()).await;
    let before = fleet.role().await.token;
    let place = fleet.the_leader().await;
    let cut = Fault::Hole { target: Target::Leader, law }.begin(&mut fleet).await;
    // The lease lapses, and the successor acts: an event comes every 120 ms.
    fleet.wait_for_token(before + 1, Duration::from_millis(TTL_MS) + SLACK).await;
    let kept: u64 = fleet.leaders[place].relays.iter().map(|relay| relay.kept()).sum();
    assert!(kept > 0, "nothing was lost on the way");
    let last_of_old = fleet.book().writes().rposition(|(token, _)| token <= before);
    cut.end(&mut fleet);
    fleet.wait_for_acts(5, SLACK + SLACK).await;
    // Nothing of the one that was cut off came after the successor's fence.
    assert_eq!(fleet.book().writes().rposition(|(token, _)| token <= before), last_of_old);
    verdict::close(fleet).await;
}
