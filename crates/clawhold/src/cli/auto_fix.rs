//! Auto-fixes: what is done when a condition holds, under which limits.

use clap::Subcommand;

use crate::api::automation::Noun;
use crate::api::automation::definition::{AutoFix as Body, AutoFixPatch, ResetFix};
use crate::cli::definition::{self, How, NewName, flag, list, list_if, verbs};
use crate::cli::{backtest, run};
use crate::context::Context;
use crate::duration::{SOME, Span};
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::text::quoted;

/// Auto-fixes: what is done when a condition holds, under which limits
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  clawhold auto-fix list")]
pub(crate) struct AutoFix {
    #[command(subcommand)]
    word: Word,
}

verbs!(Noun::AutoFix, "auto-fix", "'Return Held Jobs'");

#[derive(Debug, Subcommand)]
enum Word {
    /// Add an auto-fix
    ///
    /// What it does is said in words, which are read strictly: what is not understood is told and
    /// never done, and the fix asks for approval until all of it is. It asks as well unless
    /// --approval says otherwise.
    #[command(
        after_help = "Example:\n  clawhold auto-fix add --name 'Return Held Jobs' \\\n    --condition 'worker.leaving = true and worker.held_jobs > 0' \\\n    --action 'Hand every held job back before the worker stops.' \\\n    --approval auto --notify '#ops-alerts' --max-runs '20 per day' --cooldown 5m"
    )]
    Add(Box<Add>),
    /// Change what is named
    #[command(
        after_help = "Example:\n  clawhold auto-fix edit 'Return Held Jobs' \\\n    --max-runs '3 per hour' --max-runs '20 per day'"
    )]
    Edit(Box<Edit>),
    /// Run one now, within its limits or beyond them
    #[command(
        after_help = "Example:\n  clawhold auto-fix run 'Return Held Jobs' --target w-3 \\\n    --override --reason 'the host goes down at noon'"
    )]
    Run(run::ByName),
    /// Forget the failures and used-up limits of one
    #[command(after_help = "Example:\n  clawhold auto-fix reset 'Return Held Jobs' --target w-3")]
    Reset(Reset),
    /// Play the log again and tell what it would have done
    #[command(after_help = "Example:\n  clawhold auto-fix backtest 'Return Held Jobs' --since 24h")]
    Backtest(backtest::Backtest),
    #[command(flatten)]
    Verb(Verb),
}

#[derive(Debug, clap::Args)]
struct Add {
    #[command(flatten)]
    name: NewName,
    /// When, such as `worker.leaving = true and worker.held_jobs > 0`
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    condition: String,
    /// What, in words
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        default_value = "",
        hide_default_value = true
    )]
    action: String,
    /// What, in the exact form, such as `job.return_held worker=trigger.worker`; several times for
    /// more
    #[arg(long, value_name = "STEP", allow_hyphen_values = true)]
    step: Vec<String>,
    /// Take the offered operation for a sentence that is not understood: `2=1`
    #[arg(long, value_name = "SENTENCE=OPERATION")]
    accept: Vec<String>,
    /// Who is asked: auto for nobody, ask, ask:2, ask:@group, or never to run; ask when absent
    #[arg(long, value_name = "WHO")]
    approval: Option<String>,
    /// How long an approval waits for an answer
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = SOME.parser())]
    approval_expiry: Option<Span>,
    /// Whoever last edited it may not approve it
    #[arg(long)]
    four_eyes: bool,
    /// Only say that it would have run
    #[arg(long)]
    observe: bool,
    /// The channels it is told to
    #[arg(long, value_name = "CHANNEL,…")]
    notify: Vec<String>,
    /// How many runs may start within any such period, such as `6 per day`; several all hold
    #[arg(long, value_name = "N per UNIT", allow_hyphen_values = true)]
    max_runs: Vec<String>,
    /// The same, for each target by itself
    #[arg(long, value_name = "N per UNIT", allow_hyphen_values = true)]
    max_runs_per_target: Vec<String>,
    /// How long it rests on a target after a run: `15m`; `5m per rule` on every target
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    cooldown: Option<String>,
    /// What happens to a run when a step fails: stop, continue or ask
    #[arg(long, value_name = "WHAT")]
    on_fail: Option<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct Edit {
    /// Its name
    name: String,
    /// When
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    condition: Option<String>,
    /// What, in words
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    action: Option<String>,
    /// What, in the exact form, instead of the exact steps there are
    #[arg(long, value_name = "STEP", allow_hyphen_values = true)]
    step: Option<Vec<String>>,
    /// Take the offered operation for a sentence that is not understood: `2=1`
    #[arg(long, value_name = "SENTENCE=OPERATION")]
    accept: Option<Vec<String>>,
    /// Who is asked: auto, ask, ask:2, ask:@group or never
    #[arg(long, value_name = "WHO")]
    approval: Option<String>,
    /// How long an approval waits for an answer
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = SOME.parser())]
    approval_expiry: Option<Span>,
    /// Whoever last edited it may not approve it; --four-eyes=false for no longer
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = flag)]
    four_eyes: Option<bool>,
    /// Only say that it would have run; --observe=false to run
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = flag)]
    observe: Option<bool>,
    /// The channels it is told to; empty for none
    #[arg(long, value_name = "CHANNEL,…")]
    notify: Option<Vec<String>>,
    /// How many runs may start within any such period; several all hold
    #[arg(long, value_name = "N per UNIT", allow_hyphen_values = true)]
    max_runs: Option<Vec<String>>,
    /// The same, for each target by itself
    #[arg(long, value_name = "N per UNIT", allow_hyphen_values = true)]
    max_runs_per_target: Option<Vec<String>>,
    /// How long it rests after a run
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    cooldown: Option<String>,
    /// What happens to a run when a step fails: stop, continue or ask
    #[arg(long, value_name = "WHAT")]
    on_fail: Option<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct Reset {
    /// Its name
    name: String,
    /// The role, worker, queue or job; all of them when absent
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
}

impl AutoFix {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.word {
            Word::Add(add) => self::add(*add, context).await,
            Word::Edit(edit) => self::edit(*edit, context).await,
            Word::Run(by_name) => by_name.run(Noun::AutoFix, context).await,
            Word::Reset(reset) => self::reset(reset, context).await,
            Word::Backtest(backtest) => backtest.run(Noun::AutoFix, context).await,
            Word::Verb(verb) => verb.run(context).await,
        }
    }
}

async fn add(add: Add, context: &Context) -> Result<Reply, Failure> {
    let body = Body {
        name: add.name.get(),
        condition: add.condition,
        action: add.action,
        steps: add.step,
        accept: list(add.accept),
        approval: add.approval,
        approval_expiry_ms: add.approval_expiry.map(|span| span.0),
        four_eyes: add.four_eyes,
        observe: add.observe,
        notify: list(add.notify),
        max_runs: list(add.max_runs),
        max_runs_per_target: list(add.max_runs_per_target),
        cooldown: add.cooldown,
        on_fail: add.on_fail,
        enabled: None,
    };
    definition::add(Noun::AutoFix, &body, add.how, context).await
}

async fn edit(edit: Edit, context: &Context) -> Result<Reply, Failure> {
    let patch = AutoFixPatch {
        condition: edit.condition,
        action: edit.action,
        steps: edit.step,
        accept: list_if(edit.accept),
        approval: edit.approval,
        approval_expiry_ms: edit.approval_expiry.map(|span| span.0),
        four_eyes: edit.four_eyes,
        observe: edit.observe,
        notify: list_if(edit.notify),
        max_runs: list_if(edit.max_runs),
        max_runs_per_target: list_if(edit.max_runs_per_target),
        cooldown: edit.cooldown,
        on_fail: edit.on_fail,
        version: None,
    };
    definition::edit(Noun::AutoFix, &edit.name, &patch, edit.how, context).await
}

async fn reset(reset: Reset, context: &Context) -> Result<Reply, Failure> {
    let Reset { name, target } = reset;
    let client = context.client().await?;
    let on = target.as_ref().map_or(String::new(), |target| format!(" on {target}"));
    match client.reset_fix(&name, &ResetFix { target }).await {
        Ok(definition) => {
            let line = format!("auto-fix {} may run again{on}", quoted(&name));
            Ok(Reply::of(&definition.reply).styled(Style::Good, line))
        }
        Err(error) => Err(definition::unknown(error, client, Noun::AutoFix, &name).await),
    }
}
