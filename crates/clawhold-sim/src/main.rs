//! Runs seeded worlds of servers and clients over a faulty log and checks what they did.
//!
//! `clawhold-sim --seeds N` runs the worlds of the seeds 1 to N, `--seed S` the one of S;
//! `--commands C` says how many commands each world's clients send. The first world is run twice
//! and must give the same digest before any other result counts. A failing seed is printed with
//! what was broken, and runs the same way again.

mod checker;
mod client;
mod server;
mod world;

use std::process::ExitCode;

use world::{Outcome, World};

/// Commands that the clients of one world send when nothing is said.
const COMMANDS_DEFAULT: u64 = 400;

struct Args {
    seeds: Vec<u64>,
    commands: u64,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)) {
        Ok(args) => run(&args),
        Err(reason) => {
            say(&format!("{reason}\nusage: clawhold-sim [--seeds N | --seed S] [--commands C]"));
            ExitCode::from(2)
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args { seeds: (1..=100).collect(), commands: COMMANDS_DEFAULT };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
        let number: u64 = value.parse().map_err(|_| format!("{word} {value}: not a number"))?;
        match word.as_str() {
            "--seeds" => args.seeds = (1..=number).collect(),
            "--seed" => args.seeds = vec![number],
            "--commands" => args.commands = number,
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(args)
}

fn run(args: &Args) -> ExitCode {
    let Some(first) = args.seeds.first() else { return ExitCode::SUCCESS };
    let digests = [0, 1].map(|_| World::new(*first, args.commands).run().digest);
    if digests[0] != digests[1] {
        say(&format!("seed {first}: two runs differ: {} and {}", digests[0], digests[1]));
        return ExitCode::FAILURE;
    }
    let mut totals = Totals::default();
    for seed in &args.seeds {
        let outcome = World::new(*seed, args.commands).run();
        totals.add(*seed, &outcome);
    }
    say(&format!(
        "{} seeds, {} commands answered, {} takeovers, {} lapses, digest of seed {first} {}",
        args.seeds.len(),
        totals.answered,
        totals.takeovers,
        totals.lapses,
        digests[0]
    ));
    say(&format!("seeds: {} passed, {} failed", totals.passed, totals.failed));
    if totals.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Default)]
struct Totals {
    passed: u64,
    failed: u64,
    answered: u64,
    takeovers: u64,
    lapses: u64,
}

impl Totals {
    fn add(&mut self, seed: u64, outcome: &Outcome) {
        self.answered += outcome.answered;
        self.takeovers += outcome.takeovers;
        self.lapses += outcome.lapses;
        if outcome.broken.is_empty() {
            self.passed += 1;
            return;
        }
        self.failed += 1;
        for broken in &outcome.broken {
            say(&format!("seed {seed}: {broken}"));
        }
    }
}

#[expect(clippy::print_stdout, reason = "the report of this program")]
fn say(text: &str) {
    println!("{text}");
}
