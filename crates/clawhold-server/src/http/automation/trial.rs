//! Trying a definition, and what is to be said of one: warnings, notes, why a fix may not run.

use std::time::Duration;

use axum::extract::State;
use clawhold_api::automation::definition as wire;
use clawhold_api::error::Problem;
use clawhold_core::State as Known;
use clawhold_core::answer::{Answer, Refusal};
use clawhold_core::catalog::{Approval, AutoFix, Channel, Definition, Noun, Source, Spec, Watch};
use clawhold_core::command::{Automate, Post, StartRun};
use clawhold_core::run::Target;
use clawhold_core::units::{MessageId, Text, Title};

use super::condition::{all, find, show_target};
use super::definition::{automate, require};
use super::kind::Kind;
use super::{kind, plan, value};
use crate::http::Room;
use crate::http::body::Body;
use crate::http::call::{Call, Written};
use crate::http::error::Rejected;
use crate::http::query::Word;
use crate::http::signal::Patience;

/// Targets that are tried at once.
const TARGETS_MAX: usize = 100;
/// How long a test waits for a sink.
const SINK_PATIENCE: Duration = Duration::from_secs(12);

pub(super) async fn test<K: Kind>(
    State(room): State<Room>,
    call: Call,
    Word(name): Word,
    Body(body): Body<wire::Test>,
) -> Result<Written<wire::Tested>, Rejected> {
    let title = value::title("name", &name)?;
    let known = title.clone();
    let read = room.read(move |replica| {
        let known = require(replica.state(), K::NOUN, &known)?;
        Ok((known.spec.clone(), replica.state().last().position.0))
    });
    let (spec, position) = read.await?;
    let tested = match &spec {
        Spec::AutoFix(_) => room.test_fix(title, body.target).await?,
        Spec::Command(command) => room.test_command(command.trigger.as_str(), body.target).await?,
        Spec::Runbook(runbook) => wire::Tested {
            plan: plan::show(&runbook.plan),
            ..said(runbook.plan.is_complete(), plan::warnings(&runbook.plan))
        },
        Spec::AlertRule(rule) => room.test_rule(rule.watch.clone(), body.target).await?,
        Spec::Channel(channel) => room.test_channel(call, title, channel.sink.is_some()).await?,
        Spec::AlertRoute(route) => {
            let (to, catalog_title) = (route.to.clone(), route.to.clone());
            let bound = room.read(move |replica| {
                let channel = replica.state().automation().catalog().channel(&catalog_title);
                Ok(channel.is_some_and(|channel| channel.sink.is_some()))
            });
            room.test_channel(call, to, bound.await?).await?
        }
        Spec::Source(source) => room.test_source(source).await,
        Spec::Agent(agent) => {
            let messages = agent.messages.iter().map(|text| format!("told: {}", text.as_str()));
            said(true, messages.collect())
        }
    };
    Ok(Written { position, replayed: false, body: tested })
}

fn said(ok: bool, lines: Vec<String>) -> wire::Tested {
    wire::Tested { ok, lines, targets: Vec::new(), plan: Vec::new() }
}

impl Room {
    /// Shows what a fix would do on each target, and counts nothing.
    async fn test_fix(
        &self,
        title: Title,
        target: Option<String>,
    ) -> Result<wire::Tested, Rejected> {
        let tested = self.read(move |replica| {
            let state = replica.state();
            let known = require(state, Noun::AutoFix, &title)?;
            let Spec::AutoFix(fix) = &known.spec else { return Err(Rejected::broken("test")) };
            let kind = fix.condition.target();
            let targets = match value::given(target.as_deref()) {
                Some(name) => vec![find(state, kind, name)?],
                None => all(state, kind),
            };
            let shown = targets.iter().take(TARGETS_MAX);
            let shown: Vec<_> =
                shown.map(|target| test_target(state, &title, fix, target)).collect();
            let would = shown.iter().filter(|one| one.reason == "started").count();
            let count = targets.len();
            let lines = vec![format!("{would} of {count} targets of kind {kind} would get a run")];
            let plan = plan::show(&fix.plan);
            Ok(wire::Tested { ok: true, lines, targets: shown, plan })
        });
        tested.await
    }

    async fn test_command(
        &self,
        trigger: &str,
        target: Option<String>,
    ) -> Result<wire::Tested, Rejected> {
        let words = match value::given(target.as_deref()) {
            Some(target) => format!("{trigger} {target}"),
            None => trigger.to_owned(),
        };
        let ran = self.look_up(&words).await?;
        let ok = ran.answers.iter().all(|answer| answer.connected);
        Ok(said(ok, ran.lines))
    }

    async fn test_rule(
        &self,
        watch: Watch,
        target: Option<String>,
    ) -> Result<wire::Tested, Rejected> {
        let condition = match watch {
            Watch::Detector(detector) => {
                return Ok(said(true, vec![format!("it watches for {detector}")]));
            }
            Watch::Condition(condition) => condition,
        };
        let tested = self.read(move |replica| {
            let state = replica.state();
            let targets = match value::given(target.as_deref()) {
                Some(name) => vec![find(state, condition.target(), name)?],
                None => all(state, condition.target()),
            };
            let lines = targets.iter().take(TARGETS_MAX).map(|target| {
                let facts = state.facts(target);
                let (name, truth) = (state.name_of(target), condition.eval(&facts));
                let evidence = condition.evidence(&facts);
                format!("{}: {} ({evidence})", name.as_str(), truth.as_str())
            });
            Ok(said(true, lines.collect()))
        });
        tested.await
    }

    /// Writes a message to a channel and waits for what its sink makes of it.
    async fn test_channel(
        &self,
        call: Call,
        channel: Title,
        is_bound: bool,
    ) -> Result<wire::Tested, Rejected> {
        let post = Post {
            title: Text::cut(&format!("Test of {channel}")),
            lines: vec![Text::cut(&format!("{} asked for it.", call.actor))],
            channel,
            reply_url: None,
        };
        let mut changes = self.handle.changes();
        let written = self.write(call, automate(Automate::Post(post)), |_, answer| {
            let Answer::Posted { message } = answer else {
                return Err(Rejected::broken("write a message"));
            };
            Ok(*message)
        });
        let message = written.await?.body;
        let inbox = format!("message {message} is in the inbox");
        if !is_bound {
            return Ok(said(true, vec![inbox, "no sink is bound to the channel".to_owned()]));
        }
        let mut patience = Patience::of(SINK_PATIENCE);
        loop {
            if let Some((ok, line)) = self.outcome(message).await? {
                return Ok(said(ok, vec![inbox, line]));
            }
            if !patience.lasts_for(changes.recv()).await {
                let line = "its sink has not answered yet; `notify failed` tells".to_owned();
                return Ok(said(false, vec![inbox, line]));
            }
        }
    }

    /// Returns what a sink made of a message, once it made something of it.
    async fn outcome(&self, message: MessageId) -> Result<Option<(bool, String)>, Rejected> {
        let read = self.read(move |replica| {
            let outbox = replica.state().automation().outbox();
            if outbox.delivered(message).is_some() {
                return Ok(Some((true, "its sink took it".to_owned())));
            }
            let dead = outbox.dead().find(|(id, _)| *id == message);
            let waiting = outbox.deliveries().find(|(id, one)| *id == message && one.failures > 0);
            let failed = dead.or(waiting);
            Ok(failed.map(|(_, one)| (false, format!("its sink: {}", one.error.as_str()))))
        });
        read.await
    }

    async fn test_source(&self, source: &Source) -> wire::Tested {
        match self.cluster(source).server().await {
            Ok(line) => said(true, vec![line]),
            Err(why) => said(false, vec![format!("not connected: {why}")]),
        }
    }
}

fn test_target(state: &Known, title: &Title, fix: &AutoFix, target: &Target) -> wire::TestedTarget {
    let facts = state.facts(target);
    let checks = state.checks(title, target);
    let block = checks.iter().find_map(|check| check.block.as_ref());
    let (reason, detail) = match block {
        Some(block) => (block.reason.as_str().to_owned(), block.detail.clone()),
        None => match &fix.approval {
            Approval::Ask { .. } => {
                ("awaiting_approval".to_owned(), "people are asked first".to_owned())
            }
            Approval::Auto | Approval::Never if !fix.plan.is_complete() => {
                let detail = "a sentence is not understood: a person is asked first";
                ("awaiting_approval".to_owned(), detail.to_owned())
            }
            Approval::Auto | Approval::Never => ("started".to_owned(), String::new()),
        },
    };
    wire::TestedTarget {
        target: show_target(state, target),
        verdict: fix.condition.eval(&facts).as_str().to_owned(),
        evidence: fix.condition.evidence(&facts),
        reason,
        detail,
    }
}

/// Returns what is not as the operator may expect, and what else there is to know.
pub(super) fn remarks(state: &Known, known: &Definition) -> (Vec<String>, Vec<String>) {
    let (mut warnings, mut notes) = (Vec::new(), Vec::new());
    match &known.spec {
        Spec::AutoFix(fix) => {
            warnings.extend(plan::warnings(&fix.plan));
            remark_fix(fix, &mut warnings, &mut notes);
            notes.extend(fix.notify.iter().filter_map(|to| about_channel(state, to)));
        }
        Spec::Runbook(runbook) => {
            warnings.extend(plan::warnings(&runbook.plan));
            notes.extend(runbook.notify.iter().filter_map(|to| about_channel(state, to)));
        }
        Spec::Command(command) => {
            warnings.extend(command.sources.iter().filter_map(|title| about_source(state, title)));
            notes.extend(command.to.iter().filter_map(|to| about_channel(state, to)));
        }
        Spec::AlertRule(rule) => {
            notes.extend(rule.notify.iter().filter_map(|to| about_channel(state, to)));
        }
        Spec::AlertRoute(route) => notes.extend(about_channel(state, &route.to)),
        Spec::Channel(channel) => warnings.extend(about_secrets(channel)),
        Spec::Agent(_) | Spec::Source(_) => {}
    }
    notes.extend(about_table(&known.spec));
    (warnings, notes)
}

fn remark_fix(fix: &AutoFix, warnings: &mut Vec<String>, notes: &mut Vec<String>) {
    let acts = fix.approval == Approval::Auto && fix.plan.acts();
    if acts && !fix.plan.is_complete() {
        warnings.push("it asks for approval before each run, until each step is understood".into());
    }
    if acts && fix.max_runs.is_empty() && fix.cooldown.ms == 0 {
        warnings.push("nothing limits how often it runs; --max-runs \"6 per day\" does".into());
    }
    if fix.plan.promotes() && (!fix.max_runs.is_empty() || fix.cooldown.ms > 0) {
        notes.push(
            "it promotes: while its own limits block it, the role stays vacant and a critical \
             alert says so; `role set ROLE --promotion native` never waits for it"
                .into(),
        );
    }
}

/// Says that a plan was made by an older table, which it keeps until its words are said again.
fn about_table(spec: &Spec) -> Option<String> {
    let made = match spec {
        Spec::AutoFix(fix) => fix.plan.table,
        Spec::Runbook(runbook) => runbook.plan.table,
        Spec::Agent(_)
        | Spec::Command(_)
        | Spec::AlertRule(_)
        | Spec::AlertRoute(_)
        | Spec::Channel(_)
        | Spec::Source(_) => return None,
    };
    let latest = clawhold_core::prose::TABLE;
    (made != latest).then(|| {
        format!(
            "its plan was made by phrase table {made} and stays as it is; the latest is {latest}, \
             and a change of its words uses it"
        )
    })
}

fn about_channel(state: &Known, title: &Title) -> Option<String> {
    let channel = state.automation().catalog().channel(title);
    if channel.is_some_and(|channel| channel.sink.is_some()) {
        return None;
    }
    let verb = if channel.is_some() { "edit" } else { "add" };
    Some(format!(
        "{title} is read with `inbox list --channel \"{title}\"`; \
         `channel {verb} \"{title}\"` binds a sink to it"
    ))
}

fn about_source(state: &Known, title: &Title) -> Option<String> {
    let known = state.automation().catalog().get(Noun::Source, title).is_some();
    (!known).then(|| {
        format!(
            "source {title:?} is not connected; `source add \"{title}\"` makes it this cluster, \
             --url URL another one",
            title = title.as_str()
        )
    })
}

fn about_secrets(channel: &Channel) -> Option<String> {
    use clawhold_core::catalog::{Secret, Sink};

    let in_log = |secret: Option<&Secret>| matches!(secret, Some(Secret::Plain(_)));
    let sink = channel.sink.as_ref().is_some_and(|sink| match sink {
        Sink::Slack { url } | Sink::Discord { url } => in_log(Some(url)),
        Sink::Webhook { url, secret } => in_log(Some(url)) || in_log(secret.as_ref()),
        Sink::Telegram { token, .. } => in_log(Some(token)),
        Sink::Mail { password, .. } => in_log(password.as_ref()),
    });
    (sink || in_log(channel.signing.as_ref())).then(|| {
        "a secret is kept in the log; file:PATH or env:NAME keeps it out of there".to_owned()
    })
}

/// Returns why a run was refused, with what stays as it is and how to run it all the same.
pub(super) fn explained(state: &Known, about: &StartRun, refusal: &Refusal) -> Rejected {
    let rejected = Rejected::known(state, refusal);
    let (Refusal::Blocked { detail, free_at, .. }, Noun::AutoFix) = (refusal, about.noun) else {
        return rejected;
    };
    let target = about.params.first().map(|param| param.value.as_str());
    let mut lines = vec![match target {
        Some(target) => format!("{} did not run for {target}.", about.title),
        None => format!("{} did not run.", about.title),
    }];
    if let Some(line) = holds(state, about) {
        lines.push(line);
    }
    let frees = free_at.map(|at| format!(" (free at {})", crate::clock::rfc3339(at)));
    lines.push(format!("  Blocked: {detail}{}", frees.unwrap_or_default()));
    let target = target.map(|target| format!(" --target {target}")).unwrap_or_default();
    lines.push(format!(
        "  Run now:  clawhold auto-fix run {:?}{target} --override --reason \"...\"",
        about.title.as_str()
    ));
    lines.push(format!("  More:     clawhold auto-fix history {:?}", about.title.as_str()));
    let name = Some(about.title.to_string());
    let noun = Some(kind::show_noun(about.noun).as_str().to_owned());
    Problem { lines, name, noun, ..*rejected.0 }.into()
}

/// Says since when the condition of a fix holds, and by which values.
fn holds(state: &Known, about: &StartRun) -> Option<String> {
    let known = state.automation().catalog().get(Noun::AutoFix, &about.title)?;
    let Spec::AutoFix(fix) = &known.spec else { return None };
    let wanted = about.params.first()?.value.as_str();
    let target = find(state, fix.condition.target(), wanted).ok()?;
    let evidence = fix.condition.evidence(&state.facts(&target));
    let mut instances = state.automation().runs().instances(&about.title);
    let since = instances.find(|(known, _)| **known == target).and_then(|(_, one)| one.since);
    Some(match since {
        Some(since) => {
            format!("  Condition holds since {}: {evidence}", crate::http::view::moment(since))
        }
        None => format!("  Condition: {evidence}"),
    })
}
