//! An answer that is lost between the commit and the caller: the same request id gets the first
//! answer, another one is another request.

use std::time::Duration;

use clawhold_client::api::Json;
use clawhold_client::api::job::{Enqueue, NewJob};
use clawhold_client::{Client, Patience};

use crate::fleet::{Fleet, Setting};
use crate::ledger::{Mark, QUEUE};
use crate::relay::Relay;
use crate::verdict;

/// How often an answer is lost.
const TIMES: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_answer_was_lost_is_done_once_for_each_request_id() {
    let mut fleet = Fleet::start(&Setting::default()).await;
    let place = fleet.the_active().await;
    let relay = Relay::start(fleet.addresses[place]).await;
    let patience = Patience { total: Duration::from_millis(400), ..Patience::default() };
    let direct = &fleet.client;
    for time in 0..TIMES {
        // A client of its own, so that no connection is left from before.
        let client = Client::connect_with(&[&relay.url], None, patience).unwrap();
        let key = client.new_key();
        let jobs = enqueue(&format!("lost-{time}"), false);
        // One try: the second would get the answer.
        relay.drop_answers(u64::MAX);
        let lost = client.keyed(&key).enqueue(&jobs).await.unwrap_err();
        relay.drop_answers(0);
        assert!(!lost.nothing_happened(), "{lost}");
        assert!(lost.retry_is_sensible(), "{lost}");

        let again = direct.keyed(&key).enqueue(&jobs).await.unwrap();
        assert!(again.replayed, "it was carried out before the answer was lost");
        let third = direct.keyed(&key).enqueue(&jobs).await.unwrap();
        assert_eq!(third.reply, again.reply);

        // Under another id it is another request, and another job.
        let other = direct.keyed(&direct.new_key()).enqueue(&jobs).await.unwrap();
        assert!(!other.replayed);
        assert_ne!(other.jobs[0].id, again.jobs[0].id);
        // A unique key makes it the same job all the same, while that lives.
        let unique = enqueue(&format!("unique-{time}"), true);
        let first = direct.enqueue(&unique).await.unwrap();
        let second = direct.enqueue(&unique).await.unwrap();
        assert!(second.jobs[0].existing && !second.replayed);
        assert_eq!(second.jobs[0].id, first.jobs[0].id);
    }
    assert!(relay.dropped() >= TIMES, "{} answers were dropped", relay.dropped());
    verdict::close(fleet).await;
}

/// Returns a request for one job; a unique one waits for a second first.
fn enqueue(mark: &str, is_unique: bool) -> Enqueue {
    let payload = Json::of(&Mark::Stranger(mark.to_owned())).unwrap();
    let (unique_key, delay_ms) = (is_unique.then(|| mark.to_owned()), is_unique.then_some(1_000));
    Enqueue { jobs: [NewJob { unique_key, delay_ms, ..NewJob::new(QUEUE, payload) }].into() }
}
