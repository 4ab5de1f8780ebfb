//! Formats, made from the tables that `isoform._records` derives from dtypes, classes and ctypes structures; and their
//! properties.

use crate::document::Loading;
use crate::error::raise;
use crate::face::face;
use crate::record_type::RecordType;
use crate::rows::{listed, texts};
use crate::value::{self, Gaps};
use isoform::core::declare::{Length, Shape, Type};
use isoform::core::{ByteOrder, Element, Field, Layout, Structure};
use isoform::text::Shown;
use isoform::{Format, Machine};
use isoform_dynamic::table::{Row, Tables, declared};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

/// The memory layout of a record, with its name on the wire. Equal formats have equal tokens, wherever they were made.
#[pyclass(name = "Format", module = "isoform", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PyFormat(pub(crate) Format);

/// A field of a structure.
#[pyclass(name = "Field", module = "isoform", frozen)]
pub(crate) struct PyField {
    structure: Arc<Structure>,
    index: usize,
}

/// The named fields of a record, or of one nested in it.
#[pyclass(name = "Structure", module = "isoform", frozen)]
pub(crate) struct PyStructure(pub(crate) Arc<Structure>);

/// A structure whose fields have places: name, size, alignment, and of each field its name, type, size, offset and unit.
type Placed = (String, usize, usize, Vec<(String, String, usize, usize, Option<String>)>);
/// A structure without places: name, and of each field its name, type and unit.
type Declared = (String, Vec<(String, String, Option<String>)>);

#[pymethods]
impl PyFormat {
    /// The format of a dtype, a dataclass or another annotated class, a ctypes structure, or an object with a format.
    #[staticmethod]
    #[pyo3(signature = (record, name=None))]
    fn of(record: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<PyFormat> {
        Ok(PyFormat(RecordType::of(record, name)?.format().clone()))
    }

    /// The format of this description.
    #[staticmethod]
    fn parse(description: &[u8]) -> PyResult<PyFormat> {
        Format::parse(description).map(PyFormat).map_err(raise)
    }

    /// The format of a shape, such as `record Sample\n step int`, laid out for this machine, or for the machine that
    /// `layout` names, such as `s390x`.
    #[staticmethod]
    #[pyo3(signature = (shape, layout=None))]
    fn of_shape(shape: &str, layout: Option<&str>) -> PyResult<PyFormat> {
        let layout = layout.map_or(Ok(Layout::NATIVE), str::parse);
        layout.and_then(|layout| Shape::parse(shape)?.on(&layout)).map(PyFormat).map_err(raise)
    }

    /// The format of a record that a document declares.
    #[staticmethod]
    #[pyo3(signature = (place, name, *, layout=None, language=None, overlay=None, hosts="", schemes="", cache=None, deadline=10.0,
                        limit=None, redirects=5))]
    #[expect(clippy::too_many_arguments, reason = "they are the keywords of a function in Python")]
    fn of_document(
        py: Python<'_>,
        place: &str,
        name: &str,
        layout: Option<&str>,
        language: Option<&str>,
        overlay: Option<PathBuf>,
        hosts: &str,
        schemes: &str,
        cache: Option<PathBuf>,
        deadline: f64,
        limit: Option<usize>,
        redirects: usize,
    ) -> PyResult<PyFormat> {
        let loading = Loading { layout, language, overlay, hosts, schemes, cache, deadline, limit, redirects };
        let load = || {
            let (mut fetcher, layout) = loading.fetcher()?;
            fetcher.declarations(place)?.bind(name, &layout)
        };
        py.detach(load).map(PyFormat).map_err(raise)
    }

    #[staticmethod]
    fn _placed(structures: Vec<Placed>, big: bool, pointer: u8) -> PyResult<PyFormat> {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        placed(&structures, Machine { order, pointer }).map(PyFormat).map_err(raise)
    }

    #[staticmethod]
    fn _declared(structures: Vec<Declared>) -> PyResult<PyFormat> {
        let table = structures.iter().map(|(name, fields)| {
            (&**name, fields.iter().map(|(name, words, unit)| (&**name, &**words, unit.as_deref())))
        });
        declared(table).map(PyFormat).map_err(raise)
    }

    /// The bodies of records, one behind the other. Errors have the path of the record at fault.
    fn _bodies<'py>(
        &self,
        records: &Bound<'py, PyAny>,
        paths: &Bound<'py, PyAny>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let records: Vec<Bound<'py, PyAny>> = listed(records, "records")?;
        let paths = texts(paths)?;
        let mut bodies = Vec::new();
        for (record, path) in records.iter().zip(&paths) {
            let body = value::body(&self.0, &Gaps::default(), record);
            bodies.extend(body.map_err(|error| if path.is_empty() { error } else { value::named(py, error, path) })?);
        }
        Ok(PyArray1::from_vec(py, bodies))
    }

    /// The name of the records.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The name of the format on the wire: 32 hexadecimal digits.
    #[getter]
    fn token(&self) -> String {
        self.0.token().to_string()
    }

    /// Bytes of the record itself, without the memory that its pointers point at.
    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    /// The alignment of its records in memory, in bytes.
    #[getter]
    fn alignment(&self) -> usize {
        self.0.structure().align()
    }

    /// ``little`` or ``big``.
    #[getter]
    fn byte_order(&self) -> &'static str {
        match self.0.machine().order {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        }
    }

    /// Bytes of a pointer: 4 or 8.
    #[getter]
    fn pointer(&self) -> u8 {
        self.0.machine().pointer
    }

    /// Its canonical description: bytes that are the same on every machine.
    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.description().as_bytes())
    }

    /// Whether records have strings, or arrays of variable length.
    #[getter]
    fn has_pointers(&self) -> bool {
        self.0.structure().has_slots()
    }

    /// Its fields with their names, as a structure.
    #[getter]
    fn structure(&self) -> PyStructure {
        PyStructure(self.0.structure().clone())
    }

    /// Its fields, by ascending offset.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.structure().fields(py)
    }

    /// A number for its fields, which other formats have, too, if theirs are the same on another machine.
    #[getter]
    fn _kind(&self) -> u64 {
        isoform_dynamic::kind::fields(self.0.structure())
    }

    /// The dtype of its records, in their byte order.
    #[getter]
    fn dtype<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py())?.dtype_of.bind(slf.py()).call1((slf.clone(),))
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }

    /// Its shape, as text for `of_shape`.
    fn __str__(&self) -> String {
        Shape::of(&self.0).to_string()
    }
}

#[pymethods]
impl PyStructure {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Bytes of one record.
    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    /// The alignment of its records in memory, in bytes.
    #[getter]
    fn alignment(&self) -> usize {
        self.0.align()
    }

    /// Its fields, by ascending offset.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, (0..self.0.fields().len()).map(|index| PyField { structure: self.0.clone(), index }))
    }

    fn __repr__(&self) -> String {
        format!("Structure({})", Shown(self.0.name()))
    }
}

impl PyField {
    fn field(&self) -> &Field {
        &self.structure.fields()[self.index]
    }
}

#[pymethods]
impl PyField {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.field().name
    }

    /// One of the words of `vectors/README.md`, or the name of a structure.
    #[getter]
    fn kind(&self) -> String {
        match &self.field().element {
            Element::Integer { signed: true, .. } => "integer".into(),
            Element::Integer { signed: false, .. } => "unsigned integer".into(),
            Element::Float { kind, .. } => kind.word().into(),
            Element::Complex { kind, .. } => format!("complex {}", kind.word()),
            Element::Char => "char".into(),
            Element::Boolean { .. } => "boolean".into(),
            Element::Enumeration(enumeration) if enumeration.signed() => "enumeration".into(),
            Element::Enumeration(_) => "unsigned enumeration".into(),
            Element::String => "string".into(),
            Element::Structure(structure) => structure.name().into(),
        }
    }

    /// The whole type, in the notation of shapes.
    #[getter]
    fn r#type(&self) -> String {
        Type::of(self.field(), &self.structure).to_string()
    }

    /// Bytes of one element.
    #[getter]
    fn size(&self) -> usize {
        self.field().element_size(self.structure.machine().pointer)
    }

    /// The position of its first byte in the record.
    #[getter]
    fn offset(&self) -> usize {
        self.field().offset
    }

    /// Each a number, or the name of the length field.
    #[getter]
    fn dimensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let dims = Type::of(self.field(), &self.structure).dims;
        let each = dims.iter().map(|length| match length {
            Length::Fixed(count) => count.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from),
            Length::Field(name) => name.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from),
        });
        PyTuple::new(py, each.collect::<PyResult<Vec<_>>>()?)
    }

    /// Whether the field is behind a pointer.
    #[getter]
    fn indirect(&self) -> bool {
        self.field().indirect
    }

    /// The unit of measurement, if it has one.
    #[getter]
    fn unit(&self) -> Option<&str> {
        self.field().unit.as_deref()
    }

    /// The symbols of an enumeration, and their numbers.
    #[getter]
    fn symbols<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Element::Enumeration(enumeration) = &self.field().element else { return Ok(None) };
        let symbols = PyDict::new(py);
        for symbol in enumeration.symbols() {
            symbols.set_item(&*symbol.name, symbol.value)?;
        }
        Ok(Some(symbols))
    }

    /// The structure of its elements, if they are records.
    #[getter]
    fn structure(&self) -> Option<PyStructure> {
        match &self.field().element {
            Element::Structure(structure) => Some(PyStructure(structure.clone())),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        format!("Field({}: {} at {})", Shown(self.name()), Shown(self.r#type()), self.offset())
    }
}

/// The format of the last of these structures, which may nest those before it.
fn placed(structures: &[Placed], machine: Machine) -> isoform::Result<Format> {
    let mut tables = Tables::new(machine);
    for (name, size, alignment, fields) in structures {
        let rows = fields.iter().map(|(name, words, size, offset, unit)| Row {
            name,
            words,
            size: *size,
            offset: *offset,
            unit: unit.as_deref(),
            extent: None,
            member: None,
        });
        tables.add(name, *size, *alignment, rows)?;
    }
    tables.format()
}
