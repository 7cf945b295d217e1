//! The PostgreSQL engine: the conformance suite, and what is its own about servers and schemas.

use std::time::Duration;

use clawhold_log::conformance::Bench;
use clawhold_log::{
    Append, Epoch, Log, LogError, Number, OpenError, PostgresLog, Presence, TakeOver, conformance,
};

use super::postgres_shared::Schema;

impl Bench for Schema {
    fn handle(&self) -> Box<dyn Log> {
        Box::new(PostgresLog::open(&self.url()).unwrap())
    }

    fn damage_record(&self, number: Number) {
        self.sql(&format!("UPDATE @record SET {FLIP} WHERE number = {number}"));
    }

    fn damage_snapshot(&self, age: usize) {
        self.sql(&format!(
            "UPDATE @chunk SET {FLIP} WHERE (snapshot, place) =
             (SELECT snapshot, max(place) FROM @chunk WHERE snapshot =
                 (SELECT id FROM @snapshot WHERE whole ORDER BY id DESC LIMIT 1 OFFSET {age})
              GROUP BY snapshot)"
        ));
    }
}

/// Flips the last bit of a frame.
const FLIP: &str = "frame = set_byte(frame, octet_length(frame) - 1,
                    get_byte(frame, octet_length(frame) - 1) # 1)";

conformance!(Schema::new());

#[test]
fn many_handles_opened_at_once_make_one_log() {
    let bench = Schema::new();
    let barrier = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                assert_eq!(bench.handle().head().unwrap().last, Number(0));
            });
        }
    });
}

#[test]
fn handles_differ_in_the_name_they_write_under() {
    let bench = Schema::new();
    assert_ne!(bench.handle().writer(), bench.handle().writer());
}

#[test]
fn clusters_in_one_database_know_nothing_of_each_other() {
    let (one, other) = (Schema::new(), Schema::new());
    let (mut first, mut second) = (lead(&one), one.handle());
    let mut stranger = other.handle();
    assert_eq!(stranger.head().unwrap().last, Number(0));
    assert_eq!(first.claim_presence(), Presence::Held);
    assert_eq!(second.claim_presence(), Presence::HeldByOther);
    assert_eq!(stranger.claim_presence(), Presence::Held);
}

#[test]
fn a_log_of_a_later_version_is_refused_by_its_version() {
    let bench = Schema::new();
    drop(bench.handle());
    bench.sql("UPDATE @store SET version = 2");
    assert_refused(&bench.url(), "its tables have version 2, this program knows up to 1");
}

#[test]
fn tables_of_somebody_else_are_refused_and_left_alone() {
    let bench = Schema::new();
    bench.sql(&format!("CREATE SCHEMA {}", bench.name()));
    bench.sql("CREATE TABLE @record (song text)");
    assert_refused(&bench.url(), "holds tables of somebody else");
    assert_eq!(bench.sql("SELECT count(*) FROM @record"), "0");
    assert_eq!(
        bench.sql(&format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{}'", bench.name())),
        "1"
    );
}

#[test]
fn a_user_without_the_right_to_make_tables_is_told_what_an_owner_runs() {
    let bench = Schema::new();
    let role = format!("poor_{}", bench.name());
    bench.sql(&format!("CREATE ROLE {role} LOGIN PASSWORD 'poor'"));
    let url = bench.url().replace("clawhold:a%20pass%2Fword", &format!("{role}:poor"));
    let statement = format!("CREATE SCHEMA {} AUTHORIZATION \"{role}\"", bench.name());
    assert_refused(&url, &statement);
    bench.sql(&statement);
    let mut log = PostgresLog::open(&url).unwrap();
    assert_eq!(log.take_over(Epoch(1), b"").unwrap(), TakeOver::Done { number: Number(1) });
    drop(log);
    bench.sql(&format!("DROP SCHEMA {} CASCADE", bench.name()));
    bench.sql(&format!("DROP ROLE {role}"));
}

#[test]
fn a_wrong_password_is_refused_and_none_is_repeated() {
    let bench = Schema::new();
    let url = bench.url().replace("a%20pass%2Fword", "s3cret");
    let Err(error) = PostgresLog::open(&url) else { panic!("it opened") };
    let mut text = format!("{error:?}");
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = cause {
        text.push_str(&format!(" {error}"));
        cause = error.source();
    }
    assert!(text.contains("password authentication failed"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
}

#[test]
fn an_unlogged_table_is_refused_with_the_statement_that_mends_it() {
    let bench = Schema::new();
    drop(lead(&bench));
    bench.sql("ALTER TABLE @record SET UNLOGGED");
    assert_refused(&bench.url(), "SET LOGGED");
    bench.sql("ALTER TABLE @record SET LOGGED");
    assert_eq!(bench.handle().head().unwrap().last, Number(1));
}

#[test]
fn a_commit_that_waits_for_nothing_is_named_and_not_used() {
    let bench = Schema::new();
    let role = format!("lazy_{}", bench.name());
    bench.sql(&format!("CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'lazy'"));
    bench.sql(&format!("ALTER ROLE {role} SET synchronous_commit = off"));
    let url = bench.url().replace("clawhold:a%20pass%2Fword", &format!("{role}:lazy"));
    let log = PostgresLog::open(&url).unwrap();
    let concerns = log.concerns().join("\n");
    assert!(concerns.contains("synchronous_commit = off"), "{concerns}");
    drop(log);
    assert_eq!(bench.handle().concerns(), Vec::<String>::new());
    bench.sql(&format!("DROP OWNED BY {role} CASCADE"));
    bench.sql(&format!("DROP ROLE {role}"));
}

#[test]
fn a_head_that_differs_from_the_records_is_refused() {
    let bench = Schema::new();
    let mut log = lead(&bench);
    assert_eq!(log.append(Number(2), Epoch(1), b"two").unwrap(), Append::Done);
    bench.sql("UPDATE @head SET last = 1");
    assert_refused(&bench.url(), "its head gives 1 as its last record where the records say 2");
    bench.sql("UPDATE @head SET last = 2, epoch = 5");
    assert_refused(&bench.url(), "epoch");
}

#[test]
fn a_record_that_was_taken_away_is_missed() {
    let bench = Schema::new();
    let mut log = lead(&bench);
    for number in 2..=4 {
        assert_eq!(log.append(Number(number), Epoch(1), b"").unwrap(), Append::Done);
    }
    bench.sql("DELETE FROM @record WHERE number = 3");
    assert_eq!(log.read(Number(1), 100).unwrap().len(), 2);
    let error = log.read(Number(3), 100).unwrap_err();
    assert!(matches!(error, LogError::Missing { number: Number(3) }), "{error:?}");
}

#[test]
fn a_long_log_is_read_in_pages_without_a_gap() {
    let bench = Schema::new();
    let mut log = lead(&bench);
    // More than one page by rows, and then by bytes.
    for number in 2..=40 {
        let body = vec![7; 700 * 1024];
        assert_eq!(log.append(Number(number), Epoch(1), &body).unwrap(), Append::Done);
    }
    for number in 41..=1_300 {
        assert_eq!(log.append(Number(number), Epoch(1), b"").unwrap(), Append::Done);
    }
    let records = log.read(Number(1), usize::MAX).unwrap();
    let numbers: Vec<u64> = records.iter().map(|record| record.number.0).collect();
    assert_eq!(numbers, (1..=1_300).collect::<Vec<_>>());
}

#[test]
fn a_log_that_was_replaced_by_an_older_copy_is_not_followed_silently() {
    let bench = Schema::new();
    let mut log = lead(&bench);
    let mut standby = log.another().unwrap();
    for number in 2..=6 {
        assert_eq!(log.append(Number(number), Epoch(1), b"confirmed").unwrap(), Append::Done);
    }
    assert_eq!(standby.read(Number(1), 1_000).unwrap().len(), 6);
    // What a failover to a replica that lagged behind leaves, and the connections break.
    bench.sql("DELETE FROM @record WHERE number > 4");
    bench.sql("UPDATE @head SET last = 4");
    cut(&bench);
    let error = standby.wait(Number(6), Duration::from_secs(5)).unwrap_err();
    // The first call may still find the connection that broke.
    let error = if is_rewound(&error) { error } else { standby.head().unwrap_err() };
    assert!(is_rewound(&error), "{error:?}");
    let LogError::Open(open) = &error else { unreachable!() };
    assert!(open.to_string().contains("record 6 was confirmed"), "{open}");
    assert!(!open.to_string().contains("pass"), "{open}");
    // Once another server has written on, it is another record that stands there.
    let mut stranger = bench.handle();
    assert_eq!(stranger.take_over(Epoch(2), b"").unwrap(), TakeOver::Done { number: Number(5) });
    for number in 6..=9 {
        assert_eq!(stranger.append(Number(number), Epoch(2), b"other").unwrap(), Append::Done);
    }
    let text = standby.head().unwrap_err();
    let LogError::Open(open) = &text else { panic!("{text:?}") };
    assert!(open.to_string().contains("another record in its place"), "{open}");
    let written = log.append(Number(7), Epoch(1), b"lost");
    let refused = match written {
        Err(error) => is_rewound(&error),
        Ok(Append::Unknown { .. }) => is_rewound(&log.head().unwrap_err()),
        Ok(Append::Done | Append::Overtaken { .. }) => false,
    };
    assert!(refused, "the former active server goes on");
}

#[test]
fn a_schema_that_is_dropped_under_a_live_connection_is_a_lost_log() {
    let bench = Schema::new();
    let mut log = lead(&bench);
    assert_eq!(log.append(Number(2), Epoch(1), b"two").unwrap(), Append::Done);
    bench.sql(&format!("DROP SCHEMA {} CASCADE", bench.name()));
    log.append(Number(3), Epoch(1), b"three").unwrap_err();
    let error = log.append(Number(3), Epoch(1), b"three").unwrap_err();
    assert!(matches!(error, LogError::Open(OpenError::Rewound { .. })), "{error:?}");
}

#[test]
fn a_host_remembers_over_restarts_what_was_confirmed() {
    let (bench, folder) = (Schema::new(), tempfile::tempdir().unwrap());
    let open = || PostgresLog::open_with(&bench.url(), Some(folder.path()));
    let mut log = open().unwrap();
    assert_eq!(log.take_over(Epoch(1), b"").unwrap(), TakeOver::Done { number: Number(1) });
    assert_eq!(log.append(Number(2), Epoch(1), b"").unwrap(), Append::Done);
    drop(log);
    assert_eq!(open().unwrap().head().unwrap().last, Number(2));
    bench.sql("DELETE FROM @record WHERE number > 1");
    bench.sql("UPDATE @head SET last = 1");
    let error = open().unwrap_err();
    assert!(is_rewound(&error), "{error:?}");
    let LogError::Open(open_error) = &error else { unreachable!() };
    let mark = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    assert!(open_error.to_string().contains(mark.to_str().unwrap()), "{open_error}");
    std::fs::remove_file(mark).unwrap();
    assert_eq!(open().unwrap().head().unwrap().last, Number(1));
}

#[test]
fn a_shorter_log_on_a_live_connection_is_told_to_who_waits() {
    let bench = Schema::new();
    let mut log = lead(&bench);
    assert_eq!(log.append(Number(2), Epoch(1), b"").unwrap(), Append::Done);
    bench.sql("DELETE FROM @record WHERE number > 1");
    bench.sql("UPDATE @head SET last = 1");
    let error = log.wait(Number(2), Duration::ZERO).unwrap_err();
    assert!(is_rewound(&error), "{error:?}");
    let error = log.read(Number(3), 100).unwrap_err();
    assert!(matches!(error, LogError::Beyond { from: Number(3), last: Number(1) }), "{error:?}");
}

#[test]
fn snapshots_that_were_retired_or_broke_off_take_no_room() {
    let bench = Schema::new();
    let mut log = bench.handle();
    for _ in 0..5 {
        let mut chunks = (0..40).map(|_| vec![1; 100_000]);
        log.put_snapshot(Number(0), Epoch(0), &mut chunks).unwrap();
    }
    assert_eq!(bench.sql("SELECT count(*) FROM @snapshot"), "2");
    assert_eq!(bench.sql("SELECT count(DISTINCT snapshot) FROM @chunk"), "2");
}

#[test]
fn a_handle_whose_connections_were_cut_connects_again_and_keeps_its_presence() {
    let bench = Schema::new();
    let mut log = lead(&bench);
    assert_eq!(log.claim_presence(), Presence::Held);
    let mut number = Number(2);
    for _ in 0..5 {
        cut(&bench);
        match log.append(number, Epoch(1), b"again").unwrap() {
            Append::Done => number = number.next(),
            Append::Unknown { .. } => {
                assert_eq!(log.head().unwrap().last.next(), number, "an idle connection was cut");
            }
            Append::Overtaken { head } => panic!("{head:?}"),
        }
    }
    assert_eq!(log.append(number, Epoch(1), b"last").unwrap(), Append::Done);
    assert_eq!(log.claim_presence(), Presence::Held);
    assert_eq!(bench.handle().claim_presence(), Presence::HeldByOther);
}

fn lead(bench: &Schema) -> Box<dyn Log> {
    let mut log = bench.handle();
    assert_eq!(log.take_over(Epoch(1), b"").unwrap(), TakeOver::Done { number: Number(1) });
    log
}

/// Cuts every connection to the schema's log: those that have asked for its tables or its lock.
fn cut(bench: &Schema) {
    // Connections are told apart by nothing but what they asked; the tests run side by side.
    bench.sql(&format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE pid <> pg_backend_pid() AND (query LIKE '%{0}%' OR pid IN
             (SELECT pid FROM pg_locks WHERE locktype = 'advisory'
              AND (classid::int8 << 32 | objid::int8) =
                  hashtextextended('clawhold presence {0}', 0)))",
        bench.name()
    ));
}

fn is_rewound(error: &LogError) -> bool {
    matches!(error, LogError::Open(OpenError::Rewound { .. }))
}

fn assert_refused(url: &str, part: &str) {
    match PostgresLog::open(url) {
        Err(LogError::Open(error)) => {
            let text = error.to_string();
            assert!(text.contains(part), "{text}");
            assert!(!text.contains("pass%2Fword"), "{text}");
        }
        other => panic!("it was not refused: {other:?}"),
    }
}
