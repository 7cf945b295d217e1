//! Runs: started, listed, called off, resumed, decided about.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use clawhold_api::automation::definition as definition_wire;
use clawhold_api::automation::run as wire;
use clawhold_core::State as Known;
use clawhold_core::answer::{Answer, Refusal};
use clawhold_core::catalog::{Approval, Noun, Spec};
use clawhold_core::command::{Automate, CancelRun, Decide, Param, ResetFix, ResumeRun, StartRun};
use clawhold_core::operation::{Operation, PlannedStep};
use clawhold_core::replica::Replica;
use clawhold_core::run::{Origin, Run, RunState, StepRecord, StepState};
use clawhold_core::units::{RunId, Title};

use super::condition::show_target;
use super::definition::{automate, require, show_known};
use super::{kind, plan, value};
use crate::clock;
use crate::http::body::Body;
use crate::http::call::{Call, Written};
use crate::http::error::Rejected;
use crate::http::query::{Listed, Query, Word, number_cursor, page, rows};
use crate::http::{Room, convert, view};

/// Jobs that a run lists.
const RETURNED_MAX: usize = 1_000;

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<wire::RunQuery>,
) -> Result<Listed<wire::Run>, Rejected> {
    let rows = rows(query.limit)?;
    let before = number_cursor(query.cursor.as_deref())?;
    let filter = Filter::of(&query)?;
    let items = room.read(move |replica| {
        let state = replica.state();
        let fits = newest(state)
            .filter(|run| before.is_none_or(|before| run.id.0 < before) && filter.fits(run));
        Ok(fits.take(rows.limit + 1).map(|run| show_run(state, run)).collect())
    });
    Ok(page(items.await?, rows, &uri, |run: &wire::Run| run.id.to_string()))
}

/// Returns the runs, newest first.
fn newest(state: &Known) -> impl Iterator<Item = &Run> {
    let runs = state.automation().runs();
    let mut all: Vec<&Run> = runs.live().chain(runs.ended()).collect();
    all.sort_unstable_by_key(|run| std::cmp::Reverse(run.id));
    all.into_iter()
}

/// Returns the latest runs, newest first.
pub(super) fn latest(state: &Known, max: usize) -> Vec<&Run> {
    newest(state).take(max).collect()
}

/// Which runs are wanted.
struct Filter {
    noun: Option<Noun>,
    title: Option<Title>,
    state: Option<Wanted>,
}

enum Wanted {
    Live,
    In(wire::RunState),
}

impl Filter {
    fn of(query: &wire::RunQuery) -> Result<Self, Rejected> {
        let noun = value::given(query.kind.as_deref()).map(|word| {
            let noun = clawhold_api::Noun::parse(word).map(kind::noun);
            let noun = noun.filter(|noun| matches!(noun, Noun::AutoFix | Noun::Runbook));
            noun.ok_or_else(|| Rejected::field("kind", word, "auto-fix or runbook"))
        });
        let state = value::given(query.state.as_deref()).map(|word| match word {
            "live" => Ok(Wanted::Live),
            word => wire::RunState::parse(word).map(Wanted::In).ok_or_else(|| {
                let words = wire::RunState::ALL.map(wire::RunState::as_str).join(", ");
                Rejected::field("state", word, &format!("live, {words}"))
            }),
        });
        Ok(Self {
            noun: noun.transpose()?,
            title: value::title_opt("name", query.name.as_deref())?,
            state: state.transpose()?,
        })
    }

    fn fits(&self, run: &Run) -> bool {
        self.noun.is_none_or(|noun| run.noun == noun)
            && self.title.as_ref().is_none_or(|title| run.title == *title)
            && match &self.state {
                None => true,
                Some(Wanted::Live) => !run.state.is_ended(),
                Some(Wanted::In(state)) => show_state(run.state) == *state,
            }
    }
}

/// Returns the latest runs of a definition, oldest first.
pub(super) fn about(state: &Known, noun: Noun, title: &Title, max: usize) -> Vec<wire::Run> {
    let fits = newest(state).filter(|run| run.noun == noun && run.title == *title);
    let mut runs: Vec<wire::Run> = fits.take(max).map(|run| show_run(state, run)).collect();
    runs.reverse();
    runs
}

pub(super) async fn show(
    State(room): State<Room>,
    Word(run): Word,
) -> Result<Json<wire::Run>, Rejected> {
    let run = run_id(&run)?;
    room.read(move |replica| show_named(replica, run)).await.map(Json)
}

fn run_id(text: &str) -> Result<RunId, Rejected> {
    let allowed = "the number of a run; GET /v1/runs lists them";
    text.parse().map(RunId).map_err(|_| Rejected::field("run", text, allowed))
}

pub(super) fn show_named(replica: &Replica, run: RunId) -> Result<wire::Run, Rejected> {
    let state = replica.state();
    let kind = clawhold_core::answer::Kind::Run;
    let missing = || Refusal::NotFound { kind, name: run.to_string().into() };
    let found = state.automation().runs().get(run).ok_or_else(|| Rejected::from(&missing()))?;
    Ok(show_run(state, found))
}

pub(super) async fn start_fix(
    room: State<Room>,
    call: Call,
    name: Word,
    body: Body<wire::StartRun>,
) -> Result<Written<wire::Run>, Rejected> {
    start(room, call, Noun::AutoFix, name, body).await
}

pub(super) async fn start_runbook(
    room: State<Room>,
    call: Call,
    name: Word,
    body: Body<wire::StartRun>,
) -> Result<Written<wire::Run>, Rejected> {
    start(room, call, Noun::Runbook, name, body).await
}

async fn start(
    State(room): State<Room>,
    call: Call,
    noun: Noun,
    Word(name): Word,
    Body(body): Body<wire::StartRun>,
) -> Result<Written<wire::Run>, Rejected> {
    let title = value::title("name", &name)?;
    let known = title.clone();
    let target_kind =
        room.read(move |replica| Ok(target_kind(&require(replica.state(), noun, &known)?.spec)));
    let target_kind = target_kind.await?;
    let mut params = params(&body.params)?;
    if let Some(target) = value::given(body.target.as_deref()) {
        let Some(kind) = target_kind else {
            let allowed = "nothing: its steps take no target; name it as a parameter";
            return Err(Rejected::field("target", target, allowed));
        };
        params.retain(|param| param.name.as_str() != kind);
        params.push(param(kind, "target", target)?);
    }
    let command = StartRun {
        noun,
        title,
        params,
        origin: Origin::Hand,
        override_reason: value::text_opt("override_reason", body.override_reason.as_deref())?,
        reply_url: None,
    };
    room.start_run(call, command).await
}

/// Returns which parameter a definition's target is.
fn target_kind(spec: &Spec) -> Option<&'static str> {
    match spec {
        Spec::AutoFix(fix) => Some(fix.condition.target().as_str()),
        Spec::Runbook(runbook) => runbook.plan.steps.iter().find_map(|step| subject(step)),
        Spec::Agent(_)
        | Spec::Command(_)
        | Spec::AlertRule(_)
        | Spec::AlertRoute(_)
        | Spec::Channel(_)
        | Spec::Source(_) => None,
    }
}

/// Returns the parameter that a step takes from its run, as the exact form names it.
pub(super) fn subject(step: &PlannedStep) -> Option<&'static str> {
    let exact = step.operation.to_string();
    let arguments = plan::arguments(&exact);
    let names = ["role", "worker", "queue", "job"];
    names
        .into_iter()
        .find(|name| arguments.split_whitespace().any(|one| one == format!("{name}=run")))
}

/// Returns values for the parameters of a run.
pub(super) fn params(given: &BTreeMap<String, String>) -> Result<Vec<Param>, Rejected> {
    given.iter().map(|(name, value)| param(name, &format!("params.{name}"), value)).collect()
}

/// Returns a value for one parameter.
pub(super) fn param(name: &str, field: &str, value: &str) -> Result<Param, Rejected> {
    if !["role", "worker", "queue", "job"].contains(&name) {
        return Err(Rejected::field(field, name, "a parameter: role, worker, queue or job"));
    }
    // A name or a number is one word; it binds as it is, and nothing reads it as anything else.
    let odd = value.is_empty() || value.len() > 200 || value.chars().any(|c| c.is_control());
    if odd || value.trim() != value {
        let shown: String = value.chars().take(60).collect();
        return Err(Rejected::field(field, &shown, "a name or a number"));
    }
    Ok(Param { name: convert::name("param", name)?, value: convert::text(field, Some(value))? })
}

impl Room {
    pub(super) async fn start_run(
        &self,
        call: Call,
        command: StartRun,
    ) -> Result<Written<wire::Run>, Rejected> {
        let about = command.clone();
        let command = automate(Automate::StartRun(command));
        let request =
            clawhold_core::command::Request { id: call.id, actor: Some(call.actor), command };
        let written = self.handle.submit(request, move |replica, applied| {
            let state = replica.state();
            let answer = applied
                .answer
                .as_ref()
                .map_err(|refusal| super::trial::explained(state, &about, refusal))?;
            let body = ran(replica, answer)?;
            let position = state.last().position.0;
            Ok(Written { position, replayed: applied.replayed, body })
        });
        written.await?
    }
}

fn ran(replica: &Replica, answer: &Answer) -> Result<wire::Run, Rejected> {
    let Answer::Run { run } = answer else { return Err(Rejected::broken("move a run")) };
    show_named(replica, *run)
}

pub(super) async fn cancel(
    State(room): State<Room>,
    call: Call,
    Word(run): Word,
    Body(body): Body<wire::CancelRun>,
) -> Result<Written<wire::Run>, Rejected> {
    let run = run_id(&run)?;
    let reason = convert::text("reason", Some(&body.reason))?;
    let command = automate(Automate::CancelRun(CancelRun { run, reason }));
    room.write(call, command, move |replica, _| show_named(replica, run)).await
}

pub(super) async fn resume(
    State(room): State<Room>,
    call: Call,
    Word(run): Word,
    Body(body): Body<wire::ResumeRun>,
) -> Result<Written<wire::Run>, Rejected> {
    let run = run_id(&run)?;
    if body.from == Some(0) {
        return Err(Rejected::field("from", "0", "the number of a step, from 1"));
    }
    let from = body.from.map(|from| from - 1);
    let command = automate(Automate::ResumeRun(ResumeRun { run, from }));
    room.write(call, command, move |replica, _| show_named(replica, run)).await
}

pub(super) async fn decide(
    State(room): State<Room>,
    call: Call,
    Word(run): Word,
    Body(body): Body<wire::Decide>,
) -> Result<Written<wire::Run>, Rejected> {
    let run = run_id(&run)?;
    let command = Decide {
        run,
        agrees: body.agrees,
        reason: convert::text("reason", Some(&body.reason))?,
        plan_hash: value::text_opt("plan_hash", body.plan_hash.as_deref())?,
    };
    let command = automate(Automate::Decide(command));
    room.write(call, command, move |replica, _| show_named(replica, run)).await
}

pub(super) async fn reset_fix(
    State(room): State<Room>,
    call: Call,
    Word(name): Word,
    Body(body): Body<definition_wire::ResetFix>,
) -> Result<Written<definition_wire::Definition>, Rejected> {
    let title = value::title("name", &name)?;
    let target = value::text_opt("target", body.target.as_deref())?;
    let command = automate(Automate::ResetFix(ResetFix { title: title.clone(), target }));
    let written = room.write(call, command, move |replica, _| {
        Ok(show_known(replica, require(replica.state(), Noun::AutoFix, &title)?))
    });
    written.await
}

/// Shows a run.
pub(super) fn show_run(state: &Known, run: &Run) -> wire::Run {
    let steps = run.plan.steps.iter().zip(&run.steps).zip(1..);
    let under_way = !run.state.is_ended() && run.started.is_some();
    wire::Run {
        id: run.id.0,
        kind: kind::show_noun(run.noun),
        name: run.title.to_string(),
        version: run.version,
        target: run.target.as_ref().map(|target| show_target(state, target)),
        params: show_params(run),
        origin: run.origin.as_str().to_owned(),
        actor: run.actor.as_ref().map(ToString::to_string),
        state: show_state(run.state),
        why: run.why.as_str().to_owned(),
        waits_for: waits_for(state, run),
        steps: steps.map(|((planned, step), number)| show_step(planned, step, number)).collect(),
        step: under_way.then_some(run.cursor + 1),
        plan_hash: run.plan_hash.as_str().to_owned(),
        asked: view::moment(run.asked),
        started: run.started.map(view::moment),
        ended: run.ended.map(view::moment),
        evidence: run.evidence.as_str().to_owned(),
        override_reason: run.override_reason.as_ref().map(|why| why.as_str().to_owned()),
        votes: run.votes.iter().map(show_vote).collect(),
        answer_by: run.answer_by.map(clock::rfc3339),
        returned: run.returned.iter().take(RETURNED_MAX).map(|job| job.0).collect(),
        returned_count: run.returned.len() as u64,
        notify: run.notify.iter().map(ToString::to_string).collect(),
    }
}

fn show_params(run: &Run) -> BTreeMap<String, String> {
    let params = &run.params;
    let worker = params.worker_label.as_ref().map(ToString::to_string);
    let all = [
        ("role", params.role.as_ref().map(ToString::to_string)),
        ("worker", worker.or_else(|| params.worker.map(|worker| worker.to_string()))),
        ("queue", params.queue.as_ref().map(ToString::to_string)),
        ("job", params.job.map(|job| job.to_string())),
    ];
    let given = all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    given.collect()
}

/// Says whom a run waits for.
fn waits_for(state: &Known, run: &Run) -> String {
    if run.state == RunState::Asking {
        return asks(state, run);
    }
    let at = usize::try_from(run.cursor).unwrap_or(usize::MAX);
    let step = run.steps.get(at).filter(|step| step.state == StepState::Waiting);
    let (Some(_), Some(planned)) = (step, run.plan.steps.get(at)) else { return String::new() };
    let number = run.cursor + 1;
    if let Operation::AgentJob { agent } = &planned.operation {
        return format!("agent {agent} to do step {number}");
    }
    format!("a person to confirm step {number}")
}

fn asks(state: &Known, run: &Run) -> String {
    let known = state.automation().catalog().get(run.noun, &run.title);
    let fix = known.and_then(|known| match &known.spec {
        Spec::AutoFix(fix) => Some(fix),
        Spec::Agent(_)
        | Spec::Command(_)
        | Spec::AlertRule(_)
        | Spec::AlertRoute(_)
        | Spec::Runbook(_)
        | Spec::Channel(_)
        | Spec::Source(_) => None,
    });
    let approval = fix.map(|fix| fix.approval.clone());
    let (count, group) = match approval {
        Some(Approval::Ask { count, group }) => (count, group),
        Some(Approval::Auto | Approval::Never) | None => (1, None),
    };
    let agreed = run.votes.iter().filter(|vote| vote.agrees).count();
    let left = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(agreed).max(1);
    let who = if left == 1 { "one person".to_owned() } else { format!("{left} people") };
    match group {
        Some(group) => format!("{who} of @{group} to agree"),
        None => format!("{who} to agree"),
    }
}

fn show_step(planned: &PlannedStep, step: &StepRecord, number: u32) -> wire::RunStep {
    wire::RunStep {
        number,
        operation: planned.operation.name().to_owned(),
        arguments: plan::arguments(&planned.operation.to_string()),
        sentence: planned.sentence.as_str().to_owned(),
        reading: plan::reading(&planned.reading),
        on_fail: plan::show_on_fail(planned.on_fail),
        state: show_step_state(step.state),
        started: step.started.map(view::moment),
        ended: step.ended.map(view::moment),
        attempts: step.attempts,
        output: step.output.iter().map(|line| line.as_str().to_owned()).collect(),
        job: step.job.map(|job| job.0),
        message: step.message.map(|message| message.0),
    }
}

fn show_vote(vote: &clawhold_core::run::Vote) -> wire::Vote {
    wire::Vote {
        actor: vote.actor.to_string(),
        agrees: vote.agrees,
        reason: vote.reason.as_str().to_owned(),
        at: view::moment(vote.stamp),
    }
}

/// Returns a run's state.
pub(super) fn show_state(state: RunState) -> wire::RunState {
    match state {
        RunState::Asking => wire::RunState::Asking,
        RunState::Running => wire::RunState::Running,
        RunState::Succeeded => wire::RunState::Succeeded,
        RunState::Failed => wire::RunState::Failed,
        RunState::Unknown => wire::RunState::Unknown,
        RunState::Cancelled => wire::RunState::Cancelled,
        RunState::Withdrawn => wire::RunState::Withdrawn,
        RunState::Expired => wire::RunState::Expired,
        RunState::Rejected => wire::RunState::Rejected,
    }
}

fn show_step_state(state: StepState) -> wire::StepState {
    match state {
        StepState::Pending => wire::StepState::Pending,
        StepState::Running => wire::StepState::Running,
        StepState::Waiting => wire::StepState::Waiting,
        StepState::Done => wire::StepState::Done,
        StepState::Failed => wire::StepState::Failed,
        StepState::Unknown => wire::StepState::Unknown,
        StepState::Skipped => wire::StepState::Skipped,
    }
}
