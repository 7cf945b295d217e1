//! What is wrong with a store, and what to do next.

use std::time::Duration;

use clap::Args;
use clawhold_server::recovery::{self, Diagnosis};

use crate::cli::store;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::table::Sheet;
use crate::text::counted;

/// How long a server may take to say that it lives.
const LIVE_PATIENCE: Duration = Duration::from_secs(3);

/// Say what is wrong with a store and what to do about it
///
/// Changes nothing. Ends with 0 when all is well, and with 1 when there is something to do.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold doctor --store sqlite:/var/lib/clawhold/clawhold.db")]
pub(crate) struct Doctor {}

impl Doctor {
    /// Looks at the store.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let answers = context.running(LIVE_PATIENCE).await?.is_some();
        let found = store::blocking(context, move |store| recovery::diagnose(store, Some(answers)));
        Ok(reply(&found.await?, answers))
    }
}

fn reply(found: &Diagnosis, answers: bool) -> Reply {
    let server = match (answers, found.in_use) {
        (true, _) => "answers",
        (false, true) => "a process holds the store and does not answer",
        (false, false) => "none runs",
    };
    let mut sheet = Sheet::default();
    sheet
        .field("store", &found.store)
        .field("server", server)
        .field_if("records", found.records.map(|count| count.to_string()))
        .field_if("newest snapshot", found.snapshot.map(|at| format!("at record {at}")))
        .field_if("free on its disk", found.free_bytes.map(mebibytes));
    let reply = Reply::of(found).sheet(sheet);
    if found.findings.is_empty() {
        return reply.styled(Style::Good, "nothing is wrong");
    }
    let count = counted(found.findings.len() as u64, "finding");
    let mut reply = reply.styled(Style::Bad, format!("{count}:"));
    for finding in &found.findings {
        reply = reply.styled(Style::Bad, format!("- {}", finding.text));
        reply = reply.line(format!("  next: {}", finding.next));
    }
    reply.exit(Exit::Failed)
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes / 1_024 / 1_024)
}
