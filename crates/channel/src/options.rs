//! How a sink shall be: what its sources do when it is slow, how much it holds, what it takes.

use isoform::{Faults, Format, Limits, Rules};
use isoform_channel_proto::{Policy, Wanted, Window};

/// How a sink shall be.
///
/// ```
/// use isoform_channel::{Policy, SinkOptions};
/// // The newest record whenever there is time for one.
/// let viewer = SinkOptions::default().policy(Policy::Latest);
/// // The last thousand, of a mebibyte at most, if it was too slow for more.
/// let recorder = SinkOptions::default().policy(Policy::DropOldest { events: 1000, bytes: 1 << 20 });
/// ```
#[derive(Clone, Debug)]
pub struct SinkOptions {
    policy: Policy,
    window: Option<Window>,
    pub(crate) faults: Faults,
    fields: Vec<String>,
    longest: u64,
}

impl Default for SinkOptions {
    /// Sources wait for it; numbers that do not fit are errors; 4 MiB may be under way from each source, and an event has a
    /// gibibyte at most.
    fn default() -> SinkOptions {
        SinkOptions {
            policy: Policy::Block,
            window: None,
            faults: Faults::default(),
            fields: Vec::new(),
            longest: Limits::default().message,
        }
    }
}

impl SinkOptions {
    /// What a source does when this sink cannot keep up.
    pub fn policy(mut self, policy: Policy) -> SinkOptions {
        self.policy = policy;
        self
    }

    /// How much may be under way from one source, or wait here: so much memory a sink takes that has stopped, and one event
    /// more.
    pub fn window(mut self, window: Window) -> SinkOptions {
        self.window = Some(window);
        self
    }

    /// What is done with numbers that do not fit their field.
    pub fn faults(mut self, faults: Faults) -> SinkOptions {
        self.faults = faults;
        self
    }

    /// The paths of the fields that are needed. Sources may send more.
    pub fn fields<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> SinkOptions {
        self.fields = paths.into_iter().map(Into::into).collect();
        self
    }

    /// The longest event that is taken, in bytes: longer ones come as gaps.
    pub fn longest(mut self, bytes: u64) -> SinkOptions {
        self.longest = bytes;
        self
    }

    pub(crate) fn wanted(self, format: Option<Format>, rules: Rules) -> Wanted {
        let SinkOptions { policy, window, faults, fields, longest } = self;
        let usual = Wanted::any(policy);
        Wanted { format, rules, faults, fields, longest, window: window.unwrap_or(usual.window), ..usual }
    }
}
