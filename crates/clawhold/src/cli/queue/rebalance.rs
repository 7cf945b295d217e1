//! The returned jobs first, then the proof, then new ones.

use std::time::Duration;

use clap::Args;
use clawhold_client::Client;
use serde::Serialize;
use tokio::time::Instant;

use crate::api::queue::{Audit, CloseGate, Queue};
use crate::context::Context;
use crate::duration::{Bounds, DAY, Span, rough};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::text::counted;

/// How often the queue is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long after its bound the gate is waited for.
const LATE_MAX: Duration = Duration::from_secs(5);
/// How long the gate may stay closed.
const WITHIN: Bounds = Bounds { min: Span(1), max: DAY.max };

/// How to rebalance a queue.
#[derive(Debug, Args)]
pub(crate) struct Rebalance {
    /// The queue
    queue: String,
    /// How long new jobs may wait behind the returned ones
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, default_value = "30s", value_parser = WITHIN.parser())]
    within: Span,
}

/// What a rebalance came to.
#[derive(Serialize)]
struct Rebalanced<'a> {
    queue: &'a str,
    /// Returned jobs when the gate closed.
    returned: u64,
    /// Those of them that were not placed when the gate opened by itself.
    unplaced: u64,
    admitted: bool,
    audit: &'a Audit,
}

impl Rebalance {
    /// Closes the gate, waits, audits and admits; each step is told as it is done.
    pub(crate) async fn run(self, client: &Client, context: &Context) -> Result<Reply, Failure> {
        let before = super::view(client, &self.queue).await?;
        let close = CloseGate { within_ms: Some(self.within.0) };
        client.close_gate(&self.queue, &close).await?;
        let say = |style, text: String| context.output.say(style, &text);
        let returned = before.jobs.returned;
        say(
            Style::Plain,
            format!("1 gate closed: new jobs wait behind {}", counted(returned, "returned job")),
        );
        let after = self.watch(client, context).await?;
        let unplaced = after.unplaced;
        if unplaced == 0 {
            say(Style::Plain, "2 placed: no returned job waits".to_owned());
        } else {
            let text = format!(
                "2 the gate opened after {}: {} not placed",
                self.within,
                counted(unplaced, "returned job")
            );
            say(Style::Warn, text);
        }
        let audit = client.audit(Some(&self.queue)).await?;
        if !audit.ok {
            let done = Rebalanced {
                queue: &self.queue,
                returned,
                unplaced,
                admitted: false,
                audit: &audit,
            };
            let text = format!(
                "3 audit: {}, nothing was admitted",
                counted(audit.mismatches_count, "mismatch")
            );
            return Ok(Reply::of(&done)
                .styled(Style::Bad, text)
                .table(super::mismatches(&audit.mismatches))
                .exit(Exit::Failed));
        }
        say(Style::Plain, "3 audit: every job has one owner".to_owned());
        client.admit(&self.queue).await?;
        let done =
            Rebalanced { queue: &self.queue, returned, unplaced, admitted: true, audit: &audit };
        let reply = Reply::of(&done);
        if unplaced == 0 {
            return Ok(reply.styled(Style::Good, "4 admitted: new jobs are handed out"));
        }
        let text = format!(
            "4 admitted, with {} still waiting for a worker",
            counted(unplaced, "returned job")
        );
        Ok(reply.styled(Style::Warn, text).exit(Exit::Failed))
    }

    /// Waits until every returned job is placed or the gate has opened by itself.
    async fn watch(&self, client: &Client, context: &Context) -> Result<Queue, Failure> {
        let progress = context.output.progress();
        let end = Instant::now() + self.within.duration() + LATE_MAX;
        loop {
            let queue = super::view(client, &self.queue).await?;
            let Some(gate) = queue.gate else { return Ok(queue) };
            if gate.unplaced == 0 {
                return Ok(Queue { unplaced: 0, ..queue });
            }
            if Instant::now() >= end {
                let text = format!("the gate of {} did not open by itself", self.queue);
                return Err(Failure::new(Exit::Failed, "gate_late", text)
                    .next(format!("see `clawhold queue show {}`", self.queue)));
            }
            let unplaced = counted(gate.unplaced, "returned job");
            progress.show(&format!("{unplaced} to place, {} left", rough(gate.left_ms)));
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}
