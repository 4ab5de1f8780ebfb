//! Writes a message that lies in several pieces of memory, without copying them together.

use std::io::{ErrorKind, IoSlice, Write};

/// A message with fewer pieces than this is written without an allocation.
const FEW: usize = 8;

/// Writes pieces in order, in one call if the system accepts that many. On failure, `partly` tells whether some bytes
/// were written.
pub(crate) fn write_pieces<'s>(
    writer: &mut impl Write,
    pieces: impl Iterator<Item = &'s [u8]>,
    partly: &mut bool,
) -> std::io::Result<()> {
    let mut pieces = pieces.filter(|piece| !piece.is_empty()).map(IoSlice::new);
    let mut few = [IoSlice::new(&[]); FEW];
    let count = few.iter_mut().zip(&mut pieces).map(|(place, piece)| *place = piece).count();
    if count < FEW {
        return write_slices(writer, &mut few[..count], partly);
    }
    let mut many: Vec<IoSlice<'_>> = few.into_iter().chain(pieces).collect();
    write_slices(writer, &mut many, partly)
}

fn write_slices(writer: &mut impl Write, mut slices: &mut [IoSlice<'_>], partly: &mut bool) -> std::io::Result<()> {
    let mut written = false;
    while !slices.is_empty() {
        let length = match writer.write_vectored(slices) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(0) => Err(ErrorKind::WriteZero.into()),
            other => other,
        };
        IoSlice::advance_slices(&mut slices, length.inspect_err(|_| *partly = written)?);
        written = true;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_pieces() {
        let pieces: Vec<Vec<u8>> = (0..10 * FEW).map(|i| vec![i as u8; i % 5]).collect();
        let mut written = Vec::new();
        write_pieces(&mut written, pieces.iter().map(|piece| &piece[..]), &mut false).unwrap();
        assert_eq!(written, pieces.concat());
    }
}
