//! Paths and queries: names, numbers and pages, or a problem that names the field.

use axum::Json;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use clawhold_api::error::{Code, Problem};
use clawhold_api::page::{LIMIT_DEFAULT, LIMIT_MAX, Page};
use clawhold_api::routes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::convert;
use super::error::Rejected;

/// A query that was read as `T`.
#[derive(Debug)]
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Rejected;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejected> {
        axum::extract::Query::try_from_uri(&parts.uri).map(|query| Self(query.0)).map_err(|error| {
            let text = chain(&error);
            let field = text.split('`').nth(1).map(str::to_owned);
            let field = field.or_else(|| text.split(':').nth(1).map(|name| name.trim().to_owned()));
            let detail = format!("the query is not what it should be: {text}");
            Problem { field, ..Problem::new(Code::BadRequest, detail) }.into()
        })
    }
}

/// The one parameter of a path, as text.
#[derive(Debug)]
pub(super) struct Word(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Word {
    type Rejection = Rejected;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Rejected> {
        let word = Path::<String>::from_request_parts(parts, state).await;
        word.map(|word| Self(word.0)).map_err(|error| {
            let detail = format!("the path is not what it should be: {}", error.body_text());
            let field = Some("path".to_owned());
            Problem { field, ..Problem::new(Code::BadRequest, detail) }.into()
        })
    }
}

/// Which rows of a list are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) limit: usize,
}

/// Returns how many rows are wanted.
pub(super) fn rows(limit: Option<u64>) -> Result<Rows, Rejected> {
    let limit = limit.unwrap_or(LIMIT_DEFAULT);
    convert::range("limit", limit, 1, LIMIT_MAX)?;
    Ok(Rows { limit: usize::try_from(limit).unwrap_or(usize::MAX) })
}

/// Returns the number that a cursor stands for.
pub(super) fn number_cursor(cursor: Option<&str>) -> Result<Option<u64>, Rejected> {
    let parsed = cursor.map(str::parse);
    parsed.transpose().map_err(|_| {
        Rejected::field("cursor", cursor.unwrap_or(""), "the next_cursor of the page before")
    })
}

/// A page, with a link to the next one in its header.
#[derive(Debug)]
pub(super) struct Listed<T> {
    page: Page<T>,
    link: Option<String>,
}

/// Returns a page of at most `rows.limit` of `items`, which may hold one row more to say that
/// there is a next page. `cursor` names a row.
pub(super) fn page<T>(
    mut items: Vec<T>,
    rows: Rows,
    uri: &Uri,
    cursor: impl Fn(&T) -> String,
) -> Listed<T> {
    let more = items.len() > rows.limit;
    items.truncate(rows.limit);
    let next_cursor = items.last().filter(|_| more).map(cursor);
    let link = next_cursor.as_deref().map(|next| link(uri, next));
    Listed { page: Page { items, next_cursor }, link }
}

/// Returns the link to the page after: the same query with another cursor.
fn link(uri: &Uri, cursor: &str) -> String {
    let kept = uri.query().unwrap_or("").split('&');
    let kept = kept.filter(|pair| !pair.is_empty() && !pair.starts_with("cursor="));
    let query = kept.fold(String::new(), |query, pair| format!("{query}{pair}&"));
    format!("<{}?{query}cursor={}>; rel=\"next\"", uri.path(), routes::escape(cursor))
}

impl<T: Serialize> IntoResponse for Listed<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.page).into_response();
        let link = self.link.and_then(|link| HeaderValue::from_str(&link).ok());
        if let Some(link) = link {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }
}

/// Returns an error's text with those of its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    for _ in 0..8 {
        let Some(next) = cause else { break };
        let next_text = next.to_string();
        if !text.contains(&next_text) {
            text = format!("{text}: {next_text}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_links_to_the_next_one_and_keeps_the_rest_of_the_query() {
        let uri: Uri = "/v1/jobs?queue=mail&cursor=2&limit=2".parse().unwrap();
        let rows = rows(Some(2)).unwrap();
        let listed = page(vec![3_u64, 4, 5], rows, &uri, u64::to_string);
        assert_eq!(listed.page.items, [3, 4]);
        assert_eq!(listed.page.next_cursor.as_deref(), Some("4"));
        let link = listed.link.unwrap();
        assert_eq!(link, "</v1/jobs?queue=mail&limit=2&cursor=4>; rel=\"next\"");
        let listed = page(vec![3_u64, 4], rows, &uri, u64::to_string);
        assert_eq!(listed.page.next_cursor, None);
        assert_eq!(listed.link, None);
    }

    #[test]
    fn a_page_has_its_bounds() {
        for limit in [0, 1_001, u64::MAX] {
            let Rejected(problem) = rows(Some(limit)).unwrap_err();
            assert_eq!(problem.field.as_deref(), Some("limit"));
        }
        assert!(number_cursor(Some("-1")).is_err());
        assert_eq!(number_cursor(Some("7")).unwrap(), Some(7));
    }
}
