//! Columns, and Arrow. Section "Columns" of the header.

use crate::error::{Status, answer, call};
use crate::format::Format;
use crate::kinds::Kinds;
use crate::message::{Message, incoming};
use crate::pointer::{Held, Opened, Out, close, given, list, open, put, text};
use crate::rules::{self, Rules};
use crate::stream::Reader;
use isoform::Result;
use isoform_dynamic::arrow::{Array, Memory, Records, Schema};
use isoform_dynamic::columns;
use std::ffi::{c_char, c_int, c_void};

/// `iso_columns`
pub struct Columns {
    columns: columns::Columns,
    /// The name of the records.
    name: String,
}

/// `iso_columns_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_columns_open(
    format: Option<&Format>,
    fields: *const *const c_char,
    count: usize,
    rules: Option<&Rules>,
    faults: c_int,
    columns: Opened<'_, Columns>,
) -> Status {
    call(|| {
        open(columns, "columns", || {
            let format = given(format, "format")?;
            // SAFETY: (1) of the crate.
            let fields = unsafe { list(fields, count, "fields")? };
            // SAFETY: as above.
            let path = |&field: &*const c_char| unsafe { text(field, "field") }.map(String::from);
            let fields = fields.iter().map(path).collect::<Result<Vec<_>>>()?;
            let fields = (!fields.is_empty()).then_some(&*fields);
            let (rules, faults) = (rules::of(rules, format)?, rules::choice(faults)?);
            let columns = columns::Columns::new(&format.format, fields, &rules, faults)?;
            Ok(Columns { columns, name: format.format.name().to_owned() })
        })
    })
}

/// `iso_columns_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_columns_close(columns: Held<'_, Columns>) {
    answer((), || close(columns));
}

/// `iso_columns_add`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_columns_add(columns: Option<&mut Columns>, message: Option<&Message>) -> Status {
    call(|| {
        // SAFETY: (1, 3) of the crate.
        let message = unsafe { incoming(message)? };
        given(columns, "columns")?.columns.append(&message)
    })
}

/// `iso_columns_read`
#[unsafe(no_mangle)]
pub extern "C" fn iso_columns_read(columns: Option<&mut Columns>, reader: Option<&mut Reader>) -> Status {
    call(|| {
        let (columns, reader) = (&mut given(columns, "columns")?.columns, given(reader, "reader")?);
        while let Some(message) = reader.reader.next()? {
            columns.append(&message)?;
        }
        Ok(())
    })
}

/// `iso_columns_read_kinds`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_columns_read_kinds(
    columns: *const *mut Columns,
    count: usize,
    kinds: Option<&mut Kinds>,
    reader: Option<&mut Reader>,
) -> Status {
    call(|| {
        // SAFETY: (1) of the crate.
        let each = unsafe { list(columns, count, "columns")? };
        let (kinds, reader) = (given(kinds, "kinds")?, &mut given(reader, "reader")?.reader);
        kinds.expect_count(count, "columns")?;
        while let Some(message) = reader.next()? {
            let Ok(kind) = kinds.kind_of(message.format()) else { continue };
            // SAFETY: (1) of the crate: each is null or columns that nobody else uses. One is used at a time.
            if let Some(columns) = unsafe { each[kind].as_mut() } {
                columns.columns.append(&message)?;
            }
        }
        Ok(())
    })
}

/// `iso_columns_rows`
#[unsafe(no_mangle)]
pub extern "C" fn iso_columns_rows(columns: Option<&Columns>) -> usize {
    columns.map_or(0, |columns| columns.columns.rows())
}

/// `iso_columns_arrow`
#[unsafe(no_mangle)]
pub extern "C" fn iso_columns_arrow(
    columns: Option<&mut Columns>,
    schema: Out<'_, Schema>,
    array: Out<'_, Array>,
) -> Status {
    call(|| {
        let Columns { columns, name } = given(columns, "columns")?;
        let (schema, array) = (given(schema, "schema")?, given(array, "array")?);
        let (schema, array) = (schema.write(Schema::released()), array.write(Array::released()));
        let typed = columns.schema(name);
        let count = columns.names().len();
        let values: Vec<_> = (0..count).map(|column| columns.take(column).map(Memory::Own)).collect();
        let rows = columns.array(values);
        columns.clear();
        (*schema, *array) = (typed?, rows?);
        Ok(())
    })
}

/// `iso_columns_values`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_columns_values(
    columns: Option<&mut Columns>,
    field: *const c_char,
    values: Out<'_, *const c_void>,
    size: Out<'_, usize>,
) -> Status {
    call(|| {
        let place = given(values, "values")?;
        place.write(std::ptr::null());
        // SAFETY: (1) of the crate.
        let path = unsafe { text(field, "field")? };
        let columns = &mut given(columns, "columns")?.columns;
        let found = columns.names().position(|name| name == path);
        let none = || isoform::Error::new(isoform::Code::NoSuchField).at(path).expected("the path of a column");
        let column = found.ok_or_else(none)?;
        let varied = || {
            isoform::Error::new(isoform::Code::WrongType)
                .at(path)
                .expected("a field of fixed size; iso_columns_arrow has others")
        };
        put(size, "size", columns.format(column).ok_or_else(varied)?.size())?;
        let bytes = columns.take(column).ok_or_else(varied)?;
        put(Some(place), "values", bytes.as_ptr().cast())?;
        columns.give(column, bytes);
        Ok(())
    })
}

/// `iso_arrow`
pub struct Arrow {
    records: Records,
    format: Format,
}

/// `iso_arrow_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_arrow_open(
    name: *const c_char,
    schema: Option<&Schema>,
    array: Option<&Array>,
    arrow: Opened<'_, Arrow>,
) -> Status {
    call(|| {
        open(arrow, "arrow", || {
            let (schema, array) = (given(schema, "schema")?, given(array, "array")?);
            // SAFETY: (1) of the crate.
            let records = unsafe { Records::new(text(name, "name")?, schema, array)? };
            let format = Format::new(records.format());
            Ok(Arrow { records, format })
        })
    })
}

/// `iso_arrow_records`
#[unsafe(no_mangle)]
pub extern "C" fn iso_arrow_records(
    arrow: Option<&Arrow>,
    format: Out<'_, *const Format>,
    records: Out<'_, *const c_void>,
    count: Out<'_, usize>,
) -> Status {
    call(|| {
        let arrow = given(arrow, "arrow")?;
        let (start, number) = arrow.records.records();
        put(format, "format", &raw const arrow.format)?;
        put(records, "records", start.cast())?;
        put(count, "count", number)
    })
}

/// `iso_arrow_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_arrow_close(arrow: Held<'_, Arrow>) {
    answer((), || close(arrow));
}
