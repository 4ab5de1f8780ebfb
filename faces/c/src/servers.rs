//! Where the formats of others are found: at servers, or by a function of the program. Section "Unknown formats" of the header.

use crate::error::{Status, answer, call};
use crate::format::Format;
use crate::pointer::{Held, Opened, close, given, open, optional_text, text};
use crate::registry::Registry;
use crate::stream::{Reader, Writer};
use isoform::core::MAX_DESCRIPTION;
use isoform::{Code, Error, Resolver, Result, Token};
use isoform_service::Client;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// `iso_servers`
pub struct Servers(Arc<Client>);

/// `iso_resolve`
pub type Resolve =
    unsafe extern "C" fn(context: *mut c_void, token: *const u8, description: *mut c_void, room: usize) -> isize;

/// A function of the program that finds descriptions, with its context.
struct Finder(Resolve, *mut c_void);

// SAFETY: the header says that all threads with the registry call it.
unsafe impl Send for Finder {}
// SAFETY: the same.
unsafe impl Sync for Finder {}

impl Resolver for Finder {
    fn resolve(&self, token: Token) -> Result<Vec<u8>> {
        let mut room = vec![0; MAX_DESCRIPTION];
        // SAFETY: (1) of the crate: it may be called so, with the context that was given with it.
        match unsafe { self.0(self.1, token.as_bytes().as_ptr(), room.as_mut_ptr().cast(), room.len()) } {
            0 => Err(Error::unknown_format(token)),
            length if (1..=room.len().cast_signed()).contains(&length) => {
                room.truncate(length.cast_unsigned());
                Ok(room)
            }
            failed => {
                let expected = format_args!("the description of {token}");
                let found = format_args!("the program's function returned {failed}");
                Err(Error::new(Code::Io).expected(expected).found(found))
            }
        }
    }
}

/// `iso_servers_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_servers_open(
    urls: *const c_char,
    cache: *const c_char,
    servers: Opened<'_, Servers>,
) -> Status {
    call(|| {
        open(servers, "servers", || {
            // SAFETY: (1) of the crate.
            let (urls, cache) = unsafe { (text(urls, "urls")?, optional_text(cache, "cache")?) };
            let client = Client::new(urls)?;
            Ok(Servers(Arc::new(match cache {
                Some(folder) => client.cached(folder),
                None => client,
            })))
        })
    })
}

/// `iso_servers_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_servers_close(servers: Held<'_, Servers>) {
    answer((), || close(servers));
}

/// `iso_servers_put`
#[unsafe(no_mangle)]
pub extern "C" fn iso_servers_put(servers: Option<&Servers>, format: Option<&Format>) -> Status {
    call(|| given(servers, "servers")?.0.put(&given(format, "format")?.format))
}

/// `iso_registry_set_servers`
#[unsafe(no_mangle)]
pub extern "C" fn iso_registry_set_servers(registry: Option<&Registry>, servers: Option<&Servers>) -> Status {
    call(|| {
        given(registry, "registry")?.registry.set_resolver(given(servers, "servers")?.0.clone());
        Ok(())
    })
}

/// `iso_reader_set_servers`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_set_servers(reader: Option<&Reader>, servers: Option<&Servers>) -> Status {
    call(|| {
        given(reader, "reader")?.reader.registry().set_resolver(given(servers, "servers")?.0.clone());
        Ok(())
    })
}

/// `iso_writer_set_servers`
#[unsafe(no_mangle)]
pub extern "C" fn iso_writer_set_servers(writer: Option<&mut Writer>, servers: Option<&Servers>) -> Status {
    call(|| {
        let client = given(servers, "servers")?.0.clone();
        given(writer, "writer")?.0.set_registrar(move |format| client.put(format));
        Ok(())
    })
}

/// `iso_registry_set_resolver`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_registry_set_resolver(
    registry: Option<&Registry>,
    resolve: Option<Resolve>,
    context: *mut c_void,
) -> Status {
    call(|| {
        given(registry, "registry")?.registry.set_resolver(Finder(given(resolve, "resolve")?, context));
        Ok(())
    })
}

/// `iso_reader_set_resolver`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_reader_set_resolver(
    reader: Option<&Reader>,
    resolve: Option<Resolve>,
    context: *mut c_void,
) -> Status {
    call(|| {
        given(reader, "reader")?.reader.registry().set_resolver(Finder(given(resolve, "resolve")?, context));
        Ok(())
    })
}
