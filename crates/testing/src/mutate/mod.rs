//! Mutants: valid streams with changes by someone who knows their structure.
//!
//! [`mutate`] changes headers; slots, lengths, booleans and symbols in bodies; numbers, names, fields and structures in
//! descriptions, mostly with the matching token, so that the mutant is not refused for its hash; and the order of
//! messages. [`mutate_text`] does the same to JSON, and [`mutate_link`] to one side of a link. A mutant depends only on
//! its input and on [`Random`], so failures can be reproduced.
//!
//! `stream` takes a stream apart, `link` a link, `description` a description, and `regions` a body. The edits of each
//! are in the same file or beside it.

mod body;
mod bytes;
mod description;
mod format;
mod link;
mod random;
mod regions;
mod stream;
mod text;

pub use link::mutate_link;
pub use random::Random;
pub use regions::{Meaning, Region, regions};
pub use stream::stream_of;
pub use text::mutate_text;

/// A stream with up to four changes. Any bytes are accepted: what is not a stream is changed as plain bytes.
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
