//! Jobs by hand: one or many, by id or by filter.

use std::fmt::Write as _;

use expect_test::expect;

use crate::place::Place;

#[test]
fn a_job_is_added_looked_at_cancelled_and_put_back() {
    Place::new().check(
        "
        job add mail --text hello
        job add mail --payload '{\"to\": \"ana\", \"n\": 12345678901234567890123}' --unique ana --priority -5 --delay 1h
        job add mail --payload '{\"to\": \"ana\", \"n\": 12345678901234567890123}' --unique ana
        job add mail --text=-5 --run-at 2099-12-01T10:00:00+01:00 --attempts 3 --timeout 1m30s --order a
        job list
        job list --state queued --limit 1
        job show 2
        job show 2 --json
        job cancel 1
        job cancel 1
        job cancel 1 2 99
        job retry 1
        job hand-back 1
        job list --state running
        ",
        expect![[r#"
            $ clawhold job add mail --text hello
            job 1 is accepted
            $ clawhold job add mail --payload '{"to": "ana", "n": 12345678901234567890123}' --unique ana --priority -5 --delay 1h
            job 2 is accepted, not before 1h from now
            $ clawhold job add mail --payload '{"to": "ana", "n": 12345678901234567890123}' --unique ana
            job 2 was there before, under the same unique key
            $ clawhold job add mail --text=-5 --run-at 2099-12-01T10:00:00+01:00 --attempts 3 --timeout 1m30s --order a
            job 3 is accepted, not before MOMENT
            $ clawhold job list
            JOB  QUEUE  STATE      WORKER  PRIORITY  ATTEMPTS  SINCE
              1  mail   queued          -         0  0/5       MOMENT
              2  mail   scheduled       -        -5  0/5       MOMENT
              3  mail   scheduled       -         0  0/3       MOMENT
            $ clawhold job list --state queued --limit 1
            JOB  QUEUE  STATE   WORKER  PRIORITY  ATTEMPTS  SINCE
              1  mail   queued       -         0  0/5       MOMENT
            $ clawhold job show 2
            job         2
            queue       mail
            state       scheduled since MOMENT
            priority    -5
            attempts    0 of 5
            losses      0
            hand-backs  0
            accepted    MOMENT
            runs at     MOMENT
            unique key  ana
            payload     {"to": "ana", "n": 12345678901234567890123}
            $ clawhold job show 2 --json
            {"id":2,"queue":"mail","state":"scheduled","priority":-5,"attempts":0,"attempts_max":5,"losses":0,"hand_backs":0,"claim":0,"worker":null,"created":"MOMENT","since":"MOMENT","run_at":"MOMENT","unique_key":"ana","order_key":null,"timeout_ms":null,"percent":null,"note":null,"errors":[],"returned":null,"cancel_asked":false,"payload":{"to": "ana", "n": 12345678901234567890123}}
            $ clawhold job cancel 1
            1 job cancelled
            $ clawhold job cancel 1
            ! error: job 1 is cancelled
            [4]
            $ clawhold job cancel 1 2 99
            1 job cancelled, 2 refused
            JOB  REFUSED BECAUSE
              1  job 1 is cancelled
             99  there is no job 99
            [4]
            $ clawhold job retry 1
            1 job put back
            $ clawhold job hand-back 1
            ! error: job 1 is queued
            [4]
            $ clawhold job list --state running
            there is no job that fits
        "#]],
    );
}

#[test]
fn many_jobs_come_from_a_file_and_the_filter_directs_them() {
    let place = Place::new();
    let mut csv = "queue,text,priority,unique_key\n".to_owned();
    for number in 1..=1_200 {
        let _ = writeln!(csv, "mail,\"line {number}\",{},key-{number}", number % 3);
    }
    place.file("jobs.csv", csv);
    place.check(
        "
        job add --file jobs.csv --run-id first
        job add --file jobs.csv --run-id first
        job add --file jobs.csv
        job list --queue mail --limit 2
        job cancel --queue mail --state queued
        job cancel --queue mail --state queued --json
        job cancel --queue mail --yes
        job list --queue mail --state queued
        job retry --queue mail --state cancelled --yes
        ",
        expect![[r#"
            $ clawhold job add --file jobs.csv --run-id first
            1200 jobs accepted, 1 to 1200
            $ clawhold job add --file jobs.csv --run-id first
            1200 jobs accepted, 1 to 1200
            $ clawhold job add --file jobs.csv
            1200 jobs accepted, 1 to 1200
            1200 of them were there before, under the same unique key
            $ clawhold job list --queue mail --limit 2
            JOB  QUEUE  STATE   WORKER  PRIORITY  ATTEMPTS  SINCE
              1  mail   queued       -         1  0/5       MOMENT
              2  mail   queued       -         2  0/5       MOMENT
            … and more; use --limit N
            $ clawhold job cancel --queue mail --state queued
            ! error: this would cancel 1200 jobs; nothing was done
            !   next: add --yes to do it
            [2]
            $ clawhold job cancel --queue mail --state queued --json
            {"error":{"code":"confirmation_needed","exit":2,"message":"this would cancel 1200 jobs; nothing was done","next":"add --yes to do it"}}
            [2]
            $ clawhold job cancel --queue mail --yes
            1200 jobs cancelled
            $ clawhold job list --queue mail --state queued
            there is no job that fits
            $ clawhold job retry --queue mail --state cancelled --yes
            1200 jobs put back
        "#]],
    );
}

#[test]
fn a_bad_line_is_named_and_adds_nothing() {
    let place = Place::new();
    place.file("odd.ndjson", "{\"text\":\"a\"}\n\n{\"text\":\"b\",\"prio\":1}\n");
    place.file("no.ndjson", "\u{feff}{\"text\":\"a\"}\r\n{\"queue\":\"q\"}\r\n");
    place.file("two.ndjson", "{\"text\":\"a\",\"payload\":1}\n");
    place.file("when.ndjson", "{\"text\":\"a\",\"run_at\":\"tomorrow\"}\n");
    place.file("bytes.ndjson", b"{\"text\":\"a\"}\n{\"text\":\"\xff\"}\n");
    place.file("range.ndjson", "{\"text\":\"a\"}\n{\"text\":\"b\",\"priority\":101}\n");
    place.check(
        "
        job add q --file odd.ndjson
        job add q --file no.ndjson
        job add q --file two.ndjson
        job add q --file when.ndjson
        job add q --file bytes.ndjson
        job add q --file range.ndjson
        job add --file gone.ndjson
        queue list
        ",
        expect![[r#"
            $ clawhold job add q --file odd.ndjson
            ! error: odd.ndjson line 3: unknown field `prio`, expected one of `queue`, `payload`, `text`, `priority`, `delay_ms`, `run_at`, `unique_key`, `order_key`, `attempts_max`, `backoff_ms`, `backoff_max_ms`, `timeout_ms` at column 18
            [2]
            $ clawhold job add q --file no.ndjson
            ! error: no.ndjson line 2: has neither payload nor text
            [2]
            $ clawhold job add q --file two.ndjson
            ! error: two.ndjson line 1: has both payload and text
            [2]
            $ clawhold job add q --file when.ndjson
            ! error: when.ndjson line 1: run_at "tomorrow" is no moment, write it as 2026-12-01T10:00:00Z or 2026-12-01T10:00:00+01:00
            [2]
            $ clawhold job add q --file bytes.ndjson
            ! error: bytes.ndjson line 2: is no UTF-8
            !   because invalid utf-8 sequence of 1 bytes from index 9
            [2]
            $ clawhold job add q --file range.ndjson
            ! error: range.ndjson line 2: priority is 101, allowed is -100 to 100
            !   next: nothing was added
            [2]
            $ clawhold job add --file gone.ndjson
            ! error: cannot open gone.ndjson
            !   because No such file or directory (os error 2)
            !   next: nothing was added
            [2]
            $ clawhold queue list
            there is no queue
        "#]],
    );
}

#[test]
fn a_bad_row_is_named_and_adds_nothing() {
    let place = Place::new();
    place.file("head.csv", "text,priorty\nx,1\n");
    place.file("twice.csv", "text,text\nx,y\n");
    place.file("number.csv", "text,priority\na,1\nb,high\n");
    place.file("wide.csv", "text,priority\na,1\nb,1,2\n");
    place.file("empty.csv", "text\n");
    place.check(
        "
        job add q --file head.csv
        job add q --file twice.csv
        job add q --file number.csv
        job add q --file wide.csv
        job add q --file empty.csv
        queue list
        ",
        expect![[r#"
            $ clawhold job add q --file head.csv
            ! error: head.csv line 1: there is no column "priorty"
            !   next: did you mean priority?
            [2]
            $ clawhold job add q --file twice.csv
            ! error: twice.csv line 1: the column "text" is there twice
            [2]
            $ clawhold job add q --file number.csv
            ! error: number.csv line 3: priority is "high", which is no number
            [2]
            $ clawhold job add q --file wide.csv
            ! error: wide.csv line 3: is no row
            !   because CSV error: record 2 (line: 3, byte: 18): found record with 3 fields, but the previous record has 2 fields
            [2]
            $ clawhold job add q --file empty.csv
            there is no job in the file
            $ clawhold queue list
            there is no queue
        "#]],
    );
}

#[test]
fn standard_input_is_a_payload_or_many_jobs() {
    let place = Place::new();
    let said = place.run_with("job add q --payload-file -", "{\"a\":\n 1}\n");
    assert_eq!((said.out.as_str(), said.code), ("job 1 is accepted\n", 0));
    let lines = "{\"text\":\"a\"}\n{\"text\":\"b\"}\n";
    let said = place.run_with("job add q --file -", lines);
    assert_eq!((said.out.as_str(), said.code), ("2 jobs accepted, 2 to 3\n", 0));
    let said = place.run_with("job add q --file - --format csv", "text\nc\n");
    assert_eq!((said.out.as_str(), said.code), ("1 job accepted, 4 to 4\n", 0));
    let mut many = "{\"text\":\"a\"}\n".repeat(600);
    many.push_str("nonsense\n");
    let said = place.run_with("job add q --file -", many);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("standard input line 601"), "{}", said.err);
    assert!(said.err.contains("600 jobs added before that"), "{}", said.err);
    assert_eq!(place.json("status")["jobs"]["queued"], 604);
}

#[test]
fn what_is_given_is_what_is_kept() {
    let place = Place::new();
    for (number, text) in [
        "",
        " ",
        "--- start",
        "$(x) %s `y`",
        "\u{201c}curly\u{201d} \u{1f980}",
        "a\r\nb\tc",
        "\u{1b}[2J",
    ]
    .iter()
    .enumerate()
    {
        let mut command = place.command(crate::place::CLAWHOLD);
        command.args(["job", "add", "q", "--text", text]);
        assert_eq!(crate::place::said(command, b"").code, 0, "{text:?}");
        let job = place.json(&format!("job show {}", number + 1));
        assert_eq!(job["payload"].as_str(), Some(*text));
    }
    let shown = place.run("job show 7").out;
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_large_payload_is_taken_and_one_too_large_is_named() {
    let place = Place::new();
    place.file("fits.json", format!("\"{}\"", "x".repeat(262_142)));
    place.file("over.json", format!("\"{}\"", "x".repeat(262_143)));
    place.file("huge.json", format!("\"{}\"", "x".repeat(2_000_000)));
    assert_eq!(place.run("job add q --payload-file fits.json").code, 0);
    let said = place.run("job add q --payload-file over.json --json");
    assert_eq!(said.code, 2, "{}", said.out);
    assert_eq!(said.document()["error"]["problem"]["field"], "jobs[0].payload");
    assert_eq!(place.run("job add q --payload-file huge.json").code, 2);
    // Each line fits, and all of them together do not fit one request.
    let line = format!("{{\"text\":\"{}\"}}\n", "x".repeat(200_000));
    place.file("large.ndjson", line.repeat(9));
    assert_eq!(place.run("job add q --file large.ndjson").out, "9 jobs accepted, 2 to 10\n");
}
