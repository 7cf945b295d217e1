//! Messages: written once, kept in the inbox, taken by sinks when they can.
//!
//! What is to be sent is in the log before it is sent, and that it was sent as well, so a server
//! that takes over sends what is left. Only what was being sent when a server died may come twice:
//! its second copy says so. How a message is written is told here, how it is sent in `send`.

mod send;
#[cfg(test)]
mod tests;
mod write;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::catalog::Severity;
use crate::units::{AlertId, Epoch, MessageId, RunId, Stamp, Text, Timestamp, Title};

pub(crate) use write::Draft;

/// A message. Its parts are data: only the renderer of a sink writes markup.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Message {
    /// Its number.
    #[n(0)]
    pub id: MessageId,
    /// The channel.
    #[n(1)]
    pub channel: Title,
    /// When it was written.
    #[n(2)]
    pub stamp: Stamp,
    /// How bad it is.
    #[n(3)]
    pub severity: Severity,
    /// What it says first.
    #[n(4)]
    pub title: Text,
    /// What it says, a line each.
    #[n(5)]
    pub lines: Vec<Text>,
    /// Who is named in it, as the operator wrote it.
    #[n(6)]
    pub mention: Option<Text>,
    /// The run that it is about.
    #[n(7)]
    pub run: Option<RunId>,
    /// The step of the run that waits for it.
    #[n(8)]
    pub step: Option<u32>,
    /// The alert that it is about.
    #[n(9)]
    pub alert: Option<AlertId>,
    /// Where it is told instead of the channel's sink: the address that came with a request.
    #[n(10)]
    pub reply_url: Option<Text>,
    /// What sinks that know it use to take it once only: the alert and its transition, the run and
    /// its step.
    #[n(11)]
    pub key: Text,
}

/// What is becoming of a message on its way to a sink.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Delivery {
    /// Tries that failed.
    #[n(0)]
    pub failures: u32,
    /// When it is tried next.
    #[n(1)]
    pub next: Timestamp,
    /// The term of the server that is sending it, and since when.
    #[n(2)]
    pub sending: Option<(Epoch, Stamp)>,
    /// When it was being sent by a server that did not say how it ended.
    #[n(3)]
    pub doubt: Option<Timestamp>,
    /// What the sink said last.
    #[n(4)]
    pub error: Text,
    /// When it is given up.
    #[n(5)]
    pub until: Timestamp,
}

/// How a try to deliver ended.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Sent {
    /// The sink took it.
    #[n(0)]
    Delivered {
        /// What it said.
        #[n(0)]
        said: Text,
    },
    /// It did not, and may later.
    #[n(1)]
    Failed {
        /// What it said.
        #[n(0)]
        error: Text,
        /// Milliseconds that it wants to be left alone.
        #[n(1)]
        retry_ms: Option<u64>,
    },
    /// It never will.
    #[n(2)]
    Refused {
        /// What it said.
        #[n(0)]
        error: Text,
    },
}

/// All messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Outbox {
    /// The latest messages.
    #[n(0)]
    pub(crate) messages: BTreeMap<MessageId, Message>,
    /// The last number given.
    #[n(1)]
    pub(crate) latest: MessageId,
    /// The last message that somebody has read.
    #[n(2)]
    pub(crate) read: MessageId,
    /// Those on their way.
    #[n(3)]
    pub(crate) deliveries: BTreeMap<MessageId, Delivery>,
    /// Those that no sink took, with what was said.
    #[n(4)]
    pub(crate) dead: BTreeMap<MessageId, Delivery>,
    /// Channels whose sink has failed since, with how often.
    #[n(5)]
    pub(crate) down: BTreeMap<Title, (Timestamp, u64)>,
    /// Those that a sink has taken, with when.
    #[n(6)]
    pub(crate) delivered: BTreeMap<MessageId, Timestamp>,
}

impl Outbox {
    /// Returns the messages after `after`, oldest first.
    pub fn list(&self, after: MessageId) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages.range(MessageId(after.0.saturating_add(1))..).map(|(_, message)| message)
    }

    /// Returns a message.
    #[must_use]
    pub fn get(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(&id)
    }

    /// Returns the last message that somebody has read.
    #[must_use]
    pub fn read(&self) -> MessageId {
        self.read
    }

    /// Returns how many messages nobody has read.
    #[must_use]
    pub fn unread_count(&self) -> u64 {
        let from = MessageId(self.read.0.saturating_add(1));
        self.messages.range(from..).count() as u64
    }

    /// Returns the messages on their way, oldest first.
    pub fn deliveries(&self) -> impl Iterator<Item = (MessageId, &Delivery)> {
        self.deliveries.iter().map(|(id, delivery)| (*id, delivery))
    }

    /// Returns the messages that no sink took, oldest first.
    pub fn dead(&self) -> impl DoubleEndedIterator<Item = (MessageId, &Delivery)> {
        self.dead.iter().map(|(id, delivery)| (*id, delivery))
    }

    /// Returns when a sink took a message.
    #[must_use]
    pub fn delivered(&self, id: MessageId) -> Option<Timestamp> {
        self.delivered.get(&id).copied()
    }

    /// Returns since when a channel's sink has failed, and how often.
    #[must_use]
    pub fn down(&self, channel: &Title) -> Option<(Timestamp, u64)> {
        self.down.get(channel).copied()
    }
}
