//! Who is told of an alert, when, and when not.

use std::format;
use std::string::String;
use std::vec::Vec;

use expect_test::expect;

use crate::alert::AlertState;
use crate::alert::transcript::{Play, check};
use crate::units::MessageId;

#[test]
fn a_condition_that_flips_is_told_once_as_flapping_and_then_in_summaries() {
    let mut lines = String::from("0 rule Backlog backlog:1 warning\n0 open w-1 mail\n");
    for n in 0_u64..240 {
        let at = 60 + n * 40;
        lines.push_str(&format!("{at}s enqueue mail 1\n{}s tick\n", at + 10));
        lines.push_str(&format!("{}s claim w-1 mail\n", at + 20));
        lines.push_str(&format!("{}s settle w-1 {} done\n", at + 20, n + 1));
    }
    lines.push_str("10240s tick\n10241s tick\n3h tick\n");
    let play = Play::of(&lines, false);
    let messages = play.state.automation().outbox().list(MessageId(0));
    let told: Vec<String> = messages
        .map(|message| format!("{} s: {}", message.stamp.at.0 / 1_000, message.title.as_str()))
        .collect();
    expect![[r#"
        70 s: Backlog: queue mail
        80 s: Resolved: Backlog: queue mail
        110 s: Backlog: queue mail
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
        0   standing billing b 0
        300 lapse billing
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
            0   standing billing b 0
            300 lapse billing
                alert 1 firing: Lag of billing
            2s  tick
            9s  tick
            10s lead billing a
                #alerts < Lag: role billing
                    every standby of billing is behind; the nearest, b, by 50 events
        "#]],
    );
}
