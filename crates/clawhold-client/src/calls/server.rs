//! Calls about the server itself: its state, health, limits and metrics.

use std::time::Duration;

use clawhold_api::limits::Limits;
use clawhold_api::routes;
use clawhold_api::server::{Health, Server, StateHash, Status};

use crate::call::Call;
use crate::error::ClientError;
use crate::transport::Client;

impl Client {
    /// Returns the server that answers and what the whole holds, in numbers.
    ///
    /// # Errors
    /// As every call.
    pub async fn status(&self) -> Result<Status, ClientError> {
        self.read(&Call::get(routes::STATUS, "")).await
    }

    /// Returns the server that answers, by itself: a standby answers for itself too.
    ///
    /// # Errors
    /// As every call.
    pub async fn server(&self) -> Result<Server, ClientError> {
        self.read(&Call::get(routes::SERVER, "")).await
    }

    /// Returns the hash of the state of the server that answers.
    ///
    /// # Errors
    /// As every call.
    pub async fn hash(&self) -> Result<StateHash, ClientError> {
        self.read(&Call::get(routes::HASH, "")).await
    }

    /// Returns every limit.
    ///
    /// # Errors
    /// As every call.
    pub async fn limits(&self) -> Result<Limits, ClientError> {
        self.read(&Call::get(routes::LIMITS, "")).await
    }

    /// Tells whether a server runs, asked once.
    pub async fn is_live(&self, time: Duration) -> bool {
        self.try_once(&Call::get(routes::LIVEZ, ""), time).await.is_ok()
    }

    /// Tells whether a server can take requests, with its parts, asked once. One that cannot is
    /// no error.
    ///
    /// # Errors
    /// When no server answers.
    pub async fn health(&self, time: Duration) -> Result<Health, ClientError> {
        let call = Call::get(routes::READYZ, "verbose=1");
        self.try_once_whatever(&call, time).await?.read(&call)
    }

    /// Tells whether the server that answers is the active one, asked once.
    ///
    /// # Errors
    /// When no server answers.
    pub async fn is_active(&self, time: Duration) -> Result<bool, ClientError> {
        match self.try_once(&Call::get(routes::LEADERZ, ""), time).await {
            Ok(_) => Ok(true),
            Err(error @ (ClientError::Unreachable { .. } | ClientError::NoAnswer { .. })) => {
                Err(error)
            }
            Err(_) => Ok(false),
        }
    }

    /// Returns the metrics in the Prometheus text format.
    ///
    /// # Errors
    /// As every call.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        Ok(self.send(&Call::get(routes::METRICS, "").accepting("text/plain")).await?.text())
    }

    /// Returns the OpenAPI document.
    ///
    /// # Errors
    /// As every call.
    pub async fn openapi(&self) -> Result<String, ClientError> {
        Ok(self.send(&Call::get(routes::OPENAPI, "")).await?.text())
    }

    /// Returns what an error code means, in words.
    ///
    /// # Errors
    /// As every call.
    pub async fn explain(&self, code: &str) -> Result<String, ClientError> {
        let call = Call::get(&routes::fill(routes::PROBLEM, code), "").accepting("text/plain");
        Ok(self.send(&call).await?.text())
    }
}
