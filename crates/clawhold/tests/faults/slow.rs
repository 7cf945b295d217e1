//! The store is slow for twenty seconds: the record takes nothing from whoever goes on beating,
//! and callers are told the truth.

use std::time::Duration;

use crate::fault::Fault;
use crate::fleet::{Fleet, PATIENCE, ROLE, Setting};
use crate::ledger::{Fate, QUEUE};
use crate::verdict;

/// How long the store is slow.
const SLOW_FOR: Duration = Duration::from_secs(20);
/// Milliseconds that each sync takes: less than half of the hold at first, then beyond it.
const SYNCS_MS: [i64; 2] = [700, 2_400];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_slow_for_twenty_seconds_lapses_nobody_who_goes_on_beating() {
    let setting = Setting { hold_ms: 2_000, ttl_ms: 6_000, ..Setting::default() };
    let mut fleet = Fleet::start(&setting).await;
    let before = fleet.role().await.token;
    let acknowledged = fleet.ledger.acknowledged();
    for ms in SYNCS_MS {
        let slow = Fault::SlowStore(ms).begin(&mut fleet).await;
        fleet.go_on(SLOW_FOR / 2).await;
        slow.end(&mut fleet);
        let during = fleet.ledger.acknowledged() - acknowledged;
        println!("{during} calls acknowledged by the end of syncs that took {ms} ms more");
        fleet.wait_for_answers(10, PATIENCE).await;
        fleet.wait_for_acts(3, PATIENCE).await;
        if ms * 2 < i64::try_from(setting.hold_ms).unwrap() {
            assert_eq!(fleet.role().await.token, before, "at {ms} ms");
        }
    }
    // Nobody vanished. Beyond the hold a beat cannot be confirmed, and a leader gives up by its own
    // clock; but the record takes nothing from one that goes on beating.
    let history = fleet.client.role_history(ROLE).await.unwrap();
    let lost = |cause: &str| ["lapsed", "session lost"].contains(&cause);
    let taken: Vec<_> = history.items.iter().filter(|change| lost(&change.cause)).collect();
    assert!(taken.is_empty(), "{taken:?}");
    let queue = fleet.client.queue(QUEUE).await.unwrap();
    println!(
        "{} jobs came back; calls took up to {:?}",
        queue.totals.returned,
        fleet.ledger.longest()
    );
    let unknown = fleet.ledger.count(|fate| fate == Fate::Unknown);
    println!("{unknown} jobs of which callers were told that nobody knows");
    verdict::close(fleet).await;
}
