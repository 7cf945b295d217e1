//! Messages on their way to sinks, and those that none took.

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::api::automation::inbox::{Delivery, DeliveryQuery};
use crate::cli::list::Limit;
use crate::context::Context;
use crate::failure::Failure;
use crate::number;
use crate::output::{Reply, Style};
use crate::table::Table;
use crate::text::counted;

/// Messages that are tried again at once.
const RETRY_MAX: usize = 1_000;

/// Messages on their way to sinks, and those that none took
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold notify failed")]
pub(crate) struct Notify {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// List the messages that no sink took; they are in the inbox
    #[command(after_help = "Example:\n  clawhold notify failed --channel '#ops-info'")]
    Failed(Which),
    /// List the messages on their way
    #[command(after_help = "Example:\n  clawhold notify waiting")]
    Waiting(Which),
    /// Try messages again that no sink took
    #[command(after_help = "Examples:\n  clawhold notify retry 41\n  clawhold notify retry --all")]
    Retry(Retry),
}

#[derive(Debug, Args)]
struct Which {
    /// Only those of this channel
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Retry {
    /// The messages
    #[arg(value_name = "MESSAGE", value_parser = number::any())]
    messages: Vec<u64>,
    /// All that no sink took
    #[arg(long)]
    all: bool,
}

/// Messages that are tried again.
#[derive(Serialize)]
struct Retried {
    items: Vec<Delivery>,
}

impl Notify {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.word {
            Word::Failed(which) => list("failed", which, context).await,
            Word::Waiting(which) => list("waiting", which, context).await,
            Word::Retry(retry) => self::retry(retry, context).await,
        }
    }
}

async fn list(state: &str, which: Which, context: &Context) -> Result<Reply, Failure> {
    let query = DeliveryQuery {
        state: Some(state.to_owned()),
        channel: which.channel,
        cursor: None,
        limit: which.limit.page(),
    };
    let rows = which.limit.rows(context.client().await?.deliveries(&query)).await?;
    let mut table = Table::new(&["MESSAGE", "CHANNEL", "WHAT", "FAILURES", "SAID", "NEXT TRY"]);
    for delivery in &rows.items {
        table.row([
            delivery.message.to_string(),
            delivery.channel.clone(),
            delivery.title.clone(),
            delivery.failures.to_string(),
            delivery.error.clone(),
            delivery.next.clone().unwrap_or_default(),
        ]);
    }
    Ok(rows.reply(table, "there is no such message"))
}

async fn retry(retry: Retry, context: &Context) -> Result<Reply, Failure> {
    let client = context.client().await?;
    let mut messages = retry.messages;
    if retry.all {
        let query = DeliveryQuery { state: Some("failed".to_owned()), ..DeliveryQuery::default() };
        let failed = client.deliveries(&query).collect(RETRY_MAX).await?;
        messages = failed.iter().map(|delivery| delivery.message).collect();
    }
    let mut items = Vec::new();
    for message in messages {
        items.push(client.retry_delivery(message).await?.reply);
    }
    let line = format!("{} tried again", counted(items.len() as u64, "message"));
    Ok(Reply::of(&Retried { items }).styled(Style::Good, line))
}
