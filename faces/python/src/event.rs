//! Turns events and accounts into the classes of `isoform.event`.

use crate::error::exception;
use crate::face::face;
use crate::format::PyFormat;
use crate::message::PyMessage;
use crate::parameters;
use isoform::Token;
use isoform_channel::{Cause, Counts, Event, Gap, Info, Policy, SinkLedger, SinkReport, SourceReport, Stamp};
use isoform_dynamic::words;
use pyo3::prelude::*;

/// The reports of the members of a channel.
pub(crate) type Members = Vec<Py<PyAny>>;

/// A record with its stamp.
pub(crate) fn record<'py>(py: Python<'py>, stamp: Stamp, record: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    face(py)?.record.bind(py).call1((record, stamp.source.0, stamp.sequence, stamp.nanoseconds))
}

/// An event that is not a record, or `None` for a record.
pub(crate) fn about<'py, R>(py: Python<'py>, event: &Event<R>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let face = face(py)?;
    Ok(Some(match event {
        Event::Record { .. } => return Ok(None),
        Event::Head { stamp, head } => {
            let message = head.message().ok().map(|it| PyMessage::of_body(py, it.format(), it.body()));
            let message = message.map(|message| Bound::new(py, message)).transpose()?;
            let (format, length) = (PyFormat(head.format().clone()), head.length());
            face.head.bind(py).call1((message, stamp.source.0, stamp.sequence, stamp.nanoseconds, format, length))?
        }
        Event::Gap(source, Gap { first, count, cause }) => {
            face.gap.bind(py).call1((source.0, *first, *count, words::cause(*cause)))?
        }
        Event::Joined { source, node, format, earlier } => {
            face.joined.bind(py).call1((source.0, node.to_string(), format.clone().map(PyFormat), *earlier))?
        }
        Event::Left(source, others) => face.left.bind(py).call1((source.0, *others))?,
        Event::Refused(source, error) => face.refused.bind(py).call1((source.0, exception(py, error)?))?,
        Event::Granted(source, granted) => {
            let policy = policy_of(granted.policy, granted.must);
            face.granted.bind(py).call1((source.0, policy, words::reason(granted.reason)))?
        }
        Event::Given(source, given) => {
            let values = parameters::view(py, &given.values)?;
            let refused = given.refused.as_ref().map(|error| exception(py, error)).transpose()?;
            face.given.bind(py).call1((source.0, given.first, given.change, values, refused))?
        }
    }))
}

/// Many records, and their stamps, eight bytes a number: source, sequence, time.
pub(crate) fn records<'py>(
    py: Python<'py>,
    stamps: &[Stamp],
    records: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let numbers = stamps.iter().flat_map(|stamp| [u64::from(stamp.source.0), stamp.sequence, stamp.nanoseconds]);
    let numbers = numpy::PyArray1::from_vec(py, numbers.collect::<Vec<_>>());
    face(py)?.many.bind(py).call1((records, numbers))
}

/// A policy in words.
fn policy_of(policy: Policy, must: bool) -> String {
    match policy {
        Policy::Block if must => "lossless".into(),
        policy => policy.to_string(),
    }
}

/// The account of a source with each of its sinks.
pub(crate) fn ledgers(py: Python<'_>, ledgers: &[SinkLedger]) -> PyResult<Vec<Py<PyAny>>> {
    let face = face(py)?;
    let ledger = |sink: &SinkLedger| {
        let account = &sink.ledger;
        let lost: Vec<(&str, u64)> =
            Cause::losses().map(|cause| (words::cause(cause), account.lost_for(cause))).collect();
        let counts = (account.submitted, account.acknowledged, account.in_flight, lost);
        let who = (sink.node.to_string(), sink.sink, policy_of(sink.policy, sink.must), sink.present);
        let waits = (account.skipped, account.superseded, sink.waited.as_secs_f64(), sink.changes, sink.earlier);
        face.ledger.call1(py, (who, counts, waits))
    };
    ledgers.iter().map(ledger).collect()
}

/// The members of a channel.
pub(crate) fn members(py: Python<'_>, info: &Info) -> PyResult<Members> {
    let mut members = Members::new();
    for member in &info.members {
        let name = |format: &Option<(String, Token)>| format.as_ref().map(|(name, _)| name.clone());
        let source = |it: &SourceReport| Ok((it.source, it.submitted, name(&it.format), ledgers(py, &it.sinks)?));
        let sources = member.sources().iter().map(source).collect::<PyResult<Vec<_>>>()?;
        let sink = |it: &SinkReport| {
            let Counts { received, taken, lost, superseded, refused, unfit, .. } = it.counts;
            (
                it.sink,
                name(&it.format),
                policy_of(it.policy, it.must),
                received,
                taken,
                lost,
                superseded,
                refused,
                unfit,
            )
        };
        let sinks: Vec<_> = member.sinks().iter().map(sink).collect();
        let who = (member.node.to_string(), member.addresses.clone(), member.report.is_some());
        members.push(face(py)?.member.call1(py, (who, sources, sinks))?);
    }
    Ok(members)
}
