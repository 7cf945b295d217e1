//! Who is next, by lapse, by release and by hand-over.

use expect_test::expect;

use crate::session::transcript::check;

#[test]
fn a_hand_over_is_one_entry_and_no_third_can_win() {
    check(
        "
        0 open ana 9000
        0 open ben 9000
        0 open cem 9000
        1 acquire billing ana
        2 await billing ben
        3 await billing cem
        4 hand-over billing cem by=ben token=4
        4 hand-over billing cem by=ana
        4 hand-over billing ana by=ana token=4
        5 hand-over billing cem by=ana token=4
        6 hand-over billing ben token=4
        7 hand-over billing ben
        8 show billing
        ",
        expect![[r#"
            0 open ana 9000
                1: session 1
            0 open ben 9000
                2: session 2
            0 open cem 9000
                3: session 3
            1 acquire billing ana
                4: granted to ana under 4 for 10000 ms — billing to ana under 4
            2 await billing ben
                5: waiting, ana holds it under 4
            3 await billing cem
                6: waiting, ana holds it under 4
            4 hand-over billing cem by=ben token=4
                7: refused: the role is held by session 1 under token 4
            4 hand-over billing cem by=ana
                8: refused: token is missing, allowed is the token of the grant
            4 hand-over billing ana by=ana token=4
                9: refused: session 1 does not stand by for this role
            5 hand-over billing cem by=ana token=4
                10: granted to cem under 10 for 10000 ms — billing to cem under 10
            6 hand-over billing ben token=4
                11: refused: token 4 is stale, the latest of this role is 10
            7 hand-over billing ben
                12: granted to ben under 12 for 10000 ms — billing to ben under 12
            8 show billing
                ben holds it under 12, lapses 10007; line []; history: 4 acquired ana, 10 handed over cem, 12 handed over ben
        "#]],
    );
}

#[test]
fn an_operator_may_give_a_vacant_role_to_a_standby_that_lags() {
    check(
        "
        0    open ana 9000
        0    open ben 9000
        0    role billing lag=2
        0    append orders a b c d
        1    acquire billing ana ttl=1000 stream=orders
        2    await billing ben stream=orders
        1001 lapse billing 5
        1002 hand-over billing best
        1003 hand-over billing ben token=5
        ",
        expect![[r#"
            0    open ana 9000
                1: session 1
            0    open ben 9000
                2: session 2
            0    role billing lag=2
                3: Done
            0    append orders a b c d
                4: Appended { last: EventNumber(4) }
            1    acquire billing ana ttl=1000 stream=orders
                5: granted to ana under 5 for 1000 ms — billing to ana under 5
            2    await billing ben stream=orders
                6: waiting, ana holds it under 5
            1001 lapse billing 5
                7: released, next is nobody — billing vacant
            1002 hand-over billing best
                8: refused: no standby can take the role over
            1003 hand-over billing ben token=5
                9: granted to ben under 9 for 10000 ms — billing to ben under 9
        "#]],
    );
}

#[test]
fn the_most_caught_up_standby_is_next_and_the_silent_one_is_last() {
    check(
        "
        0  open ana 9000
        0  open ben 9000
        0  open cem 9000
        0  open dee 9000
        0  open eva 9000
        0  append orders a b c d
        1  acquire billing ana stream=orders
        2  await billing ben stream=orders
        3  await billing cem stream=orders
        4  await billing dee stream=orders
        5  await billing eva stream=orders
        6  standings billing ben:-:0 cem:2:0 dee:2:0 eva:4:4501
        7  release billing ana 7
        8  release billing cem 13
        9  release billing dee 14
        10 release billing ben 15
        11 release billing eva 16
        ",
        expect![[r#"
            0  open ana 9000
                1: session 1
            0  open ben 9000
                2: session 2
            0  open cem 9000
                3: session 3
            0  open dee 9000
                4: session 4
            0  open eva 9000
                5: session 5
            0  append orders a b c d
                6: Appended { last: EventNumber(4) }
            1  acquire billing ana stream=orders
                7: granted to ana under 7 for 10000 ms — billing to ana under 7
            2  await billing ben stream=orders
                8: waiting, ana holds it under 7
            3  await billing cem stream=orders
                9: waiting, ana holds it under 7
            4  await billing dee stream=orders
                10: waiting, ana holds it under 7
            5  await billing eva stream=orders
                11: waiting, ana holds it under 7
            6  standings billing ben:-:0 cem:2:0 dee:2:0 eva:4:4501
                12: Done
            7  release billing ana 7
                13: released, next is cem under 13 — billing to cem under 13
            8  release billing cem 13
                14: released, next is dee under 14 — billing to dee under 14
            9  release billing dee 14
                15: released, next is ben under 15 — billing to ben under 15
            10 release billing ben 15
                16: released, next is eva under 16 — billing to eva under 16
            11 release billing eva 16
                17: released, next is nobody — billing vacant
        "#]],
    );
}

#[test]
fn nobody_who_lags_too_far_is_promoted_until_it_has_caught_up() {
    check(
        "
        0    open ana 9000
        0    open ben 9000
        0    open cem 9000
        0    role billing lag=1
        0    append orders a b c d
        1    acquire billing ana ttl=1000 stream=orders
        2    await billing ben stream=orders
        3    standings billing ben:2:0
        1001 lapse billing 6
        1002 await billing ben stream=orders
        1003 await billing cem stream=orders
        1004 show billing
        1005 standings billing ben:3:0
        1006 show billing
        ",
        expect![[r#"
            0    open ana 9000
                1: session 1
            0    open ben 9000
                2: session 2
            0    open cem 9000
                3: session 3
            0    role billing lag=1
                4: Done
            0    append orders a b c d
                5: Appended { last: EventNumber(4) }
            1    acquire billing ana ttl=1000 stream=orders
                6: granted to ana under 6 for 1000 ms — billing to ana under 6
            2    await billing ben stream=orders
                7: waiting, ana holds it under 6
            3    standings billing ben:2:0
                8: Done
            1001 lapse billing 6
                9: released, next is nobody — billing vacant
            1002 await billing ben stream=orders
                10: Behind { lag_events: 2, lag_events_max: 1 }
            1003 await billing cem stream=orders
                11: Behind { lag_events: 4, lag_events_max: 1 }
            1004 show billing
                vacant; line ["ben", "cem"]; history: 6 acquired ana, 6 lapsed ana
            1005 standings billing ben:3:0
                12: Done — billing to ben under 12
            1006 show billing
                ben holds it under 12, lapses 11005; line ["cem"]; history: 6 acquired ana, 6 lapsed ana, 12 promoted ben
        "#]],
    );
}

#[test]
fn a_wider_limit_lets_a_lagging_standby_in() {
    check(
        "
        0    open ana 9000
        0    open ben 9000
        0    role billing lag=1
        0    append orders a b c d
        1    acquire billing ana ttl=1000 stream=orders
        2    await billing ben stream=orders
        1001 lapse billing 5
        1002 role billing lag=4
        ",
        expect![[r#"
            0    open ana 9000
                1: session 1
            0    open ben 9000
                2: session 2
            0    role billing lag=1
                3: Done
            0    append orders a b c d
                4: Appended { last: EventNumber(4) }
            1    acquire billing ana ttl=1000 stream=orders
                5: granted to ana under 5 for 1000 ms — billing to ana under 5
            2    await billing ben stream=orders
                6: waiting, ana holds it under 5
            1001 lapse billing 5
                7: released, next is nobody — billing vacant
            1002 role billing lag=4
                8: Done — billing to ben under 8
        "#]],
    );
}

#[test]
fn one_who_insists_gets_a_vacant_role() {
    check(
        "
        0    open ana 9000
        0    open ben 9000
        0    role billing lag=1
        0    append orders a b c d
        1    acquire billing ana ttl=1000 stream=orders
        2    await billing ben stream=orders
        1001 lapse billing 5
        1002 acquire billing ben stream=orders
        ",
        expect![[r#"
            0    open ana 9000
                1: session 1
            0    open ben 9000
                2: session 2
            0    role billing lag=1
                3: Done
            0    append orders a b c d
                4: Appended { last: EventNumber(4) }
            1    acquire billing ana ttl=1000 stream=orders
                5: granted to ana under 5 for 1000 ms — billing to ana under 5
            2    await billing ben stream=orders
                6: waiting, ana holds it under 5
            1001 lapse billing 5
                7: released, next is nobody — billing vacant
            1002 acquire billing ben stream=orders
                8: granted to ben under 8 for 10000 ms — billing to ben under 8
        "#]],
    );
}

#[test]
fn an_asked_hand_over_goes_to_the_one_named_and_lapses_in_time() {
    check(
        "
        0   open ana 9000
        0   open ben 9000
        0   open cem 9000
        1   acquire billing ana
        1   ask billing ben 100
        2   await billing ben
        3   await billing cem
        4   ask billing cem 100
        104 tick
        105 show billing
        106 ask billing cem 100
        107 ask billing cem 200
        108 release billing ana 4
        400 tick
        401 ask report best 10
        402 show billing
        ",
        expect![[r#"
            0   open ana 9000
                1: session 1
            0   open ben 9000
                2: session 2
            0   open cem 9000
                3: session 3
            1   acquire billing ana
                4: granted to ana under 4 for 10000 ms — billing to ana under 4
            1   ask billing ben 100
                5: refused: session 2 does not stand by for this role
            2   await billing ben
                6: waiting, ana holds it under 4
            3   await billing cem
                7: waiting, ana holds it under 4
            4   ask billing cem 100
                8: Done
            104 tick
                9: Done
            105 show billing
                ana holds it under 4, lapses 10001; line ["ben", "cem"]; history: 4 acquired ana, 4 hand-over asked ana, 4 hand-over missed ana
            106 ask billing cem 100
                10: Done
            107 ask billing cem 200
                11: Done
            108 release billing ana 4
                12: released, next is cem under 12 — billing to cem under 12
            400 tick
                13: Done
            401 ask report best 10
                14: refused: there is no role report
            402 show billing
                cem holds it under 12, lapses 10108; line ["ben"]; history: 4 acquired ana, 4 hand-over asked ana, 4 hand-over missed ana, 4 hand-over asked ana, 4 hand-over asked ana, 4 released ana, 12 promoted cem
        "#]],
    );
}
