//! The active server dies in the middle of a run, and the standby goes on with it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use clawhold_client::Client;
use clawhold_client::api::automation::run::{Run, RunState, StepState};

use super::runbook::REBALANCING;
use super::scene::{LONG_JOB, Process, REBALANCE, add, assert_in_order, inbox, runs, shell};
use crate::lead::until;
use crate::place::{CLAWHOLD, PATIENCE, Place, block_on};

/// One server of two on one store.
struct Member {
    child: Child,
    url: String,
}

impl Member {
    fn start(place: &Place) -> Self {
        let mut command = place.command(CLAWHOLD);
        command.args(["serve", "--listen", "127.0.0.1:0", "--json", "--hold", "1s"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let started: serde_json::Value = serde_json::from_str(&line).unwrap();
        Self { child, url: started["url"].as_str().unwrap().to_owned() }
    }

    fn client(&self) -> Client {
        Client::connect(&[&self.url], None).unwrap()
    }

    fn wait_active(&self) {
        until("a server to be active", || {
            block_on(self.client().is_active(PATIENCE)).ok().filter(|active| *active)
        });
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two servers, the first of which is active, and a home.
fn pair() -> (Place, Member, Member) {
    let place = Place::new();
    let first = Member::start(&place);
    first.wait_active();
    let second = Member::start(&place);
    (place, first, second)
}

fn paste(place: &Place, line: &str) {
    let said = shell(place, line);
    assert_eq!(said.code, 0, "{line}\n{}{}", said.out, said.err);
}

fn latest(server: &Member, name: &str) -> Option<Run> {
    runs(&server.client(), name).into_iter().next()
}

/// Waits until a step of the latest run is in this state.
fn step_is(server: &Member, name: &str, step: usize, state: StepState) {
    until(&format!("step {step} of {name} to be {state:?}"), || {
        let run = latest(server, name)?;
        (run.steps[step].state == state).then_some(())
    });
}

fn ended(server: &Member, name: &str) -> Run {
    until(&format!("the run of {name} to end"), || {
        latest(server, name).filter(|run| run.state.is_ended())
    })
}

const PAUSING: &str = "openclaw runbook add --name Pausing --trigger /pausing \
    --step 'notify.send channel=#before text=begun' --step 'queue.pause queue=q'";

#[test]
fn a_step_that_a_person_confirms_is_confirmed_at_the_next_server_and_nothing_is_done_twice() {
    let (place, mut first, second) = pair();
    add(&first.client(), 1);
    let more = "--step 'manual.confirm text=\"Look at the disk\"' \
        --step 'notify.send channel=#after text=over' --step 'queue.resume queue=q'";
    paste(&place, &format!("{PAUSING} {more}"));
    paste(&place, "openclaw run /pausing");
    step_is(&first, "Pausing", 2, StepState::Waiting);

    first.kill();
    second.wait_active();
    let run = latest(&second, "Pausing").unwrap();
    assert_eq!((run.state, run.steps[2].state), (RunState::Running, StepState::Waiting));
    paste(&place, &format!("openclaw run confirm {} --reason 'it has room'", run.id));
    let run = ended(&second, "Pausing");
    let steps = ["notify.send", "queue.pause", "manual.confirm", "notify.send", "queue.resume"];
    assert_in_order(&run, &steps);
    let client = second.client();
    assert_eq!((inbox(&client, "#before").len(), inbox(&client, "#after").len()), (1, 1));
    assert!(block_on(client.queue("q")).unwrap().paused.is_none());
}

#[test]
fn a_wait_goes_on_at_the_next_server_for_what_is_left_of_it() {
    let (place, mut first, second) = pair();
    add(&first.client(), 1);
    let more = "--step 'wait.for time=4s' --step 'notify.send channel=#after text=over' \
        --step 'queue.resume queue=q'";
    paste(&place, &format!("{PAUSING} {more}"));
    paste(&place, "openclaw run /pausing");
    let since = Instant::now();
    step_is(&first, "Pausing", 2, StepState::Running);

    first.kill();
    second.wait_active();
    let run = ended(&second, "Pausing");
    assert_in_order(
        &run,
        &["notify.send", "queue.pause", "wait.for", "notify.send", "queue.resume"],
    );
    assert!(since.elapsed() < Duration::from_secs(15), "{:?}", since.elapsed());
    let client = second.client();
    assert_eq!((inbox(&client, "#before").len(), inbox(&client, "#after").len()), (1, 1));
    assert!(block_on(client.queue("q")).unwrap().paused.is_none());
}

#[test]
fn a_rebalance_that_waits_for_a_worker_to_place_its_jobs_goes_on_at_the_next_server() {
    let (place, mut first, second) = pair();
    paste(&place, REBALANCE);
    let servers = [first.url.clone(), second.url.clone()];
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    let ids = add(&first.client(), 3);
    let words = |label: &str| format!("work q --label {label} --concurrency 3 --ttl 2s");
    let leaving = Process::start(&place, &servers, "w-3", &words("w-3"), LONG_JOB);
    leaving.wrote_lines(3);
    paste(&place, "openclaw run \"/runbook rebalance\" --param worker=w-3");
    // Nobody else is there to take them.
    step_is(&first, "Rebalance Workers", 2, StepState::Running);

    first.kill();
    second.wait_active();
    let staying = Process::start(&place, &servers[1..], "w-2", &words("w-2"), LONG_JOB);
    let run = ended(&second, "Rebalance Workers");
    assert_in_order(&run, &REBALANCING);
    assert_eq!(run.returned, ids);
    let mut placed = staying.wrote_lines(3);
    placed.sort();
    let mut expected: Vec<String> = ids.iter().map(u64::to_string).collect();
    expected.sort();
    assert_eq!(placed, expected);
    let audit = block_on(second.client().audit(Some("q"))).unwrap();
    assert!(audit.ok, "{:?}", audit.mismatches);
}
