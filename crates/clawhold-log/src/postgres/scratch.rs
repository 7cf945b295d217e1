//! Schemas for a while: a drill's own, in a database that others use too.

use std::time::Duration;

use super::address::Address;
use super::session::Engine;
use super::trouble::Trouble;
use crate::limits::ANSWER_WAIT_MAX;
use crate::{LogError, OpenError};

/// Begins the name of every schema that may be removed.
const PREFIX: &str = "clawhold_drill_";
/// How often it is tried while the last connections to it end.
const REMOVALS_MAX: u32 = 5;

/// Returns the URL of a schema of its own in the database that `url` names.
///
/// # Errors
/// When the URL cannot be used.
pub fn scratch_url(url: &str, name: &str) -> Result<String, LogError> {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let kept = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("schema="));
    let schema = format!("schema={PREFIX}{name}");
    let pairs: Vec<&str> = kept.chain([schema.as_str()]).collect();
    let scratch = format!("{place}?{}", pairs.join("&"));
    Address::parse(&scratch)?;
    Ok(scratch)
}

/// Removes a schema that [`scratch_url`] named, and everything in it.
///
/// # Errors
/// When the URL names another schema, or it cannot be removed.
pub fn remove_scratch(url: &str) -> Result<(), LogError> {
    let address = Address::parse(url)?;
    if !address.schema.starts_with(PREFIX) {
        let reason = "names a schema that is no drill's";
        return Err(OpenError::Malformed { reason, next: "remove it with psql" }.into());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drill_gets_a_schema_of_its_own_and_removes_no_other() {
        let url = scratch_url("postgres://ann@db/log?schema=prod&sslmode=require", "7").unwrap();
        assert_eq!(url, "postgres://ann@db/log?sslmode=require&schema=clawhold_drill_7");
        let url = scratch_url("postgres://ann@db/log", "7").unwrap();
        assert_eq!(url, "postgres://ann@db/log?schema=clawhold_drill_7");
        let error = remove_scratch("postgres://ann@db/log?schema=prod").unwrap_err();
        assert!(matches!(error, LogError::Open(OpenError::Malformed { .. })), "{error:?}");
    }
}
