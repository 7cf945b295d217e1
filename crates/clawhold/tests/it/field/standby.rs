//! A server that stops in good order gives up its own office and nobody else's.

use clawhold_client::api::role::Acquire;
use clawhold_client::api::session::{Beat, LeadClaim, LeadOutcome, OpenSession};
use rustix::process::Signal;

use crate::place::{Place, block_on};

#[test]
fn a_server_that_stops_or_is_killed_releases_nobody_elses_lease() {
    let place = Place::new();
    let served = place.serve("");
    let client = served.client();
    let (session, token) = block_on(async {
        let open =
            OpenSession { label: "ana".to_owned(), ttl_ms: Some(30_000), ..OpenSession::default() };
        let session = client.open_session(&open).await.unwrap().reply.session;
        let acquire = Acquire {
            session: session.clone(),
            ttl_ms: Some(30_000),
            wait_ms: None,
            stand_by: false,
            stream: None,
        };
        (session, client.acquire("billing", &acquire).await.unwrap().reply.token)
    });
    let mut before = served;
    for signal in [Signal::TERM, Signal::INT, Signal::KILL, Signal::TERM] {
        before.signal(signal);
        before.end();
        before = place.serve("");
        let role = place.json("role show billing");
        assert_eq!((&role["token"], &role["holder"]["token"]), (&token.into(), &token.into()));
        let leads = vec![LeadClaim { role: "billing".to_owned(), token, suspended: false }];
        let beat = Beat { session: session.clone(), leads, holds: vec![], consumed: vec![] };
        let reply = block_on(before.client().beat(&beat)).unwrap();
        assert_eq!(reply.leads[0].outcome, LeadOutcome::Renewed, "after {signal:?}");
    }
    let history = place.json("role history billing");
    assert_eq!(history["items"].as_array().unwrap().len(), 1, "{history}");
}
