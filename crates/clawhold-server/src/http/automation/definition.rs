//! Definitions of every kind: listed, shown, added, changed, removed, put in and out of force.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use clawhold_api::automation::definition as wire;
use clawhold_api::page::{Done, Nothing};
use clawhold_core::State as Known;
use clawhold_core::answer::Answer;
use clawhold_core::catalog::{Act, Definition, Noun, Spec, Version};
use clawhold_core::command::{
    AppendMessage, Automate, Command, Define, EnableDefinition, Expect, Import, RemoveDefinition,
    RevertDefinition,
};
use clawhold_core::replica::Replica;
use clawhold_core::units::Title;

use super::kind::{self, Kind, Wanted};
use super::{alert, decision, difference, plan, run, value};
use crate::http::body::Body;
use crate::http::call::{Call, Written};
use crate::http::error::Rejected;
use crate::http::query::{Listed, Query, Word, page, rows};
use crate::http::{Room, view};

/// Runs, decisions and alerts that a history lists.
const HISTORY_MAX: usize = 100;

pub(super) async fn list<K: Kind>(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<wire::DefinitionQuery>,
) -> Result<Listed<wire::Definition>, Rejected> {
    let rows = rows(query.limit)?;
    let after = value::title_opt("cursor", query.cursor.as_deref())?;
    let items = room.read(move |replica| {
        let catalog = replica.state().automation().catalog();
        let fits = catalog.list(K::NOUN, after.as_ref()).filter(|known| is_wanted(known, &query));
        Ok(fits.take(rows.limit + 1).map(|known| show_known(replica, known)).collect())
    });
    Ok(page(items.await?, rows, &uri, |shown: &wire::Definition| shown.name.clone()))
}

fn is_wanted(known: &Definition, query: &wire::DefinitionQuery) -> bool {
    let tagged = query.tag.as_deref().is_none_or(|tag| match &known.spec {
        Spec::Runbook(runbook) => runbook.tags.iter().any(|known| known.as_str() == tag),
        Spec::Agent(_)
        | Spec::Command(_)
        | Spec::AlertRule(_)
        | Spec::AlertRoute(_)
        | Spec::AutoFix(_)
        | Spec::Channel(_)
        | Spec::Source(_) => false,
    });
    tagged
        && query.search.as_deref().is_none_or(|wanted| {
            // Secrets are hidden before the text is searched.
            let shown = serde_json::to_string(&kind::show_known(known)).unwrap_or_default();
            shown.to_lowercase().contains(&wanted.to_lowercase())
        })
}

pub(super) async fn show<K: Kind>(
    State(room): State<Room>,
    Word(name): Word,
) -> Result<Json<wire::Definition>, Rejected> {
    let title = value::title("name", &name)?;
    let shown = room
        .read(move |replica| Ok(show_known(replica, require(replica.state(), K::NOUN, &title)?)));
    shown.await.map(Json)
}

/// Returns a definition, or the problem that names those that come near.
pub(super) fn require<'a>(
    state: &'a Known,
    noun: Noun,
    title: &Title,
) -> Result<&'a Definition, Rejected> {
    let catalog = state.automation().catalog();
    catalog.require(noun, title).map_err(|refusal| Rejected::known(state, &refusal))
}

pub(super) async fn add<K: Kind>(
    State(room): State<Room>,
    call: Call,
    Query(query): Query<wire::DefineQuery>,
    Body(body): Body<K>,
) -> Result<Written<wire::Defined>, Rejected> {
    let wanted = kind::wanted(&body.into_spec(), None)?;
    check_strict(&query, &wanted.spec)?;
    let asked = Asked { expect: Expect::Absent, before: None, wanted };
    room.define(call, query, asked).await
}

pub(super) async fn edit<K: Kind>(
    State(room): State<Room>,
    call: Call,
    Word(name): Word,
    Query(query): Query<wire::DefineQuery>,
    Body(patch): Body<K::Patch>,
) -> Result<Written<wire::Defined>, Rejected> {
    let title = value::title("name", &name)?;
    let patch = serde_json::to_value(patch).map_err(|_| Rejected::broken("a change"))?;
    let version = patch.get("version").and_then(serde_json::Value::as_u64);
    // One change at a time, so that two changes of different fields do not undo each other.
    let _turn = room.edits.lock().await;
    let known = room.read(move |replica| require(replica.state(), K::NOUN, &title).map(Before::of));
    let before = known.await?;
    let shown = kind::show(&before.title, before.enabled, &before.spec);
    let body = difference::patched(&shown, patch)?;
    let wanted = Wanted { enabled: None, ..kind::wanted(&body, Some(&before.spec))? };
    check_strict(&query, &wanted.spec)?;
    let expect = version.map_or(Expect::Any, Expect::Version);
    room.define(call, query, Asked { expect, before: Some(before), wanted }).await
}

/// A definition as it was.
#[derive(Clone, Debug)]
struct Before {
    title: Title,
    enabled: bool,
    version: u64,
    spec: Spec,
}

impl Before {
    fn of(known: &Definition) -> Self {
        let Definition { title, enabled, version, spec, .. } = known;
        Self { title: title.clone(), enabled: *enabled, version: *version, spec: spec.clone() }
    }
}

/// A definition as it is asked for.
#[derive(Debug)]
struct Asked {
    expect: Expect,
    before: Option<Before>,
    wanted: Wanted,
}

fn check_strict(query: &wire::DefineQuery, spec: &Spec) -> Result<(), Rejected> {
    let made = match spec {
        Spec::AutoFix(fix) => &fix.plan,
        Spec::Runbook(runbook) => &runbook.plan,
        Spec::Agent(_)
        | Spec::Command(_)
        | Spec::AlertRule(_)
        | Spec::AlertRoute(_)
        | Spec::Channel(_)
        | Spec::Source(_) => return Ok(()),
    };
    if query.strict != Some(true) || made.is_complete() {
        return Ok(());
    }
    let lines = plan::warnings(made);
    let detail = format!("not every sentence is understood: {}", lines.join("; "));
    let problem = clawhold_api::Problem::new(clawhold_api::Code::BadPlan, detail);
    Err(clawhold_api::Problem { lines, ..problem }.into())
}

impl Room {
    async fn define(
        &self,
        call: Call,
        query: wire::DefineQuery,
        asked: Asked,
    ) -> Result<Written<wire::Defined>, Rejected> {
        let Asked { expect, before, wanted } = asked;
        if query.dry_run == Some(true) {
            let shown = self.read(move |replica| would_be(replica, expect, before, wanted));
            let (position, body) = shown.await?;
            return Ok(Written { position, replayed: false, body });
        }
        let title = wanted.title.clone();
        let noun = wanted.spec.noun();
        let command =
            Define { title: wanted.title, spec: wanted.spec, expect, enabled: wanted.enabled };
        let written =
            self.write(call, automate(Automate::Define(command)), move |replica, answer| {
                defined(replica, answer, noun, &title, before.as_ref())
            });
        written.await
    }
}

/// Returns what is asked of automation as a command.
pub(super) fn automate(command: Automate) -> Command {
    Command::Automate(Box::new(command))
}

/// Shows what came of a change.
fn defined(
    replica: &Replica,
    answer: &Answer,
    noun: Noun,
    title: &Title,
    before: Option<&Before>,
) -> Result<wire::Defined, Rejected> {
    let Answer::Defined { added, changed, .. } = answer else {
        return Err(Rejected::broken("change a definition"));
    };
    let known = require(replica.state(), noun, title)?;
    let difference = before.filter(|_| !added).map(|before| {
        let before = kind::show(&before.title, before.enabled, &before.spec);
        difference::between(&before, &kind::show_known(known))
    });
    Ok(wire::Defined {
        added: *added,
        changed: *changed,
        difference: difference.unwrap_or_default(),
        definition: show_known(replica, known),
    })
}

/// Shows a definition as it would be, by the same checks as if it were kept.
fn would_be(
    replica: &Replica,
    expect: Expect,
    before: Option<Before>,
    wanted: Wanted,
) -> Result<(u64, wire::Defined), Rejected> {
    let state = replica.state();
    let catalog = state.automation().catalog();
    let (noun, title) = (wanted.spec.noun(), wanted.title.clone());
    let command =
        Define { title: wanted.title, spec: wanted.spec, expect, enabled: wanted.enabled };
    let import = Import { definitions: vec![command], remove: Vec::new(), asked: None };
    let trial = catalog.trial(state.last(), &import);
    let trial = trial.map_err(|refusal| Rejected::known(state, &refusal))?;
    let known = trial.require(noun, &title).map_err(|refusal| Rejected::from(&refusal))?;
    let (added, version) = (before.is_none(), before.as_ref().map(|before| before.version));
    let changed = version != Some(known.version);
    let difference = before.map(|before| {
        let before = kind::show(&before.title, before.enabled, &before.spec);
        difference::between(&before, &kind::show_known(known))
    });
    let definition = show_in(state, known);
    let definition = if added { wire::Definition { version: 0, ..definition } } else { definition };
    let difference = difference.unwrap_or_default();
    Ok((state.last().position.0, wire::Defined { added, changed, difference, definition }))
}

pub(super) async fn remove<K: Kind>(
    State(room): State<Room>,
    call: Call,
    Word(name): Word,
) -> Result<Written<Done>, Rejected> {
    let title = value::title("name", &name)?;
    let command = Automate::RemoveDefinition(RemoveDefinition { noun: K::NOUN, title });
    room.write(call, automate(command), |_, _| Ok(Done {})).await
}

pub(super) async fn enable<K: Kind>(
    State(room): State<Room>,
    call: Call,
    Word(name): Word,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Written<wire::Defined>, Rejected> {
    room.set_enabled(call, K::NOUN, &name, true).await
}

pub(super) async fn disable<K: Kind>(
    State(room): State<Room>,
    call: Call,
    Word(name): Word,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Written<wire::Defined>, Rejected> {
    room.set_enabled(call, K::NOUN, &name, false).await
}

impl Room {
    async fn set_enabled(
        &self,
        call: Call,
        noun: Noun,
        name: &str,
        enabled: bool,
    ) -> Result<Written<wire::Defined>, Rejected> {
        let title = value::title("name", name)?;
        let command = EnableDefinition { noun, title: title.clone(), enabled };
        let command = automate(Automate::EnableDefinition(command));
        let written = self.write(call, command, move |replica, answer| {
            defined(replica, answer, noun, &title, None)
        });
        written.await
    }
}

pub(super) async fn revert<K: Kind>(
    State(room): State<Room>,
    call: Call,
    Word(name): Word,
    Body(body): Body<wire::Revert>,
) -> Result<Written<wire::Defined>, Rejected> {
    let title = value::title("name", &name)?;
    let before = room.before(K::NOUN, title.clone()).await?;
    let command = RevertDefinition { noun: K::NOUN, title: title.clone(), to: body.to };
    let command = automate(Automate::RevertDefinition(command));
    let written = room.write(call, command, move |replica, answer| {
        defined(replica, answer, K::NOUN, &title, before.as_ref())
    });
    written.await
}

pub(super) async fn append_message(
    State(room): State<Room>,
    call: Call,
    Word(name): Word,
    Body(body): Body<wire::AppendMessage>,
) -> Result<Written<wire::Defined>, Rejected> {
    let title = value::title("name", &name)?;
    let message = kind::agent_message("message", &body.message)?;
    let before = room.before(Noun::Agent, title.clone()).await?;
    let command = AppendMessage { agent: title.clone(), message, create: body.create };
    let command = automate(Automate::AppendMessage(command));
    let written = room.write(call, command, move |replica, answer| {
        defined(replica, answer, Noun::Agent, &title, before.as_ref())
    });
    written.await
}

impl Room {
    /// Returns a definition as it is before a change, if it is there.
    async fn before(&self, noun: Noun, title: Title) -> Result<Option<Before>, Rejected> {
        self.read(move |replica| {
            let known = replica.state().automation().catalog().get(noun, &title);
            Ok(known.map(Before::of))
        })
        .await
    }
}

pub(super) async fn history<K: Kind>(
    State(room): State<Room>,
    Word(name): Word,
) -> Result<Json<wire::History>, Rejected> {
    let title = value::title("name", &name)?;
    let shown = room.read(move |replica| {
        let state = replica.state();
        let automation = state.automation();
        let known = automation.catalog().get(K::NOUN, &title);
        let runs = run::about(state, K::NOUN, &title, HISTORY_MAX);
        // What was removed has a history still: its runs.
        if known.is_none() && runs.is_empty() {
            require(state, K::NOUN, &title)?;
        }
        let versions = known.map(show_versions).unwrap_or_default();
        let decisions = if K::NOUN == Noun::AutoFix {
            decision::about(state, &title, HISTORY_MAX)
        } else {
            Vec::new()
        };
        let alerts = if K::NOUN == Noun::AlertRule {
            alert::about(state, &title, HISTORY_MAX)
        } else {
            Vec::new()
        };
        Ok(wire::History { versions, runs, decisions, alerts })
    });
    shown.await.map(Json)
}

fn show_versions(known: &Definition) -> Vec<wire::Version> {
    let mut before: Option<wire::Spec> = None;
    let versions = known.versions().map(|version| {
        let spec = kind::show(&known.title, is_enabled(version), &version.spec);
        let changes = before.as_ref().map(|before| difference::between(before, &spec));
        before = Some(spec.clone());
        wire::Version {
            number: version.number,
            at: view::moment(version.stamp),
            actor: version.actor.as_ref().map(ToString::to_string),
            act: show_act(version.act),
            spec,
            difference: changes.unwrap_or_default(),
        }
    });
    versions.collect()
}

fn is_enabled(version: &Version) -> bool {
    version.act != Act::Disabled
}

fn show_act(act: Act) -> String {
    match act {
        Act::Added => "added".to_owned(),
        Act::Edited => "edited".to_owned(),
        Act::Enabled => "enabled".to_owned(),
        Act::Disabled => "disabled".to_owned(),
        Act::Imported => "imported".to_owned(),
        Act::Reverted { to } => format!("reverted to version {to}"),
    }
}

/// Shows a definition.
pub(super) fn show_known(replica: &Replica, known: &Definition) -> wire::Definition {
    show_in(replica.state(), known)
}

fn show_in(state: &Known, known: &Definition) -> wire::Definition {
    let (warnings, notes) = super::trial::remarks(state, known);
    wire::Definition {
        name: known.title.to_string(),
        kind: kind::show_noun(known.noun()),
        enabled: known.enabled,
        version: known.version,
        created: view::moment(known.created),
        changed: view::moment(known.changed),
        spec: kind::show_known(known),
        plan: kind::show_plan(&known.spec),
        plan_hash: kind::plan_hash(&known.spec),
        warnings,
        notes,
        fix: decision::fix_state(state, known),
    }
}
