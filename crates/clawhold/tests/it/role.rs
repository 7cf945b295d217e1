//! Roles by hand.

use clawhold_client::Client;
use clawhold_client::api::SessionKey;
use clawhold_client::api::role::{Acquire, AcquireOutcome};
use clawhold_client::api::session::{Beat, LeadClaim, OpenSession};
use expect_test::expect;

use crate::place::{Place, Served, block_on};

/// Opens a session that lives for a day without a beat and asks for a role.
async fn ask(client: &Client, label: &str) -> (SessionKey, AcquireOutcome, u64) {
    let day = Some(86_400_000);
    let open = OpenSession { label: label.to_owned(), ttl_ms: day, ..OpenSession::default() };
    let session = client.open_session(&open).await.unwrap().reply.session;
    let acquire = Acquire {
        session: session.clone(),
        ttl_ms: day,
        wait_ms: Some(0),
        stand_by: true,
        stream: None,
    };
    let acquired = client.acquire("indexer", &acquire).await.unwrap().reply;
    (session, acquired.outcome, acquired.token)
}

fn ana_leads_and_ben_stands_by(served: &Served) -> (SessionKey, u64) {
    let (ana, outcome, token) = block_on(ask(&served.client(), "ana"));
    assert_eq!(outcome, AcquireOutcome::Granted);
    let (_, outcome, _) = block_on(ask(&served.client(), "ben"));
    assert_eq!(outcome, AcquireOutcome::Waiting);
    (ana, token)
}

#[test]
fn a_role_is_set_shown_and_removed() {
    Place::new().check(
        "
        role list
        role set indexer --ttl 5s --lag-events-max 1000
        role set mailer
        role list
        role show indexer
        role show indexr
        role history indexer
        role hand-over indexer
        role remove indexer
        role show indexer
        ",
        expect![[r#"
            $ clawhold role list
            there is no role
            $ clawhold role set indexer --ttl 5s --lag-events-max 1000
            role           indexer
            latest token   0
            holder         vacant
            usual lease    5s
            standby lag    at most 1000 events
            standbys       0
            promotion      auto
            would promote  the lapse itself, but not now: nobody stands by
            $ clawhold role set mailer
            role           mailer
            latest token   0
            holder         vacant
            usual lease    10s
            standbys       0
            promotion      auto
            would promote  the lapse itself, but not now: nobody stands by
            $ clawhold role list
            ROLE     HOLDER  TOKEN  LEFT  STANDBYS  POSITIONS
            indexer  vacant      0     -         0          -
            mailer   vacant      0     -         0          -
            $ clawhold role show indexer
            role           indexer
            latest token   0
            holder         vacant
            usual lease    5s
            standby lag    at most 1000 events
            standbys       0
            promotion      auto
            would promote  the lapse itself, but not now: nobody stands by
            $ clawhold role show indexr
            ! error: there is no role indexr
            !   next: did you mean indexer?
            [3]
            $ clawhold role history indexer
            this role has no history yet
            $ clawhold role hand-over indexer
            ! error: no standby can take the role over
            !   next: start a standby with `clawhold lead ROLE --standby -- CMD`
            [4]
            $ clawhold role remove indexer
            indexer is removed; its token is remembered
            $ clawhold role show indexer
            ! error: there is no role indexer
            [3]
        "#]],
    );
}

#[test]
fn what_is_no_role_or_no_ttl_is_told_with_what_is_allowed() {
    Place::new().check(
        "
        role show -- -x
        role show a/b
        role set indexer --ttl 24h1ms
        ",
        expect![[r#"
            $ clawhold role show -- -x
            ! error: role is -x, allowed is 1 to 100 ASCII letters, digits and . _ - : @, beginning with a letter or digit
            [2]
            $ clawhold role show a/b
            ! error: role is a/b, allowed is 1 to 100 ASCII letters, digits and . _ - : @, beginning with a letter or digit
            [2]
            $ clawhold role set indexer --ttl 24h1ms
            ! error: invalid value '24h1ms' for '--ttl <DURATION>': lies outside of what is allowed, 200ms to 1d
            !   next: see the same command with --help
            [2]
        "#]],
    );
}

#[test]
fn a_role_is_handed_over_in_one_step_and_its_token_rises() {
    let place = Place::new();
    let served = place.serve("");
    let (ana, first) = ana_leads_and_ben_stands_by(&served);
    let show = place.run("role show indexer").out;
    assert!(show.contains("holder         ana (session "), "{show}");
    assert!(show.contains("  ben  "), "{show}");
    let refused = place.run(&format!("role hand-over indexer --token {} --json", first - 1));
    assert_eq!(refused.code, 4);
    assert_eq!(refused.document()["error"]["problem"]["latest_token"], first);
    let refused = place.run("role hand-over indexer --to carl");
    assert_eq!(
        (refused.code, refused.err.as_str()),
        (3, "error: there is no live session \"carl\"\n")
    );
    let done = place.json("role hand-over indexer --to ben");
    let second = done["token"].as_u64().unwrap();
    assert!(second > first);
    let role = place.json("role show indexer");
    assert_eq!(role["holder"]["label"], "ben");
    assert_eq!(role["token"], second);
    let history = place.json("role history indexer");
    let causes: Vec<_> = history["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["cause"].as_str().unwrap())
        .collect();
    assert_eq!(causes, ["acquired", "handed over"]);
    let beat = Beat {
        session: ana,
        leads: vec![LeadClaim { role: "indexer".to_owned(), token: first, suspended: false }],
        holds: vec![],
        consumed: vec![],
    };
    let reply = block_on(served.client().beat(&beat)).unwrap();
    assert_eq!(reply.leads[0].latest_token, second, "the holder before learns of it");
}

#[test]
fn a_holder_that_does_not_answer_a_request_keeps_the_role() {
    let place = Place::new();
    let served = place.serve("");
    ana_leads_and_ben_stands_by(&served);
    let said = place.run("role hand-over indexer --ask --within 300ms");
    assert_eq!(said.code, 1);
    expect![[r#"
        error: indexer was not handed over within 300ms
          next: hand it over without --ask: the holder is fenced at once
    "#]]
    .assert_eq(&said.err);
    assert_eq!(place.json("role show indexer")["holder"]["label"], "ana");
}
