//! Alert routes: where alerts go.

use clap::Subcommand;

use crate::api::automation::Noun;
use crate::api::automation::definition::{AlertRoute as Body, AlertRoutePatch};
use crate::cli::definition::{self, How, NewName, verbs};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Reply;

/// Alert routes: where alerts go
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  clawhold alert-route list")]
pub(crate) struct AlertRoute {
    #[command(subcommand)]
    word: Word,
}

verbs!(Noun::AlertRoute, "alert-route", "'Critical Alerts'");

#[derive(Debug, Subcommand)]
enum Word {
    /// Add an alert route
    #[command(
        after_help = "Example:\n  clawhold alert-route add --name 'Critical Alerts' --severity critical \\\n    --channel slack --to '#ops-critical' --also-page '@oncall'"
    )]
    Add(Add),
    /// Change what is named
    #[command(
        after_help = "Example:\n  clawhold alert-route edit 'Critical Alerts' --to '#ops-alerts'"
    )]
    Edit(Edit),
    #[command(flatten)]
    Verb(Verb),
}

#[derive(Debug, clap::Args)]
struct Add {
    #[command(flatten)]
    name: NewName,
    /// Alerts at least this bad go there: critical, warning or info
    #[arg(long, value_name = "SEVERITY")]
    severity: String,
    /// The kind of sink the channel is named with, such as `slack`
    #[arg(long, value_name = "KIND")]
    channel: Option<String>,
    /// The channel, such as `#ops-critical`
    #[arg(long, value_name = "CHANNEL")]
    to: String,
    /// Who is named in the message
    #[arg(long, value_name = "WHO")]
    also_page: Option<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct Edit {
    /// Its name
    name: String,
    /// Alerts at least this bad go there: critical, warning or info
    #[arg(long, value_name = "SEVERITY")]
    severity: Option<String>,
    /// The kind of sink the channel is named with
    #[arg(long, value_name = "KIND")]
    channel: Option<String>,
    /// The channel
    #[arg(long, value_name = "CHANNEL")]
    to: Option<String>,
    /// Who is named in the message; empty for nobody
    #[arg(long, value_name = "WHO")]
    also_page: Option<String>,
    #[command(flatten)]
    how: How,
}

impl AlertRoute {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.word {
            Word::Add(add) => {
                let body = Body {
                    name: add.name.get(),
                    severity: add.severity,
                    channel: add.channel,
                    to: add.to,
                    also_page: add.also_page,
                    enabled: None,
                };
                definition::add(Noun::AlertRoute, &body, add.how, context).await
            }
            Word::Edit(edit) => {
                let patch = AlertRoutePatch {
                    severity: edit.severity,
                    channel: edit.channel,
                    to: edit.to,
                    also_page: edit.also_page,
                    version: None,
                };
                definition::edit(Noun::AlertRoute, &edit.name, &patch, edit.how, context).await
            }
            Word::Verb(verb) => verb.run(context).await,
        }
    }
}
