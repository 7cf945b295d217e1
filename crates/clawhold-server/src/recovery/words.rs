//! What stands in a log, in words. No secret is ever shown, and no payload.

use std::collections::BTreeSet;

use clawhold_core::change::What;
use clawhold_core::command::{
    Acquire, AskHandOver, Automate, Claim, Command, Commit, DrainWorker, Enqueue, OpenSession,
    Progress, RunOutcome, Settle, Successor,
};
use clawhold_core::units::Name;

/// Returns the kind of a command, as `--json` names it.
pub(super) fn kind(command: &Command) -> &'static str {
    match command {
        Command::TakeOver(_) => "take_over",
        Command::StepDown => "step_down",
        Command::Tick => "tick",
        Command::Present(_) => "present",
        Command::Restore(_) => "restore",
        Command::OpenSession(_) => "open_session",
        Command::CloseSession(_) => "close_session",
        Command::ExpireSession(_) => "expire_session",
        Command::Heard(_) => "heard",
        Command::DrainWorker(_) => "drain_worker",
        Command::ResumeWorker(_) => "resume_worker",
        Command::SetRole(_) => "set_role",
        Command::RemoveRole(_) => "remove_role",
        Command::Acquire(_) => "acquire",
        Command::Withdraw(_) => "withdraw",
        Command::Release(_) => "release",
        Command::HandOver(_) => "hand_over",
        Command::AskHandOver(_) => "ask_hand_over",
        Command::ExpireRole(_) => "expire_role",
        Command::Standings(_) => "standings",
        Command::SetQueue(_) => "set_queue",
        Command::PauseQueue(_) => "pause_queue",
        Command::ResumeQueue(_) => "resume_queue",
        Command::RemoveQueue(_) => "remove_queue",
        Command::CloseGate(_) => "close_gate",
        Command::OpenGate(_) => "open_gate",
        Command::Enqueue(_) => "enqueue",
        Command::Claim(_) => "claim",
        Command::Settle(_) => "settle",
        Command::Progress(_) => "progress",
        Command::Checkpoint(_) => "checkpoint",
        Command::CancelJobs(_) => "cancel_jobs",
        Command::RetryJobs(_) => "retry_jobs",
        Command::TakeBack(_) => "take_back",
        Command::SetStream(_) => "set_stream",
        Command::RemoveStream(_) => "remove_stream",
        Command::Append(_) => "append",
        Command::Commit(_) => "commit",
        Command::Automate(_) => "automate",
    }
}

/// Returns what a command asks for.
pub(super) fn command(command: &Command) -> String {
    match command {
        Command::TakeOver(c) => format!("a server takes over, term {}", c.epoch),
        Command::StepDown => "the active server steps down".to_owned(),
        Command::Tick => "time passes".to_owned(),
        Command::Present(_) => "the active server holds the presence lock".to_owned(),
        Command::Restore(c) => format!("{}: numbers go on after {}", c.reason.as_str(), c.floor),
        Command::OpenSession(c) => open_session(c),
        Command::CloseSession(c) => format!("close session {}", c.session.id),
        Command::ExpireSession(c) => format!("session {} was not heard of in time", c.session),
        Command::Heard(c) => format!("{} were heard of", count(c.sessions.len(), "session")),
        Command::DrainWorker(c) => drain_worker(c),
        Command::ResumeWorker(c) => format!("resume worker {}", c.session),
        Command::SetRole(c) => format!("set role {}", c.role),
        Command::RemoveRole(c) => format!("remove role {}", c.role),
        Command::Acquire(c) => acquire(c),
        Command::Withdraw(c) => format!("session {} waits for {} no more", c.session.id, c.role),
        Command::Release(c) => format!("session {} releases {}", c.session.id, c.role),
        Command::HandOver(c) => format!("hand {} over to {}", c.role, successor(c.to)),
        Command::AskHandOver(c) => ask_hand_over(c),
        Command::ExpireRole(c) => format!("{} of token {} was not renewed", c.role, c.token),
        Command::Standings(c) => format!("how far the standbys of {} have come", c.role),
        Command::SetQueue(c) => format!("set queue {}", c.queue),
        Command::PauseQueue(c) => format!("pause queue {}{}", c.queue, why(c.reason.as_str())),
        Command::ResumeQueue(c) => format!("resume queue {}", c.queue),
        Command::RemoveQueue(c) => format!("remove queue {}", c.queue),
        Command::CloseGate(c) => format!("close the gate of {} for {} ms", c.queue, c.within_ms),
        Command::OpenGate(c) => format!("open the gate of {}", c.queue),
        Command::Enqueue(c) => enqueue(c),
        Command::Claim(c) => claim(c),
        Command::Settle(c) => settle(c),
        Command::Progress(c) => progress(c),
        Command::Checkpoint(c) => format!("checkpoint {} of job {}", c.number, c.job),
        Command::CancelJobs(c) => format!("cancel {}", ids(c.jobs.iter().map(|id| id.0))),
        Command::RetryJobs(c) => format!("retry {}", ids(c.jobs.iter().map(|id| id.0))),
        Command::TakeBack(c) => format!("take back {}", ids(c.jobs.iter().map(|one| one.job.0))),
        Command::SetStream(c) => format!("set stream {}", c.stream),
        Command::RemoveStream(c) => format!("remove stream {}", c.stream),
        Command::Append(c) => format!("append {} to {}", count(c.events.len(), "event"), c.stream),
        Command::Commit(c) => commit(c),
        Command::Automate(c) => automate(c),
    }
}

fn open_session(open: &OpenSession) -> String {
    if open.queues.is_empty() {
        return format!("open session {}", open.label);
    }
    format!("open session {} as a worker of {}", open.label, names(&open.queues))
}

fn drain_worker(drain: &DrainWorker) -> String {
    let reason = why(drain.reason.as_str());
    format!("drain worker {} within {} ms{reason}", drain.session, drain.deadline_ms)
}

fn acquire(acquire: &Acquire) -> String {
    let wait = if acquire.wait { ", or waits for it" } else { "" };
    format!("session {} asks for role {}{wait}", acquire.session.id, acquire.role)
}

fn ask_hand_over(ask: &AskHandOver) -> String {
    let (role, to, ms) = (&ask.role, successor(ask.to), ask.within_ms);
    format!("ask the holder of {role} to hand over to {to} within {ms} ms")
}

fn enqueue(enqueue: &Enqueue) -> String {
    let queues: BTreeSet<&str> = enqueue.jobs.iter().map(|job| job.queue.as_str()).collect();
    let queues: Vec<&str> = queues.into_iter().collect();
    format!("add {} to {}", count(enqueue.jobs.len(), "job"), queues.join(", "))
}

fn claim(claim: &Claim) -> String {
    let (most, queues) = (claim.wanted.count_max, names(&claim.wanted.queues));
    format!("session {} claims up to {most} of {queues}", claim.session.id)
}

fn progress(progress: &Progress) -> String {
    let percent = progress.percent.map(|percent| format!(", {percent} % done"));
    format!("job {} moves{}", progress.job, percent.unwrap_or_default())
}

fn commit(commit: &Commit) -> String {
    let position = commit.position.as_ref();
    let position = position.map(|at| format!("position {} of {}, ", at.through, at.stream));
    format!(
        "commit for {} under token {}: {}{}, {}",
        commit.role,
        commit.token,
        position.unwrap_or_default(),
        count(commit.jobs.len(), "job"),
        count(commit.appends.iter().map(|append| append.events.len()).sum(), "event")
    )
}

fn settle(settle: &Settle) -> String {
    let outcomes = settle.settlements.iter().map(|one| {
        let outcome = match &one.outcome {
            RunOutcome::Completed { .. } => "completed".to_owned(),
            RunOutcome::Failed { error, .. } => format!("failed{}", why(error.as_str())),
            RunOutcome::Dead { error } => format!("failed for good{}", why(error.as_str())),
            RunOutcome::HandedBack { reason, .. } => format!("handed back{}", why(reason.as_str())),
            RunOutcome::Snoozed { for_ms, .. } => format!("snoozed for {for_ms} ms"),
        };
        format!("job {} under claim {} {outcome}", one.job, one.claim)
    });
    let mut words = outcomes.collect::<Vec<_>>().join(", ");
    if let Some(next) = &settle.next {
        words.push_str(&format!("; claims up to {} more", next.count_max));
    }
    words
}

fn automate(command: &Automate) -> String {
    match command {
        Automate::Define(c) => format!("set {} {:?}", c.spec.noun(), c.title.as_str()),
        Automate::RemoveDefinition(c) => format!("remove {} {:?}", c.noun, c.title.as_str()),
        Automate::EnableDefinition(c) => {
            let word = if c.enabled { "enable" } else { "disable" };
            format!("{word} {} {:?}", c.noun, c.title.as_str())
        }
        Automate::RevertDefinition(c) => {
            format!("revert {} {:?} to version {}", c.noun, c.title.as_str(), c.to)
        }
        Automate::AppendMessage(c) => format!("tell agent {:?} more", c.agent.as_str()),
        Automate::Import(c) => format!("import {}", count(c.definitions.len(), "definition")),
        Automate::StartRun(c) => format!("start {} {:?}", c.noun, c.title.as_str()),
        Automate::CancelRun(c) => format!("cancel run {}{}", c.run, why(c.reason.as_str())),
        Automate::ResumeRun(c) => format!("resume run {}", c.run),
        Automate::Decide(c) => {
            let word = if c.agrees { "agree to" } else { "reject" };
            format!("{word} run {}{}", c.run, why(c.reason.as_str()))
        }
        Automate::Witness(c) => format!("what was seen for step {} of run {}", c.step, c.run),
        Automate::Believed(c) => {
            format!("session {} believes to lead {} under token {}", c.session, c.role, c.token)
        }
        Automate::PauseAutomation(c) => format!("pause automation{}", why(c.reason.as_str())),
        Automate::UnpauseAutomation => "resume automation".to_owned(),
        Automate::ResetFix(c) => format!("reset fix {:?}", c.title.as_str()),
        Automate::AckAlert(c) => format!("acknowledge alert {}", c.alert),
        Automate::AddSilence(c) => format!("silence alerts{}", why(c.reason.as_str())),
        Automate::ExpireSilence(c) => format!("end silence {}", c.silence),
        Automate::Sending(c) => format!("message {} is about to be sent", c.message),
        Automate::RecordSent(c) => format!("how sending message {} ended", c.message),
        Automate::RetryDelivery(c) => format!("send message {} again", c.message),
        Automate::ReadInbox(c) => format!("the inbox was read through message {}", c.through),
        Automate::Post(c) => format!("post {:?} to {}", c.title.as_str(), c.channel.as_str()),
    }
}

/// Returns what changed.
pub(super) fn what(what: &What) -> String {
    match what {
        What::Server => "another server is active, or none".to_owned(),
        What::RoleGranted { role, session, token } => {
            format!("role {role} to session {session} under token {token}")
        }
        What::RoleVacant { role } => format!("role {role} vacant"),
        What::Role { role } => format!("role {role} changed"),
        What::Worker { session, state } => format!("worker {session} {state}"),
        What::Session { session } => format!("session {session} changed"),
        What::Job { job, queue, state } => format!("job {job} of {queue} {state}"),
        What::Queue { queue } => format!("queue {queue} changed"),
        What::Stream { stream, last } => format!("stream {stream} ends at event {last}"),
        What::Recorded { stream, role, through } => {
            format!("role {role} has dealt with {stream} through event {through}")
        }
        What::Definition { noun, title } => format!("{noun} {:?} changed", title.as_str()),
        What::Run { run, state } => format!("run {run} {state}"),
        What::Alert { alert } => format!("alert {alert} changed"),
        What::Message { message } => format!("message {message} changed"),
        What::Automation => "automation paused or resumed".to_owned(),
        What::Restored { through } => format!("restored: numbers go on after {through}"),
    }
}

fn successor(to: Successor) -> String {
    match to {
        Successor::MostCaughtUp => "the standby that has come furthest".to_owned(),
        Successor::Session(session) => format!("session {session}"),
    }
}

fn names(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
}

fn why(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

fn count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Names a few jobs, and counts the rest.
fn ids(ids: impl ExactSizeIterator<Item = u64>) -> String {
    const NAMED_MAX: usize = 10;
    let more = ids.len().saturating_sub(NAMED_MAX);
    let named: Vec<String> = ids.take(NAMED_MAX).map(|id| id.to_string()).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("jobs {}{more}", named.join(", "))
}
