//! `drill`: a leader dies, a standby resumes and workers come and go, on real files, with proof.
//!
//! Everything runs as on any other day: real servers on a scratch store, real workers with a real
//! program, the SDK and the API. Only the faults are on purpose.

mod announcer;
mod cluster;
mod faults;
mod files;
mod index;
pub(crate) mod indexer;
mod path_text;
mod plan;
mod process;
pub(crate) mod program;
mod saying;
mod timeline;
mod verdict;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clawhold_client::api::queue::SetQueue;
use clawhold_client::api::role::SetRole;
use clawhold_client::api::stream::SetStream;
use serde::Serialize;

use self::announcer::Announcer;
use self::cluster::Cluster;
use self::faults::Caught;
use self::files::{Files, Found};
use self::plan::{Plan, Stage};
use self::timeline::{Event, millis};
use self::verdict::Check;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::{self, interrupted};
use crate::output::{Progress, Reply, Style};
use crate::text::counted;

/// The role that the indexers take turns in.
const ROLE: &str = "indexer";
/// The stream of files.
const STREAM: &str = "files";
/// The queue of jobs, one for each file.
const QUEUE: &str = "index";
/// Milliseconds of the role's lease.
const ROLE_TTL_MS: u64 = 1_000;
/// For how long a server holds the log without writing.
const HOLD_ON_LOG: &str = "1s";
/// How many workers start.
const WORKERS: u32 = 4;
/// How long no job may end before the drill gives up.
const STALL: Duration = Duration::from_secs(120);
/// How often the scratch folder is tried to be removed.
const REMOVALS_MAX: u32 = 100;
/// How often a line is written when there is no terminal to draw on.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Watch a leader die, a standby resume and workers come and go, on real files
///
/// Starts real processes on a scratch store: two servers, two indexers of one role and four
/// workers that find SHA-256, size and lines of every file below DIR. While they work, the leader
/// is frozen and its late write refused, the next leader is killed, one worker leaves, one is
/// killed, and the active server is killed. Then every result is compared with a plain pass over
/// the same files. Nothing is written below DIR. With --store postgres://… or nats://… the store is
/// a schema or a stream of its own there, which is removed in the end.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  clawhold drill\n  clawhold drill ~/Documents --seed 7\n\n\
    Ends with 0 only if every file was indexed exactly once, no stale write was accepted and \
    every job had one owner.")]
pub(crate) struct Args {
    /// The folder whose files are indexed
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Repeats the order of faults of an earlier drill
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Take only the first N files
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    files: Option<u64>,
    /// Keep the scratch store and the logs of all processes
    #[arg(long)]
    keep: bool,
}

/// What a drill found, as `--json` writes it.
#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    seed: u64,
    files: usize,
    took_ms: u64,
    checks: Vec<Check>,
    timeline: Vec<Event>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<PathBuf>,
}

/// Runs a drill.
///
/// # Errors
/// When the drill could not be carried out; a broken promise is no error but a verdict.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    // Whichever way this ends, dropping the drill ends every process that it has started.
    tokio::select! {
        done = Box::pin(drill(args, context)) => done,
        () = interrupted() => Err(interrupt::failure(true)),
    }
}

async fn drill(args: Args, context: &Context) -> Result<Exit, Failure> {
    let root = args.dir.canonicalize().map_err(|error| no_folder(&args.dir, &error))?;
    let files_max = args.files.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
    let files = files::list(&root, files_max).map_err(|error| no_folder(&args.dir, &error))?;
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let scratch = Scratch::new(args.keep)
        .map_err(|error| Failure::failed("cannot make a scratch folder").because(&error))?;
    let schema = OwnLog::new(context, args.keep)?;
    let store = schema.as_ref().map(|schema| schema.url.as_str());
    introduce(context, &root, &files, seed);
    let screen = Screen::new(context);
    let outcome = carry_out(seed, &files.found, (&scratch.path, store), &screen).await;
    let kept = args.keep.then(|| scratch.path.clone());
    screen.progress.clear();
    if let Some(kept) = &kept {
        say_kept(context, kept, store);
    }
    let outcome = outcome?;
    Ok(report(context, seed, files.found.len(), outcome, kept))
}

fn no_folder(folder: &Path, error: &std::io::Error) -> Failure {
    let shown = path_text::encode(folder);
    Failure::usage(format!("cannot list the folder {shown:?}"))
        .because(error)
        .next("name a folder that you may read, such as `clawhold drill ~/Documents`")
}

fn introduce(context: &Context, root: &Path, files: &Files, seed: u64) {
    let count = u64::try_from(files.found.len()).unwrap_or(u64::MAX);
    let mut text = format!("{} below {}", counted(count, "file"), path_text::encode(root));
    let left_out: Vec<String> =
        files.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    if !left_out.is_empty() {
        text.push_str(&format!(" ({} left out)", left_out.join(", ")));
    }
    context.output.say(Style::Plain, &format!("{text}; seed {seed}"));
}

fn say_kept(context: &Context, kept: &Path, store: Option<&str>) {
    let shown = kept.display();
    let store = store.map_or_else(|| format!("sqlite:{shown}/log.db"), clawhold_server::shown);
    context.output.note(&format!(
        "kept {shown}: one log for each process, and the store; look at it with \
         `clawhold --store '{store}' role history {ROLE}`"
    ));
}

/// A log of the drill's own on the engine that was named. It goes when this is dropped, unless it is
/// kept.
struct OwnLog {
    url: String,
    keep: bool,
}

impl OwnLog {
    /// Returns a name that nobody uses, when the flags name a server that keeps several logs.
    fn new(context: &Context, keep: bool) -> Result<Option<Self>, Failure> {
        let given = context.place().store.as_deref();
        let Some(store) = given.filter(|store| !store.starts_with("sqlite:")) else {
            return Ok(None);
        };
        let drawn = format!("{:x}", fastrand::u64(..));
        let url = clawhold_server::scratch_url(store, &drawn).map_err(|error| {
            Failure::usage("cannot drill on this store")
                .because(&error)
                .next("give --store postgres://USER@HOST/DATABASE, --store nats://HOST, or none")
        })?;
        Ok(Some(Self { url, keep }))
    }
}

impl Drop for OwnLog {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        // On a thread that may wait; what cannot be removed is named for the operator.
        let url = self.url.clone();
        let removed = std::thread::spawn(move || clawhold_server::remove_scratch(&url)).join();
        if !matches!(removed, Ok(Ok(()))) {
            let store = clawhold_server::shown(&self.url);
            tracing::warn!(
                store,
                "the drill's own log could not be removed; remove it with the tools of its engine"
            );
        }
    }
}

/// The folder in which everything happens. It goes when this is dropped, unless it is kept.
struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    fn new(keep: bool) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("clawhold-drill-").tempdir()?;
        Ok(Self { path: folder.keep(), keep })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The last processes are about to end, and remove or write files while this looks.
        for _ in 0..REMOVALS_MAX {
            if self.keep || !self.path.exists() {
                return;
            }
            if std::fs::remove_dir_all(&self.path).is_err() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// What a drill came to.
struct Outcome {
    checks: Vec<Check>,
    timeline: timeline::Timeline,
    took: Duration,
}

async fn carry_out(
    seed: u64,
    files: &[Found],
    (scratch, store): (&Path, Option<&str>),
    screen: &Screen<'_>,
) -> Result<Outcome, Failure> {
    let plan = Plan::new(seed, files.len());
    let mut cluster = Cluster::start(scratch, store).await?;
    prepare(&cluster, files.len()).await?;
    cluster.start_indexer().await?;
    cluster.start_indexer().await?;
    cluster.start_workers()?;
    let names = files.iter().map(|file| path_text::encode(&file.path)).collect();
    let announcer = Announcer::start(cluster.client.clone(), names);
    let mut drill = Drill { cluster, announcer, screen, total: files.len() };
    let mut caught = Vec::new();
    for stage in &plan.stages {
        caught.extend(drill.stage(stage).await?);
    }
    drill.announcer.release(plan.rest.end);
    drill.wait_for(files.len()).await?;
    drill.cluster.happened(Event::new("drill", format!("{} done", counted_jobs(files.len()))));
    drill.show("comparing with a plain pass");
    let checks = verdict::check(&drill.cluster, files, &caught).await?;
    let took = drill.cluster.timeline.elapsed();
    Ok(Outcome { checks, timeline: drill.cluster.timeline, took })
}

fn counted_jobs(count: usize) -> String {
    counted(u64::try_from(count).unwrap_or(u64::MAX), "job")
}

async fn prepare(cluster: &Cluster, files_count: usize) -> Result<(), Failure> {
    let client = &cluster.client;
    let failed = |error: clawhold_client::ClientError| {
        cluster.failure("cannot set up role, stream and queue").because(&error)
    };
    // Every job must still be there when the results are compared.
    let kept = u64::try_from(files_count).unwrap_or(u64::MAX).saturating_add(1_000);
    let queue = SetQueue {
        retain_count: Some(kept.max(100_000)),
        // A busy machine may make workers late more often than a drill makes them die.
        losses_max: Some(100),
        ..SetQueue::default()
    };
    let role = SetRole { ttl_ms: Some(ROLE_TTL_MS), ..SetRole::default() };
    client.set_role(ROLE, &role).await.map_err(failed)?;
    client.set_stream(STREAM, &SetStream::default()).await.map_err(failed)?;
    client.set_queue(QUEUE, &queue).await.map_err(failed)?;
    Ok(())
}

/// A drill under way.
struct Drill<'a> {
    cluster: Cluster,
    announcer: Announcer,
    screen: &'a Screen<'a>,
    total: usize,
}

impl Drill<'_> {
    async fn stage(&mut self, stage: &Stage) -> Result<Option<Caught>, Failure> {
        // The rest of the stage's files is announced as the fault happens, so that it meets work.
        self.announcer.release(stage.after_completed);
        self.wait_for(stage.after_completed).await?;
        self.show(stage.fault.as_str());
        let caught = faults::make(stage, &mut self.cluster, &self.announcer).await?;
        self.show("");
        Ok(caught)
    }

    /// Waits until `count` jobs have ended well.
    async fn wait_for(&mut self, count: usize) -> Result<(), Failure> {
        let mut last = (self.announcer.completed(), Instant::now());
        loop {
            self.cluster.take_in();
            self.show("");
            let completed = self.announcer.completed();
            if count <= completed {
                return Ok(());
            }
            if let Some(trouble) = self.announcer.trouble() {
                return Err(self
                    .cluster
                    .failure("cannot announce files")
                    .because(&std::io::Error::other(trouble)));
            }
            if completed != last.0 {
                last = (completed, Instant::now());
            } else if STALL < last.1.elapsed() {
                let text = format!("no job has ended for {STALL:?}, {completed} of {count} have");
                return Err(self.cluster.failure(&text));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn show(&mut self, what: &str) {
        for line in self.cluster.unshown.drain(..) {
            self.screen.line(&line);
        }
        let leader = self.cluster.leader();
        let leader = leader.map(|(place, token)| {
            format!(", {} leads with token {token}", self.cluster.indexers[place].process.name)
        });
        let what = if what.is_empty() { String::new() } else { format!(" · {what}") };
        self.screen.draw(&format!(
            "{} of {} files indexed, {} announced{}{what}",
            self.announcer.completed(),
            self.total,
            self.announcer.announced(),
            leader.unwrap_or_default(),
        ));
    }
}

/// Where a drill shows how it goes: a line drawn again and again on a terminal, now and then a
/// line elsewhere.
struct Screen<'a> {
    context: &'a Context,
    progress: Progress<'a>,
    last: std::cell::Cell<Instant>,
}

impl<'a> Screen<'a> {
    fn new(context: &'a Context) -> Self {
        let progress = context.output.progress();
        Self { context, progress, last: std::cell::Cell::new(Instant::now()) }
    }

    fn line(&self, text: &str) {
        self.progress.clear();
        self.context.output.note(text);
    }

    fn draw(&self, text: &str) {
        use std::io::IsTerminal;
        self.progress.show(text);
        if LINE_EVERY <= self.last.get().elapsed() && !std::io::stderr().is_terminal() {
            self.last.set(Instant::now());
            self.context.output.note(text);
        }
    }
}

/// Prints what a drill found, and returns how the program ends.
fn report(
    context: &Context,
    seed: u64,
    files: usize,
    outcome: Outcome,
    kept: Option<PathBuf>,
) -> Exit {
    let ok = outcome.checks.iter().all(|check| check.ok);
    let exit = if ok { Exit::Done } else { Exit::Failed };
    let took = outcome.took.as_secs_f64();
    let verdict = if ok {
        format!("verdict: ok. {} in {took:.1} s, seed {seed}", counted_jobs(files))
    } else {
        let failed = outcome.checks.iter().filter(|check| !check.ok).count();
        let failed = counted(u64::try_from(failed).unwrap_or(u64::MAX), "promise");
        format!("verdict: NOT ok, {failed} broken; repeat it with --seed {seed} --keep")
    };
    let table = outcome.timeline.table();
    let report = Report {
        ok,
        seed,
        files,
        took_ms: millis(outcome.took),
        checks: outcome.checks,
        timeline: outcome.timeline.events().to_vec(),
        kept,
    };
    let mut reply = Reply::of(&report).line("").table(table).line("");
    for check in &report.checks {
        let (mark, style) = if check.ok { ("ok ", Style::Plain) } else { ("NOT", Style::Bad) };
        reply = reply.styled(style, format!("{mark} {}: {}", check.name, check.detail));
    }
    let style = if ok { Style::Good } else { Style::Bad };
    context.output.reply(reply.line("").styled(style, verdict).exit(exit))
}
