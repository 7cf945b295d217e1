//! Transcripts of streams: appends, retention, positions and commits.

use expect_test::expect;

use crate::session::transcript::check;

#[test]
fn numbering_goes_on_after_a_stream_was_emptied_or_removed() {
    check(
        "
        0   stream orders age=100
        1   append orders a b
        101 tick
        101 read orders 2
        102 append orders c
        103 remove-stream orders
        103 read orders 0
        104 append orders d
        104 read orders 3
        ",
        expect![[r#"
            0   stream orders age=100
                1: Done
            1   append orders a b
                2: Appended { last: EventNumber(2) }
            101 tick
                3: Done
            101 read orders 2
                [], last 2
            102 append orders c
                4: Appended { last: EventNumber(3) }
            103 remove-stream orders
                5: Done
            103 read orders 0
                refused: there is no stream orders
            104 append orders d
                6: Appended { last: EventNumber(4) }
            104 read orders 3
                ["4 b\"d\""], last 4
        "#]],
    );
}

#[test]
fn a_reader_is_told_what_is_gone_and_what_is_yet_to_come() {
    check(
        "
        0 stream orders events=2
        1 append orders a b
        2 append orders c
        3 read orders 0
        3 read orders 1
        3 read orders 3
        3 read orders 4
        3 read bills 0
        ",
        expect![[r#"
            0 stream orders events=2
                1: Done
            1 append orders a b
                2: Appended { last: EventNumber(2) }
            2 append orders c
                3: Appended { last: EventNumber(3) }
            3 read orders 0
                refused: event 1 is no longer kept, the first one kept is 2
            3 read orders 1
                ["2 b\"b\"", "3 b\"c\""], last 3
            3 read orders 3
                [], last 3
            3 read orders 4
                refused: 4 is beyond the stream's end, its last event is 3
            3 read bills 0
                refused: there is no stream bills
        "#]],
    );
}

#[test]
fn an_append_may_name_the_number_it_must_get() {
    check(
        "
        0 append orders a expected=1
        1 append orders b expected=1
        2 append orders b expected=2
        3 append orders
        ",
        expect![[r#"
            0 append orders a expected=1
                1: Appended { last: EventNumber(1) }
            1 append orders b expected=1
                2: refused: the next event is 2, not 1
            2 append orders b expected=2
                3: Appended { last: EventNumber(2) }
            3 append orders
                4: refused: events is 0, allowed is 1 to 1000
        "#]],
    );
}

#[test]
fn a_position_moves_only_forward_and_only_under_the_current_token() {
    check(
        "
        0 open ana 9000
        0 open ben 9000
        0 append orders a b c d
        1 acquire billing ana stream=orders
        2 await billing ben stream=orders
        3 commit billing ana 4 at=orders:2
        4 commit billing ana 4 at=orders:2
        5 commit billing ana 4 at=orders:5
        6 commit billing ana 4 at=bills:1
        7 hand-over billing ben by=ana token=4
        8 commit billing ana 4 at=orders:4
        9 commit billing ben 10 at=orders:3
        ",
        expect![[r#"
            0 open ana 9000
                1: session 1
            0 open ben 9000
                2: session 2
            0 append orders a b c d
                3: Appended { last: EventNumber(4) }
            1 acquire billing ana stream=orders
                4: granted to ana under 4 for 10000 ms — billing to ana under 4
            2 await billing ben stream=orders
                5: waiting, ana holds it under 4
            3 commit billing ana 4 at=orders:2
                6: Committed { jobs: [] } — billing at 2
            4 commit billing ana 4 at=orders:2
                7: refused: the recorded position is 2, 2 is not beyond it
            5 commit billing ana 4 at=orders:5
                8: refused: 5 is beyond the stream's end, its last event is 4
            6 commit billing ana 4 at=bills:1
                9: refused: there is no stream bills
            7 hand-over billing ben by=ana token=4
                10: granted to ben under 10 for 10000 ms — billing to ben under 10
            8 commit billing ana 4 at=orders:4
                11: refused: token 4 is stale, the latest of this role is 10
            9 commit billing ben 10 at=orders:3
                12: Committed { jobs: [] } — billing at 3
        "#]],
    );
}

#[test]
fn a_commit_does_all_or_nothing() {
    check(
        "
        0 open ana 9000
        0 append orders a b
        0 stream bills events=1
        1 acquire billing ana stream=orders
        2 commit billing ana 4 at=orders:1 job=mail:hello append=bills:x
        3 commit billing ana 4 at=orders:2 job=mail:hello append=bills:x append=bills:y
        4 commit billing ana 4 at=orders:2 job=mail:hello append=bills:z append=notes:n
        5 read bills 1
        6 read notes 0
        ",
        expect![[r#"
            0 open ana 9000
                1: session 1
            0 append orders a b
                2: Appended { last: EventNumber(2) }
            0 stream bills events=1
                3: Done
            1 acquire billing ana stream=orders
                4: granted to ana under 4 for 10000 ms — billing to ana under 4
            2 commit billing ana 4 at=orders:1 job=mail:hello append=bills:x
                5: Committed { jobs: [Enqueued { job: JobId(1), existing: false }] } — billing at 1, job 1 queued
            3 commit billing ana 4 at=orders:2 job=mail:hello append=bills:x append=bills:y
                6: refused: the stream's count of events is full: 2 of at most 1
            4 commit billing ana 4 at=orders:2 job=mail:hello append=bills:z append=notes:n
                7: Committed { jobs: [Enqueued { job: JobId(2), existing: false }] } — billing at 2, job 2 queued
            5 read bills 1
                ["2 b\"z\""], last 2
            6 read notes 0
                ["1 b\"n\""], last 1
        "#]],
    );
}

#[test]
fn what_a_role_has_not_dealt_with_is_never_dropped() {
    check(
        "
        0   open ana 9000
        0   stream orders events=3 age=100
        0   append orders a b c
        1   acquire billing ana stream=orders
        2   commit billing ana 4 at=orders:1
        3   append orders d e
        4   append orders d
        200 tick
        201 read orders 1
        202 commit billing ana 4 at=orders:4 append=orders:e append=orders:f append=orders:g
        203 read orders 4
        204 stream orders events=1
        205 read orders 4
        ",
        expect![[r#"
            0   open ana 9000
                1: session 1
            0   stream orders events=3 age=100
                2: Done
            0   append orders a b c
                3: Appended { last: EventNumber(3) }
            1   acquire billing ana stream=orders
                4: granted to ana under 4 for 10000 ms — billing to ana under 4
            2   commit billing ana 4 at=orders:1
                5: Committed { jobs: [] } — billing at 1
            3   append orders d e
                6: refused: the stream is full, and role billing has dealt with events up to 1 only
            4   append orders d
                7: Appended { last: EventNumber(4) }
            200 tick
                8: Done
            201 read orders 1
                ["2 b\"b\"", "3 b\"c\"", "4 b\"d\""], last 4
            202 commit billing ana 4 at=orders:4 append=orders:e append=orders:f append=orders:g
                9: Committed { jobs: [] } — billing at 4
            203 read orders 4
                ["5 b\"e\"", "6 b\"f\"", "7 b\"g\""], last 7
            204 stream orders events=1
                10: Done
            205 read orders 4
                ["5 b\"e\"", "6 b\"f\"", "7 b\"g\""], last 7
        "#]],
    );
}

#[test]
fn a_removed_role_holds_nothing_back() {
    check(
        "
        0   open ana 9000
        0   stream orders age=100
        0   append orders a b c
        1   acquire billing ana stream=orders
        2   commit billing ana 4 at=orders:1
        3   remove-stream orders
        4   release billing ana 4
        5   remove-role billing
        200 tick
        200 read orders 3
        ",
        expect![[r#"
            0   open ana 9000
                1: session 1
            0   stream orders age=100
                2: Done
            0   append orders a b c
                3: Appended { last: EventNumber(3) }
            1   acquire billing ana stream=orders
                4: granted to ana under 4 for 10000 ms — billing to ana under 4
            2   commit billing ana 4 at=orders:1
                5: Committed { jobs: [] } — billing at 1
            3   remove-stream orders
                6: refused: the stream is in use: 1 leaders
            4   release billing ana 4
                7: released, next is nobody — billing vacant
            5   remove-role billing
                8: Done
            200 tick
                9: Done
            200 read orders 3
                [], last 3
        "#]],
    );
}

#[test]
fn a_standby_resumes_from_the_recorded_position_or_is_told_that_it_cannot() {
    check(
        "
        0 open ana 9000
        0 open ben 9000
        0 append orders a b c
        1 acquire billing ana stream=orders
        2 await billing ben stream=orders
        3 commit billing ana 4 at=orders:2
        4 release billing ana 4
        5 read orders 2
        6 release billing ben 7
        7 remove-stream orders
        8 append orders d
        9 read orders 2
        ",
        expect![[r#"
            0 open ana 9000
                1: session 1
            0 open ben 9000
                2: session 2
            0 append orders a b c
                3: Appended { last: EventNumber(3) }
            1 acquire billing ana stream=orders
                4: granted to ana under 4 for 10000 ms — billing to ana under 4
            2 await billing ben stream=orders
                5: waiting, ana holds it under 4
            3 commit billing ana 4 at=orders:2
                6: Committed { jobs: [] } — billing at 2
            4 release billing ana 4
                7: released, next is ben under 7 — billing to ben under 7
            5 read orders 2
                ["3 b\"c\""], last 3
            6 release billing ben 7
                8: released, next is nobody — billing vacant
            7 remove-stream orders
                9: Done
            8 append orders d
                10: Appended { last: EventNumber(4) }
            9 read orders 2
                refused: event 3 is no longer kept, the first one kept is 4
        "#]],
    );
}
