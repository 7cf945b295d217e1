//! Sending what is in the outbox, while this server is the active one.
//!
//! That a message is about to be sent is recorded before, how it ended after. Each channel is a
//! lane of its own: in order, one at a time, and no lane waits for another.

use std::collections::BTreeSet;
use std::time::Duration;

use clawhold_core::catalog::{Noun, Spec};
use clawhold_core::change::What;
use clawhold_core::command::{Automate, Command, RecordSent, Request, Sending};
use clawhold_core::outbox::{Message, Outbox, Sent};
use clawhold_core::replica::{Mode, Replica};
use clawhold_core::units::{MessageId, Text, Timestamp, Title};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tracing::{info, warn};

use crate::clock;
use crate::driver::{Failure, Handle};
use crate::outside::{Outside, is_reply_url};
use crate::sink::{self, Address, Letter};

/// How long the sender sleeps at most: for what is due by time alone, and what it missed.
const SWEEP_MS: u64 = 1_000;
/// How long it waits before it tries to record an outcome again.
const RECORD_AGAIN: Duration = Duration::from_millis(500);
/// Lanes that send at once.
const LANES_MAX: usize = 64;
/// Answers that one request from a chat may get.
const REPLIES_MAX: usize = 5;

/// What is sent in order: the messages of a channel, or the answers to one request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Channel(Title),
    Reply(String),
}

/// A message that is due, and where it goes.
#[derive(Debug)]
struct Due {
    lane: Lane,
    message: MessageId,
}

/// What a look at the outbox finds.
#[derive(Debug, Default)]
struct Look {
    due: Vec<Due>,
    /// When something is due next by time alone.
    next: Option<Timestamp>,
}

/// Sends until the server ends.
pub(crate) async fn run(handle: Handle, outside: Outside) {
    let mut changes = handle.changes();
    let mut standing = handle.standing();
    let (ended, mut lane_ended) = mpsc::channel::<Lane>(LANES_MAX);
    let mut busy: BTreeSet<Lane> = BTreeSet::new();
    loop {
        let mode = standing.borrow_and_update().mode;
        let mut sleep_ms = SWEEP_MS;
        match mode {
            Mode::Stopped => return,
            Mode::Active => {
                let skip = busy.clone();
                let look = handle.read(move |replica| look(replica, &skip));
                let look = look.await.unwrap_or_default();
                sleep_ms = look.sleep_ms();
                for due in look.due {
                    if busy.len() < LANES_MAX && busy.insert(due.lane.clone()) {
                        let post = Post { handle: handle.clone(), outside: outside.clone() };
                        tokio::spawn(post.carry(due, ended.clone()));
                    }
                }
            }
            Mode::Standby | Mode::TakingOver => {}
        }
        tokio::select! {
            Some(lane) = lane_ended.recv() => {
                busy.remove(&lane);
            }
            news = about_messages(&mut changes) => if news.is_none() { return },
            turned = standing.changed() => if turned.is_err() { return },
            () = clock::pause(Duration::from_millis(sleep_ms)) => {}
        }
    }
}

/// Waits for a change about messages or channels; `None` when there will be none.
async fn about_messages(
    changes: &mut tokio::sync::broadcast::Receiver<std::sync::Arc<[clawhold_core::change::Change]>>,
) -> Option<()> {
    loop {
        match changes.recv().await {
            Ok(batch) => {
                let concerns = |what: &What| {
                    matches!(
                        what,
                        What::Message { .. } | What::Definition { noun: Noun::Channel, .. }
                    )
                };
                if batch.iter().any(|change| concerns(&change.what)) {
                    return Some(());
                }
            }
            Err(RecvError::Lagged(_)) => return Some(()),
            Err(RecvError::Closed) => return None,
        }
    }
}

impl Look {
    fn sleep_ms(&self) -> u64 {
        let now = clock::now().at;
        let next = self.next.map_or(SWEEP_MS, |next| next.0.saturating_sub(now.0));
        next.clamp(10, SWEEP_MS)
    }
}

fn look(replica: &Replica, busy: &BTreeSet<Lane>) -> Look {
    let state = replica.state();
    let outbox = state.automation().outbox();
    let now = replica.now().at;
    let due = outbox.due(now, state.epoch()).filter_map(|message| {
        let lane = lane(outbox.get(message)?);
        (!busy.contains(&lane)).then_some(Due { lane, message })
    });
    let due = due.take(LANES_MAX).collect();
    // What is due already waits for its lane, whose end wakes the sender.
    let next = outbox.next_due(state.epoch()).filter(|next| *next > now);
    Look { due, next }
}

fn lane(message: &Message) -> Lane {
    match &message.reply_url {
        Some(url) => Lane::Reply(url.as_str().to_owned()),
        None => Lane::Channel(message.channel.clone()),
    }
}

/// One letter's way: recorded, sent, recorded.
struct Post {
    handle: Handle,
    outside: Outside,
}

impl Post {
    async fn carry(self, due: Due, ended: mpsc::Sender<Lane>) {
        self.deliver(due.message).await;
        // The sender's loop ends with the server.
        let _ = ended.send(due.lane).await;
    }

    async fn deliver(&self, message: MessageId) {
        let begun = self.submit(Automate::Sending(Sending { message }), move |replica| {
            letter(replica, message)
        });
        let (letter, address) = match begun.await {
            Ok(Some(begun)) => begun,
            // It was called off, or another server is the active one.
            Ok(None) | Err(_) => return,
        };
        let sent = match address {
            Ok(address) => address.send(&self.outside, &letter).await,
            Err(refused) => refused,
        };
        tell(&letter, &sent);
        self.record(message, sent).await;
    }

    /// Records how it ended, again until it is known to be recorded or this server is not the
    /// active one.
    async fn record(&self, message: MessageId, sent: Sent) {
        loop {
            let record = Automate::RecordSent(RecordSent { message, sent: sent.clone() });
            match self.submit(record, |_| Some(())).await {
                Ok(_) => return,
                Err(Failure::NotActive { .. } | Failure::Stopping) => return,
                Err(Failure::Overloaded | Failure::OutcomeUnknown | Failure::Storage { .. }) => {
                    clock::pause(RECORD_AGAIN).await;
                }
            }
        }
    }

    /// Submits what only the active server asks; `None` when it was refused.
    async fn submit<T: Send + 'static>(
        &self,
        command: Automate,
        view: impl FnOnce(&Replica) -> Option<T> + Send + 'static,
    ) -> Result<Option<T>, Failure> {
        let command = Command::Automate(Box::new(command));
        let request = Request { id: None, actor: None, command };
        let submitted = self.handle.submit(request, move |replica, applied| {
            applied.answer.as_ref().ok().and_then(|_| view(replica))
        });
        submitted.await
    }
}

/// Returns a message as it is sent, and where: its channel's sink, or the address that came with
/// the request it answers.
fn letter(replica: &Replica, id: MessageId) -> Option<(Letter, Result<Address, Sent>)> {
    let automation = replica.state().automation();
    let outbox = automation.outbox();
    let message = outbox.get(id)?.clone();
    let doubt = outbox.deliveries().find(|(known, _)| *known == id)?.1.doubt;
    let address = match &message.reply_url {
        Some(url) => reply(outbox, &message, url),
        None => match automation.catalog().get(Noun::Channel, &message.channel) {
            Some(known) if !known.enabled => Err(sink::failed("the channel is disabled", None)),
            Some(known) => {
                let bound = match &known.spec {
                    Spec::Channel(channel) => channel.sink.clone(),
                    Spec::Agent(_)
                    | Spec::Command(_)
                    | Spec::AlertRule(_)
                    | Spec::AlertRoute(_)
                    | Spec::AutoFix(_)
                    | Spec::Runbook(_)
                    | Spec::Source(_) => None,
                };
                let bound = bound.map(Address::Sink);
                bound.ok_or_else(|| sink::refused("the channel has no sink"))
            }
            None => Err(sink::refused("the channel is no more")),
        },
    };
    Some((Letter { message, doubt }, address))
}

fn reply(outbox: &Outbox, message: &Message, url: &Text) -> Result<Address, Sent> {
    if !is_reply_url(url.as_str()) {
        return Err(sink::refused("answers go to https or to this host only"));
    }
    let told = outbox.list(MessageId(0)).filter(|earlier| {
        earlier.reply_url.as_ref() == Some(url) && outbox.delivered(earlier.id).is_some()
    });
    if told.filter(|earlier| earlier.id != message.id).count() >= REPLIES_MAX {
        let error = format!("the request has got its {REPLIES_MAX} answers");
        return Err(sink::refused(error));
    }
    Ok(Address::Reply(url.as_str().to_owned()))
}

fn tell(letter: &Letter, sent: &Sent) {
    let (message, channel) = (letter.message.id.0, letter.message.channel.as_str());
    match sent {
        Sent::Delivered { .. } => info!(message, channel, "a message was taken"),
        Sent::Failed { error, .. } => {
            warn!(message, channel, error = error.as_str(), "a sink did not take a message");
        }
        Sent::Refused { error } => {
            warn!(message, channel, error = error.as_str(), "a sink refused a message");
        }
    }
}
