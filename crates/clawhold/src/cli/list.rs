//! Lists: as many rows as were asked for, and whether there are more.

use clap::Args;
use clawhold_client::{ClientError, Pages};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::number;
use crate::output::Reply;
use crate::suggest::nearest;
use crate::table::Table;

/// Names that are looked through for the one that was meant.
const NAMES_MAX: usize = 1_000;
/// Rows of a page.
const PAGE_MAX: u64 = 1_000;

/// How many rows are wanted.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Limit {
    /// Rows at most
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true, value_parser = number::within(1_u64, 1_000_000))]
    limit: u64,
}

impl Limit {
    /// Returns how many rows each page should have.
    pub(crate) fn page(self) -> Option<u64> {
        Some(self.limit.saturating_add(1).min(PAGE_MAX))
    }

    /// Reads the rows.
    ///
    /// # Errors
    /// Why a page cannot be read.
    pub(crate) async fn rows<T: DeserializeOwned>(
        self,
        pages: Pages<T>,
    ) -> Result<Rows<T>, ClientError> {
        let max = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let mut items = pages.collect(max.saturating_add(1)).await?;
        let more = items.len() > max;
        items.truncate(max);
        Ok(Rows { items, more })
    }
}

/// Rows of a list.
#[derive(Debug, Serialize)]
pub(crate) struct Rows<T> {
    /// The rows.
    pub(crate) items: Vec<T>,
    /// Whether there are more.
    more: bool,
}

impl<T: Serialize> Rows<T> {
    /// Returns the reply: the rows in a table, or what to say when there is none.
    pub(crate) fn reply(&self, table: Table, empty: &str) -> Reply {
        let reply = Reply::of(self);
        if self.items.is_empty() {
            return reply.line(empty);
        }
        let reply = reply.table(table);
        if self.more { reply.line("… and more; use --limit N") } else { reply }
    }
}

/// Adds to a failure about a thing that does not exist which name was probably meant.
pub(crate) async fn meant<T: DeserializeOwned>(
    error: ClientError,
    typed: &str,
    pages: Pages<T>,
    name: impl Fn(&T) -> &str,
) -> Failure {
    let failure = Failure::from(error);
    if failure.exit() != Exit::NotFound {
        return failure;
    }
    // The failure stands without a suggestion as well.
    let Ok(items) = pages.collect(NAMES_MAX).await else { return failure };
    match nearest(typed, items.iter().map(&name)) {
        // It is there: something else that the request names is not.
        Some(name) if name == typed => failure,
        Some(name) => failure.next(format!("did you mean {name}?")),
        None => failure,
    }
}
