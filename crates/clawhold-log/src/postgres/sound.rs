//! Whether the server keeps what it confirms, and whether the log in it is of one piece.
//!
//! What would lose confirmed records is refused, with the setting to change. What may be meant
//! that way, or cannot be seen from inside, is told.

use tokio_postgres::types::Type;

use super::address::Address;
use super::records::{head_of, number, row};
use super::seen::{MARK_BYTES, Seen};
use super::session::Session;
use super::store::unfit;
use super::trouble::Trouble;
use crate::{Head, Number, frame};

/// The oldest server whose statements this program uses.
const SERVER_VERSION_MIN: i32 = 130_000;

/// Looks at the server's settings; returns what an operator should know.
pub(super) async fn check_server(
    session: &Session,
    address: &Address,
) -> Result<Vec<String>, Trouble> {
    let sql = "SELECT current_setting('server_version_num')::int4, pg_is_in_recovery(),
                      current_setting('fsync'), current_setting('full_page_writes'),
                      current_setting('synchronous_commit'),
                      coalesce(current_setting('synchronous_standby_names', true), ''),
                      (SELECT count(*) FROM pg_stat_replication)";
    let row = session.client.query_typed_one(sql, &[]).await?;
    let version: i32 = row.try_get(0)?;
    let refuse = |what: String, next: &str| Err(unfit(address, what, next.to_owned()));
    if version < SERVER_VERSION_MIN {
        let found = version / 10_000;
        return refuse(format!("PostgreSQL {found} is too old"), "use 13 or later");
    }
    if row.try_get(1)? {
        let what = "the server is a replica, which takes no writes".to_owned();
        return refuse(what, "name the primary, or all hosts with commas");
    }
    if row.try_get::<_, &str>(2)? == "off" {
        let what = "the server has fsync = off: it loses confirmed records in a crash".to_owned();
        return refuse(what, "set fsync = on in postgresql.conf and restart it");
    }
    let mut concerns = Vec::new();
    if row.try_get::<_, &str>(3)? == "off" {
        concerns.push(
            "PostgreSQL has full_page_writes = off: unless its file system never tears a page, a \
             loss of power can damage confirmed records; set full_page_writes = on"
                .to_owned(),
        );
    }
    let commit: &str = row.try_get(4)?;
    if !["on", "remote_apply"].contains(&commit) {
        concerns.push(format!(
            "PostgreSQL has synchronous_commit = {commit} for this user or database; this program \
             sets it to on for its own sessions"
        ));
    }
    let replicas: i64 = row.try_get(6)?;
    if replicas > 0 && row.try_get::<_, &str>(5)?.is_empty() {
        concerns.push(format!(
            "PostgreSQL has {replicas} replicas and none is synchronous: a failover to one can \
             lose confirmed records, which is then noticed and refused; set \
             synchronous_standby_names"
        ));
    }
    Ok(concerns)
}

/// Compares the head row with the records, and both with what this process saw confirmed.
pub(super) async fn check_log(
    session: &Session,
    address: &Address,
    seen: &Seen,
) -> Result<(), Trouble> {
    // One statement, so one view: other servers append meanwhile. What was seen is asked before.
    let confirmed = seen.newest();
    let at = confirmed.as_ref().map_or(Number(0), |confirmed| confirmed.number);
    let sql = address.sql(
        "SELECT last, epoch, first, (SELECT max(number) FROM @record),
                (SELECT min(number) FROM @record WHERE number >= first),
                (SELECT frame FROM @record WHERE number = last),
                (SELECT substring(frame FOR $2) FROM @record WHERE number = $1),
                (SELECT string_agg(relname, ', ') FROM pg_class
                    WHERE relpersistence <> 'p' AND relkind = 'r' AND relnamespace =
                          (SELECT oid FROM pg_namespace WHERE nspname = $3))
         FROM @head WHERE one = 1",
    );
    let row_of = row(at.0);
    let bytes = i32::try_from(MARK_BYTES).unwrap_or(i32::MAX);
    let found = session
        .client
        .query_typed_opt(
            &sql,
            &[(&row_of, Type::INT8), (&bytes, Type::INT4), (&address.schema, Type::TEXT)],
        )
        .await?;
    let salvage = "restore a backup of the database";
    let Some(row) = found else {
        return Err(unfit(address, "its head row is missing".to_owned(), salvage.to_owned()));
    };
    if let Some(tables) = row.try_get::<_, Option<&str>>(7)? {
        let what = format!("a crash empties unlogged tables, and these are: {tables}");
        let next = format!("run ALTER TABLE {}.NAME SET LOGGED for each", address.schema);
        return Err(unfit(address, what, next));
    }
    let head = head_of(&row)?;
    let edge = |column: usize| -> Result<Number, Trouble> {
        Ok(row.try_get::<_, Option<i64>>(column)?.map_or(Number(0), number))
    };
    let newest: Option<&[u8]> = row.try_get(5)?;
    if let Some(odd) = compare(head, edge(4)?, edge(3)?, newest) {
        return Err(unfit(address, odd, salvage.to_owned()));
    }
    if let Some(confirmed) = confirmed {
        seen.check(address, &confirmed, head, row.try_get(6)?)?;
    }
    Ok(())
}

/// Returns in what the head row differs from the records.
fn compare(head: Head, first: Number, last: Number, newest: Option<&[u8]>) -> Option<String> {
    let odd = |what: &str, found: u64, expected: u64| {
        Some(format!("its head gives {found} as its {what} where the records say {expected}"))
    };
    if last != head.last {
        return odd("last record", head.last.0, last.0);
    }
    if last == Number(0) {
        return None;
    }
    if first != head.first {
        return odd("first record", head.first.0, first.0);
    }
    // A record that is damaged is found by whoever reads it; here it says nothing of its epoch.
    let record = newest.and_then(|bytes| frame::decode_at(last, bytes).ok());
    let epoch = record.map_or(head.epoch, |record| record.epoch);
    if epoch == head.epoch { None } else { odd("epoch", head.epoch.0, epoch.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Epoch, Writer};

    #[test]
    fn a_head_that_differs_from_the_records_is_named() {
        let frame = frame::encode(Number(5), Epoch(2), Writer(1), b"");
        let head = Head { last: Number(5), epoch: Epoch(2), first: Number(3) };
        let say = |head| compare(head, Number(3), Number(5), Some(&frame));
        assert_eq!(say(head), None);
        for (odd, part) in [
            (Head { last: Number(4), ..head }, "last record"),
            (Head { first: Number(2), ..head }, "first record"),
            (Head { epoch: Epoch(3), ..head }, "epoch"),
        ] {
            let text = say(odd).unwrap();
            assert!(text.contains(part), "{text}");
        }
    }
}
