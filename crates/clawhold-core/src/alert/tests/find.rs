//! What each detector finds, and what it does not.

use std::format;
use std::string::String;
use std::vec::Vec;

use expect_test::expect;

use crate::alert::transcript::{Play, check, rule, title};
use crate::alert::{Backtest, backtest};
use crate::catalog::Spec;
use crate::command::{Automate, Command};
use crate::run::Target;
use crate::state::{State, Step};
use crate::units::{MessageId, Name, Text};

#[test]
fn a_healthy_failover_is_silent_and_a_late_claim_fires_once_with_both() {
    check(
        "
        0   rule Two_Active_Leaders two_leaders window=5m keep=5m by=role
        0   open a
        0   open b
        1s  lead billing a
        1s  await billing b
        3m  lapse billing
        3m  believe b billing 6 report
        4m  believe a billing 4 report
        4m  believe a billing 4 report
        5m  believe a billing 4 write
        10m tick
        15m tick
        ",
        expect![[r#"
            0   rule Two_Active_Leaders two_leaders window=5m keep=5m by=role
            0   open a
            0   open b
            1s  lead billing a
            1s  await billing b
            3m  lapse billing
            3m  believe b billing 6 report
            4m  believe a billing 4 report
                alert 1 firing: Two Active Leaders of billing
                #alerts < Two Active Leaders: role billing
                    a (session 2) reported to lead billing under token 4 at position 8, after token 6 was granted to b (session 3) at position 6
            4m  believe a billing 4 report
            5m  believe a billing 4 write
            10m tick
                alert 1 recovering: Two Active Leaders of billing
            15m tick
                alert 1 resolved: Two Active Leaders of billing
                #alerts < Resolved: Two Active Leaders: role billing
                    It fired at 00:04:00 UTC and is over after 11 min.
                    a (session 2) wrote as leader of billing under token 4 at position 10, after token 6 was granted to b (session 3) at position 6
                    a (session 2) reported to lead billing under token 4 at position 8, after token 6 was granted to b (session 3) at position 6
                    a (session 2) reported to lead billing under token 4 at position 9, after token 6 was granted to b (session 3) at position 6
                    a (session 2) wrote as leader of billing under token 4 at position 10, after token 6 was granted to b (session 3) at position 6
        "#]],
    );
}

#[test]
fn ten_thousand_healthy_handovers_are_silent() {
    let mut play = Play::of(
        "
        0 rule Two_Active_Leaders two_leaders window=5m by=role
        0 open a
        0 open b
        0 lead billing a
        0 await billing b
        ",
        false,
    );
    let others = [("a", "b"), ("b", "a")].into_iter().cycle();
    for (n, (from, to)) in (1_u64..=10_000).zip(others) {
        // The replica feeds a belief only when it is overtaken: none in a healthy handover. One
        // that it fed by mistake, for a token that nobody has overtaken, is no second leader.
        let at = n * 20_000;
        let token = play.state.roles.floor(&Name::parse("billing").unwrap()).unwrap();
        play.lines(&format!(
            "
            {at} lapse billing
            {at} await billing {from}
            "
        ));
        if n % 1_000 == 0 {
            let now = play.state.roles.floor(&Name::parse("billing").unwrap()).unwrap();
            assert!(now > token);
            play.lines(&format!("{at} believe {to} billing {now} report"));
        }
    }
    assert_eq!(play.state.automation().alerts().live().count(), 0);
    assert_eq!(play.state.automation().outbox().list(MessageId(0)).count(), 0);
}

#[test]
fn one_token_claimed_by_two_is_two_leaders() {
    check(
        "
        0   rule Two_Active_Leaders two_leaders window=5m by=role
        0   open a
        0   open b
        1s  lead billing a
        2s  believe a billing 4 report
        3s  believe b billing 4 report
        ",
        expect![[r#"
            0   rule Two_Active_Leaders two_leaders window=5m by=role
            0   open a
            0   open b
            1s  lead billing a
            2s  believe a billing 4 report
            3s  believe b billing 4 report
                alert 1 firing: Two Active Leaders of billing
                #alerts < Two Active Leaders: role billing
                    b (session 3) reported to lead billing under token 4 at position 6, which is the token of a (session 2)
        "#]],
    );
}

#[test]
fn two_claims_count_together_though_they_straddle_a_full_minute() {
    check(
        "
        0    rule Stale_Writes stale_writes:2 window=1m
        0    open a
        0    open b
        0    lead billing a
        0    await billing b
        1s   lapse billing
        59s  believe a billing 4 write
        118s believe a billing 4 write
        119s tick
        178s believe a billing 4 write
        179s tick
        ",
        expect![[r#"
            0    rule Stale_Writes stale_writes:2 window=1m
            0    open a
            0    open b
            0    lead billing a
            0    await billing b
            1s   lapse billing
            59s  believe a billing 4 write
            118s believe a billing 4 write
                alert 1 firing: Stale Writes of billing
                #alerts < Stale Writes: role billing
                    2 times within 1 min, the last: a (session 2) wrote as leader of billing under token 4 at position 8, after token 6 was granted to b (session 3) at position 6
            119s tick
                alert 1 resolved: Stale Writes of billing
                #alerts < Resolved: Stale Writes: role billing
                    It fired at 00:01:58 UTC and is over after 1 s.
                    2 times within 1 min, the last: a (session 2) wrote as leader of billing under token 4 at position 8, after token 6 was granted to b (session 3) at position 6
            178s believe a billing 4 write
            179s tick
        "#]],
    );
}

#[test]
fn a_lost_worker_leaves_jobs_without_owner_until_all_are_placed() {
    check(
        "
        0   rule Job_Without_Owner orphan window=5m keep=1m by=queue
        0   rule Held_By_Gone held_by_gone info notify=#ops-info
        0   open w-1 mail
        0   open w-2 mail
        0   enqueue mail 3
        1s  claim w-1 mail
        20s lose w-1
        31s tick
        40s claim w-2 mail
        2m  tick
        ",
        expect![[r#"
            0   rule Job_Without_Owner orphan window=5m keep=1m by=queue
            0   rule Held_By_Gone held_by_gone info notify=#ops-info
            0   open w-1 mail
            0   open w-2 mail
            0   enqueue mail 3
            1s  claim w-1 mail
            20s lose w-1
                alert 1 firing: Held By Gone of w-1
                alert 2 firing: Job Without Owner of mail
                #alerts < Job Without Owner: queue mail
                    w-1 (session 3) was lost while it held job 1, and 2 more
                    w-1 (session 3) was lost while it held job 1
                    w-1 (session 3) was lost while it held job 2
                    w-1 (session 3) was lost while it held job 3
            31s tick
                #ops-info < Held By Gone: worker w-1
                    w-1 (session 3) was lost while it held job 1, and 2 more
                    w-1 (session 3) was lost while it held job 1
                    w-1 (session 3) was lost while it held job 2
                    w-1 (session 3) was lost while it held job 3
            40s claim w-2 mail
                alert 1 resolved: Held By Gone of w-1
                alert 2 recovering: Job Without Owner of mail
                #ops-info < Resolved: Held By Gone: worker w-1
                    It fired at 00:00:20 UTC and is over after 20 s.
                    w-1 (session 3) was lost while it held job 1, and 2 more
                    w-1 (session 3) was lost while it held job 1
                    w-1 (session 3) was lost while it held job 2
                    w-1 (session 3) was lost while it held job 3
            2m  tick
                alert 2 resolved: Job Without Owner of mail
                #alerts < Resolved: Job Without Owner: queue mail
                    It fired at 00:00:20 UTC and is over after 1 min.
                    w-1 (session 3) was lost while it held job 1, and 2 more
                    w-1 (session 3) was lost while it held job 1
                    w-1 (session 3) was lost while it held job 2
                    w-1 (session 3) was lost while it held job 3
        "#]],
    );
}

#[test]
fn a_job_that_its_holder_never_listed_is_one_without_owner() {
    check(
        "
        0   rule Job_Without_Owner orphan window=5m keep=1m by=queue
        0   open w-1 mail
        0   enqueue mail 1
        1s  claim w-1 mail
        9s  take-back 1
        10s claim w-1 mail
        80s tick
        ",
        expect![[r#"
            0   rule Job_Without_Owner orphan window=5m keep=1m by=queue
            0   open w-1 mail
            0   enqueue mail 1
            1s  claim w-1 mail
            9s  take-back 1
                alert 1 firing: Job Without Owner of mail
                #alerts < Job Without Owner: queue mail
                    job 1 was given to w-1 (session 2), which never listed it, and was taken back
            10s claim w-1 mail
                alert 1 recovering: Job Without Owner of mail
            80s tick
                alert 1 resolved: Job Without Owner of mail
                #alerts < Resolved: Job Without Owner: queue mail
                    It fired at 00:00:09 UTC and is over after 1 min.
                    job 1 was given to w-1 (session 2), which never listed it, and was taken back
        "#]],
    );
}

#[test]
fn a_returned_job_that_nobody_takes_is_without_owner_after_the_window() {
    check(
        "
        0    rule Job_Without_Owner orphan window=5m by=queue
        0    open w-1 mail
        0    enqueue mail 2
        1s   claim w-1 mail
        10s  settle w-1 1 back
        60s  settle w-1 2 back
        309s tick
        310s tick
        360s tick
        400s claim w-1 mail
        ",
        expect![[r#"
            0    rule Job_Without_Owner orphan window=5m by=queue
            0    open w-1 mail
            0    enqueue mail 2
            1s   claim w-1 mail
            10s  settle w-1 1 back
            60s  settle w-1 2 back
            309s tick
            310s tick
                alert 1 firing: Job Without Owner of mail
                #alerts < Job Without Owner: queue mail
                    job 1 came back at 00:00:10 UTC and nobody has taken it since
            360s tick
            400s claim w-1 mail
                alert 1 resolved: Job Without Owner of mail
                #alerts < Resolved: Job Without Owner: queue mail
                    It fired at 00:05:10 UTC and is over after 1 min.
                    job 1 came back at 00:00:10 UTC and nobody has taken it since, and 1 more
                    job 1 came back at 00:00:10 UTC and nobody has taken it since
                    job 2 came back at 00:01:00 UTC and nobody has taken it since
        "#]],
    );
}

#[test]
fn a_job_that_is_taken_again_in_time_was_never_without_owner() {
    check(
        "
        0    rule Job_Without_Owner orphan window=5m by=queue
        0    open w-1 mail
        0    enqueue mail 2
        1s   claim w-1 mail
        10s  settle w-1 1 back
        200s claim w-1 mail
        310s tick
        400s tick
        ",
        expect![[r#"
            0    rule Job_Without_Owner orphan window=5m by=queue
            0    open w-1 mail
            0    enqueue mail 2
            1s   claim w-1 mail
            10s  settle w-1 1 back
            200s claim w-1 mail
            310s tick
            400s tick
        "#]],
    );
}

#[test]
fn a_leader_without_standby_and_a_worker_that_is_lost_are_found() {
    check(
        "
        0   rule Alone no_standby keep=1s
        0   rule Lost missed_reports window=1m
        0   open a mail
        0   open b mail
        1s  lead billing a
        2s  await billing b
        3s  tick
        12s lose b
        72s tick
        ",
        expect![[r#"
            0   rule Alone no_standby keep=1s
            0   rule Lost missed_reports window=1m
            0   open a mail
            0   open b mail
            1s  lead billing a
                alert 1 firing: Alone of billing
                #alerts < Alone: role billing
                    a leads billing and nobody stands by
            2s  await billing b
                alert 1 recovering: Alone of billing
            3s  tick
                alert 1 resolved: Alone of billing
                #alerts < Resolved: Alone: role billing
                    It fired at 00:00:01 UTC and is over after 2 s.
                    a leads billing and nobody stands by
            12s lose b
                alert 2 firing: Alone of billing
                alert 3 firing: Lost of b
                #alerts < Alone: role billing
                    a leads billing and nobody stands by
                #alerts < Lost: worker b
                    b (session 4) was not heard of in time: it is lost
            72s tick
                alert 3 resolved: Lost of b
                #alerts < Resolved: Lost: worker b
                    It fired at 00:00:12 UTC and is over after 1 min.
                    b (session 4) was not heard of in time: it is lost
        "#]],
    );
}

#[test]
fn a_job_that_died_and_one_that_waits_for_long_are_found() {
    check(
        "
        0   rule Dead job_failed window=1m
        0   rule Old backlog_age:60000
        0   open a mail
        5s  enqueue mail 2
        6s  claim a mail
        7s  settle a 1 dead
        8s  settle a 2 back
        67s tick
        68s tick
        ",
        expect![[r#"
            0   rule Dead job_failed window=1m
            0   rule Old backlog_age:60000
            0   open a mail
            5s  enqueue mail 2
            6s  claim a mail
            7s  settle a 1 dead
                alert 1 firing: Dead of mail
                #alerts < Dead: queue mail
                    job 1 of queue mail failed for good: no such file
            8s  settle a 2 back
            67s tick
                alert 1 resolved: Dead of mail
                #alerts < Resolved: Dead: queue mail
                    It fired at 00:00:07 UTC and is over after 1 min.
                    job 1 of queue mail failed for good: no such file
            68s tick
                alert 2 firing: Old of mail
                #alerts < Old: queue mail
                    1 job waits in queue mail, the oldest for 1 min
        "#]],
    );
}

#[test]
fn a_role_that_changes_hands_too_often_is_found() {
    check(
        "
        0   rule Moves flapping_lease:3 window=1m
        0   open a
        0   open b
        1s  lead billing a
        2s  await billing b
        3s  lapse billing
        4s  await billing a
        5s  lapse billing
        61s tick
        ",
        expect![[r#"
            0   rule Moves flapping_lease:3 window=1m
            0   open a
            0   open b
            1s  lead billing a
            2s  await billing b
            3s  lapse billing
            4s  await billing a
            5s  lapse billing
                alert 1 firing: Moves of billing
                #alerts < Moves: role billing
                    3 times within 1 min, the last: billing went to a (session 2) under token 8
            61s tick
                alert 1 resolved: Moves of billing
                #alerts < Resolved: Moves: role billing
                    It fired at 00:00:05 UTC and is over after 56 s.
                    3 times within 1 min, the last: billing went to a (session 2) under token 8
        "#]],
    );
}

#[test]
fn a_condition_fires_for_each_target_and_what_is_gone_does_not_hold() {
    check(
        "
        0   rule Leaves if:worker.leaving+=+true+and+worker.held_jobs+>+0 warning
        0   open w-1 mail
        0   open w-2 mail
        0   enqueue mail 2
        1s  claim w-1 mail
        2s  drain w-1 60000
        3s  settle w-1 1 done
        12s tick
        13s lose w-1
        ",
        expect![[r#"
            0   rule Leaves if:worker.leaving+=+true+and+worker.held_jobs+>+0 warning
            0   open w-1 mail
            0   open w-2 mail
            0   enqueue mail 2
            1s  claim w-1 mail
            2s  drain w-1 60000
                alert 1 firing: Leaves of w-1
            3s  settle w-1 1 done
            12s tick
                #alerts < Leaves: worker w-1
                    worker w-1 (session 2): worker.leaving = true, worker.held_jobs = 1
            13s lose w-1
                alert 1 resolved: Leaves of w-1
                #alerts < Resolved: Leaves: worker w-1
                    It fired at 00:00:02 UTC and is over after 11 s.
                    worker w-1 (session 2): worker.leaving = true, worker.held_jobs = 1
        "#]],
    );
}

#[test]
fn a_condition_about_time_is_looked_at_as_time_passes() {
    check(
        "
        0   enqueue mail 1
        1s  rule Old if:queue.oldest_age+>=+10s
        5s  tick
        10s tick
        11s open w-1 mail
        12s claim w-1 mail
        ",
        expect![[r#"
            0   enqueue mail 1
            1s  rule Old if:queue.oldest_age+>=+10s
            5s  tick
            10s tick
                alert 1 firing: Old of mail
                #alerts < Old: queue mail
                    queue mail: queue.oldest_age = 10s
            11s open w-1 mail
            12s claim w-1 mail
                alert 1 resolved: Old of mail
                #alerts < Resolved: Old: queue mail
                    It fired at 00:00:10 UTC and is over after 2 s.
                    queue mail: queue.oldest_age = 12s
        "#]],
    );
}

#[test]
fn what_an_audit_finds_and_what_blocks_a_fix_reach_the_rules_that_watch_for_it() {
    let lines = "
        0 rule Doubles double_owner window=5m
        0 rule Blocked fix_blocked window=5m
        ";
    let mut play = Play::of(lines, false);
    let stamp = play.state.last();
    let mut step = Step { stamp, actor: None, changes: Vec::new(), seen: 0 };
    let mail = Name::parse("mail").unwrap();
    let found = Text::cut("held by a worker, not by the record: job 3");
    play.state.double_owner_seen(&mut step, &mail, &[found]);
    let target = Target::Role(Name::parse("billing").unwrap());
    let why = Text::cut("Promote Standby did not run for role billing");
    play.state.fix_blocked_seen(&mut step, &title("Promote_Standby"), &target, &why);
    let live = play.state.automation().alerts().live();
    let live: Vec<String> = live
        .map(|one| format!("{}/{}: {}", one.rule, one.group.as_str(), one.summary.as_str()))
        .collect();
    assert_eq!(
        live,
        [
            "Blocked/Promote Standby: Promote Standby did not run for role billing",
            "Doubles/mail: held by a worker, not by the record: job 3",
        ]
    );
}

#[test]
fn a_backtest_finds_what_the_rule_would_have_found_and_counts_what_it_looked_at() {
    let lines = "
        0   open a
        0   open b
        1s  lead billing a
        1s  await billing b
        2s  lapse billing
        3s  believe a billing 3 report
        4s  enqueue mail 1
        20m tick
        ";
    let play = Play::of(lines, false);
    let spec = rule(&["rule", "Two", "two_leaders", "window=5m"]);
    let two = backtest(State::default(), &title("Two"), &spec, play.entries.iter().cloned());
    assert_eq!((two.entries, two.fired, two.touched), (8, 1, 2));
    assert_eq!(two.first[0].group.as_str(), "billing");
    assert!(two.first[0].summary.as_str().contains("under token 3 at position 6"));
    // A threshold that is too high and a rule that nothing touches do not look alike.
    let high = rule(&["rule", "High", "backlog:100"]);
    let high = backtest(State::default(), &title("High"), &high, play.entries.iter().cloned());
    assert_eq!((high.fired, high.touched > 0), (0, true));
    let none = rule(&["rule", "None", "sink_down"]);
    let none = backtest(State::default(), &title("None"), &none, play.entries.iter().cloned());
    assert_eq!(none, Backtest { entries: 8, ..Backtest::default() });
}

#[test]
fn a_backtest_leaves_the_rule_that_is_tried_alone() {
    let play = Play::of(
        "0 rule Leader two_leaders\n1s open a\n2s lead billing a\n3s lapse billing",
        false,
    );
    let spec = rule(&["rule", "Leader", "leaderless"]);
    let tried = backtest(State::default(), &title("Leader"), &spec, play.entries.iter().cloned());
    assert_eq!(tried.fired, 1);
    let Command::Automate(first) = &play.entries[0].1.command else { panic!("a definition") };
    let Automate::Define(define) = &**first else { panic!("a definition") };
    assert!(matches!(define.spec, Spec::AlertRule(_)));
}
