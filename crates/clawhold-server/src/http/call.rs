//! One call: who asks, under which request id; and how a write is answered.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use clawhold_api::error::{Code, Problem};
use clawhold_api::routes;
use clawhold_core::answer::Answer;
use clawhold_core::command::{Command, Request};
use clawhold_core::replica::{Mode, Replica};
use clawhold_core::units::{Name, RequestId};
use serde::Serialize;

use super::Room;
use super::error::Rejected;
use crate::auth::Scope;
use crate::driver::{self, Failure};
use crate::forward::Actor;

/// Who asks, and under which request id.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: Option<RequestId>,
    pub(super) actor: Name,
    pub(super) scope: Scope,
}

impl<S: Send + Sync> FromRequestParts<S> for Call {
    type Rejection = Rejected;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejected> {
        let mut values = parts.headers.get_all(routes::IDEMPOTENCY_KEY).iter();
        let id = values.next().map(request_id).transpose()?;
        if values.next().is_some() {
            return Err(bad_key("several", "one"));
        }
        let actor = parts.extensions.get::<Actor>().cloned();
        let Actor { name, scope } =
            actor.unwrap_or_else(|| Actor { name: local(), scope: Scope::Viewer });
        Ok(Self { id, actor: name, scope })
    }
}

fn request_id(value: &HeaderValue) -> Result<RequestId, Rejected> {
    let text = String::from_utf8_lossy(value.as_bytes());
    RequestId::parse(&text).map_err(|_| bad_key(&text, "1 to 64 visible ASCII characters"))
}

fn bad_key(value: &str, allowed: &str) -> Rejected {
    Problem::field(Code::BadRequest, routes::IDEMPOTENCY_KEY, value, allowed).into()
}

fn local() -> Name {
    Name::parse("local").expect("`local` is a name")
}

/// What came of a write, and where it stands in the log.
#[derive(Clone, Debug)]
pub(super) struct Written<T> {
    pub(super) position: u64,
    pub(super) replayed: bool,
    pub(super) body: T,
}

impl<T> Written<T> {
    /// Returns the same with another body.
    pub(super) fn map<U>(self, map: impl FnOnce(T) -> U) -> Written<U> {
        Written { position: self.position, replayed: self.replayed, body: map(self.body) }
    }
}

impl<T: Serialize> IntoResponse for Written<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.body) {
            Ok(body) => self.map(|_| Raw(body)).into_response(),
            Err(error) => Rejected::new(Code::Internal, error.to_string()).into_response(),
        }
    }
}

/// A body that is JSON already.
#[derive(Debug)]
pub(super) struct Raw(pub(super) Vec<u8>);

impl IntoResponse for Written<Raw> {
    fn into_response(self) -> Response {
        let mut response = self.body.0.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(HeaderName::from_static(routes::POSITION), HeaderValue::from(self.position));
        if self.replayed {
            let replayed = HeaderName::from_static(routes::REPLAYED);
            headers.insert(replayed, HeaderValue::from_static("true"));
        }
        response
    }
}

impl Room {
    /// Submits a command and answers with what `view` makes of it, at the entry's own position.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        call: Call,
        command: Command,
        view: impl FnOnce(&Replica, &Answer) -> Result<T, Rejected> + Send + 'static,
    ) -> Result<Written<T>, Rejected> {
        let written = self.write_unless(call, command, |_| None, view).await?;
        written.ok_or_else(|| Rejected::broken("a write"))
    }

    /// Submits a command, unless `look` has the answer already: `None` when nothing is to be done.
    pub(super) async fn write_unless<T: Send + 'static>(
        &self,
        call: Call,
        command: Command,
        look: impl FnOnce(&Replica) -> Option<Result<Option<Written<T>>, Rejected>> + Send + 'static,
        view: impl FnOnce(&Replica, &Answer) -> Result<T, Rejected> + Send + 'static,
    ) -> Result<Option<Written<T>>, Rejected> {
        let request = Request { id: call.id, actor: Some(call.actor), command };
        let written = self.handle.submit_unless(request, look, move |replica, applied| {
            let answer = applied
                .answer
                .as_ref()
                .map_err(|refusal| Rejected::known(replica.state(), refusal))?;
            let body = view(replica, answer)?;
            let position = replica.state().last().position.0;
            Ok(Some(Written { position, replayed: applied.replayed, body }))
        });
        written.await?
    }

    /// Reads at the current position, if this server is the active one.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        view: impl FnOnce(&Replica) -> Result<T, Rejected> + Send + 'static,
    ) -> Result<T, Rejected> {
        let read = self.handle.read(move |replica| {
            check_active(replica)?;
            view(replica)
        });
        read.await?
    }
}

/// Checks that this server is the active one, which alone knows what is true now.
pub(super) fn check_active(replica: &Replica) -> Result<(), Rejected> {
    match replica.mode() {
        Mode::Active => return Ok(()),
        Mode::Stopped => return Err(Failure::Stopping.into()),
        Mode::Standby | Mode::TakingOver => {}
    }
    let active_url = driver::active_url(replica).map(str::to_owned);
    Err(Failure::NotActive { active_url }.into())
}
