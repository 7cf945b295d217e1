//! What starts, by words and by name, and how it is seen to.

use clawhold_client::api::job::Claim;
use clawhold_client::api::session::OpenSession;
use expect_test::expect;

use crate::place::{Place, block_on};

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
        expect![[r#"
            $ clawhold role set billing
            role           billing
            latest token   0
            holder         vacant
            usual lease    10s
            standbys       0
            promotion      auto
            would promote  the lapse itself, but not now: nobody stands by
            $ clawhold command add --name 'leader holder' --trigger /leader --source 'Here, AWS Production' --message 'Show which worker currently holds the lease.'
            command "leader holder" (v1)  trigger /leader  source "Here", "AWS Production"
              1 show.holder  "Show which worker currently holds the lease."
            The sentence is understood. Nothing was left out.
            warning: source "Here" is not connected; `source add "Here"` makes it this cluster, --url URL another one
            warning: source "AWS Production" is not connected; `source add "AWS Production"` makes it this cluster, --url URL another one
            $ clawhold source add Here
            source "Here" (v1)  url this server
            $ clawhold run /leader
            Here:
            billing: held by nobody, the last token was 0

            AWS Production:
            not connected: there is no such source; `source add "AWS Production"` makes it this cluster, --url URL another one
        "#]],
    );
    let ran = place.json("run /leader");
    assert_eq!(ran["answers"][0]["source"], "Here");
    assert_eq!(ran["answers"][0]["connected"], true);
    assert_eq!(ran["answers"][1]["connected"], false);
}

#[test]
fn a_step_that_a_person_confirms_waits_until_somebody_says_yes_or_no() {
    let place = Place::new();
    let _served = place.serve("");
    assert_eq!(place.run("queue set mail").code, 0);
    let steps = "--step 'show.queue queue=mail' --step manual.confirm";
    assert_eq!(place.run(&format!("runbook add --name Look {steps}")).code, 0);
    let started = place.run("runbook run Look");
    assert_eq!(started.code, 0, "{}", started.err);
    let runs = place.json("run list --state live");
    let id = runs["items"][0]["id"].as_u64().unwrap();
    assert!(started.out.contains(&format!("`clawhold run confirm {id}` lets it go on")));
    let shown = place.run(&format!("run show {id}"));
    assert!(shown.out.contains("waits for  a person to confirm step 2"), "{}", shown.out);
    let step = place.run(&format!("run show {id} --step 1"));
    assert!(
        step.out.starts_with("  1 show.queue  queue=mail  done: mail: 0 queued"),
        "{}",
        step.out
    );
    let missing = place.run(&format!("run show {id} --step 9"));
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("its steps are 1 to 2"), "{}", missing.err);
    let confirmed = place.run(&format!("run confirm {id}"));
    assert_eq!(confirmed.code, 0, "{}", confirmed.err);
    assert_eq!(confirmed.out, format!("run {id} of Look goes on; it is succeeded\n"));
    assert_eq!(place.run(&format!("run confirm {id}")).code, 4);

    let second = place.json("runbook run Look")["id"].as_u64().unwrap();
    let rejected = place.run(&format!("run reject {second} --reason 'not today'"));
    assert_eq!(rejected.code, 0, "{}", rejected.err);
    let watched = place.run(&format!("run show {second} --follow"));
    assert_eq!(watched.code, 1, "{}", watched.out);
    let resumed = place.run(&format!("run resume {second} --from 1"));
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    let cancelled = place.run(&format!("run cancel {second} --reason 'that is enough'"));
    assert_eq!(cancelled.code, 0, "{}", cancelled.err);
    assert!(cancelled.out.ends_with("it is cancelled\n"), "{}", cancelled.out);
    let history = place.json("runbook history Look");
    assert_eq!(history["runs"].as_array().unwrap().len(), 2);
    assert_eq!(place.run("run list --state live").out, "there is no run\n");
}

#[test]
fn a_fix_that_asks_for_approval_runs_when_somebody_agrees() {
    let place = Place::new();
    let served = place.serve("");
    let add = "auto-fix add --name Back --condition 'worker.leaving = true' \
               --step 'job.return_held worker=trigger.worker within=0s' --approval ask --notify '#ops'";
    assert_eq!(place.run(add).code, 0);
    assert_eq!(place.run("job add mail --text hello").code, 0);
    block_on(async {
        let client = served.client();
        let open = OpenSession {
            label: "w-3".to_owned(),
            queues: vec!["mail".to_owned()],
            ttl_ms: Some(86_400_000),
            ..OpenSession::default()
        };
        let session = client.open_session(&open).await.unwrap().reply.session;
        let queues = vec!["mail".to_owned()];
        let claim = Claim { session, queues, max: None, wait_ms: None };
        assert_eq!(client.claim(&claim).await.unwrap().jobs.len(), 1);
    });
    assert_eq!(place.run("worker drain w-3 --deadline 1h --no-wait").code, 0);
    let runs = place.json("run list --state asking");
    let id = runs["items"][0]["id"].as_u64().unwrap_or_else(|| panic!("{runs}"));
    let read = place.run("inbox read");
    assert!(
        read.out.contains("#ops") && read.out.contains(&format!("approve {id}")),
        "{}",
        read.out
    );
    let agreed = place.run(&format!("run approve {id}"));
    assert_eq!(agreed.code, 0, "{}", agreed.err);
    let run = place.json(&format!("run show {id}"));
    assert_eq!(run["votes"][0]["agrees"], true, "{run}");
    assert_eq!(run["state"], "succeeded", "{run}");
    assert_eq!(place.json("queue show mail")["jobs"]["returned"], 1);
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
        expect![[r#"
            $ clawhold runbook add --name Rebalance --trigger '/runbook rebalance' --steps 'Stop the leaving worker from taking new work. Hand back its held jobs.'
            runbook "Rebalance" (v1)  trigger /runbook rebalance
              1 worker.stop_intake  "Stop the leaving worker from taking new work."
              2 job.return_held     "Hand back its held jobs."
            All 2 sentences understood. Nothing was left out.
            $ clawhold run '/runbook rebalance'
            ! error: which worker?
            !   next: name it with --param worker=NAME
            [2]
            $ clawhold run '/runbook rebalance' --param worker=w-9
            ! error: worker "w-9": there is no such worker; `worker list` shows them
            !   next: name it with --param worker=NAME
            [2]
            $ clawhold run '/runbook rebalance' --param planet=mars
            ! error: params.planet is planet, allowed is a parameter: role, worker, queue or job
            [2]
            $ clawhold run '/runbook rebalance' --param worker
            ! error: invalid value 'worker' for '--param <NAME=VALUE>': write it as NAME=VALUE, such as worker=w-3
            !   next: see the same command with --help
            [2]
        "#]],
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
        expect![[r#"
            $ clawhold automation pause --for 2h --reason 'moving the hosts'
            automation  paused by local since MOMENT until MOMENT: moving the hosts
            runs        0 live, 0 ask
            alerts      0 firing
            inbox       nothing unread
            sinks       0 on their way, 0 that none took
            $ clawhold automation status
            automation  paused by local since MOMENT until MOMENT: moving the hosts
            runs        0 live, 0 ask
            alerts      0 firing
            inbox       nothing unread
            sinks       0 on their way, 0 that none took
            $ clawhold status
            version     0.1.0
            server      active
            active at   http://127.0.0.1:PORT
            store       sqlite:HOME/.local/state/clawhold/clawhold.db
            term        3
            position    6 at MOMENT
            hold        2.9s left
            roles       0 held, 0 vacant
            workers     0 active, 0 draining, 0 drained
            sessions    0
            queues      0, 0 paused, 0 with a closed gate
            live jobs   0 scheduled, 0 queued, 0 returned, 0 running
            ended jobs  0 completed, 0 failed, 0 cancelled
            streams     0 streams
            automation  paused, 0 runs live, 0 alerts firing
            inbox       nothing unread
            $ clawhold automation resume
            automation  on
            runs        0 live, 0 ask
            alerts      0 firing
            inbox       nothing unread
            sinks       0 on their way, 0 that none took
        "#]],
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
        alert silence --for 31d --reason drill
        alert unsilence 77
        notify failed
        notify waiting
        notify retry --all
        ",
        expect![[r#"
            $ clawhold inbox list
            there is no message
            $ clawhold inbox read
            nothing is unread
            $ clawhold alert list
            there is no alert
            $ clawhold alert silences
            no silence is in force
            $ clawhold alert silence --for 31d --reason drill
            ! error: for_ms is 2678400000, allowed is 1 to 2592000000
            [2]
            $ clawhold alert unsilence 77
            ! error: there is no silence 77
            [3]
            $ clawhold notify failed
            there is no such message
            $ clawhold notify waiting
            there is no such message
            $ clawhold notify retry --all
            0 messages tried again
        "#]],
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
        expect![[r#"
            $ clawhold role set billing --promotion policy
            role           billing
            latest token   0
            holder         vacant
            usual lease    10s
            standbys       0
            promotion      policy
            would promote  nobody: its promotion is policy, and no auto-fix in force promotes for it
            $ clawhold role show billing
            role           billing
            latest token   0
            holder         vacant
            usual lease    10s
            standbys       0
            promotion      policy
            would promote  nobody: its promotion is policy, and no auto-fix in force promotes for it
            $ clawhold auto-fix add --name Promote --condition 'lease.expired == true' --action 'Promote the warm standby.' --approval auto --max-runs '6 per day'
            auto-fix "Promote" (v1)  approval auto  max-runs 6 per day
              when lease.expired == true
              1 lease.promote_standby  "Promote the warm standby."
            The sentence is understood. Nothing was left out.
            note: it promotes: while its own limits block it, the role stays vacant and a critical alert says so; `role set ROLE --promotion native` never waits for it
            $ clawhold role show billing
            role           billing
            latest token   0
            holder         vacant
            usual lease    10s
            standbys       0
            promotion      policy
            would promote  Promote, but not now: nobody stands by
            its limits     6 of 6 per day left
            $ clawhold role set billing --promotion sometimes
            ! error: invalid value 'sometimes' for '--promotion <WHO>': allowed is auto, native or policy
            !   next: see the same command with --help
            [2]
            $ clawhold role set billing --promotion native
            role           billing
            latest token   0
            holder         vacant
            usual lease    10s
            standbys       0
            promotion      native
            would promote  the lapse itself, but not now: nobody stands by
        "#]],
    );
}
