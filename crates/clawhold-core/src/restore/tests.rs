//! What a restore leaves: nothing that may have been given since the backup is given again.

use expect_test::expect;

use super::{FLOOR_STEP, LOST_MAX, NUMBER_MAX, NoRoom};
use crate::session::transcript::check;
use crate::state::State;
use crate::units::{Position, Timestamp};

#[test]
fn every_number_after_a_restore_lies_above_the_floor() {
    check(
        "
        0   take-over 1
        1   open ana 1000 mail
        2   acquire billing ana
        3   enqueue mail a b
        4   claim ana mail
        5   take-over 2
        5   restore 1000000
        6   take-over 3
        2000 tick
        2000 open ben 1000 mail
        2001 claim ben mail
        2002 enqueue mail c
        2003 acquire shipping ben
        ",
        expect![[r#"
            0   take-over 1
                1: Done — the server
            1   open ana 1000 mail
                2: session 2 — ana active
            2   acquire billing ana
                3: granted to ana under 3 for 10000 ms — billing to ana under 3
            3   enqueue mail a b
                4: Enqueued([Enqueued { job: JobId(1), existing: false }, Enqueued { job: JobId(2), existing: false }]) — job 1 queued, job 2 queued
            4   claim ana mail
                5: Claimed([Claimed { job: JobId(1), claim: ClaimNumber(1) }, Claimed { job: JobId(2), claim: ClaimNumber(1) }]) — job 1 running, job 2 running
            5   take-over 2
                6: Done — the server
            5   restore 1000000
                7: Done — ana draining, restored, goes on after 1000000
            6   take-over 3
                1000001: Done — the server
            2000 tick
                1000002: Done — job 1 returned, job 2 returned, ana drained
            2000 open ben 1000 mail
                1000003: session 1000003 — ben active
            2001 claim ben mail
                1000004: Claimed([Claimed { job: JobId(1), claim: ClaimNumber(1000001) }, Claimed { job: JobId(2), claim: ClaimNumber(1000001) }]) — job 1 running, job 2 running
            2002 enqueue mail c
                1000005: Enqueued([Enqueued { job: JobId(1000001), existing: false }]) — job 1000001 queued
            2003 acquire shipping ben
                1000006: granted to ben under 1000006 for 10000 ms — shipping to ben under 1000006
        "#]],
    );
}

#[test]
fn a_session_of_before_is_a_stranger_and_what_it_holds_has_the_grace_of_a_takeover() {
    check(
        "
        0    take-over 1
        0    open ana 1000 mail
        0    open eve 5000
        1    acquire billing ana ttl=500
        2    await billing eve
        3    enqueue mail a
        4    claim ana mail
        100  take-over 2
        100  restore 1000000
        101  take-over 3
        102  complete ana 1 1
        102  release billing ana 3
        102  withdraw billing eve
        103  open ben 5000 mail
        104  await billing ben
        104  claim ben mail
        600  lapse billing now
        601  lapse billing now
        1100 tick
        1101 claim ben mail
        1101 lose ana
        ",
        expect![[r#"
            0    take-over 1
                1: Done — the server
            0    open ana 1000 mail
                2: session 2 — ana active
            0    open eve 5000
                3: session 3
            1    acquire billing ana ttl=500
                4: granted to ana under 4 for 500 ms — billing to ana under 4
            2    await billing eve
                5: waiting, ana holds it under 4
            3    enqueue mail a
                6: Enqueued([Enqueued { job: JobId(1), existing: false }]) — job 1 queued
            4    claim ana mail
                7: Claimed([Claimed { job: JobId(1), claim: ClaimNumber(1) }]) — job 1 running
            100  take-over 2
                8: Done — the server
            100  restore 1000000
                9: Done — ana draining, restored, goes on after 1000000
            101  take-over 3
                1000001: Done — the server
            102  complete ana 1 1
                1000002: refused: session 2 is over or was never issued
            102  release billing ana 3
                1000003: refused: session 2 is over or was never issued
            102  withdraw billing eve
                1000004: refused: session 3 is over or was never issued
            103  open ben 5000 mail
                1000005: session 1000005 — ben active
            104  await billing ben
                1000006: waiting, ana holds it under 4
            104  claim ben mail
                1000007: Claimed([])
            600  lapse billing now
                1000008: refused: it has not lapsed
            601  lapse billing now
                1000009: released, next is ben under 1000009 — billing to ben under 1000009
            1100 tick
                1000010: Done — job 1 returned, ana drained
            1101 claim ben mail
                1000011: Claimed([Claimed { job: JobId(1), claim: ClaimNumber(1000001) }]) — job 1 running
            1101 lose ana
                1000012: Done — ana lost
        "#]],
    );
}

#[test]
fn event_numbers_of_a_lost_time_are_left_out_and_a_reader_there_is_told() {
    check(
        "
        0 append orders a b c
        1 restore 1000
        2 read orders 0
        2 read orders 3
        2 read orders 7
        3 append orders d expected=4
        3 append orders d expected=1001
        4 read orders 3
        4 read orders 4
        4 read orders 1000
        4 read orders 1001
        5 restore 5000
        6 restore 6000
        7 append orders e
        8 read orders 3
        8 read orders 1001
        9 stream orders events=1
        9 read orders 3
        9 read orders 1001
        9 append orders f
        9 read orders 6001
        ",
        expect![[r#"
            0 append orders a b c
                1: Appended { last: EventNumber(3) }
            1 restore 1000
                2: Done — restored, goes on after 1000
            2 read orders 0
                ["1 b\"a\"", "2 b\"b\"", "3 b\"c\""], last 3
            2 read orders 3
                [], last 3
            2 read orders 7
                refused: 7 is beyond the stream's end, its last event is 3
            3 append orders d expected=4
                1001: refused: the next event is 1001, not 4
            3 append orders d expected=1001
                1002: Appended { last: EventNumber(1001) }
            4 read orders 3
                ["1001 b\"d\""], last 1001
            4 read orders 4
                refused: 4 is beyond the stream's end, its last event is 3
            4 read orders 1000
                refused: 1000 is beyond the stream's end, its last event is 3
            4 read orders 1001
                [], last 1001
            5 restore 5000
                1003: Done — restored, goes on after 5000
            6 restore 6000
                5001: Done — restored, goes on after 6000
            7 append orders e
                6001: Appended { last: EventNumber(6001) }
            8 read orders 3
                ["1001 b\"d\"", "6001 b\"e\""], last 6001
            8 read orders 1001
                ["6001 b\"e\""], last 6001
            9 stream orders events=1
                6002: Done
            9 read orders 3
                refused: event 4 is no longer kept, the first one kept is 1002
            9 read orders 1001
                ["6001 b\"e\""], last 6001
            9 append orders f
                6003: Appended { last: EventNumber(6002) }
            9 read orders 6001
                ["6002 b\"f\""], last 6002
        "#]],
    );
}

#[test]
fn a_leader_resumes_across_the_lost_numbers_and_nobody_counts_them_as_lag() {
    check(
        "
        0 open ana 1000
        0 acquire billing ana ttl=500 stream=orders
        0 role billing lag=1
        1 append orders a b c
        2 commit billing ana now at=orders:2
        3 take-over 1
        3 restore 1000
        4 open ben 1000
        4 open cem 1000
        4 await billing ben stream=orders
        4 await billing cem stream=orders
        5 standings billing ben:3:0 cem:1:0
        600 lapse billing now
        2001 commit billing ben now at=orders:7
        2001 commit billing ben now at=orders:3
        2002 append orders d
        2003 commit billing ben now at=orders:1001
        ",
        expect![[r#"
            0 open ana 1000
                1: session 1
            0 acquire billing ana ttl=500 stream=orders
                2: granted to ana under 2 for 500 ms — billing to ana under 2
            0 role billing lag=1
                3: Done
            1 append orders a b c
                4: Appended { last: EventNumber(3) }
            2 commit billing ana now at=orders:2
                5: Committed { jobs: [] } — billing at 2
            3 take-over 1
                6: Done — the server
            3 restore 1000
                7: Done — restored, goes on after 1000
            4 open ben 1000
                1001: session 1001
            4 open cem 1000
                1002: session 1002
            4 await billing ben stream=orders
                1003: waiting, ana holds it under 2
            4 await billing cem stream=orders
                1004: waiting, ana holds it under 2
            5 standings billing ben:3:0 cem:1:0
                1005: Done
            600 lapse billing now
                1006: released, next is ben under 1006 — billing to ben under 1006
            2001 commit billing ben now at=orders:7
                1007: refused: 7 is beyond the stream's end, its last event is 3
            2001 commit billing ben now at=orders:3
                1008: Committed { jobs: [] } — billing at 3
            2002 append orders d
                1009: Appended { last: EventNumber(1001) }
            2003 commit billing ben now at=orders:1001
                1010: Committed { jobs: [] } — billing at 1001
        "#]],
    );
}

#[test]
fn a_stream_made_after_a_restore_begins_above_the_floor_and_is_read_from_0() {
    check(
        "
        0 append orders a
        0 remove-stream orders
        1 restore 1000
        2 append orders b
        2 append bills c
        3 read orders 0
        3 read bills 0
        3 read bills 5
        4 stream bills events=1
        4 append bills d
        5 read bills 0
        ",
        expect![[r#"
            0 append orders a
                1: Appended { last: EventNumber(1) }
            0 remove-stream orders
                2: Done
            1 restore 1000
                3: Done — restored, goes on after 1000
            2 append orders b
                1001: Appended { last: EventNumber(1001) }
            2 append bills c
                1002: Appended { last: EventNumber(1001) }
            3 read orders 0
                refused: event 1 is no longer kept, the first one kept is 1001
            3 read bills 0
                ["1001 b\"c\""], last 1001
            3 read bills 5
                refused: 5 is beyond the stream's end, its last event is 0
            4 stream bills events=1
                1003: Done
            4 append bills d
                1004: Appended { last: EventNumber(1002) }
            5 read bills 0
                refused: event 1 is no longer kept, the first one kept is 1002
        "#]],
    );
}

#[test]
fn a_floor_below_what_was_given_is_refused() {
    check(
        "
        0 open ana 1000
        0 restore 1
        0 restore 9007199254740992
        0 restore 2
        ",
        expect![[r#"
            0 open ana 1000
                1: session 1
            0 restore 1
                2: refused: floor is 1, allowed is 3 to 9007199254740991
            0 restore 9007199254740992
                3: refused: floor is 9007199254740992, allowed is 4 to 9007199254740991
            0 restore 2
                4: refused: floor is 2, allowed is 5 to 9007199254740991
        "#]],
    );
}

#[test]
fn a_floor_leaves_out_what_may_have_been_given_and_rises_with_the_clock() {
    let mut state = State::default();
    let floor = |state: &State, ms| state.restore_floor(Timestamp(ms));
    assert_eq!(floor(&state, 0), Ok(Position(FLOOR_STEP)));
    state.last.position = Position(FLOOR_STEP - 1);
    assert_eq!(floor(&state, 0), Ok(Position(2 * FLOOR_STEP)));
    state.last.position = Position(FLOOR_STEP - LOST_MAX);
    assert_eq!(floor(&state, 0), Ok(Position(FLOOR_STEP)));
    // Restored twice from one backup: the later one begins above what the first has given since.
    let (first, second) = (1_796_054_400_000, 1_796_054_401_000);
    assert_eq!(floor(&state, first), Ok(Position(first * 1_000)));
    assert_eq!(floor(&state, second), Ok(Position(second * 1_000)));
}

#[test]
fn a_state_without_room_above_its_numbers_is_not_restored() {
    let mut state = State::default();
    let max = NUMBER_MAX - FLOOR_STEP;
    state.last.position = Position(max - LOST_MAX);
    let floor = (1 << 53) - FLOOR_STEP;
    assert_eq!(state.restore_floor(Timestamp(0)), Err(NoRoom { floor, max }));
    let state = State::default();
    let at = Timestamp(10_000_000_000_000);
    let floor = 10_000_000_000_000_000;
    assert_eq!(state.restore_floor(at), Err(NoRoom { floor, max }));
}
