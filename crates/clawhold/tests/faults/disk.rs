//! A full disk: what is refused leaves no trace, what was acknowledged stays, reads go on, who
//! holds something for longer than the disk is full keeps it, and writes go on once there is room.

use std::time::Duration;

use clawhold_client::api::job::{Enqueue, NewJob};
use clawhold_client::api::{Code, Json};

use crate::fault::Fault;
use crate::fleet::{Fleet, Setting};
use crate::ledger::{Fate, Mark, QUEUE};
use crate::verdict;

/// How long the disk is full: longer than the hold, shorter than two thirds of the ttl.
const FULL_FOR: Duration = Duration::from_millis(2_000);
/// Writes within which a full disk must show: some find room in pages that are there.
const WRITES_MAX: u64 = 3_000;
/// Writes in doubt before one must be refused: a busy machine may also be slow.
const DOUBTS_MAX: u32 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_small_disk_that_fills_up_refused_writes_leave_no_trace_and_leases_go_on() {
    fill_and_free(&Setting { disk_mebibytes: Some(24), ttl_ms: 6_000, ..Setting::default() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_every_write_to_the_store_fails_refused_writes_leave_no_trace_and_leases_go_on() {
    fill_and_free(&Setting { ttl_ms: 6_000, ..Setting::default() }).await;
}

async fn fill_and_free(setting: &Setting) {
    let mut fleet = Fleet::start(setting).await;
    let is_real = fleet.disk.is_some();
    println!("{}", if is_real { "a disk of its own" } else { "a disk that refuses writes" });
    let before = fleet.role().await.token;
    for time in 0..3 {
        let full = Fault::FullDisk.begin(&mut fleet).await;
        let place = fleet.the_active().await;
        let refused = refused_write(&fleet, place, time).await;
        println!("refused with: {refused}");
        // Reads go on. A full disk takes the servers' hold on the log, and with it the beats; but
        // what is held for longer than that stays where it is.
        fleet.go_on(FULL_FOR).await;
        fleet.servers[place].client.queue(QUEUE).await.unwrap();
        if time == 2 {
            fleet.servers[place].process.kill();
        }
        full.end(&mut fleet);
        fleet.heal();
        fleet.wait_for_answers(3, Duration::from_secs(5)).await;
        fleet.wait_for_acts(1, Duration::from_secs(5)).await;
        if time < 2 {
            assert_eq!(fleet.role().await.token, before, "a full disk costs nobody the role");
        }
    }
    verdict::close(fleet).await;
}

/// Writes until the disk is full, and returns what was said then.
async fn refused_write(fleet: &Fleet, place: usize, time: u64) -> String {
    let client = fleet.servers[place].client.within(Duration::from_millis(300));
    let filler = "x".repeat(4_000);
    let mut doubts = 0;
    for number in 0..WRITES_MAX {
        let uid = format!("full-{time}-{number}-{filler}");
        let jobs = [NewJob::new(QUEUE, Json::of(&Mark::Uid(uid.clone())).unwrap())].into();
        match client.enqueue(&Enqueue { jobs }).await {
            Ok(written) => fleet.ledger.note(&uid, Fate::Accepted(written.jobs[0].id)),
            // The write that met the end of the disk may be in doubt; those after it are not.
            Err(error) if !error.nothing_happened() && doubts < DOUBTS_MAX => {
                doubts += 1;
                fleet.ledger.note(&uid, Fate::Unknown);
            }
            Err(error) => {
                assert!(error.is(Code::Storage), "{error:?}");
                assert!(error.nothing_happened() && error.retry_is_sensible());
                fleet.ledger.note(&uid, Fate::Refused);
                return error.to_string();
            }
        }
    }
    panic!("the disk is full and {WRITES_MAX} writes were taken");
}
