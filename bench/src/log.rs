//! The log alone beside plain inserts, and beside a table with a row for each job: the same
//! batches, the same durability, the same disk, in turns.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use clawhold_log::{Append, Epoch, Log, Number, SqliteLog, TakeOver};
use rusqlite::Connection;

/// Bytes of one job.
const JOB_BYTES: usize = 200;

/// Rates of one round: of the log and of plain inserts, in appends per second.
pub type Rates = (f64, f64);

/// Runs one round of batches of `batch` jobs for `span` each.
///
/// # Errors
/// When an engine fails.
pub fn appends(folder: &Path, batch: usize, span: Duration) -> Result<Rates, Box<dyn Error>> {
    let body = vec![b'x'; batch * JOB_BYTES];
    Ok((ours(&folder.join("log.db"), &body, span)?, plain(&folder.join("plain.db"), &body, span)?))
}

fn ours(path: &Path, body: &[u8], span: Duration) -> Result<f64, Box<dyn Error>> {
    let mut log = SqliteLog::open(path)?;
    let head = log.head()?;
    let epoch = Epoch(head.epoch.0 + 1);
    let TakeOver::Done { number } = log.take_over(epoch, b"bench")? else {
        return Err("the takeover did not land".into());
    };
    let (mut next, mut count) = (Number(number.0 + 1), 0_u64);
    let started = Instant::now();
    while started.elapsed() < span {
        let Append::Done = log.append(next, epoch, body)? else {
            return Err("an append did not land".into());
        };
        next = Number(next.0 + 1);
        count += 1;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

fn plain(path: &Path, body: &[u8], span: Duration) -> Result<f64, Box<dyn Error>> {
    let database = connect(path)?;
    database.execute("CREATE TABLE IF NOT EXISTS record (n INTEGER PRIMARY KEY, body BLOB)", [])?;
    let mut insert = database.prepare("INSERT INTO record (body) VALUES (?1)")?;
    let mut count = 0_u64;
    let started = Instant::now();
    while started.elapsed() < span {
        insert.execute([body])?;
        count += 1;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

/// Runs whole cycles on a table with a row for each job, as queue libraries keep them, in this
/// process and without any network: insert a batch, claim it, delete it, one commit each. Returns
/// jobs per second.
///
/// # Errors
/// When the engine fails.
pub fn rows(folder: &Path, batch: usize, span: Duration) -> Result<f64, Box<dyn Error>> {
    let mut database = connect(&folder.join("rows.db"))?;
    database.execute_batch(
        "CREATE TABLE IF NOT EXISTS job (
            id INTEGER PRIMARY KEY, queue TEXT NOT NULL, state INTEGER NOT NULL,
            priority INTEGER NOT NULL, fence INTEGER NOT NULL, payload BLOB NOT NULL);
         CREATE INDEX IF NOT EXISTS waiting ON job (queue, priority, id) WHERE state = 0;
         CREATE INDEX IF NOT EXISTS running ON job (fence) WHERE state = 1;",
    )?;
    let payload = vec![b'x'; JOB_BYTES];
    let (mut jobs, mut fence) = (0_u64, 0_i64);
    let started = Instant::now();
    while started.elapsed() < span {
        fence += 1;
        let transaction = database.transaction()?;
        {
            let sql =
                "INSERT INTO job (queue, state, priority, fence, payload) VALUES ('q',0,0,0,?1)";
            let mut insert = transaction.prepare_cached(sql)?;
            for _ in 0..batch {
                insert.execute([&payload])?;
            }
        }
        transaction.commit()?;
        let transaction = database.transaction()?;
        let claimed: Vec<i64> = {
            let sql = "UPDATE job SET state = 1, fence = ?1 WHERE id IN (SELECT id FROM job
                       WHERE queue = 'q' AND state = 0 ORDER BY priority, id LIMIT ?2)
                       RETURNING id";
            let mut claim = transaction.prepare_cached(sql)?;
            let rows = claim.query_map([fence, batch as i64], |row| row.get(0))?;
            rows.collect::<Result<_, _>>()?
        };
        transaction.commit()?;
        let transaction = database.transaction()?;
        {
            let mut end =
                transaction.prepare_cached("DELETE FROM job WHERE id = ?1 AND fence = ?2")?;
            for id in &claimed {
                end.execute([*id, fence])?;
            }
        }
        transaction.commit()?;
        jobs += claimed.len() as u64;
    }
    Ok(jobs as f64 / started.elapsed().as_secs_f64())
}

fn connect(path: &Path) -> Result<Connection, Box<dyn Error>> {
    let database = Connection::open(path)?;
    database.pragma_update(None, "journal_mode", "wal")?;
    database.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 1000;")?;
    Ok(database)
}
