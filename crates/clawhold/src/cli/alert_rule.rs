//! Alert rules: what is worth a person's attention.

use clap::Subcommand;

use crate::api::automation::Noun;
use crate::api::automation::definition::{AlertRule as Body, AlertRulePatch};
use crate::cli::backtest;
use crate::cli::definition::{self, How, NewName, list, list_if, verbs};
use crate::context::Context;
use crate::duration::{ANY, Span};
use crate::failure::Failure;
use crate::output::Reply;

/// Alert rules: what is worth a person's attention
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  clawhold alert-rule list")]
pub(crate) struct AlertRule {
    #[command(subcommand)]
    word: Word,
}

verbs!(Noun::AlertRule, "alert-rule", "'Two Active Leaders'");

#[derive(Debug, Subcommand)]
enum Word {
    /// Add an alert rule
    ///
    /// What it watches is said in words in --action, or as a condition.
    #[command(
        after_help = "Example:\n  clawhold alert-rule add --name 'Two Active Leaders' --group-by role --window 5m \\\n    --action 'Alert when two workers report themselves as the active leader.'"
    )]
    Add(Add),
    /// Change what is named
    #[command(
        after_help = "Example:\n  clawhold alert-rule edit 'Two Active Leaders' \\\n    --severity critical --notify '#ops-alerts'"
    )]
    Edit(Edit),
    /// Play the log again and tell when it would have fired
    #[command(
        after_help = "Example:\n  clawhold alert-rule backtest 'Two Active Leaders' --since 7d"
    )]
    Backtest(backtest::Backtest),
    #[command(flatten)]
    Verb(Verb),
}

#[derive(Debug, clap::Args)]
struct Add {
    #[command(flatten)]
    name: NewName,
    /// What it watches and why, in words
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        default_value = "",
        hide_default_value = true
    )]
    action: String,
    /// Take the offered detector for an action that is not understood: `1=1`
    #[arg(long, value_name = "SENTENCE=DETECTOR")]
    accept: Vec<String>,
    /// What it watches, as a condition
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    condition: Option<String>,
    /// What its alerts are told apart by: role, queue, worker or job
    #[arg(long, value_name = "KIND,…")]
    group_by: Vec<String>,
    /// The time that is looked at together
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser())]
    window: Option<Span>,
    /// The time that it must hold before it fires
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser())]
    hold: Option<Span>,
    /// The time for which it goes on firing after it ceased to hold
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser())]
    keep_firing: Option<Span>,
    /// How bad it is: critical, warning or info
    #[arg(long, value_name = "SEVERITY")]
    severity: Option<String>,
    /// The channels it is told to, besides the routes
    #[arg(long, value_name = "CHANNEL,…")]
    notify: Vec<String>,
    /// Rules whose alerts of the same group are not told while this one fires
    #[arg(long, value_name = "RULE")]
    inhibits: Vec<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct Edit {
    /// Its name
    name: String,
    /// What it watches and why, in words
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    action: Option<String>,
    /// Take the offered detector for an action that is not understood
    #[arg(long, value_name = "SENTENCE=DETECTOR")]
    accept: Option<Vec<String>>,
    /// What it watches, as a condition; empty to watch what its action says
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    condition: Option<String>,
    /// What its alerts are told apart by
    #[arg(long, value_name = "KIND,…")]
    group_by: Option<Vec<String>>,
    /// The time that is looked at together
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser())]
    window: Option<Span>,
    /// The time that it must hold before it fires
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser())]
    hold: Option<Span>,
    /// The time for which it goes on firing after it ceased to hold
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser())]
    keep_firing: Option<Span>,
    /// How bad it is: critical, warning or info
    #[arg(long, value_name = "SEVERITY")]
    severity: Option<String>,
    /// The channels it is told to, besides the routes; empty for none
    #[arg(long, value_name = "CHANNEL,…")]
    notify: Option<Vec<String>>,
    /// Rules whose alerts of the same group are not told while this one fires
    #[arg(long, value_name = "RULE")]
    inhibits: Option<Vec<String>>,
    #[command(flatten)]
    how: How,
}

impl AlertRule {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let ms = |span: Option<Span>| span.map(|span| span.0);
        match self.word {
            Word::Add(add) => {
                let body = Body {
                    name: add.name.get(),
                    action: add.action,
                    accept: list(add.accept),
                    condition: add.condition,
                    group_by: list(add.group_by),
                    window_ms: ms(add.window),
                    for_ms: ms(add.hold),
                    keep_ms: ms(add.keep_firing),
                    severity: add.severity,
                    notify: list(add.notify),
                    inhibits: list(add.inhibits),
                    enabled: None,
                };
                definition::add(Noun::AlertRule, &body, add.how, context).await
            }
            Word::Edit(edit) => {
                let patch = AlertRulePatch {
                    action: edit.action,
                    accept: list_if(edit.accept),
                    condition: edit.condition,
                    group_by: list_if(edit.group_by),
                    window_ms: ms(edit.window),
                    for_ms: ms(edit.hold),
                    keep_ms: ms(edit.keep_firing),
                    severity: edit.severity,
                    notify: list_if(edit.notify),
                    inhibits: list_if(edit.inhibits),
                    version: None,
                };
                definition::edit(Noun::AlertRule, &edit.name, &patch, edit.how, context).await
            }
            Word::Backtest(backtest) => backtest.run(Noun::AlertRule, context).await,
            Word::Verb(verb) => verb.run(context).await,
        }
    }
}
