//! Runs: what words start, step by step, and what people say about it.

mod follow;
mod show;

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use clawhold_client::ClientError;

use crate::api::Code;
use crate::api::automation::Noun;
use crate::api::automation::run::{
    CancelRun, Decide, Ran, ResumeRun, Run as View, RunQuery, RunState, RunText, StartRun,
};
use crate::cli::definition::unknown;
use crate::cli::list::Limit;
use crate::context::Context;
use crate::failure::Failure;
use crate::number;
use crate::output::{Reply, Style};
use crate::table::Table;

use self::follow::follow;
pub(crate) use self::show::lines;

/// Run what words start, and see to what runs
///
/// The words are the trigger of a command, which is answered, or of a runbook, which begins. What a
/// run is about is asked for when it is not clear; it is never guessed.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  clawhold run /leader\n  clawhold run '/runbook rebalance' --param worker=w-3 --follow\n  clawhold run approve 7"
)]
pub(crate) struct Run {
    #[command(subcommand)]
    word: Option<Word>,
    /// The words, such as `/runbook rebalance`
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    #[command(flatten)]
    about: About,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// List the runs, newest first
    #[command(after_help = "Example:\n  clawhold run list --state live")]
    List(List),
    /// Show one run: its steps and what each did
    #[command(after_help = "Examples:\n  clawhold run show 7\n  clawhold run show 7 --follow")]
    Show(Show),
    /// Call a run off; its current step is not undone
    #[command(after_help = "Example:\n  clawhold run cancel 7 --reason 'wrong worker'")]
    Cancel(Said),
    /// Let a run that has ended badly go on
    #[command(after_help = "Example:\n  clawhold run resume 7 --from 3")]
    Resume(Resume),
    /// Agree to a run that asks, as its plan stands now
    #[command(after_help = "Example:\n  clawhold run approve 7")]
    Approve(Said),
    /// Say no to a run that asks
    #[command(after_help = "Example:\n  clawhold run reject 7 --reason 'not before noon'")]
    Reject(Said),
    /// Confirm that the step a run waits for is done
    #[command(after_help = "Example:\n  clawhold run confirm 7")]
    Confirm(Said),
}

/// What a run is about, and whether it is watched.
#[derive(Debug, Args)]
struct About {
    /// What the run is about: role, worker, queue or job
    #[arg(long, value_name = "NAME=VALUE", value_parser = param)]
    param: Vec<(String, String)>,
    /// Stay until it ends: a line a step; the exit code tells how it ended
    #[arg(long)]
    follow: bool,
}

#[derive(Debug, Args)]
struct List {
    /// Only those in this state, or `live` for all that have not ended
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Option<String>,
    /// Only those of the auto-fix or runbook of this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Args)]
struct Show {
    /// The run
    #[arg(value_name = "RUN", value_parser = number::any())]
    run: u64,
    /// Only this step
    #[arg(long, value_name = "N", value_parser = number::any())]
    step: Option<u64>,
    /// Stay until it ends: a line a step; the exit code tells how it ended
    #[arg(long, conflicts_with = "step")]
    follow: bool,
}

#[derive(Debug, Args)]
struct Said {
    /// The run
    #[arg(value_name = "RUN", value_parser = number::any())]
    run: u64,
    /// Why, for people
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        default_value = "",
        hide_default_value = true
    )]
    reason: String,
}

#[derive(Debug, Args)]
struct Resume {
    /// The run
    #[arg(value_name = "RUN", value_parser = number::any())]
    run: u64,
    /// The step to go on from; the one that failed when absent
    #[arg(long, value_name = "N", value_parser = number::any())]
    from: Option<u64>,
    /// Stay until it ends
    #[arg(long)]
    follow: bool,
}

/// A fix or a runbook that is run by its name.
#[derive(Debug, Args)]
pub(crate) struct ByName {
    /// Its name
    name: String,
    /// The role, worker, queue or job it is about
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Set the limits of an auto-fix aside; the reason is kept
    #[arg(long = "override", requires = "reason")]
    set_aside: bool,
    /// Why the limits are set aside
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, requires = "set_aside")]
    reason: Option<String>,
    #[command(flatten)]
    about: About,
}

impl Run {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let Some(word) = self.word else { return text(self.text, self.about, context).await };
        let client = context.client().await?;
        match word {
            Word::List(list) => self::list(list, context).await,
            Word::Show(Show { run, follow: true, .. }) => {
                follow(client.run(run).await?, context).await
            }
            Word::Show(Show { run, step, .. }) => {
                let run = client.run(run).await?;
                step.map_or(Ok(show::shown(&run)), |step| show::step(&run, step))
            }
            Word::Cancel(Said { run, reason }) => {
                let run = client.cancel_run(run, &CancelRun { reason }).await?;
                Ok(said(&run, "is called off"))
            }
            Word::Resume(Resume { run, from, follow: stay }) => {
                let from = from.map(step_number).transpose()?;
                let run = client.resume_run(run, ResumeRun { from }).await?.reply;
                if stay { follow(run, context).await } else { Ok(begun(&run)) }
            }
            Word::Approve(Said { run, reason }) => approve(run, reason, context).await,
            Word::Reject(Said { run, reason }) => {
                let decide = Decide { agrees: false, reason, plan_hash: None };
                Ok(said(&client.decide(run, &decide).await?.reply, "is told no"))
            }
            Word::Confirm(Said { run, reason }) => {
                let decide = Decide { agrees: true, reason, plan_hash: None };
                Ok(said(&client.decide(run, &decide).await?.reply, "goes on"))
            }
        }
    }
}

impl ByName {
    /// Runs it.
    pub(crate) async fn run(self, noun: Noun, context: &Context) -> Result<Reply, Failure> {
        let client = context.client().await?;
        let start = StartRun {
            target: self.target,
            params: self.about.param.into_iter().collect(),
            override_reason: self.reason.filter(|_| self.set_aside),
        };
        let run = match noun {
            Noun::AutoFix => client.run_fix(&self.name, &start).await,
            Noun::Runbook
            | Noun::Agent
            | Noun::Command
            | Noun::AlertRule
            | Noun::AlertRoute
            | Noun::Channel
            | Noun::Source => client.run_runbook(&self.name, &start).await,
        };
        let run = match run {
            Ok(run) => run.reply,
            Err(error) if error.is(Code::NotFound) => {
                return Err(unknown(error, client, noun, &self.name).await);
            }
            Err(error) => return Err(error.into()),
        };
        if self.about.follow { follow(run, context).await } else { Ok(begun(&run)) }
    }
}

/// Runs what words start.
async fn text(words: Vec<String>, about: About, context: &Context) -> Result<Reply, Failure> {
    let client = context.client().await?;
    let params: BTreeMap<String, String> = about.param.into_iter().collect();
    let text = RunText { text: words.join(" "), params };
    let ran = client.run_text(&text).await.map_err(|error| nothing_started(error, &text.text))?;
    match &ran.reply.run {
        None => Ok(answered(&ran)),
        Some(run) if about.follow => follow(run.clone(), context).await,
        Some(run) => Ok(begun(run)),
    }
}

/// Adds to a failure about words that start nothing where to look.
fn nothing_started(error: ClientError, text: &str) -> Failure {
    let is_missing = error.is(Code::NotFound);
    let has_choices = error.problem().is_some_and(|problem| !problem.choices.is_empty());
    let failure = Failure::from(error);
    if !is_missing || has_choices {
        return failure;
    }
    if text.starts_with('/') {
        return failure.next("see `clawhold command list` and `clawhold runbook list`");
    }
    failure.next("words begin with a slash: `clawhold run /leader`; see `clawhold run --help`")
}

/// Returns what a command answered, source by source.
fn answered(ran: &Ran) -> Reply {
    let mut reply = Reply::of(ran);
    if ran.answers.is_empty() {
        for line in &ran.lines {
            reply = reply.line(line);
        }
        return reply;
    }
    for (at, answer) in ran.answers.iter().enumerate() {
        if let Some(source) = &answer.source {
            let gap = if at > 0 { reply.line("") } else { reply };
            reply = gap.styled(Style::Bold, format!("{source}:"));
        }
        let style = if answer.connected { Style::Plain } else { Style::Warn };
        for line in &answer.lines {
            reply = reply.styled(style, line);
        }
    }
    reply
}

/// Returns what is said of a run that has begun.
fn begun(run: &View) -> Reply {
    let mut reply = Reply::of(run);
    for (style, line) in lines(run) {
        reply = reply.styled(style, line);
    }
    if run.state.is_ended() {
        return reply.exit(follow::exit(run.state));
    }
    reply.line(follow::next(run))
}

fn said(run: &View, what: &str) -> Reply {
    let line = format!("run {} of {} {what}; it is {}", run.id, run.name, run.state.as_str());
    Reply::of(run).styled(Style::Good, line)
}

/// Agrees to a run as its plan stands now.
async fn approve(run: u64, reason: String, context: &Context) -> Result<Reply, Failure> {
    let client = context.client().await?;
    let seen = client.run(run).await?;
    // What is agreed to is what was seen: a plan that has changed in between is refused.
    let plan_hash = Some(seen.plan_hash).filter(|hash| !hash.is_empty());
    let decide = Decide { agrees: true, reason, plan_hash };
    Ok(said(&client.decide(run, &decide).await?.reply, "is agreed to"))
}

async fn list(list: List, context: &Context) -> Result<Reply, Failure> {
    let query = RunQuery {
        kind: None,
        name: list.name,
        state: list.state,
        cursor: None,
        limit: list.limit.page(),
    };
    let rows = list.limit.rows(context.client().await?.runs(&query)).await?;
    let mut table = Table::new(&["RUN", "OF", "ABOUT", "STATE", "STEP", "ASKED", "WAITS FOR"]);
    for run in &rows.items {
        let step = run.step.map_or(String::new(), |step| format!("{step} of {}", run.steps.len()));
        table.row([
            run.id.to_string(),
            format!("{} {}", run.kind, run.name),
            show::about(run),
            run.state.as_str().to_owned(),
            step,
            run.asked.clone(),
            run.waits_for.clone(),
        ]);
    }
    Ok(rows.reply(table, "there is no run"))
}

/// Reads a parameter: `worker=w-3`.
fn param(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        Some(_) | None => Err("write it as NAME=VALUE, such as worker=w-3".to_owned()),
    }
}

fn state(text: &str) -> Result<String, String> {
    if text == "live" || RunState::parse(text).is_some() {
        return Ok(text.to_owned());
    }
    let states: Vec<&str> = RunState::ALL.iter().map(|state| state.as_str()).collect();
    Err(format!("allowed is live, {}", states.join(", ")))
}

fn step_number(step: u64) -> Result<u32, Failure> {
    u32::try_from(step).map_err(|_| Failure::usage(format!("there is no step {step}")))
}
