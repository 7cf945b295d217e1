//! Transcripts of alerts: commands as people would type them, which alerts moved, what was told.
//!
//! A line is `TIME COMMAND …`; `_` in a name stands for a space. Each transcript is played twice,
//! the second time by a server that restarts after every entry: both must say the same.

use std::boxed::Box;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use expect_test::Expect;

use crate::alert::{Alert, Key};
use crate::answer::Answer;
use crate::catalog::{
    AlertRoute, AlertRule, Channel, Grouping, Noun, Secret, Severity, Sink, Spec, Watch,
};
use crate::change::What;
use crate::command::{
    AckAlert, Acquire, AddSilence, Append, Automate, Believed, Claim, Command, Define, DrainWorker,
    Due, EnableDefinition, Enqueue, Expect as Expected, ExpireRole, ExpireSession, ExpireSilence,
    NewJob, OpenSession, Post, ReadInbox, RecordSent, RemoveDefinition, Request, RetryDelivery,
    RetryRule, ReturnCause, RunOutcome, Sending, SessionKey, SetRole, Settle, Settlement, Showed,
    Standing, Standings, TakeBack, TakeBackJob, TakeOver, Wanted,
};
use crate::condition::Condition;
use crate::operation::Detector;
use crate::outbox::Sent;
use crate::run;
use crate::state::{Applied, State};
use crate::units::{
    AlertId, Epoch, EventNumber, JobId, MessageId, Name, Position, Prose, Served, SessionId, Stamp,
    Text, Timestamp, Title, Token,
};

/// Plays a transcript and compares what is said.
pub(crate) fn check(lines: &str, expected: Expect) {
    let said = Play::of(lines, false).said;
    assert_eq!(said, Play::of(lines, true).said, "a restart changes nothing");
    expected.assert_eq(&said);
}

/// One transcript under way.
#[derive(Default)]
pub(crate) struct Play {
    pub(crate) state: State,
    keys: BTreeMap<String, SessionKey>,
    pub(crate) said: String,
    /// Every entry, for those who play it again.
    pub(crate) entries: Vec<(Stamp, Request)>,
    restarts: bool,
}

impl Play {
    /// Plays lines.
    pub(crate) fn of(lines: &str, restarts: bool) -> Self {
        let mut play = Self { restarts, ..Self::default() };
        play.lines(lines);
        play
    }

    /// Plays more lines.
    pub(crate) fn lines(&mut self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (time, rest) = line.split_once(' ').unwrap();
            let words: Vec<&str> = rest.split_whitespace().collect();
            if words[0] == "out" {
                let said = self.outbox(ms(time));
                writeln!(self.said, "{line}\n    {said}").unwrap();
                continue;
            }
            let command = self.command(&words);
            let said = self.entry(ms(time), command, words.get(1).copied());
            writeln!(self.said, "{line}{said}").unwrap();
        }
    }

    /// Applies one command and returns what came of it.
    pub(crate) fn entry(&mut self, at: u64, command: Command, label: Option<&str>) -> String {
        let position = Position(self.state.last().position.0 + 1);
        let stamp = Stamp { at: Timestamp(at), served: Served(at), position };
        let actor = Some(name("dana"));
        let request = Request { id: None, actor, command };
        let before = self.state.automation.outbox.latest;
        let Applied { answer, changes, .. } = self.state.apply(stamp, &request);
        self.entries.push((stamp, request));
        if let (Ok(Answer::Opened(key)), Some(label)) = (&answer, label) {
            self.keys.insert(label.into(), *key);
        }
        if self.restarts {
            let bytes = minicbor::to_vec(&self.state).unwrap();
            self.state = minicbor::decode(&bytes).unwrap();
        }
        // Long plays are checked now and then.
        if position.0 < 300 || position.0.is_multiple_of(100) {
            self.check();
        }
        let mut said = String::new();
        if let Err(refusal) = answer {
            write!(said, "\n    refused: {refusal}").unwrap();
        }
        let mut alerts: Vec<AlertId> = Vec::new();
        for change in &changes {
            let What::Alert { alert } = change.what else { continue };
            if !alerts.contains(&alert) {
                alerts.push(alert);
            }
        }
        for alert in alerts {
            write!(said, "\n    {}", self.alert(alert)).unwrap();
        }
        for message in self.state.automation.outbox.list(before) {
            let mention = message.mention.as_ref().map_or("", Text::as_str);
            let title = message.title.as_str();
            write!(said, "\n    {} {mention}< {title}", message.channel).unwrap();
            for line in &message.lines {
                write!(said, "\n        {}", line.as_str()).unwrap();
            }
        }
        said
    }

    fn alert(&self, id: AlertId) -> String {
        let alert = self.state.automation.alerts.get(id);
        alert.map_or_else(
            || format!("alert {id} gone"),
            |alert| {
                let flaps = if alert.flapping { ", flapping" } else { "" };
                let flaps = if alert.no_data.is_some() { ", no data" } else { flaps };
                let (rule, group) = (&alert.rule, alert.group.as_str());
                format!("alert {id} {}{flaps}: {rule} of {group}", alert.state.as_str())
            },
        )
    }

    /// Returns what is to be sent, what waits, and what no sink took.
    fn outbox(&self, at: u64) -> String {
        let outbox = &self.state.automation.outbox;
        let epoch = self.state.epoch;
        let due: Vec<u64> = outbox.due(Timestamp(at), epoch).map(|id| id.0).collect();
        let next = outbox.next_due(epoch).map(|at| at.0);
        let waits = outbox.deliveries().map(|(id, delivery)| {
            let doubt = delivery.doubt.map_or_else(String::new, |at| format!(", doubt of {at}"));
            format!("{id} failed {}{doubt}", delivery.failures)
        });
        let dead = outbox.dead().map(|(id, delivery)| format!("{id}: {}", delivery.error.as_str()));
        let delivered: Vec<u64> = outbox.delivered.keys().map(|id| id.0).collect();
        format!(
            "due {due:?}, next {next:?}, waiting {:?}, dead {:?}, delivered {delivered:?}, unread {}",
            waits.collect::<Vec<_>>(),
            dead.collect::<Vec<_>>(),
            outbox.unread_count(),
        )
    }

    /// What is derived agrees with what it is derived from.
    fn check(&self) {
        let automation = &self.state.automation;
        let alerts = &automation.alerts;
        let mut open = BTreeSet::new();
        for (key, alert) in &alerts.live {
            assert_eq!(*key, Alert::key(alert));
            assert!(alerts.watched.contains_key(key), "a live alert is looked at");
            if !alert.is_raised() {
                open.extend(alert.open.keys().map(|subject| (key.0.clone(), subject.clone())));
            }
        }
        let index: BTreeSet<_> = alerts.open.keys().cloned().collect();
        assert_eq!(open, index);
        let due = automation.runs.due.iter().filter_map(|(at, due)| {
            let run::Due::Alert(rule, group) = due else { return None };
            let is_silence = *rule == Title::lowest();
            (!is_silence).then(|| ((rule.clone(), group.clone()), *at))
        });
        let due: BTreeMap<Key, Timestamp> = due.collect();
        let watched = alerts.watched.iter().filter_map(|(key, one)| Some((key.clone(), one.due?)));
        assert_eq!(due, watched.collect(), "what is watched is due, and nothing else is");
        crate::check::check(&self.state).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let command = self.world(words).or_else(|| self.work(words));
        command.or_else(|| self.automate(words)).unwrap_or_else(|| panic!("{words:?}"))
    }

    fn world(&self, words: &[&str]) -> Option<Command> {
        Some(match words[0] {
            "tick" => Command::Tick,
            "take-over" => Command::TakeOver(TakeOver {
                present: false,
                former_gone: true,
                epoch: Epoch(number(words[1])),
                advertise: Text::default(),
                hold_ms: 1_000,
                nonce: 1,
            }),
            "open" => Command::OpenSession(OpenSession {
                secret: 7,
                label: name(words[1]),
                ttl_ms: 10_000,
                queues: words[2..].iter().map(|queue| name(queue)).collect(),
                slots: 100,
                agent: None,
                place: Text::default(),
            }),
            "role" => Command::SetRole(SetRole {
                role: name(words[1]),
                ttl_ms: None,
                lag_events_max: option(words, "lag=").map(number),
                promotion: None,
            }),
            "lose" => Command::ExpireSession(ExpireSession { session: self.key(words[1]).id }),
            "lead" | "await" => Command::Acquire(Acquire {
                role: name(words[1]),
                session: self.key(words[2]),
                ttl_ms: Some(200),
                wait: words[0] == "await",
                stream: Some(name("orders")),
            }),
            "lapse" => {
                let role = name(words[1]);
                let token = self.state.roles.floor(&role).unwrap();
                Command::ExpireRole(ExpireRole { role, token })
            }
            "standing" => Command::Standings(Standings {
                role: name(words[1]),
                lines: vec![Standing {
                    session: self.key(words[2]).id,
                    consumed: Some(EventNumber(number(words[3]))),
                    silent_ms: 0,
                }],
            }),
            "append" => Command::Append(Append {
                stream: name("orders"),
                events: vec!["e".into(); usize::try_from(number(words[1])).unwrap()],
                expected: None,
            }),
            _ => return None,
        })
    }

    fn work(&self, words: &[&str]) -> Option<Command> {
        Some(match words[0] {
            "enqueue" => Command::Enqueue(Enqueue {
                jobs: (0..number(words[2])).map(|_| job(words[1])).collect(),
            }),
            "drain" => Command::DrainWorker(DrainWorker {
                session: self.key(words[1]).id,
                deadline_ms: number(words[2]),
                reason: Text::default(),
            }),
            "claim" => Command::Claim(Claim {
                session: self.key(words[1]),
                wanted: Wanted { queues: vec![name(words[2])], count_max: 100 },
            }),
            "take-back" => Command::TakeBack(TakeBack {
                jobs: vec![TakeBackJob { job: JobId(number(words[1])), claim: None }],
                cause: ReturnCause::NeverReceived,
            }),
            "settle" => Command::Settle(Settle {
                session: self.key(words[1]),
                settlements: vec![Settlement {
                    job: JobId(number(words[2])),
                    claim: self.state.jobs.job(JobId(number(words[2]))).unwrap().claim,
                    outcome: outcome(words[3]),
                }],
                next: None,
            }),
            _ => return None,
        })
    }

    fn automate(&self, words: &[&str]) -> Option<Command> {
        let automate = match words[0] {
            "rule" => define(words[1], Spec::AlertRule(rule(words))),
            "route" => define(
                words[1],
                Spec::AlertRoute(AlertRoute {
                    severity: severity(words[2]),
                    to: title(words[3]),
                    via: None,
                    also_page: option(words, "page=").map(Text::cut),
                }),
            ),
            "channel" => define(
                words[1],
                Spec::Channel(Channel {
                    sink: (words.get(2) == Some(&"sink"))
                        .then(|| Sink::Slack { url: Secret::Env(Text::cut("HOOK")) }),
                    ..Channel::default()
                }),
            ),
            "remove" => Automate::RemoveDefinition(RemoveDefinition {
                noun: Noun::AlertRule,
                title: title(words[1]),
            }),
            "disable" | "enable" => Automate::EnableDefinition(EnableDefinition {
                noun: Noun::AlertRule,
                title: title(words[1]),
                enabled: words[0] == "enable",
            }),
            "believe" => Automate::Believed(Believed {
                session: self.key(words[1]).id,
                role: name(words[2]),
                token: Token(number(words[3])),
                showed: if words[4] == "write" { Showed::Write } else { Showed::Report },
            }),
            "ack" => Automate::AckAlert(AckAlert { alert: AlertId(number(words[1])) }),
            "silence" => Automate::AddSilence(AddSilence {
                rule: option(words, "rule=").map(title),
                group: option(words, "group=").map(Text::cut),
                reason: Text::cut(option(words, "reason=").unwrap_or("maintenance")),
                until: Timestamp(option(words, "until=").map_or(0, ms)),
                until_resolved: words.contains(&"until-resolved"),
                for_ms: option(words, "for=").map(ms),
            }),
            "expire" => Automate::ExpireSilence(ExpireSilence { silence: number(words[1]) }),
            "sending" => Automate::Sending(Sending { message: MessageId(number(words[1])) }),
            "sent" => Automate::RecordSent(RecordSent {
                message: MessageId(number(words[1])),
                sent: sent(words[2]),
            }),
            "retry" => {
                Automate::RetryDelivery(RetryDelivery { message: MessageId(number(words[1])) })
            }
            "read" => Automate::ReadInbox(ReadInbox { through: MessageId(number(words[1])) }),
            "post" => Automate::Post(Post {
                channel: title(words[1]),
                title: Text::cut(words[2]),
                lines: Vec::new(),
                reply_url: option(words, "reply=").map(Text::cut),
            }),
            _ => return None,
        };
        Some(Command::Automate(Box::new(automate)))
    }

    /// Returns the key of the session that was opened last under a label.
    pub(crate) fn key(&self, label: &str) -> SessionKey {
        self.keys.get(label).copied().unwrap_or(SessionKey { id: SessionId(0), secret: 0 })
    }
}

fn define(name: &str, spec: Spec) -> Automate {
    let title = title(name);
    Automate::Define(Define { title, spec, expect: Expected::Any, enabled: None })
}

/// Reads `NAME DETECTOR` or `NAME if:CONDITION`, with `+` for spaces, then `[window=] [for=] [keep=] [by=] [notify=] [inhibits=] [SEVERITY]`.
pub(crate) fn rule(words: &[&str]) -> AlertRule {
    if let Some(condition) = words[2].strip_prefix("if:") {
        let condition = Condition::parse(&condition.replace('+', " ")).unwrap();
        let mut words = words.to_vec();
        words[2] = "leaderless";
        return AlertRule { watch: Watch::Condition(condition), ..rule(&words) };
    }
    let (detector, number_of) = words[2].split_once(':').unwrap_or((words[2], "0"));
    let count = number(number_of);
    let detector = match detector {
        "two_leaders" => Detector::TwoLeaders,
        "leaderless" => Detector::Leaderless,
        "stale_writes" => Detector::StaleWrites { count },
        "held_by_gone" => Detector::HeldByGone,
        "orphan" => Detector::Orphan,
        "double_owner" => Detector::DoubleOwner,
        "standby_lag" => Detector::StandbyLag { events: count },
        "no_standby" => Detector::NoStandby,
        "flapping_lease" => Detector::FlappingLease { changes: count },
        "missed_reports" => Detector::MissedReports,
        "backlog" => Detector::Backlog { jobs: count, age_ms: 0 },
        "backlog_age" => Detector::Backlog { jobs: 0, age_ms: count },
        "job_failed" => Detector::JobFailed,
        "sink_down" => Detector::SinkDown,
        "fix_blocked" => Detector::FixBlocked,
        other => panic!("{other} is no detector of a transcript"),
    };
    let time = |key| option(words, key).map_or(0, ms);
    let grouping = |by: &str| match by {
        "role" => Grouping::Role,
        "queue" => Grouping::Queue,
        "worker" => Grouping::Worker,
        _ => Grouping::Job,
    };
    let worst = ["info", "warning", "critical"].into_iter().find(|word| words.contains(word));
    AlertRule {
        action: Prose::default(),
        watch: Watch::Detector(detector),
        group_by: option(words, "by=").map(grouping).into_iter().collect(),
        window_ms: time("window="),
        for_ms: time("for="),
        keep_ms: time("keep="),
        severity: severity(worst.unwrap_or("critical")),
        notify: option(words, "notify=").map(title).into_iter().collect(),
        inhibits: option(words, "inhibits=").map(title).into_iter().collect(),
    }
}

fn sent(word: &str) -> Sent {
    match word {
        "ok" => Sent::Delivered { said: Text::cut("200") },
        "refused" => Sent::Refused { error: Text::cut("404") },
        _ => Sent::Failed { error: Text::cut("500"), retry_ms: None },
    }
}

fn outcome(word: &str) -> RunOutcome {
    match word {
        "done" => RunOutcome::Completed { result: "".into() },
        "dead" => RunOutcome::Dead { error: Text::cut("no such file") },
        _ => RunOutcome::HandedBack { checkpoint: None, reason: Text::default() },
    }
}

fn severity(word: &str) -> Severity {
    match word {
        "info" => Severity::Info,
        "warning" => Severity::Warning,
        _ => Severity::Critical,
    }
}

/// Reads a time: `250`, `10s`, `5m`, `2h`.
fn ms(text: &str) -> u64 {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let count = number(&text[..text.len() - unit.len()]);
    match unit {
        "" => count,
        "s" => count * 1_000,
        "m" => count * 60_000,
        "h" => count * 3_600_000,
        "d" => count * 86_400_000,
        other => panic!("{other} is no unit"),
    }
}

fn option<'a>(words: &[&'a str], key: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(key))
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(crate) fn title(text: &str) -> Title {
    Title::parse(&text.replace('_', " ")).unwrap()
}

fn job(queue: &str) -> NewJob {
    NewJob {
        queue: name(queue),
        payload: "work".into(),
        priority: 0,
        due: Due::Now,
        unique: None,
        order: None,
        retry: RetryRule::default(),
        timeout_ms: None,
    }
}
