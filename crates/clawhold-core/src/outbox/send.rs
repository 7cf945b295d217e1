//! Sending: one message at a time for each channel, in order, until the sink has it, refuses it,
//! or it has been tried for long enough.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::{Delivery, Message, Outbox, Sent};
use crate::alert::{Raised, Subject, sink_fact};
use crate::answer::{Answer, Kind, Refusal};
use crate::catalog::Severity;
use crate::change::What;
use crate::command::{RecordSent, RetryDelivery, Sending};
use crate::limits;
use crate::request::out_of_range;
use crate::state::{State, Step};
use crate::units::{Epoch, MessageId, Text, Timestamp, Title};

/// Milliseconds before the second try.
const BACKOFF_MS: u64 = 1_000;
/// Milliseconds that no wait between two tries exceeds, unless the sink asks for it: 5 minutes.
const BACKOFF_MS_MAX: u64 = 300_000;
/// Tries in a row that fail before the program says so by itself.
const DOWN_TRIES: u64 = 3;
/// What the program says of a channel whose sink takes nothing.
const DOWN_TITLE: &str = "Channel Down";

impl Outbox {
    /// Returns the messages that are to be sent at `now` by the server of this term: of each
    /// channel the first, if it is not on its way already, and each answer to a request.
    pub fn due(&self, now: Timestamp, epoch: Epoch) -> impl Iterator<Item = MessageId> {
        let heads = self.heads(epoch).filter(move |(_, delivery)| delivery.next <= now);
        heads.map(|(id, _)| id)
    }

    /// Returns when a message is to be sent by the server of this term.
    #[must_use]
    pub fn next_due(&self, epoch: Epoch) -> Option<Timestamp> {
        self.heads(epoch).map(|(_, delivery)| delivery.next).min()
    }

    /// Returns those that nothing is before and that the server of this term is not sending.
    fn heads(&self, epoch: Epoch) -> impl Iterator<Item = (MessageId, &Delivery)> {
        let mut channels: BTreeSet<&Title> = BTreeSet::new();
        let heads = self.deliveries.iter().filter(move |(id, _)| {
            let message = self.messages.get(id);
            message.is_some_and(|one| one.reply_url.is_some() || channels.insert(&one.channel))
        });
        let idle = heads.filter(move |(_, delivery)| !delivery.is_in_flight(epoch));
        idle.map(|(id, delivery)| (*id, delivery))
    }

    /// Returns the message of the same channel that goes first.
    fn before(&self, message: &Message) -> Option<MessageId> {
        if message.reply_url.is_some() {
            return None;
        }
        let earlier = self.deliveries.range(..message.id).map(|(id, _)| *id);
        let mut earlier = earlier.filter_map(|id| self.messages.get(&id));
        let first = earlier.find(|one| one.reply_url.is_none() && one.channel == message.channel);
        first.map(|first| first.id)
    }

    /// Gives a message up: it stays readable among those that no sink took.
    fn bury(&mut self, id: MessageId, delivery: Delivery) {
        self.dead.insert(id, delivery);
        if self.dead.len() > limits::DEAD_LETTERS_MAX {
            self.dead.pop_first();
        }
    }

    fn missed(&mut self, channel: &Title, now: Timestamp) {
        let (_, count) = self.down.entry(channel.clone()).or_insert((now, 0));
        *count = count.saturating_add(1);
    }

    fn require(&self, id: MessageId) -> Result<(&Message, &Delivery), Refusal> {
        let missing = || Refusal::NotFound { kind: Kind::Message, name: id.to_string().into() };
        let message = self.messages.get(&id).ok_or_else(missing)?;
        let delivery = self.deliveries.get(&id).ok_or_else(|| {
            out_of_range("message", id, "the number of a message that waits for its sink")
        })?;
        Ok((message, delivery))
    }
}

impl Delivery {
    /// Returns the way of a message that is to be sent at once.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            failures: 0,
            next: now,
            sending: None,
            doubt: None,
            error: Text::default(),
            until: now.after(limits::DELIVERY_MS),
        }
    }

    fn is_in_flight(&self, epoch: Epoch) -> bool {
        self.sending.is_some_and(|(term, _)| term == epoch)
    }

    /// Returns the milliseconds before the next try: doubled with each failed one, spread over a
    /// fifth, and never less than the sink asks for.
    fn backoff_ms(&self, id: MessageId, asked_ms: Option<u64>) -> u64 {
        let doublings = self.failures.saturating_sub(1).min(20);
        let most = BACKOFF_MS.saturating_mul(1 << doublings).min(BACKOFF_MS_MAX);
        let spread = most / 5;
        let ms = most - spread + spread_of(id, self.failures) % (spread + 1);
        ms.max(asked_ms.unwrap_or(0).min(limits::DELIVERY_MS))
    }
}

impl State {
    /// Records that a message is about to be sent. Only the first of its channel may be, and only
    /// once in a term. What a server of an earlier term was sending may have arrived.
    pub(crate) fn sending(
        &mut self,
        step: &mut Step,
        command: &Sending,
    ) -> Result<Answer, Refusal> {
        let (id, now, epoch) = (command.message, step.stamp.at, self.epoch);
        let outbox = &self.automation.outbox;
        let (message, delivery) = outbox.require(id)?;
        if delivery.is_in_flight(epoch) {
            return Err(Refusal::InUse { kind: Kind::Message, count: 1, by: "sender".into() });
        }
        if let Some(first) = outbox.before(message) {
            let by = format!("message before it in its channel, {first}");
            return Err(Refusal::InUse { kind: Kind::Channel, count: 1, by: by.into() });
        }
        if now < delivery.next {
            let allowed = format!("a message that is due: this one is at {}", delivery.next);
            return Err(out_of_range("message", id, &allowed));
        }
        if message.reply_url.is_none() && !self.automation.catalog.sends(&message.channel) {
            return Err(no_sink(id));
        }
        if let Some(delivery) = self.automation.outbox.deliveries.get_mut(&id) {
            let before = delivery.sending.replace((epoch, step.stamp));
            delivery.doubt = before.map(|(_, since)| since.at).or(delivery.doubt);
        }
        step.note(What::Message { message: id });
        Ok(Answer::Done)
    }

    /// Records how sending a message ended. The run that waits for it is told once it is known
    /// whether the sink has it.
    pub(crate) fn record_sent(
        &mut self,
        step: &mut Step,
        command: &RecordSent,
    ) -> Result<Answer, Refusal> {
        let (id, now, epoch) = (command.message, step.stamp.at, self.epoch);
        let (message, delivery) = self.automation.outbox.require(id)?;
        if !delivery.is_in_flight(epoch) {
            return Err(out_of_range("message", id, "the number of a message that is being sent"));
        }
        let waits = message.run.zip(message.step);
        let channel = message.reply_url.is_none().then(|| message.channel.clone());
        let in_doubt = delivery.doubt.is_some();
        let ended = self.automation.outbox.settle(now, id, &command.sent);
        step.note(What::Message { message: id });
        if let Some(channel) = channel {
            self.note_sink(step, &channel, &command.sent);
        }
        if let Some((run, index)) = waits.filter(|_| ended) {
            self.step_sent(step, run, index, &command.sent, in_doubt);
        }
        Ok(Answer::Done)
    }

    /// Tries a message again that no sink took.
    pub(crate) fn retry_delivery(
        &mut self,
        step: &mut Step,
        command: &RetryDelivery,
    ) -> Result<Answer, Refusal> {
        let id = command.message;
        let outbox = &self.automation.outbox;
        let missing = || Refusal::NotFound { kind: Kind::Message, name: id.to_string().into() };
        let message = outbox.messages.get(&id).ok_or_else(missing)?;
        let dead = outbox.dead.get(&id);
        let dead = dead.ok_or_else(|| {
            out_of_range("message", id, "the number of a message that no sink took")
        })?;
        if message.reply_url.is_none() && !self.automation.catalog.sends(&message.channel) {
            return Err(no_sink(id));
        }
        let fresh = Delivery::new(step.stamp.at);
        let delivery = Delivery { doubt: dead.doubt, error: dead.error.clone(), ..fresh };
        let outbox = &mut self.automation.outbox;
        outbox.dead.remove(&id);
        outbox.deliveries.insert(id, delivery);
        step.note(What::Message { message: id });
        Ok(Answer::Done)
    }

    /// Lets go of what waits for the sink of a channel that has none any more, or goes to another
    /// one at once.
    pub(crate) fn channel_changed(&mut self, step: &mut Step, channel: &Title) {
        let sends = self.automation.catalog.sends(channel);
        let outbox = &mut self.automation.outbox;
        let of_channel =
            |message: &&Message| message.reply_url.is_none() && message.channel == *channel;
        let waiting = outbox.deliveries.keys().filter_map(|id| outbox.messages.get(id));
        let waiting: Vec<MessageId> =
            waiting.filter(of_channel).map(|message| message.id).collect();
        for id in waiting {
            if sends {
                if let Some(delivery) = outbox.deliveries.get_mut(&id) {
                    delivery.next = step.stamp.at;
                }
            } else if let Some(mut delivery) = outbox.deliveries.remove(&id) {
                delivery.sending = None;
                delivery.error = Text::cut("the channel has no sink any more");
                outbox.bury(id, delivery);
            }
            step.note(What::Message { message: id });
        }
        if !sends && outbox.down.remove(channel).is_some() {
            self.clear_alert(step, &down_title(), &Text::cut(channel.as_str()));
        }
    }

    /// Raises that a channel's sink takes nothing, or clears it. A rule that watches for it says
    /// it instead.
    fn note_sink(&mut self, step: &mut Step, channel: &Title, sent: &Sent) {
        let group = Text::cut(channel.as_str());
        let Some((since, count)) = self.automation.outbox.down(channel) else {
            return self.clear_alert(step, &down_title(), &group);
        };
        let error = match sent {
            Sent::Failed { error, .. } | Sent::Refused { error } => error.clone(),
            Sent::Delivered { .. } => return,
        };
        if count < DOWN_TRIES || self.watches_sinks() {
            return;
        }
        let raised = Raised {
            title: down_title(),
            group,
            grouping: None,
            severity: Severity::Warning,
            summary: sink_fact(channel, since, count),
            details: alloc::vec![error],
            channels: Vec::new(),
        };
        self.raise_about(step, raised, Subject::Channel(channel.clone()));
    }
}

impl Outbox {
    /// Records how a try ended, and tells whether it was the last.
    fn settle(&mut self, now: Timestamp, id: MessageId, sent: &Sent) -> bool {
        let message = self.messages.get(&id).filter(|message| message.reply_url.is_none());
        let channel = message.map(|message| message.channel.clone());
        let Some(mut delivery) = self.deliveries.remove(&id) else { return false };
        delivery.sending = None;
        if let (Some(channel), Sent::Failed { .. } | Sent::Refused { .. }) = (&channel, sent) {
            self.missed(channel, now);
        }
        match sent {
            Sent::Delivered { .. } => {
                self.delivered.insert(id, now);
                if let Some(channel) = &channel {
                    self.down.remove(channel);
                }
                true
            }
            Sent::Refused { error } => {
                delivery.failures = delivery.failures.saturating_add(1);
                delivery.error = error.clone();
                self.bury(id, delivery);
                true
            }
            Sent::Failed { error, retry_ms } => {
                delivery.failures = delivery.failures.saturating_add(1);
                delivery.error = error.clone();
                let next = now.after(delivery.backoff_ms(id, *retry_ms));
                if next >= delivery.until {
                    self.bury(id, delivery);
                    return true;
                }
                delivery.next = next;
                self.deliveries.insert(id, delivery);
                false
            }
        }
    }
}

fn no_sink(id: MessageId) -> Refusal {
    out_of_range("message", id, "a message whose channel is enabled and has a sink")
}

fn down_title() -> Title {
    Title::parse(DOWN_TITLE).expect("a fixed title")
}

/// Spreads neighbouring numbers over all numbers (splitmix64), the same on every server.
fn spread_of(id: MessageId, failures: u32) -> u64 {
    let z = (id.0 ^ (u64::from(failures) << 40)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
