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
    /// more. Of a half that is zero, as much as is usual: 65,536 events, or one if only the latest is kept; 4 MiB.
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
        let window = window.map_or(usual.window, |Window { events, bytes }| Window {
            events: if events == 0 { usual.window.events } else { events },
            bytes: if bytes == 0 { usual.window.bytes } else { bytes },
        });
        Wanted { format, rules, faults, fields, longest, window, ..usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_of_a_window_that_is_zero_is_as_usual() {
        let window = |events, bytes| {
            let options = SinkOptions::default().window(Window { events, bytes });
            let Window { events, bytes } = options.wanted(None, Rules::new()).window;
            (events, bytes)
        };
        assert_eq!([window(0, 0), window(7, 0), window(0, 7)], [(65_536, 4 << 20), (7, 4 << 20), (65_536, 7)]);
    }
}
