//! Roles: who holds them, who stands by, and how they change hands.

use std::time::Duration;

use clap::{Args, Subcommand};
use clawhold_client::Client;
use serde::Serialize;
use tokio::time::Instant;

use crate::api::page::PageQuery;
use crate::api::role::{
    AskHandOver, HandOver, Holder, Promotion, Role as View, RoleHistory, SetRole,
};
use crate::cli::list::{Limit, meant};
use crate::context::Context;
use crate::duration::{DAY, Span, TTL, rough};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::number;
use crate::output::{Reply, Style};
use crate::table::{Sheet, Table};

/// How often a role that should change hands is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long after its deadline a hand-over that was asked for is waited for.
const LATE_MAX: Duration = Duration::from_secs(5);

/// Roles: one holder each, under a token that only rises
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold role list")]
pub(crate) struct Role {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// List the roles with their holders
    #[command(after_help = "Example:\n  clawhold role list --json")]
    List(Limit),
    /// Show one role: its holder, who stands by, and the recorded positions
    #[command(after_help = "Example:\n  clawhold role show indexer")]
    Show(Named),
    /// Show what became of a role, oldest first
    #[command(after_help = "Example:\n  clawhold role history indexer")]
    History(Named),
    /// Give a role to a standby, in one step
    ///
    /// The holder is fenced at once. With --ask it is asked to finish and hand over by itself.
    #[command(
        after_help = "Examples:\n  clawhold role hand-over indexer\n  clawhold role hand-over indexer --to ben --ask --within 1m"
    )]
    HandOver(Over),
    /// Make a role or set what is known of it
    #[command(after_help = "Example:\n  clawhold role set indexer --ttl 5s --promotion auto")]
    Set(Set),
    /// Remove a role; its token is remembered
    #[command(after_help = "Example:\n  clawhold role remove indexer")]
    Remove(Named),
}

#[derive(Debug, Args)]
struct Named {
    /// The role
    role: String,
}

#[derive(Debug, Args)]
struct Over {
    /// The role
    role: String,
    /// The standby that gets it, by id or label; the most caught-up one when absent
    #[arg(long, value_name = "STANDBY")]
    to: Option<String>,
    /// Refuse unless this is the latest token
    #[arg(long, value_name = "N", conflicts_with = "ask")]
    token: Option<u64>,
    /// Hand it over at once, whatever the holder does; this is what happens anyway
    #[arg(long, conflicts_with = "ask")]
    now: bool,
    /// Ask the holder to finish and hand over, and wait for it
    #[arg(long)]
    ask: bool,
    /// How long the holder has; it keeps the role after that
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, requires = "ask", default_value = "30s", value_parser = DAY.parser())]
    within: Span,
}

#[derive(Debug, Args)]
struct Set {
    /// The role
    role: String,
    /// How long a lease lasts when the one who asks says nothing
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = TTL.parser())]
    ttl: Option<Span>,
    /// Events that a standby may lag behind and still be promoted
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::any())]
    lag_events_max: Option<u64>,
    /// Who promotes a standby when the lease lapses: auto, native or policy
    ///
    /// auto: an auto-fix that promotes for this role, within its limits; without one the lapse
    /// itself, at once. native: the lapse itself, whatever auto-fixes there are. policy: an
    /// auto-fix alone.
    #[arg(long, value_name = "WHO", value_parser = promotion)]
    promotion: Option<Promotion>,
}

/// A role that changed hands.
#[derive(Serialize)]
struct HandedOver<'a> {
    role: &'a str,
    session: u64,
    token: u64,
}

/// A role that was removed.
#[derive(Serialize)]
struct Removed<'a> {
    role: &'a str,
    position: Option<u64>,
}

impl Role {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let client = context.client().await?;
        match self.word {
            Word::List(limit) => list(client, limit).await,
            Word::Show(Named { role }) => {
                let view = view(client, &role).await?;
                Ok(show(&view))
            }
            Word::History(Named { role }) => {
                let history = client.role_history(&role).await;
                let history = match history {
                    Ok(history) => history,
                    Err(error) => return Err(missing(error, client, &role).await),
                };
                Ok(history_reply(&history))
            }
            Word::HandOver(over) if over.ask => ask(client, over, context).await,
            Word::HandOver(over) => hand_over(client, over).await,
            Word::Set(set) => self::set(client, set).await,
            Word::Remove(Named { role }) => remove(client, role).await,
        }
    }
}

async fn view(client: &Client, role: &str) -> Result<View, Failure> {
    match client.role(role).await {
        Ok(view) => Ok(view),
        Err(error) => Err(missing(error, client, role).await),
    }
}

async fn missing(error: clawhold_client::ClientError, client: &Client, role: &str) -> Failure {
    meant(error, role, client.roles(&PageQuery::default()), |role| role.name.as_str()).await
}

async fn list(client: &Client, limit: Limit) -> Result<Reply, Failure> {
    let query = PageQuery { limit: limit.page(), ..PageQuery::default() };
    let rows = limit.rows(client.roles(&query)).await?;
    let mut table = Table::new(&["ROLE", "HOLDER", "TOKEN", "LEFT", "STANDBYS", "POSITIONS"]);
    for role in &rows.items {
        let positions: Vec<_> = role
            .positions
            .iter()
            .map(|recorded| format!("{}:{}", recorded.stream, recorded.through))
            .collect();
        table.row([
            role.name.clone(),
            role.holder.as_ref().map_or("vacant".to_owned(), |holder| holder.label.clone()),
            role.token.to_string(),
            role.holder.as_ref().map_or(String::new(), |holder| rough(holder.left_ms)),
            role.candidates_count.to_string(),
            positions.join(" "),
        ]);
    }
    Ok(rows.reply(table, "there is no role"))
}

fn show(role: &View) -> Reply {
    let mut sheet = Sheet::default();
    sheet.field("role", &role.name).field("latest token", role.token.to_string());
    match &role.holder {
        None => {
            sheet.field("holder", "vacant");
        }
        Some(holder) => add_holder(&mut sheet, holder),
    }
    sheet
        .field("usual lease", Span(role.ttl_ms).to_string())
        .field_if("standby lag", role.lag_events_max.map(|max| format!("at most {max} events")))
        .field("standbys", role.candidates_count.to_string());
    add_promotion(&mut sheet, role);
    let reply = Reply::of(role).sheet(sheet);
    let reply =
        if role.candidates.is_empty() { reply } else { reply.line("").table(candidates(role)) };
    if role.positions.is_empty() {
        return reply;
    }
    let mut table = Table::new(&["STREAM", "THROUGH", "LAG", "UNDER TOKEN"]);
    for recorded in &role.positions {
        table.row([
            recorded.stream.clone(),
            recorded.through.to_string(),
            recorded.lag.to_string(),
            recorded.token.to_string(),
        ]);
    }
    reply.line("").table(table)
}

fn add_holder(sheet: &mut Sheet, holder: &Holder) {
    let lease = format!("{}, {} left", Span(holder.ttl_ms), rough(holder.left_ms));
    sheet
        .field("holder", format!("{} (session {})", holder.label, holder.id))
        .field("token", holder.token.to_string())
        .field("since", &holder.since)
        .field("lease", lease)
        .field_if(
            "hand-over asked",
            holder.asked.map(|asked| {
                let to = asked.to.map_or("a standby".to_owned(), |id| format!("session {id}"));
                format!("to {to}, {} left", rough(asked.left_ms))
            }),
        );
}

/// Adds who would promote a standby if the lease lapsed now, and why nobody if nobody.
fn add_promotion(sheet: &mut Sheet, role: &View) {
    let would = match (&role.promoter, &role.promoter_blocked) {
        (Some(promoter), None) => promoter.clone(),
        (Some(promoter), Some(why)) => format!("{promoter}, but not now: {why}"),
        (None, Some(why)) => format!("nobody: {why}"),
        (None, None) => "nobody".to_owned(),
    };
    sheet
        .field("promotion", role.promotion.as_str())
        .field("would promote", would)
        .field_if("its limits", role.promoter_left.as_ref())
        .field_if("kept vacant", role.withheld_since.as_ref().map(|at| format!("since {at}")));
}

fn promotion(text: &str) -> Result<Promotion, String> {
    let all = [Promotion::Auto, Promotion::Native, Promotion::Policy];
    let known = all.into_iter().find(|promotion| promotion.as_str() == text);
    known.ok_or_else(|| "allowed is auto, native or policy".to_owned())
}

fn candidates(role: &View) -> Table {
    let mut table = Table::new(&["STANDBY", "LABEL", "STREAM", "CONSUMED", "LAG", "LAST BEAT"]);
    for candidate in &role.candidates {
        let number =
            |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        table.row([
            candidate.id.to_string(),
            candidate.label.clone(),
            candidate.stream.clone().unwrap_or_default(),
            number(candidate.consumed),
            number(candidate.lag),
            candidate.silent_ms.map_or(String::new(), |ms| format!("{} ago", rough(ms))),
        ]);
    }
    table
}

fn history_reply(history: &RoleHistory) -> Reply {
    let reply = Reply::of(history);
    if history.items.is_empty() {
        return reply.line("this role has no history yet");
    }
    let mut table = Table::new(&["AT", "WHAT", "WHO", "TOKEN", "LOG POSITION"]);
    for change in &history.items {
        let who = change.holder.as_ref();
        table.row([
            change.at.clone(),
            change.cause.clone(),
            who.map_or(String::new(), |holder| format!("{} ({})", holder.label, holder.id)),
            change.token.to_string(),
            change.position.to_string(),
        ]);
    }
    reply.table(table)
}

async fn hand_over(client: &Client, over: Over) -> Result<Reply, Failure> {
    let request = HandOver { session: None, token: over.token, to: over.to };
    let next = match client.hand_over(&over.role, &request).await {
        Ok(next) => next,
        Err(error) => return Err(missing(error, client, &over.role).await),
    };
    let done = HandedOver { role: &over.role, session: next.session, token: next.token };
    let line =
        format!("{} is held by session {} under token {}", over.role, next.session, next.token);
    Ok(Reply::of(&done).styled(Style::Good, line))
}

/// Asks the holder and waits until the role has a new token or the request has lapsed.
async fn ask(client: &Client, over: Over, context: &Context) -> Result<Reply, Failure> {
    let before = view(client, &over.role).await?;
    let request = AskHandOver { to: over.to, within_ms: Some(over.within.0) };
    client.ask_hand_over(&over.role, &request).await?;
    let progress = context.output.progress();
    let end = Instant::now() + over.within.duration() + LATE_MAX;
    loop {
        let role = view(client, &over.role).await?;
        if let Some(holder) = role.holder.as_ref().filter(|holder| holder.token > before.token) {
            progress.clear();
            let done = HandedOver { role: &over.role, session: holder.id, token: holder.token };
            let line = format!(
                "{} is held by {} (session {}) under token {}",
                over.role, holder.label, holder.id, holder.token
            );
            return Ok(Reply::of(&done).styled(Style::Good, line));
        }
        let asked = role.holder.as_ref().and_then(|holder| holder.asked);
        let lapsed = role.holder.is_some() && asked.is_none();
        if lapsed || Instant::now() >= end {
            progress.clear();
            let text = format!("{} was not handed over within {}", over.role, over.within);
            return Err(Failure::new(Exit::Failed, "hand_over_missed", text)
                .next("hand it over without --ask: the holder is fenced at once"));
        }
        let left = asked.map_or(0, |asked| asked.left_ms);
        progress.show(&format!("{}: waits for the holder, {} left", over.role, rough(left)));
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn set(client: &Client, set: Set) -> Result<Reply, Failure> {
    let request = SetRole {
        ttl_ms: set.ttl.map(|ttl| ttl.0),
        lag_events_max: set.lag_events_max,
        promotion: set.promotion,
    };
    client.set_role(&set.role, &request).await?;
    Ok(show(&view(client, &set.role).await?))
}

async fn remove(client: &Client, role: String) -> Result<Reply, Failure> {
    let position = match client.remove_role(&role).await {
        Ok(done) => done.position,
        Err(error) => return Err(missing(error, client, &role).await),
    };
    let line = format!("{role} is removed; its token is remembered");
    Ok(Reply::of(&Removed { role: &role, position }).line(line))
}
