//! What became of a definition: its versions, runs, decisions and alerts.

use crate::api::Json;
use crate::api::automation::Noun;
use crate::api::automation::definition::{FieldChange, History, Version};
use crate::cli::alert;
use crate::cli::definition::state::target;
use crate::cli::run;
use crate::output::{Reply, Style};
use crate::table::Table;
use crate::text::quoted;

/// Returns what is shown of a definition's history.
pub(super) fn reply(noun: Noun, name: &str, history: &History) -> Reply {
    let reply = Reply::of(history);
    if history.versions.is_empty() {
        return reply.line(format!("{noun} {} has no history yet", quoted(name)));
    }
    let mut reply = reply.table(versions(&history.versions));
    for known in &history.runs {
        reply = reply.line("");
        for (style, line) in run::lines(known) {
            reply = reply.styled(style, line);
        }
    }
    if !history.decisions.is_empty() {
        reply = reply.line("").table(decisions(history));
    }
    if !history.alerts.is_empty() {
        reply = reply.line("").table(alert::table(&history.alerts));
    }
    reply
}

fn versions(versions: &[Version]) -> Table {
    let mut table = Table::new(&["VERSION", "AT", "WHO", "WHAT", "CHANGED"]);
    for version in versions {
        let fields: Vec<&str> = version.difference.iter().map(|c| c.field.as_str()).collect();
        table.row([
            version.number.to_string(),
            version.at.clone(),
            version.actor.clone().unwrap_or_default(),
            version.act.clone(),
            fields.join(", "),
        ]);
    }
    table
}

fn decisions(history: &History) -> Table {
    let mut table = Table::new(&["LAST", "TIMES", "TARGET", "DECIDED", "BECAUSE", "RUN"]);
    for decision in &history.decisions {
        table.row([
            decision.last.clone(),
            decision.count.to_string(),
            target(&decision.target),
            decision.reason.clone(),
            decision.detail.clone(),
            decision.run.map_or(String::new(), |run| run.to_string()),
        ]);
    }
    table
}

/// Returns the lines of one field that is different: what went, then what came.
pub(crate) fn difference(change: &FieldChange) -> Vec<(Style, String)> {
    let (before, after) = (items(&change.before), items(&change.after));
    let gone = before.iter().filter(|item| !after.contains(item));
    let came = after.iter().filter(|item| !before.contains(item));
    let line = |sign: &str, item: &String| format!("{sign} {}: {item}", change.field);
    let gone = gone.map(|item| (Style::Bad, line("-", item)));
    let came = came.map(|item| (Style::Good, line("+", item)));
    gone.chain(came).collect()
}

/// Returns the items of a value: those of a list, or the one it is.
fn items(value: &Json) -> Vec<String> {
    let text = |json: &Json| json.read::<String>().unwrap_or_else(|_| json.get().to_owned());
    match value.read::<Vec<Json>>() {
        Ok(list) => list.iter().map(text).collect(),
        Err(_) if value.get() == "null" => Vec::new(),
        Err(_) => vec![text(value)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_items_that_went_or_came_are_shown() {
        let change = |before: &str, after: &str| FieldChange {
            field: "messages".to_owned(),
            before: Json::parse(before).unwrap(),
            after: Json::parse(after).unwrap(),
        };
        let lines = difference(&change("[\"a\"]", "[\"a\",\"b\"]"));
        assert_eq!(lines, [(Style::Good, "+ messages: b".to_owned())]);
        let lines = difference(&change("\"5m\"", "null"));
        assert_eq!(lines, [(Style::Bad, "- messages: 5m".to_owned())]);
        let lines = difference(&change("300000", "60000"));
        assert_eq!(
            lines,
            [
                (Style::Bad, "- messages: 300000".to_owned()),
                (Style::Good, "+ messages: 60000".to_owned())
            ]
        );
    }
}
