//! All automation: its pause, and what it is doing, in numbers.

use clap::{Args, Subcommand};

use crate::api::automation::{AutomationStatus, PauseAutomation};
use crate::context::Context;
use crate::duration::{SOME, Span, rough};
use crate::failure::Failure;
use crate::output::Reply;
use crate::table::Sheet;

/// All automation: its pause, and what it is doing, in numbers
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold automation status")]
pub(crate) struct Automation {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// Let no run start of itself; runs under way go on
    #[command(
        after_help = "Example:\n  clawhold automation pause --for 2h --reason 'moving the hosts'"
    )]
    Pause(Pause),
    /// Let runs start of themselves again
    #[command(after_help = "Example:\n  clawhold automation resume")]
    Resume,
    /// Show whether it is paused, and what runs, fires and waits
    #[command(after_help = "Example:\n  clawhold automation status")]
    Status,
}

#[derive(Debug, Args)]
struct Pause {
    /// How long; until it is resumed when absent
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true, value_parser = SOME.parser())]
    span: Option<Span>,
    /// Why, for those who wonder
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        default_value = "",
        hide_default_value = true
    )]
    reason: String,
}

impl Automation {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let client = context.client().await?;
        let status = match self.word {
            Word::Pause(pause) => {
                let for_ms = pause.span.map(|span| span.0);
                let pause = PauseAutomation { for_ms, reason: pause.reason };
                client.pause_automation(&pause).await?.reply
            }
            Word::Resume => client.unpause_automation().await?.reply,
            Word::Status => client.automation().await?,
        };
        Ok(Reply::of(&status).sheet(sheet(&status)))
    }
}

fn sheet(status: &AutomationStatus) -> Sheet {
    let mut sheet = Sheet::default();
    let automation = match &status.paused {
        None if status.settling_ms > 0 => {
            format!("settles for {} after a takeover", rough(status.settling_ms))
        }
        None => "on".to_owned(),
        Some(paused) => {
            let until = paused.until.as_ref().map_or("it is resumed", String::as_str);
            let who = paused.actor.as_ref().map_or(String::new(), |who| format!(" by {who}"));
            let why = if paused.reason.is_empty() { "" } else { ": " };
            format!("paused{who} since {} until {until}{why}{}", paused.since, paused.reason)
        }
    };
    sheet
        .field("automation", automation)
        .field("runs", format!("{} live, {} ask", status.runs_live, status.runs_asking))
        .field("alerts", format!("{} firing", status.alerts_firing))
        .field("inbox", crate::cli::inbox::unread(status.unread))
        .field(
            "sinks",
            format!(
                "{} on their way, {} that none took",
                status.deliveries_waiting, status.deliveries_failed
            ),
        );
    sheet
}
