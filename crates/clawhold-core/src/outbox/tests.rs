//! Messages on their way: order, retries, doubt, dead letters.

use std::format;
use std::string::String;
use std::vec::Vec;

use expect_test::expect;

use crate::alert::transcript::{Play, check};
use crate::limits;
use crate::units::{Epoch, MessageId, Timestamp};

#[test]
fn a_sink_that_fails_for_an_hour_gets_each_transition_once_and_in_order() {
    check(
        "
        0   channel #ops sink
        0   rule No_Leader leaderless notify=#ops
        0   open a
        0   lead billing a
        1s  lapse billing
        1s  sending 1
        1s  sent 1 fail
        2s  lead billing a
        3s  sending 2
        3s  sending 1
        3s  sent 1 fail
        6s  sending 1
        6s  sent 1 fail
        60m out
        60m sending 1
        60m sent 1 ok
        60m sending 2
        60m sent 2 ok
        60m out
        ",
        expect![[r##"
            0   channel #ops sink
            0   rule No_Leader leaderless notify=#ops
            0   open a
            0   lead billing a
            1s  lapse billing
                alert 1 firing: No Leader of billing
                #ops < No Leader: role billing
                    nobody leads billing: the last was a under token 4 (lapsed)
            1s  sending 1
            1s  sent 1 fail
            2s  lead billing a
                alert 1 resolved: No Leader of billing
                #ops < Resolved: No Leader: role billing
                    It fired at 00:00:01 UTC and is over after 1 s.
                    nobody leads billing: the last was a under token 4 (lapsed)
            3s  sending 2
                refused: the channel is in use: 1 message before it in its channel, 1
            3s  sending 1
            3s  sent 1 fail
            6s  sending 1
            6s  sent 1 fail
                alert 2 firing: Channel Down of #ops
            60m out
                due [1], next Some(9317), waiting ["1 failed 3", "2 failed 0"], dead [], delivered [], unread 2
            60m sending 1
                #alerts < Channel Down: #ops
                    the sink of channel "#ops" has failed since 00:00:01 UTC, 3 tries
                    500
            60m sent 1 ok
                alert 2 resolved: Channel Down of #ops
                #alerts < Resolved: Channel Down: #ops
                    It fired at 00:00:06 UTC and is over after 59 min.
                    the sink of channel "#ops" has failed since 00:00:01 UTC, 3 tries
                    500
            60m sending 2
            60m sent 2 ok
            60m out
                due [], next None, waiting [], dead [], delivered [1, 2], unread 4
        "##]],
    );
}

#[test]
fn a_message_that_is_being_sent_is_not_sent_twice_in_one_term() {
    check(
        "
        0   channel #ops sink
        0   post #ops one
        0   out
        1s  sending 1
        1s  out
        1s  sending 1
        1s  sent 1 fail
        1s  sending 1
        ",
        expect![[r#"
            0   channel #ops sink
            0   post #ops one
                #ops < one
            0   out
                due [1], next Some(0), waiting ["1 failed 0"], dead [], delivered [], unread 1
            1s  sending 1
            1s  out
                due [], next None, waiting ["1 failed 0"], dead [], delivered [], unread 1
            1s  sending 1
                refused: the message is in use: 1 sender
            1s  sent 1 fail
            1s  sending 1
                refused: message is 1, allowed is a message that is due: this one is at 1861
        "#]],
    );
}

#[test]
fn what_was_being_sent_at_a_failover_is_sent_again_as_a_possible_repeat() {
    check(
        "
        0   channel #ops sink
        0   post #ops hello
        1s  sending 1
        2s  take-over 1
        2s  out
        2s  sent 1 ok
        3s  sending 1
        3s  out
        4s  sent 1 ok
        4s  out
        ",
        expect![[r#"
            0   channel #ops sink
            0   post #ops hello
                #ops < hello
            1s  sending 1
            2s  take-over 1
            2s  out
                due [1], next Some(0), waiting ["1 failed 0"], dead [], delivered [], unread 1
            2s  sent 1 ok
                refused: message is 1, allowed is the number of a message that is being sent
            3s  sending 1
            3s  out
                due [], next None, waiting ["1 failed 0, doubt of 1000"], dead [], delivered [], unread 1
            4s  sent 1 ok
            4s  out
                due [], next None, waiting [], dead [], delivered [1], unread 1
        "#]],
    );
}

#[test]
fn a_message_is_given_up_after_a_day_and_can_be_sent_again() {
    let mut play = Play::of("0 channel #ops sink\n0 post #ops hello", false);
    let mut tries: Vec<u64> = Vec::new();
    for _ in 0..1_000 {
        let Some(Timestamp(at)) = play.state.automation().outbox().next_due(Epoch(0)) else {
            break;
        };
        tries.push(at);
        play.lines(&format!("{at} sending 1\n{at} sent 1 fail"));
    }
    let waits: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (n, wait) in waits.iter().enumerate() {
        let most = 300_000.min(1_000 << n.min(20));
        assert!(most * 4 / 5 <= *wait && *wait <= most, "wait {n} is {wait} ms");
    }
    assert!(*tries.last().unwrap() < limits::DELIVERY_MS);
    assert!(*tries.last().unwrap() + 600_000 > limits::DELIVERY_MS);
    play.said.clear();
    play.lines("25h out\n25h retry 2\n25h retry 1\n25h out\n25h sending 1\n25h sent 1 ok\n25h out");
    expect![[r##"
        25h out
            due [], next None, waiting [], dead ["1: 500"], delivered [], unread 7
        25h retry 2
            refused: message is 2, allowed is the number of a message that no sink took
            #alerts < Still firing: Channel Down: #ops
                It has fired since 00:00:02 UTC, for 24 h 59 min.
                the sink of channel "#ops" has failed since 00:00:00 UTC, 327 tries
                500
        25h retry 1
        25h out
            due [1], next Some(90000000), waiting ["1 failed 0"], dead [], delivered [], unread 8
        25h sending 1
        25h sent 1 ok
            alert 1 resolved: Channel Down of #ops
            #alerts < Resolved: Channel Down: #ops
                It fired at 00:00:02 UTC and is over after 24 h 59 min.
                the sink of channel "#ops" has failed since 00:00:00 UTC, 327 tries
                500
        25h out
            due [], next None, waiting [], dead [], delivered [1], unread 9
    "##]]
    .assert_eq(&play.said);
}

#[test]
fn a_message_that_a_sink_refuses_does_not_hold_back_the_next() {
    check(
        "
        0   channel #ops sink
        0   post #ops one
        0   post #ops two
        1s  sending 1
        1s  sent 1 refused
        1s  sending 2
        1s  sent 2 ok
        1s  out
        ",
        expect![[r#"
            0   channel #ops sink
            0   post #ops one
                #ops < one
            0   post #ops two
                #ops < two
            1s  sending 1
            1s  sent 1 refused
            1s  sending 2
            1s  sent 2 ok
            1s  out
                due [], next None, waiting [], dead ["1: 404"], delivered [2], unread 2
        "#]],
    );
}

#[test]
fn answers_to_requests_wait_for_nothing_and_channels_do_not_wait_for_each_other() {
    check(
        "
        0   channel #ops sink
        0   channel #dev sink
        0   post #ops one
        0   post #ops two
        0   post #ops three reply=https://chat.example/r/1
        0   post #ops four reply=https://chat.example/r/2
        0   post #dev five
        0   out
        ",
        expect![[r#"
            0   channel #ops sink
            0   channel #dev sink
            0   post #ops one
                #ops < one
            0   post #ops two
                #ops < two
            0   post #ops three reply=https://chat.example/r/1
                #ops < three
            0   post #ops four reply=https://chat.example/r/2
                #ops < four
            0   post #dev five
                #dev < five
            0   out
                due [1, 3, 4, 5], next Some(0), waiting ["1 failed 0", "2 failed 0", "3 failed 0", "4 failed 0", "5 failed 0"], dead [], delivered [], unread 5
        "#]],
    );
}

#[test]
fn a_channel_that_loses_its_sink_lets_go_of_what_waits() {
    check(
        "
        0   channel #ops sink
        0   rule Any sink_down notify=#ops
        0   post #ops one
        1s  sending 1
        1s  sent 1 fail
        2s  channel #ops
        2s  out
        2s  retry 1
        3s  post #ops two
        3s  out
        ",
        expect![[r##"
            0   channel #ops sink
            0   rule Any sink_down notify=#ops
            0   post #ops one
                #ops < one
            1s  sending 1
            1s  sent 1 fail
                alert 1 firing: Any of #ops
                #alerts < Any: #ops
                    the sink of channel "#ops" has failed since 00:00:01 UTC, 1 try
            2s  channel #ops
                alert 1 resolved: Any of #ops
                #alerts < Resolved: Any: #ops
                    It fired at 00:00:01 UTC and is over after 1 s.
                    the sink of channel "#ops" has failed since 00:00:01 UTC, 1 try
            2s  out
                due [], next None, waiting [], dead ["1: the channel has no sink any more"], delivered [], unread 3
            2s  retry 1
                refused: message is 1, allowed is a message whose channel is enabled and has a sink
            3s  post #ops two
                #ops < two
            3s  out
                due [], next None, waiting [], dead ["1: the channel has no sink any more"], delivered [], unread 4
        "##]],
    );
}

#[test]
fn a_post_makes_its_channel_and_the_inbox_is_read_forward_only() {
    check(
        "
        0   post #new hello
        0   post #new again
        0   post #NEW hello
        1s  read 2
        1s  read 1
        1s  out
        1s  read 3
        ",
        expect![[r##"
            0   post #new hello
                #new < hello
            0   post #new again
                #new < again
            0   post #NEW hello
                refused: there is channel "#new", which differs from "#NEW" only in case, spaces or dashes
            1s  read 2
            1s  read 1
            1s  out
                due [], next None, waiting [], dead [], delivered [], unread 0
            1s  read 3
                refused: through is 3, allowed is 0 to 2
        "##]],
    );
}

#[test]
fn the_inbox_keeps_the_latest_and_nothing_of_what_it_lets_go() {
    let mut play = Play::of("0 channel #ops sink", false);
    let max = limits::INBOX_MAX as u64;
    let mut lines = String::new();
    for n in 1..=max + 10 {
        lines.push_str(&format!("{n} post #ops hello\n"));
    }
    play.lines(&lines);
    let outbox = play.state.automation().outbox();
    assert_eq!(outbox.list(MessageId(0)).next().map(|first| first.id), Some(MessageId(11)));
    assert_eq!(outbox.list(MessageId(0)).count() as u64, max);
    let first = outbox.due(Timestamp(max + 20), Epoch(0)).collect::<Vec<_>>();
    assert_eq!(first, [MessageId(11)], "the oldest that is kept goes first");
    assert!(outbox.deliveries().count() <= limits::DELIVERIES_MAX);
}
