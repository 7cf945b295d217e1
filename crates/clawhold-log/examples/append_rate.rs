//! Measures how fast the logs that are named append, one after the other in one run.
//!
//! ```text
//! cargo run --release -p clawhold-log --example append_rate -- sqlite:/tmp/rate.db nats://host
//! ```
//!
//! Each URL must name a log of its own: what is written stays.
#![expect(clippy::print_stdout, reason = "this prints figures")]

use std::error::Error;
use std::time::{Duration, Instant};

use clawhold_log::{Append, Number, TakeOver};

const ROUNDS: usize = 3;
const ROUND: Duration = Duration::from_secs(3);
const SIZES: [usize; 2] = [1_000, 100_000];

fn main() -> Result<(), Box<dyn Error>> {
    let urls: Vec<String> = std::env::args().skip(1).collect();
    println!("body bytes  appends/s   p50 us   p99 us  log");
    for bytes in SIZES {
        for _ in 0..ROUNDS {
            for url in &urls {
                measure(url, bytes)?;
            }
        }
    }
    Ok(())
}

fn measure(url: &str, bytes: usize) -> Result<(), Box<dyn Error>> {
    let mut log = clawhold_log::open(url)?;
    let epoch = log.head()?.epoch.next();
    let TakeOver::Done { number } = log.take_over(epoch, b"")? else {
        return Err("somebody else writes this log".into());
    };
    let body = vec![0xa5; bytes];
    let mut times = Vec::new();
    let started = Instant::now();
    for place in number.0 + 1.. {
        let before = Instant::now();
        if log.append(Number(place), epoch, &body)? != Append::Done {
            return Err("an append was not done".into());
        }
        times.push(before.elapsed());
        if ROUND < started.elapsed() {
            break;
        }
    }
    let per_second = times.len() as f64 / started.elapsed().as_secs_f64();
    times.sort_unstable();
    let (half, most) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    let engine = url.split(':').next().unwrap_or(url);
    println!(
        "{bytes:>10} {per_second:>10.0} {:>8} {:>8}  {engine}",
        half.as_micros(),
        most.as_micros()
    );
    Ok(())
}
