//! What a rule or a fix would have done: the log, played again.

use clap::Args;
use serde::Serialize;

use crate::api::automation::Noun;
use crate::api::automation::definition::{Backtest as Request, Backtested};
use crate::cli::definition::unknown;
use crate::context::Context;
use crate::duration::{SOME, Span};
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::table::Table;
use crate::text::counted;

#[derive(Debug, Args)]
pub(crate) struct Backtest {
    /// Its name
    name: String,
    /// How far to look back
    #[arg(long, value_name = "DURATION", default_value = "24h", allow_hyphen_values = true, value_parser = SOME.parser())]
    since: Span,
}

/// What would have been done, with the name it is about.
#[derive(Serialize)]
struct Document<'a> {
    kind: Noun,
    name: &'a str,
    #[serde(flatten)]
    tested: &'a Backtested,
}

impl Backtest {
    /// Plays the log again.
    pub(crate) async fn run(self, noun: Noun, context: &Context) -> Result<Reply, Failure> {
        let client = context.client().await?;
        let request = Request { since_ms: Some(self.since.0) };
        let tested = match client.backtest(noun, &self.name, request).await {
            Ok(tested) => tested,
            Err(error) => return Err(unknown(error, client, noun, &self.name).await),
        };
        Ok(reply(noun, &self.name, &tested))
    }
}

fn reply(noun: Noun, name: &str, tested: &Backtested) -> Reply {
    let played = format!(
        "played {} from {} to {}",
        counted(tested.entries, "change"),
        tested.from,
        tested.to
    );
    let reply = Reply::of(&Document { kind: noun, name, tested }).line(played);
    if tested.entries_with_fields == 0 {
        // A typing error and a limit that is never reached must not look alike.
        return reply.styled(Style::Warn, "none of them has a value for what it reads");
    }
    let mut line = match noun {
        Noun::AutoFix => format!("would have matched {}", times(tested.matches)),
        Noun::AlertRule
        | Noun::Agent
        | Noun::Command
        | Noun::AlertRoute
        | Noun::Runbook
        | Noun::Channel
        | Noun::Source => format!("would have fired {}", times(tested.matches)),
    };
    for decided in &tested.decided {
        line.push_str(&format!(", {} {}", decided.count, decided.reason));
    }
    let reply = reply.styled(Style::Bold, line);
    if tested.moments.is_empty() {
        return reply;
    }
    let mut table = Table::new(&["AT", "TARGET", "WHAT", "BECAUSE"]);
    for moment in &tested.moments {
        table.row([
            moment.at.clone(),
            moment.target.clone(),
            moment.reason.clone(),
            moment.detail.clone(),
        ]);
    }
    reply.table(table)
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
