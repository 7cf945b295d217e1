//! What is asked of automation: definitions, runs, alerts, messages.

use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::catalog::{Noun, Spec};
use crate::outbox::Sent;
use crate::run::{Origin, Seen};
use crate::units::{
    AlertId, MessageId, Name, Prose, RunId, SessionId, Text, Timestamp, Title, Token,
};

/// What is asked of automation.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Automate {
    /// Adds a definition or changes one.
    #[n(0)]
    Define(#[n(0)] Define),
    /// Removes a definition.
    #[n(1)]
    RemoveDefinition(#[n(0)] RemoveDefinition),
    /// Puts a definition in force, or out of force.
    #[n(2)]
    EnableDefinition(#[n(0)] EnableDefinition),
    /// Puts an earlier version of a definition in force again.
    #[n(3)]
    RevertDefinition(#[n(0)] RevertDefinition),
    /// Tells an agent something with each job from now on.
    #[n(4)]
    AppendMessage(#[n(0)] AppendMessage),
    /// Adds, changes and removes definitions, all or none.
    #[n(5)]
    Import(#[n(0)] Import),
    /// Asks for a run.
    #[n(6)]
    StartRun(#[n(0)] StartRun),
    /// Calls a run off.
    #[n(7)]
    CancelRun(#[n(0)] CancelRun),
    /// Lets a run that has ended go on from a step.
    #[n(8)]
    ResumeRun(#[n(0)] ResumeRun),
    /// Says yes or no to a run that asks.
    #[n(9)]
    Decide(#[n(0)] Decide),
    /// Records what the active server saw for a step. Only the active server asks this.
    #[n(10)]
    Witness(#[n(0)] Witness),
    /// Records that a session showed a belief to lead under an overtaken token. Only the active
    /// server asks this.
    #[n(11)]
    Believed(#[n(0)] Believed),
    /// Lets no run start of itself.
    #[n(12)]
    PauseAutomation(#[n(0)] PauseAutomation),
    /// Lets runs start of themselves again.
    #[n(13)]
    UnpauseAutomation,
    /// Forgets the failures and used-up limits of a fix.
    #[n(14)]
    ResetFix(#[n(0)] ResetFix),
    /// Says that somebody looks at an alert.
    #[n(15)]
    AckAlert(#[n(0)] AckAlert),
    /// Keeps alerts from being told for a while.
    #[n(16)]
    AddSilence(#[n(0)] AddSilence),
    /// Ends a silence.
    #[n(17)]
    ExpireSilence(#[n(0)] ExpireSilence),
    /// Records that a message is about to be sent. Only the active server asks this.
    #[n(18)]
    Sending(#[n(0)] Sending),
    /// Records how sending a message ended. Only the active server asks this.
    #[n(19)]
    RecordSent(#[n(0)] RecordSent),
    /// Tries a message again that no sink took.
    #[n(20)]
    RetryDelivery(#[n(0)] RetryDelivery),
    /// Records how far the inbox was read.
    #[n(21)]
    ReadInbox(#[n(0)] ReadInbox),
    /// Writes a message to a channel.
    #[n(22)]
    Post(#[n(0)] Post),
}

/// What a definition must be for a change to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Expect {
    /// It must not exist.
    #[n(0)]
    Absent,
    /// It must be at this version.
    #[n(1)]
    Version(#[n(0)] u64),
    /// It may exist or not.
    #[n(2)]
    Any,
}

/// See [`Automate::Define`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Define {
    /// Its name.
    #[n(0)]
    pub title: Title,
    /// What it says.
    #[n(1)]
    pub spec: Spec,
    /// What it must be before.
    #[n(2)]
    pub expect: Expect,
    /// Whether it is in force; as it is, or in force when it is new, if not said.
    #[n(3)]
    pub enabled: Option<bool>,
}

/// See [`Automate::RemoveDefinition`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RemoveDefinition {
    /// Its kind.
    #[n(0)]
    pub noun: Noun,
    /// Its name.
    #[n(1)]
    pub title: Title,
}

/// See [`Automate::EnableDefinition`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct EnableDefinition {
    /// Its kind.
    #[n(0)]
    pub noun: Noun,
    /// Its name.
    #[n(1)]
    pub title: Title,
    /// Whether it shall be in force.
    #[n(2)]
    pub enabled: bool,
}

/// See [`Automate::RevertDefinition`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RevertDefinition {
    /// Its kind.
    #[n(0)]
    pub noun: Noun,
    /// Its name.
    #[n(1)]
    pub title: Title,
    /// The version to put in force again.
    #[n(2)]
    pub to: u64,
}

/// See [`Automate::AppendMessage`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AppendMessage {
    /// The agent.
    #[n(0)]
    pub agent: Title,
    /// What it is told from now on, besides what it was told before.
    #[n(1)]
    pub message: Prose,
    /// Whether to make the agent when there is none of this name, though there are others.
    #[n(2)]
    pub create: bool,
}

/// See [`Automate::Import`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Import {
    /// What shall be, in order.
    #[n(0)]
    pub definitions: Vec<Define>,
    /// What shall be no more.
    #[n(1)]
    pub remove: Vec<RemoveDefinition>,
    /// A digest of what was asked. What is to be done for it depends on what is there: a retry
    /// finds it done, and is the same request still.
    #[n(2)]
    pub asked: Option<u64>,
}

/// A value for one parameter of a run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Param {
    /// `role`, `worker`, `queue` or `job`.
    #[n(0)]
    pub name: Name,
    /// A name, a label, or a number.
    #[n(1)]
    pub value: Text,
}

/// See [`Automate::StartRun`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StartRun {
    /// `Runbook` or `AutoFix`.
    #[n(0)]
    pub noun: Noun,
    /// Its name.
    #[n(1)]
    pub title: Title,
    /// What it is about.
    #[n(2)]
    pub params: Vec<Param>,
    /// How it was asked for.
    #[n(3)]
    pub origin: Origin,
    /// Why the limits are set aside; they hold when not said.
    #[n(4)]
    pub override_reason: Option<Text>,
    /// Where its result is told, besides the channels.
    #[n(5)]
    pub reply_url: Option<Text>,
}

/// See [`Automate::CancelRun`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CancelRun {
    /// The run.
    #[n(0)]
    pub run: RunId,
    /// Why.
    #[n(1)]
    pub reason: Text,
}

/// See [`Automate::ResumeRun`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ResumeRun {
    /// The run, which has failed, is unknown or was cancelled.
    #[n(0)]
    pub run: RunId,
    /// The step to go on from, counted from 0; the one that failed when not said.
    #[n(1)]
    pub from: Option<u32>,
}

/// See [`Automate::Decide`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Decide {
    /// The run.
    #[n(0)]
    pub run: RunId,
    /// Whether it may go on: an approval, or the step that a person confirms.
    #[n(1)]
    pub agrees: bool,
    /// What there is to say.
    #[n(2)]
    pub reason: Text,
    /// The hash of the plan that was seen; whichever it is when not said.
    #[n(3)]
    pub plan_hash: Option<Text>,
}

/// See [`Automate::Witness`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Witness {
    /// The run that asks.
    #[n(0)]
    pub run: RunId,
    /// Its step.
    #[n(1)]
    pub step: u32,
    /// What the active server saw.
    #[n(2)]
    pub seen: Seen,
}

/// How a session showed that it believes to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Showed {
    /// By a report.
    #[n(0)]
    Report,
    /// By a write, which was refused.
    #[n(1)]
    Write,
}

/// See [`Automate::Believed`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Believed {
    /// Who.
    #[n(0)]
    pub session: SessionId,
    /// The role.
    #[n(1)]
    pub role: Name,
    /// The token that it claims.
    #[n(2)]
    pub token: Token,
    /// How.
    #[n(3)]
    pub showed: Showed,
}

/// See [`Automate::PauseAutomation`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PauseAutomation {
    /// Milliseconds; until it is taken back when not said.
    #[n(0)]
    pub for_ms: Option<u64>,
    /// Why.
    #[n(1)]
    pub reason: Text,
}

/// See [`Automate::ResetFix`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ResetFix {
    /// The fix.
    #[n(0)]
    pub title: Title,
    /// The target, as people call it; all of them when not said.
    #[n(1)]
    pub target: Option<Text>,
}

/// See [`Automate::AckAlert`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AckAlert {
    /// The alert.
    #[n(0)]
    pub alert: AlertId,
}

/// See [`Automate::AddSilence`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AddSilence {
    /// The rule; all of them when not said.
    #[n(0)]
    pub rule: Option<Title>,
    /// The group; all of them when not said.
    #[n(1)]
    pub group: Option<Text>,
    /// Why.
    #[n(2)]
    pub reason: Text,
    /// When it ends, if `for_ms` says nothing.
    #[n(3)]
    pub until: Timestamp,
    /// Whether it ends as soon as what it silences is over.
    #[n(4)]
    pub until_resolved: bool,
    /// Milliseconds that it lasts. A retry says the same, which a moment would not.
    #[n(5)]
    pub for_ms: Option<u64>,
}

/// See [`Automate::ExpireSilence`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ExpireSilence {
    /// Its number.
    #[n(0)]
    pub silence: u64,
}

/// See [`Automate::Sending`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Sending {
    /// The message.
    #[n(0)]
    pub message: MessageId,
}

/// See [`Automate::RecordSent`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RecordSent {
    /// The message.
    #[n(0)]
    pub message: MessageId,
    /// How it ended.
    #[n(1)]
    pub sent: Sent,
}

/// See [`Automate::RetryDelivery`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RetryDelivery {
    /// The message that no sink took.
    #[n(0)]
    pub message: MessageId,
}

/// See [`Automate::ReadInbox`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReadInbox {
    /// The last message that was read.
    #[n(0)]
    pub through: MessageId,
}

/// See [`Automate::Post`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Post {
    /// The channel, which is made when it is missing.
    #[n(0)]
    pub channel: Title,
    /// What it says first.
    #[n(1)]
    pub title: Text,
    /// What it says, a line each.
    #[n(2)]
    pub lines: Vec<Text>,
    /// Where it is told instead of the channel's sink.
    #[n(3)]
    pub reply_url: Option<Text>,
}
