//! Alert routes: where alerts go.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An alert route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertRoute {
    /// Its name.
    pub name: String,
    /// Alerts at least this bad go there: `critical`, `warning` or `info`.
    pub severity: String,
    /// The kind of sink the channel is named with: `slack`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The channel: `#ops-critical`.
    pub to: String,
    /// Who is named in the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also_page: Option<String>,
    /// Whether it is in force; as it is, or in force when it is new, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Changes an alert route. What is absent stays as it is; what is empty is taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertRoutePatch {
    /// Alerts at least this bad go there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// The kind of sink the channel is named with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Who is named in the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also_page: Option<String>,
    /// The version that is to be changed; whichever it is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}
