//! Records that a document declares: their format, the document's defaults, and their texts in XML and JSON.

use crate::error::{raise, wrong_type};
use crate::format::PyFormat;
use crate::io::{Fault, Input, Part};
use crate::message::PyMessage;
use crate::value::{self, Gaps};
use isoform::core::{Element, Layout, Verifier};
use isoform::{Code, Error, Result, View};
use isoform_dynamic::rules::field;
use isoform_dynamic::wait::seconds;
use isoform_xmit::{Declarations, Fetcher, Hydration, Texts};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// How a document is found and read, and laid out.
pub(crate) struct Loading<'a> {
    pub(crate) layout: Option<&'a str>,
    pub(crate) language: Option<&'a str>,
    pub(crate) overlay: Option<PathBuf>,
    pub(crate) hosts: &'a str,
    pub(crate) schemes: &'a str,
    pub(crate) cache: Option<PathBuf>,
    pub(crate) deadline: f64,
    pub(crate) limit: Option<usize>,
    pub(crate) redirects: usize,
}

impl Loading<'_> {
    /// What loads the document, and the machine for which records are laid out.
    pub(crate) fn fetcher(self) -> Result<(Fetcher, Layout)> {
        let layout = self.layout.map_or(Ok(Layout::NATIVE), str::parse)?;
        let mut fetcher = Fetcher::new().deadline(seconds(self.deadline)?).redirects(self.redirects);
        if let Some(language) = self.language {
            fetcher = fetcher.language(language.parse()?);
        }
        if let Some(overlay) = self.overlay {
            fetcher = fetcher.overlay(overlay);
        }
        if let Some(cache) = self.cache {
            fetcher = fetcher.cache(cache);
        }
        if let Some(limit) = self.limit {
            fetcher = fetcher.limit(limit);
        }
        fetcher = words(self.hosts).into_iter().fold(fetcher, Fetcher::allow);
        if let schemes @ [_, ..] = &*words(self.schemes) {
            fetcher = fetcher.schemes(schemes);
        }
        Ok((fetcher, layout))
    }
}

/// The words of a list with commas.
fn words(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
}

/// A record that a document declares: a type of records with the defaults of the document, and its texts in XML and JSON.
#[pyclass(name = "Document", module = "isoform", frozen)]
pub(crate) struct PyDocument {
    hydration: Arc<Hydration>,
    verifier: Verifier,
    gaps: Gaps,
    defaults: Vec<(String, String, String)>,
    aliases: Vec<(String, String, String)>,
}

#[pymethods]
impl PyDocument {
    #[new]
    #[pyo3(signature = (place, name, *, layout=None, language=None, overlay=None, hosts="", schemes="", cache=None, deadline=10.0,
                        limit=None, redirects=5))]
    #[expect(clippy::too_many_arguments, reason = "they are the keywords of a function in Python")]
    fn new(
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
    ) -> PyResult<PyDocument> {
        let loading = Loading { layout, language, overlay, hosts, schemes, cache, deadline, limit, redirects };
        let load = || {
            let (mut fetcher, layout) = loading.fetcher()?;
            PyDocument::of(&fetcher.declarations(place)?, name, &layout)
        };
        py.detach(load).map_err(raise)
    }

    /// The format of the records.
    #[getter]
    fn format(&self) -> PyFormat {
        PyFormat(self.hydration.format().clone())
    }

    /// The defaults of the document: structure, field, and the value as the module `json` reads it: with `NaN` and `Infinity` without quotes.
    #[getter]
    fn _defaults(&self) -> Vec<(String, String, String)> {
        let format = self.hydration.format();
        let each = self.defaults.iter().cloned().map(|(structure, name, json)| {
            let is_float =
                field(format, &structure, &name).is_ok_and(|field| matches!(field.element, Element::Float { .. }));
            let json = if is_float { json.trim_matches('"').to_owned() } else { json };
            (structure, name, json)
        });
        each.collect()
    }

    /// The document's names of fields that an overlay renames: structure, field, and the name.
    #[getter]
    fn _aliases(&self) -> Vec<(String, String, String)> {
        self.aliases.clone()
    }

    /// The XML of a record, as the document describes it.
    fn to_xml(&self, record: &Bound<'_, PyAny>) -> PyResult<String> {
        self.with(record, |view| self.hydration.xml(view))
    }

    /// The JSON of a record, as the document describes it.
    fn to_json(&self, record: &Bound<'_, PyAny>) -> PyResult<String> {
        self.with(record, |view| self.hydration.json(view))
    }

    /// The record in a text in XML, as a message.
    fn of_xml(&self, py: Python<'_>, text: &str) -> PyResult<PyMessage> {
        let body = py.detach(|| self.hydration.body_of_xml(text)).map_err(raise)?;
        Ok(PyMessage::of_body(py, self.hydration.format(), &body))
    }

    /// The record in a text in JSON, as a message.
    fn of_json(&self, py: Python<'_>, text: &str) -> PyResult<PyMessage> {
        let body = py.detach(|| self.hydration.body_of_json(text)).map_err(raise)?;
        Ok(PyMessage::of_body(py, self.hydration.format(), &body))
    }

    /// The records of a text in XML that comes in pieces.
    #[pyo3(signature = (source, *, within=None))]
    fn records_of_xml(&self, source: &Bound<'_, PyAny>, within: Option<&str>) -> PyResult<PyTexts> {
        let input = Input::of(source, Part::default())?;
        let fault = input.fault();
        Ok(PyTexts { texts: Texts::xml(self.hydration.clone(), input, within), fault })
    }

    /// The records of a text in JSON with one on each line.
    fn records_of_json(&self, source: &Bound<'_, PyAny>) -> PyResult<PyTexts> {
        let input = Input::of(source, Part::default())?;
        let fault = input.fault();
        Ok(PyTexts { texts: Texts::json(self.hydration.clone(), input), fault })
    }

    fn __repr__(&self) -> String {
        format!("Document({:?})", self.hydration.format())
    }
}

/// The records of a text, as messages.
#[pyclass(name = "Texts", module = "isoform")]
pub(crate) struct PyTexts {
    texts: Texts<Input>,
    fault: Arc<Fault>,
}

#[pymethods]
impl PyTexts {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// The next record.
    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<PyMessage>> {
        let PyTexts { texts, fault } = self;
        let body = py.detach(|| texts.next().transpose()).map_err(|error| fault.raise(error))?;
        Ok(body.map(|body| PyMessage::of_body(py, texts.hydration().format(), &body)))
    }
}

impl PyDocument {
    /// A record of a document that was loaded.
    pub(crate) fn of(declarations: &Declarations, name: &str, layout: &Layout) -> Result<PyDocument> {
        let format = declarations.bind(name, layout)?;
        let rules = declarations.rules(name)?;
        let (defaults, aliases) = (declarations.defaults(name)?, declarations.aliases(name)?);
        let hydration = Arc::new(Hydration::new(&format, &declarations.markup(name)?)?.rules(rules.clone()));
        let gaps = Gaps { rules, ..Gaps::default() };
        Ok(PyDocument { hydration, verifier: Verifier::new(&format), gaps, defaults, aliases })
    }

    /// Calls a function with the view of a message, or of a record that becomes one.
    fn with(
        &self,
        record: &Bound<'_, PyAny>,
        write: impl FnOnce(View<'_>) -> Result<String> + Send,
    ) -> PyResult<String> {
        let py = record.py();
        let format = self.hydration.format();
        if let Ok(message) = record.cast::<PyMessage>() {
            let message = message.get();
            if message.format() != format {
                let error = Error::new(Code::WrongType).expected(format_args!("a message of {format:?}"));
                return Err(raise(
                    error.found(format_args!("{:?}: decode it as a record of the document", message.format())),
                ));
            }
            let body = message.body.as_bytes(py);
            return py.detach(|| write(View::new(self.verifier.verify(body)?))).map_err(raise);
        }
        if record.is_none() {
            return Err(raise(wrong_type("a message or a record", record)));
        }
        let body = value::body(format, &self.gaps, record)?;
        py.detach(|| write(View::new(self.verifier.verify(&body)?))).map_err(raise)
    }
}
