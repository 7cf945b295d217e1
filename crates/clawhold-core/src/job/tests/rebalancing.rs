//! Leaving workers: what they hand back is placed first, and the audit proves it.

use alloc::format;
use alloc::string::String;

use expect_test::expect;

use super::{World, check, play};
use crate::audit::audit;
use crate::beat::{Beats, Report};
use crate::units::{ClaimNumber, JobId, Served};

#[test]
fn returned_jobs_come_before_fresh_ones_in_their_original_order() {
    check(
        "
        0 open ana q
        0 open ben q
        0 add q a b c d e
        1 claim ana q 3
        2 drain ana within=100
        3 claim ana q
        4 progress ana 2/1
        5 settle ana back:3/1 back:1/1 next=q
        6 counts q
        7 settle ana done:2/1
        8 claim ben q
        9 claim ben q
        10 counts q
        11 claim ben q 10
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 add q a b c d e: 1, 2, 3, 4, 5 [1 queued] [2 queued] [3 queued] [4 queued] [5 queued]
            1 claim ana q 3: 1/1, 2/1, 3/1 [1 running] [2 running] [3 running]
            2 drain ana within=100: draining, held 3, unserved none
            3 claim ana q: refused, the worker is draining and gets no new job
            4 progress ana 2/1: done
            5 settle ana back:3/1 back:1/1 next=q: returned, returned [3 returned] [1 returned]
            6 counts q: scheduled 0 queued 2 returned 2 running 1 completed 0 failed 0 cancelled 0 enqueued 5 purged 0 gate closed unplaced 0
            7 settle ana done:2/1: completed [2 completed]
            8 claim ben q: 1/2 [1 running]
            9 claim ben q: 3/2 [3 running]
            10 counts q: scheduled 0 queued 2 returned 0 running 2 completed 1 failed 0 cancelled 0 enqueued 5 purged 0 gate open unplaced 0
            11 claim ben q 10: 4/1, 5/1 [4 running] [5 running]
        "#]],
    );
}

#[test]
fn what_is_held_at_the_deadline_of_a_drain_is_taken_back() {
    check(
        "
        0 open ana q
        0 add q a b
        1 claim ana q 2
        2 save ana 1/1 half
        3 drain ana within=1000
        4 drain ana within=50
        5 drain ana within=5000
        54 tick
        55 settle ana done:1/1
        56 show 1
        57 show 2
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a b: 1, 2 [1 queued] [2 queued]
            1 claim ana q 2: 1/1, 2/1 [1 running] [2 running]
            2 save ana 1/1 half: done
            3 drain ana within=1000: draining, held 2, unserved q
            4 drain ana within=50: draining, held 2, unserved q
            5 drain ana within=5000: draining, held 2, unserved q
            54 tick: done [1 returned] [2 returned]
            55 settle ana done:1/1: refused, claim 1 of job 1 is superseded, the latest is 1
            56 show 1: returned claim 1 attempts 0 losses 0 hand-backs 1 checkpoint b"half" number 1 of claim 1 returned by 1 at entry 8, DrainDeadline
            57 show 2: returned claim 1 attempts 0 losses 0 hand-backs 1 returned by 1 at entry 8, DrainDeadline
        "#]],
    );
}

#[test]
fn a_returned_job_avoids_the_one_who_returned_it_while_another_serves_its_queue() {
    check(
        "
        0 open ana q
        0 open ben q
        0 add q a b
        1 claim ana q
        2 settle ana back:1/1
        3 claim ana q
        4 claim ana q
        5002 claim ana q
        5003 settle ana back:1/2
        5004 close ben
        5005 claim ana q
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 add q a b: 1, 2 [1 queued] [2 queued]
            1 claim ana q: 1/1 [1 running]
            2 settle ana back:1/1: returned [1 returned]
            3 claim ana q: 2/1 [2 running]
            4 claim ana q: none
            5002 claim ana q: 1/2 [1 running]
            5003 settle ana back:1/2: returned [1 returned]
            5004 close ben: done
            5005 claim ana q: 1/3 [1 running]
        "#]],
    );
}

#[test]
fn a_fresh_job_of_a_higher_priority_passes_the_gate() {
    check(
        "
        0 open ana q
        0 open ben q
        0 add q low
        1 claim ana q
        2 drain ana
        3 settle ana back:1/1
        4 add q high priority=1
        5 add q same
        6 claim ben q
        7 claim ben q
        8 counts q
        9 claim ben q
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 add q low: 1 [1 queued]
            1 claim ana q: 1/1 [1 running]
            2 drain ana: draining, held 1, unserved none
            3 settle ana back:1/1: returned [1 returned]
            4 add q high priority=1: 2 [2 queued]
            5 add q same: 3 [3 queued]
            6 claim ben q: 2/1 [2 running]
            7 claim ben q: 1/2 [1 running]
            8 counts q: scheduled 0 queued 1 returned 0 running 2 completed 0 failed 0 cancelled 0 enqueued 3 purged 0 gate open unplaced 0
            9 claim ben q: 3/1 [3 running]
        "#]],
    );
}

#[test]
fn a_gate_opens_at_its_bound_and_names_what_was_not_placed() {
    check(
        "
        0 open ana q
        0 add q a b order=k
        0 add q c
        1 claim ana q
        2 shut q within=100
        3 take 1
        4 cancel 3
        5 add q d e
        6 claim ana q 1
        7 settle ana back:1/2
        8 open ben q
        9 shut q within=100
        10 claim ana q 5
        108 counts q
        109 claim ana q 5
        110 counts q
        111 claim ben q
        112 counts q
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a b order=k: 1, 2 [1 queued] [2 queued]
            0 add q c: 3 [3 queued]
            1 claim ana q: 1/1 [1 running]
            2 shut q within=100: done
            3 take 1: 1 [1 returned]
            4 cancel 3: 3 [3 cancelled]
            5 add q d e: 4, 5 [4 queued] [5 queued]
            6 claim ana q 1: 1/2 [1 running]
            7 settle ana back:1/2: returned [1 returned]
            8 open ben q: opened
            9 shut q within=100: done
            10 claim ana q 5: none
            108 counts q: scheduled 0 queued 3 returned 1 running 0 completed 0 failed 0 cancelled 1 enqueued 5 purged 0 gate closed unplaced 0
            109 claim ana q 5: 4/1, 5/1 [4 running] [5 running]
            110 counts q: scheduled 0 queued 1 returned 1 running 2 completed 0 failed 0 cancelled 1 enqueued 5 purged 0 gate open unplaced 1
            111 claim ben q: 1/3 [1 running]
            112 counts q: scheduled 0 queued 1 returned 0 running 3 completed 0 failed 0 cancelled 1 enqueued 5 purged 0 gate open unplaced 0
        "#]],
    );
}

#[test]
fn two_leaving_workers_share_one_gate() {
    check(
        "
        0 open ana q
        0 open ben q
        0 open cat q
        0 add q a b c
        1 claim ana q
        2 claim ben q
        3 drain ana
        4 settle ana back:1/1
        5 drain ben
        6 settle ben back:2/1
        7 claim cat q
        8 counts q
        9 drain cat
        10 settle cat back:1/2
        11 counts q
        12 open dan q
        13 claim dan q 2
        14 counts q
        15 show 1
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 open cat q: opened
            0 add q a b c: 1, 2, 3 [1 queued] [2 queued] [3 queued]
            1 claim ana q: 1/1 [1 running]
            2 claim ben q: 2/1 [2 running]
            3 drain ana: draining, held 1, unserved none
            4 settle ana back:1/1: returned [1 returned]
            5 drain ben: draining, held 1, unserved none
            6 settle ben back:2/1: returned [2 returned]
            7 claim cat q: 1/2 [1 running]
            8 counts q: scheduled 0 queued 1 returned 1 running 1 completed 0 failed 0 cancelled 0 enqueued 3 purged 0 gate closed unplaced 0
            9 drain cat: draining, held 1, unserved q
            10 settle cat back:1/2: returned [1 returned]
            11 counts q: scheduled 0 queued 1 returned 2 running 0 completed 0 failed 0 cancelled 0 enqueued 3 purged 0 gate closed unplaced 0
            12 open dan q: opened
            13 claim dan q 2: 1/3, 2/2 [1 running] [2 running]
            14 counts q: scheduled 0 queued 1 returned 0 running 2 completed 0 failed 0 cancelled 0 enqueued 3 purged 0 gate open unplaced 0
            15 show 1: running claim 3 attempts 0 losses 0 hand-backs 2 returned by 3 at entry 13, HandedBack
        "#]],
    );
}

#[test]
fn a_closed_session_leaves_its_jobs_in_their_queue() {
    check(
        "
        0 open ana q
        0 add q a b
        1 claim ana q 2
        2 remove q
        3 pause q
        4 close ana
        5 counts q
        6 open ana q
        7 claim ana q
        8 unpause q
        9 claim ana q 2
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a b: 1, 2 [1 queued] [2 queued]
            1 claim ana q 2: 1/1, 2/1 [1 running] [2 running]
            2 remove q: refused, the queue is in use: 2 live jobs
            3 pause q: done
            4 close ana: done [1 returned] [2 returned]
            5 counts q: scheduled 0 queued 0 returned 2 running 0 completed 0 failed 0 cancelled 0 enqueued 2 purged 0 gate closed unplaced 0
            6 open ana q: opened
            7 claim ana q: none
            8 unpause q: done
            9 claim ana q 2: 1/2, 2/2 [1 running] [2 running]
        "#]],
    );
}

#[test]
fn a_claim_that_never_arrived_counts_for_nothing() {
    check(
        "
        0 open ana q
        0 open ben q
        0 add q a
        1 claim ana q
        2 take 1 never
        3 show 1
        4 claim ana q
        5 take 1,1 lost
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 add q a: 1 [1 queued]
            1 claim ana q: 1/1 [1 running]
            2 take 1 never: 1 [1 returned]
            3 show 1: returned claim 1 attempts 0 losses 0 hand-backs 0 returned by 1 at entry 5, NeverReceived
            4 claim ana q: 1/2 [1 running]
            5 take 1,1 lost: 1, refused, job 1 is returned [1 returned]
        "#]],
    );
}

#[test]
fn a_batch_of_returns_lists_the_refused_ones() {
    check(
        "
        0 open ana q
        0 open ben q
        0 add q a b c d
        1 claim ana q 4
        2 take 2
        3 cancel 4
        4 settle ana back:1/1 back:2/1 back:3/1 back:4/1
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 add q a b c d: 1, 2, 3, 4 [1 queued] [2 queued] [3 queued] [4 queued]
            1 claim ana q 4: 1/1, 2/1, 3/1, 4/1 [1 running] [2 running] [3 running] [4 running]
            2 take 2: 2 [2 returned]
            3 cancel 4: 4 [4 cancelled]
            4 settle ana back:1/1 back:2/1 back:3/1 back:4/1: returned, refused, claim 1 of job 2 is superseded, the latest is 1, returned, refused, claim 1 of job 4 is superseded, the latest is 1 [1 returned] [3 returned]
        "#]],
    );
}

#[test]
fn the_audit_compares_the_record_with_what_workers_report() {
    let (world, _) = play(
        "
        0 open ana q ttl=300
        0 open ben q ttl=300
        0 open cat p
        0 add q a b c d
        0 claim ana q 2
        0 claim ben q
        10 settle ben done:3/1
        ",
    );
    let mut beats = Beats::default();
    report(&mut beats, &world, "ana", 100, &[(1, 1)]);
    report(&mut beats, &world, "ben", 100, &[(3, 1)]);
    expect![[r#"
        position 7 live 3 in transit 0 mismatches 0 unknown [3]
    "#]]
    .assert_eq(&told(&world, &beats, 100));
    report(&mut beats, &world, "ana", 250, &[(1, 1), (77, 1)]);
    report(&mut beats, &world, "ben", 250, &[(3, 1), (2, 1)]);
    expect![[r#"
        position 7 live 3 in transit 0 mismatches 4 unknown [3]
        job without owner: job 2, ana has it under claim 1 since entry 5, and does not list it
        held by a worker, not by the record: job 77, the record has no such job
        held by a worker, not by the record: job 2, by the record it is running under claim 1
        held by a worker, not by the record: job 3, by the record it is completed under claim 1
    "#]]
    .assert_eq(&told(&world, &beats, 250));
}

#[test]
fn the_audit_finds_a_job_in_two_places() {
    let (mut world, _) = play(
        "
        0 open ana q
        0 open ben q
        0 add q a b
        1 claim ana q
        ",
    );
    let ben = world.sessions["ben"].id;
    let index = &mut world.state.jobs.index;
    index.held.entry(ben).or_default().insert(JobId(2));
    let queue = index.queues.values_mut().next().unwrap();
    let rank = *queue.ready.first().unwrap();
    queue.ready.insert(super::super::index::Rank { fresh: false, id: JobId(1), ..rank });
    expect![[r#"
        position 4 live 2 in transit 0 mismatches 2 unknown [1, 2]
        not in exactly one place: job 1, it is running by its state, and found returned and running
        not in exactly one place: job 2, it is queued, and in the hands of session 2
    "#]]
    .assert_eq(&told(&world, &Beats::default(), 2));
    assert!(crate::check::check(&world.state).is_err());
}

#[test]
fn the_audit_names_what_waits_too_long() {
    let (world, _) = play(
        "
        0 open ana q
        0 add q a
        1 claim ana q
        2 drain ana within=0
        ",
    );
    expect![[r#"
        position 4 live 1 in transit 0 mismatches 1 unknown [1]
        returned but not placed: job 1, it has waited for 30001 ms
    "#]]
    .assert_eq(&told(&world, &Beats::default(), 30_003));
}

fn report(beats: &mut Beats, world: &World, label: &str, heard: u64, holds: &[(u64, u64)]) {
    let holds = holds.iter().map(|(job, claim)| (JobId(*job), ClaimNumber(*claim))).collect();
    let report = Report { heard: Served(heard), holds, ..Report::default() };
    beats.reports.insert(world.sessions[label].id, report);
}

fn told(world: &World, beats: &Beats, now: u64) -> String {
    let audit = audit(&world.state, beats, None, Served(now));
    let mut told = format!(
        "position {} live {} in transit {} mismatches {} unknown {:?}\n",
        audit.position,
        audit.live,
        audit.in_transit,
        audit.mismatch_count,
        audit.unknown.iter().map(|id| id.0).collect::<alloc::vec::Vec<u64>>()
    );
    for found in &audit.mismatches {
        let job = found.job.map_or(0, |job| job.0);
        told.push_str(&format!("{}: job {job}, {}\n", found.kind, found.detail));
    }
    told
}
