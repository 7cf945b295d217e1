//! Calls about sessions.

use clawhold_api::page::PageQuery;
use clawhold_api::session::{
    Beat, BeatReply, CloseSession, OpenSession, OpenedSession, Session as SessionView,
};
use clawhold_api::{Done, routes};

use crate::error::ClientError;
use crate::pages::Pages;
use crate::transport::{Client, Written};

impl Client {
    /// Lists the live sessions.
    #[must_use]
    pub fn sessions(&self, wanted: &PageQuery) -> Pages<SessionView> {
        Pages::new(self, routes::SESSIONS, wanted)
    }

    /// Opens a session that the caller keeps alive by beats of its own. [`crate::Session`] does
    /// both.
    ///
    /// # Errors
    /// As every call.
    pub async fn open_session(
        &self,
        session: &OpenSession,
    ) -> Result<Written<OpenedSession>, ClientError> {
        self.post(routes::SESSIONS, session).await
    }

    /// Sends one beat.
    ///
    /// # Errors
    /// As every call; `no_session` when the session is over.
    pub async fn beat(&self, beat: &Beat) -> Result<BeatReply, ClientError> {
        Ok(self.post(routes::SESSION_BEAT, beat).await?.reply)
    }

    /// Ends a session: what it holds goes back.
    ///
    /// # Errors
    /// As every call; `no_session` when it is over already.
    pub async fn close_session(&self, close: &CloseSession) -> Result<Written<Done>, ClientError> {
        self.post(routes::SESSION_CLOSE, close).await
    }
}
