//! What is different between two forms of one definition, field by field.

use clawhold_api::automation::definition::{FieldChange, Spec};
use clawhold_api::json::Json;
use serde_json::{Map, Value};

use crate::http::error::Rejected;

/// Returns what is different, in the order of the fields' names.
pub(super) fn between(before: &Spec, after: &Spec) -> Vec<FieldChange> {
    let (before, after) = (object(before), object(after));
    let mut fields: Vec<&String> = before.keys().chain(after.keys()).collect();
    fields.sort_unstable();
    fields.dedup();
    let changed = fields.into_iter().filter(|field| before.get(*field) != after.get(*field));
    let shown = changed.map(|field| FieldChange {
        field: field.clone(),
        before: json(before.get(field)),
        after: json(after.get(field)),
    });
    shown.collect()
}

fn object(spec: &Spec) -> Map<String, Value> {
    match serde_json::to_value(spec) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    }
}

fn json(value: Option<&Value>) -> Json {
    value.and_then(|value| Json::of(value).ok()).unwrap_or_else(Json::null)
}

/// Returns a definition with the fields that a change names.
pub(super) fn patched(known: &Spec, patch: Value) -> Result<Spec, Rejected> {
    let mut fields = object(known);
    let Value::Object(mut named) = patch else { return Err(Rejected::broken("a change")) };
    named.remove("version");
    if named.remove("no_sink") == Some(Value::Bool(true)) {
        fields.remove("sink");
    }
    fields.extend(named);
    serde_json::from_value(Value::Object(fields)).map_err(|_| Rejected::broken("a change"))
}

#[cfg(test)]
mod tests {
    use clawhold_api::automation::definition::{AutoFix, Channel, Sink};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_touches_only_the_fields_that_it_names() {
        let fix = AutoFix {
            name: "a".to_owned(),
            condition: "lease.expired".to_owned(),
            cooldown: Some("15m".to_owned()),
            ..AutoFix::default()
        };
        let before = Spec::AutoFix(fix);
        let after = patched(&before, json!({"cooldown": "", "version": 3})).unwrap();
        let Spec::AutoFix(fix) = &after else { panic!("an auto-fix") };
        assert_eq!((fix.condition.as_str(), fix.cooldown.as_deref()), ("lease.expired", Some("")));
        let changes = between(&before, &after);
        assert_eq!(changes.len(), 1);
        assert_eq!((changes[0].field.as_str(), changes[0].before.get()), ("cooldown", "\"15m\""));
    }

    #[test]
    fn a_sink_is_taken_away_when_that_is_said() {
        let sink = Some(Sink::Slack { url: "(hidden)".to_owned() });
        let before = Spec::Channel(Channel { name: "#a".to_owned(), sink, ..Channel::default() });
        let Spec::Channel(kept) = patched(&before, json!({"no_sink": false})).unwrap() else {
            panic!("a channel")
        };
        assert!(kept.sink.is_some());
        let Spec::Channel(bare) = patched(&before, json!({"no_sink": true})).unwrap() else {
            panic!("a channel")
        };
        assert_eq!(bare.sink, None);
    }
}
