//! Columns as a batch of Arrow's own library, which writes them into files.

use super::{Array, Schema};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{RecordBatch, StructArray};
use isoform::{Code, Error, Result};
use std::ptr;

/// The batch of these columns, without a copy of what is aligned.
///
/// ```
/// use isoform::core::declare::{Layout, Shape};
/// use isoform::{Faults, Rules};
/// use isoform_dynamic::arrow;
/// use isoform_dynamic::columns::Columns;
///
/// let format = Shape::parse("record Reach\n  step int\n  rain double unit=\"mm/h\"")?.on(&Layout::NATIVE)?;
/// let columns = Columns::new(&format, None, &Rules::new(), Faults::Error)?;
/// let values = (0..2).map(|_| Some(arrow::Memory::Own(Vec::new())));
/// let batch = arrow::batch(columns.schema("Reach")?, columns.array(values)?)?;
/// assert_eq!(batch.schema().field(1).metadata()["unit"], "mm/h");
/// # Ok::<(), isoform::Error>(())
/// ```
///
/// # Errors
/// [`Code::WrongType`] if the two are not of the same columns.
pub fn batch(mut schema: Schema, mut array: Array) -> Result<RecordBatch> {
    let wrong = |error: arrow_schema::ArrowError| {
        Error::new(Code::WrongType).expected("columns of a schema and an array that belong together").found(error)
    };
    let names = ptr::from_mut(&mut schema).cast::<FFI_ArrowSchema>();
    let values = ptr::from_mut(&mut array).cast::<FFI_ArrowArray>();
    // SAFETY: all four are the structures of Arrow's C data interface, and these two have not been released. Each is moved, and
    // what is left says that it was released. The lengths and pointers are those of invariant (2).
    let data = unsafe {
        let names = FFI_ArrowSchema::from_raw(names);
        from_ffi(FFI_ArrowArray::from_raw(values), &names)
    };
    let mut data = data.map_err(wrong)?;
    data.align_buffers();
    data.validate().map_err(wrong)?;
    Ok(RecordBatch::from(StructArray::from(data)))
}
