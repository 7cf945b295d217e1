//! Jobs as they were handed out, written straight into the body of an answer.
//!
//! Payloads and checkpoints were checked when they came in, so they leave as they are kept, without
//! being read again. What is written is what `clawhold_api::job::Claimed` and `Settled` say; a test
//! holds the two together.

use std::sync::Arc;

use clawhold_api::job as wire;
use clawhold_core::answer::Claimed;
use clawhold_core::job::Job;
use clawhold_core::replica::Replica;
use clawhold_core::units::{Bytes, Name, Timestamp};

use crate::clock;

/// A job as it was handed out, and the name of its queue.
pub(super) type Handed = (Arc<Job>, Name);

/// Bytes that one job takes beside its payload, about.
const JOB_BYTES: usize = 192;
/// Bytes that one result takes, about.
const RESULT_BYTES: usize = 40;

/// Returns jobs as they were handed out. One that is not under that claim any more, which a
/// repeated request may find, is left out: whoever asks holds it no longer.
pub(super) fn handed(replica: &Replica, claimed: &[Claimed]) -> Vec<Handed> {
    let jobs = replica.state().jobs();
    let shared = claimed.iter().filter_map(|claimed| {
        let job = jobs.share(claimed.job).filter(|job| job.claim == claimed.claim)?;
        let queue = jobs.queue_of(&job).clone();
        Some((job, queue))
    });
    shared.collect()
}

/// Returns the body of the answer to a claim. Not for the driver's thread: it takes a while.
pub(super) fn claimed_body(handed: &[Handed]) -> Vec<u8> {
    let mut body = Vec::with_capacity(room_for(handed) + 16);
    body.extend_from_slice(b"{\"jobs\":");
    write_jobs(&mut body, handed);
    body.push(b'}');
    body
}

/// Returns the body of the answer to a settle. Not for the driver's thread either.
pub(super) fn settled_body(
    results: impl ExactSizeIterator<Item = wire::SettleResult>,
    handed: &[Handed],
) -> Result<Vec<u8>, serde_json::Error> {
    let room = results.len() * RESULT_BYTES + room_for(handed) + 32;
    let mut body = Vec::with_capacity(room);
    body.extend_from_slice(b"{\"results\":[");
    for (at, result) in results.enumerate() {
        if at > 0 {
            body.push(b',');
        }
        serde_json::to_writer(&mut body, &result)?;
    }
    body.extend_from_slice(b"],\"jobs\":");
    write_jobs(&mut body, handed);
    body.push(b'}');
    Ok(body)
}

fn room_for(handed: &[Handed]) -> usize {
    handed.iter().map(|(job, queue)| job.payload.0.len() + queue.as_str().len() + JOB_BYTES).sum()
}

/// Writes jobs as their holder is told of them. One whose run has ended meanwhile is left out.
fn write_jobs(body: &mut Vec<u8>, handed: &[Handed]) {
    body.push(b'[');
    let mut created = (Timestamp(u64::MAX), String::new());
    let mut comma = false;
    for (job, queue) in handed {
        let Some(run) = job.run.as_deref() else { continue };
        if comma {
            body.push(b',');
        }
        comma = true;
        // Jobs that came in together were accepted at one moment, which is written out once.
        if created.0 != job.created.at {
            created = (job.created.at, clock::rfc3339(job.created.at));
        }
        let mut digits = itoa::Buffer::new();
        let mut number = |body: &mut Vec<u8>, head: &[u8], number: u64| {
            body.extend_from_slice(head);
            body.extend_from_slice(digits.format(number).as_bytes());
        };
        number(body, b"{\"id\":", job.id.0);
        number(body, b",\"claim\":", job.claim.0);
        body.extend_from_slice(b",\"queue\":\"");
        // A name has no character that JSON escapes.
        body.extend_from_slice(queue.as_str().as_bytes());
        body.extend_from_slice(b"\",\"payload\":");
        body.extend_from_slice(json(&job.payload));
        body.extend_from_slice(b",\"priority\":");
        body.extend_from_slice(itoa::Buffer::new().format(job.priority).as_bytes());
        number(body, b",\"attempt\":", u64::from(job.attempts).saturating_add(1));
        number(body, b",\"losses\":", job.losses.into());
        number(body, b",\"hand_backs\":", job.hand_backs.into());
        body.extend_from_slice(b",\"checkpoint\":");
        body.extend_from_slice(job.checkpoint().map_or(b"null", |kept| json(&kept.bytes)));
        let mut number_or_null = |body: &mut Vec<u8>, head: &[u8], value: Option<u64>| match value {
            Some(value) => number(body, head, value),
            None => {
                body.extend_from_slice(head);
                body.extend_from_slice(b"null");
            }
        };
        number_or_null(body, b",\"timeout_ms\":", job.rule().timeout_ms);
        number_or_null(body, b",\"progress_ms\":", Some(run.progress_ms).filter(|ms| *ms > 0));
        body.extend_from_slice(b",\"created\":\"");
        body.extend_from_slice(created.1.as_bytes());
        body.extend_from_slice(b"\"}");
    }
    body.push(b']');
}

/// Returns JSON as it is kept; a job that was made without any has `null`.
fn json(bytes: &Bytes) -> &[u8] {
    if bytes.0.is_empty() { b"null" } else { &bytes.0 }
}

#[cfg(test)]
mod tests {
    use clawhold_core::answer::JobState;
    use clawhold_core::command::RetryRule;
    use clawhold_core::job::{KeptCheckpoint, Past, Rule, Run};
    use clawhold_core::queue::QueueId;
    use clawhold_core::units::{ClaimNumber, JobId, Position, Served, SessionId, Stamp, Text};

    use super::*;

    fn job(id: u64, at: u64) -> Job {
        let stamp = Stamp { at: Timestamp(at), served: Served(1), position: Position(1) };
        let run = Run {
            session: SessionId(1),
            started: stamp,
            moved: Served(1),
            progress_ms: 0,
            timeout: None,
            cancel: None,
            percent: None,
            note: Text::default(),
        };
        Job {
            id: JobId(id),
            queue: QueueId(1),
            priority: -100,
            state: JobState::Running,
            payload: Bytes::from("{\"a\": \"\\u00fc\",  \"b\":1.0}"),
            claim: ClaimNumber(u64::MAX),
            attempts: u32::MAX,
            losses: 3,
            hand_backs: 0,
            due: stamp.at,
            created: stamp,
            since: stamp,
            rule: None,
            keys: None,
            run: Some(Box::new(run)),
            past: None,
        }
    }

    #[test]
    fn what_is_written_by_hand_is_what_the_contract_says() {
        let mut rich = job(2, 1_796_054_400_001);
        rich.rule = Some(Box::new(Rule { retry: RetryRule::default(), timeout_ms: Some(7) }));
        rich.run.as_mut().unwrap().progress_ms = 9;
        let bytes = Bytes::from("[1, 2]");
        let checkpoint = KeptCheckpoint { bytes, number: 1, claim: ClaimNumber(1) };
        rich.past = Some(Box::new(Past { checkpoint: Some(checkpoint), ..Past::default() }));
        let ended = Job { run: None, ..job(3, 1) };
        let name = Name::parse("mail:eu@1.a-b_c").unwrap();
        let jobs = [job(1, 1_796_054_400_000), ended, rich, job(4, 1_796_054_400_001)];
        let handed = jobs.map(|job| (Arc::new(job), name.clone()));

        let body = claimed_body(&handed);
        let read: wire::Claimed = serde_json::from_slice(&body).unwrap();
        assert_eq!(serde_json::to_vec(&read).unwrap(), body);
        assert_eq!(read.jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(read.jobs[0].payload.get(), "{\"a\": \"\\u00fc\",  \"b\":1.0}");
        assert_eq!(read.jobs[1].created, "2026-11-30T16:00:00.001Z");
        assert_eq!(read.jobs[1].timeout_ms, Some(7));

        let result = wire::SettleResult { job: 1, state: None, retry_at: None, problem: None };
        let body = settled_body([result.clone(), result].into_iter(), &handed).unwrap();
        let read: wire::Settled = serde_json::from_slice(&body).unwrap();
        assert_eq!(serde_json::to_vec(&read).unwrap(), body);
        assert_eq!((read.results.len(), read.jobs.len()), (2, 3));
        assert_eq!(claimed_body(&[]), b"{\"jobs\":[]}");
    }
}
