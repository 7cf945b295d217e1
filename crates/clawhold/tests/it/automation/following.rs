//! Runs that take their time, watched; and agents that do jobs in words.

use std::process::Stdio;
use std::time::Instant;
use std::{fs, thread, time::Duration};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{CLAWHOLD, PATIENCE, Place, split};

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what} never came");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_run_is_watched_step_by_step_and_the_exit_code_tells_how_it_ended() {
    let place = Place::new();
    let _served = place.serve("");
    let steps = "--step 'wait.for time=300ms' --step show.workers";
    assert_eq!(place.run(&format!("runbook add --name Slow {steps}")).code, 0);
    let said = place.run("runbook run Slow --follow");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let lines: Vec<&str> = said.out.lines().collect();
    let id = lines[0].strip_prefix("run ").and_then(|rest| rest.split(' ').next()).unwrap();
    assert_eq!(lines[0], format!("run {id} of runbook \"Slow\": running"));
    assert!(lines[1].starts_with("  1 wait.for"), "{}", said.out);
    assert!(lines[2].starts_with("  2 show.workers"), "{}", said.out);
    assert_eq!(*lines.last().unwrap(), format!("run {id} succeeded"));
    let said = place.run(&format!("run show {id} --follow --json"));
    assert_eq!(said.document()["state"], "succeeded");
}

#[test]
fn an_agent_finds_what_it_is_told_with_its_job_and_its_answer_is_evidence() {
    let place = Place::new();
    let _served = place.serve("");
    for line in [
        "agent edit Scout --append-message 'Look twice.'",
        "runbook add --name Ask --steps 'Ask Scout to look at the disks.'",
    ] {
        let said = place.run(line);
        assert_eq!(said.code, 0, "{line}\n{}{}", said.out, said.err);
    }
    let script = place.script(
        "agent.sh",
        "#!/bin/sh\ncat > \"$HOME/job\"\ncp \"$CLAWHOLD_AGENT_MESSAGES\" \"$HOME/told\"\n\
         echo \"$CLAWHOLD_AGENT\" > \"$HOME/name\"\necho 'all disks are well' > \"$CLAWHOLD_RESULT_FILE\"\n",
    );
    let mut work = place.command(CLAWHOLD);
    work.args(split("work --agent Scout --")).arg(&script);
    let mut work = work.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let said = place.run("runbook run Ask --follow");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("all disks are well"), "{}", said.out);
    let read = |name: &str| fs::read_to_string(place.path().join(name)).unwrap();
    assert_eq!(read("told"), "Look twice.\n");
    assert_eq!(read("name"), "Scout\n");
    assert!(read("job").contains("look at the disks"), "{}", read("job"));

    assert_eq!(place.run("agent edit Scout --append-message 'Then report.'").code, 0);
    until("the new message", || {
        assert_eq!(place.run("runbook run Ask --follow").code, 0);
        read("told") == "Look twice.\n\nThen report.\n"
    });
    let pid = Pid::from_raw(i32::try_from(work.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let mut noted = String::new();
    std::io::Read::read_to_string(&mut work.stderr.take().unwrap(), &mut noted).unwrap();
    assert!(work.wait().unwrap().success());
    assert!(noted.contains("agent \"Scout\" is told 2 messages from now on (v2)"), "{noted}");
}

#[test]
fn an_agent_that_is_not_there_is_named_with_the_one_that_was_meant() {
    let place = Place::new();
    assert_eq!(place.run("agent edit Scout --append-message x").code, 0);
    let said = place.run("work --agent Scuot -- /bin/true");
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(said.err.contains("did you mean Scout?"), "{}", said.err);
}
