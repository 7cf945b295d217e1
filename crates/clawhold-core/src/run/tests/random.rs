//! Random histories of roles, workers and jobs under fixes: no limit is ever exceeded.

use super::*;
use crate::command::{Believed, CloseSession, Release, ResumeWorker, Showed};

/// Commands of one history.
const COMMANDS: u64 = 300;
/// Histories.
const SEEDS: u64 = 6;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[test]
fn no_history_exceeds_a_limit_or_breaks_a_promise() {
    let mut started = 0;
    for seed in 1..=SEEDS {
        started += play(seed);
    }
    assert!(started > 20, "only {started} runs of fixes started");
}

fn limit(count: u32) -> MaxRuns {
    MaxRuns { count, per_ms: HOUR, per_target: false }
}

fn play(seed: u64) -> usize {
    let (mut dice, mut world) = (Dice(seed), World::new());
    let cooldown = Cooldown { ms: 2 * MINUTE, per_rule: false };
    let promote = AutoFix { max_runs: [limit(4)].into(), cooldown, ..promote_standby() };
    world.define("Promote", Spec::AutoFix(promote));
    world.define("Return", Spec::AutoFix(AutoFix { max_runs: [limit(5)].into(), ..return_held() }));
    let stop = fix("worker.held_jobs > 2", plan([Operation::StopWorker { worker: Subject::Run }]));
    let approval = Approval::Ask { count: 1, group: None };
    world.define("Stop", Spec::AutoFix(AutoFix { approval, max_runs: [limit(2)].into(), ..stop }));
    world.define(
        "Look",
        runbook([
            Operation::Confirm,
            Operation::Check(Check::OneOwner { queue: Subject::Named(Text::cut("mail")) }),
        ]),
    );
    world.enqueue("mail", 1);
    let mut sessions: Vec<SessionKey> = Vec::new();
    let mut starts: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for _ in 0..COMMANDS {
        act(&mut dice, &mut world, &mut sessions);
        let position = world.state.last().position;
        for (title, max) in [("Promote", 4), ("Return", 5), ("Stop", 2)] {
            let of_fix = world.runs().into_iter().filter(|run| run.title.as_str() == title);
            let begun = of_fix.filter(|run| run.started.is_some_and(|at| at.position == position));
            let count = begun.count();
            let known = starts.entry(title).or_default();
            known.extend(core::iter::repeat_n(world.now, count));
            let within = known.iter().filter(|at| **at + HOUR > world.now).count();
            assert!(within <= max, "seed {seed}: {title} started {within} times within an hour");
        }
    }
    starts.values().map(Vec::len).sum()
}

fn act(dice: &mut Dice, world: &mut World, sessions: &mut Vec<SessionKey>) {
    let at = usize::try_from(dice.below(sessions.len().max(1) as u64)).unwrap();
    let session = sessions.get(at).copied();
    let role = if dice.below(2) == 0 { "billing" } else { "search" };
    world.now += dice.below(20_000);
    // What is refused changes nothing; the invariants are checked either way.
    let command = match (dice.below(16), session) {
        (0 | 1, _) | (_, None) => {
            let queues: &[&str] = if dice.below(2) == 0 { &["mail"] } else { &[] };
            sessions.push(world.session("s", queues, 60_000));
            return;
        }
        (2..=4, Some(session)) => {
            let _ = world.acquire_or_not(role, session);
            return;
        }
        (5, Some(session)) => {
            let token = world.state.roles().floor(&name(role)).unwrap_or_default();
            Command::Release(Release { role: name(role), session, token })
        }
        (6, _) if world.holder(role).is_some() => return world.lapse(role),
        (7, _) => return world.enqueue("mail", 3),
        (8 | 9, Some(session)) => {
            let wanted = Wanted { queues: [name("mail")].into(), count_max: 3 };
            Command::Claim(Claim { session, wanted })
        }
        (10, Some(session)) => {
            let drain =
                DrainWorker { session: session.id, deadline_ms: 60_000, reason: Text::default() };
            Command::DrainWorker(drain)
        }
        (11, Some(session)) => Command::ResumeWorker(ResumeWorker { session: session.id }),
        (12, Some(session)) if dice.below(3) == 0 => {
            sessions.retain(|one| one.id != session.id);
            Command::CloseSession(CloseSession { session })
        }
        (13, Some(session)) => {
            let token = Token(dice.below(50));
            let believed =
                Believed { session: session.id, role: name(role), token, showed: Showed::Report };
            Command::Automate(Box::new(Automate::Believed(believed)))
        }
        _ => Command::Automate(Box::new(automation(dice, world))),
    };
    let _ = world.ask(command);
}

fn automation(dice: &mut Dice, world: &World) -> Automate {
    let live: Vec<RunId> = world.state.automation().runs().live().map(|run| run.id).collect();
    let run =
        usize::try_from(dice.below(live.len().max(1) as u64)).ok().and_then(|at| live.get(at));
    let run = run.copied().unwrap_or_default();
    let reason = Text::default();
    match dice.below(7) {
        0 => Automate::StartRun(start(Noun::Runbook, "Look", &[])),
        1 | 2 => {
            Automate::Decide(Decide { run, agrees: dice.below(3) > 0, reason, plan_hash: None })
        }
        3 => Automate::CancelRun(CancelRun { run, reason }),
        4 => Automate::PauseAutomation(PauseAutomation { for_ms: Some(MINUTE), reason }),
        5 => Automate::UnpauseAutomation,
        _ => {
            let seen = Seen::Owners { jobs: 1, mismatches: Vec::new(), unheard: 0 };
            Automate::Witness(Witness { run, step: 1, seen })
        }
    }
}
