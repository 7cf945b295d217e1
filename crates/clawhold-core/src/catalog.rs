//! Definitions: what operators have told the program, by kind and name, with every version.
//!
//! Names are compared byte for byte; one that a person would take for another is refused. What a
//! definition means is told beside its noun.

mod edit;
mod spec;

use alloc::collections::{BTreeMap, VecDeque};

use minicbor::{Decode, Encode};

use crate::answer::{Kind, Refusal};
use crate::units::{Name, Stamp, Title};

pub use spec::{
    Agent, AlertRoute, AlertRule, Approval, AutoFix, Channel, ChatCommand, ChatUser, Cooldown,
    Grouping, MaxRuns, Mode, Runbook, Secret, Severity, Sink, Source, Spec, Trigger, Watch,
};

/// A kind of definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Noun {
    /// Who does jobs that are written in words.
    #[n(0)]
    Agent,
    /// What is answered to a word in a chat.
    #[n(1)]
    Command,
    /// What is worth a person's attention.
    #[n(2)]
    AlertRule,
    /// Where alerts go.
    #[n(3)]
    AlertRoute,
    /// What is done when a condition holds.
    #[n(4)]
    AutoFix,
    /// What is done when a person asks.
    #[n(5)]
    Runbook,
    /// Where messages go.
    #[n(6)]
    Channel,
    /// A cluster that commands ask.
    #[n(7)]
    Source,
}

impl Noun {
    /// Every kind, in the order of the log's numbers.
    pub const ALL: [Self; 8] = [
        Self::Agent,
        Self::Command,
        Self::AlertRule,
        Self::AlertRoute,
        Self::AutoFix,
        Self::Runbook,
        Self::Channel,
        Self::Source,
    ];

    /// Returns the word for this kind, as people and the wire use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Command => "command",
            Self::AlertRule => "alert-rule",
            Self::AlertRoute => "alert-route",
            Self::AutoFix => "auto-fix",
            Self::Runbook => "runbook",
            Self::Channel => "channel",
            Self::Source => "source",
        }
    }
}

impl core::fmt::Display for Noun {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One definition, as it is now and as it was.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Definition {
    /// Its name.
    #[n(0)]
    pub title: Title,
    /// Whether it is in force.
    #[n(1)]
    pub enabled: bool,
    /// The version in force. Rises with every change.
    #[n(2)]
    pub version: u64,
    /// What it says.
    #[n(3)]
    pub spec: Spec,
    /// When it was made.
    #[n(4)]
    pub created: Stamp,
    /// When it was last changed.
    #[n(5)]
    pub changed: Stamp,
    /// The latest versions, oldest first, at most `VERSIONS_MAX`.
    #[n(6)]
    pub(crate) versions: VecDeque<Version>,
}

/// One version of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Version {
    /// Its number.
    #[n(0)]
    pub number: u64,
    /// When it was made.
    #[n(1)]
    pub stamp: Stamp,
    /// Who made it.
    #[n(2)]
    pub actor: Option<Name>,
    /// What was done.
    #[n(3)]
    pub act: Act,
    /// What it says.
    #[n(4)]
    pub spec: Spec,
}

/// What was done to a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Act {
    /// It was added.
    #[n(0)]
    Added,
    /// It was edited.
    #[n(1)]
    Edited,
    /// It was put in force.
    #[n(2)]
    Enabled,
    /// It was put out of force.
    #[n(3)]
    Disabled,
    /// An earlier version was put in force again.
    #[n(4)]
    Reverted {
        /// Which.
        #[n(0)]
        to: u64,
    },
    /// It came with a file.
    #[n(5)]
    Imported,
}

/// All definitions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Catalog {
    #[n(0)]
    pub(crate) by_title: BTreeMap<(Noun, Title), Definition>,
    /// The last version of what was removed, so that a name added again goes on from there.
    #[n(1)]
    pub(crate) removed: BTreeMap<(Noun, Title), u64>,
    /// Versions that are made lie above this number: earlier ones may have been lost.
    #[n(2)]
    pub(crate) floor: Option<u64>,
}

impl Definition {
    /// Returns its kind.
    #[must_use]
    pub fn noun(&self) -> Noun {
        self.spec.noun()
    }

    /// Returns the latest versions, oldest first.
    pub fn versions(&self) -> impl DoubleEndedIterator<Item = &Version> {
        self.versions.iter()
    }
}

impl Catalog {
    /// Returns a definition.
    #[must_use]
    pub fn get(&self, noun: Noun, title: &Title) -> Option<&Definition> {
        self.by_title.get(&(noun, title.clone()))
    }

    /// Returns the definitions of a kind after `after`, in the order of their names.
    pub fn list(&self, noun: Noun, after: Option<&Title>) -> impl Iterator<Item = &Definition> {
        let all = self.by_title.values().filter(move |known| known.noun() == noun);
        let after = after.cloned();
        all.filter(move |known| after.as_ref().is_none_or(|after| known.title > *after))
    }

    /// Returns the first definition of a kind, in the order of names.
    pub(crate) fn first(&self, noun: Noun) -> Option<&Definition> {
        let from = (noun, Title::lowest());
        let (_, known) = self.by_title.range(from..).next()?;
        Some(known).filter(|known| known.noun() == noun)
    }

    /// Returns a definition.
    ///
    /// # Errors
    /// [`Refusal::NotFound`].
    pub fn require(&self, noun: Noun, title: &Title) -> Result<&Definition, Refusal> {
        let missing = || Refusal::NotFound { kind: Kind::of(noun), name: title.as_str().into() };
        self.get(noun, title).ok_or_else(missing)
    }
}
