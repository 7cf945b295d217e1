//! The loop that drives the replica: the only place from which anything is appended.
//!
//! One thread owns the replica and takes messages; [`Handle`] hides the channel. Requests wait
//! for the log in the replica, reads and beats are answered at once. A reply leaves only after
//! its entry is durable and applied.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel,
};
use std::time::Duration;

use clawhold_core::answer::Refusal;
use clawhold_core::beat::{Beat, BeatAnswer};
use clawhold_core::change::Change;
use clawhold_core::command::Request;
use clawhold_core::record::{BadRecord, Encoded};
use clawhold_core::replica::{Action, Call, Declined, Event, Mode, NoBeat, Replica};
use clawhold_core::units::{Epoch, Position};
use clawhold_core::{ActiveServer, Applied};
use tokio::sync::{broadcast, oneshot, watch};
use tracing::{error, info};

use crate::clock;
use crate::journal::Order;
use crate::keeper::{Keep, Snapshot};

/// Messages that may wait for the driver. When it is full, callers are told so.
pub(crate) const MESSAGES_MAX: usize = 65_536;
/// Batches of changes that a slow listener may lag behind before it is told to read anew.
const CHANGES_MAX: usize = 4_096;
/// Messages taken in at one turn.
const TURN_MAX: usize = 4_096;
/// How long a caller waits for its outcome before it is told that it is unknown.
const OUTCOME_TIMEOUT: Duration = Duration::from_secs(30);

type View = Box<dyn FnOnce(&Replica) + Send>;
type BeatReply = oneshot::Sender<Result<Result<BeatAnswer, Refusal>, Failure>>;

/// What the driver's thread is told.
pub(crate) enum Message {
    Submit { request: Box<Encoded>, ask: Box<dyn Ask> },
    Read { view: View },
    Beat { beat: Box<Beat>, reply: BeatReply },
    Log(Event),
    Broken { reason: String },
    Stop,
}

/// Whoever waits for a request's outcome.
pub(crate) trait Ask: Send {
    /// Looks before the request is submitted; false when that was the answer.
    fn look(&mut self, replica: &Replica) -> bool;

    /// Takes the outcome.
    fn answer(self: Box<Self>, outcome: Result<(&Replica, &Applied), Failure>);
}

struct Asked<T, L, V> {
    reply: Option<oneshot::Sender<Result<T, Failure>>>,
    /// There until the driver takes the request in.
    look: Option<L>,
    view: Option<V>,
}

impl<T, L, V> Drop for Asked<T, L, V> {
    fn drop(&mut self) {
        // A request that no driver took in, because it ended, certainly did nothing.
        if let (Some(reply), Some(_)) = (self.reply.take(), &self.look) {
            let _ = reply.send(Err(Failure::Stopping));
        }
    }
}

impl<T, L, V> Ask for Asked<T, L, V>
where
    T: Send,
    L: FnOnce(&Replica) -> Option<T> + Send,
    V: FnOnce(&Replica, &Applied) -> T + Send,
{
    fn look(&mut self, replica: &Replica) -> bool {
        let seen = self.look.take().and_then(|look| look(replica));
        let Some(seen) = seen else { return true };
        if let Some(reply) = self.reply.take() {
            // A caller that went away needs no answer.
            let _ = reply.send(Ok(seen));
        }
        false
    }

    fn answer(mut self: Box<Self>, outcome: Result<(&Replica, &Applied), Failure>) {
        if let (Some(reply), Some(view)) = (self.reply.take(), self.view.take()) {
            let _ = reply.send(outcome.map(|(replica, applied)| view(replica, applied)));
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Another server is the active one. Certainly nothing happened.
    #[error("another server is the active one")]
    NotActive {
        /// Where it is, if it says so.
        active_url: Option<String>,
    },
    /// Too much waits. Certainly nothing happened.
    #[error("too many requests wait for the log")]
    Overloaded,
    /// It may have happened or not; the same request id tells.
    #[error("the outcome is not known yet; ask again with the same request id")]
    OutcomeUnknown,
    /// This server stops. Certainly nothing happened.
    #[error("this server stops")]
    Stopping,
    /// The log refused it. Certainly nothing happened.
    #[error("the log refused it: {text}")]
    Storage {
        /// What the log said.
        text: String,
    },
}

/// What this server is at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its part in the log.
    pub mode: Mode,
    /// The current term.
    pub epoch: Epoch,
    /// The last entry applied.
    pub position: Position,
    /// Where the active server is, if there is one and it says so.
    pub active_url: Option<String>,
}

/// The way to the driver's thread.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    messages: SyncSender<Message>,
    changes: broadcast::Sender<Arc<[Change]>>,
    standing: watch::Receiver<Standing>,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Submit { .. } => "Submit",
            Self::Read { .. } => "Read",
            Self::Beat { .. } => "Beat",
            Self::Log(_) => "Log",
            Self::Broken { .. } => "Broken",
            Self::Stop => "Stop",
        })
    }
}

impl Handle {
    /// Submits a request. `view` runs on the driver's thread at the entry's own position, right
    /// after it was applied.
    ///
    /// # Errors
    /// [`Failure`]; only [`Failure::OutcomeUnknown`] leaves open whether it happened.
    pub(crate) async fn submit<T: Send + 'static>(
        &self,
        request: Request,
        view: impl FnOnce(&Replica, &Applied) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        self.submit_unless(request, |_| None, view).await
    }

    /// Submits a request, unless `look` has an answer already.
    ///
    /// # Errors
    /// As for [`Handle::submit`].
    pub(crate) async fn submit_unless<T: Send + 'static>(
        &self,
        request: Request,
        look: impl FnOnce(&Replica) -> Option<T> + Send + 'static,
        view: impl FnOnce(&Replica, &Applied) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (sender, receiver) = oneshot::channel();
        let ask = Box::new(Asked { reply: Some(sender), look: Some(look), view: Some(view) });
        // Encoded here, so that the driver's thread does not have to.
        let request = Box::new(Encoded::new(request));
        self.send(Message::Submit { request, ask })?;
        match tokio::time::timeout(OUTCOME_TIMEOUT, receiver).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(Failure::OutcomeUnknown),
        }
    }

    /// Reads at the current position.
    ///
    /// # Errors
    /// [`Failure::Overloaded`] or [`Failure::Stopping`].
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        view: impl FnOnce(&Replica) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (sender, receiver) = oneshot::channel();
        let view: View = Box::new(move |replica| {
            let _ = sender.send(view(replica));
        });
        self.send(Message::Read { view })?;
        receiver.await.map_err(|_| Failure::Stopping)
    }

    /// Takes a beat in.
    ///
    /// # Errors
    /// [`Failure`] when this server cannot confirm it.
    pub(crate) async fn beat(&self, beat: Beat) -> Result<Result<BeatAnswer, Refusal>, Failure> {
        let (reply, receiver) = oneshot::channel();
        self.send(Message::Beat { beat: Box::new(beat), reply })?;
        match tokio::time::timeout(OUTCOME_TIMEOUT, receiver).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(Failure::OutcomeUnknown),
        }
    }

    /// Returns a receiver that is woken with the changes of each batch applied. One that lags too
    /// far is told so and must read anew.
    #[must_use]
    pub(crate) fn changes(&self) -> broadcast::Receiver<Arc<[Change]>> {
        self.changes.subscribe()
    }

    /// Returns what this server is, and wakes its receiver whenever that changes.
    #[must_use]
    pub(crate) fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    /// Asks the driver to step down and end. Asking twice is harmless.
    pub(crate) fn stop(&self) {
        // A driver that has ended needs no asking.
        let _ = self.messages.send(Message::Stop);
    }

    fn send(&self, message: Message) -> Result<(), Failure> {
        self.messages.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => Failure::Overloaded,
            TrySendError::Disconnected(_) => Failure::Stopping,
        })
    }
}

/// What the driver keeps beside the replica.
pub(crate) struct Driver {
    replica: Replica,
    messages: Receiver<Message>,
    orders: SyncSender<Order>,
    keep: Keep,
    pending: HashMap<Call, Pending>,
    calls: u64,
    /// Whether a request came in that the replica has not acted upon.
    submitted: bool,
    changes: broadcast::Sender<Arc<[Change]>>,
    standing: watch::Sender<Standing>,
    mode: Mode,
    logged: Logged,
    on_turn: Box<dyn FnMut(&Replica) + Send>,
}

/// How much was logged since the last snapshot.
#[derive(Debug, Default)]
struct Logged {
    records: u64,
    bytes: usize,
}

/// Records after which a snapshot is taken.
const SNAPSHOT_RECORDS: u64 = 100_000;
/// Bytes after which a snapshot is taken, but never before twice the size of the last one.
const SNAPSHOT_BYTES: usize = 256 * 1_024 * 1_024;
/// Records that make a snapshot worth while when the server stops.
const SNAPSHOT_RECORDS_AT_STOP: u64 = 1_000;

enum Pending {
    Ask(Box<dyn Ask>),
    Beat(Box<Beat>, BeatReply),
}

/// Why the driver ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The log holds what this program cannot apply.
    #[error("the log holds what this program cannot apply")]
    Record(#[from] BadRecord),
    /// The log is damaged or was trimmed behind this server's back.
    #[error("the log cannot be followed: {0}")]
    Log(String),
}

impl Driver {
    /// Returns a driver and the way to it. `on_turn` is called at every turn of the loop, at
    /// least ten times a second.
    pub(crate) fn new(
        replica: Replica,
        channel: (SyncSender<Message>, Receiver<Message>),
        orders: SyncSender<Order>,
        keep: Keep,
        on_turn: Box<dyn FnMut(&Replica) + Send>,
    ) -> (Self, Handle) {
        let (changes, _) = broadcast::channel(CHANGES_MAX);
        let (standing, watched) = watch::channel(standing(&replica));
        let (sender, messages) = channel;
        let handle = Handle { messages: sender, changes: changes.clone(), standing: watched };
        let driver = Self {
            mode: replica.mode(),
            replica,
            messages,
            orders,
            keep,
            pending: HashMap::new(),
            calls: 0,
            submitted: false,
            changes,
            standing,
            logged: Logged::default(),
            on_turn,
        };
        (driver, handle)
    }

    /// Drives until it is asked to stop.
    ///
    /// # Errors
    /// [`Broken`] when it cannot go on.
    pub(crate) fn run(mut self) -> Result<(), Broken> {
        loop {
            let tick_ms = self.replica.next_tick_ms();
            let tick_at_ms = self.replica.now().uptime_ms.saturating_add(tick_ms);
            let wait_ms = tick_at_ms.saturating_sub(clock::now().uptime_ms);
            match self.messages.recv_timeout(Duration::from_millis(wait_ms)) {
                Ok(message) => self.take(message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            for _ in 0..TURN_MAX {
                match self.messages.try_recv() {
                    Ok(message) => self.take(message)?,
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                }
            }
            // What came in together leaves together. Reads and beats do not let the replica act:
            // they must not hold back what is due.
            if std::mem::take(&mut self.submitted) || clock::now().uptime_ms >= tick_at_ms {
                self.step(Event::Tick)?;
            }
            self.tell_standing();
            (self.on_turn)(&self.replica);
            if self.replica.mode() == Mode::Stopped {
                self.end();
                return Ok(());
            }
        }
    }

    fn take(&mut self, message: Message) -> Result<(), Broken> {
        match message {
            Message::Submit { request, mut ask } => {
                if !ask.look(&self.replica) {
                    return Ok(());
                }
                let call = self.call(Pending::Ask(ask));
                self.submitted = true;
                let declined = self.replica.submit(clock::now(), call, *request);
                declined.into_iter().for_each(|action| self.carry_out(action));
                Ok(())
            }
            Message::Read { view } => {
                view(&self.replica);
                Ok(())
            }
            Message::Beat { beat, reply } => self.beat(beat, reply),
            Message::Log(event) => self.step(event),
            Message::Broken { reason } => Err(Broken::Log(reason)),
            Message::Stop => self.step(Event::Stop),
        }
    }

    fn call(&mut self, pending: Pending) -> Call {
        self.calls += 1;
        let call = Call(self.calls);
        self.pending.insert(call, pending);
        call
    }

    fn beat(&mut self, beat: Box<Beat>, reply: BeatReply) -> Result<(), Broken> {
        let outcome = match self.replica.beat(clock::now(), &beat) {
            Ok(answer) => Ok(Ok(answer)),
            Err(NoBeat::Refused(refusal)) => Ok(Err(refusal)),
            Err(NoBeat::NotActive) => Err(self.not_active()),
            Err(NoBeat::RecordFirst(request)) => {
                let call = self.call(Pending::Beat(beat, reply));
                return self.step(Event::Submit { call, request: *request });
            }
        };
        // A caller that went away needs no answer.
        let _ = reply.send(outcome);
        Ok(())
    }

    fn step(&mut self, event: Event) -> Result<(), Broken> {
        let actions = self.replica.step(clock::now(), event)?;
        for action in actions {
            self.carry_out(action);
        }
        self.apply();
        // What was applied may have made room for the next batch.
        if self.replica.mode() == Mode::Active && self.replica.waiting_count() > 0 {
            for action in self.replica.step(clock::now(), Event::Tick)? {
                self.carry_out(action);
            }
        }
        self.snapshot_if_due();
        self.turn_mode();
        Ok(())
    }

    fn apply(&mut self) {
        let mut changes = Vec::new();
        let mut beats = Vec::new();
        while let Some((call, mut applied)) = self.replica.apply_next() {
            changes.append(&mut applied.changes);
            match call.and_then(|call| self.pending.remove(&call)) {
                Some(Pending::Ask(ask)) => ask.answer(Ok((&self.replica, &applied))),
                Some(Pending::Beat(beat, reply)) => beats.push((beat, reply)),
                None => {}
            }
        }
        if !changes.is_empty() {
            // Nobody listening is no failure.
            let _ = self.changes.send(changes.into());
        }
        for (beat, reply) in beats {
            let outcome = match self.replica.beat(clock::now(), &beat) {
                Ok(answer) => Ok(Ok(answer)),
                Err(NoBeat::Refused(refusal)) => Ok(Err(refusal)),
                Err(NoBeat::NotActive | NoBeat::RecordFirst(_)) => Err(self.not_active()),
            };
            let _ = reply.send(outcome);
        }
    }

    fn carry_out(&mut self, action: Action) {
        let order = match action {
            Action::Append { number, epoch, body } => {
                self.logged.records += 1;
                self.logged.bytes += body.len();
                Order::Append { number, epoch, body }
            }
            Action::TakeOver { epoch, body } => Order::TakeOver { epoch, body },
            Action::ReadBack { number } => Order::ReadBack { number },
            Action::LeavePresence => Order::LeavePresence,
            Action::Decline { call, reason } => return self.decline(call, reason),
        };
        self.order(order);
    }

    fn order(&self, order: Order) {
        if self.orders.send(order).is_err() {
            error!("the log's thread is gone");
        }
    }

    fn decline(&mut self, call: Call, reason: Declined) {
        let failure = match reason {
            Declined::NotActive => self.not_active(),
            Declined::Overloaded => Failure::Overloaded,
            Declined::Stopping => Failure::Stopping,
            Declined::Storage { reason } => Failure::Storage { text: reason },
        };
        match self.pending.remove(&call) {
            Some(Pending::Ask(ask)) => ask.answer(Err(failure)),
            Some(Pending::Beat(_, reply)) => {
                let _ = reply.send(Err(failure));
            }
            None => {}
        }
    }

    fn not_active(&self) -> Failure {
        Failure::NotActive { active_url: standing(&self.replica).active_url }
    }

    /// Tells the log's thread when this server begins or ceases to lead.
    fn turn_mode(&mut self) {
        let mode = self.replica.mode();
        if mode == self.mode {
            return;
        }
        let was = std::mem::replace(&mut self.mode, mode);
        info!(?was, is = ?mode, epoch = self.replica.state().epoch().0, "this server turned");
        if mode == Mode::Active {
            self.order(Order::Lead);
        } else if was == Mode::Active && mode == Mode::Standby {
            self.order(Order::Follow { next: self.replica.next_record() });
        }
    }

    fn tell_standing(&self) {
        let standing = standing(&self.replica);
        self.standing.send_if_modified(|told| {
            let turned = told.mode != standing.mode || told.active_url != standing.active_url;
            *told = standing;
            turned
        });
    }

    fn snapshot_if_due(&mut self) {
        let bytes_max = SNAPSHOT_BYTES.max(self.keep.last_bytes().saturating_mul(2));
        let due = self.logged.records >= SNAPSHOT_RECORDS || self.logged.bytes >= bytes_max;
        if due && !self.keep.is_busy() {
            self.snapshot();
        }
    }

    fn snapshot(&mut self) {
        self.logged = Logged::default();
        let next = self.replica.next_record();
        let at = clawhold_core::units::RecordNumber(next.0.saturating_sub(1));
        self.keep.keep(Snapshot { at, state: self.replica.state().freeze() });
    }

    fn end(&mut self) {
        if self.logged.records >= SNAPSHOT_RECORDS_AT_STOP {
            self.snapshot();
        }
        let failure = Failure::Stopping;
        for (_, pending) in self.pending.drain() {
            match pending {
                Pending::Ask(ask) => ask.answer(Err(failure.clone())),
                Pending::Beat(_, reply) => {
                    let _ = reply.send(Err(failure.clone()));
                }
            }
        }
    }
}

/// Returns a channel to a driver.
pub(crate) fn channel() -> (SyncSender<Message>, Receiver<Message>) {
    sync_channel(MESSAGES_MAX)
}

fn standing(replica: &Replica) -> Standing {
    let state = replica.state();
    let url = active_url(replica);
    Standing {
        mode: replica.mode(),
        epoch: state.epoch(),
        position: state.last().position,
        active_url: url.map(str::to_owned),
    }
}

/// Returns where the active server is, as far as is known. One that was the active one before it
/// was started again is not so any more, whatever the log still says.
pub(crate) fn active_url(replica: &Replica) -> Option<&str> {
    let is_former_self = |url: &&str| replica.mode() != Mode::Active && *url == replica.advertise();
    replica.state().active().and_then(ActiveServer::url).filter(|url| !is_former_self(url))
}

#[cfg(test)]
mod tests {
    use clawhold_core::State;
    use clawhold_core::command::{Command, TakeOver};
    use clawhold_core::replica::{Config, Now};
    use clawhold_core::units::{RecordNumber, Served, Stamp, Text, Timestamp};

    use super::*;

    #[test]
    fn a_server_that_starts_again_does_not_take_itself_for_the_active_one() {
        let command = Command::TakeOver(TakeOver {
            epoch: Epoch(1),
            advertise: Text::cut("http://a"),
            hold_ms: 3_000,
            nonce: 1,
            present: false,
            former_gone: false,
        });
        let mut state = State::default();
        let stamp = Stamp { at: Timestamp(1), served: Served(0), position: Position(1) };
        let applied = state.apply(stamp, &Request { id: None, actor: None, command });
        assert!(applied.answer.is_ok());
        for (own, expected) in [("http://a", None), ("http://b", Some("http://a"))] {
            let config = Config { advertise: Text::cut(own), hold_ms: 3_000, nonce: 2 };
            let now = Now { at: Timestamp(2), uptime_ms: 0 };
            let replica = Replica::new(config, state.clone(), RecordNumber(2), now);
            assert_eq!(standing(&replica).active_url.as_deref(), expected);
        }
    }
}
