//! Runs seeded worlds of servers and clients over a faulty log and checks what they did.
//!
//! `clawhold-sim --seeds N` runs the worlds of the seeds 1 to N. The first ones are run twice and
//! must give the same digest before any other result counts. A failing seed is made small: what
//! is printed is a script, which `--script FILE` runs again, and the story of what happens in it.

mod act;
mod args;
mod checker;
mod client;
mod compose;
mod dice;
mod distort;
mod fix;
mod net;
mod plan;
mod rule;
mod script;
mod server;
mod shrink;
#[cfg(test)]
mod tests;
mod totals;
mod witness;
mod world;

use std::process::ExitCode;
use std::time::Instant;

use args::Args;
use script::Script;
use totals::Totals;
use world::{Outcome, World};

/// Failing worlds that are made small and told; the others are only named.
const TOLD_MAX: u64 = 3;
/// Lines of the story of a failing world.
const STORY_LINES_MAX: usize = 120;

fn main() -> ExitCode {
    let run = Args::parse(std::env::args().skip(1)).and_then(|args| Run::new(args)?.run());
    match run {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            say(&format!("{reason}\n{}", args::USAGE));
            ExitCode::from(2)
        }
    }
}

/// A run of many worlds.
struct Run {
    args: Args,
    scripts: Vec<(String, Script)>,
    totals: Totals,
    passed: u64,
    failed: u64,
}

impl Run {
    fn new(args: Args) -> Result<Self, String> {
        let mut scripts = Vec::new();
        for path in &args.scripts {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
            let script = Script::parse(&text).map_err(|reason| format!("{name}: {reason}"))?;
            let rule = args.rule.or(script.rule);
            scripts.push((name, Script { rule, ..script }));
        }
        for seed in &args.seeds {
            let script = plan::draw(*seed, args.commands, args.rule);
            scripts.push((format!("seed {seed}"), script));
        }
        Ok(Self { args, scripts, totals: Totals::default(), passed: 0, failed: 0 })
    }

    fn run(mut self) -> Result<bool, String> {
        let began = Instant::now();
        let scripts = std::mem::take(&mut self.scripts);
        let Some(digest) = self.check_digests(&scripts) else { return Ok(false) };
        for (name, script) in &scripts {
            self.world(name, script)?;
            if self.args.rule.is_some() && self.failed > 0 {
                break;
            }
        }
        if self.args.rule.is_some() {
            return Ok(self.tell_broken_rule());
        }
        say(&format!(
            "{} worlds in {} s\n{}",
            scripts.len(),
            began.elapsed().as_secs(),
            self.totals
        ));
        let first = scripts.first().map_or("nothing", |(name, _)| name);
        say(&format!("digest of {first}: {digest}"));
        if self.failed == 0 {
            say("lost 0, doubled 0, stale accepted 0");
        }
        say(&format!("seeds: {} passed, {} failed", self.passed, self.failed));
        Ok(self.failed == 0)
    }

    /// Runs the first worlds twice; `None` when the digests of one differ.
    fn check_digests(&self, scripts: &[(String, Script)]) -> Option<String> {
        let mut first = None;
        for (name, script) in scripts.iter().take(self.args.checked.max(1)) {
            let [one, two] = [0, 1].map(|_| World::new(script.clone()).run().digest);
            if one != two {
                say(&format!("{name}: two runs differ: {one} and {two}"));
                return None;
            }
            first.get_or_insert(one);
        }
        first.or_else(|| Some("none".to_owned()))
    }

    fn world(&mut self, name: &str, script: &Script) -> Result<(), String> {
        let outcome = if self.args.story {
            let outcome = World::new(script.clone()).with_story().run();
            outcome.story.iter().for_each(|line| say(line));
            outcome
        } else {
            World::new(script.clone()).run()
        };
        self.totals += outcome.totals;
        if outcome.broken.is_empty() {
            self.passed += 1;
            return Ok(());
        }
        self.failed += 1;
        for broken in &outcome.broken {
            say(&format!("{name}: {broken}"));
        }
        if self.failed <= TOLD_MAX && !self.args.brief {
            self.tell(name, script, &outcome)?;
        }
        Ok(())
    }

    /// Prints the smallest script that fails alike, and its story.
    fn tell(&self, name: &str, script: &Script, outcome: &Outcome) -> Result<(), String> {
        let (small, _) = shrink::shrink(script, outcome);
        let story = World::new(small.clone()).with_story().run();
        let text = small.print();
        say(&format!("\n{name} in short, {} of {} acts:\n", small.acts.len(), script.acts.len()));
        say(&text);
        let skipped = story.story.len().saturating_sub(STORY_LINES_MAX);
        say(&format!("# What happens in it, without the first {skipped} lines:"));
        story.story.iter().skip(skipped).for_each(|line| say(&format!("# {line}")));
        story.broken.iter().for_each(|broken| say(&format!("# broken: {broken}")));
        say("\nKeep the lines above in a file and repeat it with: clawhold-sim --script FILE\n");
        match &self.args.script_out {
            Some(path) if self.failed == 1 => std::fs::write(path, text)
                .map_err(|error| format!("{} cannot be written: {error}", path.display())),
            Some(_) | None => Ok(()),
        }
    }

    /// Says whether the checker noticed that a rule is broken.
    fn tell_broken_rule(&self) -> bool {
        let rule = self.args.rule.map(|rule| rule.to_string()).unwrap_or_default();
        let worlds = self.passed + self.failed;
        if self.failed > 0 {
            say(&format!("the broken rule {rule} was noticed in world {worlds}"));
        } else {
            say(&format!("the broken rule {rule} was not noticed in {worlds} worlds"));
        }
        self.failed > 0
    }
}

#[expect(clippy::print_stdout, reason = "the report of this program")]
fn say(text: &str) {
    println!("{text}");
}
