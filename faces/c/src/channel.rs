//! Channels. Section "Channels" of the header.

use crate::error::{Status, answer, c_text, call};
use crate::format::Format;
use crate::node::Node;
use crate::pointer::{Held, Opened, close, given, open, text};
use isoform::Result;
use std::ffi::{CString, c_char};

/// `iso_channel`
pub struct Channel {
    pub(crate) channel: isoform_channel::Channel,
    id: CString,
}

impl Channel {
    fn new(channel: isoform_channel::Channel) -> Channel {
        let id = c_text(&channel.id().to_string());
        Channel { channel, id }
    }
}

/// `iso_channel_create`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_channel_create(
    node: Option<&Node>,
    name: *const c_char,
    format: Option<&Format>,
    channel: Opened<'_, Channel>,
) -> Status {
    call(|| {
        open(channel, "channel", || {
            // SAFETY: (1) of the crate.
            let name = unsafe { text(name, "name")? };
            let format = format.map(|format| &format.format);
            given(node, "node")?.node.create_with(name, format).map(Channel::new)
        })
    })
}

/// `iso_channel_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_channel_open(
    node: Option<&Node>,
    id: *const c_char,
    channel: Opened<'_, Channel>,
) -> Status {
    call(|| {
        open(channel, "channel", || {
            // SAFETY: (1) of the crate.
            let id = unsafe { text(id, "id")? };
            given(node, "node")?.node.open(id).map(Channel::new)
        })
    })
}

/// `iso_channel_derive`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_channel_derive(
    channel: Option<&Channel>,
    query: *const c_char,
    name: *const c_char,
    derived: Opened<'_, Channel>,
) -> Status {
    call(|| {
        open(derived, "derived", || {
            // SAFETY: (1) of the crate.
            let derived = given(channel, "channel")?.channel.derive(unsafe { text(query, "query")? })?;
            if name.is_null() {
                return Ok(Channel::new(derived));
            }
            // SAFETY: (1) of the crate.
            derived.named(unsafe { text(name, "name")? }).map(Channel::new)
        })
    })
}

/// `iso_channel_id`
#[unsafe(no_mangle)]
pub extern "C" fn iso_channel_id(channel: Option<&Channel>) -> *const c_char {
    channel.map_or(c"".as_ptr(), |channel| channel.id.as_ptr())
}

/// `iso_channel_format`
#[unsafe(no_mangle)]
pub extern "C" fn iso_channel_format(
    channel: Option<&Channel>,
    format: crate::pointer::Out<'_, Option<Box<Format>>>,
) -> Status {
    call(|| {
        crate::pointer::make(format, "format", || {
            let format = given(channel, "channel")?.channel.format();
            Ok(format.map(|format| Box::new(Format::new(&format))))
        })
    })
}

/// `iso_channel_leave`
#[unsafe(no_mangle)]
pub extern "C" fn iso_channel_leave(channel: Held<'_, Channel>) -> Status {
    call(|| -> Result<()> {
        if let Some(channel) = channel.and_then(Option::take) {
            channel.channel.close();
        }
        Ok(())
    })
}

/// `iso_channel_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_channel_close(channel: Held<'_, Channel>) {
    answer((), || close(channel));
}
