//! What is refused, and what is said then: the thing, why, and the next step.

use expect_test::expect;

use crate::place::Place;

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    let place = Place::new();
    for line in [
        "auto-fix add --name 'Promote Standby' --condition 'lease.expired == true' --action 'Promote the warm standby.' --approval auto",
        "runbook add --name Rebalance --trigger /rebalance --steps 'Hand back its held jobs.'",
    ] {
        assert_eq!(place.run(line).code, 0, "{line}");
    }
    place.check(
        "
        auto-fix add --name 'Promote Standby' --condition 'lease.expired == true' --action 'Promote the warm standby.'
        auto-fix add --name 'promote  standby' --condition 'lease.expired == true' --action 'Promote the warm standby.'
        auto-fix add --name A --condition 'lease.expird == true' --action 'Promote the warm standby.'
        auto-fix add --name A --condition 'lease.expired == true' --action 'Promote the warm standby.' --approval automatic
        auto-fix add --name A --condition 'lease.expired == true' --action 'Promote the warm standby.' --max-runs '0 per day'
        auto-fix add --name A --condition 'lease.expired == true' --action 'Promote the warm standby.' --cooldown soon
        auto-fix add --name A --condition 'lease.expired == true'
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
        expect![[""]],
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
        expect![[""]],
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
