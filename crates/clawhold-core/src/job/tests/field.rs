//! What failed elsewhere with jobs: rescues that come late, names that come back, returns that go
//! nowhere, and counters at their ends.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use expect_test::expect;

use super::{World, check, name, play};
use crate::State;
use crate::answer::JobState;
use crate::command::{Claim, Command, Heard, RunOutcome, Settle, Settlement, Wanted};
use crate::job::Filter;
use crate::units::{ClaimNumber, JobId, Text};

#[test]
fn a_session_that_claims_its_lost_job_again_may_not_end_it_under_the_old_claim() {
    check(
        "
        0 open ana q
        0 add q a
        1 claim ana q
        2 take 1 never
        3 claim ana q
        4 settle ana done:1/1
        5 settle ana fail:1/1:late
        6 settle ana back:1/1
        7 progress ana 1/1
        8 save ana 1/1 late
        9 settle ana done:1/2
        10 settle ana done:1/2
        11 counts q
        ",
        expect![[r#"
            0 open ana q: opened
            0 add q a: 1 [1 queued]
            1 claim ana q: 1/1 [1 running]
            2 take 1 never: 1 [1 returned]
            3 claim ana q: 1/2 [1 running]
            4 settle ana done:1/1: refused, claim 1 of job 1 is superseded, the latest is 2
            5 settle ana fail:1/1:late: refused, claim 1 of job 1 is superseded, the latest is 2
            6 settle ana back:1/1: refused, claim 1 of job 1 is superseded, the latest is 2
            7 progress ana 1/1: refused, claim 1 of job 1 is superseded, the latest is 2
            8 save ana 1/1 late: refused, claim 1 of job 1 is superseded, the latest is 2
            9 settle ana done:1/2: completed [1 completed]
            10 settle ana done:1/2: refused, claim 2 of job 1 is superseded, the latest is 2
            11 counts q: scheduled 0 queued 0 returned 0 running 0 completed 1 failed 0 cancelled 0 enqueued 1 purged 0 gate open unplaced 0
        "#]],
    );
}

#[test]
fn a_rescue_that_comes_late_changes_nothing_that_has_ended() {
    check(
        "
        0 open ana q
        0 queue q retain=2
        0 add q a b c d e
        1 claim ana q 5
        2 settle ana done:1/1:kept dead:2/1:bad
        3 cancel 3
        4 take 1,2,3 lost
        5 settle ana done:4/1
        6 take 4 lost
        7 show 1
        1008 lose ana
        1009 counts q
        1010 open ben q
        1011 claim ben q 10
        1012 settle ben done:5/1
        1013 settle ben done:5/2
        1014 take 5 lost
        1015 counts q
        ",
        expect![[r#"
            0 open ana q: opened
            0 queue q retain=2: done
            0 add q a b c d e: 1, 2, 3, 4, 5 [1 queued] [2 queued] [3 queued] [4 queued] [5 queued]
            1 claim ana q 5: 1/1, 2/1, 3/1, 4/1, 5/1 [1 running] [2 running] [3 running] [4 running] [5 running]
            2 settle ana done:1/1:kept dead:2/1:bad: completed, failed [1 completed] [2 failed]
            3 cancel 3: 3 [3 cancelled]
            4 take 1,2,3 lost: refused, there is no job 1, refused, job 2 is failed, refused, job 3 is cancelled
            5 settle ana done:4/1: completed [4 completed]
            6 take 4 lost: refused, job 4 is completed
            7 show 1: no such job
            1008 lose ana: done [5 returned]
            1009 counts q: scheduled 0 queued 0 returned 1 running 0 completed 1 failed 1 cancelled 0 enqueued 5 purged 2 gate open unplaced 0
            1010 open ben q: opened
            1011 claim ben q 10: 5/2 [5 running]
            1012 settle ben done:5/1: refused, claim 1 of job 5 is superseded, the latest is 2
            1013 settle ben done:5/2: completed [5 completed]
            1014 take 5 lost: refused, job 5 is completed
            1015 counts q: scheduled 0 queued 0 returned 0 running 0 completed 1 failed 1 cancelled 0 enqueued 5 purged 3 gate open unplaced 0
        "#]],
    );
}

#[test]
fn a_worker_that_comes_back_under_its_old_name_gets_its_lost_jobs_before_new_ones() {
    check(
        "
        0 open ana q slots=3 ttl=1000
        0 add q a b c
        1 claim ana q 3
        2 add q d
        500 open again q slots=9 ttl=1000
        501 claim again q 9
        502 settle again done:1/1
        1000 lose ana
        1001 add q e
        1002 claim again q 9
        1003 counts q
        ",
        expect![[r#"
            0 open ana q slots=3 ttl=1000: opened
            0 add q a b c: 1, 2, 3 [1 queued] [2 queued] [3 queued]
            1 claim ana q 3: 1/1, 2/1, 3/1 [1 running] [2 running] [3 running]
            2 add q d: 4 [4 queued]
            500 open again q slots=9 ttl=1000: opened
            501 claim again q 9: 4/1 [4 running]
            502 settle again done:1/1: refused, claim 1 of job 1 is superseded, the latest is 1
            1000 lose ana: done [1 returned] [2 returned] [3 returned]
            1001 add q e: 5 [5 queued]
            1002 claim again q 9: 1/2, 2/2, 3/2, 5/1 [1 running] [2 running] [3 running] [5 running]
            1003 counts q: scheduled 0 queued 0 returned 0 running 5 completed 0 failed 0 cancelled 0 enqueued 5 purged 0 gate open unplaced 0
        "#]],
    );
}

#[test]
fn a_return_lands_in_its_queue_whatever_became_of_that_meanwhile() {
    check(
        "
        0 open ana q ttl=200
        0 open ben q
        0 add q a b c d e f
        1 claim ana q 6
        2 remove q
        3 pause q
        4 queue q live=1 running=1 retain=0 retain_ms=1
        5 drain ana within=1000
        6 settle ana back:1/1 back:2/1
        207 lose ana
        208 counts q
        209 claim ben q 10
        210 add q g
        211 remove q
        9000 counts q
        9001 unpause q
        9002 claim ben q 10
        9003 settle ben done:1/2 next=q count=10
        ",
        expect![[r#"
            0 open ana q ttl=200: opened
            0 open ben q: opened
            0 add q a b c d e f: 1, 2, 3, 4, 5, 6 [1 queued] [2 queued] [3 queued] [4 queued] [5 queued] [6 queued]
            1 claim ana q 6: 1/1, 2/1, 3/1, 4/1, 5/1, 6/1 [1 running] [2 running] [3 running] [4 running] [5 running] [6 running]
            2 remove q: refused, the queue is in use: 6 live jobs
            3 pause q: done
            4 queue q live=1 running=1 retain=0 retain_ms=1: done
            5 drain ana within=1000: draining, held 6, unserved none
            6 settle ana back:1/1 back:2/1: returned, returned [1 returned] [2 returned]
            207 lose ana: done [3 returned] [4 returned] [5 returned] [6 returned]
            208 counts q: scheduled 0 queued 0 returned 6 running 0 completed 0 failed 0 cancelled 0 enqueued 6 purged 0 gate closed unplaced 0
            209 claim ben q 10: none
            210 add q g: refused, queue q is full: 6 of at most 1
            211 remove q: refused, the queue is in use: 6 live jobs
            9000 counts q: scheduled 0 queued 0 returned 6 running 0 completed 0 failed 0 cancelled 0 enqueued 6 purged 0 gate closed unplaced 0
            9001 unpause q: done
            9002 claim ben q 10: 1/2 [1 running]
            9003 settle ben done:1/2 next=q count=10: completed; next 2/2 [1 completed] [2 running]
        "#]],
    );
}

#[test]
fn what_comes_back_by_hand_or_by_loss_keeps_its_place_within_its_priority() {
    check(
        "
        0 open ana q
        0 open ben q ttl=200
        0 add q 1 2 3
        0 add q 4 5 6
        0 add q 7 8
        0 add q urgent priority=5
        1 claim ana q 4
        2 claim ben q 3
        3 add q 10 11
        4 drain ana within=1000
        5 settle ana back:3/1 back:9/1
        206 lose ben
        207 open eve q
        208 claim eve q
        209 settle ana done:1/1 back:2/1
        210 claim eve q 3
        211 claim eve q 10
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q ttl=200: opened
            0 add q 1 2 3: 1, 2, 3 [1 queued] [2 queued] [3 queued]
            0 add q 4 5 6: 4, 5, 6 [4 queued] [5 queued] [6 queued]
            0 add q 7 8: 7, 8 [7 queued] [8 queued]
            0 add q urgent priority=5: 9 [9 queued]
            1 claim ana q 4: 9/1, 1/1, 2/1, 3/1 [9 running] [1 running] [2 running] [3 running]
            2 claim ben q 3: 4/1, 5/1, 6/1 [4 running] [5 running] [6 running]
            3 add q 10 11: 10, 11 [10 queued] [11 queued]
            4 drain ana within=1000: draining, held 4, unserved none
            5 settle ana back:3/1 back:9/1: returned, returned [3 returned] [9 returned]
            206 lose ben: done [4 returned] [5 returned] [6 returned]
            207 open eve q: opened
            208 claim eve q: 9/2 [9 running]
            209 settle ana done:1/1 back:2/1: completed, returned [1 completed] [2 returned]
            210 claim eve q 3: 2/2, 3/2, 4/2 [2 running] [3 running] [4 running]
            211 claim eve q 10: 5/2, 6/2, 7/1, 8/1, 10/1, 11/1 [5 running] [6 running] [7 running] [8 running] [10 running] [11 running]
        "#]],
    );
}

#[test]
fn a_drain_without_time_takes_everything_back_at_once_and_fences_the_handlers() {
    check(
        "
        0 open ana q
        0 open ben q
        0 add q a b c
        1 claim ana q 2
        2 drain ana within=0
        2 tick
        3 settle ana done:1/1
        4 resume ana
        5 claim ben q 10
        6 claim ana q
        7 counts q
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 add q a b c: 1, 2, 3 [1 queued] [2 queued] [3 queued]
            1 claim ana q 2: 1/1, 2/1 [1 running] [2 running]
            2 drain ana within=0: draining, held 0, unserved none [1 returned] [2 returned]
            2 tick: done
            3 settle ana done:1/1: refused, claim 1 of job 1 is superseded, the latest is 1
            4 resume ana: done
            5 claim ben q 10: 1/2, 2/2, 3/1 [1 running] [2 running] [3 running]
            6 claim ana q: none
            7 counts q: scheduled 0 queued 0 returned 0 running 3 completed 0 failed 0 cancelled 0 enqueued 3 purged 0 gate open unplaced 0
        "#]],
    );
}

#[test]
fn second_thoughts_about_a_drain_give_no_job_a_second_owner() {
    check(
        "
        0 open ana q
        0 open ben q
        0 add q a b c
        1 claim ana q 3
        2 drain ana within=100
        50 resume ana
        51 claim ben q 9
        60 drain ana within=100
        61 drain ana within=900
        159 settle ana done:1/1
        160 tick
        161 settle ana done:2/1
        162 claim ben q 9
        163 resume ana
        164 settle ana done:3/1
        165 settle ben done:2/2 done:3/2
        166 counts q
        ",
        expect![[r#"
            0 open ana q: opened
            0 open ben q: opened
            0 add q a b c: 1, 2, 3 [1 queued] [2 queued] [3 queued]
            1 claim ana q 3: 1/1, 2/1, 3/1 [1 running] [2 running] [3 running]
            2 drain ana within=100: draining, held 3, unserved none
            50 resume ana: done
            51 claim ben q 9: none
            60 drain ana within=100: draining, held 3, unserved none
            61 drain ana within=900: draining, held 3, unserved none
            159 settle ana done:1/1: completed [1 completed]
            160 tick: done [2 returned] [3 returned]
            161 settle ana done:2/1: refused, claim 1 of job 2 is superseded, the latest is 1
            162 claim ben q 9: 2/2, 3/2 [2 running] [3 running]
            163 resume ana: done
            164 settle ana done:3/1: refused, claim 1 of job 3 is superseded, the latest is 2
            165 settle ben done:2/2 done:3/2: completed, completed [2 completed] [3 completed]
            166 counts q: scheduled 0 queued 0 returned 0 running 0 completed 3 failed 0 cancelled 0 enqueued 3 purged 0 gate open unplaced 0
        "#]],
    );
}

/// Plays commands beyond what fits a script.
impl World {
    fn settle_one(&mut self, now: u64, label: &str, claim: u64, outcome: RunOutcome) {
        let session = self.session(label);
        let settlements = [Settlement { job: JobId(1), claim: ClaimNumber(claim), outcome }].into();
        let told =
            self.apply(now, None, Command::Settle(Settle { session, settlements, next: None }), "");
        assert!(!told.contains("refused"), "claim {claim}: {told}");
    }

    fn claim_one(&mut self, now: u64, label: &str) {
        let wanted = Wanted { queues: [name("q")].into(), count_max: 1 };
        let session = self.session(label);
        self.apply(now, None, Command::Claim(Claim { session, wanted }), "");
    }
}

#[test]
fn one_job_that_was_claimed_seventy_thousand_times_holds_no_other_up() {
    let (mut world, _) = play(
        "
        0 open ana q slots=1
        0 add q odd
        ",
    );
    for claim in 1..=70_000 {
        world.claim_one(claim, "ana");
        let session = world.session("ana").id;
        world.apply(claim, None, Command::Heard(Heard { sessions: [session].into() }), "");
        let outcome = RunOutcome::Snoozed { for_ms: 0, checkpoint: None };
        world.settle_one(claim, "ana", claim, outcome);
    }
    crate::check::check(&world.state).unwrap();
    let job = world.state.jobs().job(JobId(1)).unwrap();
    assert_eq!((job.claim, job.attempts), (ClaimNumber(70_000), 0));
    flows_on(&mut world, 70_001);
}

#[test]
fn a_job_at_the_end_of_its_counters_is_set_aside_with_a_reason_and_the_others_flow() {
    let (mut world, _) = play(
        "
        0 open ana q slots=1
        0 queue q hand_backs=10000 losses=10000
        0 add q odd
        ",
    );
    let mut claim = 0;
    while world.state.jobs().job(JobId(1)).unwrap().state != JobState::Failed {
        claim += 1;
        world.claim_one(claim, "ana");
        let outcome = RunOutcome::HandedBack { checkpoint: None, reason: Text::default() };
        world.settle_one(claim, "ana", claim, outcome);
        assert!(claim <= 10_001, "it comes back for ever");
    }
    let job = world.state.jobs().job(JobId(1)).unwrap();
    let why = job.errors().last().unwrap().text.as_str();
    assert_eq!(why, "it came back 10001 times, at most 10000 are allowed");
    flows_on(&mut world, claim + 1);
}

/// Checks that 999 other jobs of the queue are handed out in batches, and end.
fn flows_on(world: &mut World, now: u64) {
    let others: Vec<&str> = (0..999).map(|_| "x").collect();
    world.play(&format!("{now} add q {}", others.join(" ")));
    world.play(&format!("{now} open ben q slots=1000"));
    let mut ended = BTreeSet::new();
    for _ in 0..11 {
        world.play(&format!("{now} claim ben q 100"));
        let running = Filter { queue: None, state: Some(JobState::Running) };
        let held = world.state.jobs().list(running, None, 100);
        let held: Vec<(JobId, ClaimNumber)> = held.iter().map(|job| (job.id, job.claim)).collect();
        for (id, claim) in held {
            world.play(&format!("{now} settle ben done:{id}/{claim}"));
            ended.insert(id);
        }
    }
    assert!(ended.len() >= 999, "{} ended", ended.len());
    crate::check::check(&world.state).unwrap();
}

#[test]
fn twenty_thousand_queues_are_claimed_from_by_name_counted_and_kept() {
    let (mut world, _) = play("0 open ana last slots=10");
    for at in 0..20_000 {
        world.play(&format!("0 add q{at} x"));
    }
    world.play("0 add last a b c");
    assert_eq!(
        world.play("1 claim ana last 10"),
        "20001/1, 20002/1, 20003/1 [20001 running] [20002 running] [20003 running]"
    );
    let empty: Vec<u64> = world
        .state
        .jobs()
        .queues(None)
        .map(|queue| world.state.jobs().counts(queue).running)
        .collect();
    assert_eq!((empty.len(), empty.iter().sum::<u64>()), (20_001, 3));
    let whole: State = State::restore(&world.state.snapshot()).unwrap();
    assert!(whole == world.state);
}
