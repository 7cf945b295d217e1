//! Calls about alerts and silences.

use clawhold_api::automation::alert::{AddSilence, Alert, AlertQuery, Silence};
use clawhold_api::page::PageQuery;
use clawhold_api::routes::automation as routes;
use clawhold_api::routes::fill;
use clawhold_api::{Done, Nothing};
use reqwest::Method;

use crate::call::Call;
use crate::error::ClientError;
use crate::pages::Pages;
use crate::transport::{Client, Written};

impl Client {
    /// Lists alerts.
    #[must_use]
    pub fn alerts(&self, wanted: &AlertQuery) -> Pages<Alert> {
        Pages::new(self, routes::ALERTS, wanted)
    }

    /// Returns one alert.
    ///
    /// # Errors
    /// As every call.
    pub async fn alert(&self, alert: u64) -> Result<Alert, ClientError> {
        self.read(&Call::get(&fill(routes::ALERT, &alert.to_string()), "")).await
    }

    /// Says that somebody looks at an alert.
    ///
    /// # Errors
    /// As every call.
    pub async fn ack_alert(&self, alert: u64) -> Result<Written<Alert>, ClientError> {
        self.post(&fill(routes::ALERT_ACK, &alert.to_string()), &Nothing {}).await
    }

    /// Lists the silences in force.
    #[must_use]
    pub fn silences(&self, wanted: &PageQuery) -> Pages<Silence> {
        Pages::new(self, routes::SILENCES, wanted)
    }

    /// Keeps alerts from being told for a while.
    ///
    /// # Errors
    /// As every call.
    pub async fn add_silence(&self, silence: &AddSilence) -> Result<Written<Silence>, ClientError> {
        self.post(routes::SILENCES, silence).await
    }

    /// Ends a silence.
    ///
    /// # Errors
    /// As every call.
    pub async fn expire_silence(&self, silence: u64) -> Result<Written<Done>, ClientError> {
        let path = fill(routes::SILENCE, &silence.to_string());
        self.change(&self.write::<()>(Method::DELETE, &path, None)?).await
    }
}
