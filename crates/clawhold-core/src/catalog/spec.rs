//! What a definition says, one type for each kind.

use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use super::Noun;
use crate::condition::Condition;
use crate::operation::{Detector, Plan, Show};
use crate::units::{Name, Prose, Text, Title};

/// What a definition says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Spec {
    /// See [`Noun::Agent`].
    #[n(0)]
    Agent(#[n(0)] Agent),
    /// See [`Noun::Command`].
    #[n(1)]
    Command(#[n(0)] ChatCommand),
    /// See [`Noun::AlertRule`].
    #[n(2)]
    AlertRule(#[n(0)] AlertRule),
    /// See [`Noun::AlertRoute`].
    #[n(3)]
    AlertRoute(#[n(0)] AlertRoute),
    /// See [`Noun::AutoFix`].
    #[n(4)]
    AutoFix(#[n(0)] AutoFix),
    /// See [`Noun::Runbook`].
    #[n(5)]
    Runbook(#[n(0)] Runbook),
    /// See [`Noun::Channel`].
    #[n(6)]
    Channel(#[n(0)] Channel),
    /// See [`Noun::Source`].
    #[n(7)]
    Source(#[n(0)] Source),
}

impl Spec {
    /// Returns the kind that it is of.
    #[must_use]
    pub fn noun(&self) -> Noun {
        match self {
            Self::Agent(_) => Noun::Agent,
            Self::Command(_) => Noun::Command,
            Self::AlertRule(_) => Noun::AlertRule,
            Self::AlertRoute(_) => Noun::AlertRoute,
            Self::AutoFix(_) => Noun::AutoFix,
            Self::Runbook(_) => Noun::Runbook,
            Self::Channel(_) => Noun::Channel,
            Self::Source(_) => Noun::Source,
        }
    }
}

/// An agent: who gets the jobs that are written in words, and what it is told with each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Agent {
    /// What it is told with every job, in the order in which it was said.
    #[n(0)]
    pub messages: Vec<Prose>,
    /// What it is for.
    #[n(1)]
    pub about: Text,
    /// The queue of its jobs.
    #[n(2)]
    pub queue: Option<Name>,
}

/// What starts a command or a runbook in a chat: words beginning with `/`, compared byte for byte
/// after runs of spaces are made one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct Trigger(#[n(0)] pub(crate) Text);

impl Trigger {
    /// Returns the trigger, if `text` is one: `/` and 1 to 5 words of visible ASCII, at most 100
    /// bytes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let first = words.first()?;
        let visible = words.iter().all(|word| word.chars().all(|c| c.is_ascii_graphic()));
        let fits = words.len() <= 5 && text.len() <= crate::limits::NAME_BYTES_MAX;
        let named = first.starts_with('/') && first.len() > 1;
        (visible && fits && named).then(|| Self(Text::cut(&words.join(" "))))
    }

    /// Returns it as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// What is answered to a word in a chat.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ChatCommand {
    /// The word.
    #[n(0)]
    pub trigger: Trigger,
    /// The clusters that are asked; this one when there is none.
    #[n(1)]
    pub sources: Vec<Title>,
    /// What is shown, as it was typed.
    #[n(2)]
    pub message: Prose,
    /// What is shown.
    #[n(3)]
    pub views: Vec<Show>,
    /// Whether each use is told to a channel.
    #[n(4)]
    pub announce: bool,
    /// The channel it is told to.
    #[n(5)]
    pub to: Option<Title>,
    /// The kind of sink the channel was named with: `slack`.
    #[n(6)]
    pub via: Option<Text>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Severity {
    /// Worth knowing.
    #[n(0)]
    Info,
    /// To be looked at today.
    #[default]
    #[n(1)]
    Warning,
    /// To be looked at now.
    #[n(2)]
    Critical,
}

impl Severity {
    /// Returns the word for it, as people and the wire use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

impl core::fmt::Display for Severity {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What instances of a rule are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Grouping {
    /// One for each role.
    #[n(0)]
    Role,
    /// One for each queue.
    #[n(1)]
    Queue,
    /// One for each worker.
    #[n(2)]
    Worker,
    /// One for each job.
    #[n(3)]
    Job,
}

impl Grouping {
    /// Returns the word for it, as people and the wire use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Queue => "queue",
            Self::Worker => "worker",
            Self::Job => "job",
        }
    }
}

/// What an alert rule watches.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Watch {
    /// What a detector finds.
    #[n(0)]
    Detector(#[n(0)] Detector),
    /// Whether a condition holds.
    #[n(1)]
    Condition(#[n(0)] Condition),
}

/// What is worth a person's attention.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AlertRule {
    /// What it says, as it was typed.
    #[n(0)]
    pub action: Prose,
    /// What it watches.
    #[n(1)]
    pub watch: Watch,
    /// What its instances are told apart by; the kind of the watched thing when empty.
    #[n(2)]
    pub group_by: Vec<Grouping>,
    /// Milliseconds that are looked at together.
    #[n(3)]
    pub window_ms: u64,
    /// Milliseconds that it must hold before it fires.
    #[n(4)]
    pub for_ms: u64,
    /// Milliseconds for which it goes on firing after it ceased to hold.
    #[n(5)]
    pub keep_ms: u64,
    /// How bad it is.
    #[n(6)]
    pub severity: Severity,
    /// Where it is told, besides the routes.
    #[n(7)]
    pub notify: Vec<Title>,
    /// Rules whose instances of the same group are not told while this one fires.
    #[n(8)]
    pub inhibits: Vec<Title>,
}

/// Where alerts go.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AlertRoute {
    /// Alerts at least this bad.
    #[n(0)]
    pub severity: Severity,
    /// The channel.
    #[n(1)]
    pub to: Title,
    /// The kind of sink the channel was named with: `slack`.
    #[n(2)]
    pub via: Option<Text>,
    /// Who is named in the message.
    #[n(3)]
    pub also_page: Option<Text>,
}

/// How many runs may start within a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MaxRuns {
    /// How many.
    #[n(0)]
    pub count: u32,
    /// Milliseconds of the period.
    #[n(1)]
    pub per_ms: u64,
    /// Whether it counts each target for itself.
    #[n(2)]
    pub per_target: bool,
}

/// How long a fix rests after a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Cooldown {
    /// Milliseconds from the end of the last run.
    #[n(0)]
    pub ms: u64,
    /// Whether it rests for every target, not only for that of the run.
    #[n(1)]
    pub per_rule: bool,
}

/// Who is asked before a fix runs.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Approval {
    /// Nobody.
    #[n(0)]
    Auto,
    /// So many people; the members of a group, if one is named.
    #[n(1)]
    Ask {
        /// How many must agree.
        #[n(0)]
        count: u32,
        /// Whose word counts; anybody's who may act when not said.
        #[n(1)]
        group: Option<Name>,
    },
    /// It never runs of itself.
    #[n(2)]
    Never,
}

/// How far a fix may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Mode {
    /// It runs.
    #[default]
    #[n(0)]
    Act,
    /// It only says that it would have run.
    #[n(1)]
    Observe,
}

/// What is done when a condition holds.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AutoFix {
    /// When.
    #[n(0)]
    pub condition: Condition,
    /// What, as it was typed.
    #[n(1)]
    pub action: Prose,
    /// What.
    #[n(2)]
    pub plan: Plan,
    /// Who is asked.
    #[n(3)]
    pub approval: Approval,
    /// Milliseconds that an approval waits for an answer.
    #[n(4)]
    pub approval_ms: u64,
    /// Whether whoever last edited it may not approve it.
    #[n(5)]
    pub four_eyes: bool,
    /// How far it may go.
    #[n(6)]
    pub mode: Mode,
    /// Where it is told.
    #[n(7)]
    pub notify: Vec<Title>,
    /// How often it may run: all of them hold; none for no limit.
    #[n(8)]
    pub max_runs: Vec<MaxRuns>,
    /// How long it rests.
    #[n(9)]
    pub cooldown: Cooldown,
}

/// What is done when a person asks.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Runbook {
    /// The words that start it.
    #[n(0)]
    pub trigger: Option<Trigger>,
    /// What it is found by.
    #[n(1)]
    pub tags: Vec<Text>,
    /// What is done, as it was typed.
    #[n(2)]
    pub steps: Prose,
    /// What is done.
    #[n(3)]
    pub plan: Plan,
    /// Where it is told.
    #[n(4)]
    pub notify: Vec<Title>,
}

/// A secret, or where the server finds it. Never shown.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Secret {
    /// A file that the server reads.
    #[n(0)]
    File(#[n(0)] Text),
    /// A variable of the server's environment.
    #[n(1)]
    Env(#[n(0)] Text),
    /// The secret itself, kept in the log.
    #[n(2)]
    Plain(#[n(0)] Text),
}

/// What takes the messages of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Sink {
    /// An incoming webhook of Slack, or of one that speaks its form: Mattermost, Rocket.Chat.
    #[n(0)]
    Slack {
        /// The webhook's URL.
        #[n(0)]
        url: Secret,
    },
    /// A URL that gets signed JSON.
    #[n(1)]
    Webhook {
        /// The URL.
        #[n(0)]
        url: Secret,
        /// What the signature is made with.
        #[n(1)]
        secret: Option<Secret>,
    },
    /// A webhook of Discord.
    #[n(2)]
    Discord {
        /// The webhook's URL.
        #[n(0)]
        url: Secret,
    },
    /// A bot of Telegram.
    #[n(3)]
    Telegram {
        /// The bot's token.
        #[n(0)]
        token: Secret,
        /// The chat it writes to.
        #[n(1)]
        chat: Text,
        /// Where the bot API is, when not at its usual place.
        #[n(2)]
        base: Option<Text>,
    },
    /// Mail.
    #[n(4)]
    Mail {
        /// The mail server: `smtp://HOST:PORT` or `smtps://USER@HOST:PORT`.
        #[n(0)]
        server: Text,
        /// The sender's address.
        #[n(1)]
        from: Text,
        /// The receivers' addresses.
        #[n(2)]
        to: Vec<Text>,
        /// The password of the user.
        #[n(3)]
        password: Option<Secret>,
    },
}

/// A person of a chat, as this program knows them.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ChatUser {
    /// The chat's own id of the person; never the name that is shown.
    #[n(0)]
    pub id: Text,
    /// The actor they are here.
    #[n(1)]
    pub actor: Name,
}

/// Where messages go: always to the inbox, and to a sink when one is bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Channel {
    /// The sink.
    #[n(0)]
    pub sink: Option<Sink>,
    /// What requests from the chat are signed with.
    #[n(1)]
    pub signing: Option<Secret>,
    /// Who may act from the chat.
    #[n(2)]
    pub users: Vec<ChatUser>,
    /// Whether people who are not linked get no answer at all, not even to what only shows.
    #[n(3)]
    pub closed: bool,
    /// The members of a group that approves: actors whose word counts.
    #[n(4)]
    pub members: Vec<Name>,
}

/// A cluster that commands ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Source {
    /// Its server's URL; this server when there is none.
    #[n(0)]
    pub url: Option<Text>,
    /// The file with the token for it, as the server finds it.
    #[n(1)]
    pub token: Option<Secret>,
}
