//! Turns tables of fields, a foreign program's knowledge of a struct, into a [`Format`].
//!
//! [`Tables`] are for structures whose fields have places, and [`declared`] for structures whose fields have none.

pub use isoform::core::declare::{Row, Tables};

use isoform::core::declare::{Layout, Shape};
use isoform::{Code, Error, Format, Result};

/// A field without a place: its name, its type in words, and its unit.
pub type Declared<'a> = (&'a str, &'a str, Option<&'a str>);

/// The format of the last of these structures, which may nest those before it, in the layout of this machine's C
/// compiler.
///
/// # Errors
/// [`Code::Declaration`] if there is none; as [`Shape::on`].
pub fn declared<'a, F>(structures: impl IntoIterator<Item = (&'a str, F)>) -> Result<Format>
where
    F: IntoIterator<Item = Declared<'a>>,
{
    let mut shape: Option<Shape> = None;
    for (name, fields) in structures {
        let mut next = match shape {
            Some(shape) => shape.record(name),
            None => Shape::new(name),
        };
        for (field, words, unit) in fields {
            next = next.field(field, words);
            next = unit.into_iter().fold(next, Shape::unit);
        }
        shape = Some(next);
    }
    let none = || Error::new(Code::Declaration).at("structures").expected("at least one structure");
    shape.ok_or_else(none)?.on(&Layout::NATIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_laid_out() {
        let fields = [[("x", "f64", Some("m"))], [("p", "Point[2]", None)]];
        let format = declared(["Point", "Line"].into_iter().zip(fields)).unwrap();
        assert_eq!((format.name(), format.size()), ("Line", 16));
        assert!(declared::<[Declared<'_>; 0]>([]).is_err());
    }
}
