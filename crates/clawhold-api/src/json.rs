//! Any JSON value, carried as the text it came in: payloads, results, checkpoints, events.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType};
use utoipa::{PartialSchema, ToSchema};

/// Any JSON value, kept byte for byte as its sender wrote it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Returns `text` as a value.
    ///
    /// # Errors
    /// When `text` is not one JSON value.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// Returns `value` written as JSON.
    ///
    /// # Errors
    /// When `value` cannot be written as JSON, such as a map whose keys are no strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// Returns the value `null`.
    #[must_use]
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// Returns the text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Returns the value read as `T`.
    ///
    /// # Errors
    /// When the text is not a `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }
}

impl PartialEq for Json {
    /// Compares the texts: `1.0` and `1` are two values.
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Json {}

impl PartialSchema for Json {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::AnyValue)
            .description(Some("Any JSON value, kept byte for byte as its sender wrote it."))
            .into()
    }
}

impl ToSchema for Json {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Json")
    }
}
