//! Transcripts of roles: grants, lapses, hand-overs and lines.

mod promotion;
mod random;

use expect_test::expect;

use crate::session::transcript::check;

#[test]
fn a_standby_takes_over_only_after_expiry_and_with_a_higher_token() {
    check(
        "
        0    open ana 9000
        0    open ben 9000
        0    acquire billing ana ttl=1000
        500  acquire billing ben ttl=1000
        500  await billing ben ttl=1000
        999  lapse billing 3
        1000 lapse billing 3
        1001 lapse billing 3
        1002 release billing ana 3
        1003 show billing
        ",
        expect![[r#"
            0    open ana 9000
                1: session 1
            0    open ben 9000
                2: session 2
            0    acquire billing ana ttl=1000
                3: granted to ana under 3 for 1000 ms — billing to ana under 3
            500  acquire billing ben ttl=1000
                4: refused: the role is held by session 1 under token 3
            500  await billing ben ttl=1000
                5: waiting, ana holds it under 3
            999  lapse billing 3
                6: refused: it has not lapsed
            1000 lapse billing 3
                7: released, next is ben under 7 — billing to ben under 7
            1001 lapse billing 3
                8: refused: token 3 is stale, the latest of this role is 7
            1002 release billing ana 3
                9: refused: token 3 is stale, the latest of this role is 7
            1003 show billing
                ben holds it under 7, lapses 2000; line []; history: 3 acquired ana, 3 lapsed ana, 7 promoted ben
        "#]],
    );
}

#[test]
fn a_late_holder_gets_a_new_token_never_its_old_one() {
    check(
        "
        0    open ana 9000
        0    acquire billing ana ttl=1000
        10   acquire billing ana ttl=2000
        1000 lapse billing 2
        1001 acquire billing ana ttl=1000
        1002 lapse billing 2
        ",
        expect![[r#"
            0    open ana 9000
                1: session 1
            0    acquire billing ana ttl=1000
                2: granted to ana under 2 for 1000 ms — billing to ana under 2
            10   acquire billing ana ttl=2000
                3: granted to ana under 2 for 1000 ms
            1000 lapse billing 2
                4: released, next is nobody — billing vacant
            1001 acquire billing ana ttl=1000
                5: granted to ana under 5 for 1000 ms — billing to ana under 5
            1002 lapse billing 2
                6: refused: token 2 is stale, the latest of this role is 5
        "#]],
    );
}

#[test]
fn a_repeated_request_gets_the_first_token() {
    check(
        "
        0 @r0 open ana 9000
        0 @r0 open ana 9000
        1 @r1 acquire billing ana
        2 @r1 acquire billing ana
        3 @r1 acquire report ana
        4 release billing ana 3
        5 @r1 acquire billing ana
        5 show billing
        ",
        expect![[r#"
            0 @r0 open ana 9000
                1: session 1
            0 @r0 open ana 9000
                2: session 1
            1 @r1 acquire billing ana
                3: granted to ana under 3 for 10000 ms — billing to ana under 3
            2 @r1 acquire billing ana
                4: granted to ana under 3 for 10000 ms
            3 @r1 acquire report ana
                5: refused: this request id was used at position 3 for another request
            4 release billing ana 3
                6: released, next is nobody — billing vacant
            5 @r1 acquire billing ana
                7: granted to ana under 3 for 10000 ms
            5 show billing
                vacant; line []; history: 3 acquired ana, 3 released ana
        "#]],
    );
}

#[test]
fn a_late_release_changes_nothing() {
    check(
        "
        0 open ana 9000
        0 open ben 9000
        1 acquire billing ana
        2 await billing ben
        3 release billing ana 3
        4 release billing ana 3
        5 release billing ben 3
        6 release billing ana 5
        7 release billing ben 5
        8 release billing ben 5
        ",
        expect![[r#"
            0 open ana 9000
                1: session 1
            0 open ben 9000
                2: session 2
            1 acquire billing ana
                3: granted to ana under 3 for 10000 ms — billing to ana under 3
            2 await billing ben
                4: waiting, ana holds it under 3
            3 release billing ana 3
                5: released, next is ben under 5 — billing to ben under 5
            4 release billing ana 3
                6: refused: token 3 is stale, the latest of this role is 5
            5 release billing ben 3
                7: refused: token 3 is stale, the latest of this role is 5
            6 release billing ana 5
                8: refused: the role is held by session 2 under token 5
            7 release billing ben 5
                9: released, next is nobody — billing vacant
            8 release billing ben 5
                10: refused: nobody holds the role; its latest token is 5
        "#]],
    );
}

#[test]
fn a_removed_role_keeps_its_floor() {
    check(
        "
        0 open ana 9000
        1 acquire billing ana
        2 remove-role billing
        3 release billing ana 2
        4 remove-role billing
        5 show billing
        5 release billing ana 2
        6 acquire billing ana
        7 show billing
        ",
        expect![[r#"
            0 open ana 9000
                1: session 1
            1 acquire billing ana
                2: granted to ana under 2 for 10000 ms — billing to ana under 2
            2 remove-role billing
                3: refused: the role is in use: 1 holder
            3 release billing ana 2
                4: released, next is nobody — billing vacant
            4 remove-role billing
                5: Done
            5 show billing
                no such role
            5 release billing ana 2
                6: refused: there is no role billing
            6 acquire billing ana
                7: granted to ana under 7 for 10000 ms — billing to ana under 7
            7 show billing
                ana holds it under 7, lapses 10006; line []; history: 2 acquired ana, 2 released ana, 2 removed, 7 acquired ana
        "#]],
    );
}

#[test]
fn tokens_are_unique_across_roles_even_in_one_entry() {
    check(
        "
        0 open ana 9000
        0 open ben 9000
        1 acquire billing ana
        2 acquire report ana
        3 await billing ben
        4 await report ben
        5 close ana
        6 acquire mail ben
        7 show mail
        ",
        expect![[r#"
            0 open ana 9000
                1: session 1
            0 open ben 9000
                2: session 2
            1 acquire billing ana
                3: granted to ana under 3 for 10000 ms — billing to ana under 3
            2 acquire report ana
                4: granted to ana under 4 for 10000 ms — report to ana under 4
            3 await billing ben
                5: waiting, ana holds it under 3
            4 await report ben
                6: waiting, ana holds it under 4
            5 close ana
                7: Done — billing to ben under 7, report to ben under 8
            6 acquire mail ben
                8: granted to ben under 9 for 10000 ms — mail to ben under 9
            7 show mail
                ben holds it under 9, lapses 10006; line []; history: 9 acquired ben
        "#]],
    );
}

#[test]
fn a_candidate_whose_session_is_over_is_not_granted() {
    check(
        "
        0    open ana 9000
        0    open ben 1000
        0    open cem 1000
        1    acquire billing ana
        2    await billing ben
        3    await billing cem
        1001 lose ben
        1002 standings billing cem:-:1000
        1003 release billing ana 4
        1004 hand-over billing cem
        1005 heard cem
        1006 standings billing cem:-:1
        ",
        expect![[r#"
            0    open ana 9000
                1: session 1
            0    open ben 1000
                2: session 2
            0    open cem 1000
                3: session 3
            1    acquire billing ana
                4: granted to ana under 4 for 10000 ms — billing to ana under 4
            2    await billing ben
                5: waiting, ana holds it under 4
            3    await billing cem
                6: waiting, ana holds it under 4
            1001 lose ben
                7: Done
            1002 standings billing cem:-:1000
                8: Done
            1003 release billing ana 4
                9: released, next is nobody — billing vacant
            1004 hand-over billing cem
                10: refused: session 3 does not stand by for this role
            1005 heard cem
                11: Done
            1006 standings billing cem:-:1
                12: Done — billing to cem under 12
        "#]],
    );
}

#[test]
fn a_restarted_leader_never_inherits_its_token() {
    check(
        "
        0 open ana 9000
        1 acquire billing ana
        2 open ana2 9000
        3 acquire billing ana2
        4 release billing ana2 2
        5 commit billing ana2 2
        6 close ana
        7 acquire billing ana2
        ",
        expect![[r#"
            0 open ana 9000
                1: session 1
            1 acquire billing ana
                2: granted to ana under 2 for 10000 ms — billing to ana under 2
            2 open ana2 9000
                3: session 3
            3 acquire billing ana2
                4: refused: the role is held by session 1 under token 2
            4 release billing ana2 2
                5: refused: the role is held by session 1 under token 2
            5 commit billing ana2 2
                6: refused: the role is held by session 1 under token 2
            6 close ana
                7: Done — billing vacant
            7 acquire billing ana2
                8: granted to ana2 under 8 for 10000 ms — billing to ana2 under 8
        "#]],
    );
}

#[test]
fn one_who_withdraws_is_not_granted() {
    check(
        "
        0 open ana 9000
        0 open ben 9000
        1 acquire billing ana
        2 await billing ben
        2 await billing ben
        3 withdraw billing ben
        4 withdraw billing ben
        5 release billing ana 3
        ",
        expect![[r#"
            0 open ana 9000
                1: session 1
            0 open ben 9000
                2: session 2
            1 acquire billing ana
                3: granted to ana under 3 for 10000 ms — billing to ana under 3
            2 await billing ben
                4: waiting, ana holds it under 3
            2 await billing ben
                5: waiting, ana holds it under 3
            3 withdraw billing ben
                6: Done
            4 withdraw billing ben
                7: refused: session 2 does not stand by for this role
            5 release billing ana 3
                8: released, next is nobody — billing vacant
        "#]],
    );
}

#[test]
fn a_lost_leader_is_replaced_in_the_same_entry() {
    check(
        "
        0    open ana 1000
        0    open ben 9000
        1    acquire billing ana ttl=60000
        2    await billing ben
        1000 lose ana
        1001 show billing
        ",
        expect![[r#"
            0    open ana 1000
                1: session 1
            0    open ben 9000
                2: session 2
            1    acquire billing ana ttl=60000
                3: granted to ana under 3 for 60000 ms — billing to ana under 3
            2    await billing ben
                4: waiting, ana holds it under 3
            1000 lose ana
                5: Done — billing to ben under 5
            1001 show billing
                ben holds it under 5, lapses 11000; line []; history: 3 acquired ana, 3 session lost ana, 5 promoted ben
        "#]],
    );
}
