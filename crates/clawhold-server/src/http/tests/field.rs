//! What failed elsewhere, asked of this server at its edge: odd input, and what it may never do.

mod claim;
mod lease;
mod name;
mod number;
mod retry;
mod schedule;
mod security;
mod storage;

use clawhold_api::error::Problem;
use clawhold_api::routes;
use reqwest::{Method, Response};
use serde_json::json;

use super::{Server, problem};

impl Server {
    /// Sends a body as it stands, which no JSON library has tidied.
    async fn send(&self, method: &str, path: &str, body: String) -> Response {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.http.request(method, self.url(path)).body(body);
        request.header("content-type", "application/json").send().await.unwrap()
    }

    /// Checks that the server serves on: it is active and takes a job.
    async fn serves_on(&self, why: &str) {
        let health = self.get(routes::READYZ).await.status();
        assert_eq!(health, 200, "after {why}");
        self.done(routes::JOBS, json!({"jobs": [{"queue": "alive", "payload": 1}]})).await;
    }
}

/// Checks that a response is a refusal that names what is wrong, and returns it.
async fn is_refused(response: Response, what: &str) -> Problem {
    let status = response.status().as_u16();
    assert!((400..500).contains(&status), "{what}: {status}");
    problem(response).await
}
