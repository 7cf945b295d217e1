//! Sessions: opened, kept by beats, closed.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use clawhold_api::error::Code;
use clawhold_api::page::{Done, PageQuery};
use clawhold_api::session as wire;
use clawhold_core::answer::Answer;
use clawhold_core::beat::{Beat, BeatAnswer, LeadAnswer, LeadOutcome};
use clawhold_core::command::{CloseSession, Command, OpenSession};
use clawhold_core::limits;
use clawhold_core::replica::Replica;
use clawhold_core::session::Session;
use clawhold_core::units::{ClaimNumber, EventNumber, JobId, SessionId, Token};

use super::body::Body;
use super::call::{Call, Written};
use super::error::Rejected;
use super::query::{Listed, Query, number_cursor, page, rows};
use super::{Room, convert, view};

/// The most jobs that one session may hold at once.
const SLOTS_MAX: u32 = 10_000;
/// Roles, or jobs, that one beat may list.
const BEAT_ITEMS_MAX: usize = 10_000;

pub(super) async fn open(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::OpenSession>,
) -> Result<Written<wire::OpenedSession>, Rejected> {
    let ttl_ms = body.ttl_ms.unwrap_or(limits::TTL_MS_DEFAULT);
    let is_worker = !body.queues.is_empty();
    let slots = body.slots.unwrap_or(u64::from(is_worker));
    let secret = getrandom::u64().map_err(|error| {
        Rejected::new(Code::Internal, format!("no randomness for a session's secret: {error}"))
    })?;
    let command = OpenSession {
        secret,
        label: convert::label("label", &body.label)?,
        ttl_ms: convert::range("ttl_ms", ttl_ms, limits::TTL_MS_MIN, limits::TTL_MS_MAX)?,
        queues: convert::names("queues", &body.queues, 0)?,
        slots: convert::small("slots", slots, u64::from(is_worker), SLOTS_MAX)?,
        agent: convert::name_opt("agent", body.agent.as_deref())?,
        place: convert::text("place", body.place.as_deref())?,
    };
    let written = room.write(call, Command::OpenSession(command), move |_, answer| {
        let Answer::Opened(key) = answer else { return Err(Rejected::broken("open a session")) };
        Ok(wire::OpenedSession {
            session: convert::session_text(*key),
            id: key.id.0,
            ttl_ms,
            beat_ms: ttl_ms / 3,
        })
    });
    written.await
}

pub(super) async fn close(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::CloseSession>,
) -> Result<Written<Done>, Rejected> {
    let session = convert::session("session", &body.session)?;
    let command = Command::CloseSession(CloseSession { session });
    room.write(call, command, |_, _| Ok(Done {})).await
}

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<PageQuery>,
) -> Result<Listed<wire::Session>, Rejected> {
    let rows = rows(query.limit)?;
    let after = number_cursor(query.cursor.as_deref())?.map(SessionId);
    let items = room.read(move |replica| {
        let sessions = replica.state().sessions().list(after).take(rows.limit + 1);
        Ok(sessions.map(|session| show(replica, session)).collect())
    });
    Ok(page(items.await?, rows, &uri, |session: &wire::Session| session.id.to_string()))
}

fn show(replica: &Replica, session: &Session) -> wire::Session {
    wire::Session {
        id: session.id.0,
        label: session.label.to_string(),
        ttl_ms: session.ttl_ms,
        queues: session.queues.iter().map(ToString::to_string).collect(),
        opened: view::moment(session.opened),
        place: session.place.as_str().to_owned(),
        silent_ms: view::silent_ms(replica, session.id),
    }
}

pub(super) async fn beat(
    State(room): State<Room>,
    Body(body): Body<wire::Beat>,
) -> Result<Json<wire::BeatReply>, Rejected> {
    let beat = read_beat(&body)?;
    let answer = room.handle.beat(beat).await?;
    let answer = answer.map_err(|refusal| Rejected::from(&refusal))?;
    Ok(Json(tell(answer)))
}

fn read_beat(body: &wire::Beat) -> Result<Beat, Rejected> {
    convert::count("leads", body.leads.len(), 0, BEAT_ITEMS_MAX)?;
    convert::count("holds", body.holds.len(), 0, BEAT_ITEMS_MAX)?;
    convert::count("consumed", body.consumed.len(), 0, BEAT_ITEMS_MAX)?;
    let leads = body.leads.iter().enumerate().map(|(at, lead)| {
        Ok((convert::name(format!("leads[{at}].role"), &lead.role)?, Token(lead.token)))
    });
    let suspended = body.leads.iter().enumerate().filter(|(_, lead)| lead.suspended);
    let suspended =
        suspended.map(|(at, lead)| convert::name(format!("leads[{at}].role"), &lead.role));
    let consumed = body.consumed.iter().enumerate().map(|(at, one)| {
        let role = convert::name(format!("consumed[{at}].role"), &one.role)?;
        Ok((role, EventNumber(one.through)))
    });
    let holds = body.holds.iter().map(|hold| (JobId(hold.job), ClaimNumber(hold.claim)));
    Ok(Beat {
        session: convert::session("session", &body.session)?,
        leads: leads.collect::<Result<_, Rejected>>()?,
        suspended: suspended.collect::<Result<_, Rejected>>()?,
        holds: holds.collect(),
        consumed: consumed.collect::<Result<_, Rejected>>()?,
    })
}

fn tell(answer: BeatAnswer) -> wire::BeatReply {
    let hold = |(job, claim): &(JobId, ClaimNumber)| wire::Hold { job: job.0, claim: claim.0 };
    let granted = answer.granted.iter().map(|(role, granted)| wire::Grant {
        role: role.to_string(),
        token: granted.token.0,
        ttl_ms: granted.ttl_ms,
    });
    wire::BeatReply {
        valid_ms: answer.valid_ms,
        leads: answer.leads.iter().map(tell_lead).collect(),
        superseded: answer.superseded.iter().map(hold).collect(),
        cancelled: answer.cancelled.iter().map(hold).collect(),
        granted: granted.collect(),
        drain: answer
            .drain
            .map(|drain| wire::Drain { left_ms: drain.left_ms, reason: drain.reason.into() }),
    }
}

fn tell_lead(lead: &LeadAnswer) -> wire::LeadReply {
    let (outcome, valid_ms, latest, asked) = match &lead.outcome {
        LeadOutcome::Renewed { valid_ms, asked } => {
            (wire::LeadOutcome::Renewed, *valid_ms, lead.token, *asked)
        }
        LeadOutcome::Lost { latest } => (wire::LeadOutcome::Lost, 0, *latest, None),
    };
    wire::LeadReply {
        role: lead.role.to_string(),
        token: lead.token.0,
        outcome,
        valid_ms,
        latest_token: latest.0,
        asked: asked.map(|(to, left_ms)| wire::Asked { to: view::successor(to), left_ms }),
    }
}
