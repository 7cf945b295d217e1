//! One run of a job's program, from its start to what its end means.

use std::process::{Command, Stdio};
use std::time::Duration;

use clawhold_client::api::Json;
use clawhold_client::api::job::Outcome;
use clawhold_client::{Job, StopReason};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::Settings;
use super::files::{Files, text_of};
use super::launcher::Program;
use super::outcome::{ERROR_BYTES_MAX, Meaning, error_text};
use crate::hidden;
use crate::lead::control::End;

/// How often it is looked for a new checkpoint.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
/// The time from SIGTERM to SIGKILL for a program whose time is up or whose job was cancelled.
const KILL_AFTER: Duration = Duration::from_secs(5);
/// How long the rest of standard error is waited for after the program ended.
const STDERR_PATIENCE: Duration = Duration::from_millis(200);
/// Bytes of standard error that are remembered.
const STDERR_BYTES_MAX: usize = 2 * ERROR_BYTES_MAX;

/// Runs the program for `job` and returns what became of it.
pub(super) async fn run(job: Job, settings: &Settings) -> Outcome {
    let failed = |what: &str, error: std::io::Error| Outcome::Failed {
        error: format!("{what}: {error}"),
        retry_after_ms: None,
    };
    let mut files = match Files::create(settings.folder.path(), job.claimed()) {
        Ok(files) => files,
        Err(error) => return failed("cannot write the checkpoint file", error),
    };
    let mut program = match settings.launcher.launch(command(&job, settings, &files)).await {
        Ok(program) => program,
        Err(error) => return failed("cannot start a process", error),
    };
    if let Some(input) = program.child.stdin.take() {
        tokio::spawn(feed(input, text_of(job.payload())));
    }
    let stderr = program.child.stderr.take().map(|stderr| tokio::spawn(listen(stderr)));
    let mut watch = Watch::new(&job, settings);
    let end = watch.until_end(&mut program, &mut files).await;
    // What the program left running in its group ends with it.
    drop(program);
    let stderr = tail(stderr).await;
    outcome(&watch, end, &stderr, &mut files)
}

fn command(job: &Job, settings: &Settings, files: &Files) -> Command {
    let mut command = hidden::bound_command(&settings.command);
    let output = if settings.json { std::io::stderr().into() } else { Stdio::inherit() };
    command
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(Stdio::piped())
        .env("CLAWHOLD_JOB", job.id().to_string())
        .env("CLAWHOLD_CLAIM", job.claim().to_string())
        .env("CLAWHOLD_QUEUE", job.queue())
        .env("CLAWHOLD_ATTEMPT", job.attempt().to_string())
        .env("CLAWHOLD_RESULT_FILE", &files.result)
        .env("CLAWHOLD_CHECKPOINT_FILE", &files.checkpoint)
        .env("CLAWHOLD_SERVER", settings.servers.as_str());
    if let Some(briefing) = &settings.briefing {
        command
            .env("CLAWHOLD_AGENT", &briefing.agent)
            .env("CLAWHOLD_AGENT_VERSION", briefing.version().to_string())
            .env("CLAWHOLD_AGENT_MESSAGES", &briefing.file);
    }
    match time_limit(job, settings) {
        Some(limit) => command.env("CLAWHOLD_TIMEOUT_MS", limit.as_millis().to_string()),
        None => command.env_remove("CLAWHOLD_TIMEOUT_MS"),
    };
    command
}

fn time_limit(job: &Job, settings: &Settings) -> Option<Duration> {
    [job.timeout(), settings.timeout].into_iter().flatten().min()
}

/// Writes the payload. A program that does not read it all has its reasons.
async fn feed(mut input: ChildStdin, payload: String) {
    let _ = input.write_all(payload.as_bytes()).await;
}

/// Passes standard error on and returns the end of it.
async fn listen(mut stderr: ChildStderr) -> Vec<u8> {
    let mut own = tokio::io::stderr();
    let mut tail = Vec::new();
    let mut buffer = [0; 4_096];
    while let Ok(count) = stderr.read(&mut buffer).await
        && count > 0
    {
        // Nobody may listen to this worker's standard error; the job still gets its error text.
        let _ = own.write_all(&buffer[..count]).await;
        tail.extend_from_slice(&buffer[..count]);
        let excess = tail.len().saturating_sub(STDERR_BYTES_MAX);
        tail.drain(..excess);
    }
    let _ = own.flush().await;
    tail
}

async fn tail(stderr: Option<JoinHandle<Vec<u8>>>) -> String {
    let Some(mut stderr) = stderr else { return String::new() };
    match tokio::time::timeout(STDERR_PATIENCE, &mut stderr).await {
        Ok(read) => String::from_utf8_lossy(&read.unwrap_or_default()).into_owned(),
        Err(_) => {
            // Something that outlived the group holds the pipe.
            stderr.abort();
            String::new()
        }
    }
}

/// Watches over one run: what asks it to end, and its checkpoints.
struct Watch<'a> {
    job: &'a Job,
    time_up: Option<Instant>,
    kill_at: Option<Instant>,
    stopped: Option<StopReason>,
    leaving: bool,
    timed_out: bool,
    sending: Option<JoinHandle<()>>,
    /// A checkpoint that could not be kept was told once.
    complained: bool,
}

impl<'a> Watch<'a> {
    fn new(job: &'a Job, settings: &Settings) -> Self {
        let time_up = time_limit(job, settings).and_then(|limit| Instant::now().checked_add(limit));
        Self {
            job,
            time_up,
            kill_at: None,
            stopped: None,
            leaving: false,
            timed_out: false,
            sending: None,
            complained: false,
        }
    }

    async fn until_end(&mut self, program: &mut Program, files: &mut Files) -> End {
        let mut look = interval(CHECKPOINT_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let job = self.job;
        loop {
            tokio::select! {
                status = program.child.wait() => {
                    return status.map_or(End::Code(u8::MAX), End::of);
                }
                reason = job.stopped(), if self.stopped.is_none() => {
                    self.stopped = Some(reason);
                    match reason {
                        StopReason::Superseded
                        | StopReason::SessionOver
                        | StopReason::DrainDeadline => program.signal(Signal::KILL),
                        StopReason::Cancelled => self.terminate(program),
                    }
                }
                _ = job.drain_asked(), if !self.leaving => {
                    self.leaving = true;
                    terminate(program);
                }
                () = at(self.time_up), if !self.timed_out => {
                    self.timed_out = true;
                    self.terminate(program);
                }
                () = at(self.kill_at) => {
                    self.kill_at = None;
                    program.signal(Signal::KILL);
                }
                _ = look.tick() => self.send_checkpoint(files),
            }
        }
    }

    fn terminate(&mut self, program: &Program) {
        terminate(program);
        self.kill_at = Instant::now().checked_add(KILL_AFTER);
    }

    /// Sends a checkpoint that the program has changed, one at a time, without holding up the
    /// watch.
    fn send_checkpoint(&mut self, files: &mut Files) {
        if self.sending.as_ref().is_some_and(|sending| !sending.is_finished()) {
            return;
        }
        let Some(checkpoint) = self.new_checkpoint(files) else { return };
        let job = self.job.clone();
        self.sending = Some(tokio::spawn(async move {
            if let Err(error) = job.checkpoint(checkpoint).await {
                tracing::warn!(job = job.id(), %error, "a checkpoint was not kept");
            }
        }));
    }

    fn new_checkpoint(&mut self, files: &mut Files) -> Option<Json> {
        match files.changed_checkpoint() {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                if !self.complained {
                    self.complained = true;
                    tracing::warn!(job = self.job.id(), "the checkpoint file {error}");
                }
                None
            }
        }
    }
}

fn terminate(program: &Program) {
    program.signal(Signal::TERM);
    // A stopped program does not see SIGTERM.
    program.signal(Signal::CONT);
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn outcome(watch: &Watch<'_>, end: End, stderr: &str, files: &mut Files) -> Outcome {
    let was_asked = watch.leaving || watch.stopped.is_some();
    let meaning = Meaning::of(end, was_asked);
    if watch.timed_out && meaning != Meaning::Done {
        let error = format!("the time was up; {}", error_text(end, stderr));
        return Outcome::Failed { error: cut(error), retry_after_ms: None };
    }
    match meaning {
        Meaning::Done => match files.read_result() {
            Ok(result) => Outcome::Completed { result },
            // The work is done; doing it again would not make the result smaller.
            Err(error) => Outcome::Dead { error: cut(format!("the result file {error}")) },
        },
        Meaning::Later => Outcome::Snoozed {
            for_ms: 0,
            checkpoint: files.changed_checkpoint().unwrap_or_default(),
        },
        Meaning::Dead => Outcome::Dead { error: cut(error_text(end, stderr)) },
        Meaning::HandBack => Outcome::HandedBack {
            // One that cannot be kept leaves the one before in force.
            checkpoint: files.changed_checkpoint().unwrap_or_default(),
            reason: Some(format!("the program ended with {end}")),
        },
        Meaning::Failed => {
            Outcome::Failed { error: cut(error_text(end, stderr)), retry_after_ms: None }
        }
    }
}

/// Returns `text` cut to what the server takes.
fn cut(mut text: String) -> String {
    let mut length = text.len().min(ERROR_BYTES_MAX);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    text.truncate(length);
    text
}
