//! How many conditions are parsed and evaluated in a second on one core.
#![expect(clippy::print_stdout, reason = "what it is for is to be read")]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use clawhold_core::condition::{Condition, Facts, Field, Kind, Value};
use clawhold_core::units::Name;

const CONDITIONS: [&str; 5] = [
    "lease.expired == true",
    "worker.leaving = true and worker.held_jobs > 0",
    "worker.state in ['left', 'lost'] or worker.queues contains 'mail' and worker.age > 15m",
    "queue.depth > queue.workers * 10 and not (queue.paused or queue.gate_closed) and queue.oldest_age > 1m",
    "job.queue = 'mail' and job.holder is not null and (job.attempts >= 3 or job.losses > 1) and worker.place startsWith 'gpu'",
];

/// A worker that leaves, in a queue that is behind.
struct Busy {
    queues: [Name; 2],
}

impl Facts for Busy {
    fn value(&self, field: Field) -> Value<'_> {
        match field.kind() {
            Kind::Bool => {
                Value::Bool(field != Field::QueuePaused && field != Field::QueueGateClosed)
            }
            Kind::Int => Value::Int(12),
            Kind::Duration => Value::Duration(90_000),
            Kind::Text => Value::Text("mail"),
            Kind::OneOf(_) => Value::Text("active"),
            Kind::List => Value::List(&self.queues),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let facts = Busy { queues: [Name::parse("bills")?, Name::parse("mail")?] };
    for text in CONDITIONS {
        let condition = Condition::parse(text)?;
        let parses = per_second(|| Condition::parse(black_box(text)));
        let evals = per_second(|| black_box(&condition).eval(&facts));
        println!("{evals:>12} evaluations/s {parses:>9} parses/s  {text}");
    }
    Ok(())
}

fn per_second<T>(act: impl Fn() -> T) -> u128 {
    const BATCH: u32 = 1_000;
    let started = Instant::now();
    let mut batches: u128 = 0;
    while started.elapsed() < Duration::from_millis(500) {
        for _ in 0..BATCH {
            black_box(act());
        }
        batches += 1;
    }
    batches * u128::from(BATCH) * 1_000_000_000 / started.elapsed().as_nanos()
}
