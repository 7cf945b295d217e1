//! Messages: written once, kept in the inbox, taken by sinks when they can.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// Its number.
    pub id: u64,
    /// The channel.
    pub channel: String,
    /// When it was written.
    pub at: String,
    /// How bad it is: `critical`, `warning` or `info`.
    pub severity: String,
    /// What it says first.
    pub title: String,
    /// What it says, a line each.
    pub lines: Vec<String>,
    /// Who is named in it.
    pub mention: Option<String>,
    /// The run that it is about.
    pub run: Option<u64>,
    /// The alert that it is about.
    pub alert: Option<u64>,
    /// Whether somebody has read it.
    pub read: bool,
    /// What became of it on its way to a sink: `inbox` when there is none, else `waiting`,
    /// `delivered` or `failed`.
    pub delivery: String,
}

/// Which messages are wanted, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InboxQuery {
    /// Only those of this channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Only those that nobody has read, when true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<bool>,
    /// Only those after this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Only the last so many, 1 to 1000, instead of a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub last: Option<u64>,
    /// `next_cursor` of the page before; the first page when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Rows wanted, 1 to 1000; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<u64>,
}

/// Says how far the inbox was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadInbox {
    /// The last message that was read.
    pub through: u64,
}

/// How much of the inbox is left to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InboxState {
    /// The last message that somebody has read.
    pub read: u64,
    /// Messages that nobody has read.
    pub unread: u64,
}

/// A message on its way to a sink, or one that no sink took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// The message.
    pub message: u64,
    /// The channel.
    pub channel: String,
    /// What the message says first.
    pub title: String,
    /// `waiting`, `sending` or `failed`.
    pub state: String,
    /// Tries that failed.
    pub failures: u32,
    /// What the sink said last.
    pub error: String,
    /// When it is tried next; null when it is given up.
    pub next: Option<String>,
    /// When it is given up.
    pub until: String,
    /// When it may have been sent by a server that died before it said so.
    pub doubt: Option<String>,
}

/// Which deliveries are wanted, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeliveryQuery {
    /// `waiting` or `failed`; both when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Only those of this channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// `next_cursor` of the page before; the first page when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Rows wanted, 1 to 1000; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<u64>,
}
