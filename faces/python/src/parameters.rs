//! Values of the parameters of sources, and what sinks ask for.

use crate::error::{raise, wrong_type};
use crate::face::face;
use crate::message::PyMessage;
use isoform_channel::{Demand, Parameters};
use pyo3::prelude::*;

/// Values of the parameters of a source that its sinks ask for: the program submits records for each demand once.
#[pyclass(name = "Demand", module = "isoform", frozen)]
pub(crate) struct PyDemand(pub(crate) Demand);

#[pymethods]
impl PyDemand {
    /// The values by name, in the source's types.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        view(py, &self.0.values)
    }

    /// The values as a message.
    #[getter]
    fn message(&self, py: Python<'_>) -> PyMessage {
        PyMessage::of_body(py, self.0.values.format(), self.0.values.body())
    }

    /// How many sinks have them.
    #[getter]
    fn sinks(&self) -> usize {
        self.0.sinks
    }

    fn __repr__(&self) -> String {
        format!("Demand({}, sinks={})", self.0.values, self.0.sinks)
    }
}

/// The values in a Python object: a record, a dict, or a message.
pub(crate) fn of(values: &Bound<'_, PyAny>) -> PyResult<Parameters> {
    let py = values.py();
    let message = face(py)?.values.bind(py).call1((values,))?;
    let message = message.cast::<PyMessage>().map_err(|_| raise(wrong_type("a message", values)))?;
    let (_, format, body) = message.get().incoming(py);
    Parameters::new(format, body).map_err(raise)
}

/// The values by name.
pub(crate) fn view<'py>(py: Python<'py>, values: &Parameters) -> PyResult<Bound<'py, PyAny>> {
    Bound::new(py, PyMessage::of_body(py, values.format(), values.body()))?.call_method0("view")
}
