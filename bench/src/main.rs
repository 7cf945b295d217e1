//! Measures Clawhold beside baselines, in one run, as ratios.
//!
//! `scripts/bench` builds the program and runs this. Every figure is the median of its rounds, with
//! the smallest and the largest beside it; all answers are durable. The lines go to
//! `bench/results/figures.jsonl`, the curves to `bench/results/curves.svg`.

mod disk;
mod engines;
mod growth;
mod http;
mod load;
mod log;
mod plot;
mod processes;
mod report;
mod roles;
mod server;
mod sessions;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engines::{Nats, Postgres};
use load::quantile;
use plot::Panel;
use processes::Dies;
use report::Report;
use report::Target::{AtLeast, AtMost};
use server::Server;

type Outcome = Result<(), Box<dyn Error>>;

/// What is measured, in this order.
const PARTS: [&str; 8] =
    ["log", "jobs", "latency", "sessions", "leases", "growth", "engines", "curves"];

struct Bench {
    program: PathBuf,
    results: PathBuf,
    rounds: usize,
    span: Duration,
    report: Report,
}

fn main() -> Outcome {
    let mut args = std::env::args().skip(1);
    let (mut program, mut results, mut rounds) = (None, PathBuf::from("bench/results"), 5);
    let mut parts: Vec<String> = Vec::new();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--program" => program = Some(PathBuf::from(value()?)),
            "--results" => results = value()?.into(),
            "--rounds" => rounds = value()?.parse()?,
            part if PARTS.contains(&part) => parts.push(arg),
            _ => return Err(format!("unknown argument {arg}; parts are {PARTS:?}").into()),
        }
    }
    let program = program.ok_or("--program PATH is needed: the clawhold to measure")?;
    std::fs::create_dir_all(&results)?;
    let report = Report::new(&results.join("figures.jsonl"))?;
    let span = Duration::from_secs(2);
    let mut bench = Bench { program, results, rounds, span, report };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for part in PARTS {
            if parts.is_empty() || parts.iter().any(|asked| asked == part) {
                bench.run(part).await?;
            }
        }
        Outcome::Ok(())
    })?;
    println!("{} figures missed their target", bench.report.missed());
    Ok(())
}

impl Bench {
    async fn run(&mut self, part: &str) -> Outcome {
        match part {
            "log" => self.log(),
            "jobs" => self.jobs().await,
            "latency" => self.latency().await,
            "sessions" => self.sessions(),
            "leases" => self.leases().await,
            "growth" => self.growth().await,
            "engines" => self.engines().await,
            _ => self.curves().await,
        }
    }

    fn log(&mut self) -> Outcome {
        for batch in [100, 1_000] {
            let (mut ours, mut plain, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..self.rounds {
                let folder = tempfile::tempdir()?;
                let (log, inserts) = log::appends(folder.path(), batch, self.span / 2)?;
                ours.push(log);
                plain.push(inserts);
                ratios.push(log / inserts);
            }
            self.report.add(&format!("log: appends of {batch} jobs"), &ours, "/s", None)?;
            self.report.add(&format!("log: plain inserts of {batch} jobs"), &plain, "/s", None)?;
            let name = format!("log: appends to plain inserts, {batch} jobs each");
            self.report.add(&name, &ratios, "x", Some(AtLeast(0.6)))?;
        }
        Ok(())
    }

    async fn jobs(&mut self) -> Outcome {
        let (mut ours, mut rows, mut ratios, mut cpu) = (vec![], vec![], vec![], vec![]);
        for _ in 0..self.rounds {
            let folder = tempfile::tempdir()?;
            let table = log::rows(folder.path(), 100, self.span)?;
            let server = Server::start(&self.program)?;
            let used = server.cpu_seconds();
            let ran = load::cycles(server.port, 16, 100, self.span).await?;
            cpu.push((server.cpu_seconds() - used) * 1e6 / ran.jobs as f64);
            ours.push(ran.jobs as f64 / ran.seconds);
            rows.push(table);
            ratios.push(ran.jobs as f64 / ran.seconds / table);
        }
        let target = Some(AtLeast(200_000.0));
        self.report.add(
            "jobs: full cycles, batches of 100 on 16 connections",
            &ours,
            "/s",
            target,
        )?;
        self.report.add("jobs: processor time of the server", &cpu, "us/job", None)?;
        self.report.add(
            "jobs: a row for each job, in process, batches of 100",
            &rows,
            "/s",
            None,
        )?;
        self.report.add("jobs: ours over HTTP to rows in process", &ratios, "x", None)?;
        let mut single = Vec::new();
        for _ in 0..self.rounds {
            let server = Server::start(&self.program)?;
            let ran = load::cycles(server.port, 64, 1, self.span).await?;
            single.push(ran.requests as f64 / ran.seconds);
        }
        let target = Some(AtLeast(40_000.0));
        self.report.add("jobs: single-job requests on 64 connections", &single, "/s", target)?;
        Ok(())
    }

    async fn latency(&mut self) -> Outcome {
        let (mut p99, mut floors, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let (mut push50, mut push99) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            let server = Server::start(&self.program)?;
            let mut floor = disk::syncs(server.folder(), 2_000)?;
            let mut micros = load::paced(server.port, 16, 4_000.0, self.span).await?;
            let (enqueue, sync) = (quantile(&mut micros, 0.99), quantile(&mut floor, 0.99));
            p99.push(f64::from(enqueue) / 1e3);
            floors.push(f64::from(sync) / 1e3);
            ratios.push(f64::from(enqueue) / f64::from(sync));
            let mut pushed = load::pushes(server.port, 200).await?;
            push50.push(f64::from(quantile(&mut pushed, 0.5)) / 1e3);
            push99.push(f64::from(quantile(&mut pushed, 0.99)) / 1e3);
        }
        let report = &mut self.report;
        report.add("latency: p99 of a durable enqueue at 4,000/s", &p99, "ms", None)?;
        report.add("latency: p99 of one fdatasync of 4 KiB", &floors, "ms", None)?;
        report.add("latency: p99 of enqueue to fdatasync", &ratios, "x", Some(AtMost(5.0)))?;
        report.add(
            "latency: idle enqueue to a waiting claim, p50",
            &push50,
            "ms",
            Some(AtMost(1.0)),
        )?;
        report.add(
            "latency: idle enqueue to a waiting claim, p99",
            &push99,
            "ms",
            Some(AtMost(5.0)),
        )?;
        Ok(())
    }

    /// The client library has both cores to itself and the server, as in a process of its own.
    fn sessions(&mut self) -> Outcome {
        let (mut cycles, mut leaving) = (Vec::new(), Vec::new());
        let (mut start50, mut start99) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            let server = Server::start(&self.program)?;
            let (program, span) = (&self.program, self.span);
            // On a thread of its own: one runtime does not run within another.
            let ran = std::thread::scope(|scope| {
                let ran = scope.spawn(|| {
                    let runtime =
                        tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
                    runtime.block_on(sessions::all(program, &server, span))
                });
                ran.join()
            });
            let ran = ran.map_err(|_| "the part panicked")?;
            let (cycled, left, mut micros) = ran.map_err(|error| error.to_string())?;
            cycles.push(cycled);
            leaving.push(left);
            start50.push(f64::from(quantile(&mut micros, 0.5)) / 1e3);
            start99.push(f64::from(quantile(&mut micros, 0.99)) / 1e3);
        }
        let report = &mut self.report;
        let target = Some(AtLeast(60_000.0));
        report.add("sessions: full cycles, 32 in flight", &cycles, "/s", target)?;
        report.add("sessions: idle enqueue to handler, p50", &start50, "ms", Some(AtMost(1.0)))?;
        report.add("sessions: idle enqueue to handler, p99", &start99, "ms", Some(AtMost(5.0)))?;
        let name = "sessions: SIGTERM with 1,000 jobs to held and audited";
        report.add(name, &leaving, "s", Some(AtMost(1.0)))?;
        Ok(())
    }

    async fn leases(&mut self) -> Outcome {
        let (mut renewed, mut lapsed) = (Vec::new(), Vec::new());
        let (mut p50, mut p99, mut late) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            let server = Server::start(&self.program)?;
            renewed.push(roles::renewals(server.port, 16, 100, self.span).await?);
            let mut micros = roles::hand_overs(server.port, 100).await?;
            p50.push(f64::from(quantile(&mut micros, 0.5)) / 1e3);
            p99.push(f64::from(quantile(&mut micros, 0.99)) / 1e3);
            late.extend(roles::expiries(server.port, 300, 20).await?);
        }
        for _ in 0..self.rounds.min(3) {
            let server = Server::start(&self.program)?;
            lapsed.push(roles::lapse_at_once(server.port, 10_000).await?);
        }
        let server = Server::start(&self.program)?;
        let died =
            |dies, ttl| processes::deaths(&self.program, &server, dies, ttl, self.rounds * 6);
        let mut deaths = died(Dies::Lead, "1s")?;
        let mut brief = died(Dies::Lead, "300ms")?;
        let mut children = died(Dies::Child, "10s")?;
        let report = &mut self.report;
        report.add("leases: renewals in beats of 100", &renewed, "/s", Some(AtLeast(200_000.0)))?;
        report.add(
            "leases: 10,000 lapse at once, all told after",
            &lapsed,
            "s",
            Some(AtMost(1.0)),
        )?;
        report.add(
            "leases: release to the successor's grant, p50",
            &p50,
            "ms",
            Some(AtMost(5.0)),
        )?;
        report.add(
            "leases: release to the successor's grant, p99",
            &p99,
            "ms",
            Some(AtMost(25.0)),
        )?;
        let at = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[(values.len() - 1) * 99 / 100]
        };
        let late = at(&mut late);
        report.add(
            "leases: lapse to grant after the deadline, p99",
            &[late],
            "ms",
            Some(AtMost(20.0)),
        )?;
        let (deaths, brief) = (at(&mut deaths), at(&mut brief));
        let children = at(&mut children);
        report.add(
            "leases: kill -9, ttl 1 s, to acting, p99",
            &[deaths],
            "ms",
            Some(AtMost(1_100.0)),
        )?;
        report.add(
            "leases: kill -9, ttl 300 ms, to acting, p99",
            &[brief],
            "ms",
            Some(AtMost(400.0)),
        )?;
        report.add(
            "leases: the child's death to acting, p99",
            &[children],
            "ms",
            Some(AtMost(50.0)),
        )?;
        Ok(())
    }

    async fn growth(&mut self) -> Outcome {
        const COUNT: usize = 1_000_000;
        let mut server = Server::start(&self.program)?;
        let mut empty = Vec::new();
        let mut claims = Vec::new();
        for _ in 0..self.rounds {
            let mut ran = load::cycles(server.port, 16, 100, self.span).await?;
            empty.push(ran.jobs as f64 / ran.seconds);
            claims.push(f64::from(quantile(&mut ran.micros[1], 0.99)));
        }
        drop(server);
        server = Server::start(&self.program)?;
        let before = server.memory_bytes();
        growth::fill(server.port, "deep", COUNT).await?;
        let beyond = |now: u64| (now - before) as f64 / COUNT as f64 - load::PAYLOAD_BYTES as f64;
        let live = beyond(server.memory_bytes());
        server.restart(true)?;
        let took = server.restart(true)?.as_secs_f64();
        let started = beyond(server.memory_bytes());
        let (mut full, mut full_claims) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            let mut ran = load::cycles_in(server.port, "deep", 16, 100, self.span).await?;
            full.push(ran.jobs as f64 / ran.seconds);
            full_claims.push(f64::from(quantile(&mut ran.micros[1], 0.99)));
        }
        let audited = growth::audit(server.port).await?;
        let (longest, snapshots) = growth::longest_commit(&server, Duration::from_secs(40)).await?;
        let ratios: Vec<f64> = full.iter().zip(&empty).map(|(full, empty)| full / empty).collect();
        let slower: Vec<f64> = full_claims.iter().zip(&claims).map(|(f, e)| f / e).collect();
        let report = &mut self.report;
        report.add(
            "growth: throughput at 1 M queued to empty",
            &ratios,
            "x",
            Some(AtLeast(0.8)),
        )?;
        report.add("growth: claim p99 at 1 M queued to empty", &slower, "x", Some(AtMost(2.0)))?;
        report.add(
            "growth: memory per job beyond its payload",
            &[live],
            "B",
            Some(AtMost(300.0)),
        )?;
        report.add("growth: the same after a start", &[started], "B", None)?;
        report.add("growth: start with 1 M jobs", &[took], "s", Some(AtMost(3.0)))?;
        report.add("growth: audit of 1 M jobs", &[audited.seconds], "s", Some(AtMost(2.0)))?;
        report.add(
            "growth: longest pause of others meanwhile",
            &[audited.pause_ms],
            "ms",
            Some(AtMost(10.0)),
        )?;
        let name = format!("growth: longest commit over {snapshots} snapshots");
        report.add(&name, &[longest], "ms", Some(AtMost(50.0)))?;
        growth::idle_queues(server.port, 100_000).await?;
        let mut ran = load::cycles_in(server.port, "deep", 16, 100, self.span).await?;
        let idle = ran.jobs as f64 / ran.seconds / full[full.len() / 2];
        let claim = f64::from(quantile(&mut ran.micros[1], 0.99));
        self.report.add("growth: throughput with 100,000 idle queues more", &[idle], "x", None)?;
        self.report.add("growth: claim p99 then", &[claim / 1e3], "ms", None)?;
        Ok(())
    }

    async fn engines(&mut self) -> Outcome {
        let (mut sqlite, mut postgres, mut nats) = (Vec::new(), Vec::new(), Vec::new());
        let (mut rows, mut to_rows, mut to_sqlite) = (Vec::new(), Vec::new(), Vec::new());
        let (mut to_postgres, mut lags) = (Vec::new(), Vec::new());
        for round in 0..self.rounds {
            let ours = self.cycles_on(None).await?;
            let folder = tempfile::tempdir()?;
            let database = Postgres::start(folder.path(), "");
            let table = engines::rows(&database, 100, self.span).await?;
            let in_postgres = self.cycles_on(Some(&database.url(&format!("r{round}")))).await?;
            let store = database.url(&format!("s{round}"));
            let active = Server::start_on(&self.program, Some(&store))?;
            let standby = Server::start_on(&self.program, Some(&store))?;
            let mut micros = engines::lags(&active, &standby, self.span).await?;
            lags.push(f64::from(quantile(&mut micros, 0.99)) / 1e3);
            drop((active, standby, database));
            let servers = Nats::start(1, "sync_interval: always");
            let in_nats = self.cycles_on(Some(&servers.url())).await?;
            to_rows.push(in_postgres / table);
            to_sqlite.push(in_postgres / ours);
            to_postgres.push(in_nats / in_postgres);
            sqlite.push(ours);
            postgres.push(in_postgres);
            nats.push(in_nats);
            rows.push(table);
        }
        let report = &mut self.report;
        report.add("engines: full cycles on SQLite, batches of 100", &sqlite, "/s", None)?;
        report.add("engines: the same on PostgreSQL", &postgres, "/s", None)?;
        report.add("engines: the same on one NATS server", &nats, "/s", None)?;
        report.add("engines: rows in PostgreSQL, SKIP LOCKED", &rows, "/s", None)?;
        report.add("engines: PostgreSQL to rows", &to_rows, "x", Some(AtLeast(3.0)))?;
        report.add("engines: PostgreSQL to SQLite", &to_sqlite, "x", Some(AtLeast(0.6)))?;
        report.add("engines: NATS to PostgreSQL", &to_postgres, "x", Some(AtLeast(0.7)))?;
        report.add(
            "engines: a standby's lag at full rate, p99",
            &lags,
            "ms",
            Some(AtMost(100.0)),
        )?;
        Ok(())
    }

    async fn cycles_on(&self, store: Option<&str>) -> Result<f64, Box<dyn Error>> {
        let server = Server::start_on(&self.program, store)?;
        let ran = load::cycles(server.port, 16, 100, self.span).await?;
        Ok(ran.jobs as f64 / ran.seconds)
    }

    /// Throughput and p99 against load, and against the size of the state.
    async fn curves(&mut self) -> Outcome {
        let mut panels = Vec::new();
        for (batch, rate, slow) in [
            (1, "Single jobs against load", "p99 of single jobs against load"),
            (100, "Batches of 100 against load", "p99 of batches of 100 against load"),
        ] {
            let (mut rates, mut p99) = (Vec::new(), Vec::new());
            for connections in [1, 4, 16, 64, 256] {
                let server = Server::start(&self.program)?;
                let mut ran = load::cycles(server.port, connections, batch, self.span).await?;
                rates.push((connections as f64, ran.jobs as f64 / ran.seconds));
                p99.push((connections as f64, f64::from(quantile(&mut ran.micros[0], 0.99)) / 1e3));
            }
            panels.push(panel(rate, "connections", "full cycles per second", rates));
            panels.push(panel(slow, "connections", "enqueue, ms", p99));
        }
        let server = Server::start(&self.program)?;
        let (mut rates, mut p99, mut size) = (Vec::new(), Vec::new(), 1_000);
        while size <= 1_000_000 {
            let more = if size == 1_000 { 4_000 } else { size - size / 10 };
            growth::fill(server.port, "deep", more).await?;
            let mut ran = load::cycles_in(server.port, "deep", 16, 100, self.span).await?;
            rates.push((size as f64, ran.jobs as f64 / ran.seconds));
            p99.push((size as f64, f64::from(quantile(&mut ran.micros[1], 0.99)) / 1e3));
            size *= 10;
        }
        panels.push(panel(
            "Throughput against jobs queued",
            "jobs",
            "full cycles per second",
            rates,
        ));
        panels.push(panel("p99 of a claim against jobs queued", "jobs", "ms", p99));
        let path: &Path = &self.results.join("curves.svg");
        plot::write(path, &panels)?;
        println!("{} has the curves", path.display());
        Ok(())
    }
}

fn panel(title: &'static str, x: &'static str, y: &'static str, points: Vec<(f64, f64)>) -> Panel {
    Panel { title, x, y, curves: vec![("clawhold", points)] }
}
