//! Formats of records that documents declare: how documents are loaded, and watched. Section "Formats of documents" of the header.

use crate::error::{Status, answer, call};
use crate::format::Format;
use crate::pointer::{Held, Opened, close, given, make, open, optional_text, text};
use isoform::Result;
use isoform::core::{Layout, Token};
use isoform_dynamic::rules::Wishes;
use isoform_xmit::{Declarations, Fetcher};
use std::ffi::{c_char, c_int};
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
    watch: isoform_xmit::Watch,
    name: String,
    layout: Layout,
    /// The last format that was told, with its defaults, unless an error came after it.
    known: Option<(Token, Vec<FieldDefault>)>,
}

/// The default of a field: the structure, the field, and the value as JSON.
type FieldDefault = (String, String, String);

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

/// The format of a record for a kind of machine, with the document's defaults as rules of a receiver.
pub(crate) fn declared(declarations: &Declarations, name: &str, layout: &Layout) -> Result<Format> {
    Ok(with_defaults(declarations.bind(name, layout)?, &declarations.defaults(name)?))
}

fn with_defaults(format: isoform::Format, defaults: &[FieldDefault]) -> Format {
    let mut wishes = Wishes::new();
    for (structure, field, json) in defaults {
        wishes.default(structure, field, json);
    }
    Format::declared(format, wishes)
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
        let watch = isoform_xmit::Watch::new(fetcher, place, milliseconds(every_ms));
        Ok(Watch { watch, name: name.into(), layout, known: None })
    };
    call(|| open(watch, "watch", watched))
}

/// `iso_watch_poll`
#[unsafe(no_mangle)]
pub extern "C" fn iso_watch_poll(watch: Option<&mut Watch>, format: Opened<'_, Format>) -> Status {
    call(|| told(watch, format, isoform_xmit::Watch::poll))
}

/// `iso_watch_check`
#[unsafe(no_mangle)]
pub extern "C" fn iso_watch_check(watch: Option<&mut Watch>, format: Opened<'_, Format>) -> Status {
    call(|| told(watch, format, isoform_xmit::Watch::check))
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
    look: impl FnOnce(&mut isoform_xmit::Watch) -> Option<Result<Declarations>>,
) -> Result<()> {
    make(format, "format", || {
        let watch = given(watch, "watch")?;
        look(&mut watch.watch).map_or(Ok(None), |change| watch.new_in(change)).map(|found| found.map(Box::new))
    })
}

impl Watch {
    /// The format in a change, unless it is the one that the program knows. After an error, any format is new.
    fn new_in(&mut self, change: Result<Declarations>) -> Result<Option<Format>> {
        let known = self.known.take();
        let declarations = change?;
        let (format, defaults) = (declarations.bind(&self.name, &self.layout)?, declarations.defaults(&self.name)?);
        let now = (format.token(), defaults);
        let new = (known.as_ref() != Some(&now)).then(|| with_defaults(format, &now.1));
        self.known = Some(now);
        Ok(new)
    }
}
