//! Mutants: streams that were right until something was changed, by somebody who knows how they are made.
//!
//! [`mutate`] changes headers, slots, lengths, truths and symbols in bodies; numbers, names, fields and structures in
//! descriptions, mostly with the token that follows, so that the mutant is not refused for its hash; and the order of
//! messages. [`mutate_text`] does the same to JSON, and [`mutate_link`] to what one side of a link says. What a mutant is
//! depends on its input and on [`Random`] only, so that whatever fails can be made again.
//!
//! A stream is taken apart in `stream`, a link in `link`, a description in `description`, a body in `places`; beside each
//! stand its edits.

mod body;
mod bytes;
mod description;
mod format;
mod link;
mod places;
mod random;
mod stream;
mod text;

pub use link::mutate_link;
pub use places::{Place, What, places};
pub use random::Random;
pub use stream::stream_of;
pub use text::mutate_text;

/// A stream like this one, in which up to four things are changed. Any bytes will do: what is no stream is changed as
/// bytes are.
///
/// ```
/// use isoform_core::{Layout, Shape, Value, value};
/// use isoform_testing::mutate::{Random, mutate, stream_of};
/// let format = Shape::new("r").field("n", "int").field("height", "float[n]").on(&Layout::SPARC)?;
/// let heights = Value::Array(vec![Value::Float(8611.0)]);
/// let body = value::body(&format, &Value::Record(vec![("height".into(), heights)]))?;
/// let stream = stream_of(&format, &body);
/// assert_eq!(mutate(&stream, &mut Random::new(7)), mutate(&stream, &mut Random::new(7)));
/// # Ok::<(), isoform_core::Error>(())
/// ```
pub fn mutate(stream: &[u8], random: &mut Random) -> Vec<u8> {
    let mut mutant = stream::Stream::parse(stream);
    let edits = 1 + random.below(4) * random.below(2);
    for _ in 0..edits {
        mutant.edit(random);
    }
    mutant.to_bytes()
}
