//! Events and spans of the crate `tracing` as records that others can listen to, without a change of the program's code: a layer.
//!
//! ```
//! # #[cfg(any(unix, windows))] {
//! use isoform_tracing::Records;
//! use tracing_subscriber::prelude::*;
//!
//! let subscriber = tracing_subscriber::registry().with(Records::new());
//! // As any program that is watched; `isoform emitting` shows its channels.
//! let _emitting = isoform_channel::emitting::start("river")?;
//! tracing::subscriber::with_default(subscriber, || {
//!     let _span = tracing::info_span!("step", number = 7).entered();
//!     tracing::info!(depth = 0.5, "wet");
//! });
//! # }
//! # Ok::<(), isoform::Error>(())
//! ```
//!
//! Each target is a channel, `trace.` and the target, with `.` in the place of `::`: `trace.river.model`. Its records are
//!
//! - **events**: `level`, `span` (the number of the span around it, or 0), and the event's own fields, of which `message` is its text;
//! - **spans**, when they close: `level`, `span` (its number), `parent` (that of the span around it, or 0), `name`, `nanoseconds` from its making to
//!   its end, and its own fields as they were last.
//!
//! Integers, floats, booleans and texts keep their types; everything else is the text that `Debug` makes. A field of the program that has one of
//! these names takes its place. While nobody listens to a target, its events cost the look that finds so, and a number, and its spans are not measured.
#![forbid(unsafe_code)]

use isoform_dynamic::emit::{Content, Number, Place, Value};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;
use tracing_core::callsite::Identifier;
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// The layer; [the crate](crate) says what it does.
#[derive(Debug, Default)]
pub struct Records {
    places: RwLock<HashMap<Identifier, Arc<Place>>>,
}

impl Records {
    /// A layer.
    pub fn new() -> Records {
        Records::default()
    }

    /// What emits the records of a place in the code.
    fn place(&self, about: &'static Metadata<'static>) -> Arc<Place> {
        let callsite = about.callsite();
        let known = self.places.read().unwrap_or_else(PoisonError::into_inner).get(&callsite).cloned();
        known.unwrap_or_else(|| {
            let place = Arc::new(Place::new(&format!("trace.{}", about.target().replace("::", "."))));
            let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
            places.entry(callsite).or_insert(place).clone()
        })
    }
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for Records {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let about = event.metadata();
        let place = self.place(about);
        if !place.begin() {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let span = context.event_span(event).map_or(0, |span| span.id().into_u64());
        _ = place
            .emit(&fields.behind(&[("level", text(about.level().as_str())), ("span", unsigned(&span.to_ne_bytes()))]));
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !self.place(attributes.metadata()).is_heard() {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(Open { since: Instant::now(), fields });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            values.record(&mut open.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let about = span.metadata();
        let place = self.place(about);
        // Nobody heard a span of which nothing was kept when it began: there is no record of it.
        if !place.begin() {
            return;
        }
        let Some(Open { since, fields }) = span.extensions_mut().remove::<Open>() else { return };
        let parent = span.parent().map_or(0, |parent| parent.id().into_u64());
        let nanoseconds = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        _ = place.emit(&fields.behind(&[
            ("level", text(about.level().as_str())),
            ("span", unsigned(&id.into_u64().to_ne_bytes())),
            ("parent", unsigned(&parent.to_ne_bytes())),
            ("name", text(about.name())),
            ("nanoseconds", unsigned(&nanoseconds.to_ne_bytes())),
        ]));
    }
}

/// A span that somebody listened to when it was made.
struct Open {
    since: Instant,
    fields: Fields,
}

fn text(text: &str) -> Content<'_> {
    Content::Text(text)
}

fn unsigned(bytes: &[u8]) -> Content<'_> {
    Content::Number(Number::Unsigned(bytes.len() as u8), bytes)
}

/// The fields of an event or a span.
#[derive(Default)]
struct Fields(Vec<(&'static str, Owned)>);

enum Owned {
    Number(Number, Vec<u8>),
    Text(String),
}

impl Fields {
    /// A field may be recorded again.
    fn put(&mut self, field: &Field, value: Owned) {
        let name = field.name();
        match self.0.iter_mut().find(|(there, _)| *there == name) {
            Some((_, there)) => *there = value,
            None => self.0.push((name, value)),
        }
    }

    fn number(&mut self, field: &Field, number: Number, bytes: &[u8]) {
        self.put(field, Owned::Number(number, bytes.to_vec()));
    }

    /// A text ends at its first NUL, which no record can have.
    fn text(&mut self, field: &Field, mut text: String) {
        text.truncate(text.find('\0').unwrap_or(text.len()));
        self.put(field, Owned::Text(text));
    }

    /// These fields behind those of the layer.
    fn behind<'a>(&'a self, first: &[(&'a str, Content<'a>)]) -> Vec<Value<'a>> {
        let own = first.iter().filter(|(name, _)| self.0.iter().all(|(there, _)| there != name)).copied();
        let of_program = self.0.iter().map(|(name, value)| match value {
            Owned::Number(number, bytes) => (*name, Content::Number(*number, bytes)),
            Owned::Text(text) => (*name, Content::Text(text)),
        });
        own.chain(of_program).map(|(name, content)| Value { name, unit: None, content }).collect()
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.number(field, Number::Float(8), &value.to_ne_bytes());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.number(field, Number::Signed(8), &value.to_ne_bytes());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.number(field, Number::Unsigned(8), &value.to_ne_bytes());
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.number(field, Number::Signed(16), &value.to_ne_bytes());
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.number(field, Number::Unsigned(16), &value.to_ne_bytes());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.number(field, Number::Boolean, &[value.into()]);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.text(field, format!("{value:?}"));
    }
}
