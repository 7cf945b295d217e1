//! Definitions as one file: names are the keys, the order is always the same.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Noun;
use super::definition::{
    Agent, AlertRoute, AlertRule, AutoFix, Channel, Command, FieldChange, Runbook, Source,
};

/// Definitions by kind, each kind in the order of the names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Definitions {
    /// Agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Agent>,
    /// Commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Command>,
    /// Alert rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alert_rules: Vec<AlertRule>,
    /// Alert routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alert_routes: Vec<AlertRoute>,
    /// Auto-fixes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub auto_fixes: Vec<AutoFix>,
    /// Runbooks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runbooks: Vec<Runbook>,
    /// Channels. Secrets that are kept are left out of an export.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Channel>,
    /// Sources. Tokens that are kept are left out of an export.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
}

/// Which definitions are exported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExportQuery {
    /// Only this kind: `auto-fix`; all of them when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Adds and changes definitions so that they are as in a file, all or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// What shall be.
    pub definitions: Definitions,
    /// Whether nothing is changed and the answer only shows what would be.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether definitions that are not in the file are removed.
    #[serde(default)]
    pub prune: bool,
}

/// What came of an import, or would come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Imported {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// How many are new.
    pub added: u64,
    /// How many are different.
    pub changed: u64,
    /// How many are removed.
    pub removed: u64,
    /// How many are as they were.
    pub unchanged: u64,
    /// Each that is new, different or removed.
    pub items: Vec<ImportedItem>,
}

/// One definition of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportedItem {
    /// Its kind.
    pub kind: Noun,
    /// Its name.
    pub name: String,
    /// `added`, `changed` or `removed`.
    pub change: String,
    /// What is different, field by field.
    pub difference: Vec<FieldChange>,
    /// What is not as the operator may expect, a sentence each.
    pub warnings: Vec<String>,
}
