//! The clusters that a command asks: this one from its own state, others over HTTP.

use std::time::Duration;

use axum::http::{Method, header};
use bytes::Bytes;
use clawhold_api::automation::{alert as alert_wire, run as run_wire};
use clawhold_api::page::Page;
use clawhold_api::{job, queue, role, routes, worker};
use clawhold_core::catalog::{Noun, Secret, Source, Spec};
use clawhold_core::replica::Replica;
use clawhold_core::units::Title;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{alert, run};
use crate::http::Room;
use crate::outside::{Outgoing, Outside};
use crate::secret;

/// How long another cluster may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes of one answer.
const ANSWER_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Rows that are asked for.
const ROWS_MAX: usize = 1_000;

/// One cluster.
#[derive(Clone, Debug)]
pub(super) enum Cluster {
    /// This one.
    Here(Room),
    /// Another one.
    There { outside: Outside, url: String, token: Option<Secret> },
}

/// A source of a command: its name, if it names one, and its cluster, or why there is none.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) source: Option<Title>,
    pub(super) cluster: Result<Cluster, String>,
}

impl Room {
    /// Returns the clusters that these sources name; this one when they name none. While no one
    /// of them is known, this one answers besides, so that a command is of use before its sources
    /// are connected.
    pub(super) fn clusters(&self, replica: &Replica, sources: &[Title]) -> Vec<Asked> {
        if sources.is_empty() {
            return vec![Asked { source: None, cluster: Ok(Cluster::Here(self.clone())) }];
        }
        let catalog = replica.state().automation().catalog();
        let asked = sources.iter().map(|title| {
            let cluster = match catalog.get(Noun::Source, title) {
                None => Err(format!(
                    "not connected: there is no such source; \
                     `source add \"{title}\"` makes it this cluster, --url URL another one"
                )),
                Some(known) if !known.enabled => Err("not connected: it is disabled".to_owned()),
                Some(known) => {
                    let source =
                        if let Spec::Source(source) = &known.spec { Some(source) } else { None };
                    let cluster = source.map(|source| self.cluster(source));
                    cluster.ok_or_else(|| "not connected: it is no source".to_owned())
                }
            };
            Asked { source: Some(title.clone()), cluster }
        });
        let mut asked: Vec<Asked> = asked.collect();
        let known = |title: &Title| catalog.get(Noun::Source, title).is_some();
        if !sources.iter().any(known) {
            asked.push(Asked { source: None, cluster: Ok(Cluster::Here(self.clone())) });
        }
        asked
    }

    /// Returns the cluster that a source is.
    pub(super) fn cluster(&self, source: &Source) -> Cluster {
        match &source.url {
            None => Cluster::Here(self.clone()),
            Some(url) => Cluster::There {
                outside: self.outside.clone(),
                url: url.as_str().trim_end_matches('/').to_owned(),
                token: source.token.clone(),
            },
        }
    }
}

impl Cluster {
    /// Returns the roles.
    pub(super) async fn roles(&self) -> Result<Vec<role::Role>, String> {
        self.rows(routes::ROLES, |replica| {
            let roles = replica.state().roles().list(None).take(ROWS_MAX);
            roles.map(|role| crate::http::role::show_role(replica, role)).collect()
        })
        .await
    }

    /// Returns the workers.
    pub(super) async fn workers(&self) -> Result<Vec<worker::Worker>, String> {
        self.rows(routes::WORKERS, |replica| {
            let sessions = replica.state().sessions().list(None);
            let workers = sessions.filter(|session| !session.queues.is_empty()).take(ROWS_MAX);
            workers.map(|session| crate::http::worker::show_whole(replica, session)).collect()
        })
        .await
    }

    /// Returns the queues.
    pub(super) async fn queues(&self) -> Result<Vec<queue::Queue>, String> {
        self.rows(routes::QUEUES, |replica| {
            let queues = replica.state().jobs().queues(None).take(ROWS_MAX);
            queues.map(|queue| crate::http::queue::show_queue(replica, queue)).collect()
        })
        .await
    }

    /// Returns the jobs that failed for good.
    pub(super) async fn failed(&self) -> Result<Vec<job::Job>, String> {
        let path = format!("{}?state=failed", routes::JOBS);
        self.rows(&path, |replica| {
            let state = Some(clawhold_core::answer::JobState::Failed);
            let filter = clawhold_core::job::Filter { queue: None, state };
            let jobs = replica.state().jobs().list(filter, None, ROWS_MAX);
            jobs.iter().map(|job| crate::http::job::show_short(replica, job)).collect()
        })
        .await
    }

    /// Returns the alerts that are not over.
    pub(super) async fn alerts(&self) -> Result<Vec<alert_wire::Alert>, String> {
        self.rows(routes::automation::ALERTS, |replica| {
            let state = replica.state();
            let alerts = state.automation().alerts().live().take(ROWS_MAX);
            alerts.map(|alert| alert::show_alert(state, alert)).collect()
        })
        .await
    }

    /// Returns the latest runs, newest first.
    pub(super) async fn runs(&self) -> Result<Vec<run_wire::Run>, String> {
        self.rows(&format!("{}?limit=10", routes::automation::RUNS), |replica| {
            let state = replica.state();
            run::latest(state, 10).into_iter().map(|run| run::show_run(state, run)).collect()
        })
        .await
    }

    /// Returns who the server is.
    pub(super) async fn server(&self) -> Result<String, String> {
        match self {
            Self::Here(_) => Ok("this server".to_owned()),
            Self::There { outside, url, token } => {
                let server: clawhold_api::server::Server =
                    fetch(outside, &format!("{url}{}", routes::SERVER), token.as_ref()).await?;
                Ok(format!("the server at {url}, at position {}", server.position))
            }
        }
    }

    async fn rows<T: DeserializeOwned + Serialize + Send + 'static>(
        &self,
        path: &str,
        here: impl FnOnce(&Replica) -> Vec<T> + Send + 'static,
    ) -> Result<Vec<T>, String> {
        match self {
            Self::Here(room) => {
                let read = room.read(move |replica| Ok(here(replica))).await;
                read.map_err(|rejected| rejected.0.detail.clone())
            }
            Self::There { outside, url, token } => {
                let between = if path.contains('?') { '&' } else { '?' };
                let limit = if path.contains("limit=") { "" } else { "limit=1000" };
                let url = format!("{url}{path}{between}{limit}");
                let url = url.trim_end_matches(['&', '?']);
                let page: Page<T> = fetch(outside, url, token.as_ref()).await?;
                Ok(page.items)
            }
        }
    }
}

/// Gets JSON from another cluster.
async fn fetch<T: DeserializeOwned>(
    outside: &Outside,
    url: &str,
    token: Option<&Secret>,
) -> Result<T, String> {
    let mut headers = vec![(header::ACCEPT, "application/json".to_owned())];
    if let Some(token) = token {
        let token = secret::open(token).map_err(|error| error.to_string())?;
        headers.push((header::AUTHORIZATION, format!("Bearer {}", token.as_str())));
    }
    let outgoing = Outgoing {
        method: Method::GET,
        url,
        headers,
        body: Bytes::new(),
        patience: PATIENCE,
        answer_bytes_max: ANSWER_BYTES_MAX,
    };
    let answer = outside.send(outgoing).await.map_err(|error| error.to_string())?;
    match answer.status {
        200..=299 => serde_json::from_slice(&answer.body)
            .map_err(|_| "it answered what no Clawhold server answers".to_owned()),
        401 | 403 => Err(format!("it answered {}: its token does not fit", answer.status)),
        status => Err(format!("it answered {status}")),
    }
}
