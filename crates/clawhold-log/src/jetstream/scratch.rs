//! Streams for a while: a drill's own, on servers that others use too.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::DeleteStreamErrorKind;

use super::address::Address;
use super::link::{Link, run};
use crate::scratch::{PREFIX, not_a_drill};
use crate::{LogError, OpenError};

/// Checks that a URL can be used.
pub(crate) fn check_url(url: &str) -> Result<(), LogError> {
    parse(url).map(drop)
}

/// Removes the streams of a drill, and everything in them.
pub(crate) fn remove_scratch(url: &str) -> Result<(), LogError> {
    let address = parse(url)?;
    if !address.stream.starts_with(PREFIX) {
        return Err(not_a_drill());
    }
    run(async {
        let link = Link::connect(&address).await.map_err(OpenError::JetStream)?;
        for name in [&link.subjects.records_stream, &link.subjects.snapshots_stream] {
            match link.context.delete_stream(name).await {
                Ok(_) => {}
                Err(error) if is_gone(&error.kind()) => {}
                Err(error) => return Err(LogError::Engine(Box::new(error))),
            }
        }
        Ok(())
    })
}

fn is_gone(kind: &DeleteStreamErrorKind) -> bool {
    matches!(kind, DeleteStreamErrorKind::JetStream(error)
        if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

fn parse(url: &str) -> Result<Address, LogError> {
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    Address::parse(scheme, rest)
}
