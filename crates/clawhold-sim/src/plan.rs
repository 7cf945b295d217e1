//! Draws a script from a seed: what the clients ask, and what breaks meanwhile.

use fastrand::Rng;

use crate::act::{Act, Ask, Deed, Node, Way};
use crate::rule::Rule;
use crate::script::Script;

/// Milliseconds between two asks, on the average.
const ASK_MS: u64 = 30;
/// Milliseconds before the first fault: the first server leads by then.
const QUIET_MS: u64 = 100;
const HOUR_MS: i64 = 3_600_000;
const TEN_YEARS_MS: i64 = 10 * 365 * 24 * HOUR_MS;

/// How often each thing is asked, in parts of the sum.
const ASKS: [(Ask, u32); 25] = [
    (Ask::Enqueue, 170),
    (Ask::Claim, 170),
    (Ask::Settle, 170),
    (Ask::Progress, 15),
    (Ask::Checkpoint, 25),
    (Ask::Acquire, 80),
    (Ask::Withdraw, 8),
    (Ask::Commit, 90),
    (Ask::LateCommit, 25),
    (Ask::LateSettle, 25),
    (Ask::Append, 70),
    (Ask::GiveUp, 25),
    (Ask::WishHandOver, 8),
    (Ask::MoveRole, 8),
    (Ask::Drain, 20),
    (Ask::Resume, 14),
    (Ask::Close, 12),
    (Ask::TakeBack, 8),
    (Ask::Cancel, 10),
    (Ask::Retry, 10),
    (Ask::Pause, 4),
    (Ask::Open, 12),
    (Ask::CloseGate, 6),
    (Ask::SetFix, 3),
    (Ask::Tick, 8),
];

/// Returns the script of a seed.
pub(crate) fn draw(seed: u64, commands: u64, rule: Option<Rule>) -> Script {
    let mut rng = Rng::with_seed(seed ^ 0x9e37_79b9_7f4a_7c15);
    let mut script = Script {
        seed,
        servers: rng.usize(2..=4),
        clients: rng.usize(3..=6),
        presence: rng.u8(0..3) == 0,
        hold_ms: rng.u64(6..=15) * 100,
        lease_ttl_ms: rng.u64(3..=14) * 100,
        rule,
        acts: Vec::new(),
    };
    let end_ms = QUIET_MS + commands * ASK_MS;
    for _ in 0..commands {
        let deed = ask(&mut rng, &script);
        script.acts.push(Act { at_ms: rng.u64(10..end_ms), deed });
    }
    // Some worlds are nearly quiet, some are storms.
    let pause_ms = rng.u64(60..700);
    let mut at_ms = QUIET_MS + rng.u64(0..pause_ms);
    while at_ms < end_ms {
        let deed = fault(&mut rng, &script);
        script.acts.push(Act { at_ms, deed });
        at_ms += rng.u64(1..2 * pause_ms);
    }
    script.acts.sort_by_key(|act| act.at_ms);
    script
}

fn ask(rng: &mut Rng, script: &Script) -> Deed {
    let sum: u32 = ASKS.iter().map(|(_, parts)| parts).sum();
    let mut left = rng.u32(0..sum);
    let found = ASKS.iter().find(|(_, parts)| match left.checked_sub(*parts) {
        Some(less) => {
            left = less;
            false
        }
        None => true,
    });
    let ask = found.map_or(Ask::Tick, |(ask, _)| *ask);
    Deed::Ask { client: rng.usize(0..script.clients), ask, salt: rng.u64(0..1_000_000) }
}

fn fault(rng: &mut Rng, script: &Script) -> Deed {
    let server = rng.usize(0..script.servers);
    let node = if rng.u8(0..3) == 0 {
        Node::Server(server)
    } else {
        Node::Client(rng.usize(0..script.clients))
    };
    let way = if rng.bool() { Way::Out } else { Way::In };
    match rng.u8(0..100) {
        0..14 => Deed::Lose { node, way },
        14..26 => Deed::Late { node, way, ms: rng.u64(20..2_500) },
        26..36 => Deed::Twice { node, way, ms: rng.u64(0..1_500) },
        36..45 => Deed::Cut { node: either(rng, script), way, ms: rng.u64(100..3_000) },
        45..54 => Deed::Hold { node: either(rng, script), way, ms: rng.u64(100..3_000) },
        54..66 => Deed::Freeze { node: either(rng, script), ms: rng.u64(50..4_000) },
        66..74 => Deed::Crash { node: either(rng, script), ms: rng.u64(1..2_000) },
        74..77 => power(rng),
        77..82 => Deed::Clock { server, ms: jump(rng) },
        82..88 => Deed::Slow { server, ms: rng.u64(20..2_000) },
        88..90 => Deed::Full { server },
        90..92 => Deed::Busy { server },
        92..98 => Deed::Snapshot { server },
        _ => Deed::Rot,
    }
}

fn either(rng: &mut Rng, script: &Script) -> Node {
    if rng.bool() {
        Node::Server(rng.usize(0..script.servers))
    } else {
        Node::Client(rng.usize(0..script.clients))
    }
}

fn power(rng: &mut Rng) -> Deed {
    let kept_bytes = match rng.u8(0..3) {
        0 => 0,
        1 => rng.usize(1..200),
        _ => 1_000_000,
    };
    Deed::Power { kept_bytes, ms: rng.u64(1..1_500) }
}

fn jump(rng: &mut Rng) -> i64 {
    let ms = match rng.u8(0..3) {
        0 => HOUR_MS,
        1 => TEN_YEARS_MS,
        _ => rng.i64(1..120_000),
    };
    if rng.bool() { ms } else { -ms }
}
