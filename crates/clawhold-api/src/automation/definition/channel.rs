//! Channels: where messages go, always to the inbox, and to a sink when one is bound.
//!
//! A secret is `file:PATH`, `env:NAME`, or the secret itself, which is kept and never shown: where
//! it would stand, a reply says [`HIDDEN`]. A change that says so keeps what is there.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What stands where a secret would.
pub const HIDDEN: &str = "(hidden)";

/// A channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Its name: `#ops-info`, or `@oncall` for a group that approves.
    pub name: String,
    /// What takes its messages; the inbox alone when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink: Option<Sink>,
    /// What requests from its chat are signed with. A secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<String>,
    /// Who may act from its chat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<ChatUser>,
    /// Whether people who are not linked get no answer at all, not even to what only shows.
    #[serde(default)]
    pub closed: bool,
    /// The members of a group that approves: actors whose word counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// Whether it is in force; as it is, or in force when it is new, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// What takes the messages of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Sink {
    /// An incoming webhook of Slack, or of one that speaks its form: Mattermost, Rocket.Chat.
    Slack {
        /// The webhook's URL. A secret.
        url: String,
    },
    /// A URL that gets signed JSON.
    Webhook {
        /// The URL. A secret.
        url: String,
        /// What the signature is made with. A secret.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<String>,
    },
    /// A webhook of Discord.
    Discord {
        /// The webhook's URL. A secret.
        url: String,
    },
    /// A bot of Telegram.
    Telegram {
        /// The bot's token. A secret.
        token: String,
        /// The chat it writes to.
        chat: String,
        /// Where the bot API is, when not at its usual place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<String>,
    },
    /// Mail.
    Mail {
        /// The mail server: `smtp://HOST:PORT` or `smtps://USER@HOST:PORT`.
        server: String,
        /// The sender's address.
        from: String,
        /// The receivers' addresses.
        to: Vec<String>,
        /// The password of the user. A secret.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password: Option<String>,
    },
}

impl Sink {
    /// Returns the word for its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Slack { .. } => "slack",
            Self::Webhook { .. } => "webhook",
            Self::Discord { .. } => "discord",
            Self::Telegram { .. } => "telegram",
            Self::Mail { .. } => "mail",
        }
    }
}

/// A person of a chat, as this program knows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatUser {
    /// The chat's own id of the person; never the name that is shown.
    pub id: String,
    /// The actor they are here.
    pub actor: String,
}

/// Changes a channel. What is absent stays as it is; what is empty is taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelPatch {
    /// What takes its messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink: Option<Sink>,
    /// Whether to take the sink away, so that the inbox alone has its messages.
    #[serde(default)]
    pub no_sink: bool,
    /// What requests from its chat are signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<String>,
    /// Who may act from its chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<ChatUser>>,
    /// Whether people who are not linked get no answer at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<bool>,
    /// The members of a group that approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<String>>,
    /// The version that is to be changed; whichever it is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}
