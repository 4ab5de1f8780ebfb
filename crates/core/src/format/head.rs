//! The format of a record's head: of what can be read while the rest of a long record is still on its way.

use super::element::Element;
use super::structure::{Field, Structure};
use super::{Dimension, Format};
use crate::error::{Code, Error, Result};
use std::sync::Arc;

impl Format {
    /// The format of the first bytes of this one's records: with the fields, at the same places, that lie within these bytes and
    /// are no pointers. A record of `bytes` bytes or fewer keeps its size.
    ///
    /// ```
    /// use isoform_core::{Layout, Shape};
    /// let shape = Shape::parse("
    ///     record Field
    ///       step   int
    ///       name   string
    ///       n      int
    ///       cells  double[n]
    ///       halo   double[8]")?;
    /// let whole = shape.on(&Layout::X86_64)?;
    /// let names = |bytes| whole.head(bytes).map(|head| {
    ///     head.structure().fields().iter().map(|field| field.name.to_string()).collect::<Vec<_>>()
    /// });
    /// assert_eq!(names(whole.size())?, ["step", "n", "halo"]);
    /// assert_eq!(names(32)?, ["step", "n"]);
    /// # Ok::<(), isoform_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::Declaration`] if there is no such field.
    pub fn head(&self, bytes: usize) -> Result<Format> {
        let whole = self.structure();
        let head = head(whole, bytes).ok_or_else(|| {
            let error = Error::new(Code::Declaration).at(whole.name());
            error.expected(format_args!("a field within the first {bytes} bytes that is no pointer"))
        })?;
        Format::new(head?)
    }
}

/// The structure of the first bytes of a structure; `None` if nothing remains.
fn head(whole: &Arc<Structure>, bytes: usize) -> Option<Result<Arc<Structure>>> {
    if !whole.has_slots() && whole.size() <= bytes {
        return Some(Ok(whole.clone()));
    }
    let pointer = whole.machine().pointer;
    let is_within = |field: &&Field| {
        !field.indirect && field.extent(pointer).and_then(|extent| field.offset.checked_add(extent)) <= Some(bytes)
    };
    let fields = whole.fields().iter().filter(is_within).filter_map(|field| match &field.element {
        Element::String => None,
        // Each element of an array of structures is whole.
        Element::Structure(inner) => {
            head(inner, inner.size()).map(|inner| Ok(Field { element: Element::Structure(inner?), ..field.clone() }))
        }
        _ => Some(Ok(field.clone())),
    });
    let fields: Vec<Field> = match fields.collect::<Result<_>>() {
        Ok(fields) => fields,
        Err(error) => return Some(Err(error)),
    };
    if fields.is_empty() {
        return None;
    }
    debug_assert!(fields.iter().all(|field| !field.dims.iter().any(|dim| matches!(dim, Dimension::Field(_)))));
    let align = whole.align();
    let size = whole.size().min(bytes / align * align);
    // A record that is cut within its alignment: what fits.
    let end = fields.iter().filter_map(|field| Some(field.offset + field.extent(pointer)?)).max().unwrap_or(0);
    let (size, align) = if end <= size { (size, align) } else { (end, 1) };
    Some(Structure::new(whole.name(), whole.machine(), size, align, fields).map(Arc::new))
}
