//! What is refused, and what is said then: the thing, why, and the next step.

use expect_test::expect;

use crate::place::Place;

/// Returns a place with an auto-fix and a runbook.
fn place() -> Place {
    let place = Place::new();
    for line in [
        "auto-fix add --name 'Promote Standby' --condition 'lease.expired == true' --action 'Promote the warm standby.' --approval auto",
        "runbook add --name Rebalance --trigger /rebalance --steps 'Hand back its held jobs.'",
    ] {
        assert_eq!(place.run(line).code, 0, "{line}");
    }
    place
}

#[test]
fn a_fix_that_cannot_be_is_refused_with_what_can() {
    place().check(
        "
        auto-fix add --name 'Promote Standby' --condition 'lease.expired == true' --action 'Promote the warm standby.'
        auto-fix add --name 'promote  standby' --condition 'lease.expired == true' --action 'Promote the warm standby.'
        auto-fix add --name A --condition 'lease.expird == true' --action 'Promote the warm standby.'
        auto-fix add --name A --condition 'lease.expired == true' --action 'Promote the warm standby.' --approval automatic
        auto-fix add --name A --condition 'lease.expired == true' --action 'Promote the warm standby.' --max-runs '0 per day'
        auto-fix add --name A --condition 'lease.expired == true' --action 'Promote the warm standby.' --cooldown soon
        auto-fix add --name A --condition 'lease.expired == true'
        ",
        expect![[r#"
            $ clawhold auto-fix add --name 'Promote Standby' --condition 'lease.expired == true' --action 'Promote the warm standby.'
            ! error: there is auto-fix "Promote Standby" already, at version 1
            !   next: clawhold auto-fix edit "Promote Standby" --condition "lease.expired == true" --action "Promote the warm standby."
            [4]
            $ clawhold auto-fix add --name 'promote  standby' --condition 'lease.expired == true' --action 'Promote the warm standby.'
            ! error: there is auto-fix "Promote Standby", which differs from "promote  standby" only in case, spaces or dashes
            !   next: use the name that is there, or one that nobody takes for it
            [4]
            $ clawhold auto-fix add --name A --condition 'lease.expird == true' --action 'Promote the warm standby.'
            ! error: unknown field `lease.expird` (line 1, column 1)
            !   lease.expird == true
            !   ^^^^^^^^^^^^
            !   help: did you mean `lease.expired`?
            !   next: see `clawhold condition fields` for what there is to ask
            [2]
            $ clawhold auto-fix add --name A --condition 'lease.expired == true' --action 'Promote the warm standby.' --approval automatic
            ! error: approval is automatic, allowed is auto, ask, ask:2, ask:@group, ask:2@group or never
            [2]
            $ clawhold auto-fix add --name A --condition 'lease.expired == true' --action 'Promote the warm standby.' --max-runs '0 per day'
            ! error: max_runs[0] is 0 per day, allowed is 6 per day, 3 per 2 hours, once per hour, 20/day, or unlimited; to allow none, disable it
            [2]
            $ clawhold auto-fix add --name A --condition 'lease.expired == true' --action 'Promote the warm standby.' --cooldown soon
            ! error: cooldown is soon, allowed is a length of time, at most 3650d: 500ms, 90s, 15m, 2h, 1d, 1w, 1h30m
            [2]
            $ clawhold auto-fix add --name A --condition 'lease.expired == true'
            ! error: action is nothing, allowed is sentences that say what is done, or `steps`
            [2]
        "#]],
    );
}

#[test]
fn what_is_not_there_or_makes_no_sense_is_refused_with_what_does() {
    place().check(
        "
        auto-fix show 'Promote Standbye'
        auto-fix run 'Promote Standby' --target nowhere
        runbook add --name Other --trigger /rebalance --steps 'Hand back its held jobs.'
        runbook add --name Other --steps 'Quiesce the worker.' --strict
        runbook add --name Other --step 'job.return_hold worker=w-3'
        runbook add --name Other --steps ''
        alert-rule add --name R --action 'Alert when the moon is full.' --strict
        alert-route add --name R --severity loud --to '#ops'
        run /nothing
        run nothing
        run show 77
        run approve 77
        alert show 77
        notify retry 77
        ",
        expect![[r#"
            $ clawhold auto-fix show 'Promote Standbye'
            ! error: there is no auto-fix Promote Standbye
            !   next: did you mean Promote Standby?
            [3]
            $ clawhold auto-fix run 'Promote Standby' --target nowhere
            ! error: role "nowhere": there is no role nowhere
            !   next: name it with --param role=NAME
            [2]
            $ clawhold runbook add --name Other --trigger /rebalance --steps 'Hand back its held jobs.'
            ! error: "/rebalance" is the trigger of runbook "Rebalance"
            !   next: choose other words, or change what bears them
            [4]
            $ clawhold runbook add --name Other --steps 'Quiesce the worker.' --strict
            ! error: not every sentence is understood: step 1 "Quiesce the worker." is not understood (unknown word: Quiesce; nearest: 1 worker.stop_intake worker=run ("Stop the worker from taking new work.")): a person confirms it
            [2]
            $ clawhold runbook add --name Other --step 'job.return_hold worker=w-3'
            ! error: step[0] "job.return_hold worker=w-3": no operation is named "job.return_hold"; did you mean "job.return_held"?
            [2]
            $ clawhold runbook add --name Other --steps ''
            ! error: steps is nothing, allowed is sentences that say what is done, or `step`
            [2]
            $ clawhold alert-rule add --name R --action 'Alert when the moon is full.' --strict
            ! error: action is not understood: unknown words: moon, full
            [2]
            $ clawhold alert-route add --name R --severity loud --to '#ops'
            ! error: severity is loud, allowed is critical, warning or info
            [2]
            $ clawhold run /nothing
            ! error: nothing is started by "/nothing"
            !   next: see `clawhold command list` and `clawhold runbook list`
            [3]
            $ clawhold run nothing
            ! error: nothing is started by "nothing"
            !   next: words begin with a slash: `clawhold run /leader`; see `clawhold run --help`
            [3]
            $ clawhold run show 77
            ! error: there is no run 77
            [3]
            $ clawhold run approve 77
            ! error: there is no run 77
            [3]
            $ clawhold alert show 77
            ! error: there is no alert 77
            [3]
            $ clawhold notify retry 77
            ! error: there is no message 77
            [3]
        "#]],
    );
}

#[test]
fn what_is_not_understood_is_told_with_the_flag_that_accepts_the_nearest() {
    let place = Place::new();
    place.check(
        "
        runbook add --name Odd --steps 'Stop the leaving worker from taking new work. Quiesce the worker. Place every returned job.'
        runbook edit Odd --accept 2=1
        runbook add --name Shown --dry-run --steps 'Quiesce the worker.'
        runbook show Shown
        auto-fix add --name Half --condition 'worker.leaving = true' --action 'Hand every held job back. Then sing a song.' --approval auto
        ",
        expect![[r#"
            $ clawhold runbook add --name Odd --steps 'Stop the leaving worker from taking new work. Quiesce the worker. Place every returned job.'
            runbook "Odd" (v1)
              1 worker.stop_intake  "Stop the leaving worker from taking new work."
              2 ? not understood: "Quiesce the worker."   unknown word: Quiesce
                  nearest: worker.stop_intake worker=run  ("Stop the worker from taking new work.")   use: clawhold runbook edit "Odd" --accept 2=1
                  kept as a step that a person confirms
              3 job.place_returned  "Place every returned job."
            2 of 3 sentences understood. A person confirms the rest.
            $ clawhold runbook edit Odd --accept 2=1
            runbook "Odd" (v2)
              1 worker.stop_intake  "Stop the leaving worker from taking new work."
              2 job.place_returned  "Place every returned job."
            All 2 sentences understood. Nothing was left out.
            $ clawhold runbook add --name Shown --dry-run --steps 'Quiesce the worker.'
            runbook "Shown"
              1 ? not understood: "Quiesce the worker."   unknown word: Quiesce
                  nearest: worker.stop_intake worker=run  ("Stop the worker from taking new work.")   use: --accept 1=1
                  kept as a step that a person confirms
            0 of 1 sentence understood. A person confirms the rest.
            $ clawhold runbook show Shown
            ! error: there is no runbook Shown
            !   next: see `clawhold runbook list` for those there are
            [3]
            $ clawhold auto-fix add --name Half --condition 'worker.leaving = true' --action 'Hand every held job back. Then sing a song.' --approval auto
            auto-fix "Half" (v1)  approval auto
              when worker.leaving = true
              1 job.return_held  "Hand every held job back."
              2 ? not understood: "Then sing a song."   unknown words: sing, song; several of its parts are not understood; write a sentence for each
                  kept as a step that a person confirms
            1 of 2 sentences understood. It asks for approval until every sentence is understood.
            warning: it asks for approval before each run, until each step is understood
            warning: nothing limits how often it runs; --max-runs "6 per day" does
        "#]],
    );
}

#[test]
fn json_says_the_same_and_nothing_else() {
    let place = Place::new();
    let line = "runbook add --name Odd --steps 'Quiesce the worker.' --json";
    let said = place.run(line);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let defined = said.document();
    assert_eq!(defined["added"], true);
    assert_eq!(defined["definition"]["plan"][0]["reading"], "not_understood");
    let said = place.run(line);
    assert_eq!(said.code, 4);
    let document = said.document();
    assert_eq!(document["error"]["code"], "exists");
    assert_eq!(document["error"]["problem"]["name"], "Odd");
    let said = place.run("runbook remove Odd --json");
    assert_eq!(said.code, 2, "{}", said.out);
}
