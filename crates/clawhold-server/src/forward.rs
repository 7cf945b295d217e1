//! Handing requests to the active server, and the checks at the door.
//!
//! A standby answers nothing about the state itself: what it says could be old. It passes the
//! request on with its body and streams the answer back. A request is passed on once only.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use clawhold_api::error::{Code, Problem};
use clawhold_core::replica::Mode;
use clawhold_core::units::Name;
use futures_util::TryStreamExt;

use crate::auth::{self, Scope, Tokens};
use crate::driver::Standing;

/// Marks a request that was passed on before.
const FORWARDED: HeaderName = HeaderName::from_static("clawhold-forwarded");

/// The routes that every server answers for itself.
const OWN: [&str; 10] = [
    "/livez",
    "/readyz",
    "/healthz",
    "/leaderz",
    "/metrics",
    "/openapi.json",
    "/v1/limits",
    "/v1/hash",
    "/v1/server",
    "/v1/socket",
];

/// What the door needs to know.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) standing: tokio::sync::watch::Receiver<Standing>,
    pub(crate) http: reqwest::Client,
    pub(crate) tokens: Tokens,
    /// Host and port under which this server is known to others.
    pub(crate) advertised: Option<String>,
}

/// Who asks, as the record will say.
#[derive(Clone, Debug)]
pub(crate) struct Actor {
    pub(crate) name: Name,
    pub(crate) scope: Scope,
}

/// Checks who asks, then lets the request in or passes it on.
pub(crate) async fn admit(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Err(problem) = door.check(&mut request) {
        return respond(*problem);
    }
    let path = request.uri().path();
    let own = OWN.contains(&path) || path.starts_with("/problems/");
    if own || door.standing.borrow().mode == Mode::Active {
        return next.run(request).await;
    }
    let standing = door.standing.borrow().clone();
    let seen = request.headers().contains_key(&FORWARDED);
    match standing.active_url {
        Some(url) if !seen => door.pass_on(&url, request).await,
        Some(_) | None => respond(not_active(standing.active_url.as_deref())),
    }
}

impl Door {
    fn check(&self, request: &mut Request) -> Result<(), Box<Problem>> {
        let headers = request.headers();
        let own = |name: HeaderName| match headers.get(name) {
            None => true,
            Some(value) => value
                .to_str()
                .is_ok_and(|value| auth::is_own_host(value, self.advertised.as_deref())),
        };
        let is_hook = is_hook(request.uri().path());
        if !is_hook && (!own(header::HOST) || !own(header::ORIGIN)) {
            let detail = "the Host or Origin header names another server; \
                          dial localhost or the advertised address";
            return Err(Box::new(Problem::new(Code::HostRefused, detail)));
        }
        let actor = self.authenticate(request)?;
        request.extensions_mut().insert(actor);
        Ok(())
    }

    fn authenticate(&self, request: &Request) -> Result<Actor, Box<Problem>> {
        let local = || Name::parse("local").expect("`local` is a name");
        let public = ["/livez", "/healthz", "/readyz", "/leaderz"].contains(&request.uri().path());
        if self.tokens.is_empty() || public {
            return Ok(Actor { name: local(), scope: Scope::Admin });
        }
        if is_hook(request.uri().path()) {
            // Its signature is its token; it is checked where the channel is known.
            return Ok(Actor { name: local(), scope: Scope::Viewer });
        }
        let Some(secret) = auth::bearer(request.headers()) else {
            let detail = "this server needs a token: send `Authorization: Bearer TOKEN`";
            return Err(Box::new(Problem::new(Code::Unauthorized, detail)));
        };
        let Some(token) = self.tokens.find(secret) else {
            return Err(Box::new(Problem::new(Code::Unauthorized, "this token is not known")));
        };
        let needed = auth::scope_needed(request.method(), request.uri().path());
        if token.scope < needed {
            let detail = format!(
                "token {:?} has the scope {}, this needs {}",
                token.name,
                token.scope.as_str(),
                needed.as_str()
            );
            return Err(Box::new(Problem::new(Code::Forbidden, &detail)));
        }
        let name = Name::parse(&token.name).unwrap_or_else(|_| local());
        Ok(Actor { name, scope: token.scope })
    }

    async fn pass_on(&self, url: &str, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let target = target(url, &parts.uri);
        let body = reqwest::Body::wrap_stream(body.into_data_stream());
        let mut headers = parts.headers;
        for name in [header::HOST, header::CONNECTION, header::TRANSFER_ENCODING, header::ORIGIN] {
            headers.remove(name);
        }
        headers.insert(FORWARDED, HeaderValue::from_static("1"));
        let sent = self.http.request(parts.method, target).headers(headers).body(body).send().await;
        match sent {
            Ok(answer) => relay(answer),
            Err(error) if error.is_connect() => respond(not_active(Some(url))),
            Err(_) => respond(Problem::new(
                Code::OutcomeUnknown,
                "the active server went away before it answered; \
                 ask again with the same Idempotency-Key",
            )),
        }
    }
}

/// Tells whether a path takes requests of other programs, which dial it under a name that this
/// server need not know, and are checked by their signature.
fn is_hook(path: &str) -> bool {
    path.starts_with("/v1/hooks/")
}

fn target(url: &str, uri: &Uri) -> String {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    format!("{}{path}", url.trim_end_matches('/'))
}

fn relay(answer: reqwest::Response) -> Response {
    let status = answer.status();
    let mut headers: HeaderMap = answer.headers().clone();
    for name in [header::CONNECTION, header::TRANSFER_ENCODING] {
        headers.remove(name);
    }
    let stream = answer.bytes_stream().map_err(std::io::Error::other);
    let mut response = Response::new(Body::from_stream(stream));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn not_active(active_url: Option<&str>) -> Problem {
    let mut problem =
        Problem::new(Code::NotActive, "no active server can be reached at the moment");
    problem.active_url = active_url.map(str::to_owned);
    problem
}

fn respond(problem: Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let body = serde_json::to_vec(&problem).unwrap_or_default();
    let kind = [(header::CONTENT_TYPE, "application/problem+json")];
    (status, kind, body).into_response()
}
