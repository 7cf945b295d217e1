//! Requests from chats and other programs: their signature is their token.
//!
//! A signature is checked over the bytes as they came. What a request says binds as values: no
//! shell and no template is involved. The same request twice acts once, by the log's request ids.

pub(super) mod signed;
pub(super) mod slack;
pub(super) mod telegram;

use std::time::Duration;

use clawhold_api::automation::run as wire;
use clawhold_api::error::Code;
use clawhold_core::catalog::{Channel, Noun, Spec};
use clawhold_core::command::{Automate, Post};
use clawhold_core::units::{Name, RequestId, Text, Title};

use super::ask::Asking;
use super::definition::automate;
use crate::auth::Scope;
use crate::http::Room;
use crate::http::call::Call;
use crate::http::error::Rejected;
use crate::http::signal::Patience;
use crate::secret::{self, Opened};
use crate::signature;

/// Within which a chat wants an answer, with room for the way back.
const ANSWER_WITHIN: Duration = Duration::from_millis(2_300);

/// A channel that requests come for.
#[derive(Clone, Debug)]
struct Door {
    title: Title,
    channel: Channel,
    secret: Opened,
}

/// A genuine request.
#[derive(Clone, Debug)]
struct Heard {
    door: Door,
    /// The chat's own id of who asks.
    user: String,
    text: String,
    id: RequestId,
    reply_url: Option<Text>,
}

/// What is answered to a genuine request.
#[derive(Clone, Debug)]
struct Said {
    lines: Vec<String>,
    run: Option<u64>,
    ok: bool,
}

/// Returns the refusal of a request that is not genuine, which says nothing more.
fn not_genuine() -> Rejected {
    Rejected::new(Code::BadSignature, "the request is not signed as this channel wants it")
}

impl Room {
    /// Returns the channel that a path names, with the secret that its requests are signed with.
    /// One that is not there is refused as one that is not signed.
    async fn door(&self, name: &str) -> Result<Door, Rejected> {
        let names = [name.to_owned(), format!("#{name}")];
        let found = self.read(move |replica| {
            let catalog = replica.state().automation().catalog();
            let titles = names.iter().filter_map(|name| Title::parse(name).ok());
            let known = titles.filter_map(|title| catalog.get(Noun::Channel, &title)).next();
            let known = known.filter(|known| known.enabled).ok_or_else(not_genuine)?;
            let Spec::Channel(channel) = &known.spec else { return Err(not_genuine()) };
            Ok((known.title.clone(), channel.clone()))
        });
        let (title, channel) = found.await?;
        let signing = channel.signing.as_ref().ok_or_else(not_genuine)?;
        match secret::open(signing) {
            Ok(secret) => Ok(Door { title, channel, secret }),
            Err(error) => {
                tracing::warn!(channel = %title, %error, "requests for a channel cannot be checked");
                Err(not_genuine())
            }
        }
    }

    /// Answers a genuine request.
    async fn hear(&self, heard: Heard) -> Said {
        let users = &heard.door.channel.users;
        let linked = users.iter().find(|user| user.id.as_str() == heard.user);
        if linked.is_none() && heard.door.channel.closed {
            tracing::info!(user = %heard.user, "a closed channel answers linked people only");
            return said(false, Vec::new());
        }
        let actor = linked.map(|user| user.actor.clone());
        let may_act = match &actor {
            Some(_) => Ok(()),
            None => {
                let detail = not_linked(&heard, "only linked people start a runbook");
                Err(Rejected::new(Code::NotAllowed, detail))
            }
        };
        let asking = Asking {
            actor: actor.unwrap_or_else(|| stranger(&heard.user)),
            may_act,
            id: Some(heard.id.clone()),
            reply_url: heard.reply_url.clone(),
        };
        match self.run_text(asking, &heard.text, Vec::new()).await {
            Ok(ran) => shown(ran.body),
            Err(rejected) => refused(&rejected),
        }
    }

    /// Answers a genuine request, if that takes no longer than a chat waits. What takes longer is
    /// told later: to the address that came with the request, or to the channel.
    async fn hear_soon(&self, heard: Heard) -> Option<Said> {
        let (room, later) = (self.clone(), heard.clone());
        let (sender, mut receiver) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            let said = room.hear(later.clone()).await;
            if let Err(said) = sender.send(said) {
                room.tell_later(later, said).await;
            }
        });
        let mut patience = Patience::of(ANSWER_WITHIN);
        let mut answer = None;
        patience.lasts_for(async { answer = (&mut receiver).await.ok() }).await;
        // From here on what comes is told later; what came just now is answered at once.
        receiver.close();
        answer.or_else(|| receiver.try_recv().ok())
    }

    async fn tell_later(&self, heard: Heard, said: Said) {
        let post = Post {
            channel: heard.door.title,
            title: Text::cut(&heard.text),
            lines: said.lines.iter().map(|line| Text::cut(line)).collect(),
            reply_url: heard.reply_url,
        };
        let id = RequestId::parse(&format!("{}-late", heard.id.as_str())).ok();
        let call = Call { id, actor: stranger(&heard.user), scope: Scope::Worker };
        let posted = self.write(call, automate(Automate::Post(post)), |_, _| Ok(())).await;
        if let Err(rejected) = posted {
            tracing::warn!(why = %rejected.0.detail, "an answer could not be told");
        }
    }
}

/// Returns the actor that stands for somebody who is not linked: nobody is taken for them.
fn stranger(user: &str) -> Name {
    let named = Name::parse(&format!("chat:{user}"));
    named.unwrap_or_else(|_| Name::parse("chat:unnamed").expect("`chat:unnamed` is a name"))
}

fn not_linked(heard: &Heard, why: &str) -> String {
    format!(
        "{why}; your id is {}: `clawhold channel edit \"{}\" --user {}=NAME` links it",
        heard.user, heard.door.title, heard.user
    )
}

fn said(ok: bool, lines: Vec<String>) -> Said {
    Said { lines, run: None, ok }
}

fn shown(ran: wire::Ran) -> Said {
    Said { run: ran.run.map(|run| run.id), lines: ran.lines, ok: true }
}

fn refused(rejected: &Rejected) -> Said {
    let problem = &rejected.0;
    let mut lines = vec![problem.detail.clone()];
    if !problem.choices.is_empty() {
        lines.push(format!("It may be: {}", problem.choices.join(", ")));
    }
    said(false, lines)
}

/// Returns the request id of something that came, by what makes it the same again.
fn request_id(kind: &str, parts: &[&[u8]]) -> RequestId {
    let id = format!("{kind}-{}", signature::print(parts));
    RequestId::parse(&id).expect("a word and hexadecimal digits are a request id")
}
