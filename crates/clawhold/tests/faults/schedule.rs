//! Which faults strike when: drawn from a seed, so that one choice can be repeated.

use std::time::Duration;

use fastrand::Rng;
use tokio::time::{Instant, sleep};

use crate::backend::Engine;
use crate::fault::{Begun, Fault, HOLES, Target};
use crate::fleet::{Fleet, TTL_MS};

/// Milliseconds within which the faults of a round begin.
const WITHIN_MS: u64 = 4_000;
/// Milliseconds after which one that was asked to end is waited for, whatever else goes on.
const LATE_MS: u64 = 10_000;
/// Ten years, less the day for which jobs that have ended are still to be kept.
pub(crate) const TEN_YEARS_MS: i64 = (10 * 365 - 1) * 86_400_000;
/// By how much clocks are moved: an hour and ten years.
pub(crate) const WALLS_MS: [i64; 4] = [-3_600_000, 3_600_000, -TEN_YEARS_MS, TEN_YEARS_MS];

/// One fault of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strike {
    /// Milliseconds after the start of the round.
    pub(crate) at_ms: u64,
    /// Milliseconds until it is taken back.
    pub(crate) for_ms: u64,
    /// What.
    pub(crate) fault: Fault,
}

/// What was done to a fleet, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Processes that were killed.
    pub(crate) kills: u64,
    /// Processes that were asked to end.
    pub(crate) terminations: u64,
    /// Processes that stood still.
    pub(crate) pauses: u64,
    /// Processes that were cut off.
    pub(crate) cuts: u64,
    /// Times that the disk was full.
    pub(crate) full: u64,
    /// Processes of the store that were killed.
    pub(crate) store_kills: u64,
    /// Times that the store stood still.
    pub(crate) store_pauses: u64,
    /// Times that the store was slow.
    pub(crate) slow: u64,
    /// Clocks that were moved.
    pub(crate) clocks: u64,
    /// Answers that were dropped on their way.
    pub(crate) answers_dropped: u64,
}

/// Draws the faults of one round. What is done to the disk of a file is done to the processes of
/// any other engine, and to what the servers hear of them.
pub(crate) fn draw(rng: &mut Rng, engine: Engine) -> Vec<Strike> {
    let count = rng.usize(3..=5);
    let mut strikes: Vec<Strike> = (0..count).map(|_| strike(rng)).collect();
    let parts = match engine {
        Engine::Sqlite => 0,
        Engine::Postgres => 1,
        Engine::JetStream(count) => count,
    };
    if parts > 0 {
        // One at least of each round strikes the store.
        strikes[0].fault = Fault::SlowStore(0);
    }
    for strike in strikes.iter_mut().filter(|_| parts > 0) {
        let is_slow = matches!(strike.fault, Fault::SlowStore(_));
        if is_slow && rng.bool() {
            strike.fault = Fault::KillStore(rng.usize(..parts));
        } else if is_slow {
            let servers = [Target::ActiveServer, Target::StandbyServer];
            let target = rng.choice(servers).unwrap();
            strike.fault = Fault::Hole { target, law: *rng.choice(&HOLES).unwrap() };
        } else if strike.fault == Fault::FullDisk {
            strike.fault = Fault::FreezeStore;
        }
    }
    strikes.sort_by_key(|strike| strike.at_ms);
    strikes
}

fn strike(rng: &mut Rng) -> Strike {
    let at_ms = rng.u64(0..WITHIN_MS);
    let target = *rng.choice(&Target::ALL).unwrap();
    let kinds = 10;
    let (fault, for_ms) = match rng.u8(0..kinds) {
        0..=2 => (Fault::Kill(target), rng.u64(0..1_500)),
        3 => (Fault::Terminate(target), rng.u64(0..1_000)),
        4 | 5 => {
            // Below the ttl, about it, and past it.
            let percent = *rng.choice(&[40, 90, 105, 180]).unwrap();
            (Fault::Freeze { target, all: rng.bool() }, TTL_MS * percent / 100)
        }
        6 => {
            let target = *rng.choice(&Target::MEMBERS).unwrap();
            let law = *rng.choice(&HOLES).unwrap();
            (Fault::Hole { target, law }, rng.u64(500..TTL_MS * 2))
        }
        7 => (Fault::DropAnswers(rng.u64(1..4)), 1_500),
        8 if rng.bool() => (Fault::FullDisk, rng.u64(300..2_000)),
        8 => (Fault::SlowStore(rng.i64(20..500)), rng.u64(500..2_500)),
        _ => {
            let ms = *rng.choice(&WALLS_MS).unwrap();
            (Fault::MoveWall { target, ms }, rng.u64(300..2_500))
        }
    };
    Strike { at_ms, for_ms, fault }
}

/// Carries the faults out, each at its time, and takes each back after its own.
pub(crate) async fn carry_out(fleet: &mut Fleet, strikes: &[Strike]) -> Counts {
    let start = Instant::now();
    let mut counts = Counts::default();
    let mut begun: Vec<(u64, Begun)> = Vec::new();
    let mut next = strikes.iter().copied().peekable();
    while next.peek().is_some() || !begun.is_empty() {
        let now_ms = u64::try_from(start.elapsed().as_millis()).unwrap();
        while let Some(strike) = next.next_if(|strike| strike.at_ms <= now_ms) {
            counts.count(strike.fault);
            let struck = strike.fault.begin(fleet).await;
            begun.push((now_ms + strike.for_ms, struck));
        }
        let (over, on): (Vec<_>, Vec<_>) = begun.into_iter().partition(|(at_ms, struck)| {
            let is_late = at_ms + LATE_MS <= now_ms;
            *at_ms <= now_ms && (is_late || struck.is_ready(fleet))
        });
        over.into_iter().for_each(|(_, struck)| struck.end(fleet));
        begun = on;
        sleep(Duration::from_millis(5)).await;
    }
    let relays = fleet.callers.iter().flat_map(|one| &one.relays);
    counts.answers_dropped = relays.map(|relay| relay.dropped()).sum();
    counts
}

impl Counts {
    fn count(&mut self, fault: Fault) {
        *match fault {
            Fault::Kill(_) => &mut self.kills,
            Fault::Terminate(_) => &mut self.terminations,
            Fault::Freeze { .. } => &mut self.pauses,
            Fault::Hole { .. } => &mut self.cuts,
            // Counted by the relays, one for each answer.
            Fault::DropAnswers(_) => return,
            Fault::FullDisk => &mut self.full,
            Fault::KillStore(_) => &mut self.store_kills,
            Fault::FreezeStore => &mut self.store_pauses,
            Fault::SlowStore(_) => &mut self.slow,
            Fault::MoveWall { .. } => &mut self.clocks,
        } += 1;
    }

    /// Adds what was done in another round.
    pub(crate) fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.terminations += other.terminations;
        self.pauses += other.pauses;
        self.cuts += other.cuts;
        self.full += other.full;
        self.store_kills += other.store_kills;
        self.store_pauses += other.store_pauses;
        self.slow += other.slow;
        self.clocks += other.clocks;
        self.answers_dropped += other.answers_dropped;
    }
}
