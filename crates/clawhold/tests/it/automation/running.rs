//! What starts, by words and by name, and how it is seen to.

use expect_test::expect;

use crate::place::Place;

#[test]
fn a_command_answers_in_a_shell_from_each_of_its_sources() {
    let place = Place::new();
    place.check(
        "
        role set billing
        command add --name 'leader holder' --trigger /leader --source 'Here, AWS Production' --message 'Show which worker currently holds the lease.'
        source add Here
        run /leader
        ",
        expect![[""]],
    );
    let ran = place.json("run /leader");
    assert_eq!(ran["answers"][0]["source"], "Here");
    assert_eq!(ran["answers"][0]["connected"], true);
    assert_eq!(ran["answers"][1]["connected"], false);
}

#[test]
fn a_run_that_asks_waits_until_a_person_agrees_or_says_no() {
    let place = Place::new();
    place.check(
        "
        queue set mail
        runbook add --name Look --step 'show.queue queue=mail' --step manual.confirm
        runbook run Look
        run list
        run confirm 1
        run show 1
        run show 1 --step 1
        run show 1 --step 9
        run confirm 1
        runbook run Look
        run reject 2 --reason 'not today'
        run resume 2 --from 1
        run cancel 2 --reason 'that is enough'
        run list --state live
        runbook history Look
        ",
        expect![[""]],
    );
}

#[test]
fn a_run_says_what_it_needs_to_know_and_never_guesses() {
    let place = Place::new();
    place.check(
        "
        runbook add --name Rebalance --trigger '/runbook rebalance' --steps 'Stop the leaving worker from taking new work. Hand back its held jobs.'
        run '/runbook rebalance'
        run '/runbook rebalance' --param worker=w-9
        run '/runbook rebalance' --param planet=mars
        run '/runbook rebalance' --param worker
        ",
        expect![[""]],
    );
}

#[test]
fn all_automation_is_paused_and_goes_on() {
    Place::new().check(
        "
        automation pause --for 2h --reason 'moving the hosts'
        automation status
        status
        automation resume
        ",
        expect![[""]],
    );
}

#[test]
fn the_inbox_and_silences_start_empty_and_say_so() {
    Place::new().check(
        "
        inbox list
        inbox read
        alert list
        alert silences
        alert silence --rule 'Job Without Owner' --for 30m --reason drill
        alert silence --for 31d --reason drill
        alert silences
        alert unsilence 77
        notify failed
        notify waiting
        notify retry --all
        ",
        expect![[""]],
    );
}

#[test]
fn who_promotes_for_a_role_is_set_and_shown() {
    let place = Place::new();
    place.check(
        "
        role set billing --promotion policy
        role show billing
        auto-fix add --name Promote --condition 'lease.expired == true' --action 'Promote the warm standby.' --approval auto --max-runs '6 per day'
        role show billing
        role set billing --promotion sometimes
        role set billing --promotion native
        ",
        expect![[""]],
    );
}
