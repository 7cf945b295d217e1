//! What an alert rule watches for: its action as a detector.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::compile::trouble_of;
use super::grammar::Ready;
use super::line::{ExactTrouble, Line, Shortest};
use super::pattern::{self, Form, Found, Phrases, Vocabulary};
use super::phrases::PHRASES;
use super::report::{Hint, Nearest, NotUnderstood};
use super::table::Row;
use super::words::{self, Sentence};
use super::{NEAREST_MAX, WORDS_MAX, near};
use crate::limits;
use crate::operation::Detector;

/// Returns the detector that the action of an alert rule describes: every word of it, or nothing.
/// The exact form is `backlog jobs=100 age=5m`.
///
/// # Errors
/// [`NotUnderstood`] tells which words are not understood and which detectors are near.
pub fn detector(text: &str) -> Result<Detector, NotUnderstood> {
    let none = NotUnderstood::default;
    let first = text.split_whitespace().next();
    if first.is_some_and(|first| first.contains('_') || text.contains('=') || is_bare(text)) {
        return exact(text).map_err(|trouble| {
            let hint = Some(Hint::Exact(trouble.to_string()));
            NotUnderstood { hint, ..none() }
        });
    }
    let mut sentences = words::sentences(text);
    let Some(sentence) = sentences.pop() else {
        return Err(NotUnderstood { hint: Some(Hint::Empty), ..none() });
    };
    if !sentences.is_empty() {
        return Err(NotUnderstood { hint: Some(Hint::OneSentence), ..none() });
    }
    if sentence.tokens.len() > WORDS_MAX || sentence.text.len() > limits::TEXT_BYTES_MAX {
        return Err(NotUnderstood { hint: Some(Hint::Long), ..none() });
    }
    read(&sentence)
}

/// Tells whether the text is the name of a detector and nothing else.
fn is_bare(text: &str) -> bool {
    ARGUMENTS.iter().any(|(name, _)| *name == text.trim())
}

fn read(sentence: &Sentence) -> Result<Detector, NotUnderstood> {
    let phrases = phrases();
    let lead = pattern::parse("[<alert-when>]");
    let mut all: Vec<Detector> = Vec::new();
    for from in phrases.find(&lead, sentence, &Found::at(0), Form::Order) {
        for row in ROWS.iter().map(Ready::new) {
            for found in phrases.find(&row.node, sentence, &from, Form::Order) {
                let made = row.made(&found);
                let is_whole = found.end == sentence.tokens.len();
                all.extend(made.into_iter().filter(|_| is_whole));
            }
        }
    }
    let distinct = all.iter().filter(|made| Some(*made) != all.first()).count();
    match all.pop() {
        Some(made) if distinct == 0 && !sentence.is_question => Ok(made),
        Some(made) if distinct > 0 => {
            all.push(made);
            let ties = all.iter().map(ToString::to_string).collect();
            Err(NotUnderstood { ties, ..NotUnderstood::default() })
        }
        _ => Err(trouble(&phrases, sentence)),
    }
}

fn phrases() -> Phrases {
    let all: Vec<_> = PHRASES.iter().chain(WATCH_PHRASES).copied().collect();
    Phrases::new(&all)
}

fn trouble(phrases: &Phrases, sentence: &Sentence) -> NotUnderstood {
    let mut known = BTreeSet::new();
    let mut ideas = Vec::new();
    for (example, hints) in EXAMPLES {
        let made = words::sentences(example).pop().and_then(|sentence| read(&sentence).ok());
        let mut words = Vocabulary::default();
        for row in ROWS.iter().map(Ready::new) {
            let name = row.bare().first().map(Detector::name);
            if name == made.as_ref().map(Detector::name) {
                phrases.vocabulary(&row.node, &mut words);
            }
        }
        known.extend(words.words.iter());
        ideas.push(near::Idea { words: words.words, hints });
    }
    let typed: Vec<&str> = sentence.tokens.iter().map(|token| token.word.as_str()).collect();
    let ranked = near::rank(&typed, &ideas, NEAREST_MAX);
    let nearest =
        ranked.into_iter().filter_map(|at| EXAMPLES.get(at)).filter_map(|(example, _)| {
            let made = words::sentences(example).pop().and_then(|sentence| read(&sentence).ok())?;
            Some(Nearest { exact: made.to_string(), example })
        });
    // "When" begins what is watched for; there it forbids nothing.
    let tokens = sentence.tokens.iter().skip(lead_end(phrases, sentence)).cloned().collect();
    let watched = Sentence { tokens, ..sentence.clone() };
    NotUnderstood { nearest: nearest.collect(), ..trouble_of(&watched, &known) }
}

/// Returns where the words behind "alert when" begin.
fn lead_end(phrases: &Phrases, sentence: &Sentence) -> usize {
    let lead = pattern::parse("[<alert-when>]");
    let found = phrases.find(&lead, sentence, &Found::at(0), Form::Order);
    found.into_iter().map(|found| found.end).max().unwrap_or(0)
}

/// Each detector with its arguments.
const ARGUMENTS: &[(&str, &[&str])] = &[
    ("two_leaders", &[]),
    ("leaderless", &[]),
    ("stale_writes", &["count"]),
    ("held_by_gone", &[]),
    ("orphan", &[]),
    ("double_owner", &[]),
    ("standby_lag", &["events"]),
    ("no_standby", &[]),
    ("flapping_lease", &["changes"]),
    ("missed_reports", &[]),
    ("backlog", &["jobs", "age"]),
    ("job_failed", &[]),
    ("run_failed", &[]),
    ("fix_blocked", &[]),
    ("sink_down", &[]),
];

fn exact(text: &str) -> Result<Detector, ExactTrouble> {
    let line = Line::read(text)?;
    let unknown = || {
        let near = near::meant(&line.name, ARGUMENTS.iter().map(|(name, _)| *name));
        let near = near.map(ToOwned::to_owned);
        ExactTrouble::UnknownName { kind: "detector", name: line.name.clone(), near }
    };
    let row = ARGUMENTS.iter().find(|(name, _)| *name == line.name);
    let (_, arguments) = row.ok_or_else(unknown)?;
    line.check(arguments)?;
    Ok(match line.name.as_str() {
        "two_leaders" => Detector::TwoLeaders,
        "leaderless" => Detector::Leaderless,
        "stale_writes" => Detector::StaleWrites { count: line.count("count", 1)?.unwrap_or(1) },
        "held_by_gone" => Detector::HeldByGone,
        "orphan" => Detector::Orphan,
        "double_owner" => Detector::DoubleOwner,
        "standby_lag" => {
            let events = line.count("events", 1)?;
            Detector::StandbyLag { events: line.needed("events", events)? }
        }
        "no_standby" => Detector::NoStandby,
        "flapping_lease" => {
            let changes = line.count("changes", 2)?;
            Detector::FlappingLease { changes: line.needed("changes", changes)? }
        }
        "missed_reports" => Detector::MissedReports,
        "backlog" => backlog_of(&line)?,
        "job_failed" => Detector::JobFailed,
        "run_failed" => Detector::RunFailed,
        "fix_blocked" => Detector::FixBlocked,
        "sink_down" => Detector::SinkDown,
        _ => return Err(unknown()),
    })
}

fn backlog_of(line: &Line) -> Result<Detector, ExactTrouble> {
    let jobs = line.count("jobs", 1)?;
    let age_ms = line.span_ms("age", Shortest::One)?;
    if jobs.is_none() && age_ms.is_none() {
        return Err(ExactTrouble::Missing { name: line.name.clone(), argument: "jobs" });
    }
    Ok(Detector::Backlog { jobs: jobs.unwrap_or(0), age_ms: age_ms.unwrap_or(0) })
}

const ROWS: &[Row<Detector>] = &[
    Row {
        make: |_| Vec::from([Detector::TwoLeaders]),
        pattern: "two [or more] (workers|processes|leaders) <claim> [<same-role>] [<same-time>] [<hard-to-merge>]",
    },
    Row {
        make: |_| Vec::from([Detector::TwoLeaders]),
        pattern: "(a|one|the same) role has (two|more than one) [active] (leaders|leader) [<same-time>] [<hard-to-merge>]",
    },
    Row {
        make: |_| Vec::from([Detector::TwoLeaders]),
        pattern: "there are (two|more than one) [active] leaders [<same-role>] [<same-time>] [<hard-to-merge>]",
    },
    Row {
        make: |_| Vec::from([Detector::Leaderless]),
        pattern: "(a|any) role has no [active] (leader|holder)|(a|any) role is (leaderless|vacant)\
            |(nobody|no worker|no one) (leads|holds) (a role|the role|the lease|any role)",
    },
    Row {
        make: |marks| Vec::from([Detector::StaleWrites { count: marks.count().unwrap_or(1) }]),
        pattern: "(a write|<many> writes) with (a|an) (stale|old|overtaken) token (is|are) refused\
            |<many> stale writes are refused|a stale write is refused",
    },
    Row {
        make: |_| Vec::from([Detector::HeldByGone]),
        pattern: "a worker <is-lost> while it [still] (holds|held) jobs\
            |jobs are held by a worker that (is gone|is lost|has left)\
            |a lost worker [still] holds jobs",
    },
    Row {
        make: |_| Vec::from([Detector::Orphan]),
        pattern: "(a|any) job is neither running nor queued [<dropped>]\
            |(a|any) job is not running and not queued [<dropped>]\
            |(a|any) job has no owner [<dropped>]|(a|any) job is orphaned",
    },
    Row {
        make: |_| Vec::from([Detector::DoubleOwner]),
        pattern: "(a|any|one|the same) job has (two|more than one) (owners|owner)\
            |two workers (hold|own|run) (the same|one) job [<same-time>]",
    },
    Row {
        make: |marks| {
            marks.count().map(|events| Detector::StandbyLag { events }).into_iter().collect()
        },
        pattern: "(every|each|the) standby [of a role] (is|falls) (<many> events behind|behind by <many> events)",
    },
    Row {
        make: |_| Vec::from([Detector::NoStandby]),
        pattern: "(a|any) [held] role has no [warm] standby|there is no standby for a role",
    },
    Row {
        make: |marks| {
            marks.count().map(|changes| Detector::FlappingLease { changes }).into_iter().collect()
        },
        pattern: "(the|a) (holder|leader) of a role changes <many> times [<same-time>]\
            |(a|the) lease changes hands <many> times [<same-time>]",
    },
    Row {
        make: |_| Vec::from([Detector::MissedReports]),
        pattern: "a worker <is-lost>|a worker (stops reporting|misses its reports|goes silent)",
    },
    Row {
        make: |marks| {
            let (jobs, age_ms) = (marks.count().unwrap_or(0), marks.span_ms().unwrap_or(0));
            let is_limited = jobs > 0 || age_ms > 0;
            is_limited.then_some(Detector::Backlog { jobs, age_ms }).into_iter().collect()
        },
        pattern: "<many> jobs (wait|are waiting|are queued) [in (a|any) queue] [or one <waits-long>]\
            |(a|any) job <waits-long> [in (a|any) queue]",
    },
    Row {
        make: |_| Vec::from([Detector::JobFailed]),
        pattern: "(a|any) job (fails|has failed|failed) [for good|permanently]|(a|any) job is dead\
            |(a|any) job is dead-lettered",
    },
    Row {
        make: |_| Vec::from([Detector::RunFailed]),
        pattern: "(a|any) (run|fix|auto-fix|runbook) (fails|failed|has failed)",
    },
    Row {
        make: |_| Vec::from([Detector::FixBlocked]),
        pattern: "(a|any) (fix|auto-fix) is (blocked|kept from running) [by its (limits|guardrails|budget)]",
    },
    Row {
        make: |_| Vec::from([Detector::SinkDown]),
        pattern: "(a|any) (channel|sink) (is down|takes nothing|fails|is unreachable)",
    },
];

const WATCH_PHRASES: &[(&str, &str)] = &[
    (
        "alert-when",
        "(alert|warn|notify|page|tell) [me|us] [as soon as|when|whenever|if]|when|whenever|if",
    ),
    (
        "claim",
        "(report themselves|report|act|are acting|behave) as [the|an] [active] (leader|leaders)\
         |claim to (be [the] [active] (leader|leaders)|lead)|lead|are [the] [active] (leader|leaders)|are active",
    ),
    ("same-role", "(of|for) (one role|the same role|a role)"),
    ("same-time", "(in|within) (the same|one|the) window|at the same time|at once"),
    (
        "hard-to-merge",
        "[,] because (duplicated|duplicate|double) actions [from two leaders] are hard to (merge|undo) [afterwards|later]",
    ),
    ("dropped", "[,] so (a rebalance|the rebalance) has (dropped|lost) it"),
    ("is-lost", "is lost|disappears|vanishes|is gone|dies|goes away|leaves"),
    ("many", "[at least] {count} [or more]|more than {over}"),
    ("waits-long", "(waits|has waited) [for] [(more|longer) than|at least] {span}"),
];

/// Sentences to suggest, each with words that come near it.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    ("Alert when two workers report themselves as the active leader.", "split-brain split brain"),
    ("Alert when a role has no leader.", "headless unled"),
    ("Alert when a write with a stale token is refused.", "rejected fenced"),
    ("Alert when a worker is lost while it holds jobs.", "abandoned"),
    ("Alert when a job is neither running nor queued.", "lost missing forgotten"),
    ("Alert when a job has two owners.", "duplicated twice double"),
    ("Alert when every standby is 100 events behind.", "lag lags replication"),
    ("Alert when a role has no standby.", "backup replica"),
    ("Alert when the holder of a role changes 3 times.", "flaps flapping"),
    ("Alert when a worker stops reporting.", "heartbeat heartbeats dead offline"),
    ("Alert when 100 jobs wait.", "backlog depth piles pile grows long"),
    ("Alert when a job fails for good.", "error errors"),
    ("Alert when a run fails.", "automation"),
    ("Alert when a fix is blocked by its limits.", "exhausted limit"),
    ("Alert when a channel is down.", "slack webhook"),
];

/// Returns what in the rows refers to something that there is not.
#[cfg(test)]
pub(super) fn dangling() -> Vec<&'static str> {
    let phrases = phrases();
    let rows: Vec<_> = ROWS.iter().map(Ready::new).collect();
    let nodes = rows.iter().map(|row| &row.node).chain(phrases.all());
    nodes.flat_map(|node| phrases.dangling(node)).collect()
}
