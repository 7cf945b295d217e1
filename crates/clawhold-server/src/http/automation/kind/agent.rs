//! Agents between the wire and the core.

use clawhold_api::automation::definition as wire;
use clawhold_core::catalog::{Agent, Spec};
use clawhold_core::limits;

use crate::http::automation::value::{given, prose};
use crate::http::convert;
use crate::http::error::Rejected;

pub(super) fn read(body: &wire::Agent) -> Result<Spec, Rejected> {
    convert::count("messages", body.messages.len(), 0, limits::AGENT_MESSAGES_MAX)?;
    let messages = body.messages.iter().enumerate();
    let messages = messages.map(|(at, text)| message(&format!("messages[{at}]"), text));
    Ok(Spec::Agent(Agent {
        messages: messages.collect::<Result<_, _>>()?,
        about: convert::text("about", Some(&body.about))?,
        queue: convert::name_opt("queue", given(body.queue.as_deref()))?,
    }))
}

/// Returns what an agent is told.
pub(in crate::http::automation) fn message(
    field: &str,
    text: &str,
) -> Result<clawhold_core::units::Prose, Rejected> {
    if text.trim().is_empty() {
        return Err(Rejected::field(field, "nothing", "a text that says something"));
    }
    prose(field, text)
}

pub(super) fn show(agent: &Agent) -> wire::Agent {
    wire::Agent {
        name: String::new(),
        about: agent.about.as_str().to_owned(),
        queue: agent.queue.as_ref().map(ToString::to_string),
        messages: agent.messages.iter().map(|text| text.as_str().to_owned()).collect(),
        enabled: None,
    }
}
