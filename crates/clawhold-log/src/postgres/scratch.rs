//! Schemas for a while: a drill's own, in a database that others use too.

use std::time::Duration;

use super::address::Address;
use super::session::Engine;
use super::trouble::Trouble;
use crate::LogError;
use crate::limits::ANSWER_WAIT_MAX;
use crate::scratch::{PREFIX, not_a_drill};

/// How often it is tried while the last connections to it end.
const REMOVALS_MAX: u32 = 5;

/// Checks that a URL can be used.
pub(crate) fn check_url(url: &str) -> Result<(), LogError> {
    Address::parse(url).map(drop)
}

/// Removes the schema of a drill, and everything in it.
pub(crate) fn remove_scratch(url: &str) -> Result<(), LogError> {
    let address = Address::parse(url)?;
    if !address.schema.starts_with(PREFIX) {
        return Err(not_a_drill());
    }
    let engine = Engine::new()?;
    let session = engine.connect(&address)?;
    let sql = format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", address.schema);
    let mut tries = 0;
    loop {
        tries += 1;
        let dropped = engine.drive(ANSWER_WAIT_MAX, async {
            session.set_up().await?;
            Ok::<_, Trouble>(session.client.batch_execute(&sql).await?)
        });
        match dropped {
            Err(_) if tries < REMOVALS_MAX => std::thread::sleep(Duration::from_millis(200)),
            done => return done.map_err(LogError::from),
        }
    }
}
