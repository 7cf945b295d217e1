//! How runs end, and what is kept of them.

use expect_test::expect;

use super::check;

#[test]
fn only_the_latest_claim_may_settle() {
    check(
        "
        0 open ana q
        0 open ben q
        0 add q a b
        1 claim ana q 2
        2 take 1
        3 claim ben q
        4 settle ana done:1/1 done:2/1 done:99/1
        5 settle ana done:1/2
        6 progress ana 1/1
        7 save ana 1/1 late
        8 settle ben done:1/2:result
        9 settle ana done:1/1 fail:1/1 back:1/1 sleep:1/1
        10 settle ben done:1/2
        11 show 1
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 add q a b: 1, 2 [1 queued] [2 queued]
            1 claim ana q 2: 1/1, 2/1 [1 running] [2 running]
            2 take 1: 1 [1 returned]
            3 claim ben q: 1/2 [1 running]
            4 settle ana done:1/1 done:2/1 done:99/1: refused, claim 1 of job 1 is superseded, the latest is 2, completed, refused, there is no job 99 [2 completed]
            5 settle ana done:1/2: refused, claim 2 of job 1 is superseded, the latest is 2
            6 progress ana 1/1: refused, claim 1 of job 1 is superseded, the latest is 2
            7 save ana 1/1 late: refused, claim 1 of job 1 is superseded, the latest is 2
            8 settle ben done:1/2:result: completed [1 completed]
            9 settle ana done:1/1 fail:1/1 back:1/1 sleep:1/1: refused, claim 1 of job 1 is superseded, the latest is 2, refused, claim 1 of job 1 is superseded, the latest is 2, refused, claim 1 of job 1 is superseded, the latest is 2, refused, claim 1 of job 1 is superseded, the latest is 2
            10 settle ben done:1/2: refused, claim 2 of job 1 is superseded, the latest is 2
            11 show 1: completed claim 2 attempts 0 losses 0 hand-backs 1 returned by 1 at entry 5, Operator
        "#]],
    );
}

#[test]
fn a_result_too_large_leaves_the_job_running() {
    check(
        "
        0 open ana q
        0 add q a
        1 claim ana q
        2 settle ana done:1/1:huge
        3 settle ana done:1/1:small
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a: 1 [1 queued]
            1 claim ana q: 1/1 [1 running]
            2 settle ana done:1/1:huge: refused, result is 262145, allowed is 0 to 262144
            3 settle ana done:1/1:small: completed [1 completed]
        "#]],
    );
}

#[test]
fn a_failed_run_is_tried_again_while_the_rule_allows() {
    check(
        "
        0 open ana q
        0 add q a attempts=2 first=1000 ceiling=1000
        1 claim ana q
        2 settle ana fail:1/1:first
        3 claim ana q
        1100 claim ana q
        1101 settle ana fail:1/2:second
        1102 show 1
        1103 retry 1
        1104 claim ana q
        1105 show 1
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a attempts=2 first=1000 ceiling=1000: 1 [1 queued]
            1 claim ana q: 1/1 [1 running]
            2 settle ana fail:1/1:first: retry at 847 [1 scheduled]
            3 claim ana q: none
            1100 claim ana q: 1/2 [1 queued] [1 running]
            1101 settle ana fail:1/2:second: failed [1 failed]
            1102 show 1: failed claim 2 attempts 2 losses 0 hand-backs 0; first; second
            1103 retry 1: 1 [1 queued]
            1104 claim ana q: 1/3 [1 running]
            1105 show 1: running claim 3 attempts 0 losses 0 hand-backs 0; first; second
        "#]],
    );
}

#[test]
fn a_snoozed_job_holds_no_slot_and_burns_no_attempt() {
    check(
        "
        0 open ana q slots=1
        0 add q a b
        1 claim ana q
        2 settle ana sleep:1/1:point for=100 next=q
        3 settle ana done:1/1
        4 show 1
        103 settle ana done:2/1 next=q
        ",
        expect![[r#"
            0 open ana q slots=1: opened
            0 add q a b: 1, 2 [1 queued] [2 queued]
            1 claim ana q: 1/1 [1 running]
            2 settle ana sleep:1/1:point for=100 next=q: retry at 102; next 2/1 [1 scheduled] [2 running]
            3 settle ana done:1/1: refused, claim 1 of job 1 is superseded, the latest is 1
            4 show 1: scheduled claim 1 attempts 0 losses 0 hand-backs 0 checkpoint b"point" number 1 of claim 1
            103 settle ana done:2/1 next=q: completed; next 1/2 [1 queued] [2 completed] [1 running]
        "#]],
    );
}

#[test]
fn a_job_that_loses_its_holders_dies_of_it_with_their_names() {
    check(
        "
        0 open ana q
        0 add q poison good attempts=1
        1 claim ana q 2
        2000 lose ana
        2001 show 1
        2002 open ben q
        2003 claim ben q 2
        2004 settle ben done:2/2
        4000 lose ben
        4001 open cat q
        4002 claim cat q 2
        6000 lose cat
        6001 show 1
        6002 show 2
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q poison good attempts=1: 1, 2 [1 queued] [2 queued]
            1 claim ana q 2: 1/1, 2/1 [1 running] [2 running]
            2000 lose ana: done [1 returned] [2 returned]
            2001 show 1: returned claim 1 attempts 0 losses 1 hand-backs 0 returned by 1 at entry 4, SessionLost; session 1 was lost while it held claim 1
            2002 open ben q: opened
            2003 claim ben q 2: 1/2, 2/2 [1 running] [2 running]
            2004 settle ben done:2/2: completed [2 completed]
            4000 lose ben: done [1 returned]
            4001 open cat q: opened
            4002 claim cat q 2: 1/3 [1 running]
            6000 lose cat: done [1 failed]
            6001 show 1: failed claim 3 attempts 0 losses 3 hand-backs 0 returned by 9 at entry 11, SessionLost; session 1 was lost while it held claim 1; session 5 was lost while it held claim 2; session 9 was lost while it held claim 3; 3 holders were lost with it
            6002 show 2: completed claim 2 attempts 0 losses 1 hand-backs 0 returned by 1 at entry 4, SessionLost; session 1 was lost while it held claim 1
        "#]],
    );
}

#[test]
fn a_job_that_comes_back_too_often_waits_for_the_operator() {
    check(
        "
        0 open ana q
        0 queue q hand_backs=2
        0 add q a
        1 claim ana q
        2 settle ana back:1/1 next=q
        3 settle ana back:1/2 next=q
        4 settle ana back:1/3 next=q
        5 show 1
        6 retry 1
        7 show 1
        ",
        expect![[r#"
            0 open ana q: opened
            0 queue q hand_backs=2: done
            0 add q a: 1 [1 queued]
            1 claim ana q: 1/1 [1 running]
            2 settle ana back:1/1 next=q: returned; next 1/2 [1 returned] [1 running]
            3 settle ana back:1/2 next=q: returned; next 1/3 [1 returned] [1 running]
            4 settle ana back:1/3 next=q: failed [1 failed]
            5 show 1: failed claim 3 attempts 0 losses 0 hand-backs 3 returned by 1 at entry 7, HandedBack; it came back 3 times, at most 2 are allowed
            6 retry 1: 1 [1 queued]
            7 show 1: queued claim 3 attempts 0 losses 0 hand-backs 0 returned by 1 at entry 7, HandedBack; it came back 3 times, at most 2 are allowed
        "#]],
    );
}

#[test]
fn a_cancellation_waits_for_the_handler_and_then_fences_it() {
    check(
        "
        0 open ana q
        0 add q a b c d e f
        1 claim ana q 6
        2 cancel 1,2,3,4,5 grace=100
        3 settle ana back:1/1 fail:2/1:stopped sleep:3/1 done:4/1
        4 cancel 5 grace=1000
        5 next
        102 tick
        103 settle ana done:5/1
        104 cancel 6 grace=0
        105 settle ana done:6/1
        106 cancel 6,4
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a b c d e f: 1, 2, 3, 4, 5, 6 [1 queued] [2 queued] [3 queued] [4 queued] [5 queued] [6 queued]
            1 claim ana q 6: 1/1, 2/1, 3/1, 4/1, 5/1, 6/1 [1 running] [2 running] [3 running] [4 running] [5 running] [6 running]
            2 cancel 1,2,3,4,5 grace=100: 1, 2, 3, 4, 5 [1 running] [2 running] [3 running] [4 running] [5 running]
            3 settle ana back:1/1 fail:2/1:stopped sleep:3/1 done:4/1: cancelled, cancelled, cancelled, completed [1 cancelled] [2 cancelled] [3 cancelled] [4 completed]
            4 cancel 5 grace=1000: 5 [5 running]
            5 next: Some(604800003) Some(102)
            102 tick: done [5 cancelled]
            103 settle ana done:5/1: refused, claim 1 of job 5 is superseded, the latest is 1
            104 cancel 6 grace=0: 6 [6 cancelled]
            105 settle ana done:6/1: refused, claim 1 of job 6 is superseded, the latest is 1
            106 cancel 6,4: refused, job 6 is cancelled, refused, job 4 is completed
        "#]],
    );
}

#[test]
fn a_run_that_lasts_too_long_is_a_failed_attempt() {
    check(
        "
        0 open ana q
        0 queue p progress=50
        0 add q a timeout=100 attempts=2
        0 add p b
        1 claim ana q,p 2
        40 progress ana 2/1 percent=10
        89 next
        90 tick
        90 show 2
        101 settle ana done:1/1
        102 settle ana done:2/1
        103 show 1
        ",
        expect![[r#"
            0 open ana q: opened
            0 queue p progress=50: done
            0 add q a timeout=100 attempts=2: 1 [1 queued]
            0 add p b: 2 [2 queued]
            1 claim ana q,p 2: 2/1, 1/1 [2 running] [1 running]
            40 progress ana 2/1 percent=10: done
            89 next: None Some(90)
            90 tick: done [2 scheduled]
            90 show 2: scheduled claim 1 attempts 1 losses 0 hand-backs 0; no progress for 50 ms
            101 settle ana done:1/1: refused, claim 1 of job 1 is superseded, the latest is 1 [1 scheduled]
            102 settle ana done:2/1: refused, claim 1 of job 2 is superseded, the latest is 1
            103 show 1: scheduled claim 1 attempts 1 losses 0 hand-backs 0; timed out after 100 ms
        "#]],
    );
}

#[test]
fn an_older_checkpoint_is_refused_and_a_large_one_keeps_the_previous() {
    check(
        "
        0 open ana q
        0 open ben q
        0 add q a
        1 claim ana q
        2 save ana 1/1 two number=2
        3 save ana 1/1 one number=1
        4 save ana 1/1 again number=2
        5 settle ana back:1/1:huge
        6 show 1
        7 claim ben q
        8 save ben 1/2 fresh number=1
        9 show 1
        10 settle ben back:1/2:handed
        11 show 1
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 add q a: 1 [1 queued]
            1 claim ana q: 1/1 [1 running]
            2 save ana 1/1 two number=2: done
            3 save ana 1/1 one number=1: refused, checkpoint 1 is not newer than 2, the one kept
            4 save ana 1/1 again number=2: refused, checkpoint 2 is not newer than 2, the one kept
            5 settle ana back:1/1:huge: returned [1 returned]
            6 show 1: returned claim 1 attempts 0 losses 0 hand-backs 1 checkpoint b"two" number 2 of claim 1 returned by 1 at entry 8, HandedBack; the previous checkpoint was kept: checkpoint is 262145, allowed is 0 to 262144
            7 claim ben q: 1/2 [1 running]
            8 save ben 1/2 fresh number=1: done
            9 show 1: running claim 2 attempts 0 losses 0 hand-backs 1 checkpoint b"fresh" number 1 of claim 2 returned by 1 at entry 8, HandedBack; the previous checkpoint was kept: checkpoint is 262145, allowed is 0 to 262144
            10 settle ben back:1/2:handed: returned [1 returned]
            11 show 1: returned claim 2 attempts 0 losses 0 hand-backs 2 checkpoint b"handed" number 2 of claim 2 returned by 2 at entry 11, HandedBack; the previous checkpoint was kept: checkpoint is 262145, allowed is 0 to 262144
        "#]],
    );
}

#[test]
fn ended_jobs_are_kept_by_count_and_by_age_and_dead_letters_longest() {
    check(
        "
        0 open ana q
        0 queue q retain=2 retain_ms=100
        0 add q a b c d e f
        1 claim ana q 10
        2 settle ana dead:1/1:broken done:2/1 done:3/1 done:4/1
        2 counts q
        3 queue q retain=10
        4 settle ana done:5/1
        5 next
        102 tick
        102 counts q
        104 tick
        104 counts q
        401 next
        402 tick
        402 counts q
        403 settle ana done:6/1
        404 queue q retain=0
        405 counts q
        405 tick
        405 counts q
        406 add q g
        407 remove q
        408 cancel 7
        409 remove q
        410 counts q
        411 add q h
        412 counts q
        ",
        expect![[r#"
            0 open ana q: opened
            0 queue q retain=2 retain_ms=100: done
            0 add q a b c d e f: 1, 2, 3, 4, 5, 6 [1 queued] [2 queued] [3 queued] [4 queued] [5 queued] [6 queued]
            1 claim ana q 10: 1/1, 2/1, 3/1, 4/1, 5/1, 6/1 [1 running] [2 running] [3 running] [4 running] [5 running] [6 running]
            2 settle ana dead:1/1:broken done:2/1 done:3/1 done:4/1: failed, completed, completed, completed [1 failed] [2 completed] [3 completed] [4 completed]
            2 counts q: scheduled 0 queued 0 returned 0 running 2 completed 1 failed 1 cancelled 0 enqueued 6 purged 2 gate open unplaced 0
            3 queue q retain=10: done
            4 settle ana done:5/1: completed [5 completed]
            5 next: Some(102) None
            102 tick: done
            102 counts q: scheduled 0 queued 0 returned 0 running 1 completed 1 failed 1 cancelled 0 enqueued 6 purged 3 gate open unplaced 0
            104 tick: done
            104 counts q: scheduled 0 queued 0 returned 0 running 1 completed 0 failed 1 cancelled 0 enqueued 6 purged 4 gate open unplaced 0
            401 next: Some(402) None
            402 tick: done
            402 counts q: scheduled 0 queued 0 returned 0 running 1 completed 0 failed 0 cancelled 0 enqueued 6 purged 5 gate open unplaced 0
            403 settle ana done:6/1: completed [6 completed]
            404 queue q retain=0: done
            405 counts q: scheduled 0 queued 0 returned 0 running 0 completed 1 failed 0 cancelled 0 enqueued 6 purged 5 gate open unplaced 0
            405 tick: done
            405 counts q: scheduled 0 queued 0 returned 0 running 0 completed 0 failed 0 cancelled 0 enqueued 6 purged 6 gate open unplaced 0
            406 add q g: 7 [7 queued]
            407 remove q: refused, the queue is in use: 1 live jobs
            408 cancel 7: 7 [7 cancelled]
            409 remove q: done
            410 counts q: no such queue
            411 add q h: 8 [8 queued]
            412 counts q: scheduled 0 queued 1 returned 0 running 0 completed 0 failed 0 cancelled 0 enqueued 1 purged 0 gate open unplaced 0
        "#]],
    );
}
