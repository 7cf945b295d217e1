//! Channels: where messages go, always to the inbox, and to a sink when one is bound.

use clap::Subcommand;

use crate::api::automation::Noun;
use crate::api::automation::definition::{Channel as Body, ChannelPatch, ChatUser, Sink, Spec};
use crate::cli::definition::{self, How, NewName, flag, list, list_if, verbs};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Reply;

/// Channels: where messages go, always to the inbox, and to a sink when one is bound
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  clawhold channel list")]
pub(crate) struct Channel {
    #[command(subcommand)]
    word: Word,
}

verbs!(Noun::Channel, "channel", "'#ops-info'");

#[derive(Debug, Subcommand)]
enum Word {
    /// Add a channel, and bind it to a sink
    ///
    /// A SECRET is `file:PATH` or `env:NAME`, found by the server, or the secret itself, which is
    /// kept in the log and never shown. A channel that is only named elsewhere delivers to the
    /// inbox.
    #[command(
        after_help = "Examples:\n  clawhold channel add '#ops-info' --slack file:/etc/clawhold/ops-info.url\n  clawhold channel add '#ops-alerts' \\\n    --webhook https://example.org/hook --secret env:HOOK_SECRET\n  clawhold channel add '@oncall' --member ana,ben"
    )]
    Add(Box<Add>),
    /// Change what is named
    #[command(
        after_help = "Example:\n  clawhold channel edit '#ops-info' \\\n    --signing env:SLACK_SIGNING_SECRET --user U024BE7LH=ana"
    )]
    Edit(Box<Edit>),
    #[command(flatten)]
    Verb(Verb),
}

#[derive(Debug, clap::Args)]
struct Add {
    #[command(flatten)]
    name: NewName,
    #[command(flatten)]
    sink: SinkFlags,
    /// What requests from its chat are signed with
    #[arg(long, value_name = "SECRET")]
    signing: Option<String>,
    /// Who may act from its chat: the chat's own id of the person, and who they are here
    #[arg(long, value_name = "ID=ACTOR", value_parser = user)]
    user: Vec<ChatUser>,
    /// People who are not linked get no answer at all
    #[arg(long)]
    closed: bool,
    /// The members of a group that approves
    #[arg(long, value_name = "ACTOR,…")]
    member: Vec<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct Edit {
    /// Its name
    name: String,
    #[command(flatten)]
    sink: SinkFlags,
    /// Take the sink away: the inbox alone has its messages
    #[arg(long, conflicts_with_all = ["slack", "webhook", "discord", "telegram", "mail"])]
    no_sink: bool,
    /// What requests from its chat are signed with; empty for nothing
    #[arg(long, value_name = "SECRET")]
    signing: Option<String>,
    /// Who may act from its chat, besides those who may now; `ID=` takes one away
    #[arg(long, value_name = "ID=ACTOR", value_parser = user_or_nobody)]
    user: Option<Vec<ChatUser>>,
    /// People who are not linked get no answer at all; --closed=false for what only shows
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = flag)]
    closed: Option<bool>,
    /// The members of a group that approves, instead of those now; empty for nobody
    #[arg(long, value_name = "ACTOR,…")]
    member: Option<Vec<String>>,
    #[command(flatten)]
    how: How,
}

/// What takes the messages of a channel.
#[derive(Debug, Default, clap::Args)]
struct SinkFlags {
    /// An incoming webhook of Slack, or of one that speaks its form: its URL
    #[arg(long, value_name = "SECRET", group = "sink")]
    slack: Option<String>,
    /// A URL that gets signed JSON
    #[arg(long, value_name = "SECRET", group = "sink")]
    webhook: Option<String>,
    /// What the requests to the webhook are signed with
    #[arg(long, value_name = "SECRET", requires = "webhook")]
    secret: Option<String>,
    /// A webhook of Discord: its URL
    #[arg(long, value_name = "SECRET", group = "sink")]
    discord: Option<String>,
    /// A bot of Telegram: its token
    #[arg(long, value_name = "SECRET", group = "sink", requires = "chat")]
    telegram: Option<String>,
    /// The chat that the bot writes to
    #[arg(long, value_name = "CHAT", requires = "telegram", allow_hyphen_values = true)]
    chat: Option<String>,
    /// Where the bot API is, when not at its usual place
    #[arg(long, value_name = "URL", requires = "telegram")]
    base: Option<String>,
    /// Mail: the server, as smtp://HOST:PORT or smtps://USER@HOST:PORT
    #[arg(long, value_name = "SERVER", group = "sink", requires = "from", requires = "mail_to")]
    mail: Option<String>,
    /// The sender's address
    #[arg(long, value_name = "ADDRESS", requires = "mail")]
    from: Option<String>,
    /// The receivers' addresses
    #[arg(long, value_name = "ADDRESS,…", requires = "mail")]
    mail_to: Vec<String>,
    /// The password of the user at the mail server
    #[arg(long, value_name = "SECRET", requires = "mail")]
    password: Option<String>,
}

impl SinkFlags {
    fn sink(self) -> Option<Sink> {
        if let Some(url) = self.slack {
            return Some(Sink::Slack { url });
        }
        if let Some(url) = self.webhook {
            return Some(Sink::Webhook { url, secret: self.secret });
        }
        if let Some(url) = self.discord {
            return Some(Sink::Discord { url });
        }
        if let Some(token) = self.telegram {
            let chat = self.chat.unwrap_or_default();
            return Some(Sink::Telegram { token, chat, base: self.base });
        }
        let (server, to) = (self.mail?, list(self.mail_to));
        let from = self.from.unwrap_or_default();
        Some(Sink::Mail { server, from, to, password: self.password })
    }
}

impl Channel {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.word {
            Word::Add(add) => {
                let body = Body {
                    name: add.name.get(),
                    sink: add.sink.sink(),
                    signing: add.signing,
                    users: add.user,
                    closed: add.closed,
                    members: list(add.member),
                    enabled: None,
                };
                definition::add(Noun::Channel, &body, add.how, context).await
            }
            Word::Edit(edit) => {
                let users = match edit.user {
                    Some(users) => Some(linked(users, &edit.name, context).await?),
                    None => None,
                };
                let patch = ChannelPatch {
                    sink: edit.sink.sink(),
                    no_sink: edit.no_sink,
                    signing: edit.signing,
                    users,
                    closed: edit.closed,
                    members: list_if(edit.member),
                    version: None,
                };
                definition::edit(Noun::Channel, &edit.name, &patch, edit.how, context).await
            }
            Word::Verb(verb) => verb.run(context).await,
        }
    }
}

/// Returns who is linked to a channel once these are added to those who are, or taken away.
async fn linked(
    users: Vec<ChatUser>,
    name: &str,
    context: &Context,
) -> Result<Vec<ChatUser>, Failure> {
    let client = context.client().await?;
    let known = definition::definition(client, Noun::Channel, name).await?;
    let mut linked =
        if let Spec::Channel(channel) = known.spec { channel.users } else { Vec::new() };
    for user in users {
        linked.retain(|one| one.id != user.id);
        if !user.actor.is_empty() {
            linked.push(user);
        }
    }
    Ok(linked)
}

/// Reads a person of a chat, or one who is to be taken away: `U024BE7LH=`.
fn user_or_nobody(text: &str) -> Result<ChatUser, String> {
    match text.strip_suffix('=').filter(|id| !id.is_empty() && !id.contains('=')) {
        Some(id) => Ok(ChatUser { id: id.to_owned(), actor: String::new() }),
        None => user(text),
    }
}

/// Reads a person of a chat: `U024BE7LH=ana`.
fn user(text: &str) -> Result<ChatUser, String> {
    match text.split_once('=') {
        Some((id, actor)) if !id.is_empty() && !actor.is_empty() => {
            Ok(ChatUser { id: id.to_owned(), actor: actor.to_owned() })
        }
        Some(_) | None => Err("write it as ID=ACTOR, such as U024BE7LH=ana".to_owned()),
    }
}
