//! Definitions: what every kind of them has, told once.
//!
//! Each noun's own file has the flags of `add` and `edit`, and what only that noun does.

mod body;
mod facts;
mod history;
mod plan;
mod state;

use std::io::{self, BufRead, IsTerminal};

use clap::Args;
use clawhold_client::{Client, ClientError};
use serde::Serialize;

use crate::api::automation::Noun;
use crate::api::automation::definition::{
    DefineQuery, Defined, Definition, DefinitionQuery, Test, Tested,
};
use crate::api::automation::plan::Reading;
use crate::api::{Code, Problem};
use crate::cli::lines::aside;
use crate::cli::list::{Limit, meant};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::number;
use crate::output::{Reply, Style};
use crate::table::Table;
use crate::text::quoted;

pub(crate) use body::{How, NewName, flag, list, list_if};
pub(crate) use history::difference;
pub(crate) use plan::{Asked, plan, said};

/// The verbs that every noun has, with examples of its own.
macro_rules! verbs {
    ($noun:expr, $word:literal, $name:literal) => {
        #[derive(Debug, clap::Subcommand)]
        enum Verb {
            /// List them by name
            #[command(after_help = concat!("Example:\n  clawhold ", $word, " list"))]
            List($crate::cli::definition::List),
            /// Show one: what it says, and what became of its words
            #[command(after_help = concat!("Example:\n  clawhold ", $word, " show ", $name))]
            Show($crate::cli::definition::Named),
            /// Remove one; its versions are remembered by number only
            #[command(
                visible_alias = "rm",
                after_help = concat!("Example:\n  clawhold ", $word, " remove ", $name, " --yes")
            )]
            Remove($crate::cli::definition::Remove),
            /// Put one in force
            #[command(after_help = concat!("Example:\n  clawhold ", $word, " enable ", $name))]
            Enable($crate::cli::definition::Named),
            /// Put one out of force; it is kept
            #[command(after_help = concat!("Example:\n  clawhold ", $word, " disable ", $name))]
            Disable($crate::cli::definition::Named),
            /// Show what became of one: its versions, and its runs or alerts
            #[command(after_help = concat!("Example:\n  clawhold ", $word, " history ", $name))]
            History($crate::cli::definition::Named),
            /// Put an earlier version in force again
            #[command(
                after_help = concat!("Example:\n  clawhold ", $word, " revert ", $name, " --to 1")
            )]
            Revert($crate::cli::definition::Revert),
            /// Try one without changing anything but what it sends
            #[command(after_help = concat!("Example:\n  clawhold ", $word, " test ", $name))]
            Test($crate::cli::definition::Tried),
        }

        impl Verb {
            async fn run(
                self,
                context: &$crate::context::Context,
            ) -> Result<$crate::output::Reply, $crate::failure::Failure> {
                use $crate::cli::definition::Act;
                let act = match self {
                    Self::List(list) => Act::List(list),
                    Self::Show(named) => Act::Show(named),
                    Self::Remove(remove) => Act::Remove(remove),
                    Self::Enable(named) => Act::Enable(named),
                    Self::Disable(named) => Act::Disable(named),
                    Self::History(named) => Act::History(named),
                    Self::Revert(revert) => Act::Revert(revert),
                    Self::Test(test) => Act::Test(test),
                };
                $crate::cli::definition::act($noun, act, context).await
            }
        }
    };
}

pub(super) use verbs;

/// What is asked of any definition.
#[derive(Debug)]
pub(crate) enum Act {
    List(List),
    Show(Named),
    Remove(Remove),
    Enable(Named),
    Disable(Named),
    History(Named),
    Revert(Revert),
    Test(Tried),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those that bear this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only those in whose name or text this occurs
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// Its name
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Its name
    name: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Revert {
    /// Its name
    name: String,
    /// The version, as `history` numbers them
    #[arg(long, value_name = "VERSION", allow_negative_numbers = true, value_parser = number::any())]
    to: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Tried {
    /// Its name
    name: String,
    /// The role, worker, queue or job that is meant; all that fit when absent
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
}

/// A definition that was removed.
#[derive(Serialize)]
struct Removed<'a> {
    kind: Noun,
    name: &'a str,
    position: Option<u64>,
}

/// Does what is asked of a definition.
///
/// # Errors
/// Why it could not be done.
pub(crate) async fn act(noun: Noun, act: Act, context: &Context) -> Result<Reply, Failure> {
    let client = context.client().await?;
    match act {
        Act::List(list) => list_all(client, noun, list).await,
        Act::Show(Named { name }) => Ok(state::shown(&definition(client, noun, &name).await?)),
        Act::Remove(remove) => self::remove(client, noun, remove, context).await,
        Act::Enable(Named { name }) => {
            let defined = client.enable(noun, &name).await;
            turned(client, noun, &name, defined.map(|done| done.reply), "in force").await
        }
        Act::Disable(Named { name }) => {
            let defined = client.disable(noun, &name).await;
            turned(client, noun, &name, defined.map(|done| done.reply), "out of force").await
        }
        Act::History(Named { name }) => match client.definition_history(noun, &name).await {
            Ok(history) => Ok(history::reply(noun, &name, &history)),
            Err(error) => Err(unknown(error, client, noun, &name).await),
        },
        Act::Revert(Revert { name, to }) => match client.revert(noun, &name, to).await {
            Ok(defined) => Ok(changed(&defined.reply, Asked::ToKeep)),
            Err(error) if is_version(&error) => Err(Failure::from(error)
                .next(format!("see `clawhold {noun} history {}`", quoted(&name)))),
            Err(error) => Err(unknown(error, client, noun, &name).await),
        },
        Act::Test(Tried { name, target }) => {
            match client.test(noun, &name, &Test { target }).await {
                Ok(tested) => Ok(tried(&tested)),
                Err(error) => Err(unknown(error, client, noun, &name).await),
            }
        }
    }
}

/// Tells whether it is the version that does not exist.
fn is_version(error: &ClientError) -> bool {
    error.is(Code::NotFound) && error.to_string().starts_with("there is no version")
}

/// Returns a definition.
///
/// # Errors
/// Why it cannot be read, with the name that was probably meant.
pub(crate) async fn definition(
    client: &Client,
    noun: Noun,
    name: &str,
) -> Result<Definition, Failure> {
    match client.definition(noun, name).await {
        Ok(definition) => Ok(definition),
        Err(error) => Err(unknown(error, client, noun, name).await),
    }
}

/// Adds to a failure about a definition that does not exist which was probably meant.
pub(crate) async fn unknown(
    error: ClientError,
    client: &Client,
    noun: Noun,
    name: &str,
) -> Failure {
    let all = client.definitions(noun, &DefinitionQuery::default());
    let failure = meant(error, name, all, |known| known.name.as_str()).await;
    if failure.exit() != Exit::NotFound || failure.next_step().is_some() {
        return failure;
    }
    failure.next(format!("see `clawhold {noun} list` for those there are"))
}

/// Adds a definition and says what became of its words.
///
/// # Errors
/// Why it was not added; one of this name is named with the line that changes it.
pub(crate) async fn add<B: Serialize>(
    noun: Noun,
    body: &B,
    how: How,
    context: &Context,
) -> Result<Reply, Failure> {
    let client = context.client().await?;
    let asked = how.asked();
    match client.define(noun, body, how.into()).await {
        Ok(defined) => Ok(added(&defined.reply, asked)),
        Err(error) => Err(taken(error, noun)),
    }
}

/// Changes a definition and says what is different.
///
/// # Errors
/// Why it was not changed.
pub(crate) async fn edit<B: Serialize>(
    noun: Noun,
    name: &str,
    patch: &B,
    how: How,
    context: &Context,
) -> Result<Reply, Failure> {
    if serde_json::to_value(patch).is_ok_and(|patch| body::says_nothing(&patch)) {
        let text = format!("nothing is named that should change in {noun} {}", quoted(name));
        let next = format!("see `clawhold {noun} edit --help` for what can change");
        return Err(Failure::usage(text).next(next));
    }
    let client = context.client().await?;
    let asked = how.asked();
    let query: DefineQuery = how.into();
    match client.redefine(noun, name, patch, query).await {
        Ok(defined) => Ok(changed(&defined.reply, asked)),
        Err(error) => Err(unknown(error, client, noun, name).await),
    }
}

/// Returns what is said of a definition that is new.
pub(crate) fn added(defined: &Defined, asked: Asked) -> Reply {
    told(Reply::of(defined), &defined.definition, asked)
}

/// Returns what is said of a definition that was to be changed.
pub(crate) fn changed(defined: &Defined, asked: Asked) -> Reply {
    let reply = Reply::of(defined);
    if !defined.changed && !defined.added {
        let definition = &defined.definition;
        let head = plan::name(definition);
        return reply.line(format!("{head} says that already; nothing changed"));
    }
    let mut reply = reply;
    for change in &defined.difference {
        for (style, line) in difference(change) {
            reply = reply.styled(style, line);
        }
    }
    told(reply, &defined.definition, asked)
}

fn told(mut reply: Reply, definition: &Definition, asked: Asked) -> Reply {
    let mut head = plan::name(definition);
    for fact in facts::head(&definition.spec) {
        head.push_str("  ");
        head.push_str(&fact);
    }
    reply = reply.styled(Style::Bold, head);
    for line in facts::body(&definition.spec) {
        reply = reply.line(format!("  {line}"));
    }
    remarks(plan(reply, definition, asked), definition)
}

/// Adds what is not as may be expected, and what else there is to know.
fn remarks(mut reply: Reply, definition: &Definition) -> Reply {
    // The plan has said already which steps are not understood.
    let steps = definition.plan.iter().filter(|step| step.reading == Reading::NotUnderstood);
    let said: Vec<String> = steps.map(|step| format!("step {} ", step.number)).collect();
    let is_said = |warning: &str| said.iter().any(|step| warning.starts_with(step));
    for warning in definition.warnings.iter().filter(|warning| !is_said(warning)) {
        reply = reply.styled(Style::Warn, format!("warning: {warning}"));
    }
    for note in &definition.notes {
        reply = reply.line(format!("note: {note}"));
    }
    reply
}

/// Returns the failure of `add`; when the name is taken, with the line that changes the one that
/// bears it.
fn taken(error: ClientError, noun: Noun) -> Failure {
    let problem = error.problem().cloned();
    let failure = Failure::from(error);
    match problem {
        Some(Problem { code: Code::Exists, name: Some(name), .. }) => {
            let argv: Vec<String> = std::env::args().skip(1).collect();
            failure.next(body::edit_line(noun, &name, &argv))
        }
        Some(_) | None => failure,
    }
}

async fn list_all(client: &Client, noun: Noun, list: List) -> Result<Reply, Failure> {
    let query = DefinitionQuery {
        tag: list.tag,
        search: list.search,
        limit: list.limit.page(),
        cursor: None,
    };
    let rows = list.limit.rows(client.definitions(noun, &query)).await?;
    let mut table = Table::new(&["NAME", "IN FORCE", "VERSION", "SAYS", "TELLS"]);
    for definition in &rows.items {
        table.row([
            definition.name.clone(),
            if definition.enabled { "yes" } else { "no" }.to_owned(),
            definition.version.to_string(),
            facts::brief(&definition.spec),
            facts::tells(&definition.spec),
        ]);
    }
    Ok(rows.reply(table, &format!("there is no {noun}")))
}

async fn turned(
    client: &Client,
    noun: Noun,
    name: &str,
    defined: Result<Defined, ClientError>,
    how: &str,
) -> Result<Reply, Failure> {
    let defined = match defined {
        Ok(defined) => defined,
        Err(error) => return Err(unknown(error, client, noun, name).await),
    };
    let head = plan::name(&defined.definition);
    let line = if defined.changed {
        format!("{head} is {how}")
    } else {
        format!("{head} was {how} already")
    };
    Ok(remarks(Reply::of(&defined).styled(Style::Good, line), &defined.definition))
}

async fn remove(
    client: &Client,
    noun: Noun,
    remove: Remove,
    context: &Context,
) -> Result<Reply, Failure> {
    let Remove { name, yes } = remove;
    let known = definition(client, noun, &name).await?;
    if !yes {
        let question = format!("remove {}?", plan::name(&known));
        sure(&question, context).await?;
    }
    let position = match client.remove_definition(noun, &name).await {
        Ok(done) => done.position,
        Err(error) => return Err(unknown(error, client, noun, &name).await),
    };
    let removed = Removed { kind: noun, name: &name, position };
    Ok(Reply::of(&removed).line(format!("{noun} {} is removed", quoted(&name))))
}

/// Asks whether something shall be done that takes something away.
///
/// # Errors
/// When nobody can be asked, or the answer is no.
async fn sure(question: &str, context: &Context) -> Result<(), Failure> {
    if context.output.is_json() || !io::stdin().is_terminal() {
        return Err(Failure::usage(format!("{question} nobody can be asked here"))
            .next("say --yes if that is meant"));
    }
    context.output.prompt(&format!("{question} [y/N] "));
    let answer = aside(|| {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map(|_| line)
    })
    .await?;
    let answer = answer.map_err(|error| Failure::failed("cannot ask").because(&error))?;
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::new(Exit::Refused, "not_confirmed", "nothing was removed"))
}

/// Returns what is said of a definition that was tried.
fn tried(tested: &Tested) -> Reply {
    let mut reply = Reply::of(tested);
    for line in &tested.lines {
        reply = reply.line(line);
    }
    if !tested.targets.is_empty() {
        let mut table = Table::new(&["TARGET", "CONDITION", "WOULD BE", "BECAUSE", "SEEN"]);
        for one in &tested.targets {
            table.row([
                format!("{} {}", one.target.kind, one.target.name),
                one.verdict.clone(),
                one.reason.clone(),
                one.detail.clone(),
                one.evidence.clone(),
            ]);
        }
        reply = reply.table(table);
    }
    for line in plan::steps(&tested.plan) {
        reply = reply.line(line);
    }
    reply.exit(if tested.ok { Exit::Done } else { Exit::Failed })
}
