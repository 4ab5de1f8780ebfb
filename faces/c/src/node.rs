//! Nodes, the members of channels that act for a process. Section "Channels" of the header.

use crate::error::{Status, answer, c_text, call};
use crate::pointer::{Held, Opened, Out, close, given, make, open, optional_text};
use isoform::{Code, Error};
use isoform_dynamic::wait::milliseconds as patience;
use std::ffi::{CString, c_char, c_int, c_uint};
#[cfg(unix)]
use std::os::fd::AsRawFd;

/// `iso_node`
pub struct Node {
    pub(crate) node: isoform_channel::Node,
    address: CString,
}

/// `ISO_ALLOW_INSECURE`
const ALLOW_INSECURE: c_uint = 1;
/// `ISO_ADMIT_ANYONE`
const ADMIT_ANYONE: c_uint = 2;

/// `iso_node_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_node_open(listen: *const c_char, flags: c_uint, node: Opened<'_, Node>) -> Status {
    call(|| {
        open(node, "node", || {
            if flags & !(ALLOW_INSECURE | ADMIT_ANYONE) != 0 {
                let error = Error::new(Code::WrongType).at("flags");
                return Err(error.expected("0, or ISO_ALLOW_INSECURE and ISO_ADMIT_ANYONE").found(flags));
            }
            // SAFETY: (1) of the crate.
            let words = unsafe { optional_text(listen, "listen")? }.unwrap_or_default().split_whitespace();
            let mut builder = isoform_channel::Node::builder()
                .insecure(flags & ALLOW_INSECURE != 0)
                .admit_anyone(flags & ADMIT_ANYONE != 0);
            for word in words {
                builder = match word.split_once('=') {
                    Some(("advertise", address)) => builder.advertise(address),
                    Some(("identity", file)) => builder.identity(file),
                    Some(("identity-key", file)) => builder.identity_key(file),
                    Some(("trust", file)) => builder.trust(file),
                    Some(("trust-name", name)) => builder.trust_name(name),
                    Some(("revoked", file)) => builder.revoked(file),
                    Some(("rules", file)) => builder.rules(file),
                    Some(("key", key)) => builder.key(key.parse().map_err(|error: Error| error.within("key"))?),
                    _ if word == "trust-platform" => builder.trust_platform(true),
                    _ if word == "tls-on-loopback" => builder.tls_on_loopback(true),
                    _ => builder.listen(word),
                };
            }
            let node = builder.build()?;
            let address = node.addresses().first().map_or(CString::default(), |address| c_text(&address.to_string()));
            Ok(Node { node, address })
        })
    })
}

/// `iso_node_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_node_close(node: Held<'_, Node>) {
    answer((), || close(node));
}

/// `iso_node_address`
#[unsafe(no_mangle)]
pub extern "C" fn iso_node_address(node: Option<&Node>) -> *const c_char {
    node.map_or(c"".as_ptr(), |node| node.address.as_ptr())
}

/// `iso_node_poll`
#[unsafe(no_mangle)]
pub extern "C" fn iso_node_poll(node: Option<&Node>, milliseconds: c_int, count: Out<'_, usize>) -> Status {
    call(|| {
        let node = &given(node, "node")?.node;
        match count {
            Some(count) => make(Some(count), "count", || node.poll(patience(milliseconds))),
            None => node.poll(patience(milliseconds)).map(drop),
        }
    })
}

/// `iso_node_fd`
#[unsafe(no_mangle)]
pub extern "C" fn iso_node_fd(node: Option<&Node>, descriptor: Out<'_, c_int>) -> Status {
    call(|| {
        let place = given(descriptor, "fd")?;
        place.write(-1);
        let node = given(node, "node")?;
        #[cfg(unix)]
        let descriptor = node.node.descriptor()?.as_raw_fd();
        #[cfg(windows)]
        let descriptor = no_descriptor("iso_node_poll", node)?;
        place.write(descriptor);
        Ok(())
    })
}

/// Windows has no descriptor to wait for.
#[cfg(windows)]
pub(crate) fn no_descriptor<T>(instead: &str, _: &T) -> isoform::Result<c_int> {
    let expected = format_args!("a system with poll(2), or {instead} with a time");
    Err(Error::new(Code::Io).at("fd").expected(expected).found("Windows"))
}
