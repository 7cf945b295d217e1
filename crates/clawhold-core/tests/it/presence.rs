//! The presence lock: it tells at once that the active server is gone, and so it has to be that
//! server's.

use clawhold_core::State;
use clawhold_core::answer::Answer;
use clawhold_core::command::{Command, Request, TakeOver};
use clawhold_core::record::{RECORD_VERSION, Record};
use clawhold_core::replica::{
    Action, Append, Call, Config, Event, LogRecord, Mode, Now, Presence, Replica,
};
use clawhold_core::units::{Epoch, RecordNumber, Text, Timestamp};

const HOLD_MS: u64 = 900;

#[test]
fn nobody_leads_before_it_is_told_whose_the_lock_is() {
    let mut replica = replica(1);
    assert_eq!(replica.step(now(1), Event::Tick).unwrap(), []);
    let actions = replica.step(now(2), Event::Presence(Presence::Ours)).unwrap();
    assert!(matches!(actions[..], [Action::TakeOver { epoch: Epoch(1), .. }]), "{actions:?}");
}

#[test]
fn a_standby_leaves_the_lock_to_the_server_that_leads_without_it() {
    let mut replica = replica(1);
    follow(&mut replica, false);
    let actions = replica.step(now(20), Event::Presence(Presence::Ours)).unwrap();
    assert_eq!(actions, [Action::LeavePresence]);
    assert_eq!(replica.step(now(21), Event::Tick).unwrap(), [], "once is enough");
    assert_eq!(replica.mode(), Mode::Standby);
}

#[test]
fn a_standby_that_gets_the_lock_of_the_server_that_leads_takes_over_at_once() {
    let mut replica = replica(1);
    follow(&mut replica, true);
    let actions = replica.step(now(20), Event::Presence(Presence::Ours)).unwrap();
    assert!(matches!(actions[..], [Action::TakeOver { epoch: Epoch(2), .. }]), "{actions:?}");
}

#[test]
fn a_server_that_gets_the_lock_after_its_takeover_says_so_once_however_much_waits() {
    let mut replica = replica(1);
    // It leads by the hold, while another process still has the lock.
    replica.step(now(1), Event::Presence(Presence::Others)).unwrap();
    let silent = replica.step(now(2 * HOLD_MS), Event::Tick).unwrap();
    assert!(matches!(silent[..], [Action::ReadBack { .. }]), "{silent:?}");
    let actions = replica.step(now(2 * HOLD_MS), Event::Read(Vec::new())).unwrap();
    let [Action::TakeOver { epoch, body }] = &actions[..] else { panic!("{actions:?}") };
    let record = LogRecord { number: RecordNumber(1), epoch: *epoch, body: body.clone() };
    replica.step(now(2 * HOLD_MS + 1), Event::TookOver(true)).unwrap();
    replica.step(now(2 * HOLD_MS + 1), Event::Read([record].into())).unwrap();
    while replica.apply_next().is_some() {}
    assert_eq!(replica.mode(), Mode::Active);
    let mut sent = 0;
    for round in 0..20 {
        let at = now(2 * HOLD_MS + 2 + round);
        if round == 3 {
            replica.step(at, Event::Presence(Presence::Ours)).unwrap();
        }
        // Something waits whenever a batch is cut.
        for call in 0..3 {
            let request = Request { id: None, actor: None, command: Command::Tick };
            let event = Event::Submit { call: Call(100 * round + call), request };
            let actions = replica.step(at, event).unwrap();
            sent += actions.iter().filter(|action| says_present(action)).count();
        }
        let actions = replica.step(at, Event::Appended(Append::Done)).unwrap();
        sent += actions.iter().filter(|action| says_present(action)).count();
        while let Some((_, applied)) = replica.apply_next() {
            assert_eq!(applied.answer, Ok(Answer::Done));
        }
        let actions = replica.step(at, Event::Tick).unwrap();
        sent += actions.iter().filter(|action| says_present(action)).count();
    }
    assert!(replica.state().active().unwrap().present);
    assert_eq!(sent, 1);
}

fn replica(nonce: u64) -> Replica {
    let config = Config { advertise: Text::default(), hold_ms: HOLD_MS, nonce };
    Replica::new(config, State::default(), RecordNumber(1), now(0))
}

fn now(uptime_ms: u64) -> Now {
    Now { at: Timestamp(1_700_000_000_000 + uptime_ms), uptime_ms }
}

/// Lets a replica read that another server leads.
fn follow(replica: &mut Replica, present: bool) {
    let command = Command::TakeOver(TakeOver {
        epoch: Epoch(1),
        advertise: Text::default(),
        hold_ms: HOLD_MS,
        nonce: 2,
        present,
        former_gone: true,
    });
    let requests = [Request { id: None, actor: None, command }].into();
    let record = Record { version: RECORD_VERSION, at: now(5).at, elapsed_ms: 0, requests };
    let (number, epoch, body) = (RecordNumber(1), Epoch(1), record.encode());
    replica.step(now(10), Event::Presence(Presence::Others)).unwrap();
    replica.step(now(10), Event::Read([LogRecord { number, epoch, body }].into())).unwrap();
    while replica.apply_next().is_some() {}
}

fn says_present(action: &Action) -> bool {
    let Action::Append { body, .. } = action else { return false };
    let record = Record::decode(body).unwrap();
    record.requests.iter().any(|request| matches!(request.command, Command::Present(_)))
}
