//! One operation of the document: a method on a path, what it takes and what it answers.

use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{HeaderBuilder, Ref, RefOr, Required};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::error::Problem;
use crate::page::Page;
use crate::routes;

/// The media type of a stream of events.
const EVENT_STREAM: &str = "text/event-stream";

/// A schema under its name.
pub(super) type Named = (String, RefOr<Schema>);

/// One operation under way, and the schemas it speaks of.
pub(super) struct Operation {
    pub(super) path: &'static str,
    pub(super) method: HttpMethod,
    pub(super) builder: OperationBuilder,
    pub(super) schemas: Vec<Named>,
    response: ResponseBuilder,
    status: &'static str,
}

impl Operation {
    /// Returns a read.
    pub(super) fn get(path: &'static str, summary: &str) -> Self {
        Self::new(HttpMethod::Get, path, summary)
    }

    /// Returns a call that changes nothing in the log, such as a beat.
    pub(super) fn report(path: &'static str, summary: &str) -> Self {
        Self::new(HttpMethod::Post, path, summary)
    }

    /// Returns a write by POST.
    pub(super) fn post(path: &'static str, summary: &str) -> Self {
        Self::new(HttpMethod::Post, path, summary).write()
    }

    /// Returns a write by PUT.
    pub(super) fn put(path: &'static str, summary: &str) -> Self {
        Self::new(HttpMethod::Put, path, summary).write()
    }

    /// Returns a write by PATCH.
    pub(super) fn patch(path: &'static str, summary: &str) -> Self {
        Self::new(HttpMethod::Patch, path, summary).write()
    }

    /// Returns a write by DELETE.
    pub(super) fn delete(path: &'static str, summary: &str) -> Self {
        Self::new(HttpMethod::Delete, path, summary).write()
    }

    fn new(method: HttpMethod, path: &'static str, summary: &str) -> Self {
        let builder = OperationBuilder::new()
            .summary(Some(summary))
            .operation_id(Some(operation_id(&method, path)))
            .tag(tag(path));
        let response = ResponseBuilder::new().description("It is done.");
        let status = "200";
        let mut operation = Self { path, method, builder, schemas: Vec::new(), response, status };
        if let Some(name) = parameter(path) {
            let parameter = ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Path)
                .required(Required::True)
                .schema(Some(text()));
            operation.builder = operation.builder.parameter(parameter);
        }
        operation
    }

    fn write(mut self) -> Self {
        let key = ParameterBuilder::new()
            .name("Idempotency-Key")
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(
                "Names the request, so that a retry gets the first answer: 1 to 64 visible \
                 ASCII characters.",
            ))
            .schema(Some(text()));
        self.builder = self.builder.parameter(key);
        let position = HeaderBuilder::new()
            .schema(Some(ObjectBuilder::new().schema_type(SchemaType::Type(Type::Integer))))
            .description(Some("The position of the entry in the log."))
            .build();
        let replayed = HeaderBuilder::new()
            .schema(Some(text()))
            .description(Some("`true` when this repeats the answer to an earlier request."))
            .build();
        self.response = self
            .response
            .header("Clawhold-Position", position)
            .header("Idempotency-Replayed", replayed);
        self
    }

    /// Adds the parameters of a query.
    pub(super) fn query<Q: IntoParams>(mut self) -> Self {
        let parameters: Vec<Parameter> = Q::into_params(|| Some(ParameterIn::Query));
        for parameter in parameters {
            self.builder = self.builder.parameter(parameter);
        }
        self
    }

    /// Sets the body that is taken.
    pub(super) fn body<B: ToSchema>(mut self) -> Self {
        let content = ContentBuilder::new().schema(Some(self.learn::<B>())).build();
        let body = RequestBodyBuilder::new()
            .content("application/json", content)
            .required(Some(Required::True))
            .build();
        self.builder = self.builder.request_body(Some(body));
        self
    }

    /// Sets the body that is answered.
    pub(super) fn reply<R: ToSchema>(mut self) -> Self {
        let content = ContentBuilder::new().schema(Some(self.learn::<R>())).build();
        self.response = self.response.content("application/json", content);
        self
    }

    /// Says that the answer is a page of such rows.
    pub(super) fn rows<R: ToSchema>(mut self) -> Self {
        self.learn::<R>();
        let name = format!("{}Page", R::name());
        self.schemas.push((name.clone(), Page::<R>::schema()));
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(name))).build();
        self.response = self.response.content("application/json", content);
        self
    }

    /// Says that the answer may be a stream of events, each with such data.
    pub(super) fn follow<R: ToSchema>(mut self) -> Self {
        let content = ContentBuilder::new().schema(Some(self.learn::<R>())).build();
        self.response = self.response.content(EVENT_STREAM, content);
        self
    }

    /// Says that the answer is text of this media type.
    pub(super) fn text(mut self, media_type: &str) -> Self {
        let content = ContentBuilder::new().schema(Some(text())).build();
        self.response = self.response.content(media_type, content);
        self
    }

    /// Says that the connection turns into a WebSocket whose text frames are arrays: of `C` from
    /// the client, of `A` from the server.
    pub(super) fn socket<C: ToSchema, A: ToSchema>(mut self) -> Self {
        self.learn::<C>();
        self.learn::<A>();
        let description = format!(
            "The connection is a WebSocket. A text frame from the client is a JSON array of \
             `{}`, one from the server an array of `{}`.",
            C::name(),
            A::name()
        );
        self.response = ResponseBuilder::new().description(description);
        self.status = "101";
        self
    }

    /// Adds the answers and returns the operation.
    pub(super) fn finish(mut self) -> Self {
        let content = ContentBuilder::new().schema(Some(self.learn::<Problem>())).build();
        let problem: Response = ResponseBuilder::new()
            .description("An error; `code` says which.")
            .content(routes::PROBLEM_JSON, content)
            .build();
        let response = std::mem::take(&mut self.response).build();
        let builder = std::mem::take(&mut self.builder);
        self.builder = builder.response(self.status, response).response("default", problem);
        self
    }

    /// Notes a type's schema and those it refers to, and returns a reference to it.
    fn learn<T: ToSchema>(&mut self) -> Ref {
        let name = T::name().into_owned();
        T::schemas(&mut self.schemas);
        self.schemas.push((name.clone(), T::schema()));
        Ref::from_schema_name(name)
    }
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(Type::String))
}

/// Returns the name of a path's parameter, if it has one.
fn parameter(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once('{')?;
    rest.split_once('}').map(|(name, _)| name)
}

/// Returns the noun that a path is about.
fn tag(path: &str) -> &str {
    let rest = path.strip_prefix("/v1/").unwrap_or("server");
    rest.split('/').next().unwrap_or(rest)
}

/// Returns an id made of the method and the path's words: `post_v1_roles_role_acquire`.
fn operation_id(method: &HttpMethod, path: &str) -> String {
    let verb = match method {
        HttpMethod::Get => "get",
        HttpMethod::Post => "post",
        HttpMethod::Put => "put",
        HttpMethod::Delete => "delete",
        HttpMethod::Options => "options",
        HttpMethod::Head => "head",
        HttpMethod::Patch => "patch",
        HttpMethod::Trace => "trace",
    };
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(verb.to_owned(), |id, word| format!("{id}_{word}"))
}
