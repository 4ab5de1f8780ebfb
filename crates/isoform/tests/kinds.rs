//! Several kinds of records on one stream: each is decoded as the kind that fits.

use isoform::message::Header;
use isoform::{
    Code, Encoder, Faults, Format, Incoming, KindDecoder, Kinds, Machine, Missing, Record, Result, Rules, Slice, Str,
    memory, stream,
};
use isoform_core::plan::{Kind, Reason};

#[derive(Record, Clone, Debug, PartialEq)]
#[repr(C)]
struct River {
    time: i64,
    depth: f64,
}

#[derive(Record, Debug, PartialEq)]
struct Alarm {
    time: i64,
    text: String,
}

#[derive(Record)]
#[repr(C)]
struct Track<'a> {
    name: Str<'a>,
    points: Slice<'a, f64>,
}

#[derive(Kinds)]
enum Seen<'m> {
    River(&'m River),
    Track(&'m Track<'m>),
    Alarm(Alarm),
}

#[derive(Kinds, Debug, PartialEq)]
enum Owned {
    River(River),
    Alarm(Alarm),
    #[isoform(other)]
    Other,
}

#[derive(Kinds)]
enum Viewed<'m> {
    #[isoform(other)]
    Other(Incoming<'m>),
    Alarm(Alarm),
}

/// Other names, orders and types, as another program has them.
#[derive(Record)]
#[isoform(rename = "Level")]
#[repr(C)]
struct Sent {
    depth: f32,
    time: i32,
    quality: u8,
}

#[derive(Record)]
#[isoform(rename = "Alarm")]
#[repr(C)]
struct OtherAlarm {
    level: i32,
}

fn bytes() -> Vec<u8> {
    let mut writer = stream::Writer::new(Vec::new());
    let write = |result: Result<()>| result.unwrap();
    write(writer.write(&Encoder::new().encode(&River { time: 1, depth: 4.5 }).unwrap()));
    write(writer.write(&Encoder::new().encode(&Alarm { time: 2, text: "high".into() }).unwrap()));
    let points = [1.0, 2.0];
    let track = Track { name: Str::new(c"Elbe"), points: Slice::from(&points) };
    write(writer.write(&Encoder::new().encode(&track).unwrap()));
    write(writer.write(&Encoder::new().encode(&Sent { depth: 5.5, time: 3, quality: 9 }).unwrap()));
    writer.into_inner()
}

#[test]
fn each_record_becomes_the_kind_that_fits() {
    let bytes = bytes();
    let mut reader = stream::Reader::new(&bytes[..]);
    let mut decoder = KindDecoder::<Seen>::new();
    let mut seen = Vec::new();
    while let Some(message) = reader.next().unwrap() {
        let (body, name) = (message.body().as_ptr(), message.format().name());
        seen.push(match decoder.decode(&message).unwrap() {
            Seen::River(river) => {
                let itself = std::ptr::eq(body, std::ptr::from_ref(river).cast());
                assert_eq!(itself, name == "River", "a record of the same layout is borrowed from the message");
                format!("river {} {}", river.time, river.depth)
            }
            Seen::Track(track) => format!("track {} {:?}", track.name.to_str().unwrap(), &track.points[..]),
            Seen::Alarm(alarm) => format!("alarm {} {}", alarm.time, alarm.text),
        });
    }
    assert_eq!(seen, ["river 1 4.5", "alarm 2 high", "track Elbe [1.0, 2.0]", "river 3 5.5"]);
    assert_eq!(decoder.explain(River::format()).reason(), Some(Reason::Only));
    assert_eq!(decoder.others(), 0);
}

#[test]
fn what_fits_no_kind_is_an_error_that_says_why_and_the_next_call_goes_on() {
    let (format, body) = (OtherAlarm::format(), 7i32.to_ne_bytes());
    let message = Incoming::new(Header::new(format.token(), 4), format, &body);
    let mut decoder = KindDecoder::<Seen>::new();
    for count in 1..3 {
        let error = decoder.decode(&message).map(drop).unwrap_err();
        assert_eq!(
            (error.code(), error.path()),
            (Code::NoConversion, "Alarm"),
            "although one of the kinds has its name"
        );
        assert!(error.actual().contains("not Alarm: no conversion at Alarm: "), "{error}");
        assert!(error.actual().contains("not River: "), "{error}");
        assert_eq!(decoder.others(), count);
    }
    let river = River { time: 1, depth: 2.0 };
    let message = Encoder::new().encode(&river).unwrap().to_vec();
    let format = River::format();
    let message = Incoming::new(Header::new(format.token(), 16), format, &message[32..]);
    assert!(matches!(decoder.decode(&message), Ok(Seen::River(came)) if *came == river));
}

#[test]
fn what_fits_no_kind_is_handed_over_or_counted_as_asked() {
    let bytes = bytes();
    let mut reader = stream::Reader::new(&bytes[..]);
    let mut decoder = KindDecoder::<Owned>::new();
    let mut seen = Vec::new();
    while let Some(message) = reader.next().unwrap() {
        seen.push(decoder.decode(&message).unwrap());
    }
    let alarm = Owned::Alarm(Alarm { time: 2, text: "high".into() });
    let rivers = [River { time: 1, depth: 4.5 }, River { time: 3, depth: 5.5 }].map(Owned::River);
    let [first, last] = rivers;
    assert_eq!(seen, [first, alarm, Owned::Other, last]);
    assert_eq!(decoder.others(), 1);

    let mut reader = stream::Reader::new(&bytes[..]);
    let mut decoder = KindDecoder::<Viewed>::new();
    let mut names = Vec::new();
    while let Some(message) = reader.next().unwrap() {
        match decoder.decode(&message).unwrap() {
            Viewed::Other(message) => names.push(message.format().name().to_owned()),
            Viewed::Alarm(alarm) => names.push(alarm.text),
        }
    }
    assert_eq!((names.join(" "), decoder.others()), ("River high Track Level".into(), 3));
}

#[test]
fn a_body_of_its_own_is_used_in_place() {
    let points = [0.5, 1.5];
    let message = Encoder::new().encode(&Track { name: Str::NULL, points: Slice::from(&points) }).unwrap().to_vec();
    let mut body = isoform::Aligned::from(&message[32..]);
    let place = body.as_ptr();
    let mut decoder = KindDecoder::<Seen>::new();
    let Ok(Seen::Track(track)) = decoder.decode_in_place(Track::format(), &mut body) else { panic!("a track") };
    assert_eq!(track.points[..], points);
    assert!(std::ptr::eq(place, std::ptr::from_ref(track).cast()));
}

#[test]
fn the_settings_are_those_of_all_kinds() {
    let (format, body) = (OtherAlarm::format(), 7i32.to_ne_bytes());
    let message = Incoming::new(Header::new(format.token(), 4), format, &body);
    #[derive(Record, Debug, PartialEq)]
    #[isoform(rename = "Alarm")]
    #[repr(C)]
    struct Small {
        level: i8,
        other: i32,
    }
    #[derive(Kinds, Debug, PartialEq)]
    enum One {
        Small(Small),
    }
    assert!(KindDecoder::<One>::new().decode(&message).is_err());
    let mut decoder = KindDecoder::<One>::new().with_missing(Missing::Zero);
    assert_eq!(decoder.decode(&message).unwrap(), One::Small(Small { level: 7, other: 0 }));
    let body = 700i32.to_ne_bytes();
    let message = Incoming::new(Header::new(format.token(), 4), format, &body);
    assert_eq!(decoder.decode(&message).unwrap_err().code(), Code::Overflow);
    let mut decoder = decoder.with_faults(Faults::Saturate);
    assert_eq!(decoder.decode(&message).unwrap(), One::Small(Small { level: 127, other: 0 }));
}

#[test]
fn formats_that_are_known_only_at_run_time_are_chosen_alike() {
    let kind = |format: &Format| Kind { format: format.clone(), rules: Rules::new(), faults: Faults::Error };
    let mut decoder = memory::KindDecoder::new(vec![kind(River::format()), kind(Track::format())]).unwrap();
    let bytes = bytes();
    let mut reader = stream::Reader::new(&bytes[..]);
    let mut seen = Vec::new();
    while let Some(message) = reader.next().unwrap() {
        seen.push(match decoder.decode(&message) {
            Ok((kind, record)) => (kind, record.len()),
            Err(error) => (error.code() as usize, 0),
        });
    }
    assert_eq!(seen, [(0, 16), (301, 0), (1, 3 * size_of::<usize>()), (0, 16)]);
    assert_eq!((decoder.others(), decoder.kinds().len(), Machine::NATIVE.pointer as usize), (1, 2, size_of::<usize>()));
}
