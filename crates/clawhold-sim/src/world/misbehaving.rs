//! What servers do under a rule that is broken on purpose.

use clawhold_core::beat::{Beat, BeatAnswer, LeadAnswer, LeadOutcome};
use clawhold_core::command::{Command, ExpireRole, Request};
use clawhold_core::record::Record;
use clawhold_core::replica::{Call, Event, LogRecord, Mode};
use clawhold_core::units::Position;

use super::{Replied, Submitted, World};
use crate::rule::Rule;
use crate::server::Order;

impl World {
    /// Answers a request before its entry is durable.
    pub(super) fn answer_early(&mut self, submitted: &Submitted) {
        let Some(it) = self.servers[submitted.server].as_ref() else { return };
        if self.script.rule != Some(Rule::AnswerEarly) || it.replica.mode() != Mode::Active {
            return;
        }
        let mut state = it.replica.state().clone();
        let mut stamp = state.last();
        stamp.position = Position(stamp.position.0 + 1);
        let applied = state.apply(stamp, &submitted.request);
        self.reply(Replied {
            client: submitted.client,
            request: submitted.number,
            position: stamp.position,
            answer: applied.answer,
            recorded: None,
        });
    }

    /// Confirms the renewal of leases that are over.
    pub(super) fn distort_beat(&self, mut answer: BeatAnswer) -> BeatAnswer {
        if self.script.rule == Some(Rule::RenewOvertaken) {
            for lead in &mut answer.leads {
                if matches!(lead.outcome, LeadOutcome::Lost { .. }) {
                    let valid_ms = self.script.lease_ttl_ms;
                    lead.outcome = LeadOutcome::Renewed { valid_ms, asked: None };
                }
            }
        }
        answer
    }

    /// Returns what a server answers that goes on after its hold has lapsed.
    pub(super) fn confirm_late(&self, server: usize, beat: &Beat) -> Option<BeatAnswer> {
        let it = self.servers[server].as_ref()?;
        let is_late = it.replica.mode() == Mode::Active && it.replica.hold_left_ms() == 0;
        if self.script.rule != Some(Rule::ConfirmLate) || !is_late {
            return None;
        }
        let (valid_ms, leads) = (self.script.lease_ttl_ms, beat.leads.iter());
        let leads = leads.map(|(role, token)| LeadAnswer {
            role: role.clone(),
            token: *token,
            outcome: LeadOutcome::Renewed { valid_ms, asked: None },
        });
        Some(BeatAnswer {
            valid_ms,
            leads: leads.collect(),
            granted: Vec::new(),
            superseded: Vec::new(),
            cancelled: Vec::new(),
            drain: None,
        })
    }

    /// Ends leases by the time of their grant, whatever was renewed since.
    pub(super) fn break_as_server(&mut self, server: usize) {
        if self.script.rule != Some(Rule::ForgetRenewals) {
            return;
        }
        let Some(it) = self.servers[server].as_ref() else { return };
        if it.replica.mode() != Mode::Active || it.replica.waiting_count() > 0 {
            return;
        }
        let served = it.replica.served();
        let lapsed = it.replica.state().roles().lapsing_by(served).next();
        let Some((role, token)) = lapsed.map(|(role, lease)| (role.clone(), lease.token)) else {
            return;
        };
        self.calls += 1;
        let call = Call(self.calls);
        let command = Command::ExpireRole(ExpireRole { role, token });
        let request = Request { id: None, actor: None, command };
        self.step(server, Event::Submit { call, request });
    }

    /// Lets a follower read some requests twice.
    pub(super) fn apply_twice(&self, order: &Order, event: Event) -> Event {
        let follows = matches!(order, Order::Follow { .. });
        if self.script.rule != Some(Rule::ApplyTwice) || !follows {
            return event;
        }
        let Event::Read(records) = event else { return event };
        let twice = |record: LogRecord| {
            let Ok(mut read) = Record::decode(&record.body) else { return record };
            let is_append = |request: &&Request| matches!(request.command, Command::Append(_));
            let Some(mut again) = read.requests.iter().find(is_append).cloned() else {
                return record;
            };
            again.id = None;
            read.requests.push(again);
            LogRecord { body: read.encode(), ..record }
        };
        Event::Read(records.into_iter().map(twice).collect())
    }
}
