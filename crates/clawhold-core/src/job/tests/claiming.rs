//! Accepting jobs and handing them out.

use alloc::collections::BTreeSet;
use alloc::format;

use expect_test::expect;

use super::{check, name, play};
use crate::command::{RetryRule, Wanted};
use crate::job::settle::backoff_ms;
use crate::units::{JobId, Position, Stamp};
use crate::units::{Served, Timestamp};

#[test]
fn one_ready_job_goes_to_one_of_many_and_the_others_get_nothing() {
    check(
        "
        0 open ana q
        0 open ben q
        0 add q a
        1 claim ana q
        1 claim ben q
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 add q a: 1 [1 queued]
            1 claim ana q: 1/1 [1 running]
            1 claim ben q: none
        "#]],
    );
}

#[test]
fn a_repeated_request_gets_the_first_answer_and_no_second_job() {
    check(
        "
        0 open ana q
        0 open ben q
        0 add q a b
        1 claim ana q id=c1
        2 claim ana q id=c1
        3 settle ana back:1/1 id=s1
        4 claim ben q
        5 settle ana back:1/1 id=s1
        6 show 1
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 add q a b: 1, 2 [1 queued] [2 queued]
            1 claim ana q id=c1: 1/1 [1 running]
            2 claim ana q id=c1: 1/1
            3 settle ana back:1/1 id=s1: returned [1 returned]
            4 claim ben q: 1/2 [1 running]
            5 settle ana back:1/1 id=s1: returned
            6 show 1: running claim 2 attempts 0 losses 0 hand-backs 1 returned by 1 at entry 6, HandedBack
        "#]],
    );
}

#[test]
fn a_session_gets_no_more_than_its_slots() {
    check(
        "
        0 open ana q slots=2
        0 add q a b c d
        1 claim ana q 10
        2 claim ana q 10
        3 settle ana done:1/1 next=q count=10
        ",
        expect![[r#"
            0 open ana q slots=2: opened
            0 add q a b c d: 1, 2, 3, 4 [1 queued] [2 queued] [3 queued] [4 queued]
            1 claim ana q 10: 1/1, 2/1 [1 running] [2 running]
            2 claim ana q 10: none
            3 settle ana done:1/1 next=q count=10: completed; next 3/1 [1 completed] [3 running]
        "#]],
    );
}

#[test]
fn a_paused_queue_hands_nothing_out_and_takes_returns() {
    check(
        "
        0 open ana q
        0 add q a b
        1 claim ana q
        2 pause q
        3 claim ana q
        4 settle ana back:1/1
        5 add q c
        6 claim ana q
        7 unpause q
        8 claim ana q 5
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a b: 1, 2 [1 queued] [2 queued]
            1 claim ana q: 1/1 [1 running]
            2 pause q: done
            3 claim ana q: none
            4 settle ana back:1/1: returned [1 returned]
            5 add q c: 3 [3 queued]
            6 claim ana q: none
            7 unpause q: done
            8 claim ana q 5: 1/2, 2/1, 3/1 [1 running] [2 running] [3 running]
        "#]],
    );
}

#[test]
fn a_long_queue_does_not_starve_a_short_one() {
    check(
        "
        0 open ana long,short
        0 add long a b c d e f
        0 add short x
        1 claim ana long,short 2
        2 claim ana long,short,absent 1
        ",
        expect![[r#"
            0 open ana long,short: opened
            0 add long a b c d e f: 1, 2, 3, 4, 5, 6 [1 queued] [2 queued] [3 queued] [4 queued] [5 queued] [6 queued]
            0 add short x: 7 [7 queued]
            1 claim ana long,short 2: 1/1, 7/1 [1 running] [7 running]
            2 claim ana long,short,absent 1: 2/1 [2 running]
        "#]],
    );
}

/// priority first, then the order of acceptance.
#[test]
fn the_highest_priority_goes_first_and_then_the_oldest() {
    check(
        "
        0 open ana q
        0 add q a b
        0 add q c d priority=5
        0 add q e priority=-3
        1 claim ana q 10
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a b: 1, 2 [1 queued] [2 queued]
            0 add q c d priority=5: 3, 4 [3 queued] [4 queued]
            0 add q e priority=-3: 5 [5 queued]
            1 claim ana q 10: 3/1, 4/1, 1/1, 2/1, 5/1 [3 running] [4 running] [1 running] [2 running] [5 running]
        "#]],
    );
}

/// A limit of the queue counts what runs, wherever it runs.
#[test]
fn a_queue_runs_no_more_than_its_limit() {
    check(
        "
        0 open ana q
        0 open ben q
        0 queue q running=2
        0 add q a b c
        1 claim ana q
        1 claim ben q 5
        2 claim ana q 5
        3 settle ana done:1/1
        4 claim ben q 5
        5 lose ana
        2000 lose ben
        2001 open cat q
        2002 claim cat q 5
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 queue q running=2: done
            0 add q a b c: 1, 2, 3 [1 queued] [2 queued] [3 queued]
            1 claim ana q: 1/1 [1 running]
            1 claim ben q 5: 2/1 [2 running]
            2 claim ana q 5: none
            3 settle ana done:1/1: completed [1 completed]
            4 claim ben q 5: 3/1 [3 running]
            5 lose ana: refused, it has not lapsed
            2000 lose ben: done [2 returned] [3 returned]
            2001 open cat q: opened
            2002 claim cat q 5: 2/2, 3/2 [2 running] [3 running]
        "#]],
    );
}

#[test]
fn jobs_of_one_ordering_key_run_one_after_the_other() {
    check(
        "
        0 open ana q
        0 add q a b c order=k first=100 ceiling=100
        0 add q x order=other
        1 claim ana q 10
        2 settle ana fail:1/1:boom again=50
        3 claim ana q 10
        60 claim ana q 10
        61 settle ana done:1/2 next=q count=10
        62 cancel 2
        63 claim ana q 10
        64 retry 2
        65 claim ana q 10
        66 settle ana done:3/1
        67 claim ana q 10
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a b c order=k first=100 ceiling=100: 1, 2, 3 [1 queued] [2 queued] [3 queued]
            0 add q x order=other: 4 [4 queued]
            1 claim ana q 10: 1/1, 4/1 [1 running] [4 running]
            2 settle ana fail:1/1:boom again=50: retry at 52 [1 scheduled]
            3 claim ana q 10: none
            60 claim ana q 10: 1/2 [1 queued] [1 running]
            61 settle ana done:1/2 next=q count=10: completed; next 2/1 [1 completed] [2 running]
            62 cancel 2: 2 [2 cancelled]
            63 claim ana q 10: 3/1 [3 running]
            64 retry 2: 2 [2 queued]
            65 claim ana q 10: none
            66 settle ana done:3/1: completed [3 completed]
            67 claim ana q 10: 2/2 [2 running]
        "#]],
    );
}

#[test]
fn a_unique_key_lives_as_long_as_its_job() {
    check(
        "
        0 open ana q
        0 add q a unique=k
        1 add q a unique=k
        2 add q b unique=k
        3 add q a a unique=n
        4 add q b c unique=m
        5 add other b unique=k
        6 claim ana q
        7 settle ana back:1/1
        8 add q a unique=k
        9 claim ana q
        10 settle ana dead:1/2:broken
        11 add q b unique=k
        12 retry 1
        13 cancel 4
        14 retry 1
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a unique=k: 1 [1 queued]
            1 add q a unique=k: 1 existing
            2 add q b unique=k: refused, job 1 bears this unique key with another payload
            3 add q a a unique=n: 2, 2 existing [2 queued]
            4 add q b c unique=m: refused, job 3 bears this unique key with another payload
            5 add other b unique=k: 3 [3 queued]
            6 claim ana q: 1/1 [1 running]
            7 settle ana back:1/1: returned [1 returned]
            8 add q a unique=k: 1 existing
            9 claim ana q: 1/2 [1 running]
            10 settle ana dead:1/2:broken: failed [1 failed]
            11 add q b unique=k: 4 [4 queued]
            12 retry 1: refused, job 4 bears this unique key with another payload
            13 cancel 4: 4 [4 cancelled]
            14 retry 1: 1 [1 queued]
        "#]],
    );
}

#[test]
fn a_scheduled_job_waits_for_its_time() {
    check(
        "
        0 open ana q
        0 add q a after=100
        0 add q b at=50
        0 add q c at=0
        0 next
        1 claim ana q 10
        60 claim ana q 10
        61 retry 1
        62 claim ana q 10
        63 next
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a after=100: 1 [1 scheduled]
            0 add q b at=50: 2 [2 scheduled]
            0 add q c at=0: 3 [3 queued]
            0 next: Some(50) None
            1 claim ana q 10: 3/1 [3 running]
            60 claim ana q 10: 2/1 [2 queued] [2 running]
            61 retry 1: 1 [1 queued]
            62 claim ana q 10: 1/1 [1 running]
            63 next: None None
        "#]],
    );
}

#[test]
fn a_cancelled_job_is_never_handed_out() {
    check(
        "
        0 open ana q
        0 add q a b
        1 cancel 1,9
        2 claim ana q 10
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a b: 1, 2 [1 queued] [2 queued]
            1 cancel 1,9: 1, refused, there is no job 9 [1 cancelled]
            2 claim ana q 10: 2/1 [2 running]
        "#]],
    );
}

#[test]
fn a_command_out_of_range_is_refused_as_a_whole() {
    check(
        "
        0 open ana q
        0 add q a priority=101
        0 add q a attempts=0
        0 add q a attempts=10001
        0 add q a first=100 ceiling=99
        0 add q a after=315360000001
        0 add q a at=253402300800000
        0 add q a timeout=0
        0 add q
        0 queue q live=2
        0 add q a b c
        0 add q a b
        0 add q c
        0 counts q
        0 claim ana q 0
        0 claim ana q 1001
        0 queue q losses=0
        0 queue q progress=315360000001
        0 remove q
        0 remove absent
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a priority=101: refused, priority is 101, allowed is -100 to 100
            0 add q a attempts=0: refused, retry.attempts_max is 0, allowed is 1 to 10000
            0 add q a attempts=10001: refused, retry.attempts_max is 10001, allowed is 1 to 10000
            0 add q a first=100 ceiling=99: refused, retry.first_ms is 100, allowed is 0 to 99
            0 add q a after=315360000001: refused, due.after is 315360000001, allowed is 0 to 315360000000
            0 add q a at=253402300800000: refused, due.at is 253402300800000, allowed is 0 to 253402300799999
            0 add q a timeout=0: refused, timeout_ms is 0, allowed is 1 to 315360000000
            0 add q: refused, jobs is 0, allowed is 1 to 1000
            0 queue q live=2: done
            0 add q a b c: refused, queue q is full: 0 of at most 2
            0 add q a b: 1, 2 [1 queued] [2 queued]
            0 add q c: refused, queue q is full: 2 of at most 2
            0 counts q: scheduled 0 queued 2 returned 0 running 0 completed 0 failed 0 cancelled 0 enqueued 2 purged 0 gate open unplaced 0
            0 claim ana q 0: refused, count_max is 0, allowed is 1 to 1000
            0 claim ana q 1001: refused, count_max is 1001, allowed is 1 to 1000
            0 queue q losses=0: refused, losses_max is 0, allowed is 1 to 10000
            0 queue q progress=315360000001: refused, progress_ms is 315360000001, allowed is 0 to 315360000000
            0 remove q: refused, the queue is in use: 2 live jobs
            0 remove absent: refused, there is no queue absent
        "#]],
    );
}

#[test]
fn the_delay_before_a_retry_rises_to_its_ceiling_and_stays_there() {
    let rule = RetryRule { attempts_max: 10_000, first_ms: 1, ceiling_ms: 60_000 };
    let delays = (1..2_000).map(|attempt| backoff_ms(rule, JobId(7), attempt));
    assert!(delays.clone().all(|delay| delay <= 60_000));
    assert!(delays.skip(17).all(|delay| delay >= 50_000));
    let never = RetryRule { attempts_max: 2, first_ms: 0, ceiling_ms: 0 };
    assert_eq!(backoff_ms(never, JobId(7), u32::MAX), 0);
    let longest = RetryRule { attempts_max: 2, first_ms: u64::MAX, ceiling_ms: u64::MAX };
    assert!(backoff_ms(longest, JobId(7), u32::MAX) > u64::MAX / 6 * 5 - 1);
}

#[test]
fn jobs_that_fail_together_do_not_come_back_together() {
    let rule = RetryRule { attempts_max: 5, first_ms: 10_000, ceiling_ms: 100_000 };
    let delays: BTreeSet<u64> = (1..10_000).map(|job| backoff_ms(rule, JobId(job), 1)).collect();
    assert!(delays.len() > 1_900, "{} different delays", delays.len());
    assert_eq!(delays.first().zip(delays.last()), Some((&10_000, &12_000)));
}

#[test]
fn what_can_be_claimed_is_known_without_an_entry() {
    let (world, _) = play(
        "
        0 open ana q slots=1
        0 open ben none slots=5
        0 add q a b
        1 claim ana q
        ",
    );
    let wanted = Wanted { queues: [name("q")].into(), count_max: 1 };
    let now = Stamp { at: Timestamp(2), served: Served(2), position: Position(9) };
    let claimable = |label: &str| {
        let state = &world.state;
        state.jobs().claimable(state.sessions(), world.sessions[label].id, &wanted, now)
    };
    assert!(!claimable("ana"), "its slots are full");
    assert!(claimable("ben"));
}

#[test]
fn a_page_of_a_list_goes_on_where_the_last_one_ended() {
    let (world, _) = play(
        "
        0 open ana q,p
        0 add q a b c
        0 add p d e
        0 add q f g
        1 claim ana p,q 3
        ",
    );
    let jobs = world.state.jobs();
    let queue = name("q");
    let mut told = alloc::string::String::new();
    for (queue, state) in [
        (None, None),
        (Some(&queue), None),
        (None, Some(crate::answer::JobState::Running)),
        (Some(&queue), Some(crate::answer::JobState::Queued)),
    ] {
        let filter = crate::job::Filter { queue, state };
        let first: alloc::vec::Vec<u64> =
            jobs.list(filter, None, 2).iter().map(|job| job.id.0).collect();
        let after = first.last().map(|id| JobId(*id));
        let second: alloc::vec::Vec<u64> =
            jobs.list(filter, after, 2).iter().map(|job| job.id.0).collect();
        told.push_str(&format!("{first:?} {second:?}\n"));
    }
    expect![[r#"
        [1, 2] [3, 4]
        [1, 2] [3, 6]
        [1, 2] [4]
        [3, 6] [7]
    "#]]
    .assert_eq(&told);
}
