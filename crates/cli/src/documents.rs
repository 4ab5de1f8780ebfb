//! Documents as sources: `xsd:PLACE#TYPE@LAYOUT`.

use crate::failure::Failure;
use crate::folders;
use crate::source::Document;
use isoform::core::{Layout, Shape};
use isoform::{Code, Format};
use isoform_xmit::{Declarations, Fetcher};
use std::collections::HashSet;

/// The variable with hosts from which documents may bring in others.
pub(crate) const VARIABLE: &str = "ISOFORM_HOSTS";

/// The declarations of a document, which servers are asked for.
fn declarations(place: &str) -> Result<Declarations, Failure> {
    let mut fetcher = Fetcher::new();
    if let Some(folder) = folders::cache() {
        fetcher = fetcher.cache(folder.join("isoform/documents"));
    }
    let hosts = std::env::var(VARIABLE).unwrap_or_default();
    for host in hosts.split(',').map(str::trim).filter(|host| !host.is_empty()) {
        fetcher = fetcher.allow(host);
    }
    fetcher.declarations(place).map_err(|error| match error.code() {
        Code::Forbidden => Failure::from(error)
            .of_source()
            .hint(format!("the variable {VARIABLE} has the hosts from which documents may bring in others")),
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
