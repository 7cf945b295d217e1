//! Asking for a role, and waiting for it.
//!
//! One entry puts the session in line; the grant wakes it. One that does not stand by leaves the
//! line when its wait ends, and also when its caller goes away.

use std::time::Duration;

use axum::extract::State;
use clawhold_api::role as wire;
use clawhold_core::answer::{Answer, Granted, Refusal};
use clawhold_core::command::{Acquire, Command, Request, SessionKey, Withdraw};
use clawhold_core::limits;
use clawhold_core::replica::Replica;
use clawhold_core::units::{Name, SessionId, Token};

use super::body::Body;
use super::call::{Call, Written};
use super::error::Rejected;
use super::query::Word;
use super::signal::{Patience, Signal};
use super::{Room, convert};
use crate::driver::Handle;

/// What is asked for, as far as the answer needs it.
#[derive(Clone, Debug)]
struct Asked {
    role: Name,
    session: SessionKey,
    stream: Option<Name>,
}

pub(super) async fn acquire(
    State(room): State<Room>,
    call: Call,
    Word(role): Word,
    Body(body): Body<wire::Acquire>,
) -> Result<Written<wire::Acquired>, Rejected> {
    let wait_ms = convert::wait_ms(body.wait_ms)?;
    let asked = Asked {
        role: convert::name("role", &role)?,
        session: convert::session("session", &body.session)?,
        stream: convert::name_opt("stream", body.stream.as_deref())?,
    };
    let (min, max) = (limits::TTL_MS_MIN, limits::TTL_MS_MAX);
    let command = Acquire {
        role: asked.role.clone(),
        session: asked.session,
        ttl_ms: convert::range_opt("ttl_ms", body.ttl_ms, min, max)?,
        wait: body.stand_by || wait_ms > 0,
        stream: asked.stream.clone(),
    };
    // Enlisted before it is submitted, so that no grant is missed.
    let grant = room.hub.grants.wait_for((asked.role.clone(), asked.session.id));
    let leave = (wait_ms > 0 && !body.stand_by).then(|| Leave::new(&room, &asked));
    let view = asked.clone();
    let first = room.write(call.clone(), Command::Acquire(command), move |replica, answer| {
        answered(replica, &view, answer)
    });
    let first = match first.await {
        Ok(first) => first,
        Err(rejected) => {
            if rejected.0.nothing_happened {
                disarm(leave);
            }
            return Err(rejected);
        }
    };
    if wait_ms == 0 || first.body.outcome == wire::AcquireOutcome::Granted {
        disarm(leave);
        return Ok(first);
    }
    let patience = Patience::of(Duration::from_millis(wait_ms));
    if let Some(body) = room.await_grant(&asked, grant, patience).await? {
        disarm(leave);
        return Ok(Written { body, ..first });
    }
    let Some(leave) = leave else { return Ok(first) };
    room.leave(call, &asked, leave).await
}

impl Room {
    /// Waits for the grant; `None` when patience ended before.
    async fn await_grant(
        &self,
        asked: &Asked,
        mut grant: Signal<(Name, SessionId)>,
        mut patience: Patience,
    ) -> Result<Option<wire::Acquired>, Rejected> {
        loop {
            grant.about_to_look();
            if let Some(granted) = self.granted(asked).await? {
                return Ok(Some(granted));
            }
            if !grant.woken(&mut patience).await {
                return self.granted(asked).await;
            }
        }
    }

    /// Returns the grant, if the session holds the role.
    async fn granted(&self, asked: &Asked) -> Result<Option<wire::Acquired>, Rejected> {
        let asked = asked.clone();
        let look = self.read(move |replica| {
            // A session that ended while it waited is told so.
            replica
                .state()
                .sessions()
                .prove(asked.session)
                .map_err(|over| Rejected::from(&over))?;
            Ok(held(replica, &asked).map(|granted| show_grant(replica, &asked, granted)))
        });
        look.await
    }

    /// Leaves the line; a grant that came in between counts.
    async fn leave(
        &self,
        call: Call,
        asked: &Asked,
        leave: Leave,
    ) -> Result<Written<wire::Acquired>, Rejected> {
        let withdraw = withdraw(asked);
        let view = asked.clone();
        let request = Request { id: None, actor: Some(call.actor), command: withdraw };
        let written = self.handle.submit(request, move |replica, _| {
            let position = replica.state().last().position.0;
            let Some(granted) = held(replica, &view) else {
                return Err(still_held(replica, &view));
            };
            let body = show_grant(replica, &view, granted);
            Ok(Written { position, replayed: false, body })
        });
        let written = written.await?;
        disarm(Some(leave));
        written
    }
}

/// Leaves the line when its caller goes away.
struct Leave {
    handle: Handle,
    command: Option<Command>,
}

impl Leave {
    fn new(room: &Room, asked: &Asked) -> Self {
        Self { handle: room.handle.clone(), command: Some(withdraw(asked)) }
    }
}

fn disarm(leave: Option<Leave>) {
    if let Some(mut leave) = leave {
        leave.command = None;
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        let Some(command) = self.command.take() else { return };
        let handle = self.handle.clone();
        let request = Request { id: None, actor: None, command };
        tokio::spawn(async move {
            // Whoever is not in line any more needs not leave it.
            let _ = handle.submit(request, |_, _| ()).await;
        });
    }
}

fn withdraw(asked: &Asked) -> Command {
    Command::Withdraw(Withdraw { role: asked.role.clone(), session: asked.session })
}

fn answered(replica: &Replica, asked: &Asked, answer: &Answer) -> Result<wire::Acquired, Rejected> {
    if let Answer::Granted(granted) = answer {
        return Ok(show_grant(replica, asked, *granted));
    }
    // A vacant role waits for a candidate that has come far enough, or for what its policy asks.
    if let Answer::Behind { .. } | Answer::Withheld { .. } = answer {
        let role = replica.state().roles().get(&asked.role);
        return Ok(wire::Acquired {
            outcome: wire::AcquireOutcome::Waiting,
            token: role.map_or(0, |role| role.floor.0),
            ttl_ms: role.map_or(0, |role| role.ttl_ms),
            holder: None,
            position: None,
        });
    }
    let Answer::Waiting { holder, token } = answer else {
        return Err(Rejected::broken("acquire a role"));
    };
    let lease = replica.state().roles().get(&asked.role).and_then(|role| role.held.as_ref());
    let lease = lease.filter(|lease| lease.session == *holder);
    let label = lease.map(|lease| lease.label.to_string()).unwrap_or_default();
    Ok(wire::Acquired {
        outcome: wire::AcquireOutcome::Waiting,
        token: token.0,
        ttl_ms: lease.map_or(0, |lease| lease.ttl_ms),
        holder: Some(wire::HolderName { id: holder.0, label, token: token.0 }),
        position: None,
    })
}

fn held(replica: &Replica, asked: &Asked) -> Option<Granted> {
    let lease = replica.state().roles().get(&asked.role)?.held.as_ref()?;
    (lease.session == asked.session.id).then(|| lease.as_granted())
}

fn show_grant(replica: &Replica, asked: &Asked, granted: Granted) -> wire::Acquired {
    let recorded = |stream| replica.state().streams().recorded(stream, &asked.role);
    let position =
        asked.stream.as_ref().map(|stream| recorded(stream).map_or(0, |at| at.through.0));
    wire::Acquired {
        outcome: wire::AcquireOutcome::Granted,
        token: granted.token.0,
        ttl_ms: granted.ttl_ms,
        holder: None,
        position,
    }
}

fn still_held(replica: &Replica, asked: &Asked) -> Rejected {
    let role = replica.state().roles().get(&asked.role);
    let latest = role.map_or(Token(0), |role| role.floor);
    let refusal = match role.and_then(|role| role.held.as_ref()) {
        Some(lease) => Refusal::RoleHeld { holder: lease.session, token: lease.token },
        None => Refusal::RoleVacant { latest },
    };
    Rejected::from(&refusal)
}
