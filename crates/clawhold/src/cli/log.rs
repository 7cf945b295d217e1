//! The log of a store: its entries, its state at any past position, and whether all of it is whole.
//!
//! These commands read the store's files, beside a server or without one, and change nothing.

use std::time::Duration;

use clap::{Args, Subcommand};
use clawhold_server::recovery::{self, Entry, KeptSnapshot, Page, Range, StateAt, Told, Verified};

use crate::cli::store;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::number;
use crate::output::{Reply, Style};
use crate::table::{Sheet, Table};
use crate::text::counted;

/// How long a running server may take to say the hash of its state.
const HASH_PATIENCE: Duration = Duration::from_secs(30);

/// The log of a store: what was asked, what came of it, and whether it is whole
///
/// Reads the store's own files, beside a running server or without one, and changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  clawhold log show\n  clawhold log verify")]
pub(crate) struct Log {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// Show entries: when, who, what, and what it changed
    #[command(
        after_help = "Examples:\n  clawhold log show\n  clawhold log show --from 1200 --limit 50"
    )]
    Show(Show),
    /// Show what was true at a position, in numbers, with its hash
    ///
    /// Any position can be shown that a kept snapshot or the beginning of the log lies before.
    #[command(after_help = "Example:\n  clawhold log state-at 1200")]
    StateAt(At),
    /// Check every record and snapshot, replay them, and compare
    ///
    /// Replaying from each snapshot must come to the next one, and to what a running server says.
    /// Ends with 1 when something is wrong.
    #[command(
        after_help = "Example:\n  clawhold log verify --store sqlite:/var/lib/clawhold/clawhold.db"
    )]
    Verify(Verify),
}

#[derive(Debug, Args)]
struct Show {
    /// The first position; the newest entries when absent
    #[arg(long, value_name = "POSITION", allow_negative_numbers = true, value_parser = number::id())]
    from: Option<u64>,
    /// Entries at most
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = number::within(1_u64, 1_000_000))]
    limit: u64,
}

#[derive(Debug, Args)]
struct At {
    /// The position
    #[arg(value_name = "POSITION", allow_negative_numbers = true, value_parser = number::any())]
    position: u64,
}

#[derive(Debug, Args)]
struct Verify {}

impl Log {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.word {
            Word::Show(show) => show.run(context).await,
            Word::StateAt(at) => at.run(context).await,
            Word::Verify(verify) => verify.run(context).await,
        }
    }
}

impl Show {
    async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let range = Range { from: self.from, limit };
        let page = store::blocking(context, move |store| recovery::show(store, range)).await?;
        Ok(Reply::of(&page).table(table(&page)))
    }
}

fn table(page: &Page) -> Table {
    let mut table = Table::new(&["POSITION", "RECORD", "AT", "ACTOR", "ASKED", "CAME TO"]);
    for entry in &page.entries {
        table.row([
            entry.position.to_string(),
            entry.record.to_string(),
            entry.at.clone(),
            entry.actor.clone().unwrap_or_default(),
            entry.asked.clone(),
            outcome(entry),
        ]);
    }
    table
}

fn outcome(entry: &Entry) -> String {
    let mut parts = entry.effects.clone();
    if let Some(refused) = &entry.refused {
        parts.insert(0, format!("refused: {refused}"));
    }
    if entry.replayed {
        parts.insert(0, "the answer of an earlier entry".to_owned());
    }
    parts.join("; ")
}

impl At {
    async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let position = self.position;
        let state = store::blocking(context, move |store| recovery::state_at(store, position));
        let state = state.await?;
        Ok(Reply::of(&state).sheet(sheet(&state)))
    }
}

fn sheet(state: &StateAt) -> Sheet {
    let roles = state.roles.iter().map(|role| match &role.holder {
        Some(holder) => format!("{} held by {holder} under token {}", role.role, role.token),
        None => format!("{} vacant after token {}", role.role, role.token),
    });
    let jobs = state.jobs.iter().map(|(kind, count)| format!("{count} {kind}"));
    let streams = state.streams.iter().map(|(name, last)| format!("{name} at event {last}"));
    let or_none = |list: Vec<String>| if list.is_empty() { "none".into() } else { list.join(", ") };
    let mut sheet = Sheet::default();
    sheet
        .field("position", state.position.to_string())
        .field("record", state.record.to_string())
        .field("at", &state.at)
        .field("term", state.term.to_string())
        .field("hash", &state.hash)
        .field("roles", or_none(roles.collect()))
        .field("sessions", state.sessions.to_string())
        .field("queues", state.queues.to_string())
        .field("jobs", or_none(jobs.collect()))
        .field("streams", or_none(streams.collect()))
        .field("runs", counted(state.runs, "run"))
        .field("alerts", counted(state.alerts, "alert"))
        .field("automation", if state.automation_paused { "paused" } else { "on" });
    sheet
}

impl Verify {
    async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let told = match context.running(HASH_PATIENCE).await? {
            Some(client) => {
                let hash = client.hash().await?;
                Some(Told { position: hash.position, hash: hash.hash })
            }
            None => None,
        };
        let verified =
            store::blocking(context, move |store| recovery::verify(store, told.as_ref()));
        Ok(reply(&verified.await?))
    }
}

fn reply(verified: &Verified) -> Reply {
    let mut sheet = Sheet::default();
    let range = format!("{} to {}", verified.first_record, verified.last_record);
    sheet
        .field("records", format!("{}, {range}", verified.records))
        .field("entries", counted(verified.entries, "entry").replace("entrys", "entries"));
    for kept in &verified.snapshots {
        sheet.field("snapshot", snapshot(kept));
    }
    if let Some(state) = &verified.state {
        sheet.field("position", state.position.to_string()).field("hash", &state.hash);
    }
    sheet.field(
        "running server",
        match verified.server_agrees {
            Some(true) => "has the same state",
            Some(false) => "has another state",
            None => "none was compared",
        },
    );
    let reply = Reply::of(verified).sheet(sheet);
    if verified.findings.is_empty() {
        return reply.styled(Style::Good, "all of it is whole");
    }
    let findings = verified.findings.iter();
    findings.fold(reply, |reply, line| reply.styled(Style::Bad, line.as_str())).exit(Exit::Failed)
}

fn snapshot(kept: &KeptSnapshot) -> String {
    let position = kept.position.map(|position| format!(", position {position}"));
    let replay = match kept.replay_agrees {
        Some(true) => ", a replay from an older one comes to it",
        Some(false) => ", a replay from an older one comes to another state",
        None => "",
    };
    format!("at record {}{}{replay}", kept.record, position.unwrap_or_default())
}
