//! The group `xmit`: what it costs that a format comes from a document, and what it costs to send the document's text instead of binary
//! records (paper 003, figures 3, 6, 7 and section 4).
//!
//! A line with a `format` is about one record:
//!
//! - `native_ns`: from what is compiled in to what is ready to send: the format is made, an encoder for it, and its description is
//!   written. What is compiled in is a struct of Rust; for `SimpleData`, which Rust has no struct for, a table of fields as C has it.
//!   `table_ns`: from a table, for all of them;
//! - the same from a document: `xmit_ns`, in memory and known by its hash; `parsed_ns`, in memory and never seen; `file_ns`, in a file;
//!   `http_ns`, at a server on loopback, with a new connection each time. `raw_http_ns`: that exchange by hand, and nothing else;
//! - `rdm` and the other ratios: times `native_ns`, the Remote Discovery Multiplier;
//! - `encode_ns`, `decode_ns`, `swap_ns` (from a machine of the other byte order) with the format of the document, and their ratios to the
//!   same with the compiled-in format;
//! - `xml_bytes`, `xml_write_ns`, `xml_read_ns`: the record as the document's XML. `bytes_ratio` is to the bytes of the message, and
//!   `xml_ratio` the time of both ways to that of encoding and decoding.
//!
//! A line with `types` is about the document of as many types, of 4 fields each: to read it, and to bind the last of them, in time of the
//! processor.
//! A line with `parts` is about this program: how many bytes of machine code the parser of XML and the whole of XMIT have in it.

pub mod formats;
mod share;
mod web;

use crate::compiled::Directory;
use crate::measure::{Contestant, Effort, Times, measure};
use crate::place::{Memory, Place};
use crate::{Line, Options, Result, fill};
use formats::{Known as Record, Table};
use isoform::core::{Layout, Verifier, View};
use isoform::message::{HEADER, Header};
use isoform::stream::Writer;
use isoform::{Format, Incoming, Rules, memory};
use isoform_xmit::{Alone, Declarations, Fetcher, Hydration, Known, Language};
use std::hint::black_box;
use std::time::Duration;
use web::Server;

/// Elements of dynamic arrays: those of the record in figure 1 of paper 003.
const LENGTH: usize = 3355;
/// Types of the documents whose times must grow with them.
const TYPES: [usize; 3] = [1_000, 3_000, 10_000];
/// Encoders and decoders of each kind, with buffers of their own.
const PLACES: usize = 11;

/// Measures what [the module](self) says.
///
/// # Errors
/// If a format differs from the compiled-in one, a text is not read as it was written, or `line` fails.
pub fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let folder = Directory::new()?;
    for record in formats::all() {
        let about = Line::of("xmit").word("format", record.name);
        let declarations = Declarations::from_xsd("records.xsd", &record.schema, &mut Alone)?;
        let bound = declarations.bind(record.name, &Layout::NATIVE)?;
        let compiled = match record.native {
            Some(native) => native(),
            None => Table::of(&bound).format()?,
        };
        if bound != compiled || bound.token() != compiled.token() {
            return Err(format!("{}: the document declares another format", record.name).into());
        }
        let about = register(&record, &bound, &folder, options, about)?;
        let about = exchange(&compiled, &declarations, options, about)?;
        line(about.count("struct_bytes", bound.size()).count("schema_bytes", record.schema.len()))?;
    }
    schemas(options, line)?;
    share::run(&options.program, line)
}

/// Makes what a sender needs before its first record: an encoder, and the description on its way.
fn ready(format: &Format, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    black_box(memory::Encoder::new(format)?);
    Ok(Writer::new(out).describe(format)?)
}

/// Times the registration of one format in every way.
fn register(record: &Record, format: &Format, folder: &Directory, options: &Options, about: Line) -> Result<Line> {
    let name = record.name;
    let path = folder.path().join(format!("{name}.xsd"));
    std::fs::write(&path, &record.schema)?;
    let path = path.display().to_string();
    let server = Server::new(&record.schema)?;
    let url = server.url();
    let table = Table::of(format);
    let mut known = Known::new();
    let schema = &*record.schema;
    let mut outs = [const { Vec::new() }; 6];
    let [native_out, table_out, known_out, parsed_out, file_out, http_out] = &mut outs;
    let layout = &Layout::NATIVE;
    let mut contestants: [Contestant<'_>; 7] = [
        Box::new(|_, runs| {
            for _ in 0..runs {
                let format = record.native.map_or_else(|| table.format().expect("a table"), |native| native());
                ready(&format, native_out).expect("it was ready before");
            }
        }),
        Box::new(|_, runs| {
            for _ in 0..runs {
                ready(&table.format().expect("a table"), table_out).expect("it was ready before");
            }
        }),
        Box::new(|_, runs| {
            for _ in 0..runs {
                let format = known.bind(Language::XmlSchema, "a.xsd", black_box(schema), name, layout, &mut Alone);
                ready(&format.expect("it was bound before"), known_out).expect("it was ready before");
            }
        }),
        Box::new(|_, runs| {
            for _ in 0..runs {
                let declarations = Declarations::from_xsd("a.xsd", black_box(schema), &mut Alone);
                let format = declarations.and_then(|all| all.bind(name, layout)).expect("it was bound before");
                ready(&format, parsed_out).expect("it was ready before");
            }
        }),
        Box::new(|_, runs| {
            for _ in 0..runs {
                let format = Fetcher::new().declarations(&path).and_then(|all| all.bind(name, layout));
                ready(&format.expect("the file is there"), file_out).expect("it was ready before");
            }
        }),
        Box::new(|_, runs| {
            for _ in 0..runs {
                let format = Fetcher::new().declarations(&url).and_then(|all| all.bind(name, layout));
                ready(&format.expect("the server answers"), http_out).expect("it was ready before");
            }
        }),
        Box::new(|_, runs| {
            for _ in 0..runs {
                black_box(server.bare().expect("the server answers"));
            }
        }),
    ];
    // Connections are not for thousands of rounds.
    let (near, far) = contestants.split_at_mut(5);
    let times = timed(near, &options.effort);
    let few = Effort { rounds: options.effort.rounds.min(15), placements: 1, ..options.effort };
    let far = timed(far, &few);
    drop(contestants);
    if outs.iter().any(|out| *out != outs[0]) {
        return Err(format!("{name}: the descriptions differ").into());
    }
    let [native, from_table, from_known, parsed, file] = &times[..] else { unreachable!("five were measured") };
    let line = about.figure("native_ns", native.median()).figure("xmit_ns", from_known.median());
    let line = line.figure("rdm", from_known.ratio(native)).figure("table_ns", from_table.median());
    let line = line.figure("parsed_ns", parsed.median()).figure("parsed_rdm", parsed.ratio(native));
    let line = line.figure("file_ns", file.median()).figure("file_rdm", file.ratio(native));
    let line = line.figure("http_ns", far[0].median()).figure("http_rdm", far[0].median() / native.median());
    Ok(line.figure("raw_http_ns", far[1].median()))
}

/// Times records of one format in memory, as messages, and as XML.
fn exchange(compiled: &Format, declarations: &Declarations, options: &Options, about: Line) -> Result<Line> {
    let name = compiled.name();
    let other = if cfg!(target_endian = "big") { Layout::X86_64 } else { "s390x".parse()? };
    let (bound, far) = (declarations.bind(name, &Layout::NATIVE)?, declarations.bind(name, &other)?);
    let (body, swapped) = (fill::body(&bound, LENGTH), fill::body(&far, LENGTH));
    let message = Header::new(bound.token(), body.len() as u64);
    let incoming = Incoming::new(message, &bound, &body);
    let from_far = Incoming::new(Header::new(far.token(), swapped.len() as u64), &far, &swapped);

    let mut owner = memory::Decoder::new(compiled, Rules::new())?;
    let record = owner.decode(&incoming)?;
    // Where buffers lie decides more than what is compared: so there are many of each, made in turns.
    let (mut encoders, mut decoders) = ([Vec::new(), Vec::new()], [const { Vec::new() }; 4]);
    for _ in 0..PLACES {
        for (list, format) in encoders.iter_mut().zip([compiled, &bound]) {
            list.push(memory::Encoder::new(format)?);
        }
        for (list, format) in decoders.iter_mut().zip([compiled, &bound, compiled, &bound]) {
            list.push(memory::Decoder::new(format, Rules::new())?);
        }
    }
    for encoder in encoders.iter_mut().flatten() {
        if encode(encoder, record).to_vec()[HEADER..] != body {
            return Err(format!("{name}: the message is wrong").into());
        }
    }
    let [compiled_encoders, bound_encoders] = &mut encoders;
    let [alike, bound_alike, unlike, bound_unlike] = &mut decoders;
    if bound_unlike[0].decode(&from_far)? != bound_alike[0].decode(&incoming)? && !bound.structure().has_slots() {
        return Err(format!("{name}: the record is wrong").into());
    }
    let mut contestants = [
        encoded(compiled_encoders, record),
        encoded(bound_encoders, record),
        decoded(alike, &incoming),
        decoded(bound_alike, &incoming),
        decoded(unlike, &from_far),
        decoded(bound_unlike, &from_far),
    ];
    let times = timed(&mut contestants, &options.effort);
    drop(contestants);
    let [native, encode, native_decode, decode, native_swap, swap] = &times[..] else { unreachable!("six were") };
    let line = about.figure("encode_ns", encode.median()).figure("encode_ratio", encode.ratio(native));
    let line = line.figure("decode_ns", decode.median()).figure("decode_ratio", decode.ratio(native_decode));
    let line = line.figure("swap_ns", swap.median()).figure("swap_ratio", swap.ratio(native_swap));

    let hydration = Hydration::new(&bound, &declarations.markup(name)?)?;
    let verifier = Verifier::new(&bound);
    let view = View::new(verifier.verify(&body)?);
    let text = hydration.xml(view)?;
    if hydration.body_of_xml(&text)? != body {
        return Err(format!("{name}: its XML is another record").into());
    }
    let mut out = String::new();
    let mut contestants: [Contestant<'_>; 2] = [
        Box::new(|_, runs| {
            for _ in 0..runs {
                out.clear();
                hydration.write_xml(black_box(view), &mut out).expect("it was written before");
            }
        }),
        Box::new(|_, runs| {
            for _ in 0..runs {
                black_box(hydration.body_of_xml(black_box(&text)).expect("it was read before"));
            }
        }),
    ];
    let times = timed(&mut contestants, &Effort { placements: 1, ..options.effort });
    let [write, read] = &times[..] else { unreachable!("two were measured") };
    let bytes = HEADER + body.len();
    let line = line.count("bytes", bytes).count("xml_bytes", text.len());
    let line = line.figure("bytes_ratio", text.len() as f64 / bytes as f64);
    let line = line.figure("xml_write_ns", write.median()).figure("xml_read_ns", read.median());
    Ok(line.figure("xml_ratio", (write.median() + read.median()) / (encode.median() + decode.median())))
}

fn encode<'m>(encoder: &'m mut memory::Encoder, record: &'m [u8]) -> isoform::Message<'m> {
    // SAFETY: `record` is what a decoder has made for a format that is equal to the encoder's, and both are borrowed for as long as
    // the message is.
    unsafe { encoder.encode(record.as_ptr()) }.expect("a decoder has made it")
}

fn encoded<'a>(encoders: &'a mut [memory::Encoder], record: &'a [u8]) -> Contestant<'a> {
    let mut turn = 0;
    Box::new(move |_, runs| {
        let count = encoders.len();
        let encoder = &mut encoders[turn % count];
        turn += 1;
        for _ in 0..runs {
            black_box(encode(encoder, black_box(record)).segments().as_ptr());
        }
    })
}

fn decoded<'a>(decoders: &'a mut [memory::Decoder], incoming: &'a Incoming<'a>) -> Contestant<'a> {
    let mut turn = 0;
    Box::new(move |_, runs| {
        let count = decoders.len();
        let decoder = &mut decoders[turn % count];
        turn += 1;
        for _ in 0..runs {
            black_box(decoder.decode(black_box(incoming)).expect("it went well before").as_ptr());
        }
    })
}

/// Lets contestants take turns that need no buffers.
fn timed(contestants: &mut [Contestant<'_>], effort: &Effort) -> Vec<Times> {
    let mut memories: Vec<Memory> = (0..effort.placements).map(|index| Memory::new(index, 64, &[], false)).collect();
    let mut places: Vec<Place<'_>> = memories.iter_mut().map(Memory::place).collect();
    measure(contestants, &mut places, effort)
}

/// The time that this thread has had of a processor; where nobody tells, the time on the clock.
fn processor() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    {
        static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed()
    }
}

/// Documents of many types.
fn schemas(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let texts: Vec<String> = TYPES.iter().map(|count| formats::many(*count)).collect();
    // It takes so long that others run meanwhile: what counts is the time of the processor.
    let mut times = vec![Vec::new(); TYPES.len()];
    for _ in 0..options.effort.rounds.min(11) {
        for (index, (text, count)) in texts.iter().zip(TYPES).enumerate() {
            let start = processor();
            let all = Declarations::from_xsd("many.xsd", black_box(text), &mut Alone)?;
            black_box(all.bind(&format!("Type{}", count - 1), &Layout::NATIVE)?);
            times[index].push((processor() - start).as_nanos() as f64);
        }
    }
    let times: Vec<Times> = times.into_iter().map(Times::from_iter).collect();
    let each = |index: usize| times[index].median() / TYPES[index] as f64;
    for (index, count) in TYPES.iter().enumerate() {
        let about = Line::of("xmit").count("types", *count).count("schema_bytes", texts[index].len());
        let about = about.figure("schema_ns", times[index].median()).figure("ns_per_type", each(index));
        line(about.figure("ratio", each(index) / each(0)))?;
    }
    Ok(())
}
