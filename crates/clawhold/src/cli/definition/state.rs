//! One definition in full: what it says, its plan, and where an auto-fix stands.

use crate::api::automation::Target;
use crate::api::automation::definition::{Definition, FixState, Spec};
use crate::cli::definition::{Asked, facts, plan, remarks};
use crate::output::{Reply, Style};
use crate::table::{Sheet, Table};

/// Returns what is shown of a definition.
pub(super) fn shown(definition: &Definition) -> Reply {
    let mut sheet = Sheet::default();
    sheet
        .field(definition.kind.as_str(), &definition.name)
        .field("in force", if definition.enabled { "yes" } else { "no" })
        .field("version", format!("{}, since {}", definition.version, definition.changed));
    facts::add_all(&mut sheet, &definition.spec);
    let mut reply = Reply::of(definition).sheet(sheet);
    if let Spec::Agent(agent) = &definition.spec {
        for (at, text) in agent.messages.iter().enumerate() {
            let mut lines = text.lines();
            reply = reply.line(format!("  {}. {}", at + 1, lines.next().unwrap_or_default()));
            for line in lines {
                reply = reply.line(format!("     {line}"));
            }
        }
    }
    if !definition.plan.is_empty() {
        reply = plan(reply.line(""), definition, Asked::ToKeep);
    }
    if let Some(fix) = &definition.fix {
        reply = stands(reply, fix);
    }
    remarks(reply, definition)
}

/// Adds where an auto-fix stands.
fn stands(mut reply: Reply, fix: &FixState) -> Reply {
    if !fix.left.is_empty() {
        let frees = fix.free_at.as_ref().map_or(String::new(), |at| format!(", frees at {at}"));
        reply = reply.line("").line(format!("left: {}{frees}", fix.left.join(", ")));
    }
    if fix.targets.is_empty() {
        return reply;
    }
    let mut table =
        Table::new(&["TARGET", "HOLDS SINCE", "DECIDED", "BECAUSE", "MAY RUN AT", "LAST RUN"]);
    for known in &fix.targets {
        let tripped = known.tripped.as_ref().map(|at| format!("tripped at {at}"));
        table.row([
            target(&known.target),
            known.since.clone().unwrap_or_default(),
            tripped.or_else(|| known.reason.clone()).unwrap_or_default(),
            known.detail.clone(),
            known.free_at.clone().unwrap_or_default(),
            known.last_ended.clone().unwrap_or_default(),
        ]);
    }
    let is_tripped = fix.targets.iter().any(|known| known.tripped.is_some());
    let reply = reply.line("").table(table);
    if is_tripped {
        return reply
            .styled(Style::Warn, "what is tripped rests until it is well for 1h, or is reset");
    }
    reply
}

/// Returns what people call a target.
pub(super) fn target(target: &Target) -> String {
    match target.id {
        Some(id) if target.kind == "worker" => format!("worker {} ({id})", target.name),
        Some(_) | None => format!("{} {}", target.kind, target.name),
    }
}
