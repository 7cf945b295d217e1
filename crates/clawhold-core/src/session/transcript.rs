//! Transcripts: commands as people would type them, and what came of each.
//!
//! A line is `MS COMMAND …`, with `@ID` before the command for a request id. After each entry
//! every invariant is checked; at the end the state must survive being written down.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use expect_test::Expect;

use crate::answer::{Answer, Granted, Refusal};
use crate::change::What;
use crate::command::{
    Acquire, Append, AskHandOver, Claim, CloseSession, Command, Commit, DrainWorker, Due, Enqueue,
    ExpireRole, ExpireSession, HandOver, Heard, NewJob, NewPosition, OpenSession, Release,
    RemoveRole, RemoveStream, Request, Restore, ResumeWorker, RetryRule, RunOutcome, SessionKey,
    SetRole, SetStream, Settle, Settlement, Standing, Standings, Successor, TakeOver, Wanted,
    Withdraw,
};
use crate::state::{Applied, State};
use crate::units::{
    ClaimNumber, Epoch, EventNumber, JobId, Name, Position, RequestId, Served, SessionId, Stamp,
    Text, Timestamp, Token,
};

/// Plays a transcript and compares what is said.
pub(crate) fn check(lines: &str, expected: Expect) {
    expected.assert_eq(&play(lines.lines()));
}

/// Plays a transcript and returns what is said.
pub(crate) fn play<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut play = Play::default();
    for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
        play.line(line);
    }
    let bytes = minicbor::to_vec(&play.state).unwrap();
    let back: State = minicbor::decode(&bytes).unwrap();
    assert!(back == play.state, "the state is what was written down");
    play.said
}

#[derive(Default)]
struct Play {
    state: State,
    keys: BTreeMap<String, SessionKey>,
    said: String,
    latest: Token,
}

impl Play {
    fn line(&mut self, line: &str) {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let ms: u64 = words.remove(0).parse().unwrap();
        let id = words[0].strip_prefix('@').map(|id| RequestId::parse(id).unwrap());
        if id.is_some() {
            words.remove(0);
        }
        let said = match words[0] {
            "read" => self.read(&words[1..]),
            "show" => self.show(words[1]),
            "worker" => self.worker(words[1]),
            _ => self.entry(ms, id, &words),
        };
        writeln!(self.said, "{line}\n    {said}").unwrap();
    }

    fn entry(&mut self, ms: u64, id: Option<RequestId>, words: &[&str]) -> String {
        let position = Position(self.state.last().position.0 + 1);
        let stamp = Stamp { at: Timestamp(ms), served: Served(ms), position };
        let command = self.command(words);
        let Applied { answer, changes, .. } =
            self.state.apply(stamp, &Request { id, actor: None, command });
        if let Ok(Answer::Opened(key)) = &answer {
            self.keys.insert(words[1].into(), *key);
        }
        for change in &changes {
            self.witness(&change.what);
        }
        self.state.sessions.check().unwrap();
        self.state.roles.check(&self.state.sessions).unwrap();
        self.state.streams.check().unwrap();
        self.state.requests.check().unwrap();
        let answer = answer.map_or_else(|no| self.refused(&no), |answer| self.answered(&answer));
        let changes = changes.iter().filter_map(|change| self.changed(&change.what));
        let changes: Vec<String> = changes.collect();
        let dash = if changes.is_empty() { "" } else { " — " };
        format!("{position}: {answer}{dash}{}", changes.join(", "))
    }

    /// Every grant bears a token above all before it, whatever the role.
    fn witness(&mut self, what: &What) {
        if let What::RoleGranted { token, .. } = what {
            assert!(*token > self.latest, "{token} comes after {}", self.latest);
            self.latest = *token;
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let command = self.session_command(words).or_else(|| self.role_command(words));
        let command = command.or_else(|| self.stream_command(words));
        let command = command.or_else(|| self.job_command(words));
        command.unwrap_or_else(|| panic!("{} is no command of a transcript", words[0]))
    }

    fn session_command(&self, words: &[&str]) -> Option<Command> {
        Some(match words[0] {
            "tick" => Command::Tick,
            "take-over" => Command::TakeOver(TakeOver {
                present: false,
                former_gone: true,
                epoch: Epoch(number(word(words, 1))),
                advertise: Text::default(),
                hold_ms: 1_000,
                nonce: 1,
            }),
            "step-down" => Command::StepDown,
            "restore" => Command::Restore(Restore {
                floor: Position(number(word(words, 1))),
                drawn: 42,
                reason: Text::cut("restored from a backup"),
            }),
            "open" => Command::OpenSession(OpenSession {
                secret: self.state.last().position.0 + 1_000,
                label: name(word(words, 1)),
                ttl_ms: number(word(words, 2)),
                queues: words[3..].iter().map(|queue| name(queue)).collect(),
                slots: 10,
                agent: None,
                place: Text::default(),
            }),
            "close" => Command::CloseSession(CloseSession { session: self.key(word(words, 1)) }),
            "lose" => {
                Command::ExpireSession(ExpireSession { session: self.key(word(words, 1)).id })
            }
            "heard" => Command::Heard(Heard {
                sessions: words[1..].iter().map(|label| self.key(label).id).collect(),
            }),
            "drain" => Command::DrainWorker(DrainWorker {
                session: self.key(word(words, 1)).id,
                deadline_ms: number(word(words, 2)),
                reason: Text::cut("update"),
            }),
            "resume" => {
                Command::ResumeWorker(ResumeWorker { session: self.key(word(words, 1)).id })
            }
            _ => return None,
        })
    }

    fn role_command(&self, words: &[&str]) -> Option<Command> {
        Some(match words[0] {
            "role" => Command::SetRole(SetRole {
                role: name(word(words, 1)),
                ttl_ms: numbered(words, "ttl="),
                lag_events_max: numbered(words, "lag="),
                promotion: None,
            }),
            "remove-role" => Command::RemoveRole(RemoveRole { role: name(word(words, 1)) }),
            "acquire" | "await" => Command::Acquire(Acquire {
                role: name(word(words, 1)),
                session: self.key(word(words, 2)),
                ttl_ms: numbered(words, "ttl="),
                wait: words[0] == "await",
                stream: option(words, "stream=").map(name),
            }),
            "withdraw" => Command::Withdraw(Withdraw {
                role: name(word(words, 1)),
                session: self.key(word(words, 2)),
            }),
            "release" => Command::Release(Release {
                role: name(word(words, 1)),
                session: self.key(word(words, 2)),
                token: self.token(words, 3),
            }),
            "hand-over" => Command::HandOver(HandOver {
                role: name(word(words, 1)),
                holder: option(words, "by=").map(|label| self.key(label)),
                token: numbered(words, "token=").map(Token),
                to: self.successor(word(words, 2)),
            }),
            "ask" => Command::AskHandOver(AskHandOver {
                role: name(word(words, 1)),
                to: self.successor(word(words, 2)),
                within_ms: number(word(words, 3)),
            }),
            "lapse" => Command::ExpireRole(ExpireRole {
                role: name(word(words, 1)),
                token: self.token(words, 2),
            }),
            "standings" => Command::Standings(Standings {
                role: name(word(words, 1)),
                lines: words[2..].iter().map(|line| self.standing(line)).collect(),
            }),
            _ => return None,
        })
    }

    fn stream_command(&self, words: &[&str]) -> Option<Command> {
        Some(match words[0] {
            "stream" => Command::SetStream(SetStream {
                stream: name(word(words, 1)),
                events_max: numbered(words, "events="),
                bytes_max: numbered(words, "bytes="),
                age_ms_max: numbered(words, "age="),
            }),
            "remove-stream" => Command::RemoveStream(RemoveStream { stream: name(word(words, 1)) }),
            "append" => Command::Append(Append {
                stream: name(word(words, 1)),
                events: plain(words).map(|text| text.into()).collect(),
                expected: numbered(words, "expected=").map(EventNumber),
            }),
            "commit" => self.commit(words),
            _ => return None,
        })
    }

    fn job_command(&self, words: &[&str]) -> Option<Command> {
        Some(match words[0] {
            "enqueue" => Command::Enqueue(Enqueue {
                jobs: plain(words).map(|text| job(word(words, 1), text)).collect(),
            }),
            "claim" => Command::Claim(Claim {
                session: self.key(word(words, 1)),
                wanted: Wanted { queues: vec![name(word(words, 2))], count_max: 10 },
            }),
            "complete" => Command::Settle(Settle {
                session: self.key(word(words, 1)),
                settlements: vec![Settlement {
                    job: JobId(number(word(words, 2))),
                    claim: ClaimNumber(number(word(words, 3))),
                    outcome: RunOutcome::Completed { result: "".into() },
                }],
                next: None,
            }),
            _ => return None,
        })
    }

    fn commit(&self, words: &[&str]) -> Command {
        let pairs = |key: &'static str| {
            let found = words.iter().filter_map(move |word| word.strip_prefix(key));
            found.map(|pair| pair.split_once(':').unwrap())
        };
        let position = pairs("at=").next().map(|(stream, through)| NewPosition {
            stream: name(stream),
            through: EventNumber(number(through)),
        });
        let append = |(stream, text): (&str, &str)| Append {
            stream: name(stream),
            events: vec![text.into()],
            expected: None,
        };
        Command::Commit(Box::new(Commit {
            role: name(words[1]),
            session: self.key(words[2]),
            token: self.token(words, 3),
            position,
            jobs: pairs("job=").map(|(queue, text)| job(queue, text)).collect(),
            appends: pairs("append=").map(append).collect(),
        }))
    }

    fn key(&self, label: &str) -> SessionKey {
        let nobody = SessionKey { id: SessionId(0), secret: 0 };
        self.keys.get(label).copied().unwrap_or(nobody)
    }

    /// Reads a token; `now` is the latest of the role.
    fn token(&self, words: &[&str], n: usize) -> Token {
        match word(words, n) {
            "now" => self.state.roles.floor(&name(words[1])).unwrap_or_default(),
            token => Token(number(token)),
        }
    }

    fn successor(&self, label: &str) -> Successor {
        match label {
            "best" => Successor::MostCaughtUp,
            label => Successor::Session(self.key(label).id),
        }
    }

    /// Reads `LABEL:CONSUMED:SILENT_MS`, with `-` for a candidate that consumed nothing.
    fn standing(&self, line: &str) -> Standing {
        let parts: Vec<&str> = line.split(':').collect();
        Standing {
            session: self.key(parts[0]).id,
            consumed: parts[1].parse().ok().map(EventNumber),
            silent_ms: number(parts[2]),
        }
    }

    fn label(&self, id: SessionId) -> String {
        let known = self.keys.iter().find(|(_, key)| key.id == id);
        known.map_or_else(|| format!("session {id}"), |(label, _)| label.clone())
    }

    fn read(&self, words: &[&str]) -> String {
        let after = EventNumber(number(words[1]));
        let page = match self.state.streams.read(&name(words[0]), after, 100, 1_000) {
            Ok(page) => page,
            Err(no) => return self.refused(&no),
        };
        let events =
            page.events.iter().map(|(number, event)| format!("{number} {:?}", event.bytes));
        format!("{:?}, last {}", events.collect::<Vec<_>>(), page.last)
    }

    fn show(&self, role: &str) -> String {
        let Some(role) = self.state.roles.get(&name(role)) else { return "no such role".into() };
        let holder = role.held.as_ref().map_or_else(
            || "vacant".into(),
            |lease| {
                let (label, token) = (self.label(lease.session), lease.token);
                format!("{label} holds it under {token}, lapses {}", lease.lapses)
            },
        );
        let line: Vec<String> = role.candidates.iter().map(|one| self.label(one.session)).collect();
        let changes = role.history().map(|change| {
            let label = change.label.as_ref().map_or("", Name::as_str);
            format!("{} {} {label}", change.token, change.cause.as_str()).trim_end().into()
        });
        let changes: Vec<String> = changes.collect();
        format!("{holder}; line {line:?}; history: {}", changes.join(", "))
    }

    fn worker(&self, label: &str) -> String {
        let id = self.key(label).id;
        let ended = || self.state.sessions.ended().find(|session| session.id == id);
        let session = self.state.sessions.live(id).or_else(ended);
        session.map_or_else(
            || "forgotten".into(),
            |session| format!("{}, lapses {}", session.state, session.lapses),
        )
    }

    fn granted(&self, granted: &Granted) -> String {
        format!("{} under {}", self.label(granted.session), granted.token)
    }

    fn answered(&self, answer: &Answer) -> String {
        match answer {
            Answer::Opened(key) => format!("session {}", key.id),
            Answer::Granted(granted) => {
                format!("granted to {} for {} ms", self.granted(granted), granted.ttl_ms)
            }
            Answer::Waiting { holder, token } => {
                format!("waiting, {} holds it under {token}", self.label(*holder))
            }
            Answer::Released { next } => {
                let next = next.as_ref().map(|next| self.granted(next));
                format!("released, next is {}", next.unwrap_or_else(|| "nobody".into()))
            }
            Answer::Draining { held, unserved } => {
                let unserved: Vec<&str> = unserved.iter().map(Name::as_str).collect();
                format!("draining, holds {held}, unserved {unserved:?}")
            }
            Answer::Done
            | Answer::Enqueued(_)
            | Answer::Claimed(_)
            | Answer::Settled { .. }
            | Answer::Jobs(_)
            | Answer::Appended { .. }
            | Answer::Committed { .. }
            | Answer::Behind { .. }
            | Answer::Withheld { .. }
            | Answer::Defined { .. }
            | Answer::Imported { .. }
            | Answer::Run { .. }
            | Answer::Posted { .. }
            | Answer::Silenced { .. } => format!("{answer:?}"),
        }
    }

    fn refused(&self, refusal: &Refusal) -> String {
        format!("refused: {refusal}")
    }

    fn changed(&self, what: &What) -> Option<String> {
        match what {
            What::Server => Some("the server".into()),
            What::Restored { through } => Some(format!("restored, goes on after {through}")),
            What::RoleGranted { role, session, token } => {
                Some(format!("{role} to {} under {token}", self.label(*session)))
            }
            What::RoleVacant { role } => Some(format!("{role} vacant")),
            What::Worker { session, state } => Some(format!("{} {state}", self.label(*session))),
            What::Job { job, state, .. } => Some(format!("job {job} {state}")),
            What::Recorded { role, through, .. } => Some(format!("{role} at {through}")),
            What::Run { run, state } => Some(format!("run {run} {state}")),
            What::Role { .. }
            | What::Session { .. }
            | What::Queue { .. }
            | What::Stream { .. }
            | What::Definition { .. }
            | What::Alert { .. }
            | What::Message { .. }
            | What::Automation => None,
        }
    }
}

fn word<'a>(words: &[&'a str], n: usize) -> &'a str {
    words.get(n).copied().unwrap_or_default()
}

/// Returns what follows `key` in the word that begins with it.
fn option<'a>(words: &[&'a str], key: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(key))
}

fn numbered(words: &[&str], key: &str) -> Option<u64> {
    option(words, key).map(number)
}

/// Returns the words after the second that are no options.
fn plain<'a>(words: &[&'a str]) -> impl Iterator<Item = &'a str> {
    words[2..].iter().copied().filter(|word| !word.contains('='))
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn job(queue: &str, text: &str) -> NewJob {
    NewJob {
        queue: name(queue),
        payload: text.into(),
        priority: 0,
        due: Due::Now,
        unique: None,
        order: None,
        retry: RetryRule::default(),
        timeout_ms: None,
    }
}
