//! The output of a connection that is not written yet: frames, interleaved with bodies that are written from where they
//! are.
//!
//! The protocol makes [`Outgoing`]s, and a [`Connection`] writes slices. This file keeps track of the progress.

use crate::transport::{Connection, MOST_SLICES, Moved};
use isoform::Result;
use isoform_channel_proto::{Body, Outgoing};
use std::io::IoSlice;
use std::ops::Range;

/// Finds the bytes of bodies.
pub(crate) trait Bodies<B> {
    /// Passes the bytes of a range, in order, as contiguous pieces.
    fn pieces<'a>(&'a self, body: &'a B, range: Range<usize>, each: &mut dyn FnMut(&'a [u8]));
}

/// Finds them in the bodies themselves.
pub(crate) struct Own;

impl<B: Body> Bodies<B> for Own {
    fn pieces<'a>(&'a self, body: &'a B, range: Range<usize>, each: &mut dyn FnMut(&'a [u8])) {
        body.pieces(range, each);
    }
}

/// An [`Outgoing`] that is written in part.
pub(crate) struct Unwritten<B> {
    outgoing: Outgoing<B>,
    written: Position,
    /// The number of bytes that are not written.
    left: usize,
}

/// The progress of an [`Outgoing`]. Before each place of a body, its own bytes come first.
#[derive(Clone, Copy, Default)]
struct Position {
    /// This many of its own bytes.
    bytes: usize,
    /// This many whole bodies.
    bodies: usize,
    /// This many bytes of the next body.
    within: usize,
}

impl<B> Default for Unwritten<B> {
    fn default() -> Self {
        Unwritten { outgoing: Outgoing::default(), written: Position::default(), left: 0 }
    }
}

impl<B: Body> Unwritten<B> {
    /// The number of bytes that are not written.
    pub(crate) fn length(&self) -> usize {
        self.left
    }

    /// The number of places in which such a body is not written.
    pub(crate) fn count(&self, such: impl Fn(&B) -> bool) -> usize {
        let bodies = self.outgoing.bodies.iter().skip(self.written.bodies);
        bodies.filter(|splice| such(&splice.body)).count()
    }

    /// Takes the next output, once all is written. `fill` gets an empty one with the memory of the last.
    pub(crate) fn fill(&mut self, fill: impl FnOnce(&mut Outgoing<B>)) {
        assert_eq!(self.left, 0, "what is not written would be lost");
        self.outgoing.clear();
        fill(&mut self.outgoing);
        self.left = self.outgoing.length();
    }

    /// Writes as much as possible; if it may wait, for a little while. [`Moved::Bytes`] states that all is written, and
    /// [`Moved::Blocked`] that the rest must wait until the socket is ready.
    ///
    /// # Errors
    /// As [`Connection::write`].
    pub(crate) fn write(&mut self, connection: &dyn Connection, bodies: &dyn Bodies<B>, wait: bool) -> Result<Moved> {
        let before = self.left;
        if before == 0 && connection.has_unwritten() {
            return connection.write(&[], wait);
        }
        while self.left > 0 {
            let (moved, offered) = self.write_once(connection, bodies, wait)?;
            let Moved::Bytes(bytes) = moved else { return Ok(moved) };
            moved.expect_at_most(offered)?;
            self.advance(bytes);
            if bytes < offered {
                return Ok(Moved::Blocked);
            }
        }
        Ok(Moved::Bytes(before))
    }

    /// Passes the system as many slices as one call accepts. Returns the result, and the number of bytes in these
    /// slices.
    fn write_once(&self, connection: &dyn Connection, bodies: &dyn Bodies<B>, wait: bool) -> Result<(Moved, usize)> {
        let from = self.written.bytes;
        if self.written.bodies == self.outgoing.bodies.len() {
            let rest = IoSlice::new(&self.outgoing.bytes[from..]);
            return Ok((connection.write(&[rest], wait)?, rest.len()));
        }
        let mut slices = Vec::with_capacity((2 * self.outgoing.bodies.len() + 1).min(MOST_SLICES));
        self.gather(bodies, &mut slices);
        Ok((connection.write(&slices, wait)?, slices.iter().map(|slice| slice.len()).sum()))
    }

    /// The slices that are not written, in order: at most [`MOST_SLICES`], and none of them empty.
    fn gather<'a>(&'a self, all: &'a dyn Bodies<B>, slices: &mut Vec<IoSlice<'a>>) {
        let mut add = |slice: &'a [u8]| {
            if !slice.is_empty() && slices.len() < MOST_SLICES {
                slices.push(IoSlice::new(slice));
            }
            slices.len() < MOST_SLICES
        };
        let Position { mut bytes, bodies, mut within } = self.written;
        for splice in &self.outgoing.bodies[bodies..] {
            if !add(&self.outgoing.bytes[bytes..splice.at]) {
                return;
            }
            let range = splice.range.start + within..splice.range.end;
            all.pieces(&splice.body, range, &mut |piece| _ = add(piece));
            (bytes, within) = (splice.at, 0);
        }
        add(&self.outgoing.bytes[bytes..]);
    }

    /// Counts bytes as written.
    fn advance(&mut self, mut count: usize) {
        self.left -= count;
        if self.left == 0 {
            self.outgoing.clear();
            self.written = Position::default();
            return;
        }
        let Position { bytes, bodies, within } = &mut self.written;
        for splice in &self.outgoing.bodies[*bodies..] {
            let own = count.min(splice.at - *bytes);
            let of_body = (count - own).min(splice.range.len() - *within);
            (*bytes, *within, count) = (*bytes + own, *within + of_body, count - own - of_body);
            if *bytes < splice.at || *within < splice.range.len() {
                return;
            }
            (*bodies, *within) = (*bodies + 1, 0);
        }
        *bytes += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tests::pair;
    use isoform_channel_proto::Splice;
    use proptest::prelude::*;
    use std::io::IoSliceMut;
    use std::sync::Arc;

    /// A body that lies in pieces.
    #[derive(Clone, Debug)]
    struct Pieces(Arc<[Vec<u8>]>);

    impl Body for Pieces {
        fn made(_: &isoform::Format, bytes: &[u8]) -> Pieces {
            Pieces([bytes.to_vec()].into())
        }

        fn length(&self) -> usize {
            self.0.iter().map(Vec::len).sum()
        }

        fn pieces<'a>(&'a self, range: Range<usize>, each: &mut dyn FnMut(&'a [u8])) {
            let mut before = 0;
            for piece in &*self.0 {
                let (from, to) = (range.start.max(before), range.end.min(before + piece.len()));
                if from < to {
                    each(&piece[from - before..to - before]);
                }
                before += piece.len();
            }
        }
    }

    fn whole(outgoing: &Outgoing<Pieces>) -> Vec<u8> {
        let (mut all, mut from) = (Vec::new(), 0);
        for Splice { at, body, range, .. } in &outgoing.bodies {
            all.extend_from_slice(&outgoing.bytes[from..*at]);
            all.extend_from_slice(&body.0.concat()[range.clone()]);
            from = *at;
        }
        all.extend_from_slice(&outgoing.bytes[from..]);
        all
    }

    /// Bytes that tell where they are.
    fn pattern(from: usize, length: usize) -> Vec<u8> {
        (from..from + length).map(|i| (i % 251) as u8).collect()
    }

    /// Bytes by the tens or by the ten thousands, with bodies of some pieces anywhere.
    fn any_outgoing() -> impl Strategy<Value = Outgoing<Pieces>> {
        let bytes = |most: usize| (0..most, 0..251usize).prop_map(|(length, from)| pattern(from, length));
        let piece = prop_oneof![8 => bytes(40), 1 => bytes(40_000)];
        let body = (proptest::collection::vec(piece, 0..5), any::<[prop::sample::Index; 3]>());
        let own = prop_oneof![bytes(100), bytes(30_000)];
        (own, proptest::collection::vec(body, 0..12)).prop_map(|(bytes, bodies)| {
            let splice = |(pieces, [at, start, end]): (Vec<Vec<u8>>, [prop::sample::Index; 3])| {
                let body = Pieces(pieces.into());
                let (start, end) = (start.index(body.length() + 1), end.index(body.length() + 1));
                Splice::new(at.index(bytes.len() + 1), body, start.min(end)..start.max(end))
            };
            let mut bodies: Vec<_> = bodies.into_iter().map(splice).collect();
            bodies.sort_by_key(|splice| splice.at);
            let mut outgoing = Outgoing::default();
            (outgoing.bytes, outgoing.bodies) = (bytes, bodies);
            outgoing
        })
    }

    proptest! {
        #[test]
        fn everything_is_written_once_and_in_order(all in proptest::collection::vec(any_outgoing(), 1..4), room in 100..10_000usize) {
            let [near, far] = pair(true);
            let mut unwritten = Unwritten::default();
            let mut place = vec![0; room];
            for outgoing in all {
                let expected = whole(&outgoing);
                unwritten.fill(|empty| {
                    assert!(empty.bytes.is_empty() && empty.bodies.is_empty());
                    *empty = outgoing;
                });
                prop_assert_eq!(unwritten.length(), expected.len());
                let mut came = Vec::new();
                while came.len() < expected.len() || unwritten.length() > 0 {
                    let left = unwritten.length();
                    match unwritten.write(&*near, &Own, false)? {
                        Moved::Bytes(bytes) => prop_assert_eq!((bytes, unwritten.length()), (left, 0)),
                        blocked => prop_assert_eq!((blocked, unwritten.length() > 0), (Moved::Blocked, true)),
                    }
                    while let Moved::Bytes(bytes) = far.read(&mut [IoSliceMut::new(&mut place)], false)? {
                        came.extend_from_slice(&place[..bytes]);
                    }
                    prop_assert_eq!(came.len() + unwritten.length(), expected.len());
                }
                prop_assert!(came == expected);
            }
        }

        #[test]
        fn bodies_are_written_from_where_they_lie(outgoing in any_outgoing()) {
            let expected = whole(&outgoing);
            let bodies: Vec<_> = outgoing.bodies.iter().flat_map(|splice| splice.body.0.iter().map(|piece| piece.as_ptr_range())).collect();
            let own = outgoing.bytes.as_ptr_range();
            let mut unwritten = Unwritten::default();
            unwritten.fill(|empty| *empty = outgoing);
            let mut slices = Vec::new();
            unwritten.gather(&Own, &mut slices);
            let within = |slice: Range<*const u8>, range: &Range<_>| range.start <= slice.start && slice.end <= range.end;
            let lies = |slice: &IoSlice<'_>| bodies.iter().chain([&own]).any(|range| within(slice.as_ptr_range(), range));
            prop_assert!(slices.iter().all(lies));
            prop_assert!(slices.iter().flat_map(|slice| slice.iter().copied()).eq(expected));
        }
    }

    #[test]
    fn more_pieces_than_the_system_takes_at_once_are_written_in_several_calls() {
        let body = Pieces((0..3 * MOST_SLICES).map(|i| vec![i as u8]).collect());
        let [near, far] = pair(false);
        let bodies = [0, 1, 2].map(|at| Splice::new(at, body.clone(), 0..body.length())).into();
        let mut outgoing = Outgoing::default();
        (outgoing.bytes, outgoing.bodies) = (vec![1, 2, 3], bodies);
        let expected = whole(&outgoing);
        let mut unwritten = Unwritten::default();
        unwritten.fill(|empty| *empty = outgoing);
        assert_eq!(unwritten.write(&*near, &Own, false).unwrap(), Moved::Bytes(expected.len()));
        let mut place = vec![0; expected.len() + 1];
        assert_eq!(far.read(&mut [IoSliceMut::new(&mut place)], false).unwrap(), Moved::Bytes(expected.len()));
        assert_eq!(place[..expected.len()], expected);
    }

    #[test]
    fn bodies_are_let_go_of_when_they_are_written() {
        let body = Pieces([vec![7; 100]].into());
        let [near, _far] = pair(true);
        let mut unwritten = Unwritten::default();
        unwritten.fill(|empty| empty.bodies.push(Splice::new(0, body.clone(), 0..100)));
        unwritten.write(&*near, &Own, false).unwrap();
        assert_eq!((unwritten.length(), Arc::strong_count(&body.0)), (0, 1));
    }
}
