//! Calls about messages and their way to sinks.

use clawhold_api::Nothing;
use clawhold_api::automation::inbox::{
    Delivery, DeliveryQuery, InboxQuery, InboxState, Message, ReadInbox,
};
use clawhold_api::routes::automation as routes;
use clawhold_api::routes::fill;

use crate::call::Call;
use crate::error::ClientError;
use crate::pages::Pages;
use crate::transport::{Client, Written};

impl Client {
    /// Lists messages, oldest first.
    #[must_use]
    pub fn inbox(&self, wanted: &InboxQuery) -> Pages<Message> {
        Pages::new(self, routes::INBOX, wanted)
    }

    /// Returns one message.
    ///
    /// # Errors
    /// As every call.
    pub async fn message(&self, message: u64) -> Result<Message, ClientError> {
        self.read(&Call::get(&fill(routes::INBOX_MESSAGE, &message.to_string()), "")).await
    }

    /// Says how far the inbox was read.
    ///
    /// # Errors
    /// As every call.
    pub async fn read_inbox(&self, through: u64) -> Result<Written<InboxState>, ClientError> {
        self.post(routes::INBOX_READ, &ReadInbox { through }).await
    }

    /// Lists messages on their way to sinks, and those that none took.
    #[must_use]
    pub fn deliveries(&self, wanted: &DeliveryQuery) -> Pages<Delivery> {
        Pages::new(self, routes::DELIVERIES, wanted)
    }

    /// Tries a message again that no sink took.
    ///
    /// # Errors
    /// As every call.
    pub async fn retry_delivery(&self, message: u64) -> Result<Written<Delivery>, ClientError> {
        self.post(&fill(routes::DELIVERY_RETRY, &message.to_string()), &Nothing {}).await
    }
}
