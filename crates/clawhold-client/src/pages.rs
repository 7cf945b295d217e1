//! Lists, read page by page.

use std::marker::PhantomData;

use clawhold_api::Page;
use clawhold_api::routes::escape;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{Call, query};
use crate::error::ClientError;
use crate::transport::Client;

/// A list that is read page by page.
#[derive(Clone, Debug)]
pub struct Pages<T> {
    client: Client,
    path: &'static str,
    query: String,
    cursor: Option<String>,
    is_done: bool,
    rows: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Pages<T> {
    pub(crate) fn new<Q: Serialize>(client: &Client, path: &'static str, wanted: &Q) -> Self {
        let query = query(wanted);
        let client = client.clone();
        Self { client, path, query, cursor: None, is_done: false, rows: PhantomData }
    }

    /// Returns the rows of the next page, or `None` after the last.
    ///
    /// # Errors
    /// Why the page cannot be read; asking again asks for the same page.
    pub async fn next(&mut self) -> Result<Option<Vec<T>>, ClientError> {
        if self.is_done {
            return Ok(None);
        }
        let page = self.page().await?;
        Ok(Some(page.items))
    }

    /// Returns all rows that are left, at most `max` of them.
    ///
    /// # Errors
    /// Why a page cannot be read.
    pub async fn collect(mut self, max: usize) -> Result<Vec<T>, ClientError> {
        let mut rows = Vec::new();
        while rows.len() < max
            && let Some(mut page) = self.next().await?
        {
            rows.append(&mut page);
        }
        rows.truncate(max);
        Ok(rows)
    }

    /// Returns the next page with the cursor of the one after it; the last page again after the
    /// last.
    ///
    /// # Errors
    /// Why the page cannot be read.
    pub async fn page(&mut self) -> Result<Page<T>, ClientError> {
        let mut query = self.query.clone();
        if let Some(cursor) = &self.cursor {
            let pairs = query.split('&').filter(|pair| !pair.is_empty());
            let mut pairs: Vec<String> =
                pairs.filter(|pair| !pair.starts_with("cursor=")).map(str::to_owned).collect();
            pairs.push(format!("cursor={}", escape(cursor)));
            query = pairs.join("&");
        }
        let page: Page<T> = self.client.read(&Call::get(self.path, &query)).await?;
        // A cursor that stands still would go round for ever.
        self.is_done = page.next_cursor.is_none() || page.next_cursor == self.cursor;
        if !self.is_done {
            self.cursor.clone_from(&page.next_cursor);
        }
        Ok(page)
    }
}
