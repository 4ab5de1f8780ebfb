//! Bodies from values.

use super::lengths::Entries;
use super::{Value, one_of};
use crate::declare::Kind;
use crate::error::{Code, Error, Result};
use crate::format::{ByteOrder, Element, Enumeration, Field, FloatKind, Format, Machine, Structure, integer_range};
use crate::limits::Limits;
use crate::scalar::{self, Real, Rounding};

pub(super) fn body(format: &Format, record: &Value) -> Result<Vec<u8>> {
    let mut writer = Writer { machine: format.machine(), bytes: Vec::new() };
    writer.block(1, format.size())?;
    writer.record(format.structure(), Some(record), 0)?;
    Ok(writer.bytes)
}

/// The body so far. New memory in it is zeros.
struct Writer {
    machine: Machine,
    bytes: Vec<u8>,
}

impl Writer {
    fn record(&mut self, structure: &Structure, record: Option<&Value>, at: usize) -> Result<()> {
        let entries = Entries::of(structure, record)?;
        for (index, field) in structure.fields().iter().enumerate() {
            let place = at + field.offset;
            let done = match entries.length(index) {
                Some(length) => self.element(&field.element, Some(&Value::Integer(length as i128)), place),
                None => self.field(field, &entries.dims(field), entries.value(index), place),
            };
            done.map_err(|error| error.within(&field.name))?;
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, dims: &[usize], value: Option<&Value>, at: usize) -> Result<()> {
        let size = field.element_size(self.machine.pointer);
        let length = dims.iter().fold(size, |product, &dim| product.saturating_mul(dim));
        match value {
            None | Some(Value::Null) if field.is_dynamic() && length > 0 => {
                let error = Error::new(Code::Lengths).expected(format_args!("{} elements", length / size));
                Err(error.found("none"))
            }
            None | Some(Value::Null) if field.indirect => Ok(()),
            // The value has no elements. Otherwise its lengths would be known.
            Some(value) if length == 0 => check_empty(value, &field.element, dims.len()),
            Some(value) => {
                check_shape(value, &field.element, dims)?;
                if !field.indirect {
                    return self.array(&field.element, dims, Some(value), at);
                }
                let block = self.block(field.element.block_alignment(), length)?;
                self.slot(at, block)?;
                self.array(&field.element, dims, Some(value), block)
            }
            None => self.array(&field.element, dims, None, at),
        }
    }

    /// The elements of an array of these dimensions, or one element if there are none.
    fn array(&mut self, element: &Element, dims: &[usize], value: Option<&Value>, at: usize) -> Result<()> {
        let Some((&count, inner)) = dims.split_first() else {
            return self.element(element, value, at);
        };
        let stride = inner.iter().fold(element.size(self.machine.pointer), |product, &dim| product * dim);
        match value {
            Some(Value::String(text)) => {
                self.bytes[at..at + text.len()].copy_from_slice(text);
                Ok(())
            }
            Some(Value::Array(values)) => {
                let mut elements = values.iter().enumerate();
                elements.try_for_each(|(i, value)| within(i, self.array(element, inner, Some(value), at + i * stride)))
            }
            None if may_refuse_zeros(element) => {
                (0..count).try_for_each(|i| self.array(element, inner, None, at + i * stride))
            }
            _ => Ok(()),
        }
    }

    fn element(&mut self, element: &Element, value: Option<&Value>, at: usize) -> Result<()> {
        match (element, value) {
            (Element::Structure(inner), _) => self.record(inner, value, at),
            (Element::String, None | Some(Value::Null)) => Ok(()),
            (Element::String, Some(Value::String(text))) => self.string(text, at),
            (Element::Enumeration(enumeration), None) => {
                let missing = &Value::Integer(missing_symbol(enumeration));
                self.element(element, Some(missing), at)
            }
            (_, None) => Ok(()),
            (_, Some(value)) => {
                let size = element.size(self.machine.pointer);
                value.write(element, self.machine, &mut self.bytes[at..at + size])
            }
        }
    }

    fn string(&mut self, text: &[u8], at: usize) -> Result<()> {
        if let Some(nul) = memchr::memchr(0, text) {
            let error = Error::new(Code::BadRecord).expected("a string without NUL");
            return Err(error.found(format_args!("a NUL as byte {nul}")));
        }
        let block = self.block(8, text.len().saturating_add(1))?;
        self.slot(at, block)?;
        self.bytes[block..block + text.len()].copy_from_slice(text);
        Ok(())
    }

    /// Makes room for a block, filled with zeros, at the end of the body.
    fn block(&mut self, align: usize, length: usize) -> Result<usize> {
        let at = self.bytes.len().next_multiple_of(align);
        let end = at.saturating_add(length);
        Limits::default().admit_message(end as u64)?;
        let too_large = || Error::new(Code::Size).found(format_args!("a body of {end} bytes"));
        self.bytes.try_reserve(end.saturating_sub(self.bytes.len())).map_err(|_| too_large())?;
        self.bytes.resize(end, 0);
        Ok(at)
    }

    fn slot(&mut self, at: usize, block: usize) -> Result<()> {
        let pointer = self.machine.pointer;
        if pointer == 4 && u32::try_from(block).is_err() {
            return Err(Error::new(Code::Size).expected("an offset of 4 bytes").found(block));
        }
        self.machine.write(&mut self.bytes[at..at + usize::from(pointer)], block as u64);
        Ok(())
    }
}

impl Value {
    /// Writes a number, a boolean, a symbol or a character where such an element has its bytes.
    pub(crate) fn write(&self, element: &Element, machine: Machine, bytes: &mut [u8]) -> Result<()> {
        let order = machine.order;
        match (element, self) {
            (Element::Integer { signed, size }, Value::Integer(number)) => {
                let (low, high) = integer_range(*signed, *size);
                if *number < low || *number > high {
                    return Err(Error::new(Code::Overflow).expected(Kind::of(element)).found(number));
                }
                scalar::write_bits(order, bytes, *number as u128);
            }
            (Element::Integer { signed: false, size: 16 }, Value::Unsigned(number)) => {
                scalar::write_bits(order, bytes, *number);
            }
            (Element::Integer { .. }, Value::Unsigned(number)) => {
                return Err(Error::new(Code::Overflow).expected(Kind::of(element)).found(number));
            }
            (Element::Float { kind, size }, value) => {
                value
                    .write_float(*kind, *size, order, bytes)
                    .map_err(|error| error.expected(Kind::of(element)).found(self))?;
            }
            (Element::Complex { kind, size }, Value::Complex(parts)) => {
                for (part, bytes) in parts.iter().zip(bytes.chunks_mut(usize::from(*size))) {
                    part.write(&Element::Float { kind: *kind, size: *size }, machine, bytes)?;
                }
            }
            (Element::Char, Value::Char(byte)) => bytes[0] = *byte,
            (Element::Char, Value::Integer(number)) => {
                let byte = u8::try_from(*number);
                bytes[0] = byte.map_err(|_| Error::new(Code::Overflow).expected(Kind::of(element)).found(number))?;
            }
            (Element::Boolean { .. }, Value::Boolean(truth)) => machine.write(bytes, u64::from(*truth)),
            (Element::Enumeration(enumeration), Value::Symbol(name)) => {
                let unknown = || Error::new(Code::NoSuchField).expected(symbols(enumeration)).found(name);
                machine.write(bytes, enumeration.value(name).ok_or_else(unknown)? as u64);
            }
            (Element::Enumeration(enumeration), Value::Integer(number)) => {
                let unknown = || Error::new(Code::Symbol).expected(symbols(enumeration)).found(number);
                enumeration.symbol(*number).ok_or_else(unknown)?;
                machine.write(bytes, *number as u64);
            }
            _ => return Err(self.wrong_type(Kind::of(element))),
        }
        Ok(())
    }

    fn write_float(&self, kind: FloatKind, size: u8, order: ByteOrder, bytes: &mut [u8]) -> Result<()> {
        let wrong_type = || Error::new(Code::WrongType);
        let (real, rounding) = match self {
            Value::Float(number) => (Real::Double(*number), Rounding::Exact),
            Value::Decimal(text) => Real::parse(text, kind, size).ok_or_else(wrong_type)?,
            Value::Integer(number) => (Real::from_signed(*number), Rounding::Exact),
            Value::Unsigned(number) => (Real::from_unsigned(*number), Rounding::Exact),
            _ => return Err(wrong_type()),
        };
        let digits_matter = matches!(self, Value::Integer(_) | Value::Unsigned(_));
        for rounding in [rounding, real.write(kind, order, bytes)] {
            match rounding {
                Rounding::Nearest if digits_matter => return Err(Error::new(Code::Inexact)),
                Rounding::Exact | Rounding::Nearest => {}
                Rounding::Overflow => return Err(Error::new(Code::Overflow)),
                Rounding::Underflow => return Err(Error::new(Code::Underflow)),
            }
        }
        Ok(())
    }
}

fn within(index: usize, done: Result<()>) -> Result<()> {
    done.map_err(|error| error.within(&format!("[{index}]")))
}

/// Refuses a value that is not an array of these dimensions, before room is made for one.
fn check_shape(value: &Value, element: &Element, dims: &[usize]) -> Result<()> {
    let Some((&count, inner)) = dims.split_first() else { return Ok(()) };
    match value {
        Value::Array(values) if values.len() == count => {
            let mut elements = values.iter().enumerate();
            elements.try_for_each(|(i, value)| within(i, check_shape(value, element, inner)))
        }
        Value::Array(values) => {
            Err(Error::new(Code::Shape).expected(format_args!("{count} elements")).found(values.len()))
        }
        Value::String(text) if *element == Element::Char && inner.is_empty() => match text.len() <= count {
            true => Ok(()),
            false => Err(Error::new(Code::TooLong).expected(format_args!("at most {count} bytes")).found(text.len())),
        },
        other => Err(other.wrong_type(format_args!("an array of {}", Kind::of(element)))),
    }
}

/// Refuses what is not an array without elements.
fn check_empty(value: &Value, element: &Element, rank: usize) -> Result<()> {
    match value {
        Value::Array(values) if rank > 1 => {
            let mut elements = values.iter().enumerate();
            elements.try_for_each(|(i, value)| within(i, check_empty(value, element, rank - 1)))
        }
        Value::Array(values) if values.is_empty() => Ok(()),
        Value::String(text) if rank == 1 && text.is_empty() && *element == Element::Char => Ok(()),
        Value::Array(_) => Err(Error::new(Code::Shape).expected("no elements").found(value)),
        other => Err(other.wrong_type(format_args!("an array of {}", Kind::of(element)))),
    }
}

/// Whether zeros may be invalid as such an element.
fn may_refuse_zeros(element: &Element) -> bool {
    match element {
        Element::Enumeration(enumeration) => enumeration.symbol(0).is_none(),
        Element::Structure(inner) => {
            inner.fields().iter().any(|field| !field.indirect && may_refuse_zeros(&field.element))
        }
        _ => false,
    }
}

/// The value of an enumeration that was not given one: 0, or its smallest value if 0 has no symbol.
fn missing_symbol(enumeration: &Enumeration) -> i128 {
    enumeration.symbol(0).map_or(enumeration.symbols()[0].value, |_| 0)
}

fn symbols(enumeration: &Enumeration) -> String {
    let names: Vec<&str> = enumeration.symbols().iter().map(|symbol| &*symbol.name).collect();
    one_of(&names)
}
