//! The arguments of `isoform xmit`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Work with documents that declare records
///
/// A document is in XML Schema, IDL, ROS messages, JSON Schema, Protocol Buffers or C: see `isoform help sources`. Every other command takes
/// documents as sources, too.
#[derive(Args)]
pub(crate) struct Xmit {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Subcommand)]
pub(crate) enum What {
    Load(Load),
    Bind(Bind),
    Gen(Gen),
    Match(Match),
    Hydrate(Hydrate),
    Dehydrate(Dehydrate),
    Markup(MarkupOf),
}

/// List the records that a document declares, or the structs of a program, with what cannot be represented and why
///
/// The exit status is 1 if a declaration of a document cannot be represented.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform xmit load xsd:http://127.0.0.1:8000/river.xsd
  isoform xmit load --json idl:river.idl
  isoform xmit load elf:./simulation")]
pub(crate) struct Load {
    /// A document, such as xsd:river.xsd, or a program, such as elf:./simulation
    pub(crate) source: String,
    /// Print each record as a JSON object on one line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Bind records of a document to the layout of a machine
///
/// The command prints each format's token, name and size. `isoform format` shows the fields.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform xmit bind xsd:river.xsd#Gauge
  isoform xmit bind xsd:river.xsd#Gauge@s390x
  isoform xmit bind overlay:mine.json:xsd:river.xsd#Level")]
pub(crate) struct Bind {
    /// A document, with #RECORD for one of its records, and @MACHINE for another machine than this
    pub(crate) source: String,
}

/// Write source code for the records of a document
///
/// What it declares has the format to which the document is bound, so a program that is compiled with it exchanges records with those that
/// load the document.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform xmit gen xsd:river.xsd#Gauge --language c -o gauge.h
  isoform xmit gen proto:river.proto --language c")]
pub(crate) struct Gen {
    /// A document, with #RECORD for one of its records and those that it nests
    pub(crate) source: String,
    /// The language: c, a header for C and C++; cpp, structs for isoform.hpp; rust, structs; python, dataclasses and dtypes; typescript, types
    /// of the JSON of records; java, records of Java; shape, the notation of formats
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) language: String,
    /// Write to this file, and not to standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Find the definition that fits a format best
///
/// The first source is what comes: a channel, a stream, a recording or a document. The others are what a receiver might want. The command
/// ranks them, as a receiver with several kinds of records does, and says why, and what each would cost for a record: the sums of what
/// `isoform explain` says of its fields. The exit status is 1 if none fits.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform xmit match river.iso xsd:river.xsd#Gauge idl:other.idl#Level
  isoform xmit match iso://127.0.0.1:7000/river xsd:river.xsd")]
pub(crate) struct Match {
    /// What comes: a source with one format
    pub(crate) source: String,
    /// Definitions: any sources of formats. A source with several formats counts as several definitions
    #[arg(required = true, value_name = "DEFINITION")]
    pub(crate) definitions: Vec<String>,
    /// Print a JSON object for each definition, the best first
    #[arg(long)]
    pub(crate) json: bool,
}

/// What the texts of records look like
#[derive(Args)]
pub(crate) struct Text {
    /// The record: a document with #RECORD, whose names, attributes and namespaces the texts have; or another source of one format
    #[arg(long, value_name = "DOCUMENT")]
    pub(crate) by: String,
    /// A file with other markup than that of the document (see `isoform xmit markup`)
    #[arg(long, value_name = "FILE")]
    pub(crate) markup: Option<PathBuf>,
    /// JSON, one record on each line, and not XML
    #[arg(long)]
    pub(crate) json: bool,
    /// The element that holds all records. Without it, each record is a document
    #[arg(long, value_name = "ELEMENT", conflicts_with = "json")]
    pub(crate) within: Option<String>,
}

/// Write the records of a stream as XML or JSON, as a document describes them
///
/// Each record is converted to the record of the document, and written on one line.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform xmit hydrate river.iso --by xsd:river.xsd#Gauge
  isoform xmit hydrate river.iso --by xsd:river.xsd#Gauge --within river > river.xml
  isoform xmit hydrate river.iso --by jsonschema:river.json#Gauge --json")]
pub(crate) struct Hydrate {
    /// A stream of records: a file, or - for standard input
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) text: Text,
}

/// Read XML or JSON as a document describes it, and write a stream of records
///
/// The input is XML with one record in each document, or JSON with one on each line. The command stops at the first text that is no such record,
/// and then writes no file.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform xmit dehydrate river.xml --by xsd:river.xsd#Gauge --within river -o river.iso
  isoform xmit dehydrate - --by xsd:river.xsd#Gauge@s390x < gauge.xml > gauge.iso")]
pub(crate) struct Dehydrate {
    /// A file with texts, or - for standard input
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) text: Text,
    /// Write to this file, and not to standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Print what a document says of texts beside the format: names, namespaces, attributes
///
/// It is a document of its own, in JSON. With it, programs that know the format write and read texts without the document.
#[derive(Args)]
#[command(after_help = "Examples:
  isoform xmit markup xsd:river.xsd#Gauge > gauge.markup
  isoform xmit hydrate river.iso --by river.iso --markup gauge.markup")]
pub(crate) struct MarkupOf {
    /// A document with #RECORD
    pub(crate) source: String,
}
