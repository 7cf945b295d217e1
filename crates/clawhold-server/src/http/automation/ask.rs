//! Words that start something: a command is answered at once, a runbook starts a run.

use axum::extract::State;
use clawhold_api::automation::run as wire;
use clawhold_api::error::{Code, Problem};
use clawhold_api::json::Json;
use clawhold_core::catalog::{ChatCommand, Definition, Noun, Spec};
use clawhold_core::command::{Automate, Param, Post, StartRun};
use clawhold_core::operation::{Show, Subject};
use clawhold_core::replica::Replica;
use clawhold_core::run::Origin;
use clawhold_core::units::{Name, RequestId, Text, Title};
use serde_json::Value;

use super::answer::{self, About};
use super::cluster::Asked as AskedCluster;
use super::definition::automate;
use super::{kind, run, value};
use crate::auth::Scope;
use crate::http::Room;
use crate::http::body::Body;
use crate::http::call::{Call, Written};
use crate::http::error::Rejected;

/// Who asks, and what they may do.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    pub(super) actor: Name,
    /// Whether they may do more than look; why not, if they may not.
    pub(super) may_act: Result<(), Rejected>,
    pub(super) id: Option<RequestId>,
    /// Where the result of a run is told.
    pub(super) reply_url: Option<Text>,
}

/// What the words start.
#[derive(Debug)]
enum Started {
    Command { title: Title, command: Box<ChatCommand>, clusters: Vec<AskedCluster> },
    Runbook { title: Title, subject: Option<&'static str> },
}

pub(super) async fn run(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::RunText>,
) -> Result<Written<wire::Ran>, Rejected> {
    let params = run::params(&body.params)?;
    let may_act = if call.scope >= Scope::Operator {
        Ok(())
    } else {
        let detail = format!(
            "a runbook needs the scope operator, the token of {:?} has {}",
            call.actor.as_str(),
            call.scope.as_str()
        );
        Err(Rejected::new(Code::Forbidden, detail))
    };
    let asking = Asking { actor: call.actor, may_act, id: call.id, reply_url: None };
    room.run_text(asking, &body.text, params).await
}

impl Room {
    /// Answers a command, or starts a runbook.
    pub(super) async fn run_text(
        &self,
        asking: Asking,
        text: &str,
        params: Vec<Param>,
    ) -> Result<Written<wire::Ran>, Rejected> {
        let words = tidy(text)?;
        let room = self.clone();
        let asked = words.clone();
        let (started, rest, position) = self
            .read(move |replica| {
                let (started, rest) = room.find(replica, &asked)?;
                Ok((started, rest, replica.state().last().position.0))
            })
            .await?;
        match started {
            Started::Command { title, command, clusters } => {
                let params = bound(&rest, params, command.views.iter().find_map(subject))?;
                let body = answered(&title, &command, clusters, &params).await?;
                if command.announce {
                    self.announce(asking, &title, &command, &words).await;
                }
                Ok(Written { position, replayed: false, body })
            }
            Started::Runbook { title, subject } => {
                asking.may_act?;
                let call = Call { id: asking.id, actor: asking.actor, scope: Scope::Operator };
                let command = StartRun {
                    noun: Noun::Runbook,
                    title: title.clone(),
                    params: bound(&rest, params, subject)?,
                    origin: Origin::Trigger,
                    override_reason: None,
                    reply_url: asking.reply_url,
                };
                let Written { position, replayed, body } = self.start_run(call, command).await?;
                let body = wire::Ran {
                    kind: kind::show_noun(Noun::Runbook),
                    name: title.to_string(),
                    lines: vec![begun(&body)],
                    answers: Vec::new(),
                    run: Some(body),
                };
                Ok(Written { position, replayed, body })
            }
        }
    }

    /// Answers a command as a trial: nobody is told.
    pub(super) async fn look_up(&self, words: &str) -> Result<wire::Ran, Rejected> {
        let (room, asked) = (self.clone(), tidy(words)?);
        let (started, rest) = self.read(move |replica| room.find(replica, &asked)).await?;
        let Started::Command { title, command, clusters } = started else {
            return Err(Rejected::broken("try a command"));
        };
        let params = bound(&rest, Vec::new(), command.views.iter().find_map(subject))?;
        answered(&title, &command, clusters, &params).await
    }

    /// Finds what words start, and the words that follow.
    fn find(&self, replica: &Replica, text: &str) -> Result<(Started, Vec<String>), Rejected> {
        let catalog = replica.state().automation().catalog();
        let Some((known, rest)) = catalog.triggered(text) else {
            return Err(unknown(replica, text));
        };
        if !known.enabled {
            let detail = format!("{} {:?} is disabled", known.noun(), known.title.as_str());
            let problem = Problem::new(Code::Blocked, detail);
            let reason = Some("disabled".to_owned());
            return Err(Problem { reason, ..problem }.into());
        }
        let rest = rest.into_iter().map(str::to_owned).collect();
        Ok((self.started(replica, known)?, rest))
    }

    fn started(&self, replica: &Replica, known: &Definition) -> Result<Started, Rejected> {
        let title = known.title.clone();
        match &known.spec {
            Spec::Command(command) => Ok(Started::Command {
                title,
                clusters: self.clusters(replica, &command.sources),
                command: Box::new(command.clone()),
            }),
            Spec::Runbook(runbook) => {
                let subject = runbook.plan.steps.iter().find_map(run::subject);
                Ok(Started::Runbook { title, subject })
            }
            Spec::Agent(_)
            | Spec::AlertRule(_)
            | Spec::AlertRoute(_)
            | Spec::AutoFix(_)
            | Spec::Channel(_)
            | Spec::Source(_) => Err(Rejected::broken("run words")),
        }
    }

    /// Tells a channel that a command was used.
    async fn announce(&self, asking: Asking, title: &Title, command: &ChatCommand, words: &str) {
        let Some(channel) = command.to.clone() else { return };
        let post = Post {
            channel,
            title: Text::cut(&format!("{} asked {title}", asking.actor)),
            lines: vec![Text::cut(words)],
            reply_url: None,
        };
        let call = Call { id: asking.id, actor: asking.actor, scope: Scope::Operator };
        let posted = self.write(call, automate(Automate::Post(post)), |_, _| Ok(())).await;
        if let Err(rejected) = posted {
            tracing::warn!(command = %title, why = %rejected.0.detail, "its use was not announced");
        }
    }
}

/// Returns the words on one line, or the problem that there are none.
fn tidy(text: &str) -> Result<String, Rejected> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let odd = words.is_empty() || words.len() > 2_000 || words.chars().any(char::is_control);
    if odd {
        let shown: String = words.chars().take(60).collect();
        let allowed = "the words that start a command or a runbook: /runbook rebalance";
        return Err(Rejected::field("text", &shown, allowed));
    }
    Ok(words)
}

fn unknown(replica: &Replica, text: &str) -> Rejected {
    let catalog = replica.state().automation().catalog();
    let all = [Noun::Command, Noun::Runbook].into_iter().flat_map(|noun| catalog.list(noun, None));
    let triggers: Vec<&str> =
        all.filter_map(|known| Some(known.spec.trigger()?.as_str())).collect();
    let choices = value::near(text, triggers.into_iter());
    let meant = choices.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let detail = format!("nothing is started by {text:?}{meant}");
    Problem { choices, ..Problem::new(Code::NotFound, detail) }.into()
}

/// Returns the parameters: those given, and what the words that follow say, as `worker=w-3` or as
/// one bare word for what it is about.
fn bound(
    rest: &[String],
    mut params: Vec<Param>,
    subject: Option<&'static str>,
) -> Result<Vec<Param>, Rejected> {
    // As the shell's own form has it: `/runbook rebalance --param worker=w-3`.
    for word in rest.iter().filter(|word| *word != "--param") {
        let (name, text) = match word.split_once('=') {
            Some((name, text)) => (name, text),
            None => {
                let allowed = "nothing more; name what it is about as worker=w-3";
                let name = subject.ok_or_else(|| Rejected::field("text", word, allowed))?;
                (name, word.as_str())
            }
        };
        let param = run::param(name, "text", text)?;
        if params.iter().any(|known| known.name == param.name) {
            let allowed = format!("{name} once");
            return Err(Rejected::field("text", word, &allowed));
        }
        params.push(param);
    }
    Ok(params)
}

/// Returns the parameter that a view takes from the words.
fn subject(view: &Show) -> Option<&'static str> {
    match view {
        Show::Holder { role: Subject::Run } | Show::Lag { role: Subject::Run } => Some("role"),
        Show::Held { worker: Subject::Run } => Some("worker"),
        Show::Queue { queue: Subject::Run } | Show::Failed { queue: Subject::Run } => Some("queue"),
        Show::Holder { .. }
        | Show::Lag { .. }
        | Show::Held { .. }
        | Show::Queue { .. }
        | Show::Failed { .. }
        | Show::Workers
        | Show::Alerts
        | Show::Runs => None,
    }
}

/// Asks every source at once and puts their answers together.
async fn answered(
    title: &Title,
    command: &ChatCommand,
    clusters: Vec<AskedCluster>,
    params: &[Param],
) -> Result<wire::Ran, Rejected> {
    let given = |name: &str| {
        let param = params.iter().find(|param| param.name.as_str() == name);
        param.map(|param| param.value.as_str().to_owned())
    };
    let about = About { role: given("role"), worker: given("worker"), queue: given("queue") };
    let asked = clusters.into_iter().map(|asked| one(asked, &command.views, &about));
    let answers: Vec<wire::SourceAnswer> = futures_util::future::join_all(asked).await;
    let mut lines = Vec::new();
    for answer in &answers {
        match &answer.source {
            None => lines.extend(answer.lines.iter().cloned()),
            Some(source) => {
                lines.extend(answer.lines.iter().map(|line| format!("{source}: {line}")));
            }
        }
    }
    let kind = kind::show_noun(Noun::Command);
    Ok(wire::Ran { kind, name: title.to_string(), lines, answers, run: None })
}

async fn one(asked: AskedCluster, views: &[Show], about: &About) -> wire::SourceAnswer {
    let source = asked.source.map(|title| title.to_string());
    let answer = match asked.cluster {
        Ok(cluster) => {
            answer::ask(&cluster, views, about).await.map_err(|why| format!("not connected: {why}"))
        }
        Err(why) => Err(why),
    };
    match answer {
        Ok(answer) => wire::SourceAnswer {
            source,
            connected: true,
            lines: answer.lines,
            data: Json::of(&Value::Object(answer.data)).unwrap_or_else(|_| Json::null()),
        },
        Err(why) => {
            wire::SourceAnswer { source, connected: false, lines: vec![why], data: Json::null() }
        }
    }
}

/// Says that a run has begun.
fn begun(run: &wire::Run) -> String {
    let (id, name, state) = (run.id, &run.name, run.state.as_str());
    let steps = run.steps.len();
    if run.waits_for.is_empty() {
        return format!("run {id} of {name:?} is {state}, {steps} steps");
    }
    format!("run {id} of {name:?} is {state}, {steps} steps, it waits for {}", run.waits_for)
}
