//! Random commands of every kind against a model that knows the promises and nothing else.
//!
//! `CLAWHOLD_TEST_COMMANDS` says how many commands are played, `CLAWHOLD_TEST_SEED` from which
//! seed. A second state gets the same entries through their bytes, and a snapshot now and then.

use std::collections::{BTreeMap, VecDeque};
use std::{env, fmt};

use clawhold_core::answer::{Answer, Claimed, JobState, Refusal, SettledAs};
use clawhold_core::audit::{MismatchKind, audit};
use clawhold_core::beat::Beats;
use clawhold_core::change::{Change, What};
use clawhold_core::check::check;
use clawhold_core::command::{Command, Request, RunOutcome, Settle};
use clawhold_core::job::Job;
use clawhold_core::limits;
use clawhold_core::units::{
    Bytes, ClaimNumber, EventNumber, JobId, Name, Position, RequestId, Served, SessionId, Stamp,
    Timestamp, Token,
};
use clawhold_core::{Applied, State};

use crate::draw::{self, Dice};

#[test]
fn no_command_at_no_moment_breaks_a_promise() {
    let commands = number_from("CLAWHOLD_TEST_COMMANDS").unwrap_or(50_000);
    let seed = number_from("CLAWHOLD_TEST_SEED").unwrap_or(20_261_130);
    eprintln!("CLAWHOLD_TEST_SEED={seed} CLAWHOLD_TEST_COMMANDS={commands}");
    let mut world = World::new(seed);
    for _ in 0..commands {
        world.play_one();
    }
    world.check_follower();
    world.check_reach();
}

fn number_from(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// The state under test, a follower, and what the model knows.
struct World {
    dice: Dice,
    state: State,
    follower: State,
    model: Model,
    asked: VecDeque<(Request, Result<Answer, Refusal>)>,
    kinds: BTreeMap<String, u64>,
}

/// One entry and its answer, for the one who reads a failure.
struct Told<'a> {
    stamp: Stamp,
    request: &'a Request,
    answer: &'a Result<Answer, Refusal>,
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}: {:?}", self.stamp, self.request, self.answer)
    }
}

/// The promises, kept as plainly as can be.
#[derive(Default)]
struct Model {
    last_job: u64,
    jobs: BTreeMap<JobId, ModelJob>,
    holders: BTreeMap<Name, Option<(SessionId, Token)>>,
    floors: BTreeMap<Name, Token>,
    streams: BTreeMap<Name, ModelStream>,
    positions: BTreeMap<(Name, Name), EventNumber>,
}

struct ModelJob {
    state: JobState,
    claim: ClaimNumber,
    holder: Option<SessionId>,
}

#[derive(Default)]
struct ModelStream {
    first: u64,
    events: Vec<Bytes>,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            dice: Dice(seed),
            state: State::default(),
            follower: State::default(),
            model: Model::default(),
            asked: VecDeque::new(),
            kinds: BTreeMap::new(),
        }
    }

    /// Plays what is due, then one command at the same moment.
    fn play_one(&mut self) {
        let elapsed_ms = draw::elapsed_ms(&mut self.dice);
        if elapsed_ms > limits::REQUEST_MS {
            // What was asked so long ago is forgotten.
            self.asked.clear();
        }
        let at = Timestamp(self.state.last().at.0 + elapsed_ms + self.dice.below(5));
        let served = Served(self.state.last().served.0 + elapsed_ms);
        self.play(at, served, Request { id: None, actor: None, command: Command::Tick });
        let due = self.state.next_due();
        assert!(due.at.is_none_or(|due| due > at), "{due:?} is overdue at {at}");
        assert!(due.served.is_none_or(|due| due > served), "{due:?} is overdue at {served}");
        let request = self.draw();
        self.play(at, served, request);
    }

    fn draw(&mut self) -> Request {
        if self.dice.chance(3) && !self.asked.is_empty() {
            let at = self.dice.below(self.asked.len() as u64);
            return self.asked[usize::try_from(at).unwrap()].0.clone();
        }
        let command = draw::command(&mut self.dice, &self.state);
        let fresh = RequestId::parse(&format!("r{}", self.state.last().position)).unwrap();
        let id = self.dice.chance(5).then_some(fresh);
        Request { id, actor: None, command }
    }

    fn play(&mut self, at: Timestamp, served: Served, request: Request) {
        let stamp = Stamp { at, served, position: Position(self.state.last().position.0 + 1) };
        let running = self.running();
        let applied = self.state.apply(stamp, &request);
        self.follow(stamp, &request, &applied);
        let told = Told { stamp, request: &request, answer: &applied.answer };
        if !matches!(request.command, Command::Tick) || !applied.changes.is_empty() {
            check(&self.state).unwrap_or_else(|broken| panic!("{told}: {broken}"));
        }
        self.check_request(&request, &applied, &told);
        self.model.follow(&applied.changes, &request.command, applied.replayed, &told);
        if !applied.replayed {
            self.model.answered(&request.command, &applied.answer, &self.state, &told);
        }
        self.model.compare(&self.state, &told);
        self.check_limits(&running, &told);
        self.count(&request.command, &applied);
        if stamp.position.0.is_multiple_of(100) {
            self.check_audit(&told);
        }
        if stamp.position.0.is_multiple_of(1_000) {
            self.check_follower();
        }
    }

    /// Applies the entry to the follower, through its bytes.
    fn follow(&mut self, stamp: Stamp, request: &Request, applied: &Applied) {
        let bytes = minicbor::to_vec(request).unwrap();
        let request: Request = minicbor::decode(&bytes).unwrap();
        let followed = self.follower.apply(stamp, &request);
        assert_eq!(&followed, applied, "another server comes to another end");
    }

    /// Both states are equal, and equal to what a snapshot holds; the follower goes on from that.
    fn check_follower(&mut self) {
        assert!(self.state == self.follower, "the follower has another state");
        let bytes = minicbor::to_vec(&self.state).unwrap();
        self.follower = minicbor::decode(&bytes).unwrap();
        assert!(self.state == self.follower, "the snapshot holds another state");
        assert_eq!(bytes, minicbor::to_vec(&self.follower).unwrap());
    }

    /// A repeated request gets the first answer, but for a claim that got nothing: it did nothing
    /// and may well get something later.
    fn check_request(&mut self, request: &Request, applied: &Applied, told: &Told<'_>) {
        let empty = matches!(&applied.answer, Ok(Answer::Claimed(claimed)) if claimed.is_empty());
        if request.id.is_none() || empty {
            return;
        }
        if let Some((_, first)) = self.asked.iter().find(|(asked, _)| asked == request) {
            assert_eq!(first, &applied.answer, "{told}");
            assert!(applied.replayed, "{told}");
            assert!(applied.changes.is_empty(), "{told}");
            return;
        }
        self.asked.push_back((request.clone(), applied.answer.clone()));
        if self.asked.len() > 20 {
            self.asked.pop_front();
        }
    }

    /// Returns how many jobs of each queue run, counted one by one.
    fn running(&self) -> BTreeMap<Name, u64> {
        let mut running = BTreeMap::new();
        for (id, _) in self.model.jobs.iter().filter(|(_, job)| job.state == JobState::Running) {
            let queue = self.state.jobs().queue_of(self.state.jobs().job(*id).unwrap());
            *running.entry(queue.clone()).or_default() += 1;
        }
        running
    }

    /// No queue starts a job beyond its limit; no two jobs of an ordering key run at once.
    fn check_limits(&self, before: &BTreeMap<Name, u64>, told: &Told<'_>) {
        for (name, count) in self.running() {
            let max = u64::from(self.state.jobs().queue(&name).unwrap().settings.running_max);
            let started = count > before.get(&name).copied().unwrap_or(0);
            assert!(!started || max == 0 || count <= max, "{told}: {count} run in {name}");
        }
        let mut keys = Vec::new();
        for (id, _) in self.model.jobs.iter().filter(|(_, job)| job.state == JobState::Running) {
            let job = self.state.jobs().job(*id).unwrap();
            let order = job.keys.as_ref().and_then(|keys| keys.order.as_ref());
            let Some(key) = order.map(|key| (job.queue, key)) else { continue };
            assert!(!keys.contains(&key), "{told}: two jobs of {key:?} run");
            keys.push(key);
        }
    }

    fn check_audit(&self, told: &Told<'_>) {
        let audit = audit(&self.state, &Beats::default(), None, self.state.last().served);
        let late = |kind| kind == MismatchKind::NotPlaced;
        let found = audit.mismatches.iter().find(|found| !late(found.kind));
        assert!(found.is_none(), "{told}: {found:?}");
        assert_eq!(audit.in_transit, 0);
    }

    fn count(&mut self, command: &Command, applied: &Applied) {
        let kind = format!("{command:?}");
        let kind = kind.split(['(', ' ']).next().unwrap();
        let word = if applied.answer.is_ok() { "done" } else { "refused" };
        *self.kinds.entry(format!("{kind} {word}")).or_default() += 1;
    }

    /// The draw reached every command, with success.
    fn check_reach(&self) {
        for (kind, count) in &self.kinds {
            eprintln!("{count:8} {kind}");
        }
        let refused = self.kinds.keys().filter_map(|kind| kind.strip_suffix(" refused"));
        for kind in refused {
            assert!(self.kinds.contains_key(&format!("{kind} done")), "{kind} never succeeded");
        }
    }
}

impl Model {
    /// Follows what changed, and knows which changes may be.
    fn follow(&mut self, changes: &[Change], command: &Command, replayed: bool, told: &Told<'_>) {
        assert!(!replayed || changes.is_empty(), "{told}");
        for change in changes {
            match &change.what {
                What::Job { job, state, .. } => self.job_moved(*job, *state, command, told),
                What::RoleGranted { role, session, token } => {
                    // One entry may grant several roles, each under a token of its own.
                    let latest = self.floors.values().max().copied().unwrap_or(Token(0));
                    assert!(latest < *token, "{told}: {token} after {latest}");
                    assert!(change.position.0 <= token.0, "{told}: {token} is old");
                    self.floors.insert(role.clone(), *token);
                    self.holders.insert(role.clone(), Some((*session, *token)));
                }
                What::RoleVacant { role } => {
                    self.holders.insert(role.clone(), None);
                }
                What::Recorded { stream, role, through } => {
                    let place = (stream.clone(), role.clone());
                    let before = self.positions.insert(place, *through);
                    assert!(before.is_none_or(|before| before < *through), "{told}");
                }
                What::Server
                | What::Restored { .. }
                | What::Role { .. }
                | What::Worker { .. }
                | What::Session { .. }
                | What::Queue { .. }
                | What::Stream { .. }
                | What::Definition { .. }
                | What::Run { .. }
                | What::Alert { .. }
                | What::Message { .. }
                | What::Automation => {}
            }
        }
    }

    fn job_moved(&mut self, id: JobId, after: JobState, command: &Command, told: &Told<'_>) {
        if id.0 > self.last_job {
            assert_eq!(id.0, self.last_job + 1, "{told}");
            assert!(matches!(after, JobState::Queued | JobState::Scheduled), "{told}");
            self.last_job = id.0;
            let job = ModelJob { state: after, claim: ClaimNumber(0), holder: None };
            self.jobs.insert(id, job);
            return;
        }
        let job = self.jobs.get_mut(&id).unwrap_or_else(|| panic!("{told}: {id} is gone"));
        let before = job.state;
        let allowed = match before {
            JobState::Scheduled => matches!(after, JobState::Queued | JobState::Cancelled),
            JobState::Queued | JobState::Returned => {
                matches!(after, JobState::Running | JobState::Cancelled)
            }
            JobState::Running => {
                after != JobState::Running || matches!(command, Command::CancelJobs(_))
            }
            JobState::Failed | JobState::Cancelled => {
                after == JobState::Queued && matches!(command, Command::RetryJobs(_))
            }
            JobState::Completed => false,
        };
        assert!(allowed, "{told}: job {id} went from {before} to {after}");
        job.state = after;
        if after != JobState::Running {
            job.holder = None;
        }
    }

    /// Compares the answer with what the promises allow.
    fn answered(
        &mut self,
        command: &Command,
        answer: &Result<Answer, Refusal>,
        state: &State,
        told: &Told<'_>,
    ) {
        match (command, answer) {
            (Command::Claim(claim), Ok(Answer::Claimed(claimed))) => {
                self.claimed(claim.session.id, claimed, state, told);
            }
            (Command::Settle(settle), Ok(Answer::Settled { results, claimed })) => {
                self.settled(settle, results, told);
                self.claimed(settle.session.id, claimed, state, told);
            }
            (Command::Append(append), Ok(Answer::Appended { last })) => {
                self.appended(&append.stream, &append.events);
                assert_eq!(self.last_event(&append.stream), *last, "{told}");
            }
            (Command::Commit(commit), Ok(_)) => {
                let leads = self.holders.get(&commit.role).copied().flatten();
                assert_eq!(leads, Some((commit.session.id, commit.token)), "{told}");
                for append in &commit.appends {
                    self.appended(&append.stream, &append.events);
                }
            }
            (Command::RemoveStream(remove), Ok(_)) => {
                let next = self.last_event(&remove.stream).0 + 1;
                let stream = self.streams.entry(remove.stream.clone()).or_default();
                *stream = ModelStream { first: next, events: Vec::new() };
                self.positions.retain(|(stream, _), _| *stream != remove.stream);
            }
            (Command::RemoveRole(remove), Ok(_)) => {
                self.positions.retain(|(_, role), _| *role != remove.role);
            }
            (_, _) => {}
        }
    }

    fn claimed(&mut self, session: SessionId, claimed: &[Claimed], state: &State, told: &Told<'_>) {
        for one in claimed {
            let job = self.jobs.get_mut(&one.job).unwrap();
            assert_eq!(job.state, JobState::Running, "{told}");
            assert!(job.holder.is_none(), "{told}: {} has a holder", one.job);
            assert!(job.claim < one.claim, "{told}: claim {} again", one.claim);
            job.claim = one.claim;
            job.holder = Some(session);
        }
        let held = self.jobs.values().filter(|job| job.holder == Some(session)).count();
        let slots = state.sessions().live(session).map_or(0, |session| session.slots);
        assert!(u32::try_from(held).unwrap() <= slots, "{told}: {held} held with {slots} slots");
    }

    /// A settlement under a claim that is not its session's is refused. What was in range and held
    /// cannot be told any more here, since the changes were followed already.
    fn settled(&self, settle: &Settle, results: &[Result<SettledAs, Refusal>], told: &Told<'_>) {
        assert_eq!(results.len(), settle.settlements.len(), "{told}");
        let mut seen = Vec::new();
        for (settlement, result) in settle.settlements.iter().zip(results) {
            let id = settlement.job;
            let latest = self.jobs.get(&id).map_or(ClaimNumber(0), |job| job.claim);
            let Ok(settled) = result else { continue };
            assert!(!seen.contains(&id), "{told}: {id} ended twice");
            assert_eq!(settlement.claim, latest, "{told}");
            let completes = matches!(settlement.outcome, RunOutcome::Completed { .. });
            assert_eq!(completes, *settled == SettledAs::Completed, "{told}");
            seen.push(id);
        }
    }

    fn appended(&mut self, name: &Name, events: &[Bytes]) {
        let stream = self.streams.entry(name.clone()).or_default();
        stream.first = stream.first.max(1);
        stream.events.extend(events.iter().cloned());
    }

    fn last_event(&self, name: &Name) -> EventNumber {
        let stream = self.streams.get(name);
        EventNumber(stream.map_or(0, |one| one.first.max(1) + one.events.len() as u64 - 1))
    }

    /// The state is what the model says.
    fn compare(&mut self, state: &State, told: &Told<'_>) {
        let alive = |job: &Job, known: &ModelJob| {
            job.state == known.state && job.claim == known.claim && job.holder() == known.holder
        };
        for (id, known) in &self.jobs {
            match state.jobs().job(*id) {
                Some(job) => assert!(alive(job, known), "{told}: {job:?}"),
                None => assert!(known.state.is_ended(), "{told}: job {id} is lost"),
            }
        }
        self.jobs.retain(|id, _| state.jobs().job(*id).is_some());
        let live = self.jobs.values().filter(|job| !job.state.is_ended()).count();
        assert_eq!(live as u64, state.jobs().live(), "{told}");
        for (name, holder) in &self.holders {
            let lease = state.roles().get(name).and_then(|role| role.held.as_ref());
            assert_eq!(lease.map(|lease| (lease.session, lease.token)), *holder, "{told}");
            assert_eq!(state.roles().floor(name), self.floors.get(name).copied(), "{told}");
        }
        self.compare_streams(state, told);
    }

    fn compare_streams(&mut self, state: &State, told: &Told<'_>) {
        for (name, known) in &mut self.streams {
            let Some(stream) = state.streams().get(name) else {
                assert!(known.events.is_empty(), "{told}: stream {name} is lost");
                continue;
            };
            while known.first < stream.first.0 {
                known.events.remove(0);
                known.first += 1;
            }
            let after = EventNumber(stream.first.0 - 1);
            let page = stream.read(after, 1_000, 1_000_000).unwrap();
            let there: Vec<&Bytes> = page.events.iter().map(|(_, event)| &event.bytes).collect();
            assert_eq!(there, known.events.iter().collect::<Vec<_>>(), "{told}");
        }
        for ((stream, role), through) in &self.positions {
            let recorded = state.streams().recorded(stream, role).map(|one| one.through);
            assert_eq!(recorded, Some(*through), "{told}");
        }
    }
}
