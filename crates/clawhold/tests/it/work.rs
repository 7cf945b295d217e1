//! `work`: one program for each job, and what its end means.

use std::fs;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clawhold_client::api::Json;
use clawhold_client::api::job::{CancelJobs, Enqueue, Job, JobQuery, JobState, NewJob};
use rustix::process::Signal;

use crate::lead::{is_alive, kill, until};
use crate::place::{CLAWHOLD, Place, Served, block_on, split, wait};

/// Workers started so far.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// A worker that runs until it is dropped.
struct Work(Child);

impl Work {
    fn start(place: &Place, served: &Served, flags: &str, script: &str) -> Self {
        // A file of its own for each: one that is run cannot be written.
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let program = place.script(&format!("job-{number}.sh"), script);
        let mut command = place.command(CLAWHOLD);
        command.args(["work", "q", "--server", &served.url]).args(split(flags));
        command.arg("--").arg(program);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn add(served: &Served, payloads: &[&str]) -> Vec<u64> {
    let jobs = payloads.iter().map(|payload| NewJob::new("q", Json::parse(*payload).unwrap()));
    let enqueue = Enqueue { jobs: jobs.collect() };
    let accepted = block_on(served.client().enqueue(&enqueue)).unwrap().reply.jobs;
    accepted.into_iter().map(|job| job.id).collect()
}

fn job(served: &Served, id: u64) -> Job {
    block_on(served.client().job(id)).unwrap()
}

/// Waits until the job is in this state, and returns it.
fn becomes(served: &Served, id: u64, state: JobState) -> Job {
    until(&format!("job {id} to be {}", state.as_str()), || {
        Some(job(served, id)).filter(|job| job.state == state)
    })
}

#[test]
fn each_exit_code_has_its_meaning_and_results_are_json_or_text() {
    let place = Place::new();
    let served = place.serve("");
    let script = "#!/bin/sh\nread -r what\ncase $what in\n\
        text) echo fine > \"$CLAWHOLD_RESULT_FILE\";;\n\
        '{\"a\":1}') echo '[1, 2]' > \"$CLAWHOLD_RESULT_FILE\";;\n\
        nothing) ;;\n\
        later) exit 75;;\n\
        dead) echo hopeless >&2; exit 65;;\n\
        fail) echo first >&2; echo last >&2; exit 3;;\n\
        back) exit 99;;\n\
        esac\n";
    let payloads =
        ["\"text\"", "{\"a\":1}", "\"nothing\"", "\"later\"", "\"dead\"", "\"fail\"", "\"back\""];
    let ids = add(&served, &payloads);
    let _work = Work::start(&place, &served, "--later 1h", script);
    let result = |id| becomes(&served, id, JobState::Completed).result.map(|r| r.get().to_owned());
    assert_eq!(result(ids[0]).as_deref(), Some("\"fine\\n\""));
    assert_eq!(result(ids[1]).as_deref(), Some("[1, 2]"));
    assert_eq!(result(ids[2]), None);
    let later = becomes(&served, ids[3], JobState::Scheduled);
    assert_eq!((later.attempts, later.errors.len()), (0, 0));
    let dead = becomes(&served, ids[4], JobState::Failed);
    assert_eq!(dead.errors[0].error, "the program ended with code 65: hopeless");
    let failed = becomes(&served, ids[5], JobState::Scheduled);
    assert_eq!(failed.attempts, 1);
    assert_eq!(failed.errors[0].error, "the program ended with code 3: first\nlast");
    let back = until("a hand-back", || Some(job(&served, ids[6])).filter(|job| job.hand_backs > 0));
    assert_eq!(back.attempts, 0);
}

#[test]
fn twenty_long_jobs_are_elsewhere_within_a_second_of_the_hand_back_and_before_newer_ones() {
    let place = Place::new();
    let served = place.serve("");
    let ids = add(&served, &["1"; 20]);
    let begun = place.path().join("begun");
    fs::create_dir(&begun).unwrap();
    // Leaves a checkpoint in one step, as a program does that can be resumed.
    let script = format!(
        "#!/bin/sh\necho \"{{\\\"at\\\":$CLAWHOLD_JOB}}\" > \"$CLAWHOLD_CHECKPOINT_FILE.new\"\n\
        mv \"$CLAWHOLD_CHECKPOINT_FILE.new\" \"$CLAWHOLD_CHECKPOINT_FILE\"\n\
        : > \"{}/$CLAWHOLD_JOB\"\nexec sleep 1000\n",
        begun.display()
    );
    let script = script.as_str();
    let mut leaving = Work::start(&place, &served, "--concurrency 20 --label leaving", script);
    let all = |state| {
        let wanted = JobQuery {
            queue: Some("q".to_owned()),
            state: Some(state),
            limit: Some(1_000),
            ..JobQuery::default()
        };
        block_on(served.client().jobs(&wanted).collect(1_000)).unwrap()
    };
    until("20 jobs to run", || (all(JobState::Running).len() == 20).then_some(()));
    // A job runs by the record before its program has come that far.
    until("20 checkpoints", || (fs::read_dir(&begun).unwrap().count() == 20).then_some(()));
    let files = || {
        let work = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        work.filter(|entry| entry.file_name().to_string_lossy().starts_with("clawhold-work-"))
            .count()
    };
    assert!(files() > 0);
    let newer = add(&served, &["2"; 5]);
    let _staying = Work::start(&place, &served, "--concurrency 20 --label staying", script);
    until("the newer jobs to run", || (all(JobState::Running).len() == 25).then_some(()));

    kill(leaving.0.id(), Signal::TERM);
    assert_eq!(wait(&mut leaving.0), Some(0));
    let since = Instant::now();
    until("every job to be placed or next in line", || {
        let placed = all(JobState::Running).len() + all(JobState::Returned).len();
        (placed == 25).then_some(())
    });
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
    for id in &ids {
        let job = job(&served, *id);
        assert_eq!((job.hand_backs, job.attempts, job.losses), (1, 0, 0), "job {id}");
        let checkpoint = job.checkpoint.unwrap();
        assert_eq!(checkpoint.get(), format!("{{\"at\":{id}}}"));
    }
    assert_eq!(newer.len(), 5);
    let audit = block_on(served.client().audit(Some("q"))).unwrap();
    assert!(audit.ok, "{:?}", audit.mismatches);
}

#[test]
fn a_checkpoint_is_there_for_the_next_holder() {
    let place = Place::new();
    let served = place.serve("");
    let ids = add(&served, &["1"]);
    let script = "#!/bin/sh\nif [ -s \"$CLAWHOLD_CHECKPOINT_FILE\" ]; then\n\
        cp \"$CLAWHOLD_CHECKPOINT_FILE\" \"$CLAWHOLD_RESULT_FILE\"; exit 0; fi\n\
        echo half > \"$CLAWHOLD_CHECKPOINT_FILE\"; exit 99\n";
    let _work = Work::start(&place, &served, "", script);
    let done = becomes(&served, ids[0], JobState::Completed);
    assert_eq!(done.result.unwrap().get(), "\"half\\n\"");
    assert_eq!((done.hand_backs, done.claim), (1, 2));
}

#[test]
fn the_programs_of_a_killed_worker_end_with_all_they_started() {
    let place = Place::new();
    let served = place.serve("");
    add(&served, &["1"]);
    let pids = place.path().join("pids");
    let script =
        format!("#!/bin/sh\nsleep 1000 &\necho \"$$ $!\" > {}\nsleep 1000\n", pids.display());
    let mut work = Work::start(&place, &served, "", &script);
    let line =
        until("the program", || fs::read_to_string(&pids).ok().filter(|s| s.ends_with('\n')));
    work.0.kill().unwrap();
    for pid in line.split_whitespace() {
        let pid = pid.parse().unwrap();
        until(&format!("process {pid} to end"), || (!is_alive(pid)).then_some(()));
    }
}

#[test]
fn a_cancelled_job_stops_its_program_and_a_slow_one_fails_when_its_time_is_up() {
    let place = Place::new();
    let served = place.serve("");
    let ids = add(&served, &["1"]);
    let script = "#!/bin/sh\nread -r what\n[ \"$what\" = 2 ] && sleep 1000\nexec sleep 1000\n";
    let _work = Work::start(&place, &served, "--timeout 30s --ttl 1s", script);
    becomes(&served, ids[0], JobState::Running);
    let cancel = CancelJobs { jobs: ids.clone(), grace_ms: None };
    block_on(served.client().cancel_jobs(&cancel)).unwrap();
    becomes(&served, ids[0], JobState::Cancelled);
    drop(_work);

    let ids = add(&served, &["2"]);
    let _work = Work::start(&place, &served, "--timeout 200ms", script);
    let failed = becomes(&served, ids[0], JobState::Scheduled);
    assert!(failed.errors[0].error.starts_with("the time was up; "), "{:?}", failed.errors);
}

#[test]
fn a_worker_that_cannot_work_says_why() {
    let place = Place::new();
    for (line, why) in [
        ("work q", "<CMD>"),
        ("work -- true", "<QUEUE>"),
        ("work q --concurrency 0 -- true", "1..=1000"),
        ("work q --ttl 5 -- true", "5s or 5ms"),
        ("work ../q -- true", "queue"),
    ] {
        let said = place.run(line);
        assert_eq!(said.code, 2, "{line}: {}", said.err);
        assert!(said.err.contains(why), "{line}: {}", said.err);
    }
}
