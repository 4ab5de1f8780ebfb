//! What a program emits is found and heard by others. The outlet is that of the process: there is one test.
#![cfg(any(unix, windows))]

use isoform::{Code, Record};
use isoform_channel::{Event, Node, emitting};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// A struct of somebody who listens.
#[derive(Record, Debug, PartialEq)]
struct Seen {
    step: i64,
    #[isoform(unit = "m")]
    depth: Vec<f64>,
}

fn emit(step: i32, depth: &[f32]) {
    isoform::emit!("tests/emitting", step, depth in "m" = depth);
}

#[test]
fn what_is_emitted_is_heard_as_long_as_the_program_wants() {
    emit(0, &[]); // nobody can listen yet, and the record is numbered
    for round in 0..2 {
        let emitting = emitting::start("isoform-tests-emitting").unwrap();
        let second = emitting::start("another").unwrap_err();
        assert_eq!((second.code(), second.path()), (Code::Taken, "another"), "{second}");
        assert!(second.to_string().contains("isoform-tests-emitting"), "{second}");
        assert_eq!(emitting.wait_for_sinks("other", 1, LONG).unwrap_err().code(), Code::NoSuchChannel);
        let mine = || {
            let programs = emitting::running().unwrap();
            programs.into_iter().find(|program| program.process == std::process::id())
        };
        let id = match cfg!(unix) {
            true => mine().unwrap().ids.remove(0),
            false => emitting.ids()[0].to_string(),
        };
        assert_eq!(emitting.ids().len(), 1);
        let mut sink = Node::new().unwrap().open(&id).unwrap().sink::<Seen>().unwrap();
        emitting.wait_for_sinks("tests/emitting", 1, LONG).unwrap();
        for step in 0..100 {
            emit(step, &vec![step as f32; step as usize]);
        }
        drop(emitting); // the last ones arrive nevertheless
        assert!(mine().is_none());
        emit(100, &[]);
        let mut seen = Vec::new();
        loop {
            match sink.recv_owned().unwrap() {
                Event::Record { record, .. } => seen.push(record),
                Event::Left(..) => break,
                Event::Joined { earlier, .. } => assert_eq!(earlier, 1, "{round}: what was emitted before the start"),
                other => panic!("{round}: {other:?}"),
            }
        }
        let expected = (0..100).map(|step| Seen { step, depth: vec![step as f64; step as usize] });
        assert_eq!(seen, expected.collect::<Vec<_>>(), "{round}");
    }
    assert_eq!(isoform::emit::failed(), 0);

    // Two names of one channel, and a name that no channel can have: its records are counted as failed.
    let emitting = emitting::start("isoform-tests-emitting").unwrap();
    isoform::emit!("tests.emitting", step = 1);
    isoform::emit!("tab\tname", step = 1);
    isoform::emit!("tab\tname", step = 2);
    assert_eq!(emitting.ids().len(), 1);
    assert_eq!(isoform::emit::failed(), 2);
}
