//! Registries of known formats. Section "Single messages" of the header.

use crate::error::{Status, answer, call};
use crate::format::{Format, Latest};
use crate::message::Message;
use crate::pointer::{Held, Opened, Out, bytes, close, given, open, put};
use isoform::Token;
use std::ffi::c_void;

/// `iso_registry`
pub struct Registry {
    pub(crate) registry: isoform::Registry,
    latest: Latest,
}

/// `iso_registry_open`
#[unsafe(no_mangle)]
pub extern "C" fn iso_registry_open(registry: Opened<'_, Registry>) -> Status {
    let new = || Registry { registry: isoform::Registry::new(), latest: Latest::default() };
    call(|| open(registry, "registry", || Ok(new())))
}

/// `iso_registry_share`
#[unsafe(no_mangle)]
pub extern "C" fn iso_registry_share(registry: Option<&Registry>, other: Opened<'_, Registry>) -> Status {
    call(|| {
        open(other, "other", || {
            let registry = given(registry, "registry")?.registry.clone();
            Ok(Registry { registry, latest: Latest::default() })
        })
    })
}

/// `iso_registry_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_registry_close(registry: Held<'_, Registry>) {
    answer((), || close(registry));
}

/// `iso_registry_add`
#[unsafe(no_mangle)]
pub extern "C" fn iso_registry_add(registry: Option<&Registry>, format: Option<&Format>) -> Status {
    call(|| given(registry, "registry")?.registry.register(&given(format, "format")?.format))
}

/// `iso_registry_learn`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_registry_learn(
    registry: Option<&Registry>,
    description: *const c_void,
    count: usize,
) -> Status {
    call(|| {
        // SAFETY: (1) of the crate.
        let description = unsafe { bytes(description, count, "description")? };
        given(registry, "registry")?.registry.learn(description).map(drop)
    })
}

/// `iso_registry_find`
#[unsafe(no_mangle)]
pub extern "C" fn iso_registry_find(
    registry: Option<&mut Registry>,
    token: Option<&[u8; 16]>,
    format: Opened<'_, Format>,
) -> Status {
    call(|| {
        open(format, "format", || {
            let token = Token::from_bytes(*given(token, "token")?);
            given(registry, "registry")?.registry.lookup(token).map(Format::new)
        })
    })
}

/// `iso_message_parse`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_message_parse(
    registry: Option<&mut Registry>,
    message: *const c_void,
    count: usize,
    parsed: Out<'_, Message>,
) -> Status {
    call(|| {
        let place = given(parsed, "message")?;
        place.write(Message::NONE);
        // SAFETY: (1) of the crate.
        let bytes = unsafe { bytes(message, count, "bytes")? };
        let Registry { registry, latest } = given(registry, "registry")?;
        let incoming = isoform::Incoming::parse(bytes, registry)?;
        put(Some(place), "message", Message::of(&incoming, latest))
    })
}
