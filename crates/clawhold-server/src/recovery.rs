//! What an operator does with a store when something is wrong: look at its past, check it, back it
//! up, restore it.
//!
//! All of it reads the store's own files and takes no part in its log, so it works beside a server
//! and without one. Only [`restore`] writes, and only where nothing stands.

mod backup;
mod doctor;
mod error;
mod history;
mod migrate;
mod restore;
mod show;
mod summary;
mod verify;
mod words;

pub use backup::{BackedUp, Lost, Note, backup};
pub use doctor::{Diagnosis, Finding, Kind, diagnose};
pub use error::RecoveryError;
pub use migrate::{Migrated, migrate};
pub use restore::{Restored, restore};
pub use show::{Entry, Page, Range, show};
pub use summary::{RoleAt, StateAt, state_at};
pub use verify::{KeptSnapshot, Told, Verified, verify};
