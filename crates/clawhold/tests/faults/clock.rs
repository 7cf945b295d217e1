//! The wall clock of one process is moved, in mid-run: nobody lapses, nothing is done twice, and
//! what waits for a moment goes on afterwards.

use std::time::Duration;

use clawhold_client::api::Json;
use clawhold_client::api::job::{Enqueue, JobState, NewJob};

use crate::fault::{Fault, Target};
use crate::fleet::{Fleet, PATIENCE, Setting};
use crate::ledger::{Mark, QUEUE};
use crate::schedule::WALLS_MS;
use crate::verdict;

/// How long this machine may take on top of what is promised.
const SLACK: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wall_clock_that_is_moved_by_an_hour_or_ten_years_costs_nobody_anything() {
    let mut fleet = Fleet::start(&Setting::default()).await;
    let before = fleet.role().await.token;
    for ms in WALLS_MS {
        for target in [Target::Leader, Target::Worker(0), Target::StandbyServer] {
            let moved = Fault::MoveWall { target, ms }.begin(&mut fleet).await;
            fleet.go_on(Duration::from_millis(400)).await;
            moved.end(&mut fleet);
        }
        let key = fleet.client.new_key();
        let first = enqueue(&fleet, &key, ms).await;
        let moved = Fault::MoveWall { target: Target::ActiveServer, ms }.begin(&mut fleet).await;
        fleet.wait_for_answers(5, SLACK).await;
        // The memory of request ids does not hang on the wall clock.
        assert_eq!(enqueue(&fleet, &key, ms).await, first, "{ms} ms");
        moved.end(&mut fleet);
        fleet.wait_for_answers(5, SLACK).await;
        assert_eq!(enqueue(&fleet, &key, ms).await, first, "back from {ms} ms");
        fleet.wait_for_acts(1, SLACK).await;
        assert_eq!(fleet.role().await.token, before, "{ms} ms");
    }
    let delayed = delayed_job(&fleet).await;
    let mut waited = Duration::ZERO;
    while fleet.client.job(delayed).await.unwrap().state != JobState::Completed {
        assert!(waited < PATIENCE, "a job that was to wait half a second still waits");
        fleet.go_on(Duration::from_millis(100)).await;
        waited += Duration::from_millis(100);
    }
    assert!(
        waited < Duration::from_secs(5),
        "a job that was to wait half a second took {waited:?}"
    );
    verdict::close(fleet).await;
}

async fn enqueue(fleet: &Fleet, key: &str, ms: i64) -> u64 {
    let payload = Json::of(&Mark::Stranger(format!("moved by {ms}"))).unwrap();
    let jobs = [NewJob::new(QUEUE, payload)].into();
    fleet.client.keyed(key).enqueue(&Enqueue { jobs }).await.unwrap().jobs[0].id
}

async fn delayed_job(fleet: &Fleet) -> u64 {
    let payload = Json::of(&Mark::Stranger("delayed".to_owned())).unwrap();
    let job = NewJob { delay_ms: Some(500), ..NewJob::new(QUEUE, payload) };
    fleet.client.enqueue(&Enqueue { jobs: [job].into() }).await.unwrap().jobs[0].id
}
