//! Making or upgrading what keeps a log, without serving it.

use clawhold_log::{open, shown};
use serde::Serialize;

use super::RecoveryError;
use super::history::failed;

/// A store that this program can serve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// The store, without its password.
    pub store: String,
    /// Its newest record; 0 while nobody has served it.
    pub records: u64,
    /// What makes it less safe than it could be.
    pub concerns: Vec<String>,
}

/// Makes the files or tables of a store, or upgrades them to the form that this program knows.
/// Doing it twice, or beside running servers, changes nothing.
///
/// # Errors
/// [`RecoveryError::Store`] when it cannot be done, with what to do.
pub fn migrate(store: &str) -> Result<Migrated, RecoveryError> {
    let mut log = open(store).map_err(|source| failed(store, source))?;
    let head = log.head().map_err(|source| failed(store, source))?;
    Ok(Migrated { store: shown(store), records: head.last.0, concerns: log.concerns() })
}
