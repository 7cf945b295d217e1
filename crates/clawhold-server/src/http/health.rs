//! Health: whether the process runs, can take requests, is the active one.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use clawhold_api::server::{Check, Health, HealthQuery};
use clawhold_core::replica::{Mode, Replica};

use super::Room;
use super::error::Rejected;
use super::query::Query;

/// How long the driver may take to answer a check.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a check sees of the driver.
struct Seen {
    mode: Mode,
    hold_left_ms: u64,
    position: u64,
    waiting: usize,
}

pub(super) async fn live() -> &'static str {
    "ok\n"
}

pub(super) async fn leader(State(room): State<Room>) -> Response {
    let refuse = |text: &'static str| (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    if room.handle.standing().borrow().mode != Mode::Active {
        return refuse("not active\n");
    }
    // Past its hold another server may lead, and this one hears of it last.
    let read = room.handle.read(Replica::hold_left_ms);
    match tokio::time::timeout(PATIENCE, read).await {
        Ok(Ok(hold_left_ms)) if hold_left_ms > 0 => "active\n".into_response(),
        Ok(_) | Err(_) => refuse("not active: its hold on the log has lapsed\n"),
    }
}

pub(super) async fn ready(
    State(room): State<Room>,
    Query(query): Query<HealthQuery>,
) -> Result<Response, Rejected> {
    let verbose = match query.verbose.as_deref() {
        None | Some("0" | "false") => false,
        Some("" | "1" | "true") => true,
        Some(other) => {
            return Err(Rejected::field("verbose", other, "nothing, 1, 0, true or false"));
        }
    };
    let checks = room.checks().await;
    let ok = checks.iter().all(|check| check.ok);
    let status = if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let checks = if verbose { checks } else { Vec::new() };
    Ok((status, Json(Health { ok, checks })).into_response())
}

impl Room {
    async fn checks(&self) -> Vec<Check> {
        let read = self.handle.read(|replica| Seen {
            mode: replica.mode(),
            hold_left_ms: replica.hold_left_ms(),
            position: replica.state().last().position.0,
            waiting: replica.waiting_count(),
        });
        let Ok(Ok(seen)) = tokio::time::timeout(PATIENCE, read).await else {
            let detail = format!("the driver did not answer within {} ms", PATIENCE.as_millis());
            return vec![check("driver", false, detail)];
        };
        let active_url = self.handle.standing().borrow().active_url.clone();
        let driver = check("driver", true, format!("{} requests wait for the log", seen.waiting));
        let is_active = seen.mode == Mode::Active;
        let log = if is_active {
            let detail = format!("active at {}, hold for {} ms", seen.position, seen.hold_left_ms);
            check("log", seen.hold_left_ms > 0, detail)
        } else {
            check("log", true, format!("follows, at {}", seen.position))
        };
        let knows = is_active || active_url.is_some();
        let active = match active_url {
            Some(url) => url,
            None if is_active => "this one, not advertised".to_owned(),
            None => "none is known".to_owned(),
        };
        vec![driver, log, check("active server", knows, active)]
    }
}

fn check(name: &str, ok: bool, detail: String) -> Check {
    Check { name: name.to_owned(), ok, detail }
}
