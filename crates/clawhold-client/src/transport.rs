//! Sending requests: to one of several servers, with a key of its own for each write.
//!
//! A write keeps its key over all its tries, so that it is carried out once. Connections are
//! HTTP/1.1 and kept alive; what makes many calls has them go over a `socket`.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use clawhold_api::routes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::call::{Answer, Call};
use crate::error::ClientError;
use crate::retry::{Backoff, Verdict};
use crate::socket::{Lane, NoReply, Reply};

/// Servers that one client may know.
const URLS_MAX: usize = 100;

/// How long a client waits, and how it tries again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The time for one call with all its tries. A long poll's own wait comes on top.
    pub total: Duration,
    /// The time for one try, a long poll's own wait not counted.
    pub one_try: Duration,
    /// The time to connect.
    pub connect: Duration,
    /// The pauses between tries.
    pub backoff: Backoff,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            total: Duration::from_secs(30),
            one_try: Duration::from_secs(3),
            connect: Duration::from_secs(2),
            backoff: Backoff::default(),
        }
    }
}

/// A connection to Clawhold: typed calls to whichever of its servers answers.
///
/// Cheap to clone; clones share their connections. Use one within one async runtime.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    http: reqwest::Client,
    way: Way,
    /// One for each URL.
    lanes: Arc<[Arc<Lane>]>,
    patience: Patience,
    key: Option<Arc<str>>,
}

/// Which way calls go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Over HTTP; what makes many calls may choose the socket.
    Any,
    /// Over HTTP, whoever calls.
    Http,
    /// Over a socket, where the server has one.
    Socket,
}

struct Shared {
    urls: Vec<String>,
    authorization: Option<HeaderValue>,
    /// Which URL answered last.
    preferred: AtomicUsize,
    /// What makes the keys of this client differ from all others.
    key_prefix: String,
    keys: AtomicU64,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_token = self.shared.authorization.is_some();
        f.debug_struct("Client")
            .field("urls", &self.shared.urls)
            .field("has_token", &has_token)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// What a write came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written<T> {
    /// The reply.
    pub reply: T,
    /// The position of the write in the log, if the server told it.
    pub position: Option<u64>,
    /// Whether the reply repeats the answer to an earlier request with the same key.
    pub replayed: bool,
}

impl<T> Deref for Written<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.reply
    }
}

impl Client {
    /// Returns a client of the servers at `urls`, tried in turn. Dials nothing yet.
    ///
    /// # Errors
    /// [`ClientError::Setting`] when there is no URL, one is no plain `http://HOST:PORT`, or the
    /// token is not visible ASCII.
    pub fn connect<U: AsRef<str>>(urls: &[U], token: Option<&str>) -> Result<Self, ClientError> {
        Self::connect_with(urls, token, Patience::default())
    }

    /// Returns a client like [`Client::connect`], with a patience of its own.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_with<U: AsRef<str>>(
        urls: &[U],
        token: Option<&str>,
        patience: Patience,
    ) -> Result<Self, ClientError> {
        if urls.is_empty() || urls.len() > URLS_MAX {
            let reason = format!("lists {} servers, allowed is 1 to {URLS_MAX}", urls.len());
            return Err(ClientError::Setting { name: "server", value: String::new(), reason });
        }
        let urls = urls.iter().map(|url| check_url(url.as_ref())).collect::<Result<_, _>>()?;
        let shared = Shared {
            urls,
            authorization: token.map(bearer).transpose()?,
            preferred: AtomicUsize::new(0),
            key_prefix: format!("{:016x}{:016x}", random(), random()),
            keys: AtomicU64::new(0),
        };
        let lanes = lanes(&shared.urls);
        let (shared, http) = (Arc::new(shared), http(patience)?);
        Ok(Self { shared, http, way: Way::Any, lanes, patience, key: None })
    }

    /// Returns a client of the same servers with connections of its own, for another runtime.
    ///
    /// # Errors
    /// [`ClientError::Setting`] when the connections cannot be set up.
    pub fn apart(&self) -> Result<Self, ClientError> {
        let lanes = lanes(&self.shared.urls);
        Ok(Self { http: http(self.patience)?, lanes, ..self.clone() })
    }

    /// Returns this client with its calls going over one WebSocket, which clones share, once that
    /// is open; until then, and where a server or what stands before it has none, over HTTP.
    ///
    /// [`crate::Session`], [`crate::Worker`] and [`crate::Producer`] do so by themselves, unless
    /// their client is one that [`Client::over_http`] returned.
    #[must_use]
    pub fn over_socket(&self) -> Self {
        Self { way: Way::Socket, ..self.clone() }
    }

    /// Returns this client with all calls going over HTTP, those of sessions, workers and
    /// producers as well.
    #[must_use]
    pub fn over_http(&self) -> Self {
        Self { way: Way::Http, ..self.clone() }
    }

    /// Returns this client for what makes many calls.
    pub(crate) fn for_many(&self) -> Self {
        match self.way {
            Way::Any | Way::Socket => self.over_socket(),
            Way::Http => self.clone(),
        }
    }

    /// Tells whether the server that is asked first has a socket open to this client.
    #[must_use]
    pub fn has_socket(&self) -> bool {
        let place = self.shared.preferred.load(Ordering::Relaxed);
        self.lanes[place % self.lanes.len()].is_open()
    }

    /// Returns this client with another time for each call and all its tries.
    #[must_use]
    pub fn within(&self, total: Duration) -> Self {
        let patience = Patience { total, ..self.patience };
        Self { patience, ..self.clone() }
    }

    /// Returns this client for one write that carries `key` as its `Idempotency-Key`: the same
    /// write under the same key is carried out once, even by another process.
    #[must_use]
    pub fn keyed(&self, key: &str) -> Self {
        Self { key: Some(key.into()), ..self.clone() }
    }

    /// Returns a key that no other write bears.
    #[must_use]
    pub fn new_key(&self) -> String {
        let number = self.shared.keys.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number:x}", self.shared.key_prefix)
    }

    /// Returns how long this client waits.
    #[must_use]
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// Returns the URLs of the servers.
    #[must_use]
    pub fn urls(&self) -> &[String] {
        &self.shared.urls
    }

    /// Returns a call that changes something, with its key.
    pub(crate) fn write<B: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<Call, ClientError> {
        let call = format!("{method} {path}");
        let body = body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|source| ClientError::Body { call, source })?.map(Bytes::from);
        let key = self.key.clone().unwrap_or_else(|| self.new_key().into());
        let wait = Duration::ZERO;
        Ok(Call { method, target: path.to_owned(), body, key: Some(key), accept: None, wait })
    }

    /// Sends a call that reads and returns the reply.
    pub(crate) async fn read<T: DeserializeOwned>(&self, call: &Call) -> Result<T, ClientError> {
        let answer = self.send(call).await?;
        answer.read(call)
    }

    /// Posts `body` and returns what came of it.
    pub(crate) async fn post<B: Serialize, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<Written<T>, ClientError> {
        self.change(&self.write(Method::POST, path, Some(body))?).await
    }

    /// Sends a call that changes something and returns what came of it.
    pub(crate) async fn change<T: DeserializeOwned>(
        &self,
        call: &Call,
    ) -> Result<Written<T>, ClientError> {
        let answer = self.send(call).await?;
        let (position, replayed) = (answer.position, answer.replayed);
        Ok(Written { reply: answer.read(call)?, position, replayed })
    }

    /// Sends a call until it is answered, refused for good, or the time is up.
    pub(crate) async fn send(&self, call: &Call) -> Result<Answer, ClientError> {
        let end = Instant::now() + self.patience.total + call.wait;
        let mut may_have_happened = false;
        let mut tries: u32 = 0;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let time = left.min(self.patience.one_try + call.wait);
            let error = match self.try_once(call, time).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            tries = tries.saturating_add(1);
            match Verdict::of(&error) {
                Verdict::GiveUp => return Err(error),
                Verdict::Again => {}
                Verdict::AgainUnknown => may_have_happened = true,
            }
            let pause = self.pause(&error, tries);
            if Instant::now() + pause >= end {
                return Err(if may_have_happened && !call.reads() {
                    let call = call.to_string();
                    ClientError::Unknown { call, tries, source: Box::new(error) }
                } else {
                    error
                });
            }
            tracing::debug!(%call, tries, ?pause, %error, "sends again");
            tokio::time::sleep(pause).await;
        }
    }

    /// Returns the pause after a failed try; none before a server that was not tried yet.
    fn pause(&self, error: &ClientError, tries: u32) -> Duration {
        let others = u32::try_from(self.shared.urls.len()).unwrap_or(u32::MAX).saturating_sub(1);
        if error.is_about_the_server() && tries <= others {
            return Duration::ZERO;
        }
        self.patience.backoff.pause(tries.saturating_sub(others))
    }

    /// Sends a call once. After a failure that another server may not share, the next call goes to
    /// the next server.
    pub(crate) async fn try_once(
        &self,
        call: &Call,
        time: Duration,
    ) -> Result<Answer, ClientError> {
        let place = self.shared.preferred.load(Ordering::Relaxed);
        let answer = self.exchange(call, place, time).await;
        let result = answer.and_then(|answer| answer.or_refusal(call));
        if result.as_ref().is_err_and(ClientError::is_about_the_server) {
            self.prefer_next(place);
        }
        result
    }

    /// Sends a call once and returns the answer whatever its status is.
    pub(crate) async fn try_once_whatever(
        &self,
        call: &Call,
        time: Duration,
    ) -> Result<Answer, ClientError> {
        let place = self.shared.preferred.load(Ordering::Relaxed);
        self.exchange(call, place, time).await
    }

    /// Sends a call over the socket, if there is one, or else over HTTP.
    async fn exchange(
        &self,
        call: &Call,
        place: usize,
        time: Duration,
    ) -> Result<Answer, ClientError> {
        match self.over_wire(call, place, time).await {
            Some(Ok(reply)) => {
                let Reply { status, position, replayed, body } = reply;
                let url = self.url(place).to_owned();
                Ok(Answer { url, status, position, replayed, body })
            }
            Some(Err(NoReply)) => Err(self.no_answer(call, place, None)),
            None => {
                let (status, response) = self.open(call, place, Some(time)).await?;
                self.body(call, place, status, response).await
            }
        }
    }

    /// Sends a call over the socket; `None` when HTTP has to take it.
    async fn over_wire(
        &self,
        call: &Call,
        place: usize,
        time: Duration,
    ) -> Option<Result<Reply, NoReply>> {
        if self.way != Way::Socket || call.accept.is_some() {
            return None;
        }
        let lane = &self.lanes[place % self.lanes.len()];
        let wire = lane.wire(self.url(place), self.shared.authorization.as_ref(), self.patience)?;
        wire.call(call, time).await
    }

    /// Opens an answer that is read piece by piece.
    pub(crate) async fn open_stream(&self, call: &Call) -> Result<Response, ClientError> {
        let place = self.shared.preferred.load(Ordering::Relaxed);
        let opened = self.open(call, place, None);
        let result = match tokio::time::timeout(self.patience.one_try, opened).await {
            Ok(Ok((status, response))) if status < 300 => return Ok(response),
            Ok(Ok((status, response))) => {
                let failed = self.body(call, place, status, response).await;
                let failed = failed.and_then(|answer| answer.or_refusal(call));
                failed.map_or_else(|error| error, |_| self.no_answer(call, place, None))
            }
            Ok(Err(error)) => error,
            Err(_) => self.no_answer(call, place, None),
        };
        if result.is_about_the_server() {
            self.prefer_next(place);
        }
        Err(result)
    }

    async fn open(
        &self,
        call: &Call,
        place: usize,
        time: Option<Duration>,
    ) -> Result<(u16, Response), ClientError> {
        let url = format!("{}{}", self.url(place), call.target);
        let mut request = self.http.request(call.method.clone(), url);
        if let Some(authorization) = &self.shared.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        if let Some(key) = &call.key {
            request = request.header(routes::IDEMPOTENCY_KEY, &**key);
        }
        if let Some(media_type) = call.accept {
            request = request.header(reqwest::header::ACCEPT, media_type);
        }
        if let Some(body) = &call.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        if let Some(time) = time {
            request = request.timeout(time);
        }
        let response = request.send().await.map_err(|error| {
            if error.is_builder() {
                let value = call.key.as_deref().unwrap_or_default().to_owned();
                let reason = "is not 1 to 64 visible ASCII characters".to_owned();
                return ClientError::Setting { name: "key", value, reason };
            }
            if error.is_connect() {
                let (url, call) = (self.url(place).to_owned(), call.to_string());
                return ClientError::Unreachable {
                    url,
                    call,
                    source: Arc::new(error.without_url()),
                };
            }
            self.no_answer(call, place, Some(error))
        })?;
        Ok((response.status().as_u16(), response))
    }

    async fn body(
        &self,
        call: &Call,
        place: usize,
        status: u16,
        response: Response,
    ) -> Result<Answer, ClientError> {
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let position = header(routes::POSITION).and_then(|position| position.parse().ok());
        let replayed = header(routes::REPLAYED) == Some("true");
        let body = response.bytes().await;
        let body = body.map_err(|error| self.no_answer(call, place, Some(error)))?;
        Ok(Answer { url: self.url(place).to_owned(), status, position, replayed, body })
    }

    fn no_answer(&self, call: &Call, place: usize, source: Option<reqwest::Error>) -> ClientError {
        let source = source.map(reqwest::Error::without_url);
        let (url, reads) = (self.url(place).to_owned(), call.reads());
        ClientError::NoAnswer { url, call: call.to_string(), reads, source }
    }

    fn url(&self, place: usize) -> &str {
        &self.shared.urls[place % self.shared.urls.len()]
    }

    fn prefer_next(&self, place: usize) {
        let next = (place + 1) % self.shared.urls.len();
        // Somebody else may have moved on already; then that stands.
        let order = Ordering::Relaxed;
        let _moved = self.shared.preferred.compare_exchange(place, next, order, order);
    }
}

fn check_url(text: &str) -> Result<String, ClientError> {
    let bad = |reason: &str| ClientError::Setting {
        name: "server",
        value: text.to_owned(),
        reason: reason.to_owned(),
    };
    let url = Url::parse(text.trim()).map_err(|error| {
        bad(&format!("is no URL ({error}), it must be like http://127.0.0.1:7717"))
    })?;
    if url.scheme() == "https" {
        return Err(bad("asks for TLS, which is not built in; go through a local TLS tunnel"));
    }
    if url.scheme() != "http" {
        return Err(bad("has another scheme than http, it must be like http://127.0.0.1:7717"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let reason = "has a user name or a password in it; give a token instead".to_owned();
        return Err(ClientError::Setting { name: "server", value: String::new(), reason });
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(bad("has more than host and port, it must be like http://127.0.0.1:7717"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn bearer(token: &str) -> Result<HeaderValue, ClientError> {
    let bad = || {
        let reason = "is not 1 to 1024 visible ASCII characters".to_owned();
        ClientError::Setting { name: "token", value: String::new(), reason }
    };
    let visible = token.bytes().all(|byte| byte.is_ascii_graphic());
    if token.is_empty() || token.len() > 1_024 || !visible {
        return Err(bad());
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| bad())?;
    value.set_sensitive(true);
    Ok(value)
}

fn lanes(urls: &[String]) -> Arc<[Arc<Lane>]> {
    urls.iter().map(|_| Arc::default()).collect()
}

fn http(patience: Patience) -> Result<reqwest::Client, ClientError> {
    let builder = reqwest::Client::builder()
        .http1_only()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(patience.connect)
        .tcp_keepalive(Duration::from_secs(15));
    builder.build().map_err(|error| ClientError::Setting {
        name: "connections",
        value: String::new(),
        reason: format!("cannot be set up: {error}"),
    })
}

/// Returns a number that the system drew at random.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
