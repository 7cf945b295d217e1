//! A store made of a backup.

use std::path::PathBuf;

use clap::Args;
use clawhold_server::recovery::{self, Restored};

use crate::cli::store;
use crate::config;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::table::Sheet;

/// Make a store of a backup, where none is
///
/// Every number goes on above all that may have been given since the backup: tokens, positions,
/// ids of jobs, sessions and runs, events. Sessions of before are strangers; leases and held jobs
/// have a grace. Fixes wait until a person resumes automation.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  clawhold restore clawhold.backup --store sqlite:/var/lib/clawhold/clawhold.db"
)]
pub(crate) struct Restore {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Restore {
    /// Makes the store.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        config::make_folder(&store::named(context)?)?;
        let restored = store::blocking(context, move |store| recovery::restore(&self.file, store));
        Ok(reply(&restored.await?))
    }
}

fn reply(restored: &Restored) -> Reply {
    let backup = &restored.backup;
    let mut sheet = Sheet::default();
    sheet
        .field("store", &restored.store)
        .field("backup", format!("made {} of {}", backup.made, backup.store))
        .field("position", format!("{} at {}", backup.position, backup.at))
        .field("numbers above", restored.floor.to_string());
    let reply = Reply::of(restored).sheet(sheet).line(format!(
        "what was accepted after {} is not in it; jobs that were running then run again",
        backup.at
    ));
    if !restored.automation_paused {
        return reply;
    }
    reply.styled(
        Style::Warn,
        "automation is paused: see which fixes ran since, then `clawhold automation resume`",
    )
}
