//! The tables of a log in a schema of its own, made and upgraded by whoever comes first.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::address::Address;
use super::trouble::Trouble;
use crate::{LogError, OpenError};

/// The version of the tables. A later layout gets the next number; none is used twice.
const STORE_VERSION: i32 = 1;

/// The head row is changed with every record, in place as long as its page has room. Frames are
/// kept as they are: they were made to be small, or hold what does not shrink.
const SCHEMA: &str = "
    CREATE TABLE @store (
        one smallint PRIMARY KEY CHECK (one = 1),
        version integer NOT NULL
    );
    CREATE TABLE @head (
        one smallint PRIMARY KEY CHECK (one = 1),
        last bigint NOT NULL CHECK (last >= 0),
        epoch bigint NOT NULL CHECK (epoch >= 0),
        first bigint NOT NULL CHECK (first >= 1)
    ) WITH (fillfactor = 20);
    CREATE TABLE @record (number bigint PRIMARY KEY, frame bytea NOT NULL);
    CREATE TABLE @snapshot (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at bigint NOT NULL CHECK (at >= 0),
        epoch bigint NOT NULL CHECK (epoch >= 0),
        whole boolean NOT NULL
    );
    CREATE TABLE @chunk (
        snapshot bigint NOT NULL,
        place integer NOT NULL,
        frame bytea NOT NULL,
        PRIMARY KEY (snapshot, place)
    );
    ALTER TABLE @record ALTER COLUMN frame SET STORAGE EXTERNAL;
    ALTER TABLE @chunk ALTER COLUMN frame SET STORAGE EXTERNAL;
    INSERT INTO @head (one, last, epoch, first) VALUES (1, 0, 0, 1);
    INSERT INTO @store (one, version) VALUES (1, 1);
";

/// Makes the tables if there are none. Many may try at once; one does it.
pub(super) async fn make(client: &mut Client, address: &Address) -> Result<(), Trouble> {
    if is_current(client, address).await? {
        return Ok(());
    }
    let made = make_once(client, address).await;
    made.map_err(|trouble| explain(trouble, address))
}

/// Tells whether the tables are there, in the version that this program knows.
async fn is_current(client: &Client, address: &Address) -> Result<bool, Trouble> {
    // A query of the catalogue sees what others made while this one waited; its cache may not.
    let sql = "SELECT 1 FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
               WHERE relname = 'store' AND relkind = 'r' AND nspname = $1";
    if client.query_typed(sql, &[(&address.schema as _, Type::TEXT)]).await?.is_empty() {
        return Ok(false);
    }
    let row = client.query_typed_opt(&address.sql("SELECT version FROM @store"), &[]).await?;
    let version = row.map(|row| row.try_get::<_, i32>(0)).transpose()?;
    match version {
        Some(STORE_VERSION) => Ok(true),
        Some(found) => Err(unfit(
            address,
            format!("its tables have version {found}, this program knows up to {STORE_VERSION}"),
            "use a later version of the program".to_owned(),
        )),
        None => Err(unfit(
            address,
            "its table of the version is empty: somebody else made it, or it was damaged"
                .to_owned(),
            "name another schema with ?schema=NAME, or restore a backup".to_owned(),
        )),
    }
}

async fn make_once(client: &mut Client, address: &Address) -> Result<(), Trouble> {
    let transaction = client.transaction().await?;
    let name = format!("clawhold schema {}", address.schema);
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
    transaction.query_typed(lock, &[(&name, Type::TEXT)]).await?;
    if is_current(transaction.client(), address).await? {
        return Ok(());
    }
    let known = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
    let known = transaction.query_typed(known, &[(&address.schema, Type::TEXT)]).await?;
    if known.is_empty() {
        // Asked for only where it is missing: it needs a right on the whole database.
        transaction.batch_execute(&format!("CREATE SCHEMA \"{}\"", address.schema)).await?;
    }
    transaction.batch_execute(&address.sql(SCHEMA)).await?;
    transaction.commit().await?;
    Ok(())
}

/// Says what an operator can do when the tables cannot be made.
fn explain(trouble: Trouble, address: &Address) -> Trouble {
    let Trouble::Engine(error) = &trouble else { return trouble };
    let code = error.code().map(|code| code.code().to_owned());
    let schema = &address.schema;
    let user = address.config.get_user().unwrap_or("clawhold").replace('"', "\"\"");
    match code.as_deref() {
        Some("42501") => unfit(
            address,
            format!("this user may not make the schema {schema} or its tables"),
            format!(
                "let an owner of the database run CREATE SCHEMA {schema} AUTHORIZATION \"{user}\", \
                 once"
            ),
        ),
        Some("42P07" | "42710") => unfit(
            address,
            format!("the schema {schema} holds tables of somebody else with the same names"),
            "name another with ?schema=NAME".to_owned(),
        ),
        Some(_) | None => trouble,
    }
}

pub(super) fn unfit(address: &Address, what: String, next: String) -> Trouble {
    Trouble::Log(LogError::Open(OpenError::Unfit { store: address.shown.clone(), what, next }))
}
