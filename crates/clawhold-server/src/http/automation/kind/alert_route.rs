//! Alert routes between the wire and the core.

use clawhold_api::automation::definition as wire;
use clawhold_core::catalog::{AlertRoute, Spec};

use crate::http::automation::value::{severity, text_opt, title};
use crate::http::error::Rejected;

pub(super) fn read(body: &wire::AlertRoute) -> Result<Spec, Rejected> {
    Ok(Spec::AlertRoute(AlertRoute {
        severity: severity("severity", &body.severity)?,
        to: title("to", &body.to)?,
        via: text_opt("channel", body.channel.as_deref())?,
        also_page: text_opt("also_page", body.also_page.as_deref())?,
    }))
}

pub(super) fn show(route: &AlertRoute) -> wire::AlertRoute {
    wire::AlertRoute {
        name: String::new(),
        severity: route.severity.as_str().to_owned(),
        channel: route.via.as_ref().map(|via| via.as_str().to_owned()),
        to: route.to.to_string(),
        also_page: route.also_page.as_ref().map(|who| who.as_str().to_owned()),
        enabled: None,
    }
}
