//! Where the formats of others are found: at servers, or by a function of the program. Section "Unknown formats" of the header.

use crate::error::{Status, answer, call};
use crate::format::Format;
use crate::pointer::{Held, Opened, close, given, open, optional_text, text};
use crate::registry::Registry;
use crate::stream::{Reader, Writer};
use isoform::core::MAX_DESCRIPTION;
use isoform::core::message::Locators;
use isoform::{Code, Error, Resolver, Result, Token};
use isoform_service::Client;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

/// `iso_servers`
pub struct Servers {
    settings: Settings,
    client: Arc<Client>,
}

/// What the client is made of.
#[derive(Clone, Default)]
struct Settings {
    urls: Option<String>,
    cache: Option<String>,
    secret: Option<String>,
    authorities: Option<String>,
    identity: Option<String>,
    hosts: Vec<String>,
}

impl Settings {
    fn client(&self) -> Result<Client> {
        let mut client = match &self.urls {
            None => Client::nowhere(),
            Some(urls) => {
                let mut servers = isoform_service::Servers::new(urls.split(',').map(str::trim))?;
                if let Some(secret) = &self.secret {
                    servers = servers.bearer(secret)?;
                }
                if let Some(authorities) = &self.authorities {
                    servers = servers.trust(authorities)?;
                }
                if let Some(identity) = &self.identity {
                    servers = servers.certificate(identity)?;
                }
                Client::of(servers)
            }
        };
        if let Some(folder) = &self.cache {
            client = client.cached(folder);
        }
        self.hosts.iter().try_fold(client, |client, host| client.allow(host))
    }
}

impl Servers {
    fn new(settings: Settings) -> Result<Servers> {
        let client = Arc::new(settings.client()?);
        Ok(Servers { settings, client })
    }
}

/// Makes the client anew with another setting. If that fails, the servers stay as they were.
///
/// # Safety
/// (1) of the crate, for the text.
unsafe fn set(
    servers: Option<&mut Servers>,
    value: *const c_char,
    name: &str,
    change: impl FnOnce(&mut Settings, String),
) -> Status {
    call(|| {
        let servers = given(servers, "servers")?;
        // SAFETY: promised.
        let value = unsafe { text(value, name)? }.to_owned();
        let mut settings = servers.settings.clone();
        change(&mut settings, value);
        *servers = Servers::new(settings)?;
        Ok(())
    })
}

/// `iso_servers_secret`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_servers_secret(servers: Option<&mut Servers>, secret: *const c_char) -> Status {
    // SAFETY: (1) of the crate.
    unsafe { set(servers, secret, "secret", |settings, secret| settings.secret = Some(secret)) }
}

/// `iso_servers_trust`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_servers_trust(servers: Option<&mut Servers>, authorities: *const c_char) -> Status {
    // SAFETY: (1) of the crate.
    unsafe { set(servers, authorities, "authorities", |settings, file| settings.authorities = Some(file)) }
}

/// `iso_servers_certificate`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_servers_certificate(servers: Option<&mut Servers>, identity: *const c_char) -> Status {
    // SAFETY: (1) of the crate.
    unsafe { set(servers, identity, "identity", |settings, file| settings.identity = Some(file)) }
}

/// `iso_servers_allow`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_servers_allow(servers: Option<&mut Servers>, host: *const c_char) -> Status {
    // SAFETY: (1) of the crate.
    unsafe { set(servers, host, "host", |settings, host| settings.hosts.push(host)) }
}

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
            let (urls, cache) = unsafe { (optional_text(urls, "urls")?, optional_text(cache, "cache")?) };
            let (urls, cache) = (urls.map(str::to_owned), cache.map(str::to_owned));
            Servers::new(Settings { urls, cache, ..Settings::default() })
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
    call(|| given(servers, "servers")?.client.put(&given(format, "format")?.format))
}

/// `iso_registry_set_servers`
#[unsafe(no_mangle)]
pub extern "C" fn iso_registry_set_servers(registry: Option<&Registry>, servers: Option<&Servers>) -> Status {
    call(|| {
        given(registry, "registry")?.registry.set_resolver(given(servers, "servers")?.client.clone());
        Ok(())
    })
}

/// `iso_reader_set_servers`
#[unsafe(no_mangle)]
pub extern "C" fn iso_reader_set_servers(reader: Option<&Reader>, servers: Option<&Servers>) -> Status {
    call(|| {
        given(reader, "reader")?.reader.registry().set_resolver(given(servers, "servers")?.client.clone());
        Ok(())
    })
}

/// `iso_writer_set_servers`
#[unsafe(no_mangle)]
pub extern "C" fn iso_writer_set_servers(writer: Option<&mut Writer>, servers: Option<&Servers>) -> Status {
    call(|| {
        let client = given(servers, "servers")?.client.clone();
        given(writer, "writer")?.0.set_registrar(move |format| client.put(format));
        Ok(())
    })
}

/// `iso_responder`, with its URL as C has texts.
pub struct Responder(isoform_service::Responder, CString);

/// `iso_responder_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_responder_open(
    address: *const c_char,
    insecure: c_int,
    responder: Opened<'_, Responder>,
) -> Status {
    call(|| {
        open(responder, "responder", || {
            // SAFETY: (1) of the crate.
            let address = unsafe { text(address, "address")? };
            let responder = match insecure {
                0 => isoform_service::Responder::new(address)?,
                _ => isoform_service::Responder::insecure(address)?,
            };
            let url = CString::new(format!("http://{}", responder.address()));
            Ok(Responder(responder, url.map_err(|error| Error::new(Code::Internal).found(error))?))
        })
    })
}

/// `iso_responder_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_responder_close(responder: Held<'_, Responder>) {
    answer((), || close(responder));
}

/// `iso_responder_url`
#[unsafe(no_mangle)]
pub extern "C" fn iso_responder_url(responder: Option<&Responder>) -> *const c_char {
    responder.map_or(std::ptr::null(), |responder| responder.1.as_ptr())
}

/// `iso_responder_add`
#[unsafe(no_mangle)]
pub extern "C" fn iso_responder_add(responder: Option<&Responder>, format: Option<&Format>) -> Status {
    call(|| given(responder, "responder")?.0.register(&given(format, "format")?.format))
}

/// `iso_writer_set_responder`
#[unsafe(no_mangle)]
pub extern "C" fn iso_writer_set_responder(writer: Option<&mut Writer>, responder: Option<&Responder>) -> Status {
    call(|| {
        let responder = &given(responder, "responder")?.0;
        let writer = &mut given(writer, "writer")?.0;
        writer.set_registrar(responder.registrar());
        writer.set_locators(responder.locators());
        Ok(())
    })
}

/// `iso_writer_set_locators`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_writer_set_locators(writer: Option<&mut Writer>, urls: *const c_char) -> Status {
    call(|| {
        // SAFETY: (1) of the crate.
        let urls = unsafe { text(urls, "urls")? };
        let locators = Locators::new(urls.split(',').map(str::trim))?;
        given(writer, "writer")?.0.set_locators(locators);
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
