//! `lead`: a program runs only while its role is held, whatever is done to it or to `lead`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clawhold_client::api::role::AskHandOver;
use clawhold_client::api::stream::Append;
use clawhold_client::api::{Code, Json};
use rustix::process::{Pid, Signal, kill_process};

use crate::place::{CLAWHOLD, PATIENCE, Place, Served, block_on, split, wait};

/// A program that writes its process id and its lease to the file that its first argument names.
const LEADER: &str = "#!/bin/sh\n\
    echo \"$$ $CLAWHOLD_ROLE $CLAWHOLD_TOKEN $CLAWHOLD_POSITION\" >> \"$1\"\nexec sleep 1000\n";
/// A program that writes its process id and every line it is told to that file.
const STANDBY: &str =
    "#!/bin/sh\nwhile read -r line; do echo \"$$ $line\" >> \"$1\"; done\nexec sleep 1000\n";

/// A `lead` that runs until it is dropped, and what its program wrote.
struct Lead {
    process: Child,
    written: PathBuf,
}

impl Lead {
    fn start(place: &Place, served: &Served, name: &str, flags: &str, script: &str) -> Self {
        let written = place.path().join(format!("{name}.txt"));
        let program = place.script(&format!("{name}.sh"), script);
        let mut command = place.command(CLAWHOLD);
        command.args(["lead", "indexer", "--server", &served.url, "--label", name]);
        command.args(split(flags)).arg("--").arg(program).arg(&written);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { process, written }
    }

    /// Waits until the program has written a line that contains `text`, and returns it.
    fn wrote(&self, text: &str) -> String {
        until(&format!("{text:?} in {}", self.written.display()), || {
            let written = fs::read_to_string(&self.written).ok()?;
            let (whole, _) = written.rsplit_once('\n')?;
            whole.lines().find(|line| line.contains(text)).map(str::to_owned)
        })
    }

    fn signal(&self, signal: Signal) {
        kill(self.process.id(), signal);
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_program_starts_with_the_role_and_its_end_gives_the_role_to_the_next_at_once() {
    let place = Place::new();
    let served = place.serve("");
    let first = Lead::start(&place, &served, "first", "--ttl 30s", LEADER);
    let (pid, token) = pid_and_token(&first.wrote(" indexer "));
    let second = Lead::start(&place, &served, "second", "--ttl 30s", LEADER);
    candidates(&served, 1);
    assert!(!second.written.exists(), "only the holder's program runs");

    kill(pid, Signal::KILL);
    let since = Instant::now();
    let (_, next) = pid_and_token(&second.wrote(" indexer "));
    assert!(token < next);
    // Far below the ttl: nothing had to lapse.
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    let mut first = first;
    assert_eq!(wait(&mut first.process), Some(137), "as a shell would say: 128 + 9");
}

#[test]
fn a_warm_standby_is_told_of_its_promotion_and_resumes_the_position() {
    let place = Place::new();
    let served = place.serve("");
    let events = (1..=9).map(|number| Json::of(&number).unwrap()).collect();
    block_on(served.client().append("files", &Append { events, expected: None })).unwrap();
    let committing = "#!/bin/sh\necho \"$$ $CLAWHOLD_ROLE $CLAWHOLD_TOKEN\" >> \"$1\"\n\
        \"$CLAWHOLD\" commit --position 4 --job 'index={\"file\":4}' >> \"$1\"\n\
        exec sleep 1000\n"
        .replace("$CLAWHOLD\"", &format!("{CLAWHOLD}\""));
    let flags = "--ttl 1s --stream files";
    let leader = Lead::start(&place, &served, "leader", flags, &committing);
    let (pid, token) = pid_and_token(&leader.wrote(" indexer "));
    leader.wrote("recorded position 4, added 1 job: 1");
    let flags = "--ttl 1s --stream files --standby";
    let standby = Lead::start(&place, &served, "standby", flags, STANDBY);
    standby.wrote("clawhold 1 standby role=indexer stream=files position=4");

    leader.signal(Signal::KILL);
    let promoted = standby.wrote("promoted token=");
    assert!(promoted.contains(" position=4 deadline_ms="), "{promoted}");
    assert!(token < number_after(&promoted, "token="), "{promoted}");
    assert!(!is_alive(pid), "the program of a killed `lead` is gone before the next acts");
    standby.wrote("deadline deadline_ms=");
}

#[test]
fn a_frozen_lead_does_not_keep_its_program_alive_past_the_deadline() {
    let place = Place::new();
    let served = place.serve("");
    // A program that does not heed SIGTERM.
    let deaf = LEADER.replace("exec sleep 1000", "trap '' TERM\nwhile :; do sleep 1; done");
    let mut frozen = Lead::start(&place, &served, "frozen", "--ttl 1s --once", &deaf);
    let (pid, token) = pid_and_token(&frozen.wrote(" indexer "));
    let next = Lead::start(&place, &served, "next", "--ttl 1s", LEADER);
    candidates(&served, 1);

    frozen.signal(Signal::STOP);
    let (_, higher) = pid_and_token(&next.wrote(" indexer "));
    assert!(token < higher);
    assert!(!is_alive(pid), "the old program is gone before the next one runs");
    frozen.signal(Signal::CONT);
    assert_eq!(wait(&mut frozen.process), Some(0), "with --once it ends after the loss");
}

#[test]
fn everything_a_program_started_ends_with_its_lead() {
    let place = Place::new();
    let served = place.serve("");
    let daemon = "#!/bin/sh\nsetsid sleep 1000 &\necho \"$! daemon\" >> \"$1\"\n\
        echo \"$$ started\" >> \"$1\"\nsleep 1000\n";
    let lead = Lead::start(&place, &served, "daemon", "", daemon);
    let program = pid(&lead.wrote("started"));
    let daemon = pid(&lead.wrote("daemon"));
    lead.signal(Signal::KILL);
    until("the program to end", || (!is_alive(program)).then_some(()));
    until("what it left behind to end", || (!is_alive(daemon)).then_some(()));
}

#[test]
fn sigterm_stops_the_program_and_hands_the_role_to_the_one_in_line() {
    let place = Place::new();
    let served = place.serve("");
    let polite = "#!/bin/sh\ntrap 'echo \"$$ bye\" >> \"$1\"; exit 0' TERM\n\
        echo \"$$ indexer $CLAWHOLD_TOKEN\" >> \"$1\"\nwhile :; do sleep 0.05; done\n";
    let mut leader = Lead::start(&place, &served, "leader", "", polite);
    leader.wrote(" indexer ");
    let next = Lead::start(&place, &served, "next", "", LEADER);
    candidates(&served, 1);
    leader.signal(Signal::TERM);
    leader.wrote("bye");
    assert_eq!(wait(&mut leader.process), Some(0));
    next.wrote(" indexer ");
}

#[test]
fn a_hand_over_that_is_asked_lets_the_program_stop_and_leaves_no_gap() {
    let place = Place::new();
    let served = place.serve("");
    // A program that finishes what it does: the line `stop` says why and how long it may take.
    let finishing = "#!/bin/sh\ntrap : TERM\nwhile :; do read -r line && echo \"$$ $line\" >> \"$1\"\n\
        case $line in stop*) exit 0;; esac; done\n";
    let leader = Lead::start(&place, &served, "leader", "--standby", finishing);
    leader.wrote("promoted token=");
    let next = Lead::start(&place, &served, "next", "--standby", STANDBY);
    next.wrote("clawhold 1 standby role=indexer position=0");
    candidates(&served, 1);
    let ask = AskHandOver { to: Some("next".to_owned()), within_ms: Some(20_000) };
    block_on(served.client().ask_hand_over("indexer", &ask)).unwrap();
    leader.wrote("reason=hand-over");
    next.wrote("promoted token=");
    let history = block_on(served.client().role_history("indexer")).unwrap();
    let causes: Vec<&str> = history.items.iter().map(|change| change.cause.as_str()).collect();
    assert!(causes.contains(&"handed over"), "{causes:?}");
    assert!(!causes.contains(&"released"), "{causes:?}");
    // The one that handed over stands in line again, with a new program.
    candidates(&served, 1);
}

#[test]
fn a_commit_under_an_overtaken_token_changes_nothing() {
    let place = Place::new();
    let served = place.serve("");
    let events = vec![Json::null(), Json::null()];
    block_on(served.client().append("files", &Append { events, expected: None })).unwrap();
    let late = "#!/bin/sh\ncommit() { \"$CLAWHOLD\" commit --token \"$1\" --position \"$2\"; }\n\
        commit \"$CLAWHOLD_TOKEN\" 1; echo \"current $?\" >> \"$1\"\n\
        commit $((CLAWHOLD_TOKEN - 1)) 2; echo \"overtaken $?\" >> \"$1\"\nexec sleep 1000\n"
        .replace("$CLAWHOLD\"", &format!("{CLAWHOLD}\""));
    let lead = Lead::start(&place, &served, "late", "--stream files", &late);
    lead.wrote("current 0");
    lead.wrote("overtaken 4");
    let positions = block_on(served.client().positions("files")).unwrap().positions;
    assert_eq!(positions[0].through, 1);
}

#[test]
fn the_script_in_the_documentation_coordinates() {
    let place = Place::new();
    let served = place.serve("");
    let events = vec![Json::of("a.txt").unwrap(), Json::parse("{\"b\": \"c  d\"}").unwrap()];
    let client = served.client();
    block_on(client.append("files", &Append { events, expected: None })).unwrap();
    fs::create_dir(place.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(CLAWHOLD, place.path().join("bin/clawhold")).unwrap();
    let page = include_str!("../../../../docs/lead-protocol.md");
    let (_, script) = page.split_once("    #!/bin/sh\n").unwrap();
    let lines = script.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
    let script: String = lines.map(|line| format!("{line}\n")).collect();
    let path = format!("PATH={}/bin:$PATH", place.path().display());
    let script = format!("#!/bin/sh\n{path}\n{script}");
    let _lead = Lead::start(&place, &served, "script", "--standby --stream files", &script);
    let through = || {
        let positions = block_on(client.positions("files")).unwrap().positions;
        positions.first().map(|position| position.through).filter(|through| *through == 2)
    };
    until("both events to be dealt with", through);
    let payload = |id| block_on(client.job(id)).unwrap().payload.unwrap().get().to_owned();
    assert_eq!((payload(1), payload(2)), ("\"a.txt\"".to_owned(), "{\"b\": \"c  d\"}".to_owned()));
}

#[test]
fn a_commit_that_lacks_something_names_it() {
    let place = Place::new();
    for (line, missing) in [
        ("commit --position 1", "--stream is not given"),
        ("commit --job mail=1", "--role is not given"),
        ("commit --job mail=1 --role r", "--session is not given"),
        ("commit --job mail=1 --role r --session 1.0123456789abcdef", "--token is not given"),
        ("commit --job mail", "has no `=`"),
        ("commit --job mail={", "has no JSON after `=`"),
        ("commit", "there is nothing to commit"),
    ] {
        let said = place.run(line);
        assert_eq!(said.code, 2, "{line}: {}", said.err);
        assert!(said.err.contains(missing), "{line}: {}", said.err);
    }
}

#[test]
fn a_lead_that_cannot_work_says_why() {
    let place = Place::new();
    let said = place.run("lead indexer");
    assert_eq!(said.code, 2, "{}", said.err);
    let said = place.run("lead indexer --ttl 100ms -- true");
    assert_eq!(said.code, 2);
    assert!(said.err.contains("200ms to 1d"), "{}", said.err);
    let said = place.run("lead ../indexer -- true");
    assert_eq!(said.code, 2, "{}", said.err);
    let said = place.run("lead indexer -- ./no-such-program");
    assert_eq!(said.code, 127);
    assert!(said.err.contains("cannot start \"./no-such-program\""), "{}", said.err);
    let said = place.run("lead indexer -- sh -c 'exit 7'");
    assert_eq!(said.code, 7, "{}", said.err);
}

fn candidates(served: &Served, count: u64) {
    until("the next in line", || {
        let role = block_on(served.client().role("indexer"));
        match role {
            Ok(role) => (role.holder.is_some() && role.candidates_count == count).then_some(()),
            Err(error) if error.is(Code::NotFound) => None,
            Err(error) => panic!("{error}"),
        }
    });
}

fn pid_and_token(line: &str) -> (u32, u64) {
    let words: Vec<&str> = line.split(' ').collect();
    (words[0].parse().unwrap(), words[2].parse().unwrap())
}

fn pid(line: &str) -> u32 {
    line.split(' ').next().unwrap().parse().unwrap()
}

fn number_after(line: &str, mark: &str) -> u64 {
    let (_, rest) = line.split_once(mark).unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

/// Waits for what `found` finds.
pub(crate) fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < end, "waited {PATIENCE:?} for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn kill(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Tells whether a process runs; a zombie does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}
