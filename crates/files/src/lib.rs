//! Recordings: the events of channels in MCAP files (`spec/files.md`).
//!
//! A [`Recorder`] puts events into a file, record by record as their senders had them in memory. What [`Recorder::sync`] has counted is on
//! disk, whatever happens to the program or to the machine afterwards. A [`Recording`] gives back the same bytes in the same order, and the news
//! between them: who came, who left, what was lost. [`Recording::into_stream`] reads a recording as a stream of messages, so that whatever
//! reads streams reads recordings too.
//!
//! This crate knows files and no channels: the events come from a sink of `isoform-channel`, or from anywhere else. The container itself is the crate
//! `mcap`.
//!
//! ```
//! use isoform_core::{Layout, declare::Shape};
//! use isoform_files::{Item, Options, Recorder, Recording, Stamp};
//!
//! let level = &Shape::parse("record Level\n  metres double")?.all_on(&Layout::NATIVE)?[0];
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("level.mcap");
//!
//! let mut recorder = Recorder::create(&path, Options::default())?;
//! let topic = recorder.topic("level");
//! let stamp = Stamp { source: 0, sequence: 7, nanoseconds: 1_000, origin: None };
//! recorder.record(topic, 1_500, stamp, level, &2.5_f64.to_ne_bytes())?;
//! assert_eq!(recorder.finish()?.events, 1);
//!
//! let mut recording = Recording::open(&path)?;
//! while let Some(entry) = recording.next_entry()? {
//!     let Item::Event { stamp, format, body } = entry.item else { continue };
//!     assert_eq!((entry.topic, stamp.sequence, format.name()), ("level", 7, "Level"));
//!     assert_eq!(body, 2.5_f64.to_ne_bytes());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod chunk;
mod contents;
mod expansion;
mod foreign;
mod frames;
mod index;
mod lost;
mod profile;
mod recorder;
mod recording;
mod stream;
mod viewers;

pub use foreign::Foreign;
pub use lost::{Lost, Place};
pub use profile::{Origin, Stamp};
pub use recorder::{Compression, Options, Recorder, Topic, Written};
pub use recording::{Entry, Item, Recording};
pub use stream::{Stamped, Stream};
pub use viewers::{TopicNames, Viewer};

/// The first bytes of an MCAP file. Those of a stream of messages differ in the second.
pub const MAGIC: [u8; 8] = [0x89, b'M', b'C', b'A', b'P', 0x30, b'\r', b'\n'];
