//! What `add` and `edit` have in common: the name, how it is done, lists as people type them.

use clap::Args;
use serde_json::Value;

use crate::api::automation::Noun;
use crate::api::automation::definition::DefineQuery;
use crate::cli::definition::Asked;
use crate::text::quoted;

/// The name of what is added, as `--name NAME` or as it stands.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct NewName {
    /// Its name
    #[arg(long = "name", value_name = "NAME", allow_hyphen_values = true)]
    flag: Option<String>,
    /// Its name, without a flag
    #[arg(value_name = "NAME")]
    word: Option<String>,
}

/// How a definition is added or changed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct How {
    /// Refuse when a sentence is not understood, instead of keeping it as a step for a person
    #[arg(long)]
    strict: bool,
    /// Change nothing, only show what would be
    #[arg(long)]
    dry_run: bool,
}

impl NewName {
    /// Returns the name.
    pub(crate) fn get(self) -> String {
        self.flag.or(self.word).unwrap_or_default()
    }
}

impl How {
    /// Returns how what is not understood is told.
    pub(crate) fn asked(self) -> Asked {
        if self.dry_run { Asked::ToShow } else { Asked::ToKeep }
    }
}

impl From<How> for DefineQuery {
    fn from(how: How) -> Self {
        let set = |flag: bool| flag.then_some(true);
        Self { strict: set(how.strict), dry_run: set(how.dry_run) }
    }
}

/// Returns the items of values that may each be a comma list: `a, b` and `c` are `a`, `b`, `c`.
pub(crate) fn list(values: Vec<String>) -> Vec<String> {
    let items = values.iter().flat_map(|value| value.split(','));
    let items = items.map(str::trim).filter(|item| !item.is_empty());
    items.map(str::to_owned).collect()
}

/// Returns the items of values if any value was given; an empty one stands for an empty list.
pub(crate) fn list_if(values: Option<Vec<String>>) -> Option<Vec<String>> {
    values.map(list)
}

/// Reads a flag that may be given alone: `--observe`, `--observe=false`.
pub(crate) fn flag(text: &str) -> Result<bool, String> {
    match text {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err("allowed is true or false".to_owned()),
    }
}

/// Tells whether a patch names nothing.
pub(crate) fn says_nothing(patch: &Value) -> bool {
    let Value::Object(fields) = patch else { return false };
    fields.iter().all(|(_, value)| value.is_null() || *value == Value::Bool(false))
}

/// Returns the line that changes the definition of this name as the arguments of an `add` say.
pub(crate) fn edit_line(noun: Noun, name: &str, argv: &[String]) -> String {
    let at = argv.iter().position(|word| word == "add").map_or(argv.len(), |at| at + 1);
    let mut line = format!("clawhold {noun} edit {}", quoted(name));
    let mut words = argv[at..].iter();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            _ if word == "--name" => {
                words.next();
            }
            _ if word == name => {}
            Some(("--name", _)) => {}
            Some((flag, value)) if flag.starts_with("--") => {
                line.push_str(&format!(" {flag}={}", quoted(value)));
            }
            _ if word.starts_with("--") => line.push_str(&format!(" {word}")),
            _ => line.push_str(&format!(" {}", quoted(word))),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_list_and_a_flag_given_twice_are_the_same() {
        let items = |values: &[&str]| list(values.iter().map(|v| (*v).to_owned()).collect());
        assert_eq!(items(&["automation,leadership"]), ["automation", "leadership"]);
        assert_eq!(
            items(&["AWS Production, Staging", "Lab"]),
            ["AWS Production", "Staging", "Lab"]
        );
        assert!(items(&["", " , "]).is_empty());
        assert_eq!(list_if(None), None);
        assert_eq!(list_if(Some(vec![String::new()])), Some(vec![]));
    }

    #[test]
    fn an_add_of_what_is_there_becomes_the_edit_that_changes_it() {
        let argv = ["auto-fix", "add", "--name", "Promote Standby", "--cooldown", "5m", "--json"];
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(
            edit_line(Noun::AutoFix, "Promote Standby", &argv),
            "clawhold auto-fix edit \"Promote Standby\" --cooldown \"5m\" --json"
        );
        let argv = ["agent", "add", "--name=x y", "--about=it's $HOME"];
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(
            edit_line(Noun::Agent, "x y", &argv),
            "clawhold agent edit \"x y\" --about=\"it's \\$HOME\""
        );
    }

    #[test]
    fn a_patch_without_a_value_says_nothing() {
        assert!(says_nothing(&serde_json::json!({})));
        assert!(says_nothing(&serde_json::json!({"no_sink": false})));
        assert!(!says_nothing(&serde_json::json!({"tags": []})));
    }
}
