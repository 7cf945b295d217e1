//! Claims: jobs handed out, now or when there are some; and how claims end.
//!
//! A claim that would get nothing is not logged: it waits in line, or comes back empty. Whoever
//! goes away while waiting leaves the line and takes nothing.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use clawhold_api::error::Code;
use clawhold_api::job as wire;
use clawhold_core::answer::{Answer, Refusal, SettledAs};
use clawhold_core::command::{Claim, Command, SessionKey, Settle, Wanted};
use clawhold_core::replica::Replica;
use clawhold_core::units::RequestId;

use super::body::Body;
use super::call::{Call, Raw, Written, check_active};
use super::error::{Rejected, problem_of};
use super::handed::{Handed, claimed_body, handed, settled_body};
use super::waiters::claimable;
use super::{Room, convert};
use crate::clock;

pub(super) async fn claim(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::Claim>,
) -> Result<Response, Rejected> {
    let wait_ms = convert::wait_ms(body.wait_ms)?;
    let session = convert::session("session", &body.session)?;
    let wanted = convert::wanted("", &body.queues, body.max.unwrap_or(1))?;
    let wait = Duration::from_millis(wait_ms);
    match room.claim_when_ready(&call, session, &wanted, wait).await? {
        Some(claimed) => Ok(claimed.map(|handed| Raw(claimed_body(&handed))).into_response()),
        None => Ok(Json(wire::Claimed { jobs: Vec::new() }).into_response()),
    }
}

impl Room {
    /// Claims as soon as there is something to claim; `None` when there was nothing for as long as
    /// the caller waits. A claim that is on its way to the log is always waited for.
    async fn claim_when_ready(
        &self,
        call: &Call,
        session: SessionKey,
        wanted: &Wanted,
        wait: Duration,
    ) -> Result<Option<Written<Vec<Handed>>>, Rejected> {
        // In line before the first look, so that no change is missed.
        let waits = !wait.is_zero();
        let place = waits.then(|| self.hub.claims.enlist(session.id, wanted.clone()));
        let patience = clock::pause(wait);
        tokio::pin!(patience);
        loop {
            let claimed = self.claim_if_ready(call.clone(), session, wanted.clone()).await?;
            if let Some(claimed) = claimed.filter(|claimed| !claimed.body.is_empty()) {
                return Ok(Some(claimed));
            }
            let Some(place) = &place else { return Ok(None) };
            tokio::select! {
                () = place.woken() => {}
                () = &mut patience => return Ok(None),
            }
        }
    }

    /// Claims, unless there is nothing to claim: that leaves no trace in the log. A claim that was
    /// answered before gets that answer again.
    async fn claim_if_ready(
        &self,
        call: Call,
        session: SessionKey,
        wanted: Wanted,
    ) -> Result<Option<Written<Vec<Handed>>>, Rejected> {
        let command = Command::Claim(Claim { session, wanted: wanted.clone() });
        let id = call.id.clone();
        let look = move |replica: &Replica| match is_ready(replica, id.as_ref(), session, &wanted) {
            Ok(true) => None,
            Ok(false) => Some(Ok(None)),
            Err(rejected) => Some(Err(rejected)),
        };
        let claimed = self.write_unless(call, command, look, |replica, answer| {
            let Answer::Claimed(claimed) = answer else { return Err(Rejected::broken("claim")) };
            Ok(handed(replica, claimed))
        });
        claimed.await
    }
}

/// Tells whether a claim would get something.
fn is_ready(
    replica: &Replica,
    id: Option<&RequestId>,
    session: SessionKey,
    wanted: &Wanted,
) -> Result<bool, Rejected> {
    check_active(replica)?;
    if id.is_some_and(|id| replica.state().knows(id)) {
        return Ok(true);
    }
    let worker = replica.state().sessions().prove(session).map_err(|over| Rejected::from(&over))?;
    if worker.drain.is_some() {
        return Err(Rejected::from(&Refusal::Draining));
    }
    // A session that is no worker is refused by the core, in its words.
    Ok(worker.slots == 0 || claimable(replica, session.id, wanted))
}

pub(super) async fn settle(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::Settle>,
) -> Result<Response, Rejected> {
    let next = body.next.as_ref();
    let next = next.map(|next| convert::wanted("next.", &next.queues, next.max)).transpose()?;
    let command = Settle {
        session: convert::session("session", &body.session)?,
        settlements: convert::settlements(&body.settlements)?,
        next,
    };
    let asked: Vec<u64> = body.settlements.iter().map(|one| one.job).collect();
    let written = room.write(call, Command::Settle(command), move |replica, answer| {
        let Answer::Settled { results, claimed } = answer else {
            return Err(Rejected::broken("settle"));
        };
        Ok((results.clone(), handed(replica, claimed)))
    });
    let written = written.await?;
    let (results, handed) = &written.body;
    let results = asked.iter().zip(results).map(|(job, result)| show_result(*job, result));
    let body = settled_body(results, handed);
    let body = body.map_err(|error| Rejected::new(Code::Internal, error.to_string()))?;
    Ok(written.map(|_| Raw(body)).into_response())
}

fn show_result(job: u64, result: &Result<SettledAs, Refusal>) -> wire::SettleResult {
    let (state, retry_at, problem) = match result {
        Ok(SettledAs::Completed) => (Some(wire::JobState::Completed), None, None),
        Ok(SettledAs::RetryAt(at)) => {
            (Some(wire::JobState::Scheduled), Some(clock::rfc3339(*at)), None)
        }
        Ok(SettledAs::Failed) => (Some(wire::JobState::Failed), None, None),
        Ok(SettledAs::Returned) => (Some(wire::JobState::Returned), None, None),
        Ok(SettledAs::Cancelled) => (Some(wire::JobState::Cancelled), None, None),
        Err(refusal) => (None, None, Some(problem_of(refusal))),
    };
    wire::SettleResult { job, state, retry_at, problem }
}
