//! Transcripts of sessions and workers: beats, lapses and drains.

use expect_test::expect;

use super::transcript::check;

#[test]
fn a_session_is_lost_only_after_its_ttl_and_by_an_entry_that_says_so() {
    check(
        "
        0    open ana 1000
        999  lose ana
        5000 worker ana
        5000 lose ana
        5001 lose ana
        5001 close ana
        ",
        expect![[r#"
            0    open ana 1000
                1: session 1
            999  lose ana
                2: refused: it has not lapsed
            5000 worker ana
                active, lapses 1000
            5000 lose ana
                3: Done
            5001 lose ana
                4: refused: session 1 is over or was never issued
            5001 close ana
                5: refused: session 1 is over or was never issued
        "#]],
    );
}

#[test]
fn what_a_session_asks_for_is_checked() {
    check(
        "
        0 open ana 199
        0 open ana 86400001
        0 open ana 1000 mail mail
        ",
        expect![[r#"
            0 open ana 199
                1: refused: ttl_ms is 199, allowed is 200 to 86400000
            0 open ana 86400001
                2: refused: ttl_ms is 86400001, allowed is 200 to 86400000
            0 open ana 1000 mail mail
                3: refused: queues is a list that repeats a name, allowed is each name once
        "#]],
    );
}

#[test]
fn a_takeover_gives_grace_at_most_three_times_in_a_row() {
    check(
        "
        0    take-over 1
        0    open ana 1000
        1    acquire billing ana ttl=500
        900  take-over 2
        950  worker ana
        1800 take-over 3
        2700 take-over 4
        2700 worker ana
        2700 show billing
        3600 take-over 5
        3600 worker ana
        3600 show billing
        3601 lapse billing 3
        3700 lose ana
        ",
        expect![[r#"
            0    take-over 1
                1: Done — the server
            0    open ana 1000
                2: session 2
            1    acquire billing ana ttl=500
                3: granted to ana under 3 for 500 ms — billing to ana under 3
            900  take-over 2
                4: Done — the server
            950  worker ana
                active, lapses 1900
            1800 take-over 3
                5: Done — the server
            2700 take-over 4
                6: Done — the server
            2700 worker ana
                active, lapses 3700
            2700 show billing
                ana holds it under 3, lapses 3200; line []; history: 3 acquired ana
            3600 take-over 5
                7: Done — the server
            3600 worker ana
                active, lapses 3700
            3600 show billing
                ana holds it under 3, lapses 3200; line []; history: 3 acquired ana
            3601 lapse billing 3
                8: released, next is nobody — billing vacant
            3700 lose ana
                9: Done
        "#]],
    );
}

#[test]
fn who_is_heard_of_gets_grace_again() {
    check(
        "
        0    take-over 1
        0    open ana 1000
        1    acquire billing ana ttl=500
        100  take-over 2
        200  take-over 3
        300  take-over 4
        400  heard ana
        2000 take-over 5
        2000 worker ana
        2000 show billing
        ",
        expect![[r#"
            0    take-over 1
                1: Done — the server
            0    open ana 1000
                2: session 2
            1    acquire billing ana ttl=500
                3: granted to ana under 3 for 500 ms — billing to ana under 3
            100  take-over 2
                4: Done — the server
            200  take-over 3
                5: Done — the server
            300  take-over 4
                6: Done — the server
            400  heard ana
                7: Done
            2000 take-over 5
                8: Done — the server
            2000 worker ana
                active, lapses 3000
            2000 show billing
                ana holds it under 3, lapses 2500; line []; history: 3 acquired ana
        "#]],
    );
}

#[test]
fn a_takeover_must_follow_the_current_term() {
    check(
        "
        0 take-over 2
        0 take-over 1
        1 take-over 1
        2 step-down
        3 take-over 2
        ",
        expect![[r#"
            0 take-over 2
                1: refused: the current term is 0
            0 take-over 1
                2: Done — the server
            1 take-over 1
                3: refused: the current term is 1
            2 step-down
                4: Done — the server
            3 take-over 2
                5: Done — the server
        "#]],
    );
}

#[test]
fn a_worker_that_holds_nothing_is_drained_at_once() {
    check(
        "
        0 open wes 1000 mail
        1 drain wes 5000
        2 drain wes 5000
        3 resume wes
        4 worker wes
        5 drain wes 0
        6 close wes
        7 drain wes 0
        ",
        expect![[r#"
            0 open wes 1000 mail
                1: session 1 — wes active
            1 drain wes 5000
                2: draining, holds 0, unserved ["mail"] — wes draining, wes drained
            2 drain wes 5000
                3: draining, holds 0, unserved ["mail"]
            3 resume wes
                4: Done — wes active
            4 worker wes
                active, lapses 1000
            5 drain wes 0
                5: draining, holds 0, unserved ["mail"] — wes draining, wes drained
            6 close wes
                6: Done — wes left
            7 drain wes 0
                7: refused: the worker is left
        "#]],
    );
}

#[test]
fn a_draining_worker_finishes_what_it_holds_and_gets_nothing_more() {
    check(
        "
        0 open wes 1000 mail
        1 open xia 1000 mail
        2 enqueue mail a b
        3 claim wes mail
        4 enqueue mail c
        5 drain wes 5000
        6 claim wes mail
        7 complete wes 1 1
        8 complete wes 2 1
        9 worker wes
        ",
        expect![[r#"
            0 open wes 1000 mail
                1: session 1 — wes active
            1 open xia 1000 mail
                2: session 2 — xia active
            2 enqueue mail a b
                3: Enqueued([Enqueued { job: JobId(1), existing: false }, Enqueued { job: JobId(2), existing: false }]) — job 1 queued, job 2 queued
            3 claim wes mail
                4: Claimed([Claimed { job: JobId(1), claim: ClaimNumber(1) }, Claimed { job: JobId(2), claim: ClaimNumber(1) }]) — job 1 running, job 2 running
            4 enqueue mail c
                5: Enqueued([Enqueued { job: JobId(3), existing: false }]) — job 3 queued
            5 drain wes 5000
                6: draining, holds 2, unserved [] — wes draining
            6 claim wes mail
                7: refused: the worker is draining and gets no new job
            7 complete wes 1 1
                8: Settled { results: [Ok(Completed)], claimed: [] } — job 1 completed
            8 complete wes 2 1
                9: Settled { results: [Ok(Completed)], claimed: [] } — job 2 completed, wes drained
            9 worker wes
                drained, lapses 1000
        "#]],
    );
}

#[test]
fn what_is_held_at_the_deadline_is_taken_back() {
    check(
        "
        0    open wes 9000 mail
        2    enqueue mail a b
        3    claim wes mail
        5    drain wes 1000
        6    drain wes 5000
        7    drain wes 500
        506  tick
        507  tick
        508  complete wes 1 1
        508  worker wes
        ",
        expect![[r#"
            0    open wes 9000 mail
                1: session 1 — wes active
            2    enqueue mail a b
                2: Enqueued([Enqueued { job: JobId(1), existing: false }, Enqueued { job: JobId(2), existing: false }]) — job 1 queued, job 2 queued
            3    claim wes mail
                3: Claimed([Claimed { job: JobId(1), claim: ClaimNumber(1) }, Claimed { job: JobId(2), claim: ClaimNumber(1) }]) — job 1 running, job 2 running
            5    drain wes 1000
                4: draining, holds 2, unserved ["mail"] — wes draining
            6    drain wes 5000
                5: draining, holds 2, unserved ["mail"]
            7    drain wes 500
                6: draining, holds 2, unserved ["mail"]
            506  tick
                7: Done
            507  tick
                8: Done — job 1 returned, job 2 returned, wes drained
            508  complete wes 1 1
                9: Settled { results: [Err(Superseded { job: JobId(1), presented: ClaimNumber(1), latest: ClaimNumber(1) })], claimed: [] }
            508  worker wes
                drained, lapses 9000
        "#]],
    );
}

#[test]
fn a_drain_taken_back_lets_jobs_in_again_and_pulls_nothing_back() {
    check(
        "
        0    open wes 9000 mail
        2    enqueue mail a
        3    claim wes mail
        4    drain wes 1000
        5    resume wes
        2000 tick
        2001 complete wes 1 1
        2002 enqueue mail b
        2003 claim wes mail
        2004 drain wes 10
        2014 tick
        2015 resume wes
        2016 worker wes
        2017 complete wes 2 1
        ",
        expect![[r#"
            0    open wes 9000 mail
                1: session 1 — wes active
            2    enqueue mail a
                2: Enqueued([Enqueued { job: JobId(1), existing: false }]) — job 1 queued
            3    claim wes mail
                3: Claimed([Claimed { job: JobId(1), claim: ClaimNumber(1) }]) — job 1 running
            4    drain wes 1000
                4: draining, holds 1, unserved ["mail"] — wes draining
            5    resume wes
                5: Done — wes active
            2000 tick
                6: Done
            2001 complete wes 1 1
                7: Settled { results: [Ok(Completed)], claimed: [] } — job 1 completed
            2002 enqueue mail b
                8: Enqueued([Enqueued { job: JobId(2), existing: false }]) — job 2 queued
            2003 claim wes mail
                9: Claimed([Claimed { job: JobId(2), claim: ClaimNumber(1) }]) — job 2 running
            2004 drain wes 10
                10: draining, holds 1, unserved ["mail"] — wes draining
            2014 tick
                11: Done — job 2 returned, wes drained
            2015 resume wes
                12: Done — wes active
            2016 worker wes
                active, lapses 9000
            2017 complete wes 2 1
                13: Settled { results: [Err(Superseded { job: JobId(2), presented: ClaimNumber(1), latest: ClaimNumber(1) })], claimed: [] }
        "#]],
    );
}

#[test]
fn a_worker_that_dies_in_its_drain_is_lost_not_drained() {
    check(
        "
        0    open wes 1000 mail
        2    enqueue mail a
        3    claim wes mail
        4    drain wes 60000
        1004 lose wes
        1005 worker wes
        1005 resume wes
        ",
        expect![[r#"
            0    open wes 1000 mail
                1: session 1 — wes active
            2    enqueue mail a
                2: Enqueued([Enqueued { job: JobId(1), existing: false }]) — job 1 queued
            3    claim wes mail
                3: Claimed([Claimed { job: JobId(1), claim: ClaimNumber(1) }]) — job 1 running
            4    drain wes 60000
                4: draining, holds 1, unserved ["mail"] — wes draining
            1004 lose wes
                5: Done — job 1 returned, wes lost
            1005 worker wes
                lost, lapses 1000
            1005 resume wes
                6: refused: the worker is lost
        "#]],
    );
}

#[test]
fn a_session_that_is_no_worker_cannot_drain() {
    check(
        "
        0 open ana 1000
        1 drain ana 1000
        2 resume ana
        ",
        expect![[r#"
            0 open ana 1000
                1: session 1
            1 drain ana 1000
                2: refused: there is no worker 1
            2 resume ana
                3: refused: there is no worker 1
        "#]],
    );
}

#[test]
fn a_request_id_is_forgotten_after_a_day() {
    check(
        "
        0        @r1 open ana 1000
        86399999 @r1 open ana 1000
        86400000 @r1 open ana 1000
        86400001 @r1 open ben 1000
        ",
        expect![[r#"
            0        @r1 open ana 1000
                1: session 1
            86399999 @r1 open ana 1000
                2: session 1
            86400000 @r1 open ana 1000
                3: session 3
            86400001 @r1 open ben 1000
                4: refused: this request id was used at position 3 for another request
        "#]],
    );
}
