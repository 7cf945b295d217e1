//! Queues by hand.

use expect_test::expect;

use crate::place::Place;

#[test]
fn a_queue_is_set_and_paused() {
    Place::new().check(
        "
        queue list
        queue set mail --running-max 8 --retain 2d --progress 30s --live-max 0
        queue pause mail --reason 'provider is down'
        queue list
        queue show mail
        queue resume mail
        ",
        expect![[r#"
            $ clawhold queue list
            there is no queue
            $ clawhold queue set mail --running-max 8 --retain 2d --progress 30s --live-max 0
            queue            mail
            state            open
            workers          0
            live jobs        0 scheduled, 0 queued, 0 returned, 0 running
            ended jobs       0 completed, 0 failed, 0 cancelled
            seen             0 enqueued, 0 completed, 0 failed, 0 cancelled, 0 returned
            running at once  8
            progress within  30s
            ended jobs kept  100000 for 2d
            dead after       3 losses or 20 hand-backs
            live at most     no limit
            $ clawhold queue pause mail --reason 'provider is down'
            mail hands out nothing
            $ clawhold queue list
            QUEUE  SCHEDULED  QUEUED  RETURNED  RUNNING  FAILED  WORKERS  OLDEST  STATE
            mail           0       0         0        0       0        0       -  paused
            $ clawhold queue show mail
            queue            mail
            state            paused
            paused           since MOMENT: provider is down
            workers          0
            live jobs        0 scheduled, 0 queued, 0 returned, 0 running
            ended jobs       0 completed, 0 failed, 0 cancelled
            seen             0 enqueued, 0 completed, 0 failed, 0 cancelled, 0 returned
            running at once  8
            progress within  30s
            ended jobs kept  100000 for 2d
            dead after       3 losses or 20 hand-backs
            live at most     no limit
            $ clawhold queue resume mail
            mail hands out jobs
        "#]],
    );
}

#[test]
fn a_queue_is_audited_and_removed_when_it_is_empty() {
    Place::new().check(
        "
        job add mail --text x
        queue audit
        queue audit mail
        queue audit mial
        queue remove mail
        job cancel 1
        queue remove mail
        queue show mail
        queue rebalance mail
        ",
        expect![[r#"
            $ clawhold job add mail --text x
            job 1 is accepted
            $ clawhold queue audit
            1 live job at position N: 0 running, 0 returned, 1 queued, 0 scheduled
            every job has one owner
            $ clawhold queue audit mail
            1 live job at position N: 0 running, 0 returned, 1 queued, 0 scheduled
            every job has one owner
            $ clawhold queue audit mial
            ! error: there is no queue mial
            !   next: did you mean mail?
            [3]
            $ clawhold queue remove mail
            ! error: the queue is in use: 1 live jobs
            [4]
            $ clawhold job cancel 1
            1 job cancelled
            $ clawhold queue remove mail
            mail is removed
            $ clawhold queue show mail
            ! error: there is no queue mail
            [3]
            $ clawhold queue rebalance mail
            ! error: there is no queue mail
            [3]
        "#]],
    );
}

#[test]
fn what_a_queue_may_not_be_is_named_with_its_range() {
    Place::new().check(
        "
        queue set mail --losses-max 99999999999
        queue set mail --running-max -1
        queue set mail --running-max 18446744073709551616
        queue set mail --retain 11y
        queue set ../mail
        queue list
        ",
        expect![[r#"
            $ clawhold queue set mail --losses-max 99999999999
            ! error: losses_max is 99999999999, allowed is 1 to 10000
            [2]
            $ clawhold queue set mail --running-max -1
            ! error: invalid value '-1' for '--running-max <N>': is no whole number from 0 to 9007199254740991
            !   next: see the same command with --help
            [2]
            $ clawhold queue set mail --running-max 18446744073709551616
            ! error: invalid value '18446744073709551616' for '--running-max <N>': is no whole number from 0 to 9007199254740991
            !   next: see the same command with --help
            [2]
            $ clawhold queue set mail --retain 11y
            ! error: invalid value '11y' for '--retain <DURATION>': is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 0s to 3650d
            !   next: see the same command with --help
            [2]
            $ clawhold queue set ../mail
            ! error: queue is ../mail, allowed is 1 to 100 ASCII letters, digits and . _ - : @, beginning with a letter or digit
            [2]
            $ clawhold queue list
            there is no queue
        "#]],
    );
}

#[test]
fn a_narrow_terminal_gets_one_field_a_line_and_a_wide_one_columns() {
    let place = Place::new();
    place.json("queue set mail");
    let shown = |columns: u32| {
        let line = format!("stty rows 24 cols {columns}; {} queue list", crate::place::CLAWHOLD);
        let mut command = place.command("script");
        command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env("NO_COLOR", "1");
        crate::place::said(command, b"").out.replace('\r', "")
    };
    expect![[r#"
        queue: mail
        scheduled: 0
        queued: 0
        returned: 0
        running: 0
        failed: 0
        workers: 0
        oldest: -
        state: open
    "#]]
    .assert_eq(&shown(40));
    expect![[r#"
        QUEUE  SCHEDULED  QUEUED  RETURNED  RUNNING  FAILED  WORKERS  OLDEST  STATE
        mail           0       0         0        0       0        0       -  open
    "#]]
    .assert_eq(&shown(200));
}
