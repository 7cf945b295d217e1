//! What happens between the servers and a store that is not a file: it dies, stands still, or is
//! not heard, and whoever led meanwhile neither writes nor renews past its time.

use std::time::Duration;

use crate::backend::Engine;
use crate::fault::{Fault, Target};
use crate::fleet::{Fleet, HOLD_MS, PATIENCE, Setting};
use crate::relay::{Law, Way};
use crate::verdict;

/// Rounds in which the active server stands still, unless the environment asks for more.
const PAUSES: u64 = 1;
/// How long the store stands still, in seconds, unless the environment asks for more.
const FROZEN_S: u64 = 4;

macro_rules! on_each_engine {
    ($($trial:ident)*) => {
        mod postgresql {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $trial() {
                super::$trial(super::Engine::Postgres).await;
            }
        )*}
        mod one_nats_server {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $trial() {
                super::$trial(super::Engine::JetStream(1)).await;
            }
        )*}
        mod three_nats_servers {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $trial() {
                super::$trial(super::Engine::JetStream(3)).await;
            }
        )*}
    };
}

on_each_engine! {
    a_store_that_dies_loses_nothing
    a_store_that_stands_still_loses_nothing_and_all_go_on_when_it_wakes
    an_active_server_that_stood_still_neither_writes_nor_renews_when_it_wakes
    connections_that_break_between_a_commit_and_its_answer_double_nothing
    an_active_server_that_its_store_does_not_hear_or_that_hears_nothing_is_replaced
}

/// Each part of the store dies in turn, the one that leads it among them.
async fn a_store_that_dies_loses_nothing(engine: Engine) {
    let mut fleet = start(engine).await;
    let parts = if let Engine::JetStream(count) = engine { count } else { 1 };
    for part in 0..parts {
        let dead = Fault::KillStore(part).begin(&mut fleet).await;
        fleet.go_on(Duration::from_millis(300)).await;
        dead.end(&mut fleet);
        let answers = fleet.wait_for_answers(5, PATIENCE).await;
        let acts = fleet.wait_for_acts(1, PATIENCE).await;
        println!("part {part}: answers go on after {answers:?}, acts after {acts:?}");
    }
    verdict::close(fleet).await;
}

async fn a_store_that_stands_still_loses_nothing_and_all_go_on_when_it_wakes(engine: Engine) {
    let mut fleet = start(engine).await;
    let seconds = number("CLAWHOLD_FAULT_FROZEN_S").unwrap_or(FROZEN_S);
    let frozen = Fault::FreezeStore.begin(&mut fleet).await;
    fleet.go_on(Duration::from_secs(seconds)).await;
    frozen.end(&mut fleet);
    let answers = fleet.wait_for_answers(5, PATIENCE).await;
    let acts = fleet.wait_for_acts(1, PATIENCE).await;
    println!("answers go on after {answers:?}, acts after {acts:?}");
    verdict::close(fleet).await;
}

/// What it wrote meanwhile would be in doubt for the verdict: a job without a claim, a token that
/// does not rise, servers that differ.
async fn an_active_server_that_stood_still_neither_writes_nor_renews_when_it_wakes(engine: Engine) {
    let mut fleet = start(engine).await;
    let seconds = number("CLAWHOLD_FAULT_PAUSE_S").unwrap_or(HOLD_MS * 3 / 1_000);
    for round in 0..number("CLAWHOLD_FAULT_PAUSES").unwrap_or(PAUSES) {
        let active = fleet.the_active().await;
        let target = Target::ActiveServer;
        let frozen = Fault::Freeze { target, all: true }.begin(&mut fleet).await;
        let answers = fleet.wait_for_answers(5, PATIENCE).await;
        println!("round {round}: answers go on after {answers:?}");
        fleet.go_on(Duration::from_secs(seconds)).await;
        let led = fleet.the_active().await;
        assert_ne!(led, active, "the other one leads while this one stands still");
        let before = fleet.servers[led].client.hash().await.unwrap().position;
        frozen.end(&mut fleet);
        fleet.wait_for_answers(20, PATIENCE).await;
        assert_eq!(fleet.the_active().await, led, "the one that woke up leads nobody");
        assert!(before < fleet.servers[led].client.hash().await.unwrap().position);
    }
    verdict::close(fleet).await;
}

async fn connections_that_break_between_a_commit_and_its_answer_double_nothing(engine: Engine) {
    let mut fleet = start(engine).await;
    for _ in 0..5 {
        let active = fleet.the_active().await;
        let law = Law { up: Way::Open, down: Way::Lost };
        let target = Target::ActiveServer;
        let lost = Fault::Hole { target, law }.begin(&mut fleet).await;
        fleet.go_on(Duration::from_millis(100)).await;
        lost.end(&mut fleet);
        let relays = fleet.backend.relays(active);
        assert!(relays.iter().any(|relay| relay.kept() > 0), "no answer was lost");
        relays.iter().for_each(|relay| relay.cut());
        fleet.wait_for_answers(5, PATIENCE).await;
    }
    verdict::close(fleet).await;
}

async fn an_active_server_that_its_store_does_not_hear_or_that_hears_nothing_is_replaced(
    engine: Engine,
) {
    let mut fleet = start(engine).await;
    for law in [Law { up: Way::Lost, down: Way::Open }, Law { up: Way::Open, down: Way::Lost }] {
        let active = fleet.the_active().await;
        let cut = Fault::Hole { target: Target::ActiveServer, law }.begin(&mut fleet).await;
        let answers = fleet.wait_for_answers(5, PATIENCE).await;
        println!("{law:?}: answers go on after {answers:?}");
        assert_ne!(fleet.the_active().await, active, "{law:?}");
        cut.end(&mut fleet);
        fleet.wait_for_answers(5, PATIENCE).await;
    }
    verdict::close(fleet).await;
}

async fn start(engine: Engine) -> Fleet {
    Fleet::start(&Setting { engine, ..Setting::default() }).await
}

/// Returns the number in an environment variable, if it is set.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}
