//! Every noun with its verbs, and definitions as files.

use expect_test::expect;

use crate::place::Place;

#[test]
fn a_runbook_is_added_changed_and_switched() {
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
        ",
        expect![[r#"
            $ clawhold runbook list
            there is no runbook
            $ clawhold runbook add --name Rebalance --trigger '/runbook rebalance' --tags queue --steps 'Stop the leaving worker from taking new work. Hand back its held jobs.'
            runbook "Rebalance" (v1)  trigger /runbook rebalance  tags queue
              1 worker.stop_intake  "Stop the leaving worker from taking new work."
              2 job.return_held     "Hand back its held jobs."
            All 2 sentences understood. Nothing was left out.
            $ clawhold runbook edit Rebalance --tags queue,night --trigger '/rebalance'
            + tags: night
            - trigger: /runbook rebalance
            + trigger: /rebalance
            runbook "Rebalance" (v2)  trigger /rebalance  tags queue, night
              1 worker.stop_intake  "Stop the leaving worker from taking new work."
              2 job.return_held     "Hand back its held jobs."
            All 2 sentences understood. Nothing was left out.
            $ clawhold runbook edit Rebalance --tags queue,night
            runbook "Rebalance" (v2) says that already; nothing changed
            $ clawhold runbook list --tag night
            NAME       IN FORCE  VERSION  SAYS        TELLS
            Rebalance  yes             2  /rebalance      -
            $ clawhold runbook list --search 'held jobs'
            NAME       IN FORCE  VERSION  SAYS        TELLS
            Rebalance  yes             2  /rebalance      -
            $ clawhold runbook disable Rebalance
            runbook "Rebalance" (v3) is out of force
            $ clawhold runbook disable Rebalance
            runbook "Rebalance" (v3) was out of force already
            $ clawhold runbook enable Rebalance
            runbook "Rebalance" (v4) is in force
            $ clawhold runbook history Rebalance
            VERSION  AT                        WHO    WHAT      CHANGED
                  1  MOMENT  local  added     -
                  2  MOMENT  local  edited    tags, trigger
                  3  MOMENT  local  disabled  enabled
                  4  MOMENT  local  enabled   enabled
        "#]],
    );
}

#[test]
fn a_runbook_is_reverted_and_removed() {
    Place::new().check(
        "
        runbook add --name Rebalance --trigger '/runbook rebalance' --tags queue --steps 'Stop the leaving worker from taking new work. Hand back its held jobs.'
        runbook edit Rebalance --tags queue,night
        runbook revert Rebalance --to 1
        runbook show Rebalance
        runbook revert Rebalance --to 77
        runbook remove Rebalance
        runbook remove Rebalance --yes
        runbook show Rebalance
        ",
        expect![[r#"
            $ clawhold runbook add --name Rebalance --trigger '/runbook rebalance' --tags queue --steps 'Stop the leaving worker from taking new work. Hand back its held jobs.'
            runbook "Rebalance" (v1)  trigger /runbook rebalance  tags queue
              1 worker.stop_intake  "Stop the leaving worker from taking new work."
              2 job.return_held     "Hand back its held jobs."
            All 2 sentences understood. Nothing was left out.
            $ clawhold runbook edit Rebalance --tags queue,night
            + tags: night
            runbook "Rebalance" (v2)  trigger /runbook rebalance  tags queue, night
              1 worker.stop_intake  "Stop the leaving worker from taking new work."
              2 job.return_held     "Hand back its held jobs."
            All 2 sentences understood. Nothing was left out.
            $ clawhold runbook revert Rebalance --to 1
            - tags: night
            runbook "Rebalance" (v3)  trigger /runbook rebalance  tags queue
              1 worker.stop_intake  "Stop the leaving worker from taking new work."
              2 job.return_held     "Hand back its held jobs."
            All 2 sentences understood. Nothing was left out.
            $ clawhold runbook show Rebalance
            runbook   Rebalance
            in force  yes
            version   3, since MOMENT
            trigger   /runbook rebalance
            tags      queue
            steps     Stop the leaving worker from taking new work. Hand back its held jobs.

              1 worker.stop_intake  "Stop the leaving worker from taking new work."
              2 job.return_held     "Hand back its held jobs."
            All 2 sentences understood. Nothing was left out.
            $ clawhold runbook revert Rebalance --to 77
            ! error: there is no version 77
            !   next: see `clawhold runbook history "Rebalance"`
            [3]
            $ clawhold runbook remove Rebalance
            ! error: remove runbook "Rebalance" (v3)? nobody can be asked here
            !   next: say --yes if that is meant
            [2]
            $ clawhold runbook remove Rebalance --yes
            runbook "Rebalance" is removed
            $ clawhold runbook show Rebalance
            ! error: there is no runbook Rebalance
            !   next: see `clawhold runbook list` for those there are
            [3]
        "#]],
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
        expect![[r#"
            $ clawhold agent edit 'DevOps Monitor' --append-message 'Stop first.'
            there was no agent "DevOps Monitor"; it is made, and told this:
            agent "DevOps Monitor" (v1)
              1. Stop first.
            $ clawhold agent edit 'DevOps Monitor' --append-message 'Then report.'
            + messages: Then report.
            agent "DevOps Monitor" (v2)
              1. Stop first.
              2. Then report.
            $ clawhold agent edit 'DevOps Monitor' --append-message 'Then report.'
            agent "DevOps Monitor" (v2) says that already; nothing changed
            $ clawhold agent edit 'DevOps Monitr' --append-message 'Then report.'
            ! error: there is no agent DevOps Monitr
            !   next: did you mean DevOps Monitor? --create makes agent "DevOps Monitr"
            [3]
            $ clawhold agent edit Writer --append-message 'Be brief.' --create
            there was no agent "Writer"; it is made, and told this:
            agent "Writer" (v1)
              1. Be brief.
            $ clawhold agent edit 'DevOps Monitor' --queue ops --about 'watches the queues'
            + about: watches the queues
            + queue: ops
            agent "DevOps Monitor" (v3)  queue ops
              1. Stop first.
              2. Then report.
            $ clawhold agent edit 'DevOps Monitor'
            ! error: nothing is named that should change in agent "DevOps Monitor"
            !   next: see `clawhold agent edit --help` for what can change
            [2]
            $ clawhold agent show 'DevOps Monitor'
            agent     DevOps Monitor
            in force  yes
            version   3, since MOMENT
            about     watches the queues
            queue     ops
              1. Stop first.
              2. Then report.
            $ clawhold agent list
            NAME            IN FORCE  VERSION  SAYS        TELLS
            DevOps Monitor  yes             3  2 messages      -
            Writer          yes             1  Be brief.       -
            $ clawhold agent revert 'DevOps Monitor' --to 1
            - about: watches the queues
            - messages: Then report.
            - queue: ops
            agent "DevOps Monitor" (v4)
              1. Stop first.
            $ clawhold agent add Writer
            ! error: there is agent "Writer" already, at version 1
            !   next: clawhold agent edit "Writer"
            [4]
        "#]],
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
        ",
        expect![[r##"
            $ clawhold auto-fix add --name Back --condition 'worker.leaving = true and worker.held_jobs > 0' --step 'job.return_held worker=trigger.worker' --approval auto --max-runs '20 per day' --max-runs '3 per hour' --cooldown 5m --notify '#ops-alerts'
            auto-fix "Back" (v1)  approval auto  max-runs 20 per day, 3 per hour  cooldown 5m  notify #ops-alerts
              when worker.leaving = true and worker.held_jobs > 0
              1 job.return_held
            note: #ops-alerts is read with `inbox list --channel "#ops-alerts"`; `channel add "#ops-alerts"` binds a sink to it
            $ clawhold auto-fix edit Back --cooldown '5m per rule' --observe
            - cooldown: 5m
            + cooldown: 5m per rule
            - observe: false
            + observe: true
            auto-fix "Back" (v2)  approval auto  max-runs 20 per day, 3 per hour  cooldown 5m per rule  notify #ops-alerts  observe only
              when worker.leaving = true and worker.held_jobs > 0
              1 job.return_held
            note: #ops-alerts is read with `inbox list --channel "#ops-alerts"`; `channel add "#ops-alerts"` binds a sink to it
            $ clawhold auto-fix edit Back --observe=false --notify '' --approval ask:2 --approval-expiry 1h
            - approval: auto
            + approval: ask:2
            - approval_expiry_ms: 1800000
            + approval_expiry_ms: 3600000
            - notify: #ops-alerts
            - observe: true
            + observe: false
            auto-fix "Back" (v3)  approval ask:2  max-runs 20 per day, 3 per hour  cooldown 5m per rule
              when worker.leaving = true and worker.held_jobs > 0
              1 job.return_held
            $ clawhold auto-fix show Back
            auto-fix         Back
            in force         yes
            version          3, since MOMENT
            when             worker.leaving = true and worker.held_jobs > 0
            approval         ask:2
            approval expiry  1h
            max runs         20 per day, 3 per hour
            cooldown         5m per rule

              1 job.return_held

            left: 20 of 20 per day left, 3 of 3 per hour left
            $ clawhold auto-fix test Back
            0 of 0 targets of kind worker would get a run
              1 job.return_held
            $ clawhold auto-fix reset Back
            auto-fix "Back" may run again
        "##]],
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
        expect![[r##"
            $ clawhold channel add '#ops-info' --slack https://hooks.example.org/services/T0/B0/verysecret --signing env:SIGNING --user U1=ana
            channel "#ops-info" (v1)  inbox and slack (hidden)
            warning: a secret is kept in the log; file:PATH or env:NAME keeps it out of there
            $ clawhold channel show '#ops-info'
            channel   #ops-info
            in force  yes
            version   1, since MOMENT
            sink      inbox and slack (hidden)
            signing   env:SIGNING
            users     U1=ana
            warning: a secret is kept in the log; file:PATH or env:NAME keeps it out of there
            $ clawhold channel edit '#ops-info' --closed
            - closed: false
            + closed: true
            channel "#ops-info" (v2)  inbox and slack (hidden)
            warning: a secret is kept in the log; file:PATH or env:NAME keeps it out of there
            $ clawhold channel edit '#ops-info' --no-sink
            - sink: {"kind":"slack","url":"(hidden)"}
            channel "#ops-info" (v3)  inbox only
            $ clawhold channel add '@oncall' --member ana,ben
            channel "@oncall" (v1)  inbox only
            $ clawhold channel list
            NAME       IN FORCE  VERSION  SAYS        TELLS
            #ops-info  yes             3  inbox only      -
            @oncall    yes             1  inbox only      -
            $ clawhold source add 'AWS Production' --url http://127.0.0.1:PORT --token verysecret
            source "AWS Production" (v1)  url http://127.0.0.1:PORT
            $ clawhold source show 'AWS Production'
            source    AWS Production
            in force  yes
            version   1, since MOMENT
            url       http://127.0.0.1:PORT
            token     (hidden)
            $ clawhold source test 'AWS Production'
            not connected: client error (Connect): tcp connect error: Connection refused (os error 111)
            [1]
            $ clawhold source add Lab --url nonsense
            ! error: url is nonsense, allowed is http://HOST:PORT or https://HOST:PORT
            [2]
        "##]],
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
        expect![[r#"
            $ clawhold condition check 'worker.leaving = true and worker.held_jobs > 0'
            means  worker.leaving == true && worker.held_jobs > 0
            about  worker
            reads  worker.leaving, worker.held_jobs
            $ clawhold condition check 'worker.held_job > 0'
            ! error: unknown field `worker.held_job` (line 1, column 1)
            !   worker.held_job > 0
            !   ^^^^^^^^^^^^^^^
            !   help: did you mean `worker.held_jobs`?
            !   next: see `clawhold condition fields` for what there is to ask
            [2]
            $ clawhold condition check 'worker.leaving = true and'
            ! error: it ends too early, a field or a value is missing (line 1, column 26)
            !   worker.leaving = true and
            !                            ^
            !   next: see `clawhold condition fields` for what there is to ask
            [2]
            $ clawhold condition explain 'lease.expired == true'
            means lease.expired == true
            there is nothing that it is about
            $ clawhold condition fields --search held_jobs
            FIELD             TYPE  TELLS
            worker.held_jobs  int   How many jobs the worker holds.
        "#]],
    );
}

#[test]
fn what_is_exported_from_one_place_is_imported_in_another() {
    let place = Place::new();
    for line in [
        "runbook add --name Rebalance --trigger /rebalance --tags queue --steps 'Hand back its held jobs. Place every returned job. Then admit new work.'",
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
        assert!(
            again.out.contains("0 added, 0 changed, 0 removed, 7 as they were"),
            "{}",
            again.out
        );
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
        expect![[r#"
            $ clawhold import -f one.toml
            + runbook "Keep"
            + runbook "Drop"
            2 added, 0 changed, 0 removed, 0 as they were
            $ clawhold import -f two.yaml --dry-run
            ~ runbook "Keep"
                + tags: b
            0 would be added, 1 would be changed, 0 would be removed, 0 as they were
            $ clawhold import -f two.yaml
            ~ runbook "Keep"
                + tags: b
            0 added, 1 changed, 0 removed, 0 as they were
            $ clawhold import -f two.yaml --prune
            - runbook "Drop"
            0 added, 0 changed, 1 removed, 1 as they were
            $ clawhold runbook list
            NAME  IN FORCE  VERSION  SAYS                      TELLS
            Keep  yes             2  Hand back its held jobs.      -
            $ clawhold import -f typo.toml
            ! error: typo.toml: TOML parse error at line 3, column 1
            !   |
            ! 3 | stepz = "x"
            !   | ^^^^^
            ! unknown field `stepz`, expected one of `name`, `trigger`, `tags`, `steps`, `step`, `accept`, `on_fail`, `notify`, `enabled`
            !   next: see `clawhold export` for how a file looks, or say --as toml|yaml|json
            [2]
            $ clawhold import -f nowhere.toml
            ! error: cannot open nowhere.toml
            !   because No such file or directory (os error 2)
            [2]
        "#]],
    );
}
