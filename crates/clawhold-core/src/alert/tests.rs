use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use expect_test::expect;

use super::transcript::{Play, check, rule, title};
use super::{Backtest, Raised, backtest};
use crate::alert::AlertState;
use crate::catalog::{Severity, Spec};
use crate::command::{Automate, Command};
use crate::limits;
use crate::state::{State, Step};
use crate::units::{Name, Position, Served, Stamp, Text, Timestamp};

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
    assert_eq!(play.state.automation().outbox().list(crate::units::MessageId(0)).count(), 0);
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
                    a (session 2) wrote as leader of billing under token 4 at position 8, after token 6 was granted to b (session 3) at position 6
            119s tick
                alert 1 resolved: Stale Writes of billing
                #alerts < Resolved: Stale Writes: role billing
                    It fired at 00:01:58 UTC and is over after 1 s.
                    2 times within 1 min, the last: a (session 2) wrote as leader of billing under token 4 at position 8, after token 6 was granted to b (session 3) at position 6
                    a (session 2) wrote as leader of billing under token 4 at position 8, after token 6 was granted to b (session 3) at position 6
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
fn a_firing_alert_keeps_its_start_over_a_takeover_and_is_told_again_when_it_is_time() {
    check(
        "
        0   rule No_Leader leaderless for=1m keep=1m
        0   open a
        0   lead billing a
        10s lapse billing
        69s tick
        70s tick
        80s take-over 1
        81s tick
        61m tick
        4261s tick
        4262s ack 1
        4h  tick
        5h  tick
        6h  lead billing a
        362m tick
        ",
        expect![[r#"
            0   rule No_Leader leaderless for=1m keep=1m
            0   open a
            0   lead billing a
            10s lapse billing
                alert 1 pending: No Leader of billing
            69s tick
            70s tick
                alert 1 firing: No Leader of billing
                #alerts < No Leader: role billing
                    nobody leads billing: the last was a under token 3 (lapsed)
            80s take-over 1
            81s tick
            61m tick
            4261s tick
                #alerts < Still firing: No Leader: role billing
                    It has fired since 00:01:10 UTC, for 69 min.
                    nobody leads billing: the last was a under token 3 (lapsed)
            4262s ack 1
                alert 1 firing: No Leader of billing
            4h  tick
            5h  tick
            6h  lead billing a
                alert 1 recovering: No Leader of billing
                #alerts < Still firing: No Leader: role billing
                    It has fired since 00:01:10 UTC, for 5 h 58 min.
                    dana has looked at it since 01:11:02 UTC.
                    nobody leads billing: the last was a under token 3 (lapsed)
            362m tick
                alert 1 resolved: No Leader of billing
                #alerts < Resolved: No Leader: role billing
                    It fired at 00:01:10 UTC and is over after 6 h 0 min.
                    dana has looked at it since 01:11:02 UTC.
                    nobody leads billing: the last was a under token 3 (lapsed)
        "#]],
    );
}

#[test]
fn a_condition_that_flips_is_told_once_as_flapping_and_then_in_summaries() {
    let mut lines = String::from("0 rule Backlog backlog:1 warning\n0 open w-1 mail\n");
    for n in 0_u64..240 {
        let at = 60 + n * 40;
        lines.push_str(&format!("{at}s enqueue mail 1\n{0}s claim w-1 mail\n", at + 20));
        lines.push_str(&format!("{}s settle w-1 {} done\n", at + 20, n + 1));
    }
    lines.push_str("10240s tick\n10241s tick\n3h tick\n");
    let play = Play::of(&lines, false);
    let messages = play.state.automation().outbox().list(crate::units::MessageId(0));
    let told: Vec<String> = messages
        .map(|message| format!("{} s: {}", message.stamp.at.0 / 1_000, message.title.as_str()))
        .collect();
    expect![[r#"
        80 s: Backlog: queue mail
        80 s: Resolved: Backlog: queue mail
        120 s: Backlog: queue mail
        120 s: Resolved: Backlog: queue mail
        140 s: Flapping: Backlog: queue mail
        1940 s: Flapping: Backlog: queue mail
        3740 s: Flapping: Backlog: queue mail
        5540 s: Flapping: Backlog: queue mail
        7340 s: Flapping: Backlog: queue mail
        9140 s: Flapping: Backlog: queue mail
        10240 s: Resolved: Backlog: queue mail"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn what_stops_being_reported_does_not_resolve_by_absence() {
    check(
        "
        0   rule Lag standby_lag:10 warning
        0   open a
        0   open b
        0   lead billing a
        0   await billing b
        0   append 50
        0   standing billing b 0
        2s  tick
        15s tick
        3h  tick
        3h  standing billing b 45
        10802s tick
        ",
        expect![[r#"
            0   rule Lag standby_lag:10 warning
            0   open a
            0   open b
            0   lead billing a
            0   await billing b
            0   append 50
            0   standing billing b 0
            2s  tick
                alert 1 firing: Lag of billing
            15s tick
                #alerts < Lag: role billing
                    every standby of billing is behind; the nearest, b, by 50 events
            3h  tick
            3h  standing billing b 45
            10802s tick
                alert 1 resolved: Lag of billing
                #alerts < Resolved: Lag: role billing
                    It fired at 00:00:02 UTC and is over after 3 h 0 min.
                    every standby of billing is behind; the nearest, b, by 50 events
        "#]],
    );
}

#[test]
fn what_is_over_within_the_group_wait_is_not_told_and_stays_in_the_history() {
    let lines = "
        0   rule Backlog backlog:1 warning
        0   open w-1 mail
        1s  enqueue mail 1
        9s  claim w-1 mail
        30s tick
        ";
    check(
        lines,
        expect![[r#"
        0   rule Backlog backlog:1 warning
        0   open w-1 mail
        1s  enqueue mail 1
            alert 1 firing: Backlog of mail
        9s  claim w-1 mail
            alert 1 resolved: Backlog of mail
        30s tick
    "#]],
    );
    let play = Play::of(lines, false);
    let ended: Vec<AlertState> =
        play.state.automation().alerts().ended().map(|alert| alert.state).collect();
    assert_eq!(ended, [AlertState::Resolved]);
}

#[test]
fn a_silence_needs_an_end_and_what_still_fires_after_it_is_told_once() {
    check(
        "
        0   rule No_Leader leaderless
        0   open a
        0   lead billing a
        1s  silence rule=No_Leader
        1s  silence rule=No_Leader until=31d
        1s  silence rule=No_Leader until=10m reason=
        1s  silence rule=No_Leader until=10m
        2s  lapse billing
        5m  tick
        599s tick
        10m tick
        11m tick
        ",
        expect![[r#"
            0   rule No_Leader leaderless
            0   open a
            0   lead billing a
            1s  silence rule=No_Leader
                refused: until is 0, allowed is a moment after 1000 and not after 2592001000: at most 30 days
            1s  silence rule=No_Leader until=31d
                refused: until is 2678400000, allowed is a moment after 1000 and not after 2592001000: at most 30 days
            1s  silence rule=No_Leader until=10m reason=
                refused: reason is empty, allowed is a text that says why
            1s  silence rule=No_Leader until=10m
            2s  lapse billing
                alert 1 firing: No Leader of billing
            5m  tick
            599s tick
            10m tick
                #alerts < No Leader: role billing
                    nobody leads billing: the last was a under token 3 (lapsed)
            11m tick
        "#]],
    );
}

#[test]
fn a_silence_until_resolved_ends_with_what_it_silences() {
    check(
        "
        0   rule No_Leader leaderless
        0   open a
        0   lead billing a
        2s  lapse billing
        3s  silence group=billing until=10m until-resolved
        4s  lead billing a
        5s  lapse billing
        ",
        expect![[r#"
            0   rule No_Leader leaderless
            0   open a
            0   lead billing a
            2s  lapse billing
                alert 1 firing: No Leader of billing
                #alerts < No Leader: role billing
                    nobody leads billing: the last was a under token 3 (lapsed)
            3s  silence group=billing until=10m until-resolved
            4s  lead billing a
                alert 1 resolved: No Leader of billing
            5s  lapse billing
                alert 2 firing: No Leader of billing
                #alerts < No Leader: role billing
                    nobody leads billing: the last was a under token 6 (lapsed)
        "#]],
    );
}

#[test]
fn a_silence_that_is_taken_back_tells_what_fires_at_once() {
    check(
        "
        0   rule No_Leader leaderless
        0   open a
        0   lead billing a
        1s  silence group=billing until=10m
        2s  lapse billing
        3s  expire 4
        3s  expire 5
        ",
        expect![[r#"
            0   rule No_Leader leaderless
            0   open a
            0   lead billing a
            1s  silence group=billing until=10m
            2s  lapse billing
                alert 1 firing: No Leader of billing
            3s  expire 4
                #alerts < No Leader: role billing
                    nobody leads billing: the last was a under token 3 (lapsed)
            3s  expire 5
                refused: there is no silence 5
        "#]],
    );
}

#[test]
fn an_alert_goes_to_its_channels_and_its_routes_or_else_to_alerts() {
    check(
        "
        0   route all info #ops-all
        0   route bad critical #ops page=@oncall
        0   rule No_Leader leaderless notify=#leads
        0   rule Backlog backlog:1 warning
        0   open a
        0   lead billing a
        2s  lapse billing
        3s  enqueue mail 1
        13s tick
        ",
        expect![[r#"
            0   route all info #ops-all
            0   route bad critical #ops page=@oncall
            0   rule No_Leader leaderless notify=#leads
            0   rule Backlog backlog:1 warning
            0   open a
            0   lead billing a
            2s  lapse billing
                alert 1 firing: No Leader of billing
                #leads < No Leader: role billing
                    nobody leads billing: the last was a under token 6 (lapsed)
                #ops @oncall< No Leader: role billing
                    nobody leads billing: the last was a under token 6 (lapsed)
                #ops-all < No Leader: role billing
                    nobody leads billing: the last was a under token 6 (lapsed)
            3s  enqueue mail 1
                alert 2 firing: Backlog of mail
            13s tick
                #ops-all < Backlog: queue mail
                    1 job waits in queue mail
        "#]],
    );
}

#[test]
fn an_alert_that_another_one_explains_is_told_only_when_that_is_over() {
    check(
        "
        0   rule No_Leader leaderless
        0   rule Outage leaderless inhibits=No_Leader
        0   open a
        0   lead billing a
        2s  lapse billing
        3s  disable Outage
        4s  lead billing a
        ",
        expect![[r#"
            0   rule No_Leader leaderless
            0   rule Outage leaderless inhibits=No_Leader
            0   open a
            0   lead billing a
            2s  lapse billing
                alert 1 firing: No Leader of billing
                alert 2 firing: Outage of billing
                #alerts < Outage: role billing
                    nobody leads billing: the last was a under token 4 (lapsed)
            3s  disable Outage
                alert 2 resolved: Outage of billing
                #alerts < Resolved: Outage: role billing
                    It fired at 00:00:02 UTC and is over after 1 s: the rule was disabled.
                    nobody leads billing: the last was a under token 4 (lapsed)
                #alerts < No Leader: role billing
                    nobody leads billing: the last was a under token 4 (lapsed)
            4s  lead billing a
                alert 1 resolved: No Leader of billing
                #alerts < Resolved: No Leader: role billing
                    It fired at 00:00:02 UTC and is over after 2 s.
                    nobody leads billing: the last was a under token 4 (lapsed)
        "#]],
    );
}

#[test]
fn the_lag_of_standbys_is_not_told_while_nobody_leads() {
    check(
        "
        0   rule Lag standby_lag:10
        0   role billing lag=20
        0   open a
        0   open b
        0   lead billing a
        0   await billing b
        0   append 50
        1s  standing billing b 0
        1s  lapse billing
        2s  tick
        9s  tick
        10s lead billing a
        ",
        expect![[r#"
            0   rule Lag standby_lag:10
            0   role billing lag=20
            0   open a
            0   open b
            0   lead billing a
            0   await billing b
            0   append 50
            1s  standing billing b 0
                alert 1 firing: Lag of billing
                #alerts < Lag: role billing
                    every standby of billing is behind; the nearest, b, by 50 events
            1s  lapse billing
            2s  tick
            9s  tick
            10s lead billing a
        "#]],
    );
}

#[test]
fn a_rule_that_is_edited_disabled_or_removed_ends_its_alerts_and_says_so() {
    check(
        "
        0   open a
        0   lead billing a
        1s  lapse billing
        2s  rule No_Leader leaderless
        3s  rule No_Leader leaderless warning
        14s disable No_Leader
        15s enable No_Leader
        26s remove No_Leader
        60m tick
        ",
        expect![[r#"
            0   open a
            0   lead billing a
            1s  lapse billing
            2s  rule No_Leader leaderless
                alert 1 firing: No Leader of billing
                #alerts < No Leader: role billing
                    nobody leads billing: the last was a under token 2 (lapsed)
            3s  rule No_Leader leaderless warning
                alert 1 resolved: No Leader of billing
                alert 2 firing: No Leader of billing
                #alerts < Resolved: No Leader: role billing
                    It fired at 00:00:02 UTC and is over after 1 s: the rule was edited.
                    nobody leads billing: the last was a under token 2 (lapsed)
            14s disable No_Leader
                alert 2 resolved: No Leader of billing
                #alerts < No Leader: role billing
                    nobody leads billing: the last was a under token 2 (lapsed)
                #alerts < Resolved: No Leader: role billing
                    It fired at 00:00:03 UTC and is over after 11 s: the rule was disabled.
                    nobody leads billing: the last was a under token 2 (lapsed)
            15s enable No_Leader
                alert 3 firing: No Leader of billing
            26s remove No_Leader
                alert 3 resolved: No Leader of billing
                #alerts < No Leader: role billing
                    nobody leads billing: the last was a under token 2 (lapsed)
                #alerts < Resolved: No Leader: role billing
                    It fired at 00:00:15 UTC and is over after 11 s: the rule was removed.
                    nobody leads billing: the last was a under token 2 (lapsed)
            60m tick
        "#]],
    );
}

#[test]
fn other_detectors_find_what_they_watch_for() {
    check(
        "
        0   rule Alone no_standby keep=1s
        0   rule Moves flapping_lease:2 window=1m
        0   rule Lost missed_reports window=1m
        0   rule Dead job_failed window=1m
        0   rule Old backlog_age:60000
        0   open a mail
        0   open b mail
        1s  lead billing a
        2s  await billing b
        3s  lapse billing
        5s  enqueue mail 2
        6s  claim a mail
        7s  settle a 1 dead
        8s  settle a 2 back
        12s lose b
        67s tick
        68s tick
        69s tick
        ",
        expect![[r#"
            0   rule Alone no_standby keep=1s
            0   rule Moves flapping_lease:2 window=1m
            0   rule Lost missed_reports window=1m
            0   rule Dead job_failed window=1m
            0   rule Old backlog_age:60000
            0   open a mail
            0   open b mail
            1s  lead billing a
                alert 1 firing: Alone of billing
                #alerts < Alone: role billing
                    a leads billing and nobody stands by
            2s  await billing b
                alert 1 recovering: Alone of billing
            3s  lapse billing
                alert 1 resolved: Alone of billing
                alert 2 firing: Alone of billing
                alert 3 firing: Moves of billing
                #alerts < Resolved: Alone: role billing
                    It fired at 00:00:01 UTC and is over after 2 s.
                    a leads billing and nobody stands by
                #alerts < Alone: role billing
                    b leads billing and nobody stands by
                #alerts < Moves: role billing
                    2 times within 1 min, the last: billing went to b under token 10
                    billing went to b under token 10
            5s  enqueue mail 2
            6s  claim a mail
            7s  settle a 1 dead
                alert 4 firing: Dead of mail
                #alerts < Dead: queue mail
                    job 1 of queue mail failed for good: no such file
            8s  settle a 2 back
            12s lose b
                alert 5 firing: Lost of b
                alert 2 recovering: Alone of billing
                #alerts < Lost: worker b
                    b (session 7) was not heard of in time: it is lost
            67s tick
                alert 2 resolved: Alone of billing
                alert 3 resolved: Moves of billing
                alert 4 resolved: Dead of mail
                #alerts < Resolved: Alone: role billing
                    It fired at 00:00:03 UTC and is over after 1 min.
                    b leads billing and nobody stands by
                #alerts < Resolved: Moves: role billing
                    It fired at 00:00:03 UTC and is over after 1 min.
                    2 times within 1 min, the last: billing went to b under token 10
                    billing went to b under token 10
                #alerts < Resolved: Dead: queue mail
                    It fired at 00:00:07 UTC and is over after 1 min.
                    job 1 of queue mail failed for good: no such file
            68s tick
                alert 6 firing: Old of mail
                #alerts < Old: queue mail
                    1 job waits in queue mail, the oldest for 1 min
            69s tick
        "#]],
    );
}

#[test]
fn five_thousand_groups_of_one_rule_make_a_thousand_alerts_and_one_that_says_so() {
    let mut play = Play::of("0 rule Dead job_failed window=1h by=job info\n0 open w-1 mail", false);
    for batch in 0_u64..50 {
        let at = 1 + batch;
        play.lines(&format!("{at}s enqueue mail 100\n{at}s claim w-1 mail"));
        for n in 1..=100 {
            let job = batch * 100 + n;
            play.lines(&format!("{at}s settle w-1 {job} dead"));
        }
    }
    let alerts = play.state.automation().alerts();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for alert in alerts.live() {
        *count.entry(alert.rule.as_str()).or_default() += 1;
    }
    let max = limits::ALERTS_PER_RULE_MAX;
    assert_eq!(count, BTreeMap::from([("Alert Limit Reached", 1), ("Dead", max)]));
    assert!(alerts.watched.len() <= limits::TARGETS_MAX);
    play.lines("2h tick\n3h tick\n4h tick");
    let left: Vec<&str> =
        play.state.automation().alerts().live().map(|alert| alert.rule.as_str()).collect();
    assert_eq!(left, [""; 0], "all of it ends, and nothing is left");
    assert!(play.state.automation().alerts().watched.is_empty());
}

#[test]
fn what_the_program_raises_lives_as_other_alerts_do() {
    let mut state = State::default();
    let at = |s: u64| Stamp {
        at: Timestamp(s * 1_000),
        served: Served(s * 1_000),
        position: Position(s),
    };
    let step = |stamp| Step { stamp, actor: None, changes: Vec::new(), seen: 0 };
    let raised = Raised {
        title: title("Promotion_withheld"),
        group: Text::cut("billing"),
        grouping: None,
        severity: Severity::Critical,
        summary: Text::cut("its limit is used up"),
        details: Vec::new(),
        channels: std::vec![title("#ops")],
    };
    state.raise(&mut step(at(1)), raised.clone());
    state.raise(&mut step(at(2)), raised);
    state.clear_alert(&mut step(at(3)), &title("Promotion_withheld"), &Text::cut("billing"));
    let told = state.automation().outbox().list(crate::units::MessageId(0));
    let told: Vec<String> =
        told.map(|one| format!("{} {}", one.channel, one.title.as_str())).collect();
    assert_eq!(
        told,
        ["#ops Promotion withheld: billing", "#ops Resolved: Promotion withheld: billing"]
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
