//! The eight commands that people know, typed into a shell as they stand, on a fresh install.

use std::process::Command;

use expect_test::{Expect, expect};

use crate::place::{OPENCLAW, Place, said};

/// The commands, byte for byte as people paste them.
const SEED: &str = include_str!("seed-commands.txt");

/// Returns a shell in a home with our program on PATH under the other name.
fn shell(place: &Place, line: &str) -> Command {
    let folder = std::path::Path::new(OPENCLAW).parent().unwrap();
    let mut command = place.command("/bin/sh");
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display())).arg("-c").arg(line);
    command
}

/// Types lines into a shell and compares what comes out.
fn check(place: &Place, lines: &str, expected: Expect) {
    let mut transcript = String::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let said = said(shell(place, line), b"");
        let typed: String = line.chars().take(60).collect();
        transcript.push_str(&format!("$ {}\n{}", typed.trim_end(), said.out));
        for line in said.err.lines() {
            transcript.push_str(&format!("! {line}\n"));
        }
        assert_eq!(said.code, 0, "{line}\n{}{}", said.out, said.err);
    }
    expected.assert_eq(&place.mask(&transcript));
}

#[test]
fn each_of_the_eight_commands_is_taken_and_says_what_became_of_each_sentence() {
    let place = Place::new();
    check(
        &place,
        SEED,
        expect![[r##"
            $ openclaw command add --name "leader holder" --trigger "/lead
            command "leader holder" (v1)  trigger /leader  source "AWS Production"
              1 show.holder  "Show which worker currently holds the lease, when the lease expires, and the token value, so a handoff can be read without guessing who is active."
            The sentence is understood. Nothing was left out.
            warning: source "AWS Production" is not connected; `source add "AWS Production"` makes it this cluster, --url URL another one
            $ openclaw alert-rule add --name "Two Active Leaders" --group-
            alert-rule "Two Active Leaders" (v1)  severity critical  group-by role  window 5m
              1 two_leaders  "Alert when two workers report themselves as the active leader in the same window, because duplicated actions from two leaders are hard to merge afterwards"
            The sentence is understood. Nothing was left out.
            $ openclaw auto-fix add --name "Promote Standby" --condition "
            auto-fix "Promote Standby" (v1)  approval auto  max-runs 6 per day  cooldown 15m  notify #ops-info
              when lease.expired == true
              1 lease.promote_standby  "Promote the warm standby by acquiring the lease with a token higher than any seen, then resume from the recorded position so nothing is processed twice or missed"
              2 stream.resume
            The sentence is understood. Nothing was left out.
            note: it promotes: while its own limits block it, the role stays vacant and a critical alert says so; `role set ROLE --promotion native` never waits for it
            note: #ops-info is read with `inbox list --channel "#ops-info"`; `channel add "#ops-info"` binds a sink to it
            $ openclaw runbook add --name "Hand Off Leadership" --trigger
            runbook "Hand Off Leadership" (v1)  trigger /runbook handoff  tags automation, leadership
              1 check.not_renewed     "Confirm the lease is not being renewed."
              2 lease.acquire         "Acquire the lease with a higher token."
              3 stream.resume         "Resume from the recorded position."
              4 check.stopped_acting  "Confirm the previous leader has stopped acting."
            All 4 sentences understood. Nothing was left out.
            $ openclaw agent edit "DevOps Monitor" --append-message "When
            there was no agent "DevOps Monitor"; it is made, and told this:
            agent "DevOps Monitor" (v1)
              1. When rebalancing, stop taking new work before handing back the jobs you hold, and report each job you hand back so it can be placed.
            $ openclaw alert-rule add --name "Job Without Owner" --group-b
            alert-rule "Job Without Owner" (v1)  severity critical  group-by queue  window 5m
              1 orphan  "Alert when a job is neither running nor queued, so a rebalance has dropped it."
            The sentence is understood. Nothing was left out.
            $ openclaw auto-fix add --name "Return Held Jobs" --condition
            auto-fix "Return Held Jobs" (v1)  approval auto  max-runs 20 per day  cooldown 5m  notify #ops-alerts
              when worker.leaving = true and worker.held_jobs > 0
              1 job.return_held   "Hand every held job back before the worker stops, then confirm the queue owns each one."
              2 check.queue_owns
            The sentence is understood. Nothing was left out.
            note: #ops-alerts is read with `inbox list --channel "#ops-alerts"`; `channel add "#ops-alerts"` binds a sink to it
            $ openclaw runbook add --name "Rebalance Workers" --trigger "/
            runbook "Rebalance Workers" (v1)  trigger /runbook rebalance  tags development, queue
              1 worker.stop_intake  "Stop the leaving worker from taking new work."
              2 job.return_held     "Hand back its held jobs."
              3 job.place_returned  "Place every returned job."
              4 check.one_owner     "Confirm each job has exactly one owner."
              5 queue.admit_new     "Then admit new work."
            All 5 sentences understood. Nothing was left out.
        "##]],
    );
}

/// Returns a place where the eight were typed.
fn seeded() -> Place {
    let place = Place::new();
    for line in SEED.lines() {
        assert_eq!(said(shell(&place, line), b"").code, 0, "{line}");
    }
    place
}

#[test]
fn list_tells_the_truth_about_them() {
    check(
        &seeded(),
        "
        openclaw agent list
        openclaw command list
        openclaw alert-rule list
        openclaw auto-fix list
        openclaw runbook list
        openclaw runbook list --tag queue
        openclaw auto-fix history 'Promote Standby'
        ",
        expect![[r#"
            $ openclaw agent list
            NAME            IN FORCE  VERSION  SAYS                                                           TELLS
            DevOps Monitor  yes             1  When rebalancing, stop taking new work before handing back t…      -
            $ openclaw command list
            NAME           IN FORCE  VERSION  SAYS     TELLS
            leader holder  yes             1  /leader      -
            $ openclaw alert-rule list
            NAME                IN FORCE  VERSION  SAYS                                                           TELLS
            Job Without Owner   yes             1  Alert when a job is neither running nor queued, so a rebalan…      -
            Two Active Leaders  yes             1  Alert when two workers report themselves as the active leade…      -
            $ openclaw auto-fix list
            NAME              IN FORCE  VERSION  SAYS                                                 TELLS
            Promote Standby   yes             1  when lease.expired == true                           #ops-info
            Return Held Jobs  yes             1  when worker.leaving = true and worker.held_jobs > 0  #ops-alerts
            $ openclaw runbook list
            NAME                 IN FORCE  VERSION  SAYS                TELLS
            Hand Off Leadership  yes             1  /runbook handoff        -
            Rebalance Workers    yes             1  /runbook rebalance      -
            $ openclaw runbook list --tag queue
            NAME               IN FORCE  VERSION  SAYS                TELLS
            Rebalance Workers  yes             1  /runbook rebalance      -
            $ openclaw auto-fix history 'Promote Standby'
            VERSION  AT                        WHO    WHAT   CHANGED
                  1  MOMENT  local  added        -
        "#]],
    );
}

#[test]
fn show_tells_the_truth_about_what_acts() {
    check(
        &seeded(),
        "
        openclaw auto-fix show 'Promote Standby'
        openclaw runbook show 'Hand Off Leadership'
        ",
        expect![[r##"
            $ openclaw auto-fix show 'Promote Standby'
            auto-fix         Promote Standby
            in force         yes
            version          1, since MOMENT
            when             lease.expired == true
            action           Promote the warm standby by acquiring the lease with a token higher than any seen, then resume from the recorded position so nothing is processed twice or missed
            approval         auto
            approval expiry  30m
            max runs         6 per day
            cooldown         15m
            notify           #ops-info

              1 lease.promote_standby  "Promote the warm standby by acquiring the lease with a token higher than any seen, then resume from the recorded position so nothing is processed twice or missed"
              2 stream.resume
            The sentence is understood. Nothing was left out.

            left: 6 of 6 per day left
            note: it promotes: while its own limits block it, the role stays vacant and a critical alert says so; `role set ROLE --promotion native` never waits for it
            note: #ops-info is read with `inbox list --channel "#ops-info"`; `channel add "#ops-info"` binds a sink to it
            $ openclaw runbook show 'Hand Off Leadership'
            runbook   Hand Off Leadership
            in force  yes
            version   1, since MOMENT
            trigger   /runbook handoff
            tags      automation, leadership
            steps     Confirm the lease is not being renewed. Acquire the lease with a higher token. Resume from the recorded position. Confirm the previous leader has stopped acting.

              1 check.not_renewed     "Confirm the lease is not being renewed."
              2 lease.acquire         "Acquire the lease with a higher token."
              3 stream.resume         "Resume from the recorded position."
              4 check.stopped_acting  "Confirm the previous leader has stopped acting."
            All 4 sentences understood. Nothing was left out.
        "##]],
    );
}

#[test]
fn show_tells_the_truth_about_what_only_tells() {
    check(
        &seeded(),
        "
        openclaw alert-rule show 'Job Without Owner'
        openclaw command show 'leader holder'
        openclaw agent show 'DevOps Monitor'
        ",
        expect![[r#"
            $ openclaw alert-rule show 'Job Without Owner'
            alert-rule   Job Without Owner
            in force     yes
            version      1, since MOMENT
            action       Alert when a job is neither running nor queued, so a rebalance has dropped it.
            severity     critical
            group by     queue
            window       5m
            for          0s
            keep firing  5m

              1 orphan  "Alert when a job is neither running nor queued, so a rebalance has dropped it."
            The sentence is understood. Nothing was left out.
            $ openclaw command show 'leader holder'
            command   leader holder
            in force  yes
            version   1, since MOMENT
            trigger   /leader
            source    AWS Production
            message   Show which worker currently holds the lease, when the lease expires, and the token value, so a handoff can be read without guessing who is active.

              1 show.holder  "Show which worker currently holds the lease, when the lease expires, and the token value, so a handoff can be read without guessing who is active."
            The sentence is understood. Nothing was left out.
            warning: source "AWS Production" is not connected; `source add "AWS Production"` makes it this cluster, --url URL another one
            $ openclaw agent show 'DevOps Monitor'
            agent     DevOps Monitor
            in force  yes
            version   1, since MOMENT
              1. When rebalancing, stop taking new work before handing back the jobs you hold, and report each job you hand back so it can be placed.
        "#]],
    );
}

#[test]
fn a_second_time_each_is_there_already_and_the_line_that_changes_it_is_shown() {
    let place = seeded();
    for line in SEED.lines() {
        let said = said(shell(&place, line), b"");
        if line.contains("agent edit") {
            // What it is told already is not added again.
            assert_eq!(said.code, 0, "{}", said.err);
            assert!(said.out.contains("nothing changed"), "{}", said.out);
            continue;
        }
        assert_eq!(said.code, 4, "{line}\n{}{}", said.out, said.err);
        assert!(said.err.contains(" edit \""), "{}", said.err);
        let next = said.err.lines().find_map(|line| line.strip_prefix("  next: ")).unwrap();
        let edited = crate::place::said(shell(&place, next), b"");
        assert_eq!(edited.code, 0, "{next}\n{}{}", edited.out, edited.err);
        assert!(edited.out.contains("nothing changed"), "{next}\n{}", edited.out);
    }
}

#[test]
fn the_flags_of_the_other_lessons_are_taken_as_well() {
    let place = Place::new();
    check(
        &place,
        "
        openclaw alert-route add --name \"Critical Alerts\" --severity critical --channel slack --to \"#ops-critical\" --also-page \"@oncall\"
        openclaw alert-route add --name \"All the Rest\" --severity info --channel slack --to \"#ops-info\"
        openclaw command add --name \"queue depth\" --trigger \"/queues\" --source \"AWS Production, Staging\" --message \"Show the queues.\" --announce --channel slack --to \"#ops-info\"
        openclaw alert-route list
        openclaw command show \"queue depth\"
        ",
        expect![[r##"
            $ openclaw alert-route add --name "Critical Alerts" --severity
            alert-route "Critical Alerts" (v1)  severity critical  to #ops-critical  also-page @oncall
            note: #ops-critical is read with `inbox list --channel "#ops-critical"`; `channel add "#ops-critical"` binds a sink to it
            $ openclaw alert-route add --name "All the Rest" --severity in
            alert-route "All the Rest" (v1)  severity info  to #ops-info
            note: #ops-info is read with `inbox list --channel "#ops-info"`; `channel add "#ops-info"` binds a sink to it
            $ openclaw command add --name "queue depth" --trigger "/queues
            command "queue depth" (v1)  trigger /queues  source "AWS Production", "Staging"  announced to #ops-info
              1 show.queue  "Show the queues."
            The sentence is understood. Nothing was left out.
            warning: source "AWS Production" is not connected; `source add "AWS Production"` makes it this cluster, --url URL another one
            warning: source "Staging" is not connected; `source add "Staging"` makes it this cluster, --url URL another one
            note: #ops-info is read with `inbox list --channel "#ops-info"`; `channel add "#ops-info"` binds a sink to it
            $ openclaw alert-route list
            NAME             IN FORCE  VERSION  SAYS                TELLS
            All the Rest     yes             1  info and worse      #ops-info
            Critical Alerts  yes             1  critical and worse  #ops-critical, @oncall
            $ openclaw command show "queue depth"
            command       queue depth
            in force      yes
            version       1, since MOMENT
            trigger       /queues
            source        AWS Production, Staging
            message       Show the queues.
            announced to  #ops-info
            channel       slack

              1 show.queue  "Show the queues."
            The sentence is understood. Nothing was left out.
            warning: source "AWS Production" is not connected; `source add "AWS Production"` makes it this cluster, --url URL another one
            warning: source "Staging" is not connected; `source add "Staging"` makes it this cluster, --url URL another one
            note: #ops-info is read with `inbox list --channel "#ops-info"`; `channel add "#ops-info"` binds a sink to it
        "##]],
    );
}
