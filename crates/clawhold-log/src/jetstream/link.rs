//! A connection to NATS, and the small runtime that keeps every connection of a process alive.
//!
//! The calls of a log block; the runtime has one thread of its own, so that pings and
//! reconnections go on while nobody calls.

use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::connection::State;
use async_nats::header::{
    HeaderMap, NATS_EXPECTED_LAST_SEQUENCE, NATS_EXPECTED_LAST_SUBJECT_SEQUENCE,
};
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{self, Context, ContextBuilder, ErrorCode, publish::PublishAck};
use async_nats::{Client, ConnectOptions, Event, Request};
use tokio::runtime::{Handle, Runtime};

use super::JetStreamRefusal;
use super::address::{Address, Login};
use crate::LogError;
use crate::limits::{JETSTREAM_ANSWER_WAIT_MAX, JETSTREAM_PING, JETSTREAM_RECONNECT_PAUSE_MAX};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("clawhold-nats")
        .enable_all()
        .build()
        .expect("a process that can serve can start one more thread")
});

/// Waits for a future, also on a thread of another runtime.
pub(super) fn run<F>(future: F) -> F::Output
where
    F: Future + Send,
    F::Output: Send,
{
    if Handle::try_current().is_err() {
        return RUNTIME.block_on(future);
    }
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| RUNTIME.block_on(future));
        waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A connection, and the streams it is for.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) context: Context,
    /// The records.
    pub(super) records: Stream<()>,
    /// The pieces of snapshots, and which of them are kept.
    pub(super) snapshots: Stream<()>,
    pub(super) subjects: Arc<Subjects>,
    /// What a server said last that answers no request, such as a refusal by its rights.
    trouble: Arc<Mutex<Option<String>>>,
}

/// The names on the servers. `record`, `takeover` and what begins with `piece` and `kept` are
/// written by servers of this log only.
#[derive(Debug)]
pub(super) struct Subjects {
    pub(super) records_stream: String,
    pub(super) snapshots_stream: String,
    pub(super) record: String,
    pub(super) takeover: String,
    /// Without the name of the snapshot that follows.
    pub(super) piece: String,
    pub(super) kept: String,
}

impl Subjects {
    fn new(stream: &str) -> Self {
        Self {
            records_stream: stream.to_owned(),
            snapshots_stream: format!("{stream}_SNAPSHOTS"),
            record: format!("clawhold.{stream}.record"),
            takeover: format!("clawhold.{stream}.takeover"),
            piece: format!("clawhold.{stream}.snapshot.piece."),
            kept: format!("clawhold.{stream}.snapshot.kept"),
        }
    }
}

/// What must hold for a message to be taken.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expected {
    /// The stream ends at this sequence.
    Last(u64),
    /// The newest message of the same subject has this sequence; 0 if there is none.
    LastOfSubject(u64),
}

/// What became of a message.
#[derive(Debug)]
pub(super) enum Published {
    /// It is in the stream, at this sequence.
    At(u64),
    /// It is not in the stream and never will be: something else was there first.
    Refused,
    /// Nothing is known.
    Unknown(String),
}

impl Link {
    pub(super) async fn connect(address: &Address) -> Result<Self, JetStreamRefusal> {
        let trouble = Arc::new(Mutex::new(None));
        let client = client(address, &address.login, Arc::clone(&trouble)).await?;
        let context = ContextBuilder::new().timeout(JETSTREAM_ANSWER_WAIT_MAX);
        let context = context.build(client.clone());
        let subjects = Arc::new(Subjects::new(&address.stream));
        let stream = async |name: &str| {
            let stream = context.get_stream_no_info(name).await;
            stream.map_err(|source| JetStreamRefusal::Stream {
                stream: name.to_owned(),
                what: "name",
                source: Box::new(source),
            })
        };
        let records = stream(&subjects.records_stream).await?;
        let snapshots = stream(&subjects.snapshots_stream).await?;
        Ok(Self { client, context, records, snapshots, subjects, trouble })
    }

    /// Publishes a message into a stream, if what is expected holds.
    ///
    /// An `Err` means that it was not sent, or refused for good.
    pub(super) async fn publish(
        &self,
        subject: String,
        expected: Expected,
        payload: Vec<u8>,
    ) -> Result<Published, LogError> {
        if self.client.connection_state() != State::Connected {
            return Err(self.disconnected());
        }
        let mut headers = HeaderMap::new();
        // Never Nats-Expected-Last-Msg-Id: one wrong value stops a replicated stream for good.
        match expected {
            Expected::Last(sequence) => {
                headers.insert(NATS_EXPECTED_LAST_SEQUENCE, sequence.to_string());
            }
            Expected::LastOfSubject(sequence) => {
                headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, sequence.to_string());
            }
        }
        let request = Request::new()
            .headers(headers)
            .payload(payload.into())
            .timeout(Some(JETSTREAM_ANSWER_WAIT_MAX));
        match self.client.send_request(subject, request).await {
            Ok(message) => published(&message.payload),
            Err(error) => {
                let kind = error.kind();
                match kind {
                    RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => {
                        return Err(LogError::Engine(Box::new(error)));
                    }
                    RequestErrorKind::TimedOut => self.try_another_server().await,
                    RequestErrorKind::NoResponders | RequestErrorKind::Other => {}
                }
                Ok(Published::Unknown(self.with_trouble(error.to_string())))
            }
        }
    }

    /// Makes an error of what the engine did not do.
    pub(super) async fn failure(
        &self,
        what: &'static str,
        cause: impl std::fmt::Display,
        timed_out: bool,
    ) -> LogError {
        if timed_out {
            self.try_another_server().await;
        }
        LogError::Engine(self.with_trouble(format!("{what}: {cause}")).into())
    }

    /// A server that does not answer may be cut off from the others.
    async fn try_another_server(&self) {
        // A failure to ask for it means that the client is closed, which the next call reports.
        let _ = self.client.force_reconnect().await;
    }

    /// Tells whether a server said that this program's rights do not go so far.
    pub(super) fn was_denied(&self) -> bool {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().is_some_and(|trouble| trouble.to_lowercase().contains("permission"))
    }

    fn disconnected(&self) -> LogError {
        LogError::Engine(self.with_trouble("not connected to NATS".to_owned()).into())
    }

    fn with_trouble(&self, text: String) -> String {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match &*trouble {
            Some(trouble) => format!("{text}; the server said before: {trouble}"),
            None => text,
        }
    }
}

/// Connects to the first server that answers.
pub(super) async fn client(
    address: &Address,
    login: &Login,
    trouble: Arc<Mutex<Option<String>>>,
) -> Result<Client, JetStreamRefusal> {
    let mut options = ConnectOptions::new()
        .name("clawhold")
        .require_tls(address.encrypted)
        .ping_interval(JETSTREAM_PING)
        .connection_timeout(JETSTREAM_ANSWER_WAIT_MAX)
        .request_timeout(Some(JETSTREAM_ANSWER_WAIT_MAX))
        .reconnect_delay_callback(reconnect_pause)
        .event_callback(move |event| {
            note(&trouble, &event);
            std::future::ready(())
        });
    if let Some(path) = &address.tls_ca {
        options = options.add_root_certificates(path.clone());
    }
    if let (Some(cert), Some(key)) = (&address.tls_cert, &address.tls_key) {
        options = options.add_client_certificate(cert.clone(), key.clone());
    }
    if let Some(path) = &login.credentials {
        let option = "credentials";
        let named = |source| JetStreamRefusal::File { option, path: path.clone(), source };
        options = options.credentials(&read(path, option)?).map_err(named)?;
    }
    let password = match &login.password_file {
        Some(path) => Some(read(path, "password_file")?.trim_end().to_owned()),
        None => login.password.as_ref().map(|password| password.0.clone()),
    };
    options = match (&login.user, password) {
        (Some(user), Some(password)) => options.user_and_password(user.0.clone(), password),
        (Some(token), None) => options.token(token.0.clone()),
        (None, _) => options,
    };
    options.connect(&address.hosts).await.map_err(|source| JetStreamRefusal::Unreachable {
        hosts: address.shown(),
        source: Box::new(source),
    })
}

fn read(path: &Path, option: &'static str) -> Result<String, JetStreamRefusal> {
    let named = |source| JetStreamRefusal::File { option, path: path.to_owned(), source };
    std::fs::read_to_string(path).map_err(named)
}

fn reconnect_pause(attempts: usize) -> Duration {
    let doubled =
        Duration::from_millis(1) * 2_u32.pow(u32::try_from(attempts.min(10)).unwrap_or(10));
    doubled.min(JETSTREAM_RECONNECT_PAUSE_MAX)
}

/// Keeps what a server says unasked until it is connected again.
fn note(trouble: &Mutex<Option<String>>, event: &Event) {
    let mut trouble = trouble.lock().unwrap_or_else(PoisonError::into_inner);
    match event {
        Event::ServerError(error) => *trouble = Some(error.to_string()),
        Event::ClientError(error) => *trouble = Some(error.to_string()),
        Event::Connected => *trouble = None,
        Event::Disconnected
        | Event::LameDuckMode
        | Event::Draining
        | Event::Closed
        | Event::SlowConsumer(_) => {}
    }
}

/// Sorts the answer to a message into what a caller would do.
fn published(answer: &[u8]) -> Result<Published, LogError> {
    match serde_json::from_slice::<Response<PublishAck>>(answer) {
        Ok(Response::Ok(ack)) => Ok(Published::At(ack.sequence)),
        Ok(Response::Err { error }) => refused(&error),
        Err(error) => Ok(Published::Unknown(format!("an answer that is none: {error}"))),
    }
}

fn refused(error: &jetstream::Error) -> Result<Published, LogError> {
    let code = error.error_code();
    let text = error.to_string();
    let overtaken =
        [ErrorCode::STREAM_WRONG_LAST_SEQUENCE, ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT];
    let full = [
        ErrorCode::INSUFFICIENT_RESOURCES,
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
        ErrorCode::STORAGE_RESOURCES_EXCEEDED,
        ErrorCode::MEMORY_RESOURCES_EXCEEDED,
    ];
    // Of a store that failed only the limits are certain: any other text can come after a write.
    let limits = ["maximum bytes exceeded", "maximum messages exceeded"];
    let at_limit =
        code == ErrorCode::STREAM_STORE_FAILED && limits.iter().any(|limit| text.contains(limit));
    if overtaken.contains(&code) {
        return Ok(Published::Refused);
    }
    if full.contains(&code) || at_limit {
        return Err(LogError::Full);
    }
    if code == ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM {
        return Err(LogError::Engine(text.into()));
    }
    Ok(Published::Unknown(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str) -> Result<Published, LogError> {
        published(json.as_bytes())
    }

    #[test]
    fn an_acknowledgement_says_where_the_message_is() {
        let published = answer(r#"{"stream":"CLAWHOLD","seq":7}"#).unwrap();
        assert!(matches!(published, Published::At(7)), "{published:?}");
    }

    #[test]
    fn only_what_was_certainly_not_written_is_refused() {
        for text in [
            r#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 4"}}"#,
            r#"{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"}}"#,
        ] {
            assert!(matches!(answer(text).unwrap(), Published::Refused), "{text}");
        }
        for text in [
            r#"{"error":{"code":503,"err_code":10077,"description":"write error: input/output"}}"#,
            r#"{"error":{"code":503,"err_code":10008,"description":"temporarily unavailable"}}"#,
            "not json",
        ] {
            assert!(matches!(answer(text).unwrap(), Published::Unknown(_)), "{text}");
        }
    }

    #[test]
    fn a_limit_that_is_reached_is_called_full() {
        for text in [
            r#"{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"}}"#,
            r#"{"error":{"code":503,"err_code":10023,"description":"insufficient resources"}}"#,
            r#"{"error":{"code":500,"err_code":10047,"description":"insufficient storage"}}"#,
        ] {
            assert!(matches!(answer(text), Err(LogError::Full)), "{text}");
        }
    }

    #[test]
    fn a_wait_works_on_a_thread_of_another_runtime() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(async { run(async { 7 }) }), 7);
    }
}
