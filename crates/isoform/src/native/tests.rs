//! Random records of this machine, and of others: a body that is placed in memory and gathered again is the same body,
//! whatever its gaps held in between.

use super::buffer::Buffer;
use super::gather::{Gather, count};
use super::outline::{Elements, Gap, Outline, SlotKind};
use super::owned_body::OwnedBody;
use super::relocate::relocate;
use super::scratch::Scratch;
use isoform_core::interp;
use isoform_core::{Faults, Format, Layout, Plan, Rules, value};
use isoform_testing::{any_layout, any_shape, any_value, with_gaps};
use proptest::prelude::*;
use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;

proptest! {
    #[test]
    #[cfg_attr(miri, ignore = "minutes for each case; tests/ has records for Miri")]
    fn placing_and_gathering_are_inverse(
        (format, record) in (any_shape(), gap_seeds()).prop_flat_map(|(shape, gaps)| {
            let format = with_gaps(&shape.on(&Layout::NATIVE).unwrap(), &gaps);
            let record = any_value(&format);
            (Just(format), record)
        })
    ) {
        let body = value::body(&format, &record).unwrap();
        let mut buffer = Buffer::new(false);
        buffer.copy(&body).unwrap();
        check(&format, &mut buffer, &body);
    }

    #[test]
    #[cfg_attr(miri, ignore = "minutes for each case; tests/ has records for Miri")]
    fn converted_records_can_be_placed(
        (shape, layout, gaps) in (any_shape(), any_layout(), gap_seeds()),
        seed in any::<u64>(),
    ) {
        let (wire, native) = (shape.on(&layout).unwrap(), shape.on(&Layout::NATIVE).unwrap());
        let (wire, native) = (with_gaps(&wire, &gaps), with_gaps(&native, &gaps));
        let mut runner = proptest::test_runner::TestRunner::new_with_rng(
            ProptestConfig::default(),
            proptest::test_runner::TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &[seed as u8; 32]),
        );
        let record = any_value(&wire).new_tree(&mut runner).unwrap().current();
        let body = value::body(&wire, &record).unwrap();
        let plan = Plan::new(&wire, &native, &Rules::new(), Faults::Wrap).unwrap();
        let mut expected = Vec::new();
        interp::run(&plan, wire.verify(&body).unwrap(), &mut expected).unwrap();

        // Other bytes lay in the buffer before.
        let mut buffer = Buffer::new(native.structure().needs_check());
        buffer.copy(&[0x5a; 10_000]).unwrap();
        buffer.clear();
        interp::run(&plan, wire.verify(&body).unwrap(), &mut buffer).unwrap();
        check(&native, &mut buffer, &expected);
        #[cfg(feature = "generate")]
        if let Some(code) = isoform_jit::Code::of(&plan.into()) {
            buffer.copy(&[0x5a; 10_000]).unwrap();
            buffer.clear();
            code.run(wire.verify(&body).unwrap(), &mut buffer).unwrap();
            check(&native, &mut buffer, &expected);
        }
    }
}

fn gap_seeds() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u8>(), 1..8)]
}

/// Checks that `buffer`, a body of `format` but for its gaps, is gathered as `body`.
fn check(format: &Format, buffer: &mut Buffer, body: &[u8]) {
    let outline = Outline::new(format.structure());
    let mut gather = Gather::new(format);
    // SAFETY: the body is one of the format, whether it was verified or made by the interpreter; the buffer is not touched
    // while messages live.
    unsafe {
        let (base, length) = buffer.as_mut();
        relocate(&outline, base, length).unwrap();
        for clean in [true, false] {
            spoil(&outline, base, if clean { 0 } else { 0xee });
            let message = gather.gather(base, clean).unwrap();
            assert_eq!(message.len(), 32 + body.len());
            let bytes = message.to_vec();
            assert!(bytes[32..] == *body, "{bytes:02x?} is not {body:02x?}");
            assert_eq!(message.body().collect::<Vec<_>>().concat(), body);
            assert_eq!(format.verify(&bytes[32..]).unwrap().bytes(), body);
        }
        let owned = OwnedBody::record(&mut gather, base, Arc::new(()), &mut Scratch::default()).unwrap();
        drop(gather);
        check_pieces(&owned, body);
    }
}

#[test]
fn a_body_in_other_memory_is_read_where_it_is() {
    let memory = Arc::new((0..100).collect::<Vec<u8>>());
    let owned = OwnedBody::held(memory.clone());
    check_pieces(&owned, &memory);
    assert_eq!(owned.contiguous().map(<[u8]>::as_ptr), Some(memory.as_ptr()));
    assert!(owned.record_owner().is_none(), "the memory is no record");
    drop(owned);
    assert_eq!(Arc::strong_count(&memory), 1);
}

/// Checks that an owned body is this one, whole and in parts.
fn check_pieces(owned: &OwnedBody, body: &[u8]) {
    assert!(owned.contiguous().is_none_or(|bytes| bytes == body));
    let part = |range| owned.pieces(range).collect::<Vec<_>>().concat();
    assert_eq!((owned.len(), &part(0..body.len())[..]), (body.len(), body));
    for step in [1, 7, 64] {
        for start in (0..body.len()).step_by(step) {
            let end = body.len().min(start + step);
            assert_eq!(part(start..end), &body[start..end]);
        }
        assert_eq!(part(body.len() / step..body.len()), &body[body.len() / step..]);
    }
}

/// Fills all gaps of a record and of what it points at.
///
/// # Safety
/// As for `place`, after it.
unsafe fn spoil(outline: &Outline, record: *mut u8, filler: u8) {
    // SAFETY: promised.
    unsafe {
        fill(&outline.gaps.list, record, filler);
        for slot in &outline.slots {
            let at = record.add(slot.offset);
            match &slot.kind {
                SlotKind::Strings { .. } => {}
                SlotKind::Structures { count, outline } => {
                    (0..*count).for_each(|i| spoil(outline, at.add(i * outline.size), filler));
                }
                SlotKind::Pointer(block) => {
                    let address = at.cast::<usize>().read_unaligned();
                    let elements = with_exposed_provenance_mut::<u8>(address);
                    let count = if address == 0 { 0 } else { count(block, record).unwrap() };
                    (0..count).map(|i| elements.add(i * block.stride)).for_each(|element| match &block.elements {
                        Elements::Leaves(gaps) => fill(&gaps.list, element, filler),
                        Elements::Strings => {}
                        Elements::Structures(outline) => spoil(outline, element, filler),
                    });
                }
            }
        }
    }
}

unsafe fn fill(gaps: &[Gap], base: *mut u8, filler: u8) {
    // SAFETY: promised by the caller: the gaps are within memory at `base`.
    unsafe {
        for gap in gaps {
            match gap {
                Gap::Bytes { offset, len } => base.add(*offset).write_bytes(filler, *len),
                Gap::Each { offset, count, stride, gaps } => {
                    (0..*count).for_each(|i| fill(gaps, base.add(offset + i * stride), filler));
                }
            }
        }
    }
}
