//! How definitions change: added, edited, put in and out of force, reverted, removed.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::{Act, Agent, Catalog, Channel, Definition, Noun, Spec, Trigger, Version};
use crate::answer::{Answer, Kind, Refusal};
use crate::change::What;
use crate::command::{
    AppendMessage, Define, EnableDefinition, Expect, Import, RemoveDefinition, RevertDefinition,
};
use crate::limits;
use crate::state::{State, Step};
use crate::units::{Stamp, Title};

/// What came of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Defined {
    version: u64,
    added: bool,
    changed: bool,
}

impl From<Defined> for Answer {
    fn from(defined: Defined) -> Self {
        let Defined { version, added, changed } = defined;
        Self::Defined { version, added, changed }
    }
}

impl State {
    /// Adds a definition or changes one.
    pub(crate) fn define(&mut self, step: &mut Step, command: &Define) -> Result<Answer, Refusal> {
        let act = match command.expect {
            Expect::Absent => Act::Added,
            Expect::Version(_) | Expect::Any => Act::Edited,
        };
        let defined = self.automation.catalog.define(step, command, act)?;
        self.defined(step, command.spec.noun(), &command.title, defined);
        Ok(defined.into())
    }

    /// Removes a definition.
    pub(crate) fn remove_definition(
        &mut self,
        step: &mut Step,
        command: &RemoveDefinition,
    ) -> Result<Answer, Refusal> {
        self.automation.catalog.remove(step, command)?;
        self.definition_changed(step, command.noun, &command.title);
        Ok(Answer::Done)
    }

    /// Puts a definition in force, or out of force.
    pub(crate) fn enable_definition(
        &mut self,
        step: &mut Step,
        command: &EnableDefinition,
    ) -> Result<Answer, Refusal> {
        let defined = self.automation.catalog.enable(step, command)?;
        self.defined(step, command.noun, &command.title, defined);
        Ok(defined.into())
    }

    /// Puts an earlier version of a definition in force again.
    pub(crate) fn revert_definition(
        &mut self,
        step: &mut Step,
        command: &RevertDefinition,
    ) -> Result<Answer, Refusal> {
        let defined = self.automation.catalog.revert(step, command)?;
        self.defined(step, command.noun, &command.title, defined);
        Ok(defined.into())
    }

    /// Tells an agent something with each job from now on. What it is told already is not added
    /// again.
    pub(crate) fn append_message(
        &mut self,
        step: &mut Step,
        command: &AppendMessage,
    ) -> Result<Answer, Refusal> {
        let define = self.automation.catalog.appended(command)?;
        let defined = self.automation.catalog.define(step, &define, Act::Edited)?;
        self.defined(step, Noun::Agent, &command.agent, defined);
        Ok(defined.into())
    }

    /// Adds, changes and removes definitions, all or none.
    pub(crate) fn import(&mut self, step: &mut Step, command: &Import) -> Result<Answer, Refusal> {
        let mut catalog = self.automation.catalog.clone();
        // What is refused half-way leaves no trace: the changes are noted once all are known.
        let mut trial = step.trial();
        let mut defined: Vec<(Noun, Title, Defined)> = Vec::new();
        for remove in &command.remove {
            catalog.remove(&mut trial, remove)?;
        }
        for define in &command.definitions {
            let came = catalog.define(&mut trial, define, Act::Imported)?;
            defined.push((define.spec.noun(), define.title.clone(), came));
        }
        self.automation.catalog = catalog;
        for remove in &command.remove {
            self.definition_changed(step, remove.noun, &remove.title);
        }
        let (mut added, mut changed) = (0, 0);
        for (noun, title, came) in defined {
            added += u64::from(came.added);
            changed += u64::from(came.changed && !came.added);
            self.defined(step, noun, &title, came);
        }
        Ok(Answer::Imported { added, changed, removed: command.remove.len() as u64 })
    }

    fn defined(&mut self, step: &mut Step, noun: Noun, title: &Title, defined: Defined) {
        if defined.changed {
            self.definition_changed(step, noun, title);
        }
    }

    /// Tells what depends on a definition that it is another one now.
    fn definition_changed(&mut self, step: &mut Step, noun: Noun, title: &Title) {
        step.note(What::Definition { noun, title: title.clone() });
        self.rules_changed(step, noun, title);
    }
}

impl Catalog {
    /// Returns the definitions as they would be after an import. Nothing is changed.
    ///
    /// # Errors
    /// The refusal that the import would get.
    pub fn trial(&self, stamp: Stamp, import: &Import) -> Result<Self, Refusal> {
        let mut catalog = self.clone();
        let mut step = Step { stamp, actor: None, changes: Vec::new(), seen: 0 };
        for remove in &import.remove {
            catalog.remove(&mut step, remove)?;
        }
        for define in &import.definitions {
            catalog.define(&mut step, define, Act::Imported)?;
        }
        Ok(catalog)
    }

    fn define(&mut self, step: &mut Step, command: &Define, act: Act) -> Result<Defined, Refusal> {
        let (noun, title) = (command.spec.noun(), &command.title);
        self.check_trigger(noun, title, &command.spec)?;
        let Some(known) = self.get(noun, title) else {
            if let Expect::Version(_) = command.expect {
                self.require(noun, title)?;
            }
            self.check_new(noun, title)?;
            return Ok(self.add(step, command, if act == Act::Edited { Act::Added } else { act }));
        };
        match command.expect {
            Expect::Absent => {
                let (title, version) = (title.as_str().into(), known.version);
                return Err(Refusal::Exists { noun, title, version });
            }
            Expect::Version(presented) if presented != known.version => {
                return Err(Refusal::WrongVersion { presented, latest: known.version });
            }
            Expect::Version(_) | Expect::Any => {}
        }
        let enabled = command.enabled.unwrap_or(known.enabled);
        if known.spec == command.spec && known.enabled == enabled {
            return Ok(Defined { version: known.version, added: false, changed: false });
        }
        Ok(self.put(step, title, command.spec.clone(), enabled, act))
    }

    fn add(&mut self, step: &mut Step, command: &Define, act: Act) -> Defined {
        let key = (command.spec.noun(), command.title.clone());
        let before = self.removed.remove(&key).unwrap_or(0);
        let definition = Definition {
            title: command.title.clone(),
            enabled: command.enabled.unwrap_or(true),
            version: before,
            spec: command.spec.clone(),
            created: step.stamp,
            changed: step.stamp,
            versions: VecDeque::new(),
        };
        let enabled = definition.enabled;
        self.by_title.insert(key, definition);
        let put = self.put(step, &command.title, command.spec.clone(), enabled, act);
        Defined { added: true, ..put }
    }

    fn put(
        &mut self,
        step: &mut Step,
        title: &Title,
        spec: Spec,
        enabled: bool,
        act: Act,
    ) -> Defined {
        let key = (spec.noun(), title.clone());
        let Some(definition) = self.by_title.get_mut(&key) else {
            return Defined { version: 0, added: false, changed: false };
        };
        definition.version = definition.version.max(self.floor.unwrap_or(0)).saturating_add(1);
        definition.enabled = enabled;
        definition.changed = step.stamp;
        definition.spec = spec.clone();
        let version = definition.version;
        let actor = step.actor.clone();
        definition.versions.push_back(Version {
            number: version,
            stamp: step.stamp,
            actor,
            act,
            spec,
        });
        if definition.versions.len() > limits::VERSIONS_MAX {
            definition.versions.pop_front();
        }
        Defined { version, added: false, changed: true }
    }

    fn remove(&mut self, _: &mut Step, command: &RemoveDefinition) -> Result<(), Refusal> {
        let version = self.require(command.noun, &command.title)?.version;
        let key = (command.noun, command.title.clone());
        self.by_title.remove(&key);
        while self.removed.len() >= limits::DEFINITIONS_MAX {
            self.removed.pop_first();
        }
        self.removed.insert(key, version);
        Ok(())
    }

    fn enable(&mut self, step: &mut Step, command: &EnableDefinition) -> Result<Defined, Refusal> {
        let known = self.require(command.noun, &command.title)?;
        if known.enabled == command.enabled {
            return Ok(Defined { version: known.version, added: false, changed: false });
        }
        let spec = known.spec.clone();
        let act = if command.enabled { Act::Enabled } else { Act::Disabled };
        Ok(self.put(step, &command.title, spec, command.enabled, act))
    }

    fn revert(&mut self, step: &mut Step, command: &RevertDefinition) -> Result<Defined, Refusal> {
        let known = self.require(command.noun, &command.title)?;
        let version = known.versions.iter().find(|version| version.number == command.to);
        let name = || command.to.to_string().into_boxed_str();
        let missing = || Refusal::NotFound { kind: Kind::Version, name: name() };
        let spec = version.ok_or_else(missing)?.spec.clone();
        if spec == known.spec {
            return Ok(Defined { version: known.version, added: false, changed: false });
        }
        self.check_trigger(command.noun, &command.title, &spec)?;
        let enabled = known.enabled;
        Ok(self.put(step, &command.title, spec, enabled, Act::Reverted { to: command.to }))
    }

    /// Returns the agent as it is with the message.
    fn appended(&self, command: &AppendMessage) -> Result<Define, Refusal> {
        let known = self.get(Noun::Agent, &command.agent);
        let mut agent = match known.map(|known| &known.spec) {
            Some(Spec::Agent(agent)) => agent.clone(),
            Some(_) | None => Agent::default(),
        };
        let others = self.list(Noun::Agent, None).next().is_some();
        if known.is_none() && others && !command.create {
            self.require(Noun::Agent, &command.agent)?;
        }
        if !agent.messages.contains(&command.message) {
            let (count, max) = (agent.messages.len() as u64, limits::AGENT_MESSAGES_MAX as u64);
            if count >= max {
                return Err(Refusal::Full { what: "the agent's messages".into(), count, max });
            }
            agent.messages.push(command.message.clone());
        }
        let expect = known.map_or(Expect::Absent, |known| Expect::Version(known.version));
        let spec = Spec::Agent(agent);
        Ok(Define { title: command.agent.clone(), spec, expect, enabled: None })
    }

    fn check_new(&self, noun: Noun, title: &Title) -> Result<(), Refusal> {
        let folded = title.folded();
        let mut all = self.list(noun, None);
        if let Some(like) = all.find(|known| known.title.folded() == folded) {
            let (title, like) = (title.as_str().into(), like.title.as_str().into());
            return Err(Refusal::Similar { noun, title, like });
        }
        let (count, max) = (self.list(noun, None).count(), limits::DEFINITIONS_MAX);
        if count >= max {
            let what: Box<str> = alloc::format!("the list of {noun}s").into();
            return Err(Refusal::Full { what, count: count as u64, max: max as u64 });
        }
        Ok(())
    }

    /// Checks that the words that start something start nothing else.
    fn check_trigger(&self, noun: Noun, title: &Title, spec: &Spec) -> Result<(), Refusal> {
        let Some(trigger) = spec.trigger() else { return Ok(()) };
        let taken = self.by_title.values().find(|known| {
            let same = known.noun() == noun && known.title == *title;
            !same && known.spec.trigger() == Some(trigger)
        });
        taken.map_or(Ok(()), |known| {
            Err(Refusal::TriggerTaken {
                trigger: trigger.as_str().into(),
                noun: known.noun(),
                title: known.title.as_str().into(),
            })
        })
    }

    /// Returns the channel of this name, with its settings if it has any.
    #[must_use]
    pub fn channel(&self, title: &Title) -> Option<&Channel> {
        match self.get(Noun::Channel, title).map(|known| &known.spec) {
            Some(Spec::Channel(channel)) => Some(channel),
            Some(_) | None => None,
        }
    }

    /// Returns what words typed in a chat or a shell start: the definition with the longest
    /// trigger that they begin with, and the words that follow it.
    #[must_use]
    pub fn triggered<'a>(&self, text: &'a str) -> Option<(&Definition, Vec<&'a str>)> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let matches = self.by_title.values().filter_map(|known| {
            let trigger = known.spec.trigger()?;
            let wanted: Vec<&str> = trigger.as_str().split(' ').collect();
            let begins = words.len() >= wanted.len() && words[..wanted.len()] == wanted[..];
            begins.then_some((wanted.len(), known))
        });
        let (count, known) = matches.max_by_key(|(count, _)| *count)?;
        Some((known, words[count..].to_vec()))
    }
}

impl Spec {
    /// Returns the words that start it in a chat or a shell.
    #[must_use]
    pub fn trigger(&self) -> Option<&Trigger> {
        match self {
            Self::Command(command) => Some(&command.trigger),
            Self::Runbook(runbook) => runbook.trigger.as_ref(),
            Self::Agent(_)
            | Self::AlertRule(_)
            | Self::AlertRoute(_)
            | Self::AutoFix(_)
            | Self::Channel(_)
            | Self::Source(_) => None,
        }
    }
}
