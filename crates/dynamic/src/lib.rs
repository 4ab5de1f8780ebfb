//! The base of the faces to other languages: records whose format is known only at run time.
//!
//! A face offers this crate's functions in its language, and makes no decisions. So all faces treat the same word, the
//! same table of fields and the same event alike.
//!
//! | task of a face | module |
//! |---|---|
//! | making a format from a table of fields | [`table`] |
//! | the rules of a receiver, by names of fields | [`rules`] |
//! | choices by words or numbers | [`words`] |
//! | converting records that are plain bytes, such as rows of arrays, to messages and back | [`flat`] |
//! | collecting single fields of many records | [`columns`] |
//! | handing columns to users of Arrow's C data interface | [`arrow`] |
//! | emitting values where no type defines the record | [`emit`] |
//! | converting messages to objects, by way of a body of the receiver's format | [`convert`] |
//! | sources and sinks of records or of messages | [`source`], [`sink`] |
//! | streams of records in memory, from and to files that users name | [`stream`] |
//! | waiting in turns, with other work between them | [`wait`] |
//!
//! A face in thirty lines, for a language whose records are bytes:
//!
//! ```
//! # #[cfg(any(unix, windows))]
//! # fn main() -> isoform::Result<()> {
//! use isoform::{Code, Error, Faults, Machine, Rules};
//! use isoform_channel::{Event, Node, Policy};
//! use isoform_dynamic::sink::{Any, Content};
//! use isoform_dynamic::source::{Progress, Source};
//! use isoform_dynamic::table::{Row, Tables};
//! use isoform_dynamic::wait::{in_turns, seconds};
//! use isoform_dynamic::words::{Choice, keeping};
//! use std::time::Duration;
//!
//! // The program names its fields ..
//! let row = |name, words, size, offset| Row { name, words, size, offset, unit: None, extent: None, member: None };
//! let (mut written, mut read) = (Tables::new(Machine::NATIVE), Tables::new(Machine::NATIVE));
//! written.add("Level", 8, 4, [row("station", "integer", 4, 0), row("depth", "float", 4, 4)])?;
//! read.add("Level", 8, 8, [row("depth", "float", 8, 0)])?;
//!
//! // .. chooses by words ..
//! let channel = Node::new()?.create_with("levels", None)?;
//! let policy = keeping(Policy::named("drop oldest")?, Some(1000), None);
//! let sink = channel.sink_builder().policy(policy).faults(Faults::named("saturate")?);
//! let mut sink = sink.build_with(Any::records(&read.format()?, Rules::new())?)?;
//!
//! // .. and has records as bytes.
//! let mut source = Source::of_records(channel.source_builder(), &written.format()?)?;
//! let level = [7i32.to_ne_bytes(), 0.5f32.to_ne_bytes()].concat();
//! source.submit_many(&level, &mut Progress::default())?;
//!
//! // Between two turns, the language looks after its signals.
//! let turn = |longest| {
//!     Ok::<_, Error>(match sink.recv_timeout(longest)? {
//!         Some(Event::Record { record: Content::Record(bytes), .. }) => Some(bytes.to_vec()),
//!         _ => None, // nothing yet, or a source has come
//!     })
//! };
//! let depth = in_turns(Some(seconds(10.0)?), Duration::from_millis(50), turn, || Ok(true))?;
//! assert_eq!(depth, Some(0.5f64.to_ne_bytes().to_vec()));
//! assert_eq!(Faults::named("ignore").unwrap_err().code(), Code::WrongType);
//! # Ok(())
//! # }
//! # #[cfg(not(any(unix, windows)))]
//! # fn main() {}
//! ```
//!
//! The crate `isoform` encodes and decodes records; this crate only calls it. Channels, and the modules about them, are
//! for Unix.
#![deny(unsafe_code)]

pub mod arrow;
pub mod columns;
pub mod convert;
pub mod emit;
pub mod flat;
pub mod kind;
pub mod rules;
#[cfg(any(unix, windows))]
pub mod sink;
#[cfg(any(unix, windows))]
pub mod source;
pub mod stream;
pub mod table;
pub mod wait;
pub mod words;
