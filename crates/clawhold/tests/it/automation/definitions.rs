//! Every noun with its verbs, and definitions as files.

use expect_test::expect;

use crate::place::Place;

#[test]
fn a_runbook_is_added_changed_switched_reverted_and_removed() {
    Place::new().check(
        "
        runbook list
        runbook add --name Rebalance --trigger '/runbook rebalance' --tags queue --steps 'Stop the leaving worker from taking new work. Hand back its held jobs.'
        runbook edit Rebalance --tags queue,night --trigger '/rebalance'
        runbook edit Rebalance --tags queue,night
        runbook list --tag night
        runbook list --search 'held jobs'
        runbook disable Rebalance
        runbook disable Rebalance
        runbook enable Rebalance
        runbook history Rebalance
        runbook revert Rebalance --to 1
        runbook show Rebalance
        runbook revert Rebalance --to 77
        runbook remove Rebalance
        runbook remove Rebalance --yes
        runbook show Rebalance
        ",
        expect![[""]],
    );
}

#[test]
fn an_agent_is_told_more_and_the_difference_is_shown() {
    Place::new().check(
        "
        agent edit 'DevOps Monitor' --append-message 'Stop first.'
        agent edit 'DevOps Monitor' --append-message 'Then report.'
        agent edit 'DevOps Monitor' --append-message 'Then report.'
        agent edit 'DevOps Monitr' --append-message 'Then report.'
        agent edit Writer --append-message 'Be brief.' --create
        agent edit 'DevOps Monitor' --queue ops --about 'watches the queues'
        agent edit 'DevOps Monitor'
        agent show 'DevOps Monitor'
        agent list
        agent revert 'DevOps Monitor' --to 1
        agent add Writer
        ",
        expect![[""]],
    );
}

#[test]
fn an_auto_fix_is_changed_only_in_what_is_named() {
    let place = Place::new();
    place.check(
        "
        auto-fix add --name Back --condition 'worker.leaving = true and worker.held_jobs > 0' --step 'job.return_held worker=trigger.worker' --approval auto --max-runs '20 per day' --max-runs '3 per hour' --cooldown 5m --notify '#ops-alerts'
        auto-fix edit Back --cooldown '5m per rule' --observe
        auto-fix edit Back --observe=false --notify '' --approval ask:2 --approval-expiry 1h
        auto-fix show Back
        auto-fix test Back
        auto-fix reset Back
        auto-fix backtest Back --since 1h
        ",
        expect![[""]],
    );
    let shown = place.json("auto-fix show Back");
    assert_eq!(shown["spec"]["max_runs"], serde_json::json!(["20 per day", "3 per hour"]));
    assert_eq!(shown["spec"]["approval"], "ask:2");
}

#[test]
fn channels_and_sources_never_show_their_secrets() {
    let place = Place::new();
    place.check(
        "
        channel add '#ops-info' --slack https://hooks.example.org/services/T0/B0/verysecret --signing env:SIGNING --user U1=ana
        channel show '#ops-info'
        channel edit '#ops-info' --closed
        channel edit '#ops-info' --no-sink
        channel add '@oncall' --member ana,ben
        channel list
        source add 'AWS Production' --url http://127.0.0.1:9 --token verysecret
        source show 'AWS Production'
        source test 'AWS Production'
        source add Lab --url nonsense
        ",
        expect![[""]],
    );
    for line in ["channel show '#ops-info' --json", "source show 'AWS Production' --json", "export"]
    {
        let said = place.run(line);
        assert!(!said.out.contains("verysecret"), "{line}\n{}", said.out);
    }
}

#[test]
fn a_condition_is_checked_explained_and_wrong_with_a_caret() {
    Place::new().check(
        "
        condition check 'worker.leaving = true and worker.held_jobs > 0'
        condition check 'worker.held_job > 0'
        condition check 'worker.leaving = true and'
        condition explain 'lease.expired == true'
        condition fields --search held_jobs
        ",
        expect![[""]],
    );
}

#[test]
fn what_is_exported_from_one_place_is_imported_in_another() {
    let place = Place::new();
    for line in [
        "runbook add --name Rebalance --trigger /rebalance --tags queue --steps 'Hand back its held jobs. Then admit new work.'",
        "auto-fix add --name Back --condition 'worker.leaving = true' --action 'Hand every held job back before the worker stops.' --approval auto --max-runs '20 per day' --cooldown 5m",
        "alert-rule add --name Orphans --group-by queue --window 5m --action 'Alert when a job is neither running nor queued.'",
        "agent edit Writer --append-message 'Be brief.'",
        "alert-route add --name All --severity info --to '#ops-info'",
        "source add Lab --url http://127.0.0.1:9",
        "command add --name leader --trigger /leader --message 'Show which worker currently holds the lease.'",
        "auto-fix disable Back",
    ] {
        let said = place.run(line);
        assert_eq!(said.code, 0, "{line}\n{}{}", said.out, said.err);
    }
    for form in ["toml", "yaml", "json"] {
        let text = place.run(&format!("export --as {form}")).out;
        let other = Place::new();
        other.file(&format!("all.{form}"), &text);
        let said = other.run(&format!("import -f all.{form} --dry-run"));
        assert_eq!(said.code, 0, "{text}\n{}", said.err);
        assert!(said.out.contains("7 would be added"), "{}", said.out);
        assert_eq!(other.run("export --as json").out.trim(), "{}");
        assert_eq!(other.run(&format!("import -f all.{form}")).code, 0);
        assert_eq!(other.run(&format!("export --as {form}")).out, text);
        let again = other.run(&format!("import -f all.{form}"));
        assert!(again.out.contains("0 added, 0 changed, 0 removed, 7 as they were"), "{}", again.out);
    }
}

#[test]
fn an_import_shows_the_difference_and_prunes_only_when_told() {
    let place = Place::new();
    place.file(
        "one.toml",
        "[[runbooks]]\nname = \"Keep\"\nsteps = \"Hand back its held jobs.\"\ntags = [\"a\"]\n\n\
         [[runbooks]]\nname = \"Drop\"\nsteps = \"Place every returned job.\"\n",
    );
    place.file(
        "two.yaml",
        "runbooks:\n  - name: Keep\n    steps: Hand back its held jobs.\n    tags: [a, b]\n",
    );
    place.file("typo.toml", "[[runbooks]]\nname = \"Keep\"\nstepz = \"x\"\n");
    place.check(
        "
        import -f one.toml
        import -f two.yaml --dry-run
        import -f two.yaml
        import -f two.yaml --prune
        runbook list
        import -f typo.toml
        import -f nowhere.toml
        ",
        expect![[""]],
    );
}
