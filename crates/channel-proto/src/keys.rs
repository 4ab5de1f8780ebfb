//! Ids, names and keys: of nodes and channels for all nodes, and of everything else within one node.

use isoform_core::{Code, Error, Result};
use std::fmt;

/// The id of a node: a hash of its [key](crate::Key), which is new with every start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub [u8; 16]);

/// The identity of a channel: 16 random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity(pub [u8; 16]);

impl NodeId {
    /// Any node.
    pub const ANY: NodeId = NodeId([0; 16]);
}

impl Identity {
    /// Any channel with the given name.
    pub(crate) const NONE: Identity = Identity([0; 16]);
}

/// The key of an object in a container of a node.
pub(crate) trait Key: Copy + Eq + fmt::Debug {
    /// The key with a number. If numbers are reused, `turn` differs each time.
    fn of(number: u32, turn: u32) -> Self;

    /// The number.
    fn number(self) -> u32;
}

macro_rules! keys {
    ($($(#[doc = $doc:literal])* $seen:vis $name:ident;)*) => {
        $($(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $seen struct $name(pub u32);

        impl Key for $name {
            #[inline]
            fn of(number: u32, _: u32) -> Self {
                $name(number)
            }

            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        })*
    };
}

keys! {
    /// An attempt to connect.
    pub DialKey;
    /// A channel of a node.
    pub ChannelKey;
    /// An attempt to open a channel.
    pub OpenKey;
    /// A source of a node: also its number on the wire.
    pub SourceKey;
    /// A sink of a node: also its number on the wire.
    pub SinkKey;
    /// Values of a source's parameters that sinks ask for: tells them from others at the source.
    pub DemandKey;
    /// A subscription at the node of its source.
    pub(crate) SendingKey;
    /// A subscription at the node of its sink: also its number on the wire.
    pub(crate) ReceivingKey;
}

/// A connection. The caller chooses its number, and never uses it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub u64);

/// A source, as the sinks of a node distinguish it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceRef(pub u32);

impl SourceRef {
    /// Whether this number was given no earlier than another one. Numbers wrap around after four billions.
    pub(crate) fn is_since(self, other: SourceRef) -> bool {
        self.0.wrapping_sub(other.0) < 1 << 31
    }
}

/// A link of a node. Its place is reused and its key is not, since sinks remember links that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LinkKey {
    place: u32,
    turn: u32,
}

impl LinkKey {
    /// No link.
    pub(crate) const NONE: LinkKey = LinkKey { place: u32::MAX, turn: u32::MAX };
}

impl Key for LinkKey {
    #[inline]
    fn of(place: u32, turn: u32) -> Self {
        LinkKey { place, turn }
    }

    #[inline]
    fn number(self) -> u32 {
        self.place
    }
}

fn hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0[..4], f)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0[..4], f)
    }
}

/// Refuses texts that cannot be the name of a channel.
///
/// # Errors
/// [`Code::Address`].
///
/// ```
/// use isoform_channel_proto::check_name;
/// assert!(check_name("river").is_ok());
/// assert!(check_name("river/depth").is_err());
/// ```
pub fn check_name(name: &str) -> Result<()> {
    let expected = if !(1..=255).contains(&name.len()) {
        "a name of 1 to 255 bytes"
    } else if name.contains('/') || name.contains(char::is_control) {
        "a name without / and control characters"
    } else if name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        "a name that does not look like an identity, which is 32 hexadecimal digits"
    } else {
        return Ok(());
    };
    Err(Error::new(Code::Address).expected(expected).found(format_args!("{name:?}")))
}

/// The error for an object that was closed.
#[cold]
pub(crate) fn closed(what: &str) -> Error {
    Error::new(Code::Closed).at(what)
}
