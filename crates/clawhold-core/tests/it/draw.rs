//! Commands drawn from a seed: mostly ones that make sense at this moment, some that do not.

use clawhold_core::State;
use clawhold_core::answer::JobState;
use clawhold_core::command::{
    Acquire, Append, AskHandOver, CancelJobs, Checkpoint, Claim, CloseGate, CloseSession, Command,
    Commit, DrainWorker, Due, Enqueue, ExpireRole, ExpireSession, HandOver, Heard, NewJob,
    NewPosition, OpenGate, OpenSession, PauseQueue, Progress, Release, RemoveQueue, RemoveRole,
    RemoveStream, ResumeQueue, ResumeWorker, RetryJobs, RetryRule, ReturnCause, RunOutcome,
    SessionKey, SetQueue, SetRole, SetStream, Settle, Settlement, Standing, Standings, Successor,
    TakeBack, TakeBackJob, TakeOver, Wanted, Withdraw,
};
use clawhold_core::job::{Filter, Job};
use clawhold_core::limits;
use clawhold_core::units::{
    Bytes, ClaimNumber, Epoch, EventNumber, JobId, Key, Name, SessionId, Text, Timestamp, Token,
};

const QUEUES: [&str; 3] = ["mail", "bills", "scans"];
const ROLES: [&str; 2] = ["billing", "sweeper"];
const STREAMS: [&str; 2] = ["orders", "clicks"];
const SESSIONS_MAX: usize = 7;
const LIVE_MAX: u64 = 40;

/// A stream of numbers, the same for the same seed (splitmix64).
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws a number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    /// Says yes in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let at = self.below(items.len() as u64);
        items.get(usize::try_from(at).unwrap())
    }

    fn maybe<T>(&mut self, percent: u64, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.chance(percent).then(|| draw(self))
    }

    fn count(&mut self, end: u32) -> u32 {
        u32::try_from(self.below(u64::from(end))).unwrap()
    }

    fn name(&mut self, names: &[&str]) -> Name {
        Name::parse(self.pick(names).unwrap()).unwrap()
    }

    fn bytes(&mut self) -> Bytes {
        Bytes::from(format!("b{}", self.below(4)).as_str())
    }

    fn key(&mut self) -> Key {
        Key::parse(&format!("k{}", self.below(3))).unwrap()
    }
}

/// Draws how many milliseconds pass before the next entry.
pub(crate) fn elapsed_ms(dice: &mut Dice) -> u64 {
    match dice.below(2_000) {
        0 => limits::REQUEST_MS + 1,
        1..=10 => 40_000,
        11..=50 => 6_000,
        51..=300 => dice.below(500),
        _ => dice.below(20),
    }
}

/// Draws the next command.
pub(crate) fn command(dice: &mut Dice, state: &State) -> Command {
    match dice.below(100) {
        0..=39 => job_command(dice, state),
        40..=52 => enqueue(dice, state),
        53..=62 => operator_command(dice, state),
        63..=76 => session_command(dice, state),
        77..=89 => role_command(dice, state),
        90..=97 => stream_command(dice, state),
        _ => server_command(dice, state),
    }
}

fn server_command(dice: &mut Dice, state: &State) -> Command {
    match dice.below(4) {
        0 => Command::TakeOver(TakeOver {
            present: dice.below(2) == 0,
            former_gone: dice.below(2) == 0,
            epoch: Epoch(state.epoch().0 + dice.below(3)),
            advertise: Text::default(),
            hold_ms: 3_000,
            nonce: dice.below(1_000),
        }),
        1 => Command::StepDown,
        _ => Command::Tick,
    }
}

fn session_command(dice: &mut Dice, state: &State) -> Command {
    let live = state.sessions().list(None).count();
    if live < 2 || (live < SESSIONS_MAX && dice.chance(40)) {
        return open_session(dice);
    }
    let id = session_id(dice, state);
    match dice.below(10) {
        0 => Command::CloseSession(CloseSession { session: session_key(dice, state) }),
        1 | 2 => Command::ExpireSession(ExpireSession { session: lapsed(state).unwrap_or(id) }),
        3 | 4 => Command::Heard(Heard { sessions: vec![id, session_id(dice, state)] }),
        5 | 6 => Command::DrainWorker(DrainWorker {
            session: id,
            deadline_ms: dice.below(400),
            reason: Text::default(),
        }),
        _ => Command::ResumeWorker(ResumeWorker { session: id }),
    }
}

fn open_session(dice: &mut Dice) -> Command {
    let queues = QUEUES.iter().filter(|_| dice.chance(60)).collect::<Vec<_>>();
    let queues: Vec<Name> = queues.into_iter().map(|queue| Name::parse(queue).unwrap()).collect();
    Command::OpenSession(OpenSession {
        secret: dice.below(3),
        label: dice.name(&["ana", "ben", "cat"]),
        ttl_ms: 200 + dice.below(3_000),
        slots: if queues.is_empty() { 0 } else { 1 + dice.count(5) },
        queues,
        agent: None,
        place: Text::default(),
    })
}

fn lapsed(state: &State) -> Option<SessionId> {
    state.sessions().list(None).find(|one| one.lapses <= state.last().served).map(|one| one.id)
}

fn session_id(dice: &mut Dice, state: &State) -> SessionId {
    let live: Vec<SessionId> = state.sessions().list(None).map(|session| session.id).collect();
    dice.pick(&live).copied().filter(|_| dice.chance(97)).unwrap_or(SessionId(3))
}

fn session_key(dice: &mut Dice, state: &State) -> SessionKey {
    let id = session_id(dice, state);
    let secret = state.sessions().live(id).map_or(0, |session| session.secret);
    SessionKey { id, secret: if dice.chance(99) { secret } else { secret + 1 } }
}

fn job_command(dice: &mut Dice, state: &State) -> Command {
    let session = session_key(dice, state);
    match dice.below(10) {
        0..=4 => Command::Claim(Claim { session, wanted: wanted(dice) }),
        5..=7 => settle(dice, state, session),
        8 => {
            let (session, job, claim) = held(dice, state, session);
            let percent = dice.maybe(50, |dice| u8::try_from(dice.below(120)).unwrap());
            Command::Progress(Progress { session, job, claim, percent, note: Text::default() })
        }
        _ => {
            let (session, job, claim) = held(dice, state, session);
            let (number, bytes) = (dice.below(5), dice.bytes());
            Command::Checkpoint(Checkpoint { session, job, claim, number, bytes })
        }
    }
}

fn wanted(dice: &mut Dice) -> Wanted {
    let mut queues = vec![dice.name(&QUEUES)];
    while dice.chance(50) && queues.len() < 4 {
        queues.push(dice.name(&QUEUES));
    }
    Wanted { queues, count_max: 1 + dice.count(4) }
}

/// Draws a running job with its holder and claim, or nearly so.
fn held(dice: &mut Dice, state: &State, asker: SessionKey) -> (SessionKey, JobId, ClaimNumber) {
    let filter = Filter { queue: None, state: Some(JobState::Running) };
    let running = state.jobs().list(filter, None, 1_000);
    let Some(job) = dice.pick(&running) else { return (asker, JobId(1), ClaimNumber(1)) };
    let holder = job.holder().and_then(|holder| state.sessions().live(holder));
    let holder = holder.map_or(asker, |one| SessionKey { id: one.id, secret: one.secret });
    let claim = if dice.chance(95) { job.claim } else { ClaimNumber(job.claim.0.wrapping_sub(1)) };
    (if dice.chance(95) { holder } else { asker }, job.id, claim)
}

fn settle(dice: &mut Dice, state: &State, asker: SessionKey) -> Command {
    let (session, job, claim) = held(dice, state, asker);
    let mut settlements = vec![Settlement { job, claim, outcome: outcome(dice) }];
    for job in state.jobs().held(session.id).filter(|_| dice.chance(30)).collect::<Vec<_>>() {
        settlements.push(Settlement { job: job.id, claim: job.claim, outcome: outcome(dice) });
    }
    Command::Settle(Settle { session, settlements, next: dice.maybe(50, wanted) })
}

fn outcome(dice: &mut Dice) -> RunOutcome {
    let text = Text::default();
    match dice.below(10) {
        0..=3 => RunOutcome::Completed { result: dice.bytes() },
        4 | 5 => RunOutcome::Failed {
            error: text,
            retry_after_ms: dice.maybe(50, |dice| dice.below(200)),
        },
        6 => RunOutcome::Dead { error: text },
        7 | 8 => RunOutcome::HandedBack { checkpoint: dice.maybe(50, Dice::bytes), reason: text },
        _ => RunOutcome::Snoozed { for_ms: dice.below(200), checkpoint: None },
    }
}

fn enqueue(dice: &mut Dice, state: &State) -> Command {
    let count = if state.jobs().live() < LIVE_MAX { dice.below(4) } else { 0 };
    Command::Enqueue(Enqueue { jobs: (0..count).map(|_| new_job(dice, state)).collect() })
}

fn new_job(dice: &mut Dice, state: &State) -> NewJob {
    NewJob {
        queue: dice.name(&QUEUES),
        payload: dice.bytes(),
        priority: i8::try_from(dice.below(3)).unwrap() - 1,
        due: match dice.below(6) {
            0 => Due::After(dice.below(300)),
            1 => Due::At(Timestamp(state.last().at.0 + dice.below(300))),
            _ => Due::Now,
        },
        unique: dice.maybe(20, Dice::key),
        order: dice.maybe(50, Dice::key),
        retry: RetryRule {
            attempts_max: dice.count(5),
            first_ms: dice.below(100),
            ceiling_ms: 50 + dice.below(1_000),
        },
        timeout_ms: dice.maybe(20, |dice| dice.below(400)),
    }
}

fn operator_command(dice: &mut Dice, state: &State) -> Command {
    let queue = dice.name(&QUEUES);
    match dice.below(12) {
        0 | 1 => Command::CancelJobs(CancelJobs {
            jobs: some_jobs(dice, state, &JobState::ALL),
            grace_ms: dice.below(2) * dice.below(300),
        }),
        2 | 3 => {
            let states = [JobState::Failed, JobState::Cancelled, JobState::Scheduled];
            Command::RetryJobs(RetryJobs { jobs: some_jobs(dice, state, &states) })
        }
        4 | 5 => {
            let jobs = some_jobs(dice, state, &JobState::ALL);
            let jobs = jobs.into_iter().map(|job| TakeBackJob { job, claim: None }).collect();
            let causes =
                [ReturnCause::Operator, ReturnCause::SessionLost, ReturnCause::NeverReceived];
            Command::TakeBack(TakeBack { jobs, cause: *dice.pick(&causes).unwrap() })
        }
        6 => Command::PauseQueue(PauseQueue { queue, reason: Text::default() }),
        7 | 8 => Command::ResumeQueue(ResumeQueue { queue }),
        9 => Command::CloseGate(CloseGate { queue, within_ms: dice.below(500) }),
        10 if dice.chance(50) => Command::OpenGate(OpenGate { queue }),
        10 => Command::RemoveQueue(RemoveQueue { queue }),
        _ => set_queue(dice, queue),
    }
}

fn set_queue(dice: &mut Dice, queue: Name) -> Command {
    Command::SetQueue(SetQueue {
        queue,
        running_max: dice.maybe(50, |dice| dice.count(5)),
        progress_ms: dice.maybe(50, |dice| dice.below(2) * dice.below(500)),
        retain_count: dice.maybe(80, |dice| dice.below(12)),
        retain_ms: dice.maybe(80, |dice| dice.below(5_000)),
        losses_max: dice.maybe(30, |dice| dice.count(5)),
        hand_backs_max: dice.maybe(30, |dice| dice.count(9)),
        live_max: dice.maybe(30, |dice| dice.below(30)),
    })
}

/// Draws jobs in one of these states or, now and then, in any.
fn some_jobs(dice: &mut Dice, state: &State, states: &[JobState]) -> Vec<JobId> {
    let one = if dice.chance(90) { dice.pick(states) } else { dice.pick(&JobState::ALL) };
    let filter = Filter { queue: None, state: one.copied() };
    let jobs: Vec<&Job> = state.jobs().list(filter, None, 1_000);
    let mut picked: Vec<JobId> =
        (0..3).filter_map(|_| dice.pick(&jobs)).map(|job| job.id).collect();
    picked.extend(dice.maybe(10, |dice| JobId(dice.below(100))));
    picked.sort_unstable();
    picked.dedup();
    picked
}

fn role_command(dice: &mut Dice, state: &State) -> Command {
    let role = dice.name(&ROLES);
    let session = session_key(dice, state);
    let there = state.roles().get(&role);
    let lease = there.and_then(|role| role.held.as_ref());
    let holder = lease.and_then(|lease| state.sessions().live(lease.session));
    let holder = holder.map_or(session, |one| SessionKey { id: one.id, secret: one.secret });
    let latest = there.map_or(Token(0), |role| role.floor);
    let token = if dice.chance(90) { latest } else { Token(latest.0.saturating_sub(1)) };
    let waiting = there.and_then(|role| role.candidates.first()).map(|one| one.session);
    let to = match waiting.filter(|_| dice.chance(50)) {
        Some(waiting) => Successor::Session(waiting),
        None => Successor::MostCaughtUp,
    };
    match dice.below(12) {
        0..=3 => Command::Acquire(Acquire {
            role,
            session,
            ttl_ms: dice.maybe(50, |dice| 200 + dice.below(2_000)),
            wait: dice.chance(70),
            stream: dice.maybe(50, |dice| dice.name(&STREAMS)),
        }),
        4 => Command::Release(Release { role, session: holder, token }),
        5 => Command::HandOver(HandOver {
            role,
            holder: dice.maybe(50, |_| holder),
            token: dice.maybe(50, |_| token),
            to,
        }),
        6 => Command::AskHandOver(AskHandOver { role, to, within_ms: 1 + dice.below(500) }),
        7 | 8 => Command::ExpireRole(ExpireRole { role, token }),
        9 => Command::Standings(Standings {
            role,
            lines: vec![Standing {
                session: waiting.unwrap_or(session.id),
                consumed: dice.maybe(80, |dice| EventNumber(dice.below(50))),
                silent_ms: dice.below(500),
            }],
        }),
        10 => Command::Withdraw(Withdraw { role, session }),
        _ if dice.chance(50) => Command::RemoveRole(RemoveRole { role }),
        _ => Command::SetRole(SetRole {
            role,
            ttl_ms: Some(200 + dice.below(3_000)),
            lag_events_max: dice.maybe(50, |dice| dice.below(20)),
            promotion: None,
        }),
    }
}

fn stream_command(dice: &mut Dice, state: &State) -> Command {
    let stream = dice.name(&STREAMS);
    match dice.below(12) {
        0 => Command::SetStream(SetStream {
            stream,
            events_max: Some(1 + dice.below(20)),
            bytes_max: dice.maybe(30, |dice| 1 + dice.below(100)),
            age_ms_max: dice.maybe(50, |dice| dice.below(5_000)),
        }),
        1 if dice.chance(30) => Command::RemoveStream(RemoveStream { stream }),
        1..=5 => Command::Append(append(dice, state, stream)),
        _ => commit(dice, state, stream),
    }
}

fn append(dice: &mut Dice, state: &State, stream: Name) -> Append {
    let next = EventNumber(state.streams().last(&stream).0 + 1);
    let expected = dice.maybe(30, |dice| EventNumber(next.0 + dice.below(10) / 9));
    Append { stream, events: (0..=dice.below(3)).map(|_| dice.bytes()).collect(), expected }
}

fn commit(dice: &mut Dice, state: &State, stream: Name) -> Command {
    let role = dice.name(&ROLES);
    let asker = session_key(dice, state);
    let lease = state.roles().get(&role).and_then(|role| role.held.as_ref());
    let holder = lease.and_then(|lease| state.sessions().live(lease.session));
    let session = holder.map_or(asker, |one| SessionKey { id: one.id, secret: one.secret });
    let token = lease.map_or(Token(1), |lease| lease.token);
    let recorded = state.streams().recorded(&stream, &role).map_or(0, |one| one.through.0);
    let through = EventNumber(recorded + dice.below(3));
    let jobs = if state.jobs().live() < LIVE_MAX { dice.below(3) } else { 0 };
    Command::Commit(Box::new(Commit {
        role,
        session: if dice.chance(95) { session } else { asker },
        token: if dice.chance(95) { token } else { Token(token.0.saturating_sub(1)) },
        position: dice.maybe(70, |_| NewPosition { stream: stream.clone(), through }),
        jobs: (0..jobs).map(|_| new_job(dice, state)).collect(),
        appends: dice.maybe(30, |dice| append(dice, state, stream)).into_iter().collect(),
    }))
}
