//! Jobs and queues, told as transcripts: a moment, what was asked, what came of it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use expect_test::Expect;

use crate::State;
use crate::answer::{Answer, Claimed, Refusal, SettledAs};
use crate::change::What;
use crate::command::{
    CancelJobs, Checkpoint, Claim, CloseGate, CloseSession, Command, DrainWorker, Due, Enqueue,
    ExpireSession, NewJob, OpenGate, OpenSession, PauseQueue, Progress, RemoveQueue, Request,
    ResumeQueue, ResumeWorker, RetryJobs, RetryRule, ReturnCause, RunOutcome, SessionKey, SetQueue,
    Settle, Settlement, TakeBack, TakeBackJob, Wanted,
};
use crate::units::{
    Bytes, ClaimNumber, JobId, Key, Name, Position, RequestId, Served, SessionId, Stamp, Text,
    Timestamp,
};

mod claiming;
mod ending;
mod field;
mod rebalancing;

/// Plays a script and compares what came of each line.
fn check(script: &str, expected: Expect) {
    let (world, told) = play(script);
    expected.assert_eq(&told);
    let bytes = minicbor::to_vec(&world.state).unwrap();
    let decoded: State = minicbor::decode(&bytes).unwrap();
    assert!(decoded == world.state, "a snapshot holds the whole state");
}

/// Plays a script; every invariant is checked after each line.
pub(crate) fn play(script: &str) -> (World, String) {
    let mut world = World::default();
    let mut told = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let outcome = world.play(line);
        crate::check::check(&world.state).unwrap();
        told.push_str(&format!("{line}: {outcome}\n"));
    }
    (world, told)
}

/// A state, and the sessions by the names that the script gives them.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) state: State,
    pub(crate) sessions: BTreeMap<String, SessionKey>,
}

/// A line's words: the bare ones in order, the others by their key.
struct Words<'a> {
    bare: Vec<&'a str>,
    keyed: BTreeMap<&'a str, &'a str>,
}

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Self {
        let mut words = Self { bare: Vec::new(), keyed: BTreeMap::new() };
        for word in line.split_whitespace() {
            match word.split_once('=') {
                Some((key, value)) => {
                    words.keyed.insert(key, value);
                }
                None => words.bare.push(word),
            }
        }
        words
    }

    fn bare(&self, at: usize) -> &'a str {
        self.bare.get(at).copied().unwrap_or("")
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.keyed.get(key).map(|value| value.parse().unwrap())
    }

    fn count(&self, key: &str) -> Option<u32> {
        self.keyed.get(key).map(|value| value.parse().unwrap())
    }

    fn names(&self, at: usize) -> Vec<Name> {
        self.bare(at).split(',').filter(|name| !name.is_empty()).map(name).collect()
    }

    fn jobs(&self, at: usize) -> Vec<JobId> {
        self.bare(at).split(',').map(|id| JobId(id.parse().unwrap())).collect()
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

impl World {
    /// Plays one line: a moment and a command, or a moment and something to show.
    pub(crate) fn play(&mut self, line: &str) -> String {
        let words = Words::of(line);
        let now: u64 = words.bare(0).parse().unwrap();
        match words.bare(1) {
            "show" => self.show(&words),
            "counts" => self.counts(&words),
            "next" => self.next(),
            _ => {
                let command = self.command(&words);
                let id = words.keyed.get("id").map(|id| RequestId::parse(id).unwrap());
                self.apply(now, id, command, words.bare(2))
            }
        }
    }

    pub(crate) fn apply(
        &mut self,
        now: u64,
        id: Option<RequestId>,
        command: Command,
        label: &str,
    ) -> String {
        let position = Position(self.state.last().position.0 + 1);
        let stamp = Stamp { at: Timestamp(now), served: Served(now), position };
        let applied = self.state.apply(stamp, &Request { id, actor: None, command });
        if let Ok(Answer::Opened(key)) = applied.answer {
            self.sessions.insert(label.into(), key);
        }
        let mut told = applied.answer.as_ref().map_or_else(refusal, answer);
        for change in &applied.changes {
            if let What::Job { job, state, .. } = &change.what {
                told.push_str(&format!(" [{job} {state}]"));
            }
        }
        told
    }

    fn session(&self, label: &str) -> SessionKey {
        self.sessions.get(label).copied().unwrap_or(SessionKey { id: SessionId(0), secret: 0 })
    }

    fn command(&self, words: &Words<'_>) -> Command {
        let label = words.bare(2);
        let session = self.session(label);
        match words.bare(1) {
            "tick" => Command::Tick,
            "open" => Command::OpenSession(OpenSession {
                secret: 7,
                label: name(label),
                ttl_ms: words.number("ttl").unwrap_or(1_000),
                queues: words.names(3),
                slots: words.count("slots").unwrap_or(10),
                agent: None,
                place: Text::default(),
            }),
            "close" => Command::CloseSession(CloseSession { session }),
            "lose" => Command::ExpireSession(ExpireSession { session: session.id }),
            "drain" => Command::DrainWorker(DrainWorker {
                session: session.id,
                deadline_ms: words.number("within").unwrap_or(1_000),
                reason: Text::default(),
            }),
            "resume" => Command::ResumeWorker(ResumeWorker { session: session.id }),
            "add" => Command::Enqueue(Enqueue { jobs: new_jobs(words) }),
            "claim" => Command::Claim(Claim { session, wanted: wanted(words, 3) }),
            "settle" => self.settle(words),
            "progress" => {
                let (job, claim) = claim_of(words.bare(3));
                let percent = words.count("percent").map(|percent| u8::try_from(percent).unwrap());
                let note = Text::default();
                Command::Progress(Progress { session, job, claim, percent, note })
            }
            "save" => {
                let (job, claim) = claim_of(words.bare(3));
                let number = words.number("number").unwrap_or(1);
                let bytes = Bytes::from(words.bare(4));
                Command::Checkpoint(Checkpoint { session, job, claim, number, bytes })
            }
            _ => operator_command(words),
        }
    }

    /// Several settlements in one call: `settle ana done:1/1 fail:2/1:text back:3/1:checkpoint`.
    fn settle(&self, words: &Words<'_>) -> Command {
        let session = self.session(words.bare(2));
        let settlements = words.bare[3..].iter().map(|word| settlement(word, words)).collect();
        let queues = words.keyed.get("next").map(|queues| queues.split(',').map(name).collect());
        let next =
            queues.map(|queues| Wanted { queues, count_max: words.count("count").unwrap_or(1) });
        Command::Settle(Settle { session, settlements, next })
    }

    fn show(&self, words: &Words<'_>) -> String {
        let Some(job) = self.state.jobs().job(JobId(words.bare(2).parse().unwrap())) else {
            return "no such job".into();
        };
        let mut told = format!(
            "{} claim {} attempts {} losses {} hand-backs {}",
            job.state, job.claim, job.attempts, job.losses, job.hand_backs
        );
        if let Some(kept) = job.checkpoint() {
            told.push_str(&format!(
                " checkpoint {:?} number {} of claim {}",
                kept.bytes, kept.number, kept.claim
            ));
        }
        if let Some(returned) = job.returned() {
            told.push_str(&format!(
                " returned by {} at entry {}, {:?}",
                returned.session, returned.stamp.position, returned.cause
            ));
        }
        for error in job.errors() {
            told.push_str(&format!("; {}", error.text.as_str()));
        }
        told
    }

    fn counts(&self, words: &Words<'_>) -> String {
        let jobs = self.state.jobs();
        let Some(queue) = jobs.queue(&name(words.bare(2))) else { return "no such queue".into() };
        let counts = jobs.counts(queue);
        let gate = if queue.gate.closed.is_some() { "closed" } else { "open" };
        format!(
            "scheduled {} queued {} returned {} running {} completed {} failed {} cancelled {} \
             enqueued {} purged {} gate {gate} unplaced {}",
            counts.scheduled,
            counts.queued,
            counts.returned,
            counts.running,
            counts.completed,
            counts.failed,
            counts.cancelled,
            queue.counters.enqueued,
            queue.counters.purged,
            queue.gate.unplaced
        )
    }

    fn next(&self) -> String {
        let due = self.state.jobs().next_due();
        format!("{:?} {:?}", due.at.map(|at| at.0), due.served.map(|served| served.0))
    }
}

fn operator_command(words: &Words<'_>) -> Command {
    match words.bare(1) {
        "cancel" => Command::CancelJobs(CancelJobs {
            jobs: words.jobs(2),
            grace_ms: words.number("grace").unwrap_or(0),
        }),
        "retry" => Command::RetryJobs(RetryJobs { jobs: words.jobs(2) }),
        "take" => Command::TakeBack(TakeBack {
            jobs: words.jobs(2).into_iter().map(|job| TakeBackJob { job, claim: None }).collect(),
            cause: match words.bare(3) {
                "lost" => ReturnCause::SessionLost,
                "never" => ReturnCause::NeverReceived,
                _ => ReturnCause::Operator,
            },
        }),
        "queue" => Command::SetQueue(SetQueue {
            queue: name(words.bare(2)),
            running_max: words.count("running"),
            progress_ms: words.number("progress"),
            retain_count: words.number("retain"),
            retain_ms: words.number("retain_ms"),
            losses_max: words.count("losses"),
            hand_backs_max: words.count("hand_backs"),
            live_max: words.number("live"),
        }),
        "pause" => {
            Command::PauseQueue(PauseQueue { queue: name(words.bare(2)), reason: Text::default() })
        }
        "unpause" => Command::ResumeQueue(ResumeQueue { queue: name(words.bare(2)) }),
        "remove" => Command::RemoveQueue(RemoveQueue { queue: name(words.bare(2)) }),
        "shut" => Command::CloseGate(CloseGate {
            queue: name(words.bare(2)),
            within_ms: words.number("within").unwrap_or(1_000),
        }),
        "admit" => Command::OpenGate(OpenGate { queue: name(words.bare(2)) }),
        word => panic!("{word} is no command of these scripts"),
    }
}

/// `add QUEUE PAYLOAD…` with the same settings for each payload.
fn new_jobs(words: &Words<'_>) -> Vec<NewJob> {
    let key = |field: &str| words.keyed.get(field).map(|key| Key::parse(key).unwrap());
    let rule = RetryRule::default();
    let payloads = words.bare[3..].iter();
    let job = |payload: &&str| NewJob {
        queue: name(words.bare(2)),
        payload: Bytes::from(*payload),
        priority: words.keyed.get("priority").map_or(0, |value| value.parse().unwrap()),
        due: match (words.number("after"), words.number("at")) {
            (Some(ms), _) => Due::After(ms),
            (None, Some(at)) => Due::At(Timestamp(at)),
            (None, None) => Due::Now,
        },
        unique: key("unique"),
        order: key("order"),
        retry: RetryRule {
            attempts_max: words.count("attempts").unwrap_or(rule.attempts_max),
            first_ms: words.number("first").unwrap_or(rule.first_ms),
            ceiling_ms: words.number("ceiling").unwrap_or(rule.ceiling_ms),
        },
        timeout_ms: words.number("timeout"),
    };
    payloads.map(job).collect()
}

fn wanted(words: &Words<'_>, at: usize) -> Wanted {
    Wanted { queues: words.names(at), count_max: words.bare(at + 1).parse().unwrap_or(1) }
}

fn claim_of(text: &str) -> (JobId, ClaimNumber) {
    let (job, claim) = text.split_once('/').unwrap_or((text, "1"));
    (JobId(job.parse().unwrap()), ClaimNumber(claim.parse().unwrap()))
}

fn settlement(word: &str, words: &Words<'_>) -> Settlement {
    let mut parts = word.split(':');
    let kind = parts.next().unwrap_or("");
    let (job, claim) = claim_of(parts.next().unwrap_or(""));
    let rest = parts.next();
    let text = Text::cut(rest.unwrap_or(""));
    let bytes = rest.map(|rest| match rest {
        "huge" => Bytes(alloc::vec![0; crate::limits::CHECKPOINT_BYTES_MAX + 1].into()),
        rest => Bytes::from(rest),
    });
    let outcome = match kind {
        "done" => RunOutcome::Completed { result: bytes.unwrap_or_default() },
        "fail" => RunOutcome::Failed { error: text, retry_after_ms: words.number("again") },
        "dead" => RunOutcome::Dead { error: text },
        "back" => RunOutcome::HandedBack { checkpoint: bytes, reason: Text::default() },
        "sleep" => {
            RunOutcome::Snoozed { for_ms: words.number("for").unwrap_or(0), checkpoint: bytes }
        }
        kind => panic!("{kind} is no outcome of these scripts"),
    };
    Settlement { job, claim, outcome }
}

fn refusal(refusal: &Refusal) -> String {
    format!("refused, {refusal}")
}

fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Enqueued(jobs) => list(jobs.iter().map(|one| match one.existing {
            true => format!("{} existing", one.job),
            false => one.job.to_string(),
        })),
        Answer::Claimed(claimed) => claims(claimed),
        Answer::Settled { results, claimed } => {
            let results = list(results.iter().map(|one| match one {
                Ok(SettledAs::RetryAt(at)) => format!("retry at {at}"),
                Ok(settled) => format!("{settled:?}").to_lowercase(),
                Err(refused) => refusal(refused),
            }));
            if claimed.is_empty() {
                results
            } else {
                format!("{results}; next {}", claims(claimed))
            }
        }
        Answer::Jobs(results) => list(results.iter().map(|one| match one {
            Ok(id) => id.to_string(),
            Err(refused) => refusal(refused),
        })),
        Answer::Draining { held, unserved } => {
            let unserved = list(unserved.iter().map(Name::to_string));
            format!("draining, held {held}, unserved {unserved}")
        }
        Answer::Opened(_) => "opened".into(),
        Answer::Done
        | Answer::Granted(_)
        | Answer::Waiting { .. }
        | Answer::Released { .. }
        | Answer::Appended { .. }
        | Answer::Committed { .. }
        | Answer::Behind { .. }
        | Answer::Withheld { .. }
        | Answer::Defined { .. }
        | Answer::Imported { .. }
        | Answer::Run { .. }
        | Answer::Posted { .. }
        | Answer::Silenced { .. } => "done".into(),
    }
}

fn claims(claimed: &[Claimed]) -> String {
    list(claimed.iter().map(|one| format!("{}/{}", one.job, one.claim)))
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "none".into() } else { items.join(", ") }
}
