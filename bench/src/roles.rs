//! Leases: renewals in batched beats, many that lapse at once, and handing over.

use std::io;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::task::JoinSet;

use crate::http::Connection;
use crate::load::open_session;

#[derive(Deserialize)]
struct Acquired {
    outcome: String,
    token: u64,
}

#[derive(Deserialize)]
struct Beaten {
    granted: Vec<serde::de::IgnoredAny>,
    leads: Vec<Renewed>,
}

#[derive(Deserialize)]
struct Renewed {
    outcome: String,
}

/// A session and the roles it leads, each with its token.
#[derive(Debug)]
struct Holder {
    connection: Connection,
    session: String,
    roles: Vec<(String, u64)>,
}

impl Holder {
    async fn open(port: u16, label: &str, ttl_ms: u64) -> io::Result<Self> {
        let mut connection = Connection::open(port).await?;
        let body = format!(r#"{{"label":"{label}","ttl_ms":{ttl_ms}}}"#);
        let session = open_session(&mut connection, &body).await?;
        Ok(Self { connection, session, roles: Vec::new() })
    }

    async fn acquire(&mut self, role: String, ttl_ms: u64) -> io::Result<()> {
        let body = format!(r#"{{"session":"{}","ttl_ms":{ttl_ms}}}"#, self.session);
        let path = format!("/v1/roles/{role}/acquire");
        let acquired: Acquired =
            serde_json::from_slice(self.connection.post(&path, body.as_bytes()).await?)?;
        if acquired.outcome != "granted" {
            return Err(io::Error::other(format!("{role}: {}", acquired.outcome)));
        }
        self.roles.push((role, acquired.token));
        Ok(())
    }

    async fn stand_by(&mut self, role: &str) -> io::Result<()> {
        let body = format!(r#"{{"session":"{}","stand_by":true}}"#, self.session);
        let path = format!("/v1/roles/{role}/acquire");
        self.connection.post(&path, body.as_bytes()).await.map(drop)
    }

    fn beat_body(&self) -> String {
        let leads: Vec<String> = self
            .roles
            .iter()
            .map(|(role, token)| format!(r#"{{"role":"{role}","token":{token}}}"#))
            .collect();
        format!(r#"{{"session":"{}","leads":[{}]}}"#, self.session, leads.join(","))
    }
}

/// Renews `each` roles of each of `sessions` sessions for `span`; returns renewals per second.
///
/// # Errors
/// When the server refuses something, or a lease is lost.
pub async fn renewals(port: u16, sessions: usize, each: usize, span: Duration) -> io::Result<f64> {
    let mut tasks = JoinSet::new();
    for n in 0..sessions {
        tasks.spawn(async move {
            let mut holder = Holder::open(port, &format!("holder-{n}"), 60_000).await?;
            for r in 0..each {
                holder.acquire(format!("role-{n}-{r}"), 60_000).await?;
            }
            Ok::<Holder, io::Error>(holder)
        });
    }
    let mut holders = Vec::new();
    while let Some(done) = tasks.join_next().await {
        holders.push(done.map_err(io::Error::other)??);
    }
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for mut holder in holders {
        tasks.spawn(async move {
            let body = holder.beat_body();
            let mut count = 0_u64;
            while started.elapsed() < span {
                let answer = holder.connection.post("/v1/sessions/beat", body.as_bytes()).await?;
                let beaten: Beaten = serde_json::from_slice(answer)?;
                if beaten.leads.iter().any(|lead| lead.outcome != "renewed") {
                    return Err(io::Error::other("a lease was lost"));
                }
                count += beaten.leads.len() as u64;
            }
            Ok::<u64, io::Error>(count)
        });
    }
    let mut count = 0;
    while let Some(done) = tasks.join_next().await {
        count += done.map_err(io::Error::other)??;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

/// Lets `count` leases lapse at once, all with a successor in line. Returns the seconds from their
/// common deadline until the successors have been told of every grant.
///
/// # Errors
/// When the server refuses something, or not all have passed on within 30 seconds.
pub async fn lapse_at_once(port: u16, count: usize) -> io::Result<f64> {
    const TTL_MS: u64 = 20_000;
    const HOLDERS: usize = 20;
    let mut tasks = JoinSet::new();
    for n in 0..HOLDERS {
        tasks.spawn(async move {
            let mut holder = Holder::open(port, &format!("holder-{n}"), TTL_MS).await?;
            let mut successor = Holder::open(port, &format!("successor-{n}"), 600_000).await?;
            for r in 0..count / HOLDERS {
                let role = format!("lapse-{n}-{r}");
                holder.acquire(role.clone(), TTL_MS).await?;
                successor.stand_by(&role).await?;
            }
            Ok::<_, io::Error>((holder, successor))
        });
    }
    let mut pairs = Vec::new();
    while let Some(done) = tasks.join_next().await {
        pairs.push(done.map_err(io::Error::other)??);
    }
    // The last beat of all, as close together as can be: their deadlines follow from it.
    let sent = Instant::now();
    for (holder, _) in &mut pairs {
        let body = holder.beat_body();
        holder.connection.post("/v1/sessions/beat", body.as_bytes()).await?;
    }
    let deadline = Instant::now() + Duration::from_millis(TTL_MS);
    let spread = sent.elapsed();
    tokio::time::sleep_until((deadline - spread).into()).await;
    let mut told = vec![0_usize; pairs.len()];
    while told.iter().sum::<usize>() < count / HOLDERS * HOLDERS {
        if deadline.elapsed() > Duration::from_secs(30) {
            return Err(io::Error::other(format!(
                "{} of {count} told",
                told.iter().sum::<usize>()
            )));
        }
        for ((_, successor), told) in pairs.iter_mut().zip(&mut told) {
            let body = successor.beat_body();
            let answer = successor.connection.post("/v1/sessions/beat", body.as_bytes()).await?;
            let beaten: Beaten = serde_json::from_slice(answer)?;
            *told = beaten.granted.len();
        }
    }
    Ok(deadline.elapsed().as_secs_f64())
}

/// Hands one role over `rounds` times between two sessions, of which one waits. Returns how long
/// each took from sending the release until the successor had the grant, in microseconds.
///
/// # Errors
/// When the server refuses something.
pub async fn hand_overs(port: u16, rounds: usize) -> io::Result<Vec<u32>> {
    let mut holder = Holder::open(port, "a", 60_000).await?;
    let mut other = Holder::open(port, "b", 60_000).await?;
    holder.acquire("handed".to_owned(), 60_000).await?;
    let mut token = holder.roles[0].1;
    let mut micros = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let waits = format!(r#"{{"session":"{}","wait_ms":30000}}"#, other.session);
        let mut waiting = other.connection;
        let waiter = tokio::spawn(async move {
            let answer = waiting.post("/v1/roles/handed/acquire", waits.as_bytes()).await?;
            let acquired: Acquired = serde_json::from_slice(answer)?;
            Ok::<_, io::Error>((Instant::now(), acquired, waiting))
        });
        tokio::time::sleep(Duration::from_millis(15)).await;
        let release = format!(r#"{{"session":"{}","token":{token}}}"#, holder.session);
        let sent = Instant::now();
        holder.connection.post("/v1/roles/handed/release", release.as_bytes()).await?;
        let (got, acquired, waiting) = waiter.await.map_err(io::Error::other)??;
        if acquired.outcome != "granted" || acquired.token <= token {
            return Err(io::Error::other("the role was not handed over"));
        }
        micros.push(u32::try_from(got.duration_since(sent).as_micros()).unwrap_or(u32::MAX));
        token = acquired.token;
        other = Holder { connection: waiting, session: other.session, roles: Vec::new() };
        std::mem::swap(&mut holder, &mut other);
    }
    Ok(micros)
}

/// Lets one lease of `ttl_ms` lapse `rounds` times. Returns how long after its deadline (the ttl
/// counted from when the last beat was answered) the successor had the grant, in milliseconds.
///
/// # Errors
/// When the server refuses something.
pub async fn expiries(port: u16, ttl_ms: u64, rounds: usize) -> io::Result<Vec<f64>> {
    let mut late = Vec::with_capacity(rounds);
    for n in 0..rounds {
        let role = format!("lapsing-{ttl_ms}-{n}");
        let mut holder = Holder::open(port, "dying", 600_000).await?;
        let mut successor = Holder::open(port, "successor", 600_000).await?;
        holder.acquire(role.clone(), ttl_ms).await?;
        let path = format!("/v1/roles/{role}/acquire");
        let waits = format!(r#"{{"session":"{}","wait_ms":30000}}"#, successor.session);
        let waiter = tokio::spawn(async move {
            let answer = successor.connection.post(&path, waits.as_bytes()).await?;
            let acquired: Acquired = serde_json::from_slice(answer)?;
            Ok::<_, io::Error>((Instant::now(), acquired.outcome))
        });
        tokio::time::sleep(Duration::from_millis(ttl_ms / 3)).await;
        let body = holder.beat_body();
        holder.connection.post("/v1/sessions/beat", body.as_bytes()).await?;
        let deadline = Instant::now() + Duration::from_millis(ttl_ms);
        let (got, outcome) = waiter.await.map_err(io::Error::other)??;
        if outcome != "granted" {
            return Err(io::Error::other(format!("{role}: {outcome}")));
        }
        late.push(got.saturating_duration_since(deadline).as_secs_f64() * 1e3);
    }
    Ok(late)
}
