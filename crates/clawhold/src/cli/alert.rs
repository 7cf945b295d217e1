//! Alerts: what deserves a person's attention, and the silences that keep it from being told.

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::api::automation::alert::{AddSilence, Alert as View, AlertQuery, AlertState, Silence};
use crate::api::page::PageQuery;
use crate::cli::list::Limit;
use crate::context::Context;
use crate::duration::{SOME, Span};
use crate::failure::Failure;
use crate::number;
use crate::output::{Reply, Style};
use crate::table::{Sheet, Table};
use crate::text::quoted;

/// Alerts: what deserves a person's attention
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold alert list")]
pub(crate) struct Alert {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// List the alerts that are not over
    #[command(after_help = "Example:\n  clawhold alert list --state all")]
    List(List),
    /// Show one alert and its facts
    #[command(after_help = "Example:\n  clawhold alert show 4")]
    Show(Numbered),
    /// Say that you look at an alert
    #[command(after_help = "Example:\n  clawhold alert ack 4")]
    Ack(Numbered),
    /// Keep an alert, a rule or all of them from being told for a while
    #[command(
        after_help = "Examples:\n  clawhold alert silence 4 --for 2h --reason 'moving the hosts'\n  clawhold alert silence --rule 'Job Without Owner' --for 30m --reason drill"
    )]
    Silence(Quiet),
    /// List the silences in force
    #[command(after_help = "Example:\n  clawhold alert silences")]
    Silences(Limit),
    /// End a silence
    #[command(after_help = "Example:\n  clawhold alert unsilence 1207")]
    Unsilence(Ended),
}

#[derive(Debug, Args)]
struct List {
    /// Only those in this state: pending, firing, recovering, resolved or all
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only those of this rule
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Args)]
struct Numbered {
    /// The alert
    #[arg(value_name = "ALERT", value_parser = number::any())]
    alert: u64,
}

#[derive(Debug, Args)]
struct Quiet {
    /// The alert whose rule and group are meant
    #[arg(value_name = "ALERT", value_parser = number::any(), conflicts_with_all = ["rule", "group"])]
    alert: Option<u64>,
    /// The rule; all of them when neither this nor an alert is named
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// The group, such as the role or the queue
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// How long
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true, value_parser = SOME.parser())]
    span: Span,
    /// Why, for those who wonder
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: String,
    /// End it as soon as what it silences is over
    #[arg(long)]
    until_resolved: bool,
}

#[derive(Debug, Args)]
struct Ended {
    /// The silence
    #[arg(value_name = "SILENCE", value_parser = number::any())]
    silence: u64,
}

/// A silence that was ended.
#[derive(Serialize)]
struct Unsilenced {
    silence: u64,
    position: Option<u64>,
}

impl Alert {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let client = context.client().await?;
        match self.word {
            Word::List(list) => {
                let query = AlertQuery {
                    rule: list.rule,
                    state: list.state,
                    cursor: None,
                    limit: list.limit.page(),
                };
                let rows = list.limit.rows(client.alerts(&query)).await?;
                Ok(rows.reply(table(&rows.items), "there is no alert"))
            }
            Word::Show(Numbered { alert }) => Ok(shown(&client.alert(alert).await?)),
            Word::Ack(Numbered { alert }) => {
                let alert = client.ack_alert(alert).await?;
                let who = alert.acked_by.as_deref().unwrap_or("somebody");
                let line = format!("{who} looks at alert {}: {}", alert.id, alert.summary);
                Ok(Reply::of(&alert.reply).styled(Style::Good, line))
            }
            Word::Silence(quiet) => silence(quiet, context).await,
            Word::Silences(limit) => {
                let query = PageQuery { limit: limit.page(), ..PageQuery::default() };
                let rows = limit.rows(client.silences(&query)).await?;
                Ok(rows.reply(silences(&rows.items), "no silence is in force"))
            }
            Word::Unsilence(Ended { silence }) => {
                let position = client.expire_silence(silence).await?.position;
                let reply = Reply::of(&Unsilenced { silence, position });
                Ok(reply.line(format!("silence {silence} is over")))
            }
        }
    }
}

async fn silence(quiet: Quiet, context: &Context) -> Result<Reply, Failure> {
    let client = context.client().await?;
    let (rule, group) = match quiet.alert {
        Some(alert) => {
            let alert = client.alert(alert).await?;
            (Some(alert.rule), Some(alert.group))
        }
        None => (quiet.rule, quiet.group),
    };
    let request = AddSilence {
        rule,
        group,
        reason: quiet.reason,
        for_ms: quiet.span.0,
        until_resolved: quiet.until_resolved,
    };
    let silence = client.add_silence(&request).await?;
    let what = scope(&silence);
    let line = format!("silence {}: {what} is not told until {}", silence.id, silence.until);
    Ok(Reply::of(&silence.reply).styled(Style::Good, line))
}

fn scope(silence: &Silence) -> String {
    let rule = silence.rule.as_ref().map_or("any rule".to_owned(), |rule| quoted(rule));
    match &silence.group {
        Some(group) => format!("{rule} for {group}"),
        None => rule,
    }
}

/// Returns alerts as rows.
pub(crate) fn table(alerts: &[View]) -> Table {
    let mut table = Table::new(&["ALERT", "SEVERITY", "STATE", "RULE", "GROUP", "SINCE", "WHAT"]);
    for alert in alerts {
        let mut state = alert.state.as_str().to_owned();
        for overlay in overlays(alert) {
            state.push_str(&format!(", {overlay}"));
        }
        table.row([
            alert.id.to_string(),
            alert.severity.clone(),
            state,
            alert.rule.clone(),
            alert.group.clone(),
            alert.since.clone(),
            alert.summary.clone(),
        ]);
    }
    table
}

/// Returns what lies over the state of an alert.
fn overlays(alert: &View) -> Vec<&'static str> {
    let all = [
        (alert.acked.is_some(), "seen to"),
        (alert.silence.is_some(), "silenced"),
        (alert.inhibited_by.is_some(), "inhibited"),
        (alert.flapping, "flapping"),
        (alert.no_data.is_some(), "no data"),
    ];
    all.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word).collect()
}

fn shown(alert: &View) -> Reply {
    let mut sheet = Sheet::default();
    let group = alert.group_by.as_ref().map(|by| format!("{by} {}", alert.group));
    let acked = alert.acked.as_ref().map(|at| {
        let who = alert.acked_by.as_deref().unwrap_or("somebody");
        format!("{who}, since {at}")
    });
    sheet
        .field("alert", alert.id.to_string())
        .field("rule", &alert.rule)
        .field_if("group", group)
        .field("severity", &alert.severity)
        .field("state", alert.state.as_str())
        .field("what", &alert.summary)
        .field("since", &alert.since)
        .field_if("fired", alert.fired.as_ref())
        .field_if("over", alert.ended.as_ref())
        .field("last seen", format!("{}, {} in all", alert.seen, alert.count))
        .field_if("seen to by", acked)
        .field_if("silence", alert.silence.map(|silence| silence.to_string()))
        .field_if("inhibited by", alert.inhibited_by.as_ref())
        .field_if("flapping", alert.flapping.then_some("told in summary only"))
        .field_if(
            "no data",
            alert.no_data.as_ref().map(|at| format!("since {at}; it stays as it was")),
        )
        .field_if("told to", (!alert.channels.is_empty()).then(|| alert.channels.join(", ")));
    let mut reply = Reply::of(alert).sheet(sheet);
    let style = match alert.state {
        AlertState::Firing | AlertState::Recovering => Style::Warn,
        AlertState::Pending | AlertState::Resolved => Style::Plain,
    };
    for line in &alert.details {
        reply = reply.styled(style, format!("  {line}"));
    }
    reply
}

fn silences(silences: &[Silence]) -> Table {
    let mut table = Table::new(&["SILENCE", "WHAT", "UNTIL", "WHO", "WHY"]);
    for silence in silences {
        let or = if silence.until_resolved { " or resolved" } else { "" };
        table.row([
            silence.id.to_string(),
            scope(silence),
            format!("{}{or}", silence.until),
            silence.actor.clone().unwrap_or_default(),
            silence.reason.clone(),
        ]);
    }
    table
}
