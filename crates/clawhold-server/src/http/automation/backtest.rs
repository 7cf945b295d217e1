//! Playing the log again for an alert rule or a fix: what it would have found or done. Nothing is
//! changed or told.

use std::cell::Cell;
use std::collections::VecDeque;

use axum::Json;
use axum::extract::State;
use clawhold_api::automation::definition as wire;
use clawhold_api::error::{Code, Problem};
use clawhold_core::State as Known;
use clawhold_core::alert::{self, Fired};
use clawhold_core::catalog::{Noun, Spec};
use clawhold_core::command::Request;
use clawhold_core::limits;
use clawhold_core::record::Record;
use clawhold_core::run::{self, FixBacktest};
use clawhold_core::units::{Epoch, Position, Served, Stamp, Timestamp, Title};
use clawhold_log::{Log, Number};

use super::definition::require;
use super::value;
use crate::clock;
use crate::driver::Failure;
use crate::http::body::Body;
use crate::http::error::Rejected;
use crate::http::query::Word;
use crate::http::{Room, convert, view};
use clawhold_log::chain;

/// Milliseconds that are looked back when nothing is said.
const SINCE_MS: u64 = 86_400_000;
/// Bytes that are read from the log at once.
const READ_BYTES_MAX: usize = 1_024 * 1_024;

pub(super) async fn rule(
    State(room): State<Room>,
    Word(name): Word,
    Body(body): Body<wire::Backtest>,
) -> Result<Json<wire::Backtested>, Rejected> {
    play_for(room, Noun::AlertRule, &name, body).await
}

pub(super) async fn fix(
    State(room): State<Room>,
    Word(name): Word,
    Body(body): Body<wire::Backtest>,
) -> Result<Json<wire::Backtested>, Rejected> {
    play_for(room, Noun::AutoFix, &name, body).await
}

async fn play_for(
    room: Room,
    noun: Noun,
    name: &str,
    body: wire::Backtest,
) -> Result<Json<wire::Backtested>, Rejected> {
    let title = value::title("name", name)?;
    let since_ms = body.since_ms.unwrap_or(SINCE_MS);
    let since_ms = convert::range("since_ms", since_ms, 1, limits::DURATION_MS_MAX)?;
    let known = title.clone();
    let read = room.read(move |replica| {
        let known = require(replica.state(), noun, &known)?;
        Ok((known.spec.clone(), replica.state().last()))
    });
    let (spec, through) = read.await?;
    let Ok(_turn) = room.plays.try_lock() else {
        let detail = "the log is being played for somebody else; ask again in a moment";
        return Err(Rejected::new(Code::Overloaded, detail));
    };
    let since = Timestamp(through.at.0.saturating_sub(since_ms));
    let store = room.store.to_string();
    let played = tokio::task::spawn_blocking(move || play(&store, &title, &spec, since, through));
    played.await.map_err(|_| Rejected::from(Failure::Stopping))?.map(Json)
}

/// Plays the log from its newest snapshot on; what lies before `since` is applied and not looked at.
fn play(
    store: &str,
    title: &Title,
    spec: &Spec,
    since: Timestamp,
    through: Stamp,
) -> Result<wire::Backtested, Rejected> {
    if store == "memory:" {
        let detail = "a store in memory keeps no log that can be played again; use sqlite:PATH";
        return Err(Rejected::new(Code::BadRequest, detail));
    }
    let mut log = clawhold_log::open(store).map_err(|error| unread(&error))?;
    let snapshot = log.latest_snapshot().map_err(|error| unread(&error))?;
    let (mut state, next) = match snapshot {
        Some(snapshot) => {
            let state = Known::restore(&snapshot.bytes).map_err(|error| unread(&error))?;
            (state, Number(snapshot.at.0 + 1))
        }
        None => (Known::default(), Number(1)),
    };
    let mut player = Player {
        log,
        next,
        read: VecDeque::new(),
        epoch: state.epoch(),
        last: state.last(),
        through: through.position,
        ready: VecDeque::new(),
        error: Cell::new(None),
    };
    let mut first = None;
    for (stamp, request) in player.by_ref() {
        if stamp.at >= since {
            first = Some((stamp, request));
            break;
        }
        state.apply(stamp, &request);
    }
    let from = first.as_ref().map_or(player.last, |(stamp, _)| *stamp);
    let entries = first.into_iter().chain(player.by_ref());
    let mut told = match spec {
        Spec::AlertRule(rule) => show_rule(&alert::backtest(state, title, rule, entries)),
        Spec::AutoFix(fix) => show_fix(&run::backtest(state, title, fix, entries)),
        Spec::Agent(_)
        | Spec::Command(_)
        | Spec::AlertRoute(_)
        | Spec::Runbook(_)
        | Spec::Channel(_)
        | Spec::Source(_) => return Err(Rejected::broken("play")),
    };
    if let Some(error) = player.error.take() {
        return Err(error);
    }
    told.from = view::moment(from);
    told.to = view::moment(through);
    Ok(told)
}

fn show_rule(found: &alert::Backtest) -> wire::Backtested {
    wire::Backtested {
        entries: found.entries,
        entries_with_fields: found.touched,
        matches: found.fired,
        moments: found.first.iter().map(show).collect(),
        ..wire::Backtested::default()
    }
}

fn show_fix(found: &FixBacktest) -> wire::Backtested {
    let decided = found.decided.iter().map(|(reason, count)| wire::DecidedCount {
        reason: reason.as_str().to_owned(),
        count: *count,
    });
    let moments = found.first.iter().map(|decision| wire::BacktestMoment {
        at: clock::rfc3339(decision.first.at),
        target: decision.name.as_str().to_owned(),
        reason: decision.reason.as_str().to_owned(),
        detail: decision.detail.as_str().to_owned(),
    });
    wire::Backtested {
        entries: found.entries,
        entries_with_fields: found.touched,
        matches: found.decided.values().sum(),
        decided: decided.collect(),
        moments: moments.collect(),
        ..wire::Backtested::default()
    }
}

fn show(fired: &Fired) -> wire::BacktestMoment {
    wire::BacktestMoment {
        at: clock::rfc3339(fired.stamp.at),
        target: fired.group.as_str().to_owned(),
        reason: "firing".to_owned(),
        detail: fired.summary.as_str().to_owned(),
    }
}

fn unread(error: &dyn std::error::Error) -> Rejected {
    let detail = format!("the log cannot be read: {}", chain(error));
    Problem::new(Code::Storage, detail).into()
}

/// The entries of a log, one after the other.
struct Player {
    log: Box<dyn Log>,
    next: Number,
    /// Records that were read and not taken in.
    read: VecDeque<clawhold_log::Record>,
    epoch: Epoch,
    /// Where the last entry stands; time passes on in it between entries.
    last: Stamp,
    /// The last entry that is wanted.
    through: Position,
    ready: VecDeque<Request>,
    error: Cell<Option<Rejected>>,
}

impl Player {
    /// Takes the next record in; `false` when there is none.
    fn fill(&mut self) -> Result<bool, Rejected> {
        if self.read.is_empty() {
            let records = self.log.read(self.next, READ_BYTES_MAX);
            self.read = records.map_err(|error| unread(&error))?.into();
        }
        let Some(record) = self.read.pop_front() else { return Ok(false) };
        self.next = Number(record.number.0 + 1);
        let epoch = Epoch(record.epoch.0);
        let decoded = Record::decode(&record.body).map_err(|error| unread(&error))?;
        // A record of a term that is over is void, as for every server.
        if epoch == self.epoch || decoded.begins(epoch, self.epoch) {
            self.epoch = epoch;
            self.take(decoded);
        }
        Ok(true)
    }

    fn take(&mut self, record: Record) {
        self.last.at = self.last.at.max(record.at);
        self.last.served = Served(self.last.served.0.saturating_add(record.elapsed_ms));
        self.ready.extend(record.requests);
    }
}

impl Iterator for Player {
    type Item = (Stamp, Request);

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            if self.last.position >= self.through {
                return None;
            }
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.error.set(Some(error));
                    return None;
                }
            }
        }
        if self.last.position >= self.through {
            return None;
        }
        let request = self.ready.pop_front()?;
        self.last.position = Position(self.last.position.0 + 1);
        Some((self.last, request))
    }
}
