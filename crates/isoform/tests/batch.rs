//! Many messages at once: into records, and into columns.

use isoform::core::{Layout, Shape, Value, value};
use isoform::message::{HEADER, Header};
use isoform::stream::{Reader, Writer};
use isoform::{Batch, Code, Columns, Decoder, Encoder, Engine, Enumeration, Faults, Format, Record, Registry, Str};

#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Phase {
    Gas = 1,
    Solid = 2,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Sample {
    phase: Phase,
    step: i16,
    depth: f64,
    rho: [f32; 3],
}

/// What a sender of another kind sends, for all of these steps.
fn foreign(layout: &Layout, steps: impl Iterator<Item = i64>) -> (Format, Vec<u8>) {
    let shape = Shape::new("Sample")
        .field("rho", "double[3]")
        .field("note", "char[3]")
        .field("step", "int")
        .field("phase", "enumeration{Solid=5,Gas=7}")
        .field("depth", "float");
    let format = shape.on(layout).unwrap();
    let mut writer = Writer::new(Vec::new());
    for step in steps {
        let rho = (0..3).map(|i| Value::Float((step * i) as f64)).collect();
        let record = Value::Record(vec![
            ("step".into(), Value::Integer(step.into())),
            ("phase".into(), Value::Symbol(if step % 2 == 0 { "Gas" } else { "Solid" }.into())),
            ("depth".into(), Value::Float(step as f64 / 4.0)),
            ("rho".into(), Value::Array(rho)),
        ]);
        writer.write_body(&format, &value::body(&format, &record).unwrap()).unwrap();
    }
    // The description is known otherwise.
    let stream = writer.into_inner();
    let described = (HEADER + format.description().as_bytes().len()).next_multiple_of(16);
    (format, stream[described..].to_vec())
}

fn knowing(format: &Format) -> Registry {
    let registry = Registry::new();
    registry.register(format).unwrap();
    registry
}

#[test]
fn a_batch_is_what_its_messages_are() {
    let (layouts, counts) = ([Layout::S390X, Layout::POWERPC, Layout::X86_64], [1, 2, 17, 300]);
    for layout in &layouts[..if cfg!(miri) { 1 } else { 3 }] {
        for &count in &counts[..if cfg!(miri) { 2 } else { 4 }] {
            let (format, bytes) = foreign(layout, 0..count);
            let mut registry = knowing(&format);
            for engine in [Engine::Auto, Engine::Interpreter, Engine::Generated] {
                let mut decoder = Decoder::<Sample>::new().with_engine(engine);
                let (batch, rest) = Batch::parse(&bytes, &mut registry).unwrap();
                assert_eq!((batch.len() as i64, rest.len()), (count, 0));
                let expected: Vec<Sample> =
                    batch.messages().map(|message| *decoder.decode(&message).unwrap()).collect();
                let before = decoder.copied();
                let came = decoder.decode_many(&batch).unwrap();
                assert_eq!(came, expected);
                assert_eq!((came[0].phase, came[came.len() - 1].step), (Phase::Gas, count as i16 - 1));
                assert_eq!(decoder.copied() - before, count as u64 * size_of::<Sample>() as u64);
            }
        }
    }
}

#[test]
fn records_of_the_same_layout_are_copied_together() {
    let samples: Vec<Sample> =
        (0..40).map(|step| Sample { phase: Phase::Gas, step, depth: 0.5, rho: [1.0; 3] }).collect();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new();
    samples.iter().for_each(|sample| encoder.encode(sample).unwrap().write_to(&mut bytes).unwrap());
    let mut registry = knowing(Sample::format());
    let (batch, _) = Batch::parse(&bytes, &mut registry).unwrap();
    assert_eq!(Decoder::<Sample>::new().decode_many(&batch).unwrap(), samples);
}

#[test]
fn messages_without_a_body_are_of_a_batch_as_others_are() {
    let empty = Header::new(Sample::format().token(), 0).to_bytes();
    let mut registry = knowing(Sample::format());
    for count in 1..4 {
        let bytes = empty.repeat(count);
        let (batch, rest) = Batch::parse(&bytes, &mut registry).unwrap();
        assert_eq!((batch.len(), batch.messages().count(), rest.len()), (count, count, 0));
        assert!(batch.messages().all(|message| message.body().is_empty()));
        let error = Decoder::<Sample>::new().decode_many(&batch).unwrap_err();
        assert_eq!((error.code(), error.path()), (Code::BodyLength, "[0]"));
    }
}

#[test]
#[cfg_attr(miri, ignore = "minutes")]
fn a_batch_ends_where_another_header_comes() {
    let (format, mut bytes) = foreign(&Layout::S390X, 0..10);
    let mut registry = knowing(&format);
    let stride = bytes.len() / 10;
    let lengths = |bytes: &[u8], registry: &mut Registry| {
        let mut rest = bytes;
        let mut lengths = Vec::new();
        while !rest.is_empty() {
            match Batch::parse(rest, registry) {
                Ok((batch, behind)) => {
                    lengths.push(Ok(batch.len()));
                    rest = &rest[rest.len() - behind.len()..];
                }
                Err(error) => return (lengths, Some(error.code())),
            }
        }
        (lengths, None::<Code>)
    };
    assert_eq!(lengths(&bytes, &mut registry), (vec![Ok::<usize, Code>(10)], None));
    // Lengths that lie, about what is there and about what is not.
    let longer = (format.size() + stride) as u64;
    for (lie, expected) in [
        (longer, (vec![Ok(4), Ok(1), Ok(4)], None)),
        (u64::MAX, (vec![Ok(4)], Some(Code::Cut))),
        (bytes.len() as u64, (vec![Ok(4)], Some(Code::Cut))),
        (1, (vec![Ok(4), Ok(1)], Some(Code::NotAMessage))),
    ] {
        bytes[4 * stride + 24..][..8].copy_from_slice(&lie.to_le_bytes());
        assert_eq!(lengths(&bytes, &mut registry), expected, "{lie}");
    }
    // Of a length that no record has, all bodies are refused, and none is looked at.
    let (_, mut bytes) = foreign(&Layout::S390X, 0..3);
    for message in bytes.chunks_mut(stride) {
        message[24..32].copy_from_slice(&8u64.to_le_bytes());
    }
    let (batch, _) = Batch::parse(&bytes, &mut registry).unwrap();
    let error = Decoder::<Sample>::new().decode_many(&batch).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::BodyLength, "[0]"));
}

#[test]
#[cfg_attr(miri, ignore = "minutes")]
fn what_does_not_fit_is_told_with_the_number_of_its_message() {
    let (format, bytes) = foreign(&Layout::S390X, (0..100).map(|step| if step == 63 { 40_000 } else { step }));
    let mut registry = knowing(&format);
    let (batch, _) = Batch::parse(&bytes, &mut registry).unwrap();
    for engine in [Engine::Interpreter, Engine::Generated] {
        let mut decoder = Decoder::<Sample>::new().with_engine(engine);
        let error = decoder.decode_many(&batch).unwrap_err();
        assert_eq!((error.code(), error.path()), (Code::Overflow, "[63].step"));
        let (before, from) = batch.split_at(63);
        assert_eq!(decoder.decode_many(&before.unwrap()).unwrap().len(), 63);
        let (_, behind) = from.unwrap().split_at(1);
        assert_eq!(decoder.decode_many(&behind.unwrap()).unwrap()[0].step, 64);
    }
    assert!(batch.split_at(0).0.is_none() && batch.split_at(100).1.is_none());

    let mut columns = Columns::new();
    let (depth, step) = (columns.field::<f64>("depth").unwrap(), columns.field::<i16>("step").unwrap());
    let (good, _) = batch.split_at(10);
    columns.append(&good.unwrap()).unwrap();
    let error = columns.append(&batch).unwrap_err();
    assert_eq!((error.code(), error.path()), (Code::Overflow, "[63].step"));
    assert_eq!((columns.rows(), columns[depth].len(), columns[step].len()), (10, 10, 10));
    let mut columns = Columns::new().with_faults(Faults::Saturate);
    let step = columns.field::<i16>("step").unwrap();
    columns.append(&batch).unwrap();
    assert_eq!(columns[step][62..65], [62, i16::MAX, 64]);
}

#[test]
fn columns_come_from_senders_of_every_kind() {
    let mut columns = Columns::new();
    let step = columns.field::<i64>("step").unwrap();
    let rho = columns.field::<[f64; 3]>("rho").unwrap();
    let phase = columns.field::<Phase>("phase").unwrap();
    let (first, last) = if cfg!(miri) { (3, 5) } else { (70, 100) };
    for (layout, steps) in
        [(Layout::S390X, 0..first), (Layout::I386, first..first + 1), (Layout::POWERPC, first + 1..last)]
    {
        let (format, bytes) = foreign(&layout, steps);
        columns.append(&Batch::parse(&bytes, &mut knowing(&format)).unwrap().0).unwrap();
    }
    assert_eq!(columns.rows() as i64, last);
    assert!(columns[step].iter().copied().eq(0..last));
    assert!(columns[rho].iter().zip(0..).all(|(rho, i)| *rho == [0.0, f64::from(i), f64::from(2 * i)]));
    assert!(columns[phase].iter().step_by(2).all(|phase| *phase == Phase::Gas));
    assert_eq!(columns[phase][1], Phase::Solid);
    columns.clear();
    assert!(columns.rows() == 0 && columns[step].is_empty());
}

#[test]
fn a_column_must_come_and_have_its_type() {
    let (format, bytes) = foreign(&Layout::S390X, 0..5);
    let mut registry = knowing(&format);
    let (batch, _) = Batch::parse(&bytes, &mut registry).unwrap();
    let mut columns = Columns::new();
    let step = columns.field::<i32>("step").unwrap();
    columns.field::<f64>("pressure").unwrap();
    assert_eq!(columns.append(&batch).unwrap_err().path(), "pressure");
    assert_eq!((columns.rows(), columns[step].len()), (0, 0));

    let mut other = Columns::new();
    other.field::<f64>("depth").unwrap();
    other.append(&batch).unwrap();
    assert!(std::panic::catch_unwind(|| other[step].len()).is_err(), "it is a column of other columns");
    assert_eq!(other.field::<f64>("rho").unwrap_err().code(), Code::BadRecord);
}

#[derive(Record)]
#[repr(C)]
struct Named<'a> {
    name: Str<'a>,
    level: f64,
}

#[test]
#[cfg_attr(miri, ignore = "minutes")]
fn a_reader_lends_batches() {
    let mut writer = Writer::new(Vec::new());
    let (mut named, mut sample) = (Encoder::new(), Encoder::new());
    for round in 0..3 {
        for step in 0..50 {
            let record = Sample { phase: Phase::Solid, step: 50 * round + step, depth: 0.0, rho: [0.0; 3] };
            writer.write(&sample.encode(&record).unwrap()).unwrap();
        }
        for name in [c"a", c"b", c"longer than before"] {
            writer.write(&named.encode(&Named { name: Str::new(name), level: 1.5 }).unwrap()).unwrap();
        }
    }
    let stream = writer.into_inner();
    for piece in [1000, 1 << 20] {
        let mut reader = Reader::new(std::io::BufReader::with_capacity(piece, &stream[..]));
        let (mut samples, mut levels) = (Vec::new(), Columns::new());
        let (mut decoder, mut one) = (Decoder::<Sample>::new(), Decoder::<Named>::new());
        let level = levels.field::<f32>("level").unwrap();
        let mut names = Vec::new();
        while let Some(batch) = reader.next_batch().unwrap() {
            if batch.token() == Sample::format().token() {
                samples.extend(decoder.decode_many(&batch).unwrap().iter().map(|sample| sample.step));
                continue;
            }
            // A column may come from records with pointers, too.
            levels.append(&batch).unwrap();
            for message in batch.messages() {
                names.push(one.decode(&message).unwrap().name.to_bytes().to_vec());
            }
        }
        assert!(samples.into_iter().eq(0..150));
        assert_eq!(levels[level], [1.5; 9]);
        assert_eq!(names[6..], [&b"a"[..], b"b", b"longer than before"]);
        assert_eq!(reader.position(), stream.len() as u64);
    }
}
