//! Documents as sources: `xsd:PLACE#TYPE@LAYOUT`.

use crate::failure::Failure;
use crate::source::Document;
use crate::surroundings;
use isoform::core::{Layout, Shape};
use isoform::{Code, Format};
use isoform_xmit::{Declarations, Fetcher};
use std::collections::HashSet;

/// The declarations of a document, which servers are asked for.
fn declarations(place: &str) -> Result<Declarations, Failure> {
    let mut fetcher = Fetcher::new();
    if let Some(folder) = surroundings::cache() {
        fetcher = fetcher.cache(folder.join("isoform/documents"));
    }
    for host in surroundings::hosts() {
        fetcher = fetcher.allow(&host);
    }
    fetcher.declarations(place).map_err(|error| match error.code() {
        Code::Forbidden => Failure::from(error).of_source().hint(format!(
            "the variable {} has the hosts from which documents may bring in others",
            surroundings::HOSTS
        )),
        _ => Failure::from(error).of_source(),
    })
}

/// The shape of the type that a source names.
pub(crate) fn shape(document: &Document, name: &str) -> Result<Shape, Failure> {
    Ok(declarations(&document.place)?.shape(name)?)
}

/// The formats of all types that no other nests.
pub(crate) fn formats(document: &Document) -> Result<Vec<Format>, Failure> {
    let declarations = declarations(&document.place)?;
    let layout = document.layout.as_ref().unwrap_or(&Layout::NATIVE);
    let formats: Vec<Format> =
        declarations.names().map(|name| declarations.bind(name, layout)).collect::<Result<_, _>>()?;
    let nested: HashSet<Box<str>> = formats
        .iter()
        .flat_map(|format| format.structure().inside_out().into_iter().rev().skip(1).map(|inner| inner.name().into()))
        .collect();
    Ok(formats.into_iter().filter(|format| !nested.contains(format.name())).collect())
}
