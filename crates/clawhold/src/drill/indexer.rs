//! `__drill-indexer NAME ROLE STREAM QUEUE TTL_MS URL…`: the coordinator of a drill.
//!
//! It stands by for the role and follows the stream, warm. As the leader it turns each event into
//! one job: position and jobs in one commit. When it learns that it was overtaken, it tries a
//! write under its old token past the SDK's guard, as a program without fencing would, and says
//! what became of it. Then it stands by again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clawhold_client::api::job::NewJob;
use clawhold_client::api::stream::{Commit, EventQuery};
use clawhold_client::api::{Json, SessionKey};
use clawhold_client::{
    Client, ClientError, Followed, Leader, LeaderError, LeaderEvent, Promotion, Session,
    SessionOptions, Standby, StandbyOptions, Step,
};

use super::saying::Saying;

/// Events that one commit turns into jobs: several, so that thousands of files take seconds, and
/// few, so that a fault finds some of them undone.
const BATCH: usize = 8;
/// Milliseconds that the leader waits for events before it looks at its lease again.
const WAIT_MS: u64 = 500;
/// Pause after a failure that nothing else explains.
const PAUSE: Duration = Duration::from_millis(100);

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Runs the indexer until it is ended from outside.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let words: Option<Vec<&str>> = arguments.iter().map(|word| word.to_str()).collect();
    let Some([name, role, stream, queue, ttl_ms, urls @ ..]) = words.as_deref() else {
        return ExitCode::FAILURE;
    };
    let Ok(ttl) = ttl_ms.parse().map(Duration::from_millis) else { return ExitCode::FAILURE };
    let part = Part { name, role, stream, queue, ttl, urls };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(Failed::from).and_then(|runtime| runtime.block_on(part.play()));
    if let Err(error) = done {
        let _ = writeln!(io::stderr(), "{name}: {error}");
    }
    ExitCode::FAILURE
}

/// What an indexer was started for.
struct Part<'a> {
    name: &'a str,
    role: &'a str,
    stream: &'a str,
    queue: &'a str,
    ttl: Duration,
    urls: &'a [&'a str],
}

impl Part<'_> {
    async fn play(&self) -> Result<(), Failed> {
        let client = Client::connect(self.urls, None)?;
        let mut session = self.open(&client).await?;
        loop {
            if session.end().is_some() {
                session = self.open(&client).await?;
            }
            let promoted = match self.stand_by(&session).await {
                Ok(promoted) => promoted,
                Err(error) if session.end().is_some() => {
                    complain(&error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let token = self.lead(promoted).await?;
            say(&Saying::Lost { token })?;
            let fresh = self.open(&client).await?;
            for key in [session.key(), fresh.key()] {
                say(&self.write_late(&client, key, token).await?)?;
            }
            session = fresh;
        }
    }

    async fn open(&self, client: &Client) -> Result<Session, ClientError> {
        Session::open(client, SessionOptions::labelled(self.name)).await
    }

    /// Follows the stream until the role is granted. Returns the promotion and the events that
    /// were read ahead.
    async fn stand_by(&self, session: &Session) -> Result<(Promotion, Ahead), Failed> {
        let options =
            StandbyOptions { ttl: Some(self.ttl), ..StandbyOptions::following(self.stream) };
        let mut standby = Standby::join(session, self.role, options);
        say(&Saying::StandingBy)?;
        let mut ahead = Ahead::new();
        loop {
            match standby.next().await? {
                Followed::Events(events) => {
                    ahead.extend(events.into_iter().map(|event| (event.number, event.event)));
                }
                Followed::Promoted(promotion) => return Ok((promotion, ahead)),
            }
        }
    }

    /// Turns events into jobs until the lease is lost. Returns its token.
    async fn lead(&self, (promotion, mut ahead): (Promotion, Ahead)) -> Result<u64, Failed> {
        let Promotion { mut leader, position, .. } = promotion;
        let token = leader.token();
        let client = leader.session().client().clone();
        let mut through = position;
        say(&Saying::Leading { token, position })?;
        loop {
            // Everything up to the position was dealt with by whoever led before.
            ahead = ahead.split_off(&(through + 1));
            if ahead.is_empty() {
                tokio::select! {
                    event = leader.event() => {
                        if let LeaderEvent::Lost(_) = event {
                            return Ok(token);
                        }
                    }
                    read = self.read(&client, through) => match read {
                        Ok(events) => ahead.extend(events),
                        Err(error) => {
                            complain(&error.into());
                            tokio::time::sleep(PAUSE).await;
                        }
                    },
                }
                continue;
            }
            match self.commit(&leader, &ahead).await {
                Ok(last) => through = last,
                Err(LeaderError::NotLeader(not)) if not.is_over() => return Ok(token),
                Err(LeaderError::NotLeader(_)) => {
                    if let LeaderEvent::Lost(_) = leader.event().await {
                        return Ok(token);
                    }
                }
                Err(error) => {
                    complain(&error.into());
                    through = self.recorded(&client).await?.max(through);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn read(&self, client: &Client, after: u64) -> Result<Ahead, ClientError> {
        let wanted = EventQuery { after: Some(after), limit: None, wait_ms: Some(WAIT_MS) };
        let events = client.events(self.stream, &wanted).await?.events;
        Ok(events.into_iter().map(|event| (event.number, event.event)).collect())
    }

    /// Turns the first events of `ahead` into jobs and records the position, in one step. Returns
    /// the last of them.
    async fn commit(&self, leader: &Leader, ahead: &Ahead) -> Result<u64, LeaderError> {
        let batch: Vec<(&u64, &Json)> = ahead.iter().take(BATCH).collect();
        let last = batch.last().map_or(0, |(number, _)| **number);
        let jobs = batch.iter().map(|(_, event)| NewJob::new(self.queue, (*event).clone()));
        leader.commit(Step::new().position(self.stream, last).jobs(jobs)).await?;
        Ok(last)
    }

    /// Returns the position that is recorded, for after a commit whose outcome is unknown.
    async fn recorded(&self, client: &Client) -> Result<u64, ClientError> {
        let positions = client.positions(self.stream).await?.positions;
        Ok(positions.iter().find(|one| one.role == self.role).map_or(0, |one| one.through))
    }

    /// Tries what a program without a guard would do: go on writing under the old token.
    async fn write_late(
        &self,
        client: &Client,
        session: SessionKey,
        token: u64,
    ) -> Result<Saying, Failed> {
        let stale = Json::of("written under an overtaken token")?;
        let commit = Commit {
            role: self.role.to_owned(),
            session,
            token,
            // No position goes with it, so that nothing but the token can be the reason of a refusal.
            position: None,
            jobs: vec![NewJob::new(self.queue, stale)],
            appends: Vec::new(),
        };
        match client.commit(&commit).await {
            Ok(_) => Ok(Saying::StaleWrite { token, refused: None }),
            Err(error) => match error.code() {
                Some(code) => {
                    Ok(Saying::StaleWrite { token, refused: Some(code.as_str().to_owned()) })
                }
                None => Err(error.into()),
            },
        }
    }
}

/// Events that were read before they are dealt with, by their number.
type Ahead = BTreeMap<u64, Json>;

fn say(saying: &Saying) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{saying}")?;
    out.flush()
}

fn complain(error: &Failed) {
    // The log of a drill may be gone; the drill itself tells what matters.
    let _ = writeln!(io::stderr(), "{error}");
}
