//! Agents: who gets the jobs that are written in words, and what they are told with each.

use clap::Subcommand;
use clawhold_client::Client;

use crate::api::Code;
use crate::api::automation::Noun;
use crate::api::automation::definition::{
    Agent as Body, AgentPatch, AppendMessage, DefinitionQuery,
};
use crate::cli::definition::{self, Asked, How, NewName, verbs};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Reply;
use crate::text::quoted;

/// Agents: who gets the jobs that are written in words, and what they are told with each
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  clawhold agent list")]
pub(crate) struct Agent {
    #[command(subcommand)]
    word: Word,
}

verbs!(Noun::Agent, "agent", "'DevOps Monitor'");

#[derive(Debug, Subcommand)]
enum Word {
    /// Add an agent
    #[command(
        after_help = "Example:\n  clawhold agent add --name 'DevOps Monitor' --about 'watches the queues'"
    )]
    Add(Add),
    /// Change what is named; tell an agent something more
    #[command(
        after_help = "Example:\n  clawhold agent edit 'DevOps Monitor' \\\n    --append-message 'Report each job you hand back.'"
    )]
    Edit(Edit),
    #[command(flatten)]
    Verb(Verb),
}

#[derive(Debug, clap::Args)]
struct Add {
    #[command(flatten)]
    name: NewName,
    /// What it is for
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        default_value = "",
        hide_default_value = true
    )]
    about: String,
    /// The queue of its jobs; one named after it when absent
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// What it is told with every job; may be given several times
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Vec<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct Edit {
    /// Its name
    name: String,
    /// What it is told with every job from now on, besides what it is told already
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    append_message: Option<String>,
    /// Make it when there is none of this name; the first agent is made without being asked
    #[arg(long, requires = "append_message")]
    create: bool,
    /// What it is for
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    about: Option<String>,
    /// The queue of its jobs; empty for one named after it
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// What it is told with every job, instead of all it is told now; may be given several times
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        conflicts_with = "append_message"
    )]
    message: Option<Vec<String>>,
}

impl Agent {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.word {
            Word::Add(add) => {
                let body = Body {
                    name: add.name.get(),
                    about: add.about,
                    queue: add.queue,
                    messages: add.message,
                    enabled: None,
                };
                definition::add(Noun::Agent, &body, add.how, context).await
            }
            Word::Edit(edit) => self::edit(edit, context).await,
            Word::Verb(verb) => verb.run(context).await,
        }
    }
}

async fn edit(edit: Edit, context: &Context) -> Result<Reply, Failure> {
    let Edit { name, append_message, create, about, queue, message } = edit;
    let patches = about.is_some() || queue.is_some() || message.is_some();
    let patch = AgentPatch { about, queue, messages: message, version: None };
    let how = How::default();
    let Some(message) = append_message else {
        return definition::edit(Noun::Agent, &name, &patch, how, context).await;
    };
    let reply = append(context.client().await?, &name, AppendMessage { message, create }).await?;
    if !patches {
        return Ok(reply);
    }
    definition::edit(Noun::Agent, &name, &patch, how, context).await
}

async fn append(client: &Client, name: &str, append: AppendMessage) -> Result<Reply, Failure> {
    let defined = match client.append_message(name, &append).await {
        Ok(defined) => defined.reply,
        Err(error) if error.is(Code::NotFound) => {
            let others = client.definitions(Noun::Agent, &DefinitionQuery::default());
            let failure =
                crate::cli::list::meant(error, name, others, |known| known.name.as_str()).await;
            let create = format!("--create makes agent {}", quoted(name));
            let next = match failure.next_step() {
                Some(meant) => format!("{meant} {create}"),
                None => create,
            };
            return Err(failure.next(next));
        }
        Err(error) => return Err(error.into()),
    };
    if !defined.added {
        return Ok(definition::changed(&defined, Asked::ToKeep));
    }
    let head = format!("there was no agent {}; it is made, and told this:", quoted(name));
    Ok(definition::added(&defined, Asked::ToKeep).first(head))
}
