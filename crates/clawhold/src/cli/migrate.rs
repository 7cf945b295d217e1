//! Stores as such: making one ready before anybody serves it.

use clap::{Args, Subcommand};
use clawhold_server::recovery::{self, Migrated};

use crate::cli::store;
use crate::config;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::table::Sheet;

/// Stores: where a cluster keeps its log
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold store migrate")]
pub(crate) struct Store {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make the files or tables of a store, or upgrade them
    ///
    /// `serve` does it by itself; this is for whoever wants it done before, or by another user.
    /// Doing it twice changes nothing.
    #[command(
        after_help = "Example:\n  clawhold store migrate --store postgres://clawhold@db.example.org/clawhold"
    )]
    Migrate,
}

impl Store {
    /// Carries it out.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.action {
            Action::Migrate => {
                config::make_folder(&store::named(context)?)?;
                Ok(reply(&store::blocking(context, recovery::migrate).await?))
            }
        }
    }
}

fn reply(migrated: &Migrated) -> Reply {
    let mut sheet = Sheet::default();
    sheet.field("store", &migrated.store).field("records", migrated.records.to_string());
    let reply = Reply::of(migrated).sheet(sheet).styled(Style::Good, "it is ready to be served");
    migrated.concerns.iter().fold(reply, |reply, concern| reply.styled(Style::Warn, concern))
}
