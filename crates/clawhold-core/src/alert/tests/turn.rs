//! How alerts turn: windows, recovery, flapping, limits.

use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use expect_test::expect;

use crate::alert::Raised;
use crate::alert::transcript::{Play, check, title};
use crate::catalog::Severity;
use crate::limits;
use crate::state::{State, Step};
use crate::units::{MessageId, Position, Served, Stamp, Text, Timestamp};

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
fn what_nobody_reports_any_more_stays_as_it_was_and_says_that_there_is_no_data() {
    check(
        "
        0   rule Lag if:standby.lag+>+10 warning
        0   open a
        0   open b
        0   lead billing a
        0   await billing b
        0   append 50
        0   standing billing b 0
        2s  tick
        15s tick
        3h  lose b
        10801s tick
        10802s open c
        10803s await billing c
        10804s standing billing c 45
        10900s tick
        ",
        expect![[r#"
            0   rule Lag if:standby.lag+>+10 warning
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
                    role billing: standby.lag = 50
            3h  lose b
                alert 1 firing, no data: Lag of billing
            10801s tick
            10802s open c
            10803s await billing c
            10804s standing billing c 45
            10900s tick
                alert 1 resolved: Lag of billing
                #alerts < Resolved: Lag: role billing
                    It fired at 00:00:02 UTC and is over after 3 h 1 min.
                    role billing: standby.lag = 50
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
    let told = state.automation().outbox().list(MessageId(0));
    let told: Vec<String> =
        told.map(|one| format!("{} {}", one.channel, one.title.as_str())).collect();
    assert_eq!(
        told,
        ["#ops Promotion withheld: billing", "#ops Resolved: Promotion withheld: billing"]
    );
}
