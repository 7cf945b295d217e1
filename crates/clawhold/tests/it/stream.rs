//! Streams by hand.

use std::process::Stdio;

use expect_test::expect;

use crate::place::{CLAWHOLD, Place, read_until, wait};

#[test]
fn events_are_appended_read_and_counted() {
    let place = Place::new();
    place.file("orders.ndjson", "{\"id\":1}\n\n{\"id\": 2}\n\"three\"\n");
    place.check(
        "
        stream append orders --text first
        stream append orders --file orders.ndjson --expected 2
        stream append orders --payload 5 --expected 2
        stream read orders
        stream read orders --after 2 --limit 1 --json
        stream read orders --after 4
        stream read orders --after 5
        stream set orders --events-max 2 --age-max 7d
        stream append orders --payload null
        stream read orders --after 1
        stream list
        stream position orders
        stream read order
        stream remove orders
        stream list
        ",
        expect![[r#"
            $ clawhold stream append orders --text first
            event 1 is appended to orders
            $ clawhold stream append orders --file orders.ndjson --expected 2
            3 events appended to orders
            $ clawhold stream append orders --payload 5 --expected 2
            ! error: the next event is 5, not 2
            [4]
            $ clawhold stream read orders
            1  "first"
            2  {"id":1}
            3  {"id": 2}
            4  "three"
            $ clawhold stream read orders --after 2 --limit 1 --json
            {"events":[{"number":3,"event":{"id": 2}}],"first":1,"last":4}
            $ clawhold stream read orders --after 4
            there is no event; the first kept is 1, the last 4
            $ clawhold stream read orders --after 5
            ! error: 5 is beyond the stream's end, its last event is 4
            [4]
            $ clawhold stream set orders --events-max 2 --age-max 7d
            orders keeps 2 events, 268435456 bytes, 7d
            $ clawhold stream append orders --payload null
            event 5 is appended to orders
            $ clawhold stream read orders --after 1
            ! error: event 2 is no longer kept, the first one kept is 4
            [4]
            $ clawhold stream list
            STREAM  FIRST  LAST  BYTES  KEEPS                          ROLES
            orders      4     5     11  2 events, 268435456 bytes, 7d      0
            $ clawhold stream position orders
            no role has recorded a position in this stream
            $ clawhold stream read order
            ! error: there is no stream order
            !   next: did you mean orders?
            [3]
            $ clawhold stream remove orders
            orders is removed
            $ clawhold stream list
            there is no stream
        "#]],
    );
}

#[test]
fn a_bad_line_is_named_with_what_was_appended_before() {
    let place = Place::new();
    place.file("events.ndjson", format!("{}nonsense\n", "1\n".repeat(500)));
    let said = place.run("stream append s --file events.ndjson");
    assert_eq!(said.code, 2);
    expect![[r#"
        error: events.ndjson line 501: is not one JSON value
          because expected ident at line 1 column 2
          next: 500 events appended before that
    "#]]
    .assert_eq(&said.err);
    assert_eq!(place.json("stream list")["items"][0]["last"], 500);
}

#[test]
fn a_follower_gets_each_event_once_and_stops_when_nobody_reads() {
    let place = Place::new();
    let _served = place.serve("");
    place.json("stream append s --text before");
    let mut command = place.command(CLAWHOLD);
    command.args(["stream", "follow", "s", "--after", "0", "--count", "3", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    place.json("stream append s --text two");
    place.json("stream append s --text three");
    let lines = read_until(child.stdout.as_mut().unwrap(), "three");
    assert_eq!(
        lines,
        "{\"number\":1,\"event\":\"before\"}\n{\"number\":2,\"event\":\"two\"}\n{\"number\":3,\"event\":\"three\"}\n"
    );
    assert_eq!(wait(&mut child), Some(0));
    let mut command = place.command(CLAWHOLD);
    command.args(["stream", "follow", "s", "--after", "0"]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(wait(&mut child), Some(0), "the closed pipe ends it at the next event");
}
