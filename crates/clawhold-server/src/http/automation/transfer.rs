//! Definitions as one document: exported, and made as in one, all or none.

use axum::Json;
use axum::extract::State;
use clawhold_api::automation::definition as definition_wire;
use clawhold_api::automation::transfer as wire;
use clawhold_core::answer::Answer;
use clawhold_core::catalog::{Catalog, Definition, Noun};
use clawhold_core::command::{Automate, Define, Expect, Import, RemoveDefinition};
use clawhold_core::limits;
use clawhold_core::replica::Replica;
use clawhold_core::units::Title;
use sha2::{Digest, Sha256};

use super::definition::automate;
use super::kind::{self, Wanted};
use super::{difference, plural, trial, value};
use crate::http::Room;
use crate::http::body::Body;
use crate::http::call::{Call, Written};
use crate::http::convert;
use crate::http::error::Rejected;
use crate::http::query::Query;

pub(super) async fn export(
    State(room): State<Room>,
    Query(query): Query<wire::ExportQuery>,
) -> Result<Json<wire::Definitions>, Rejected> {
    let only = value::given(query.kind.as_deref()).map(|word| {
        let noun = clawhold_api::Noun::parse(word).map(kind::noun);
        let words = clawhold_api::Noun::ALL.map(clawhold_api::Noun::as_str).join(", ");
        noun.ok_or_else(|| Rejected::field("kind", word, &words))
    });
    let only = only.transpose()?;
    let exported = room.read(move |replica| {
        let catalog = replica.state().automation().catalog();
        let mut all = wire::Definitions::default();
        for noun in Noun::ALL.into_iter().filter(|noun| only.is_none_or(|only| only == *noun)) {
            for known in catalog.list(noun, None) {
                put(&mut all, kind::show_known(known));
            }
        }
        Ok(all)
    });
    exported.await.map(Json)
}

fn put(all: &mut wire::Definitions, spec: definition_wire::Spec) {
    use definition_wire::Spec;

    match spec {
        Spec::Agent(spec) => all.agents.push(spec),
        Spec::Command(spec) => all.commands.push(spec),
        Spec::AlertRule(spec) => all.alert_rules.push(spec),
        Spec::AlertRoute(spec) => all.alert_routes.push(spec),
        Spec::AutoFix(spec) => all.auto_fixes.push(spec),
        Spec::Runbook(spec) => all.runbooks.push(spec),
        Spec::Channel(spec) => all.channels.push(spec),
        Spec::Source(spec) => all.sources.push(spec),
    }
}

/// Returns each definition of a document.
fn each(all: wire::Definitions) -> Vec<definition_wire::Spec> {
    use definition_wire::Spec;

    let agents = all.agents.into_iter().map(Spec::Agent);
    let commands = all.commands.into_iter().map(Spec::Command);
    let rules = all.alert_rules.into_iter().map(Spec::AlertRule);
    let routes = all.alert_routes.into_iter().map(Spec::AlertRoute);
    let fixes = all.auto_fixes.into_iter().map(Spec::AutoFix);
    let runbooks = all.runbooks.into_iter().map(Spec::Runbook);
    let channels = all.channels.into_iter().map(Spec::Channel);
    let sources = all.sources.into_iter().map(Spec::Source);
    let nouns = agents.chain(commands).chain(rules).chain(routes);
    nouns.chain(fixes).chain(runbooks).chain(channels).chain(sources).collect()
}

pub(super) async fn import(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::Import>,
) -> Result<Written<wire::Imported>, Rejected> {
    let (dry_run, prune, asked) = (body.dry_run, body.prune, digest(&body)?);
    let specs = each(body.definitions);
    convert::count("definitions", specs.len(), 0, limits::DEFINITIONS_MAX)?;
    if prune && specs.is_empty() {
        let allowed = "at least one definition: --prune with an empty file would remove them all";
        return Err(Rejected::field("definitions", "empty", allowed));
    }
    let _turn = room.edits.lock().await;
    let read = room.read(move |replica| Planned::of(replica, &specs, prune, asked));
    let planned = read.await?;
    if dry_run {
        return Ok(Written {
            position: planned.position,
            replayed: false,
            body: planned.shown(true),
        });
    }
    let import = planned.import.clone();
    let written = room.write(call, automate(Automate::Import(import)), move |_, answer| {
        let Answer::Imported { added, changed, removed } = answer else {
            return Err(Rejected::broken("import definitions"));
        };
        // An answer that was given before says what was done then.
        let all = planned.import.definitions.len() as u64 + planned.unchanged;
        let unchanged = all.saturating_sub(*added).saturating_sub(*changed);
        let (added, changed, removed) = (*added, *changed, *removed);
        Ok(wire::Imported { added, changed, removed, unchanged, ..planned.shown(false) })
    });
    written.await
}

/// Returns 64 bits of a digest over what is asked.
fn digest(body: &wire::Import) -> Result<u64, Rejected> {
    let text = serde_json::to_vec(body).map_err(|_| Rejected::broken("an import"))?;
    let digest = Sha256::digest(&text);
    Ok(digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// What an import would do.
#[derive(Debug)]
struct Planned {
    position: u64,
    import: Import,
    items: Vec<wire::ImportedItem>,
    unchanged: u64,
}

impl Planned {
    fn of(
        replica: &Replica,
        specs: &[definition_wire::Spec],
        prune: bool,
        asked: u64,
    ) -> Result<Self, Rejected> {
        let state = replica.state();
        let catalog = state.automation().catalog();
        let mut wanted: Vec<(&'static str, Wanted)> = Vec::new();
        for spec in specs {
            let noun = kind::noun(spec.noun());
            let known = Title::parse(spec.name()).ok();
            let known = known.and_then(|title| catalog.get(noun, &title));
            let one = kind::wanted(spec, known.map(|known| &known.spec));
            let one = one.map_err(|rejected| placed(rejected, noun, spec.name()))?;
            let twice = wanted
                .iter()
                .any(|(_, other)| other.title == one.title && other.spec.noun() == one.spec.noun());
            if twice {
                let field = format!("definitions.{}", plural(noun).replace('-', "_"));
                return Err(Rejected::field(&field, spec.name(), "each name once"));
            }
            wanted.push((plural(noun), one));
        }
        let remove = if prune { pruned(catalog, &wanted) } else { Vec::new() };
        let all = wanted.len() as u64;
        let definitions: Vec<Define> = wanted
            .into_iter()
            .filter(|(_, one)| !is_as_wanted(catalog, one))
            .map(|(_, one)| Define {
                title: one.title,
                spec: one.spec,
                expect: Expect::Any,
                enabled: one.enabled,
            })
            .collect();
        let import = Import { definitions, remove, asked: Some(asked) };
        let after = catalog.trial(state.last(), &import);
        let after = after.map_err(|refusal| Rejected::known(state, &refusal))?;
        let items = items(replica, catalog, &after, &import);
        let unchanged = all - import.definitions.len() as u64;
        Ok(Self { position: state.last().position.0, import, items, unchanged })
    }

    fn shown(&self, dry_run: bool) -> wire::Imported {
        let count =
            |change: &str| self.items.iter().filter(|item| item.change == change).count() as u64;
        wire::Imported {
            dry_run,
            added: count("added"),
            changed: count("changed"),
            removed: count("removed"),
            unchanged: self.unchanged,
            items: self.items.clone(),
        }
    }
}

fn is_as_wanted(catalog: &Catalog, wanted: &Wanted) -> bool {
    let known = catalog.get(wanted.spec.noun(), &wanted.title);
    known.is_some_and(|known| {
        known.spec == wanted.spec && wanted.enabled.is_none_or(|enabled| enabled == known.enabled)
    })
}

/// Returns the problem with the place in the document at which it arose.
fn placed(mut rejected: Rejected, noun: Noun, name: &str) -> Rejected {
    let place = format!("definitions.{}[{name:?}]", plural(noun).replace('-', "_"));
    let problem = &mut rejected.0;
    problem.detail = format!("{place}: {}", problem.detail);
    problem.field = Some(match problem.field.take() {
        Some(field) => format!("{place}.{field}"),
        None => place,
    });
    rejected
}

/// Returns what is there and not in the document.
fn pruned(catalog: &Catalog, wanted: &[(&'static str, Wanted)]) -> Vec<RemoveDefinition> {
    let all = Noun::ALL.into_iter().flat_map(|noun| catalog.list(noun, None));
    let gone = all.filter(|known| {
        !wanted.iter().any(|(_, one)| one.title == known.title && one.spec.noun() == known.noun())
    });
    gone.map(|known| RemoveDefinition { noun: known.noun(), title: known.title.clone() }).collect()
}

fn items(
    replica: &Replica,
    before: &Catalog,
    after: &Catalog,
    import: &Import,
) -> Vec<wire::ImportedItem> {
    let item = |noun: Noun, title: &Title, change: &str| wire::ImportedItem {
        kind: kind::show_noun(noun),
        name: title.to_string(),
        change: change.to_owned(),
        difference: Vec::new(),
        warnings: Vec::new(),
    };
    let mut items = Vec::new();
    for define in &import.definitions {
        let (noun, title) = (define.spec.noun(), &define.title);
        let Some(new) = after.get(noun, title) else { continue };
        let old = before.get(noun, title);
        let change = if old.is_none() { "added" } else { "changed" };
        let (warnings, _) = trial::remarks(replica.state(), new);
        let difference = old.map(|old| between(old, new)).unwrap_or_default();
        items.push(wire::ImportedItem { difference, warnings, ..item(noun, title, change) });
    }
    for remove in &import.remove {
        items.push(item(remove.noun, &remove.title, "removed"));
    }
    items
}

fn between(old: &Definition, new: &Definition) -> Vec<definition_wire::FieldChange> {
    difference::between(&kind::show_known(old), &kind::show_known(new))
}
