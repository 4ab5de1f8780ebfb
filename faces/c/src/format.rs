//! Formats of structs. Section "Formats" of the header.

use crate::error::{Status, answer, c_text, call};
use crate::pointer::{Held, Opened, Out, bytes, close, given, open};
use crate::table::{self, Table, Tables};
use isoform::Result;
use isoform_dynamic::rules::Wishes;
use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;

/// `iso_format`
pub struct Format {
    pub(crate) format: isoform::Format,
    /// The defaults in the table or the document that declared it.
    pub(crate) defaults: Wishes,
    name: OnceLock<CString>,
    tables: OnceLock<Tables>,
}

impl Format {
    pub(crate) fn new(format: &isoform::Format) -> Format {
        Format::declared(format.clone(), Wishes::new())
    }

    /// The same format, with its defaults.
    pub(crate) fn another(&self) -> Format {
        Format::declared(self.format.clone(), self.defaults.clone())
    }

    pub(crate) fn declared(format: isoform::Format, defaults: Wishes) -> Format {
        Format { format, defaults, name: OnceLock::new(), tables: OnceLock::new() }
    }
}

/// The format of the last message, for as long as the next messages have the same.
#[derive(Default)]
pub(crate) struct Latest(Option<Box<Format>>);

impl Latest {
    pub(crate) fn of(&mut self, format: &isoform::Format) -> &Format {
        match &mut self.0 {
            Some(latest) if latest.format == *format => {}
            other => *other = Some(Box::new(Format::new(format))),
        }
        self.0.as_deref().unwrap_or_else(|| unreachable!("it was just put there"))
    }
}

/// `iso_format_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_format_open(structures: *const Table, count: usize, format: Opened<'_, Format>) -> Status {
    // SAFETY: (1) of the crate.
    let declared = || unsafe { table::format(structures, count) };
    call(|| open(format, "format", || declared().map(|(format, defaults)| Format::declared(format, defaults))))
}

/// `iso_format_parse`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_format_parse(
    description: *const c_void,
    count: usize,
    format: Opened<'_, Format>,
) -> Status {
    let parse = || -> Result<Format> {
        // SAFETY: (1) of the crate.
        let description = unsafe { bytes(description, count, "description")? };
        isoform::Format::parse(description).map(|format| Format::new(&format))
    };
    call(|| open(format, "format", parse))
}

/// `iso_format_copy`
#[unsafe(no_mangle)]
pub extern "C" fn iso_format_copy(format: Option<&Format>, copy: Opened<'_, Format>) -> Status {
    call(|| open(copy, "copy", || given(format, "format").map(Format::another)))
}

/// `iso_format_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_format_close(format: Held<'_, Format>) {
    answer((), || close(format));
}

/// `iso_format_name`
#[unsafe(no_mangle)]
pub extern "C" fn iso_format_name(format: Option<&Format>) -> *const c_char {
    answer(c"".as_ptr(), || match format {
        Some(format) => format.name.get_or_init(|| c_text(format.format.name())).as_ptr(),
        None => c"".as_ptr(),
    })
}

/// `iso_format_size`
#[unsafe(no_mangle)]
pub extern "C" fn iso_format_size(format: Option<&Format>) -> usize {
    format.map_or(0, |format| format.format.size())
}

/// `iso_format_token`
#[unsafe(no_mangle)]
pub extern "C" fn iso_format_token(format: Option<&Format>, token: Out<'_, [u8; 16]>) -> Status {
    call(|| {
        let token_of = given(format, "format")?.format.token();
        crate::pointer::put(token, "token", *token_of.as_bytes())
    })
}

/// `iso_format_description`
#[unsafe(no_mangle)]
pub extern "C" fn iso_format_description(format: Option<&Format>, count: Out<'_, usize>) -> *const c_void {
    let bytes = format.map_or(&[][..], |format| format.format.description().as_bytes());
    if let Some(count) = count {
        count.write(bytes.len());
    }
    if bytes.is_empty() { ptr::null() } else { bytes.as_ptr().cast() }
}

/// `iso_format_structures`
#[unsafe(no_mangle)]
pub extern "C" fn iso_format_structures(format: Option<&Format>, count: Out<'_, usize>) -> *const Table {
    answer(ptr::null(), || {
        let tables = format.map_or(&[][..], |format| format.tables.get_or_init(|| Tables::of(&format.format)).list());
        if let Some(count) = count {
            count.write(tables.len());
        }
        if tables.is_empty() { ptr::null() } else { tables.as_ptr() }
    })
}
