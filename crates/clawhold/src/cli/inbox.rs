//! The inbox: every message there is, whatever sinks its channel has.

use std::time::Duration;

use clap::{Args, Subcommand};
use clawhold_client::Client;
use serde::Serialize;

use crate::api::automation::inbox::{InboxQuery, Message};
use crate::cli::list::Limit;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::table::Table;
use crate::text::counted;

/// How often the inbox is looked into while it is followed.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Messages that are read at once.
const READ_MAX: usize = 1_000;

/// The inbox: every message there is, whatever sinks its channel has
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold inbox list")]
pub(crate) struct Inbox {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// List the latest messages by what they say first
    #[command(after_help = "Example:\n  clawhold inbox list --channel '#ops-info'")]
    List(List),
    /// Read what nobody has read, and mark it as read
    #[command(after_help = "Examples:\n  clawhold inbox read\n  clawhold inbox read --follow")]
    Read(Read),
}

#[derive(Debug, Args)]
struct List {
    /// Only those of this channel
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Only those that nobody has read
    #[arg(long)]
    unread: bool,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Args)]
struct Read {
    /// Only those of this channel; what is read is not marked then
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Stay and read what comes
    #[arg(long)]
    follow: bool,
}

/// Messages that were read.
#[derive(Serialize)]
struct Seen {
    items: Vec<Message>,
    unread: Option<u64>,
}

impl Inbox {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.word {
            Word::List(list) => self::list(list, context).await,
            Word::Read(read) if read.follow => follow(read.channel, context).await,
            Word::Read(read) => self::read(read.channel, context).await,
        }
    }
}

async fn list(list: List, context: &Context) -> Result<Reply, Failure> {
    let query = InboxQuery {
        channel: list.channel,
        unread: list.unread.then_some(true),
        last: list.limit.page(),
        ..InboxQuery::default()
    };
    let rows = list.limit.rows(context.client().await?.inbox(&query)).await?;
    let mut table = Table::new(&["MESSAGE", "AT", "CHANNEL", "SEVERITY", "WHAT", "READ", "SINK"]);
    for message in &rows.items {
        table.row([
            message.id.to_string(),
            message.at.clone(),
            message.channel.clone(),
            message.severity.clone(),
            message.title.clone(),
            if message.read { "yes" } else { "no" }.to_owned(),
            message.delivery.clone(),
        ]);
    }
    Ok(rows.reply(table, "there is no message"))
}

/// Returns the messages after one.
async fn after(
    client: &Client,
    channel: Option<&String>,
    after: Option<u64>,
) -> Result<Vec<Message>, Failure> {
    let query = InboxQuery {
        channel: channel.cloned(),
        unread: after.is_none().then_some(true),
        after,
        limit: Some(READ_MAX as u64),
        ..InboxQuery::default()
    };
    Ok(client.inbox(&query).collect(READ_MAX).await?)
}

async fn read(channel: Option<String>, context: &Context) -> Result<Reply, Failure> {
    let client = context.client().await?;
    let items = after(client, channel.as_ref(), None).await?;
    let unread = mark(client, channel.as_ref(), &items).await?;
    let mut texts = Vec::new();
    for message in &items {
        texts.extend(lines(message));
    }
    let is_empty = items.is_empty();
    let mut reply = Reply::of(&Seen { items, unread });
    for (style, line) in texts {
        reply = reply.styled(style, line);
    }
    Ok(if is_empty { reply.line("nothing is unread") } else { reply })
}

/// Marks what was read, unless only one channel was.
async fn mark(
    client: &Client,
    channel: Option<&String>,
    items: &[Message],
) -> Result<Option<u64>, Failure> {
    let (None, Some(last)) = (channel, items.last()) else { return Ok(None) };
    Ok(Some(client.read_inbox(last.id).await?.unread))
}

/// Reads what is unread and what comes, until somebody ends it.
async fn follow(channel: Option<String>, context: &Context) -> Result<Reply, Failure> {
    let client = context.client().await?;
    let mut seen = None;
    loop {
        let items = after(client, channel.as_ref(), seen).await?;
        for message in &items {
            if context.output.is_json() {
                context.output.document(message);
            }
            for (style, line) in lines(message) {
                context.output.say(style, &line);
            }
        }
        mark(client, channel.as_ref(), &items).await?;
        let newest = items.last().map(|message| message.id);
        // With nothing unread at first, what comes is unread as well.
        seen = newest.or(seen);
        if context.output.is_closed() {
            return Ok(Reply::silent(crate::exit::Exit::Done));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Returns a message as it is read.
fn lines(message: &Message) -> Vec<(Style, String)> {
    let style = match message.severity.as_str() {
        "critical" => Style::Bad,
        "warning" => Style::Warn,
        _ => Style::Bold,
    };
    let mention = message.mention.as_ref().map_or(String::new(), |who| format!(" ({who})"));
    let head = format!("{} {}{mention}  {}", message.at, message.channel, message.title);
    let more = message.lines.iter().map(|line| (Style::Plain, format!("  {line}")));
    std::iter::once((style, head)).chain(more).collect()
}

/// Returns how much is unread, as the status says it.
pub(crate) fn unread(count: u64) -> String {
    match count {
        0 => "nothing unread".to_owned(),
        count => format!("{} unread, see `clawhold inbox read`", counted(count, "message")),
    }
}
