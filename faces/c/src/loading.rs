//! Formats of records that documents declare: how documents are loaded, and watched. Section "Formats of documents" of the header.

use crate::error::{Status, answer, call};
use crate::format::Format;
use crate::pointer::{Held, Opened, close, given, make, open, optional_text, text};
use isoform::core::Layout;
use isoform::{Code, Error, Result};
use isoform_dynamic::rules::Wishes;
use isoform_xmit::{Declarations, Fetcher, WatchedRecord};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// `iso_document_options`
#[repr(C)]
pub struct Options {
    language: *const c_char,
    layout: *const c_char,
    overlay: *const c_char,
    hosts: *const c_char,
    schemes: *const c_char,
    cache: *const c_char,
    deadline_ms: u64,
    limit: u64,
    redirects: c_int,
}

/// `iso_watch`
pub struct Watch {
    watch: WatchedRecord,
    name: String,
}

/// `iso_watched`
pub type Watched = unsafe extern "C" fn(context: *mut c_void, code: Status, format: *const Format);

/// `iso_watching`
pub struct Watching {
    thread: isoform_xmit::Watching,
    shared: Arc<Shared>,
}

/// What a thread that watches has in common with the handle.
struct Shared {
    /// Held while the function is called: whether it is still called.
    is_open: Mutex<bool>,
    /// The thread that calls it.
    caller: OnceLock<ThreadId>,
}

/// A function of the program, with its context.
struct Function(Watched, *mut c_void);

// SAFETY: the header says that it is called by another thread.
unsafe impl Send for Function {}

impl Function {
    fn call(&self, code: Status, format: Option<&Format>) {
        // SAFETY: (1) of the crate: it may be called so, with the context that was given with it.
        unsafe { self.0(self.1, code, format.map_or(ptr::null(), ptr::from_ref)) }
    }
}

/// What loads documents as the options say, and the machine for which records are laid out.
///
/// # Safety
/// (1): the texts of the options are NULL or texts of C.
pub(crate) unsafe fn fetcher(options: Option<&Options>) -> Result<(Fetcher, Layout)> {
    let (mut fetcher, mut layout) = (Fetcher::new(), Layout::NATIVE);
    let Some(options) = options else { return Ok((fetcher, layout)) };
    // SAFETY: promised.
    let word = |text: *const c_char, name: &str| unsafe { optional_text(text, name) };
    if let Some(language) = word(options.language, "language")? {
        fetcher = fetcher.language(language.parse()?);
    }
    if let Some(name) = word(options.layout, "layout")? {
        layout = name.parse()?;
    }
    if let Some(overlay) = word(options.overlay, "overlay")? {
        fetcher = fetcher.overlay(overlay);
    }
    if let Some(cache) = word(options.cache, "cache")? {
        fetcher = fetcher.cache(cache);
    }
    fetcher = words(word(options.hosts, "hosts")?).into_iter().fold(fetcher, Fetcher::allow);
    if let schemes @ [_, ..] = &*words(word(options.schemes, "schemes")?) {
        fetcher = fetcher.schemes(schemes);
    }
    if options.deadline_ms > 0 {
        fetcher = fetcher.deadline(milliseconds(options.deadline_ms));
    }
    if options.limit > 0 {
        fetcher = fetcher.limit(usize::try_from(options.limit).unwrap_or(usize::MAX));
    }
    if options.redirects != 0 {
        fetcher = fetcher.redirects(usize::try_from(options.redirects).unwrap_or(0));
    }
    Ok((fetcher, layout))
}

/// The words of a list with commas.
fn words(text: Option<&str>) -> Vec<&str> {
    text.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
}

/// A time that can be added to any clock: at most some decades.
fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count.min(1 << 40))
}

/// The format of a record for a kind of machine, with the document's defaults, and the aliases that an overlay makes, as rules of a receiver.
pub(crate) fn declared(declarations: &Declarations, name: &str, layout: &Layout) -> Result<Format> {
    with_rules(declarations.bind(name, layout)?, declarations, name)
}

fn with_rules(format: isoform::Format, declarations: &Declarations, name: &str) -> Result<Format> {
    let mut wishes = Wishes::new();
    for (structure, field, json) in declarations.defaults(name)? {
        wishes.default(&structure, &field, &json);
    }
    for (structure, field, alias) in declarations.aliases(name)? {
        wishes.alias(&structure, &field, &alias);
    }
    Ok(Format::declared(format, wishes))
}

/// `iso_format_load`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_format_load(
    place: *const c_char,
    name: *const c_char,
    format: Opened<'_, Format>,
) -> Status {
    // SAFETY: (1) of the crate.
    unsafe { iso_format_load_with(place, name, None, format) }
}

/// `iso_format_load_with`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_format_load_with(
    place: *const c_char,
    name: *const c_char,
    options: Option<&Options>,
    format: Opened<'_, Format>,
) -> Status {
    let load = || -> Result<Format> {
        // SAFETY: (1) of the crate.
        let (place, name, (mut fetcher, layout)) =
            unsafe { (text(place, "place")?, text(name, "name")?, fetcher(options)?) };
        declared(&fetcher.declarations(place)?, name, &layout)
    };
    call(|| open(format, "format", load))
}

/// `iso_watch_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_watch_open(
    place: *const c_char,
    name: *const c_char,
    options: Option<&Options>,
    every_ms: u64,
    watch: Opened<'_, Watch>,
) -> Status {
    let watched = || -> Result<Watch> {
        // SAFETY: (1) of the crate.
        let (place, name, (fetcher, layout)) =
            unsafe { (text(place, "place")?, text(name, "name")?, fetcher(options)?) };
        let watch = isoform_xmit::Watch::new(fetcher, place, milliseconds(every_ms)).record(name, &layout);
        Ok(Watch { watch, name: name.into() })
    };
    call(|| open(watch, "watch", watched))
}

/// `iso_watch_poll`
#[unsafe(no_mangle)]
pub extern "C" fn iso_watch_poll(watch: Option<&mut Watch>, format: Opened<'_, Format>) -> Status {
    call(|| told(watch, format, WatchedRecord::poll))
}

/// `iso_watch_check`
#[unsafe(no_mangle)]
pub extern "C" fn iso_watch_check(watch: Option<&mut Watch>, format: Opened<'_, Format>) -> Status {
    call(|| told(watch, format, WatchedRecord::check))
}

/// `iso_watch_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_watch_close(watch: Held<'_, Watch>) {
    answer((), || close(watch));
}

/// Gives out a new format, or NULL if there is none.
fn told(
    watch: Option<&mut Watch>,
    format: Opened<'_, Format>,
    look: impl FnOnce(&mut WatchedRecord) -> Option<Result<isoform::Format>>,
) -> Result<()> {
    make(format, "format", || {
        let Watch { watch, name } = given(watch, "watch")?;
        let (found, declarations) = (look(watch).transpose()?, watch.declarations());
        let new = found.zip(declarations).map(|(found, declarations)| with_rules(found, declarations, name));
        Ok(new.transpose()?.map(Box::new))
    })
}

/// `iso_watch_due_ms`
#[unsafe(no_mangle)]
pub extern "C" fn iso_watch_due_ms(watch: Option<&Watch>) -> u64 {
    watch.map_or(0, |watch| u64::try_from(watch.watch.due().as_millis()).unwrap_or(u64::MAX))
}

/// `iso_watch_spawn`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_watch_spawn(
    watch: Held<'_, Watch>,
    function: Option<Watched>,
    context: *mut c_void,
    watching: Opened<'_, Watching>,
) -> Status {
    let spawn = || -> Result<Watching> {
        let function = Function(given(function, "function")?, context);
        let Watch { watch, name } = *given(given(watch, "watch")?.take(), "watch")?;
        let shared = Arc::new(Shared { is_open: Mutex::new(true), caller: OnceLock::new() });
        let theirs = shared.clone();
        let then = move |found: Result<(&isoform::Format, &Declarations)>| {
            theirs.caller.get_or_init(|| thread::current().id());
            let mut format = None;
            let code = call(|| {
                let (found, declarations) = found?;
                format = Some(with_rules(found.clone(), declarations, &name)?);
                Ok(())
            });
            let is_open = theirs.is_open.lock().unwrap_or_else(PoisonError::into_inner);
            if *is_open {
                function.call(code, format.as_ref());
            }
        };
        let thread = watch.spawn(then).map_err(|error| Error::new(Code::Io).found(error))?;
        Ok(Watching { thread, shared })
    };
    call(|| open(watching, "watching", spawn))
}

/// `iso_watching_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_watching_close(watching: Held<'_, Watching>) {
    answer((), || {
        let Some(watching) = watching.and_then(Option::take) else { return };
        let Watching { thread, shared } = *watching;
        drop(thread);
        // Within the function, its thread ends when it returns.
        if shared.caller.get() != Some(&thread::current().id()) {
            *shared.is_open.lock().unwrap_or_else(PoisonError::into_inner) = false;
        }
    });
}
