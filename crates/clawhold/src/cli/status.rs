//! The server and what it holds, in numbers.

use clap::Args;

use crate::api::server::Status as View;
use crate::cli::inbox::unread;
use crate::context::Context;
use crate::duration::rough;
use crate::failure::Failure;
use crate::output::Reply;
use crate::table::Sheet;
use crate::text::counted;

/// Show the server and what it holds, in numbers
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold status")]
pub(crate) struct Status {}

impl Status {
    /// Reads the status.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let status = context.client().await?.status().await?;
        Ok(Reply::of(&status).sheet(sheet(&status)))
    }
}

fn sheet(status: &View) -> Sheet {
    let server = &status.server;
    let (jobs, workers, queues) = (&status.jobs, &status.workers, &status.queues);
    let mut sheet = Sheet::default();
    sheet
        .field("version", &status.version)
        .field("server", server.state.as_str())
        .field("active at", status.active_url.as_deref().unwrap_or("-"))
        .field("store", &server.store)
        .field("term", server.epoch.to_string())
        .field("position", format!("{} at {}", server.position, server.at))
        .field_if("hold", server.hold_left_ms.map(|ms| format!("{} left", rough(ms))))
        .field("roles", format!("{} held, {} vacant", status.roles.held, status.roles.vacant))
        .field(
            "workers",
            format!(
                "{} active, {} draining, {} drained",
                workers.active, workers.draining, workers.drained
            ),
        )
        .field("sessions", status.sessions.to_string())
        .field(
            "queues",
            format!(
                "{}, {} paused, {} with a closed gate",
                queues.count, queues.paused, queues.gated
            ),
        )
        .field(
            "live jobs",
            format!(
                "{} scheduled, {} queued, {} returned, {} running",
                jobs.scheduled, jobs.queued, jobs.returned, jobs.running
            ),
        )
        .field(
            "ended jobs",
            format!(
                "{} completed, {} failed, {} cancelled",
                jobs.completed, jobs.failed, jobs.cancelled
            ),
        )
        .field("streams", counted(status.streams, "stream"))
        .field(
            "automation",
            format!(
                "{}, {} live, {} firing",
                if status.automation_paused { "paused" } else { "on" },
                counted(status.runs_live, "run"),
                counted(status.alerts_firing, "alert")
            ),
        )
        .field("inbox", unread(status.unread));
    sheet
}
