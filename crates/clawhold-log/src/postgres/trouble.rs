//! What PostgreSQL says when it does not do what it was asked, and what is known then.

use std::time::Duration;

use tokio_postgres::error::{DbError, Severity};

use crate::{LogError, chain};

/// A statement that did not end well.
#[derive(Debug)]
pub(super) enum Trouble {
    /// No answer came in time.
    Silent(Duration),
    /// The server or the connection failed.
    Engine(tokio_postgres::Error),
    /// It was committed, but the server warned that it is less durable than was asked.
    Warned(String),
    /// Something else is wrong; certainly nothing was changed.
    Log(LogError),
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<LogError> for Trouble {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

impl From<Trouble> for LogError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Log(error) => error,
            Trouble::Engine(error) => sort(error),
            silent @ Trouble::Silent(_) => Self::Engine(silent.text().into()),
            Trouble::Warned(text) => Self::Engine(text.into()),
        }
    }
}

impl Trouble {
    /// Tells whether the connection is in an unknown state, or leads to a server or to tables that
    /// are none any more: whoever connects anew checks what is there.
    pub(super) fn is_connections(&self) -> bool {
        match self {
            Self::Silent(_) => true,
            Self::Warned(_) | Self::Log(_) => false,
            Self::Engine(error) => {
                let code = error.code().map(tokio_postgres::error::SqlState::code);
                // Read-only now, no such table, no such schema.
                let gone = matches!(code, Some("25006" | "42P01" | "3F000"));
                gone || !refused_statement(error)
            }
        }
    }

    /// Returns what certainly kept the write from the log, or the words for a person where it may
    /// be there.
    pub(super) fn certain(self) -> Result<LogError, String> {
        match self {
            Self::Log(error) => Ok(error),
            Self::Engine(error) if refused_statement(&error) => Ok(sort(error)),
            Self::Engine(error) => Err(chain(&error)),
            silent @ Self::Silent(_) => Err(silent.text()),
            Self::Warned(text) => Err(text),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Silent(wait) => format!("PostgreSQL did not answer within {wait:?}"),
            Self::Engine(error) => chain(error),
            Self::Warned(text) => text.clone(),
            Self::Log(error) => chain(error),
        }
    }
}

/// Tells whether the server refused the statement before its commit, and goes on with the
/// connection. Everything else, a lost connection, a shutdown, a cancelled statement, can come
/// after the commit.
fn refused_statement(error: &tokio_postgres::Error) -> bool {
    let Some(told) = error.as_db_error() else { return false };
    // No room, no such table, no right to it, locked, read-only, a value out of range.
    let classes = ["0A", "22", "23", "25", "28", "2B", "3D", "3F", "42", "53", "54", "55"];
    is_error(told) && classes.iter().any(|class| told.code().code().starts_with(class))
}

fn is_error(told: &DbError) -> bool {
    told.parsed_severity().map_or(told.severity() == "ERROR", |level| level == Severity::Error)
}

/// Sorts what the server says into what a caller would do.
fn sort(error: tokio_postgres::Error) -> LogError {
    match error.code().map(|code| code.code().to_owned()).as_deref() {
        // The disk is full, or a limit that somebody set was reached.
        Some("53000" | "53100" | "53400") => LogError::Full,
        // Somebody else kept the row locked.
        Some("55P03") => LogError::Busy,
        Some(_) | None => LogError::Engine(Box::new(error)),
    }
}
