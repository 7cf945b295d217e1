//! Where the stream of records ends, and single messages of it, as its leader says.

use async_nats::jetstream::context::{RequestError, RequestErrorKind};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{RawMessageError, RawMessageErrorKind, State, Stream};

use super::link::Link;
use super::message::Kept;
use crate::{Epoch, Head, LogError, Number};

/// Returns where the log begins and ends. `known` is a record whose epoch is known already.
pub(super) async fn head(link: &Link, known: Option<(Number, Epoch)>) -> Result<Head, LogError> {
    let state = state(link, &link.records).await?;
    let last = Number(state.last_sequence);
    if last == Number(0) {
        return Ok(Head::default());
    }
    let first = Number(state.first_sequence);
    if let Some((number, epoch)) = known
        && number == last
    {
        return Ok(Head { last, epoch, first });
    }
    let Some(kept) = get(link, last).await? else {
        return Err(LogError::Missing { number: last });
    };
    let record = kept.record(&link.subjects);
    let record = record.map_err(|source| LogError::Damaged { number: last, source })?;
    Ok(Head { last, epoch: record.epoch, first })
}

/// Returns what a stream says about itself.
pub(super) async fn state(link: &Link, stream: &Stream<()>) -> Result<State, LogError> {
    match stream.get_info().await {
        Ok(info) => Ok(info.state),
        Err(error) => {
            let timed_out = error.kind() == RequestErrorKind::TimedOut;
            Err(link.failure("asking where the stream ends", error, timed_out).await)
        }
    }
}

/// Returns the message at `number`, if there is one.
pub(super) async fn get(link: &Link, number: Number) -> Result<Option<Kept>, LogError> {
    let message = link.records.raw_message_builder().sequence(number.0).send().await;
    Ok(found(link, message).await?.map(kept))
}

/// Returns the newest message of `subject` in `stream`, if there is one.
pub(super) async fn last_of(
    link: &Link,
    stream: &Stream<()>,
    subject: &str,
) -> Result<Option<StreamMessage>, LogError> {
    let message = stream.raw_message_builder().last_by_subject(subject).send().await;
    found(link, message).await
}

/// Returns the first message of `subject` in `stream` at `sequence` or later, if there is one.
pub(super) async fn next_of(
    link: &Link,
    stream: &Stream<()>,
    subject: &str,
    sequence: u64,
) -> Result<Option<StreamMessage>, LogError> {
    let request = stream.raw_message_builder().sequence(sequence).next_by_subject(subject);
    found(link, request.send().await).await
}

fn kept(message: StreamMessage) -> Kept {
    Kept {
        number: Number(message.sequence),
        subject: message.subject.to_string(),
        payload: message.payload,
    }
}

async fn found(
    link: &Link,
    message: Result<StreamMessage, RawMessageError>,
) -> Result<Option<StreamMessage>, LogError> {
    match message {
        Ok(message) => Ok(Some(message)),
        Err(error) => match error.kind() {
            RawMessageErrorKind::NoMessageFound => Ok(None),
            RawMessageErrorKind::InvalidSubject | RawMessageErrorKind::JetStream(_) => {
                Err(link.failure("asking for a message", error, false).await)
            }
            RawMessageErrorKind::Other => {
                let request = std::error::Error::source(&error);
                let request = request.and_then(|cause| cause.downcast_ref::<RequestError>());
                let timed_out =
                    request.is_some_and(|cause| cause.kind() == RequestErrorKind::TimedOut);
                Err(link.failure("asking for a message", error, timed_out).await)
            }
        },
    }
}
