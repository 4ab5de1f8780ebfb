//! What frames count for against the frames that the nodes of a credential may send (`spec/channel.md`, "What a frame counts").
//!
//! It follows from what a frame says and from how much handling it walks over, never from a clock.

use crate::control::Control;
use crate::flows::Work;
use crate::frame::FrameKind;

/// A frame counts as one, and as one more for each of so many bytes of its payload.
const LENGTH: usize = 4096;
/// The same for a description, which is hashed.
const DESCRIPTION: usize = 1024;
/// The same if the format is not known, so that each field is parsed.
const UNKNOWN: usize = 128;
/// As one more for each of so many announcements in it, or that it makes the node send again, and of so many such Offers.
const ANNOUNCEMENTS: usize = 16;
/// For each of so many paths of fields.
const PATHS: usize = 16;
/// For each of so many bytes of a query.
const QUERY: usize = 16;
/// For making values of parameters.
const PARAMETERS: usize = 7;
/// For each of so many bytes of values that a source has given.
const GIVEN: usize = 512;
/// For each of so many bytes of a report.
const REPORT: usize = 1024;
/// For each of so many subscriptions of sinks that were counted together for a report.
const COUNTED: usize = 64;

/// Of a frame that counts, before it is parsed.
pub(super) fn frame(kind: Option<FrameKind>, length: usize) -> u32 {
    let each = if kind == Some(FrameKind::Format) { DESCRIPTION } else { LENGTH };
    cost(1 + length / each)
}

/// A description of this length counts for this besides if the format is not known.
pub(super) fn unknown(length: usize) -> u32 {
    cost(length / UNKNOWN)
}

/// What it counts for besides, once it is parsed, and before it is handled.
pub(super) fn control(control: &Control) -> u32 {
    cost(match control {
        Control::Members(members) => members.len() / ANNOUNCEMENTS,
        Control::Subscribe(subscribe) => {
            let values = if subscribe.steering.is_some() { PARAMETERS } else { 0 };
            1 + values + subscribe.fields.len() / PATHS + subscribe.query.as_ref().map_or(0, String::len) / QUERY
        }
        Control::Parameters { .. } => PARAMETERS,
        Control::Given { values, .. } => values.len() / GIVEN,
        _ => 0,
    })
}

/// Of announcements and Offers that were sent again.
pub(super) fn sent_again(count: usize) -> u32 {
    cost(count / ANNOUNCEMENTS)
}

/// Of a report.
pub(super) fn report(work: &Work) -> u32 {
    cost(work.length / REPORT + work.counted / COUNTED)
}

fn cost(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
