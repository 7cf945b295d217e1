//! A server, commands pasted into a shell beside it, and the processes that work with it.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use clawhold_client::Client;
use clawhold_client::api::Json;
use clawhold_client::api::automation::alert::{Alert, AlertQuery};
use clawhold_client::api::automation::inbox::{InboxQuery, Message};
use clawhold_client::api::automation::run::{Run, RunQuery, RunState, StepState};
use clawhold_client::api::job::{Enqueue, Job, NewJob};
use clawhold_client::api::stream::Append;
use rustix::process::Signal;

use crate::lead::{kill, until};
use crate::place::{CLAWHOLD, OPENCLAW, Place, Said, Served, block_on, said, split};

/// The seed commands, as people paste them.
pub(super) const LEADER_HOLDER: &str = r#"openclaw command add --name "leader holder" --trigger "/leader" --source "AWS Production" --message "Show which worker currently holds the lease, when the lease expires, and the token value, so a handoff can be read without guessing who is active.""#;
pub(super) const TWO_LEADERS: &str = r#"openclaw alert-rule add --name "Two Active Leaders" --group-by "role" --window "5m" --action "Alert when two workers report themselves as the active leader in the same window, because duplicated actions from two leaders are hard to merge afterwards""#;
pub(super) const PROMOTE: &str = r##"openclaw auto-fix add --name "Promote Standby" --condition "lease.expired == true" --action "Promote the warm standby by acquiring the lease with a token higher than any seen, then resume from the recorded position so nothing is processed twice or missed" --approval "auto" --notify "#ops-info" --max-runs "6 per day" --cooldown "15m""##;
pub(super) const HAND_OFF: &str = r#"openclaw runbook add --name "Hand Off Leadership" --trigger "/runbook handoff" --tags "automation,leadership" --steps "Confirm the lease is not being renewed. Acquire the lease with a higher token. Resume from the recorded position. Confirm the previous leader has stopped acting.""#;
pub(super) const NO_OWNER: &str = r#"openclaw alert-rule add --name "Job Without Owner" --group-by "queue" --window "5m" --action "Alert when a job is neither running nor queued, so a rebalance has dropped it.""#;
pub(super) const RETURN_HELD: &str = r##"openclaw auto-fix add --name "Return Held Jobs" --condition "worker.leaving = true and worker.held_jobs > 0" --action "Hand every held job back before the worker stops, then confirm the queue owns each one." --approval "auto" --notify "#ops-alerts" --max-runs "20 per day" --cooldown "5m""##;
pub(super) const REBALANCE: &str = r#"openclaw runbook add --name "Rebalance Workers" --trigger "/runbook rebalance" --tags "development,queue" --steps "Stop the leaving worker from taking new work. Hand back its held jobs. Place every returned job. Confirm each job has exactly one owner. Then admit new work.""#;

/// A program that writes its process id and its lease to the file that its first argument names.
pub(super) const LEADER: &str = "#!/bin/sh\n\
    echo \"$$ $CLAWHOLD_ROLE $CLAWHOLD_TOKEN $CLAWHOLD_POSITION\" >> \"$1\"\nexec sleep 1000\n";
/// A program that writes every line it is told to that file.
pub(super) const STANDBY: &str =
    "#!/bin/sh\nwhile read -r line; do echo \"$$ $line\" >> \"$1\"; done\nexec sleep 1000\n";
/// A job that takes long, writes its number first, and leaves when it is told to.
pub(super) const LONG_JOB: &str = "#!/bin/sh\necho \"$CLAWHOLD_JOB\" >> \"$1\"\nexec sleep 1000\n";

/// Processes started so far.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// A server with a home of its own.
pub(super) struct Scene {
    pub(super) served: Served,
    pub(super) place: Place,
}

impl Scene {
    /// Starts a server and pastes these commands.
    pub(super) fn with(seeds: &[&str]) -> Self {
        let place = Place::new();
        let served = place.serve("");
        let scene = Self { served, place };
        for seed in seeds {
            scene.paste(seed);
        }
        scene
    }

    pub(super) fn client(&self) -> Client {
        self.served.client()
    }

    /// Pastes a line into a shell, whatever it comes to.
    pub(super) fn shell(&self, line: &str) -> Said {
        shell(&self.place, line)
    }

    /// Pastes a line that must do well into a shell, and returns what it says.
    pub(super) fn paste(&self, line: &str) -> String {
        let said = self.shell(line);
        assert_eq!(said.code, 0, "{line}\n{}{}", said.out, said.err);
        said.out
    }

    /// Adds jobs to the queue `q` and returns their numbers.
    pub(super) fn add(&self, count: usize) -> Vec<u64> {
        add(&self.client(), count)
    }

    pub(super) fn job(&self, id: u64) -> Job {
        block_on(self.client().job(id)).unwrap()
    }

    /// Appends so many events to the stream `files`.
    pub(super) fn append(&self, count: usize) {
        let events = (1..=count).map(|number| Json::of(&number).unwrap()).collect();
        block_on(self.client().append("files", &Append { events, expected: None })).unwrap();
    }

    /// Waits until so many stand in line for the role `indexer`.
    pub(super) fn candidates(&self, count: u64) {
        until(&format!("{count} in line"), || {
            let role = block_on(self.client().role("indexer")).ok()?;
            (role.holder.is_some() && role.candidates_count == count).then_some(())
        });
    }

    /// Returns the runs of a fix or a runbook, newest first.
    pub(super) fn runs(&self, name: &str) -> Vec<Run> {
        runs(&self.client(), name)
    }

    /// Waits until the latest run of a fix or a runbook has ended, and returns it.
    pub(super) fn ended(&self, name: &str) -> Run {
        until(&format!("the run of {name} to end"), || {
            self.runs(name).into_iter().next().filter(|run| run.state.is_ended())
        })
    }

    /// Returns the messages of a channel, oldest first.
    pub(super) fn inbox(&self, channel: &str) -> Vec<Message> {
        inbox(&self.client(), channel)
    }

    /// Returns the alerts of a rule that are not over.
    pub(super) fn alerts(&self, rule: &str) -> Vec<Alert> {
        let query = AlertQuery { rule: Some(rule.to_owned()), ..AlertQuery::default() };
        block_on(self.client().alerts(&query).collect(100)).unwrap()
    }
}

pub(super) fn runs(client: &Client, name: &str) -> Vec<Run> {
    let query = RunQuery { name: Some(name.to_owned()), ..RunQuery::default() };
    block_on(client.runs(&query).collect(100)).unwrap()
}

pub(super) fn inbox(client: &Client, channel: &str) -> Vec<Message> {
    let query = InboxQuery { channel: Some(channel.to_owned()), ..InboxQuery::default() };
    block_on(client.inbox(&query).collect(1_000)).unwrap()
}

pub(super) fn add(client: &Client, count: usize) -> Vec<u64> {
    let jobs = (0..count).map(|_| NewJob::new("q", Json::null())).collect();
    let accepted = block_on(client.enqueue(&Enqueue { jobs })).unwrap().reply.jobs;
    accepted.into_iter().map(|job| job.id).collect()
}

/// Pastes a line into a shell that finds both names of the program.
pub(super) fn shell(place: &Place, line: &str) -> Said {
    let bin = place.path().join("bin");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(OPENCLAW, bin.join("openclaw")).unwrap();
        std::os::unix::fs::symlink(CLAWHOLD, bin.join("clawhold")).unwrap();
    }
    let mut command = place.command("/bin/sh");
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).args(["-c", line]);
    said(command, b"")
}

/// Checks that every step of a run was taken once and did what it says, each after the one before.
pub(super) fn assert_in_order(run: &Run, operations: &[&str]) {
    let named: Vec<&str> = run.steps.iter().map(|step| step.operation.as_str()).collect();
    assert_eq!(named, operations);
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    for step in &run.steps {
        assert_eq!((step.state, step.attempts), (StepState::Done, 1), "{run:#?}");
    }
    for pair in run.steps.windows(2) {
        assert!(pair[0].ended <= pair[1].started, "{run:#?}");
    }
}

/// A `lead` or `work` that runs until it is dropped, and what its programs wrote.
pub(super) struct Process {
    pub(super) child: Child,
    written: PathBuf,
}

impl Process {
    /// Starts a `lead` of the role `indexer`.
    pub(super) fn lead(scene: &Scene, name: &str, flags: &str, script: &str) -> Self {
        let words = format!("lead indexer --label {name} {flags}");
        Self::start(&scene.place, &[&scene.served.url], name, &words, script)
    }

    /// Starts a worker of the queue `q`.
    pub(super) fn work(scene: &Scene, name: &str, flags: &str, script: &str) -> Self {
        let words = format!("work q --label {name} {flags}");
        Self::start(&scene.place, &[&scene.served.url], name, &words, script)
    }

    /// Starts the program with these words at these servers; its own program gets a file to write.
    pub(super) fn start(
        place: &Place,
        servers: &[&str],
        name: &str,
        words: &str,
        script: &str,
    ) -> Self {
        // A file of its own for each: one that is run cannot be written.
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let program = place.script(&format!("{name}-{number}.sh"), script);
        let written = place.path().join(format!("{name}-{number}.txt"));
        let mut command = place.command(CLAWHOLD);
        command.args(split(words)).args(["--server", &servers.join(",")]);
        command.arg("--").arg(program).arg(&written);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, written }
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill(self.child.id(), signal);
    }

    /// Kills it and waits until it is gone.
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns the whole lines that its programs wrote.
    pub(super) fn lines(&self) -> Vec<String> {
        let written = fs::read_to_string(&self.written).unwrap_or_default();
        let whole = written.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(str::to_owned).collect()
    }

    /// Waits until its programs have written a line that contains `text`, and returns it.
    pub(super) fn wrote(&self, text: &str) -> String {
        until(&format!("{text:?} in {}", self.written.display()), || {
            self.lines().into_iter().find(|line| line.contains(text))
        })
    }

    /// Waits until its programs have written so many lines.
    pub(super) fn wrote_lines(&self, count: usize) -> Vec<String> {
        until(&format!("{count} lines in {}", self.written.display()), || {
            Some(self.lines()).filter(|lines| lines.len() >= count)
        })
    }

    /// Waits until a standby was told that it leads, and returns the line.
    pub(super) fn promoted(&self) -> Promoted {
        let line = self.wrote("promoted token=");
        Promoted { token: number_after(&line, "token="), line }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be stopped, and it may be gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a standby was told when it became the leader.
pub(super) struct Promoted {
    pub(super) token: u64,
    pub(super) line: String,
}

/// Returns the token that a leader wrote: `PID indexer TOKEN`.
pub(super) fn token_of(line: &str) -> u64 {
    line.split(' ').nth(2).unwrap().parse().unwrap()
}

fn number_after(line: &str, mark: &str) -> u64 {
    let (_, rest) = line.split_once(mark).unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}
