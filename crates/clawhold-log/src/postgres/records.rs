//! Statements about the head row and the records.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row, Statement};

use super::address::Address;
use super::trouble::Trouble;
use crate::{Epoch, FrameError, Head, LogError, Number, Record, TakeOver, Writer, frame};

/// Rows that one statement brings at most.
const PAGE_ROWS_MAX: usize = 1_024;
/// Bytes that one statement brings at most, beyond its first row.
const PAGE_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Bytes of a frame that are no body.
const FRAME_BYTES: usize = super::seen::MARK_BYTES;

/// The statements that are used again and again, prepared on one connection.
#[derive(Debug)]
pub(super) struct Statements {
    head: Statement,
    read: Statement,
    append: Statement,
    append_and_tell: Statement,
    channel: String,
}

/// What an append is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write<'a> {
    pub(super) number: Number,
    pub(super) epoch: Epoch,
    pub(super) frame: &'a [u8],
}

impl Statements {
    /// Prepares them in one round trip.
    pub(super) async fn prepare(client: &Client, address: &Address) -> Result<Self, Trouble> {
        let head = address.sql("SELECT last, epoch, first FROM @head WHERE one = 1");
        // The sizes are summed over rows whose frames are left where they are.
        let read = address.sql(
            "SELECT number, frame FROM (
                 SELECT number, frame, sum(octet_length(frame) - $3::int4)
                     OVER (ORDER BY number ROWS UNBOUNDED PRECEDING) AS bytes
                 FROM @record WHERE number >= $1 ORDER BY number LIMIT $4::int8
             ) page WHERE bytes <= $2::int8 OR number = $1 ORDER BY number",
        );
        // The head row is compared and advanced under its lock, in the statement that inserts: a
        // commit that is late finds another head, and a number is taken only together with it.
        let advance = "WITH moved AS (
                 UPDATE @head SET last = $1 WHERE one = 1 AND last = $1 - 1 AND epoch = $2
                 RETURNING last
             )";
        let insert = "INSERT INTO @record (number, frame) SELECT last, $3 FROM moved";
        let append = address.sql(&format!("{advance} {insert}"));
        let append_and_tell = address.sql(&format!(
            "{advance}, added AS ({insert} RETURNING number)
             SELECT pg_notify($4, number::text) FROM added"
        ));
        let numbers = [Type::INT8, Type::INT8, Type::BYTEA, Type::TEXT];
        let (head, read, append, append_and_tell) = tokio::try_join!(
            client.prepare(&head),
            client.prepare_typed(&read, &[Type::INT8, Type::INT8, Type::INT4, Type::INT8]),
            client.prepare_typed(&append, &numbers[..3]),
            client.prepare_typed(&append_and_tell, &numbers),
        )?;
        Ok(Self { head, read, append, append_and_tell, channel: channel(address) })
    }

    /// Returns where the log begins and ends.
    pub(super) async fn head(&self, client: &Client) -> Result<Head, Trouble> {
        head_of(&client.query_one(&self.head, &[]).await?)
    }

    /// Appends a record; returns whether the head was where it has to be. `tell` wakes those who
    /// follow.
    pub(super) async fn append(
        &self,
        client: &Client,
        write: Write<'_>,
        tell: bool,
    ) -> Result<bool, Trouble> {
        let (number, epoch) = (row(write.number.0), row(write.epoch.0));
        if tell {
            let told = client
                .query(&self.append_and_tell, &[&number, &epoch, &write.frame, &self.channel])
                .await?;
            return Ok(!told.is_empty());
        }
        Ok(client.execute(&self.append, &[&number, &epoch, &write.frame]).await? == 1)
    }

    /// Reads records with their frames, as [`Log::read`](crate::Log::read) does.
    pub(super) async fn read(
        &self,
        client: &Client,
        from: Number,
        bytes_max: usize,
    ) -> Result<Vec<Record>, Trouble> {
        let mut records: Vec<Record> = Vec::new();
        let mut bytes = 0_usize;
        loop {
            let next = records.last().map_or(from, |record| record.number.next());
            let left = bytes_max.saturating_sub(bytes);
            let rows = self.page(client, next, left).await?;
            for (row, place) in rows.iter().zip(next.0..) {
                let record = match record_of(row, Number(place))? {
                    Ok(record) => record,
                    Err(error) if records.is_empty() => {
                        return self.why(client, from, error).await;
                    }
                    Err(_) => return Ok(records),
                };
                bytes = bytes.saturating_add(record.body.len());
                if !records.is_empty() && bytes_max < bytes {
                    return Ok(records);
                }
                records.push(record);
            }
            if records.is_empty() {
                return self.why(client, from, LogError::Missing { number: from }).await;
            }
            // A page that was cut neither by rows nor by its own bytes is the last.
            let cut = rows.len() == rows_max(left) || PAGE_BYTES_MAX < left;
            if rows.is_empty() || bytes_max <= bytes || !cut {
                return Ok(records);
            }
        }
    }

    async fn page(
        &self,
        client: &Client,
        from: Number,
        bytes_max: usize,
    ) -> Result<Vec<Row>, Trouble> {
        let bytes = int8(bytes_max.min(PAGE_BYTES_MAX));
        let rows = int8(rows_max(bytes_max));
        let overhead = i32::try_from(FRAME_BYTES).unwrap_or(i32::MAX);
        Ok(client.query(&self.read, &[&row(from.0), &bytes, &overhead, &rows]).await?)
    }

    /// Says why there is no record at `from`, or that it is the end.
    async fn why(
        &self,
        client: &Client,
        from: Number,
        error: LogError,
    ) -> Result<Vec<Record>, Trouble> {
        let Head { first, last, .. } = self.head(client).await?;
        if from < first {
            return Err(LogError::Trimmed { first }.into());
        }
        if last.next() < from {
            return Err(LogError::Beyond { from, last }.into());
        }
        if last < from {
            return Ok(Vec::new());
        }
        Err(error.into())
    }
}

/// Takes over in one transaction that has the head row's lock from its beginning: a writer that is
/// busy waits for it.
pub(super) async fn take_over(
    client: &mut Client,
    address: &Address,
    writer: Writer,
    epoch: Epoch,
    body: &[u8],
) -> Result<Begun, Trouble> {
    let transaction = client.transaction().await?;
    let lock = address.sql("SELECT last, epoch, first FROM @head WHERE one = 1 FOR UPDATE");
    let head = head_of(&transaction.query_typed_one(&lock, &[]).await?)?;
    if head.epoch.next() != epoch {
        transaction.rollback().await?;
        return Ok(Begun::Settled(TakeOver::Overtaken { head }));
    }
    let number = head.last.next();
    let encoded = frame::encode(number, epoch, writer, body);
    let (last, term) = (row(number.0), row(epoch.0));
    let advance = address.sql("UPDATE @head SET last = $1, epoch = $2 WHERE one = 1");
    let types = [(&last as _, Type::INT8), (&term as _, Type::INT8)];
    let moved = transaction.execute_typed(&advance, &types).await?;
    let insert = address.sql("INSERT INTO @record (number, frame) VALUES ($1, $2)");
    let types = [(&last as _, Type::INT8), (&encoded as _, Type::BYTEA)];
    let added = transaction.execute_typed(&insert, &types).await?;
    assert!(moved == 1 && added == 1, "a locked head row is there");
    let tell = "SELECT pg_notify($1, $2)";
    let (channel, text) = (channel(address), number.to_string());
    let types = [(&channel as _, Type::TEXT), (&text as _, Type::TEXT)];
    transaction.query_typed(tell, &types).await?;
    Ok(match transaction.commit().await {
        Ok(()) => Begun::Settled(TakeOver::Done { number }),
        Err(error) => Begun::Doubtful(error.into()),
    })
}

/// How far a takeover came.
pub(super) enum Begun {
    /// It is known what became of it.
    Settled(TakeOver),
    /// The commit was sent, and its answer is this.
    Doubtful(Trouble),
}

/// Returns the channel on which appends are told.
pub(super) fn channel(address: &Address) -> String {
    // Channels belong to the database, as schemas do.
    format!("clawhold_{}", address.schema)
}

/// Reads the head from the first three columns.
pub(super) fn head_of(found: &Row) -> Result<Head, Trouble> {
    let column = |place: usize| found.try_get::<_, i64>(place).map(number);
    Ok(Head { last: column(0)?, epoch: Epoch(column(1)?.0), first: column(2)? })
}

fn record_of(found: &Row, expected: Number) -> Result<Result<Record, LogError>, Trouble> {
    let at = number(found.try_get(0)?);
    if at != expected {
        return Ok(Err(LogError::Missing { number: expected }));
    }
    let decoded = frame::decode_at(at, found.try_get(1)?);
    Ok(decoded.map_err(|source: FrameError| LogError::Damaged { number: at, source }))
}

/// Returns how many rows are worth asking for; a record without a body is rare.
fn rows_max(bytes_max: usize) -> usize {
    bytes_max.saturating_add(1).min(PAGE_ROWS_MAX)
}

fn int8(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns the number as PostgreSQL stores it. One beyond its range compares with no record.
pub(super) fn row(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns a stored number; the schema lets none be negative.
pub(super) fn number(row: i64) -> Number {
    Number(u64::try_from(row).unwrap_or(0))
}
