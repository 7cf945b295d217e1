//! Calls about streams.

use clawhold_api::page::PageQuery;
use clawhold_api::stream::{
    Append, Appended, Commit, Committed, EventQuery, Events, Positions, SetStream, Stream,
};
use clawhold_api::{Done, routes};
use reqwest::Method;

use crate::call::{Call, query};
use crate::error::ClientError;
use crate::pages::Pages;
use crate::transport::{Client, Written};

impl Client {
    /// Lists the streams.
    #[must_use]
    pub fn streams(&self, wanted: &PageQuery) -> Pages<Stream> {
        Pages::new(self, routes::STREAMS, wanted)
    }

    /// Returns one stream.
    ///
    /// # Errors
    /// As every call.
    pub async fn stream(&self, stream: &str) -> Result<Stream, ClientError> {
        self.read(&Call::get(&routes::fill(routes::STREAM, stream), "")).await
    }

    /// Makes a stream or sets its retention.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_stream(
        &self,
        stream: &str,
        set: &SetStream,
    ) -> Result<Written<Stream>, ClientError> {
        let path = routes::fill(routes::STREAM, stream);
        self.change(&self.write(Method::PUT, &path, Some(set))?).await
    }

    /// Removes a stream with its events and positions.
    ///
    /// # Errors
    /// As every call; `in_use` while a role follows it.
    pub async fn remove_stream(&self, stream: &str) -> Result<Written<Done>, ClientError> {
        let path = routes::fill(routes::STREAM, stream);
        self.change(&self.write::<()>(Method::DELETE, &path, None)?).await
    }

    /// Adds events to a stream.
    ///
    /// # Errors
    /// As every call; `not_next` when the stream ends elsewhere than expected.
    pub async fn append(
        &self,
        stream: &str,
        append: &Append,
    ) -> Result<Written<Appended>, ClientError> {
        self.post(&routes::fill(routes::STREAM_EVENTS, stream), append).await
    }

    /// Reads events of a stream.
    ///
    /// # Errors
    /// As every call; `below_floor` when the events asked for are no longer kept, `beyond_end`
    /// when the number lies beyond the end.
    pub async fn events(&self, stream: &str, wanted: &EventQuery) -> Result<Events, ClientError> {
        let path = routes::fill(routes::STREAM_EVENTS, stream);
        self.read(&Call::get(&path, &query(wanted)).waiting(wanted.wait_ms)).await
    }

    /// Returns the positions recorded in a stream.
    ///
    /// # Errors
    /// As every call.
    pub async fn positions(&self, stream: &str) -> Result<Positions, ClientError> {
        self.read(&Call::get(&routes::fill(routes::STREAM_POSITIONS, stream), "")).await
    }

    /// Takes the atomic step of a coordinator. [`crate::Leader::commit`] fills in role, session
    /// and token and checks the lease first.
    ///
    /// # Errors
    /// As every call; `stale_token` when the token was overtaken.
    pub async fn commit(&self, commit: &Commit) -> Result<Written<Committed>, ClientError> {
        self.post(routes::COMMIT, commit).await
    }
}
