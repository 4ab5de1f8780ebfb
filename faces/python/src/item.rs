//! The contents of a verified body as Python objects. Arrays of numbers are read-only NumPy arrays in the body itself,
//! in the sender's byte order. They keep the body alive.

use crate::error::raise;
use crate::face::face;
use isoform::core::scalar::{Float, Real};
use isoform::core::view::{Array, Item};
use isoform::core::{ByteOrder, Element};
use isoform::{Format, View};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyComplex, PyDict, PyList, PyString};
use std::sync::atomic::{AtomicBool, Ordering};

/// So many elements, or bytes of text, are converted only when a program asks for their field.
const MANY: usize = 64;
const LONG: usize = 4096;

/// The value of a field of a verified message that a view converts when a program asks for it.
#[pyclass(name = "_Later", module = "isoform", frozen)]
pub(crate) struct PyLater {
    format: Format,
    body: Py<PyBytes>,
    path: String,
    /// Whether an element was asked for.
    asked: AtomicBool,
}

#[pymethods]
impl PyLater {
    /// The element of this index alone, if it is the first one that is asked for and is there. For further ones, whoever asks
    /// loads all, since each way to an element verifies the message again.
    fn one<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.asked.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        let body = self.body.bind(py);
        let bytes = body.as_bytes();
        let view = View::new(py.detach(|| self.format.verify(bytes)).map_err(raise)?);
        let Ok(item) = view.get(&format!("{}[{index}]", self.path)) else { return Ok(None) };
        object(item, view.structure().machine().order, body).map(Some)
    }

    fn load<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let body = self.body.bind(py);
        let bytes = body.as_bytes();
        let view = View::new(py.detach(|| self.format.verify(bytes)).map_err(raise)?);
        object(view.get(&self.path).map_err(raise)?, view.structure().machine().order, body)
    }
}

/// The fields of a record by name.
pub(crate) fn fields<'py>(view: View<'_>, body: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyDict>> {
    let (fields, order) = (PyDict::new(body.py()), view.structure().machine().order);
    for (field, item) in view.fields() {
        fields.set_item(&*field.name, object(item, order, body)?)?;
    }
    Ok(fields)
}

/// The same, without those whose conversion takes long: they are [`PyLater`]. The record is that at `path` in a message
/// of this format.
pub(crate) fn lazy_fields<'py>(
    view: View<'_>,
    format: &Format,
    path: &str,
    body: &Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = body.py();
    let (fields, order) = (PyDict::new(py), view.structure().machine().order);
    for (field, item) in view.fields() {
        let is_plain = !field.name.contains(['.', '[', ']']);
        let within = || format!("{path}{}{}", if path.is_empty() { "" } else { "." }, field.name);
        let value = match item {
            Item::Record(inner) if is_plain => {
                let fields = lazy_fields(inner, format, &within(), body)?;
                face(py)?.view.bind(py).call1((inner.structure().name(), fields))?
            }
            item if is_plain && is_long(&item, order) => {
                let later = PyLater {
                    format: format.clone(),
                    body: body.clone().unbind(),
                    path: within(),
                    asked: AtomicBool::new(false),
                };
                Bound::new(py, later)?.into_any()
            }
            item => object(item, order, body)?,
        };
        fields.set_item(&*field.name, value)?;
    }
    Ok(fields)
}

fn is_long(item: &Item<'_>, order: ByteOrder) -> bool {
    match item {
        Item::String(text) => text.len() > LONG,
        Item::Array(array) if array.text().is_some() => array.len() > LONG,
        Item::Array(array) => array.len() > MANY && dtype(array.element_type(), order).is_none(),
        _ => false,
    }
}

fn object<'py>(item: Item<'_>, order: ByteOrder, body: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>> {
    let py = body.py();
    Ok(match item {
        Item::Null => py.None().into_bound(py),
        Item::Boolean(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Item::Integer(number) => number.into_pyobject(py)?.into_any(),
        Item::Unsigned(number) => number.into_pyobject(py)?.into_any(),
        Item::Float(number) => float(py, number)?,
        Item::Complex([real, imaginary]) => match (real.value(), imaginary.value()) {
            (Real::Double(real), Real::Double(imaginary)) => PyComplex::from_doubles(py, real, imaginary).into_any(),
            _ => (float(py, real)?, float(py, imaginary)?).into_pyobject(py)?.into_any(),
        },
        Item::Char(0) => PyString::new(py, "").into_any(),
        Item::Char(byte) => text(py, &[byte])?,
        Item::Symbol(symbol) => PyString::intern(py, &symbol.name).into_any(),
        Item::String(bytes) => text(py, bytes)?,
        Item::Array(items) => array(items, order, body)?,
        Item::Record(view) => record(view, body)?,
    })
}

/// A number with a fraction: a `float`, unless its digits are too many, then a `Decimal`.
fn float(py: Python<'_>, number: Float) -> PyResult<Bound<'_, PyAny>> {
    match number.value() {
        Real::Double(value) => Ok(value.into_pyobject(py)?.into_any()),
        Real::Wide(_) => py.import("decimal")?.call_method1("Decimal", (number.to_string(),)),
    }
}

/// Text. Bytes that are not UTF-8 become surrogates (`surrogateescape`).
pub(crate) fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "surrogateescape")),
    }
}

fn record<'py>(view: View<'_>, body: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>> {
    let py = body.py();
    face(py)?.view.bind(py).call1((view.structure().name(), fields(view, body)?))
}

fn array<'py>(array: Array<'_>, order: ByteOrder, body: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>> {
    let py = body.py();
    if let Some(bytes) = array.text() {
        return text(py, bytes);
    }
    if let Some(dtype) = dtype(array.element_type(), order)
        && !array.bytes().is_empty()
    {
        static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let offset = array.bytes().as_ptr().addr() - body.as_bytes().as_ptr().addr();
        let shape = pyo3::types::PyTuple::new(py, array.dims())?;
        return NDARRAY.import(py, "numpy", "ndarray")?.call1((shape, dtype, body, offset));
    }
    if let Some(dtype) = dtype(array.element_type(), order) {
        return py.import("numpy")?.call_method1("empty", (array.len(), dtype));
    }
    let items = array.iter().map(|item| object(item, order, body));
    Ok(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

/// NumPy's name for numbers of this kind, if it has one.
pub(crate) fn dtype(element: &Element, order: ByteOrder) -> Option<String> {
    use isoform::core::FloatKind::Ieee;
    let (kind, size) = match element {
        Element::Integer { signed: true, size: size @ ..=8 } => ('i', *size),
        Element::Integer { signed: false, size: size @ ..=8 } => ('u', *size),
        Element::Float { kind: Ieee, size: size @ ..=8 } => ('f', *size),
        Element::Complex { kind: Ieee, size: size @ 4..=8 } => ('c', 2 * *size),
        Element::Boolean { size: 1 } => ('b', 1),
        _ => return None,
    };
    let order = if order == ByteOrder::Big { '>' } else { '<' };
    Some(format!("{order}{kind}{size}"))
}
