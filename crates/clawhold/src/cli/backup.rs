//! A backup of a store, made beside a running server or without one.

use std::path::PathBuf;

use clap::Args;
use clawhold_server::recovery::{self, BackedUp};

use crate::cli::store;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::table::Sheet;

/// Write all of a store into one file, beside a running server or without one
///
/// No commit waits for it. The file holds everything up to the record that was the newest when it
/// began, and is read back only when it is whole.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  clawhold backup clawhold.backup\n  clawhold backup saved.backup --salvage --store sqlite:damaged.db"
)]
pub(crate) struct Backup {
    /// The file to make
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Save what is intact of a damaged store, and say what is lost
    #[arg(long)]
    salvage: bool,
}

impl Backup {
    /// Makes the backup.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let made = store::blocking(context, move |store| {
            recovery::backup(store, &self.file, self.salvage)
        });
        Ok(reply(&made.await?))
    }
}

fn reply(made: &BackedUp) -> Reply {
    let mut sheet = Sheet::default();
    sheet
        .field("file", made.file.display().to_string())
        .field("bytes", made.bytes.to_string())
        .field("position", format!("{} at {}", made.note.position, made.note.at))
        .field("record", made.last_record.to_string())
        .field("hash", &made.note.hash);
    let reply = Reply::of(made).sheet(sheet);
    let Some(lost) = &made.lost else { return reply };
    let text = format!(
        "lost: records {} to {}, that is all that was accepted after {}",
        lost.first_record, lost.last_record, made.note.at
    );
    reply
        .styled(Style::Bad, text)
        .line(format!("because {}", lost.why))
        .line("next: `clawhold restore` makes a store of what was saved")
        .exit(Exit::Failed)
}
