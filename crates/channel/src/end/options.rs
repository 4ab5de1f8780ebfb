//! The settings of a sink, for the application and for the protocol.

use crate::api::parameters::Parameters;
use isoform::form::Accepts;
use isoform::{Faults, Limits, Missing};
use isoform_channel_proto::{NodeId, Policy, Query, Wanted, Window};

/// The settings of a [`SinkBuilder`](crate::SinkBuilder).
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) policy: Policy,
    pub(crate) must: bool,
    pub(crate) kept: bool,
    pub(crate) window: Option<Window>,
    pub(crate) faults: Option<Faults>,
    pub(crate) missing: Option<Missing>,
    pub(crate) fields: Vec<String>,
    pub(crate) query: Option<Query>,
    pub(crate) parameters: Option<Parameters>,
    pub(crate) longest: u64,
    pub(crate) heads: bool,
    pub(crate) only: Option<Vec<(NodeId, u32)>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            policy: Policy::Block,
            must: false,
            kept: true,
            window: None,
            faults: None,
            missing: None,
            fields: Vec::new(),
            query: None,
            parameters: None,
            longest: Limits::default().message,
            heads: false,
            only: None,
        }
    }
}

impl Options {
    /// The same for the protocol, of a sink that accepts such messages. A zero field of the window means its default.
    pub(crate) fn wanted(self, accepts: Accepts) -> Wanted {
        let Accepts { format, rules, faults, kinds, others, narrow } = accepts;
        let Options { policy, must, kept, window, fields, query, parameters, longest, heads, only, .. } = self;
        let parameters = parameters.map(|values| values.0);
        let usual = Wanted::any(policy);
        let window = window.map_or(usual.window, |Window { events, bytes }| Window {
            events: if events == 0 { usual.window.events } else { events },
            bytes: if bytes == 0 { usual.window.bytes } else { bytes },
        });
        let asked = Wanted { fields, query, parameters, longest, window, must, kept, heads, only, ..usual };
        Wanted { format, rules, faults, kinds, others, narrow, ..asked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_of_a_window_that_is_zero_is_as_usual() {
        let window = |events, bytes| {
            let options = Options { window: Some(Window { events, bytes }), ..Options::default() };
            let Window { events, bytes } = options.wanted(Accepts::default()).window;
            (events, bytes)
        };
        assert_eq!([window(0, 0), window(7, 0), window(0, 7)], [(65_536, 4 << 20), (7, 4 << 20), (65_536, 7)]);
    }
}
