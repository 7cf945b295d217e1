//! Rounds of faults drawn from a seed: whatever strikes whom, nothing is lost and nothing doubled.

use std::env;

use fastrand::Rng;

use crate::backend::Engine;
use crate::fleet::{Fleet, Setting};
use crate::schedule::{self, Counts};
use crate::verdict::{self, Verdict};

/// Rounds when nothing is said.
const ROUNDS: u64 = 10;
/// Rounds on each of the other engines.
const ENGINE_ROUNDS: u64 = 2;
/// The seed of the first round when nothing is said.
const SEED: u64 = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_strikes_whom_nothing_is_lost_doubled_or_written_by_an_overtaken_leader() {
    draw(Engine::Sqlite, ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_on_postgresql_either() {
    draw(Engine::Postgres, ENGINE_ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_on_one_nats_server_either() {
    draw(Engine::JetStream(1), ENGINE_ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_on_three_nats_servers_either() {
    draw(Engine::JetStream(3), ENGINE_ROUNDS).await;
}

/// Carries out so many rounds on an engine, unless the environment asks for more.
async fn draw(engine: Engine, rounds: u64) {
    let rounds = number("CLAWHOLD_FAULT_ROUNDS").unwrap_or(rounds);
    let first = number("CLAWHOLD_FAULT_SEED").unwrap_or(SEED);
    let (mut counts, mut all) = (Counts::default(), Verdict::default());
    for seed in first..first + rounds {
        let strikes = schedule::draw(&mut Rng::with_seed(seed), engine);
        println!("seed {seed}:");
        strikes.iter().for_each(|strike| println!("    {strike:?}"));
        let setting = Setting { seed, engine, ..Setting::default() };
        let mut fleet = Fleet::start(&setting).await;
        counts.add(schedule::carry_out(&mut fleet, &strikes).await);
        let verdict = verdict::examine(&mut fleet).await;
        assert!(verdict.is_clean(), "seed {seed}: {}", fleet.story(&format!("{verdict:#?}")));
        all.add(verdict);
    }
    println!("{engine:?}: {rounds} rounds from seed {first}: {counts:?}");
    println!(
        "{} calls acknowledged, {} jobs refused, {} unknown; {} jobs, {} runs, {} grants, {} stale \
         writes refused; lost {}, doubled {}, stale accepted {}",
        all.acknowledged,
        all.refused,
        all.unknown,
        all.jobs,
        all.runs,
        all.grants,
        all.stale_refused,
        all.lost.len(),
        all.doubled.len(),
        all.stale.len()
    );
    assert_eq!((all.lost.len(), all.doubled.len(), all.stale.len()), (0, 0, 0));
    assert!(all.acknowledged >= rounds * 20, "too few calls: {}", all.acknowledged);
}

/// Returns the number in an environment variable, if it is set.
fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is {text:?}, which is no number")))
}
