//! Names that would be paths, and texts that would be markup: neither is ever taken for it.

use clawhold_api::error::Code;
use clawhold_api::routes;
use reqwest::Method;
use serde_json::{Value, json};

use super::super::{Server, problem};
use super::is_refused;

/// What climbs out of a folder elsewhere, as it stands in a path.
const CLIMBING: [&str; 16] = [
    "..%2F..%2Fetc%2Fpasswd",
    "%2E%2E%2F",
    "%252e%252e%252f",
    "..%5C..%5C",
    "%2Fetc%2Fpasswd",
    "C%3A%5Cwindows",
    "%2Fproc%2Fself%2Fenviron",
    "a%00",
    "a%00.json",
    "%00",
    ".",
    "%FF%FE",
    "a%0D%0ASet-Cookie:x",
    "%3Cscript%3E",
    "%E2%80%AEtxt",
    "-rf",
];

#[tokio::test]
async fn no_path_of_the_description_takes_a_name_that_climbs() {
    let server = Server::start().await;
    let before = server.read(routes::STATUS).await;
    let document = server.read(routes::OPENAPI).await;
    let long = "a".repeat(300);
    let mut asked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        if !path.contains('{') {
            continue;
        }
        for method in methods.as_object().unwrap().keys() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            for name in CLIMBING.into_iter().chain([long.as_str()]) {
                let (open, close) = (path.find('{').unwrap(), path.find('}').unwrap());
                let filled = format!("{}{name}{}", &path[..open], &path[close + 1..]);
                let request = server.http.request(method.clone(), server.url(&filled));
                let response = request.json(&json!({})).send().await.unwrap();
                let what = format!("{method} {filled}");
                assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{what}");
                is_refused(response, &what).await;
                asked += 1;
            }
        }
    }
    assert!(asked > 50 * CLIMBING.len(), "{asked} were asked");
    let after = server.read(routes::STATUS).await;
    for noun in ["sessions", "roles", "queues", "streams", "jobs"] {
        assert_eq!(after[noun], before[noun], "{noun}");
    }
    server.serves_on("every name that climbs").await;
}

#[tokio::test]
async fn an_import_is_checked_like_a_request() {
    let server = Server::start().await;
    for name in ["", " a", "a\u{0}", "a\nb", "\u{202e}a", &"x".repeat(101)] {
        let agent = json!({"name": name, "messages": ["x"]});
        is_refused(server.post("/v1/agents", agent).await, name).await;
        let file = json!({"definitions": {"agents": [{"name": name}]}});
        is_refused(server.post(routes::automation::IMPORT, file).await, name).await;
    }
    assert_eq!(server.read("/v1/agents").await["items"], json!([]));
}

/// Texts that a browser would act on.
const MARKUP: [&str; 8] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{7*7}}",
    "</title><b>",
    "]]>",
    "<a href=\"//evil\">x</a>",
];

#[tokio::test]
async fn markup_stays_text_and_no_answer_is_a_page_that_could_run_it() {
    let server = Server::start().await;
    let worker = server.session("ana", &["q"], 100).await;
    for (at, markup) in MARKUP.iter().enumerate() {
        let job = json!({"jobs": [{"queue": "q", "payload": markup, "order_key": markup}]});
        server.done(routes::JOBS, job).await;
        let claim = json!({"session": worker, "queues": ["q"]});
        let claimed = server.done(routes::JOB_CLAIM, claim).await["jobs"][0].clone();
        let one = json!({"job": claimed["id"], "claim": 1, "outcome": {"dead": {"error": markup}}});
        server.done(routes::JOB_SETTLE, json!({"session": worker, "settlements": [one]})).await;
        let path = routes::fill(routes::JOB, &claimed["id"].to_string());
        let shown = is_json(&server, &path).await;
        assert_eq!(
            (&shown["payload"], &shown["errors"][0]["error"]),
            (&json!(markup), &json!(markup))
        );
        let agent = json!({"name": format!("{at} {markup}"), "messages": [markup]});
        server.done("/v1/agents", agent).await;
        server.done("/v1/queues/q/pause", json!({"reason": markup})).await;
        server.done("/v1/queues/q/resume", json!({})).await;
    }
    for path in ["/v1/agents", "/v1/queues/q", "/v1/workers/ana", "/v1/export", "/v1/jobs"] {
        is_json(&server, path).await;
    }
}

/// Returns what a path answers, after a check that no browser takes it for a page.
async fn is_json(server: &Server, path: &str) -> Value {
    let response = server.get(path).await;
    assert_eq!(response.headers()["content-type"], "application/json", "{path}");
    assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{path}");
    response.json().await.unwrap()
}

#[tokio::test]
async fn what_a_path_repeats_is_no_markup_either() {
    let server = Server::start().await;
    for markup in ["<script>", "%3Cscript%3E", "\"><svg%20onload=x>"] {
        for path in [format!("/{markup}"), format!("/v1/{markup}"), format!("/problems/{markup}")] {
            let missing = problem(server.get(&path).await).await;
            assert_eq!(missing.code, Code::NotFound, "{path}");
        }
    }
    let page = server.get("/problems/stale_token").await;
    let kind = page.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("text/plain"), "{kind}");
}

#[tokio::test]
async fn a_page_of_another_origin_can_neither_read_nor_change_anything() {
    let server = Server::start().await;
    for origin in ["http://evil.example", "null", "http://127.0.0.1.evil.example"] {
        for method in ["GET", "POST"] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let request = server.http.request(method, server.url(routes::SESSIONS));
            let request = request.header("origin", origin).json(&json!({"label": "a"}));
            is_refused(request.send().await.unwrap(), origin).await;
        }
    }
    // What a form of a page may send without asking is no JSON, so it is not read.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let request = server.http.post(server.url(routes::SESSIONS)).header("content-type", kind);
        let response = request.body("{\"label\":\"a\"}").send().await.unwrap();
        assert_eq!(problem(response).await.code, Code::UnsupportedMediaType, "{kind}");
    }
    assert_eq!(server.read(routes::STATUS).await["sessions"], 0);
}
