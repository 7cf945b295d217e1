//! Writing: a message is in the inbox, and on its way if its channel has a sink.

use alloc::format;
use alloc::vec::Vec;

use super::{Delivery, Message, Outbox};
use crate::answer::{Answer, Refusal};
use crate::catalog::{Catalog, Channel, Noun, Severity, Spec};
use crate::change::What;
use crate::command::{Define, Expect, Post, ReadInbox};
use crate::limits;
use crate::request::{check_range, out_of_range};
use crate::state::{State, Step};
use crate::units::{AlertId, MessageId, RunId, Text, Title};

/// A message as it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// The channel.
    pub(crate) channel: Title,
    /// How bad it is.
    pub(crate) severity: Severity,
    /// What it says first.
    pub(crate) title: Text,
    /// What it says, a line each; at most `OUTPUT_LINES_MAX` are kept.
    pub(crate) lines: Vec<Text>,
    /// Who is named in it.
    pub(crate) mention: Option<Text>,
    /// The run that it is about.
    pub(crate) run: Option<RunId>,
    /// The step of the run that waits for it.
    pub(crate) step: Option<u32>,
    /// The alert that it is about.
    pub(crate) alert: Option<AlertId>,
    /// Where it is told instead of the channel's sink.
    pub(crate) reply_url: Option<Text>,
    /// What sinks use to take it once only.
    pub(crate) key: Text,
}

impl Outbox {
    /// Writes a message. It is on its way if its channel has a sink or it answers a request.
    pub(crate) fn write(&mut self, step: &mut Step, draft: Draft, catalog: &Catalog) -> MessageId {
        let id = MessageId(self.latest.0.saturating_add(1));
        self.latest = id;
        let sink = catalog.sends(&draft.channel);
        let mut lines = draft.lines;
        if lines.len() > limits::OUTPUT_LINES_MAX {
            let more = lines.len() - (limits::OUTPUT_LINES_MAX - 1);
            lines.truncate(limits::OUTPUT_LINES_MAX - 1);
            lines.push(Text::cut(&format!("and {more} lines more")));
        }
        let message = Message {
            id,
            channel: draft.channel,
            stamp: step.stamp,
            severity: draft.severity,
            title: draft.title,
            lines,
            mention: draft.mention,
            run: draft.run,
            step: draft.step,
            alert: draft.alert,
            reply_url: draft.reply_url,
            key: draft.key,
        };
        if sink || message.reply_url.is_some() {
            self.deliveries.insert(id, Delivery::new(step.stamp.at));
        }
        self.messages.insert(id, message);
        while self.messages.len() > limits::INBOX_MAX {
            let Some((oldest, _)) = self.messages.pop_first() else { break };
            self.deliveries.remove(&oldest);
            self.dead.remove(&oldest);
            self.delivered.remove(&oldest);
        }
        step.note(What::Message { message: id });
        id
    }
}

impl Catalog {
    /// Tells whether a channel is in force and has a sink.
    pub(super) fn sends(&self, channel: &Title) -> bool {
        let known = self.get(Noun::Channel, channel).is_some_and(|known| known.enabled);
        known && self.channel(channel).is_some_and(|channel| channel.sink.is_some())
    }
}

impl State {
    /// Writes a message to a channel, which is made when it is missing.
    pub(crate) fn post(&mut self, step: &mut Step, command: &Post) -> Result<Answer, Refusal> {
        check_range("lines", command.lines.len() as u64, 0, limits::OUTPUT_LINES_MAX as u64)?;
        if command.title.as_str().trim().is_empty() {
            return Err(out_of_range("title", "empty", "a text of at least one character"));
        }
        if self.automation.catalog.channel(&command.channel).is_none() {
            let define = Define {
                title: command.channel.clone(),
                spec: Spec::Channel(Channel::default()),
                expect: Expect::Absent,
                enabled: None,
            };
            self.define(step, &define)?;
        }
        let draft = Draft {
            channel: command.channel.clone(),
            severity: Severity::Info,
            title: command.title.clone(),
            lines: command.lines.clone(),
            mention: None,
            run: None,
            step: None,
            alert: None,
            reply_url: command.reply_url.clone(),
            key: Text::cut(&format!("post/{}", step.stamp.position)),
        };
        let automation = &mut self.automation;
        let message = automation.outbox.write(step, draft, &automation.catalog);
        Ok(Answer::Posted { message })
    }

    /// Records how far the inbox was read. It never goes back.
    pub(crate) fn read_inbox(
        &mut self,
        _: &mut Step,
        command: &ReadInbox,
    ) -> Result<Answer, Refusal> {
        let outbox = &mut self.automation.outbox;
        check_range("through", command.through.0, 0, outbox.latest.0)?;
        outbox.read = outbox.read.max(command.through);
        Ok(Answer::Done)
    }
}
