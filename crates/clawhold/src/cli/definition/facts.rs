//! What a definition says, in short and in full.

use crate::api::automation::definition::{Channel, Sink, Spec};
use crate::duration::Span;
use crate::table::Sheet;
use crate::text::quoted;

/// Returns what stands behind the name of a definition: the short facts.
pub(super) fn head(spec: &Spec) -> Vec<String> {
    let mut facts = Facts::default();
    match spec {
        Spec::Agent(agent) => {
            facts.say_if("queue", agent.queue.as_deref());
        }
        Spec::Command(command) => {
            facts.say("trigger", &command.trigger);
            facts.list("source", &command.sources);
            if command.announce {
                facts.say("announced to", command.to.as_deref().unwrap_or("its channel"));
            }
        }
        Spec::AlertRule(rule) => {
            facts.say_if("severity", rule.severity.as_deref());
            facts.list("group-by", &rule.group_by);
            facts.span("window", rule.window_ms);
            facts.list("notify", &rule.notify);
        }
        Spec::AlertRoute(route) => {
            facts.say("severity", &route.severity);
            facts.say("to", &route.to);
            facts.say_if("also-page", route.also_page.as_deref());
        }
        Spec::AutoFix(fix) => {
            facts.say_if("approval", fix.approval.as_deref());
            facts.list("max-runs", &fix.max_runs);
            facts.list("max-runs-per-target", &fix.max_runs_per_target);
            facts.say_if("cooldown", fix.cooldown.as_deref());
            facts.list("notify", &fix.notify);
            if fix.observe {
                facts.0.push("observe only".to_owned());
            }
        }
        Spec::Runbook(runbook) => {
            facts.say_if("trigger", runbook.trigger.as_deref());
            facts.list("tags", &runbook.tags);
            facts.list("notify", &runbook.notify);
        }
        Spec::Channel(channel) => facts.0.push(sink(channel)),
        Spec::Source(source) => facts.say("url", source.url.as_deref().unwrap_or("this server")),
    }
    facts.0
}

/// Returns what stands under the name before the plan: a line each.
pub(super) fn body(spec: &Spec) -> Vec<String> {
    match spec {
        Spec::AutoFix(fix) => vec![format!("when {}", fix.condition)],
        Spec::AlertRule(rule) => rule.condition.iter().map(|text| format!("when {text}")).collect(),
        Spec::Agent(agent) => {
            let messages = agent.messages.iter().enumerate();
            messages.map(|(at, text)| format!("{}. {text}", at + 1)).collect()
        }
        Spec::Command(_)
        | Spec::AlertRoute(_)
        | Spec::Runbook(_)
        | Spec::Channel(_)
        | Spec::Source(_) => Vec::new(),
    }
}

/// Returns what a definition says in a cell of a list.
pub(super) fn brief(spec: &Spec) -> String {
    let text = match spec {
        Spec::Agent(agent) => match agent.messages.len() {
            0 => agent.about.clone(),
            1 => agent.messages[0].clone(),
            count => format!("{count} messages"),
        },
        Spec::Command(command) => command.trigger.clone(),
        Spec::AlertRule(rule) => match &rule.condition {
            Some(condition) => format!("when {condition}"),
            None => rule.action.clone(),
        },
        Spec::AlertRoute(route) => format!("{} and worse", route.severity),
        Spec::AutoFix(fix) => format!("when {}", fix.condition),
        Spec::Runbook(runbook) => match &runbook.trigger {
            Some(trigger) => trigger.clone(),
            None => runbook.steps.clone(),
        },
        Spec::Channel(channel) => sink(channel),
        Spec::Source(source) => source.url.clone().unwrap_or_else(|| "this server".to_owned()),
    };
    cut(&text)
}

/// Returns whom a definition tells, in a cell of a list.
pub(super) fn tells(spec: &Spec) -> String {
    match spec {
        Spec::Command(command) if command.announce => command.to.clone().unwrap_or_default(),
        Spec::AlertRule(rule) => rule.notify.join(", "),
        Spec::AlertRoute(route) => match &route.also_page {
            Some(who) => format!("{}, {who}", route.to),
            None => route.to.clone(),
        },
        Spec::AutoFix(fix) => fix.notify.join(", "),
        Spec::Runbook(runbook) => runbook.notify.join(", "),
        Spec::Agent(_) | Spec::Command(_) | Spec::Channel(_) | Spec::Source(_) => String::new(),
    }
}

/// Adds all that a definition says.
pub(super) fn add_all(sheet: &mut Sheet, spec: &Spec) {
    let joined = |list: &[String]| (!list.is_empty()).then(|| list.join(", "));
    let span = |ms: Option<u64>| ms.map(|ms| Span(ms).to_string());
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    match spec {
        Spec::Agent(agent) => {
            sheet.field_if("about", some(&agent.about)).field_if("queue", agent.queue.as_ref());
        }
        Spec::Command(command) => {
            sheet
                .field("trigger", &command.trigger)
                .field_if("source", joined(&command.sources))
                .field_if("message", some(&command.message))
                .field_if("announced to", command.to.as_ref().filter(|_| command.announce))
                .field_if("channel", command.channel.as_ref());
        }
        Spec::AlertRule(rule) => {
            sheet
                .field_if("action", some(&rule.action))
                .field_if("when", rule.condition.as_ref())
                .field_if("severity", rule.severity.as_ref())
                .field_if("group by", joined(&rule.group_by))
                .field_if("window", span(rule.window_ms))
                .field_if("for", span(rule.for_ms))
                .field_if("keep firing", span(rule.keep_ms))
                .field_if("notify", joined(&rule.notify))
                .field_if("inhibits", joined(&rule.inhibits));
        }
        Spec::AlertRoute(route) => {
            sheet
                .field("severity", format!("{} and worse", route.severity))
                .field("to", &route.to)
                .field_if("channel", route.channel.as_ref())
                .field_if("also page", route.also_page.as_ref());
        }
        Spec::AutoFix(fix) => {
            sheet
                .field("when", &fix.condition)
                .field_if("action", some(&fix.action))
                .field_if("approval", fix.approval.as_ref())
                .field_if("approval expiry", span(fix.approval_expiry_ms))
                .field_if("four eyes", fix.four_eyes.then_some("not who last edited it"))
                .field_if("observe", fix.observe.then_some("only says what it would do"))
                .field_if("max runs", joined(&fix.max_runs))
                .field_if("max runs per target", joined(&fix.max_runs_per_target))
                .field_if("cooldown", fix.cooldown.as_ref())
                .field_if("notify", joined(&fix.notify));
        }
        Spec::Runbook(runbook) => {
            sheet
                .field_if("trigger", runbook.trigger.as_ref())
                .field_if("tags", joined(&runbook.tags))
                .field_if("steps", some(&runbook.steps))
                .field_if("notify", joined(&runbook.notify));
        }
        Spec::Channel(channel) => add_channel(sheet, channel),
        Spec::Source(source) => {
            sheet
                .field("url", source.url.as_deref().unwrap_or("this server"))
                .field_if("token", source.token.as_ref());
        }
    }
}

fn add_channel(sheet: &mut Sheet, channel: &Channel) {
    let users = channel.users.iter().map(|user| format!("{}={}", user.id, user.actor));
    let users: Vec<String> = users.collect();
    let joined = |list: &[String]| (!list.is_empty()).then(|| list.join(", "));
    sheet
        .field("sink", sink(channel))
        .field_if("signing", channel.signing.as_ref())
        .field_if("users", joined(&users))
        .field_if("closed", channel.closed.then_some("only linked people get an answer"))
        .field_if("members", joined(&channel.members));
}

/// Returns what takes the messages of a channel.
fn sink(channel: &Channel) -> String {
    match &channel.sink {
        None => "inbox only".to_owned(),
        Some(Sink::Slack { url }) => format!("inbox and slack {url}"),
        Some(Sink::Webhook { url, secret }) => {
            let signed = if secret.is_some() { ", signed" } else { "" };
            format!("inbox and webhook {url}{signed}")
        }
        Some(Sink::Discord { url }) => format!("inbox and discord {url}"),
        Some(Sink::Telegram { chat, .. }) => format!("inbox and telegram chat {chat}"),
        Some(Sink::Mail { server, to, .. }) => {
            format!("inbox and mail to {} by {server}", to.join(", "))
        }
    }
}

/// Returns the first 60 characters of one line of text.
fn cut(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut cut: String = line.chars().take(60).collect();
    if cut.len() < text.trim_end().len() {
        cut.push('…');
    }
    cut
}

#[derive(Default)]
struct Facts(Vec<String>);

impl Facts {
    fn say(&mut self, name: &str, value: &str) {
        self.0.push(format!("{name} {value}"));
    }

    fn say_if(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.say(name, value);
        }
    }

    fn list(&mut self, name: &str, values: &[String]) {
        let spaced = values.iter().any(|value| value.contains(' ')) && name == "source";
        let values: Vec<String> =
            values.iter().map(|v| if spaced { quoted(v) } else { v.clone() }).collect();
        if !values.is_empty() {
            self.say(name, &values.join(", "));
        }
    }

    fn span(&mut self, name: &str, ms: Option<u64>) {
        if let Some(ms) = ms.filter(|ms| *ms > 0) {
            self.say(name, &Span(ms).to_string());
        }
    }
}
