//! A leader dies, and the fix that promotes a standby acts within its limits.

use rustix::process::Signal;

use clawhold_client::api::automation::run::RunState;

use super::scene::{LEADER_HOLDER, PROMOTE, Process, STANDBY, Scene, assert_in_order, token_of};
use crate::lead::until;
use crate::place::{CLAWHOLD, block_on};

const FLAGS: &str = "--ttl 1s --stream files";

#[test]
fn a_killed_leader_is_followed_by_the_fix_once_and_the_second_time_a_person_decides() {
    let scene = Scene::with(&[PROMOTE, LEADER_HOLDER, "openclaw source add \"AWS Production\""]);
    scene.append(9);
    let committing = format!(
        "#!/bin/sh\necho \"$$ $CLAWHOLD_ROLE $CLAWHOLD_TOKEN\" >> \"$1\"\n\
         {CLAWHOLD} commit --position 4 --job 'index={{\"file\":4}}' >> \"$1\"\nexec sleep 1000\n"
    );
    let leader = Process::lead(&scene, "ana", FLAGS, &committing);
    let token = token_of(&leader.wrote(" indexer "));
    leader.wrote("recorded position 4");
    let flags = format!("{FLAGS} --standby");
    let first = Process::lead(&scene, "ben", &flags, STANDBY);
    first.wrote("standby role=indexer stream=files position=4");

    leader.signal(Signal::KILL);
    let promoted = first.promoted();
    assert!(token < promoted.token, "{}", promoted.line);
    assert!(promoted.line.contains(" position=4 "), "{}", promoted.line);
    promoted_once(&scene, promoted.token);
    holder_is_told(&scene, promoted.token);

    let mut first = first;
    let second = Process::lead(&scene, "cleo", &flags, STANDBY);
    second.wrote("standby role=indexer");
    scene.candidates(1);
    first.kill();
    let command = blocked(&scene);
    assert_eq!(second.lines().iter().filter(|line| line.contains("promoted")).count(), 0);
    let said = scene.paste(&command.replace("...", "ana is gone for good"));
    assert!(said.contains("succeeded"), "{said}");
    let again = second.promoted();
    assert!(promoted.token < again.token, "{}", again.line);
    assert!(again.line.contains(" position=4 "), "{}", again.line);
    until("the alert to be over", || scene.alerts("Promotion withheld").is_empty().then_some(()));
}

#[test]
fn the_other_command_that_is_printed_promotes_as_well() {
    let scene = Scene::with(&[PROMOTE, "openclaw automation status"]);
    let mut leader = Process::lead(&scene, "ana", "--ttl 500ms", STANDBY);
    scene.candidates(0);
    let mut first = Process::lead(&scene, "ben", "--ttl 500ms --standby", STANDBY);
    scene.candidates(1);
    leader.kill();
    first.promoted();
    let second = Process::lead(&scene, "cleo", "--ttl 500ms --standby", STANDBY);
    scene.candidates(1);
    first.kill();
    blocked(&scene);
    let alert = scene.alerts("Promotion withheld").remove(0);
    let other = alert.details.iter().find_map(|line| line.strip_prefix("Or: "));
    scene.paste(other.unwrap_or_else(|| panic!("no other command: {:#?}", alert.details)));
    second.promoted();
}

/// Checks what there is to read of one promotion by the fix.
fn promoted_once(scene: &Scene, token: u64) {
    let run = scene.ended("Promote Standby");
    assert_in_order(&run, &["lease.promote_standby", "stream.resume"]);
    assert_eq!(scene.runs("Promote Standby").len(), 1);
    let history = block_on(scene.client().role_history("indexer")).unwrap().items;
    let lapsed = history.iter().find(|change| change.cause == "lapsed").unwrap();
    let grant = history.iter().find(|change| change.token == token).unwrap();
    assert_eq!(lapsed.at, grant.at, "in the entry that saw the lapse");
    let said = scene.paste("openclaw auto-fix history \"Promote Standby\"");
    assert_eq!(said.matches(" of auto-fix \"Promote Standby\"").count(), 1, "{said}");
    for step in ["1 lease.promote_standby", "2 stream.resume"] {
        assert!(said.contains(step), "{said}");
    }
    assert!(said.contains("goes on after event 4 of files, 5 to go"), "{said}");
    let told = scene.inbox("#ops-info");
    let titles: Vec<&str> = told.iter().map(|message| message.title.as_str()).collect();
    assert_eq!(titles, [format!("Promote Standby for role indexer: succeeded (run {})", run.id)]);
}

fn holder_is_told(scene: &Scene, token: u64) {
    let said = scene.paste("openclaw run \"/leader\"");
    assert!(said.contains("AWS Production"), "{said}");
    for fact in ["ben", "indexer", "expires", &format!("token {token}")] {
        assert!(said.contains(fact), "{fact}: {said}");
    }
}

/// Waits until it is said that the cooldown keeps the fix from promoting, and returns the command
/// that promotes now.
fn blocked(scene: &Scene) -> String {
    let alert = until("a critical alert", || {
        let alerts = scene.alerts("Promotion withheld").into_iter();
        alerts.into_iter().find(|alert| alert.severity == "critical")
    });
    assert_eq!((alert.group.as_str(), alert.state.as_str()), ("indexer", "firing"));
    let message = until("a message", || {
        let told = scene.inbox("#ops-info").into_iter();
        told.into_iter().find(|message| message.title.contains("did not run for role indexer"))
    });
    assert_eq!(message.severity, "critical");
    let lines = message.lines.join("\n");
    assert!(lines.contains("Blocked (cooldown): "), "{lines}");
    let runs = scene.runs("Promote Standby");
    assert_eq!((runs.len(), runs[0].state), (1, RunState::Succeeded), "no other run started");
    let command = message.lines.iter().find_map(|line| line.strip_prefix("Run now: "));
    command.unwrap_or_else(|| panic!("no command: {lines}")).to_owned()
}
