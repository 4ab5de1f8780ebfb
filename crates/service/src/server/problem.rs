//! Errors as answers: `application/problem+json` with the codes of `spec/errors.md`.

use crate::names::Refusal;
use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use axum::response::IntoResponse;
use isoform_core::{Class, Code, Error};
use serde_json::{Map, Value};

/// An error that a client gets.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    error: Error,
    refused: Vec<Refusal>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, error: Error) -> Problem {
        Problem { status, error, refused: Vec::new() }
    }

    #[cfg(test)]
    pub(super) fn error(&self) -> &Error {
        &self.error
    }

    /// A version that the rule of its name refuses.
    pub(super) fn refused(refused: Vec<Refusal>) -> Problem {
        let error = Error::new(Code::NotCompatible).at(refused.first().map_or("", |first| {
            // The first field at fault stands for all, which are listed.
            first.fields.first().map_or("", |error| error.path())
        }));
        Problem { refused, ..Problem::new(StatusCode::CONFLICT, error) }
    }

    fn to_json(&self) -> Value {
        let code = self.error.code();
        let mut json = Map::new();
        let mut add = |name: &str, value: Value| _ = json.insert(name.into(), value);
        add("type", "about:blank".into());
        add("title", code.text().into());
        add("status", self.status.as_u16().into());
        add("code", (code as u16).into());
        add("name", code.name().into());
        for (name, text) in
            [("field", self.error.path()), ("expected", self.error.expectation()), ("found", self.error.actual())]
        {
            if !text.is_empty() {
                add(name, text.into());
            }
        }
        if !self.refused.is_empty() {
            add("refused", self.refused.iter().map(Refusal::to_json).collect());
        }
        json.into()
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let status = match error.code() {
            Code::UnknownFormat | Code::NoSuchName => StatusCode::NOT_FOUND,
            Code::TokenMismatch | Code::NotCompatible | Code::NotWriter => StatusCode::CONFLICT,
            Code::DescriptionSize | Code::MessageSize => StatusCode::PAYLOAD_TOO_LARGE,
            Code::NotAdmitted => StatusCode::UNAUTHORIZED,
            Code::Forbidden => StatusCode::FORBIDDEN,
            Code::Budget => StatusCode::INSUFFICIENT_STORAGE,
            Code::Deadline => StatusCode::REQUEST_TIMEOUT,
            code => match code.class() {
                Class::BadInput | Class::Limit | Class::Mismatch | Class::Usage => StatusCode::BAD_REQUEST,
                Class::Unavailable | Class::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            },
        };
        Problem::new(status, error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let body = self.to_json().to_string();
        let mut response = (self.status, body).into_response();
        // For the counts.
        response.extensions_mut().insert(self.error.code());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        response
    }
}
