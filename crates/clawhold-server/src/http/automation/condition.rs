//! Conditions: checked and explained, and the fields that they may read.

use axum::Json;
use axum::extract::State;
use clawhold_api::automation::Target as WireTarget;
use clawhold_api::automation::condition as wire;
use clawhold_api::error::{Code, Problem};
use clawhold_core::State as Known;
use clawhold_core::condition::{Condition, Field, Kind, TargetKind};
use clawhold_core::replica::Replica;
use clawhold_core::run::Target;

use crate::http::Room;
use crate::http::body::Body;
use crate::http::error::Rejected;

/// Targets that are explained at once.
const TARGETS_MAX: usize = 100;

/// Returns a condition, or the problem that shows what is wrong under the text as it was typed.
pub(super) fn parse(field: &str, text: &str) -> Result<Condition, Rejected> {
    Condition::parse(text).map_err(|trouble| {
        let detail = trouble.to_string();
        let lines = detail.lines().map(str::to_owned).collect();
        let field = Some(field.to_owned());
        Problem { field, lines, ..Problem::new(Code::BadCondition, detail) }.into()
    })
}

pub(super) async fn check(
    Body(body): Body<wire::CheckCondition>,
) -> Result<Json<wire::CheckedCondition>, Rejected> {
    let condition = parse("condition", &body.condition)?;
    Ok(Json(wire::CheckedCondition {
        condition: condition.text().to_owned(),
        canonical: condition.canonical(),
        target: Some(condition.target().as_str().to_owned()),
        fields: condition.fields().iter().map(|field| field.name().to_owned()).collect(),
    }))
}

pub(super) async fn fields() -> Json<wire::ConditionFields> {
    let items = Field::ALL.iter().map(|field| {
        let (kind, values) = kind(field.kind());
        wire::ConditionField {
            name: field.name().to_owned(),
            kind: kind.to_owned(),
            about: field.help().to_owned(),
            values: values.iter().map(ToString::to_string).collect(),
        }
    });
    Json(wire::ConditionFields { items: items.collect() })
}

fn kind(kind: Kind) -> (&'static str, &'static [&'static str]) {
    match kind {
        Kind::Bool => ("bool", &[]),
        Kind::Int => ("int", &[]),
        Kind::Duration => ("duration", &[]),
        Kind::Text => ("string", &[]),
        Kind::OneOf(values) => ("string", values),
        Kind::List => ("list", &[]),
    }
}

pub(super) async fn explain(
    State(room): State<Room>,
    Body(body): Body<wire::ExplainCondition>,
) -> Result<Json<wire::ExplainedCondition>, Rejected> {
    let condition = parse("condition", &body.condition)?;
    let explained = room.read(move |replica| {
        let state = replica.state();
        let targets = match body.target.as_deref() {
            Some(name) => vec![find(state, condition.target(), name)?],
            None => all(state, condition.target()),
        };
        let shown = targets.iter().take(TARGETS_MAX);
        Ok(wire::ExplainedCondition {
            canonical: condition.canonical(),
            targets: shown.map(|target| explain_one(replica, &condition, target)).collect(),
            targets_count: targets.len() as u64,
        })
    });
    explained.await.map(Json)
}

fn explain_one(replica: &Replica, condition: &Condition, target: &Target) -> wire::ExplainedTarget {
    let facts = replica.state().facts(target);
    let parts = condition.explain(&facts);
    wire::ExplainedTarget {
        target: Some(show_target(replica.state(), target)),
        verdict: condition.eval(&facts).as_str().to_owned(),
        lines: parts.iter().map(|part| format!("{} = {}", part.text, part.value)).collect(),
    }
}

/// Returns every target of a kind, in order.
pub(super) fn all(state: &Known, kind: TargetKind) -> Vec<Target> {
    match kind {
        TargetKind::Role => {
            state.roles().list(None).map(|role| Target::Role(role.name.clone())).collect()
        }
        TargetKind::Worker => {
            let workers = state.sessions().list(None).filter(|session| !session.queues.is_empty());
            workers.map(|session| Target::Worker(session.id)).collect()
        }
        TargetKind::Queue => {
            state.jobs().queues(None).map(|queue| Target::Queue(queue.name.clone())).collect()
        }
        TargetKind::Job => {
            let none = clawhold_core::job::Filter { queue: None, state: None };
            let jobs = state.jobs().list(none, None, clawhold_core::limits::PAGE_MAX);
            jobs.iter().map(|job| Target::Job(job.id)).collect()
        }
    }
}

/// Returns the target of a kind that people call by this name, or by its number.
pub(super) fn find(state: &Known, kind: TargetKind, name: &str) -> Result<Target, Rejected> {
    let called = |target: &Target| {
        let number = match target {
            Target::Worker(worker) => Some(worker.0),
            Target::Job(job) => Some(job.0),
            Target::Role(_) | Target::Queue(_) => None,
        };
        state.name_of(target).as_str() == name
            || number.is_some_and(|number| name.parse() == Ok(number))
    };
    if let (TargetKind::Job, Ok(number)) = (kind, name.parse()) {
        return Ok(Target::Job(clawhold_core::units::JobId(number)));
    }
    let found: Vec<Target> = all(state, kind).into_iter().filter(called).collect();
    match found.as_slice() {
        [target] => Ok(target.clone()),
        [] => {
            let known = all(state, kind);
            let known: Vec<_> = known.iter().map(|target| state.name_of(target)).collect();
            let names = known.iter().map(clawhold_core::units::Text::as_str);
            let choices = super::value::near(name, names);
            let detail = format!("there is no {kind} {name:?}");
            let field = Some("target".to_owned());
            Err(Problem { field, choices, ..Problem::new(Code::NotFound, detail) }.into())
        }
        several => {
            let detail = format!("{} of kind {kind} are named {name:?}", several.len());
            let ids = several.iter().filter_map(|target| match target {
                Target::Worker(worker) => Some(worker.0),
                Target::Job(job) => Some(job.0),
                Target::Role(_) | Target::Queue(_) => None,
            });
            let (field, ids) = (Some("target".to_owned()), ids.take(100).collect());
            Err(Problem { field, ids, ..Problem::new(Code::AmbiguousName, detail) }.into())
        }
    }
}

/// Returns a target as the wire shows it.
pub(super) fn show_target(state: &Known, target: &Target) -> WireTarget {
    let id = match target {
        Target::Worker(worker) => Some(worker.0),
        Target::Job(job) => Some(job.0),
        Target::Role(_) | Target::Queue(_) => None,
    };
    WireTarget {
        kind: target.kind().as_str().to_owned(),
        name: state.name_of(target).as_str().to_owned(),
        id,
    }
}
