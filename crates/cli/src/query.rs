//! `--query`: what a query makes of the records of a stream, whatever their formats are; and what it would make, and at what
//! cost.

use crate::channel;
use crate::failure::{Failure, notice};
use crate::format;
use crate::output::{Output, Side, Tone, cell, plural, toned};
use crate::source::Source;
use isoform::core::{Code, Layout, Verifier};
use isoform::{Error, Format, Token, View};
use isoform_query::{Account, Answer, Checked, Engine, Event, MAX_STATE, Query, Run, layout_like};
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

/// A query, and how far it is with the records of each format.
pub(crate) struct Asked {
    query: Query,
    /// `None` for those that it does not fit.
    formats: HashMap<Token, Option<Ready>>,
    /// The records of formats that it does not fit.
    unfit: u64,
    /// The source has an end, up to which formats are looked for that the query fits.
    has_end: bool,
    /// Why it did not fit the first format, and the name of that.
    first: Option<(Error, String)>,
}

/// A query at work on records of one format.
struct Ready {
    run: Run,
    result: Format,
    verifier: Verifier,
    /// Records of the format so far.
    records: u64,
}

impl Asked {
    pub(crate) fn new(text: &str) -> Result<Asked, Failure> {
        let query = Query::parse(text).map_err(|error| Failure::usage(error.to_string()).about("--query"))?;
        Ok(Asked { query, formats: HashMap::new(), unfit: 0, has_end: false, first: None })
    }

    /// For a source with an end, such as a file: a query that does not fit the first format may fit another one further on. Only at the end, it
    /// is an error if it has fitted none.
    pub(crate) fn until_the_end(self) -> Asked {
        Asked { has_end: true, ..self }
    }

    /// Whether the query fits some format that it has met. Once it does, records of formats that it does not fit are left out.
    pub(crate) fn fits(&self) -> bool {
        self.formats.values().any(Option::is_some)
    }

    /// Gives `show` what is wanted of a record, with its format; `None` if nothing is. `time` is that of its submission, if it is
    /// known.
    pub(crate) fn of<T>(
        &mut self,
        format: &Format,
        view: View<'_>,
        time: Option<u64>,
        show: impl FnOnce(&Format, View<'_>) -> T,
    ) -> isoform::Result<Option<T>> {
        if !self.formats.contains_key(&format.token()) {
            let checked = match self.query.check(format, &Layout::NATIVE) {
                Err(_) if self.fits() => None,
                Err(error) if self.has_end => {
                    self.first.get_or_insert_with(|| (error, format.name().into()));
                    None
                }
                checked => Some(checked?),
            };
            if checked.as_ref().is_some_and(Checked::uses_time) && time.is_none() {
                let error =
                    Error::new(Code::WrongType).at("query").expected("a query that does not need the times of records");
                return Err(error.found("records of a stream, which have no times; recordings have them"));
            }
            let ready = checked.map(|checked| {
                let result = checked.format().clone();
                Ready { run: checked.run(), verifier: Verifier::new(&result), result, records: 0 }
            });
            self.formats.insert(format.token(), ready);
        }
        let Some(Some(ready)) = self.formats.get_mut(&format.token()) else {
            self.unfit += 1;
            return Ok(None);
        };
        ready.records += 1;
        match ready.run.record(view, Event::at(ready.records - 1, time.unwrap_or(0)))? {
            Answer::Filtered => Ok(None),
            Answer::Passed => Ok(Some(show(format, view))),
            Answer::Result(body) => Ok(Some(show(&ready.result, View::new(ready.verifier.verify(&body)?)))),
        }
    }

    /// At the end: why the query did not fit the first format, and the name of that, if it has fitted none.
    pub(crate) fn unfit(&mut self) -> Option<(Error, String)> {
        self.first.take().filter(|_| !self.fits())
    }

    /// Gives `show` what windows hold at the end.
    ///
    /// # Errors
    /// Why the query did not fit the first format, if it has fitted none.
    pub(crate) fn finish<E>(
        &mut self,
        mut show: impl FnMut(&Format, View<'_>) -> Result<(), E>,
    ) -> isoform::Result<Result<(), E>> {
        if let Some((error, _)) = self.unfit() {
            return Err(error);
        }
        for ready in self.formats.values_mut().flatten() {
            for body in ready.run.finish()? {
                if let Err(error) = show(&ready.result, View::new(ready.verifier.verify(&body)?)) {
                    return Ok(Err(error));
                }
            }
        }
        Ok(Ok(()))
    }

    /// Tells of faults in calculations, and of keys that were forgotten.
    pub(crate) fn end(&self) {
        let sum = |count: fn(&Account) -> u64| {
            self.formats.values().flatten().map(|ready| count(&ready.run.account())).sum::<u64>()
        };
        let words = |count: u64, thing| plural(usize::try_from(count).unwrap_or(usize::MAX), thing);
        let (faults, forgotten) = (sum(|account| account.faults), sum(|account| account.forgotten));
        if faults > 0 {
            notice(&format!(
                "{} in the query's calculations: overflows, divisions of integers by zero, elements that are not \
                 there, or windows with too little memory",
                words(faults, "fault")
            ));
        }
        if self.unfit > 0 {
            notice(&format!("left out {} of formats that the query does not fit", words(self.unfit, "record")));
        }
        if forgotten > 0 {
            notice(&format!(
                "{} forgotten, with what the query remembered of it: there are more than {} KiB hold",
                words(forgotten, "key"),
                MAX_STATE / 1024
            ));
        }
    }
}

/// `isoform explain SOURCE --query TEXT`.
pub(crate) fn explain(source: &str, text: &str, as_json: bool, output: &mut Output) -> Result<(), Failure> {
    let query = Query::parse(text).map_err(|error| Failure::usage(error.to_string()).about("--query"))?;
    let format = format::only(source, output)?;
    let checked = query.check(&format, layout_like(&format)).map_err(|error| Failure::from(error).about("--query"))?;
    let normal = query.to_string();
    let sinks = match Source::parse(source, Path::exists)? {
        Source::Channel(id) => Some(channel::sharing(&id, &query)?),
        _ => None,
    };
    let mut run = checked.run();
    run.generate();
    let engine = run.engine();
    let (cost, result) = (checked.cost(), checked.format());
    let selects = *result != format;
    if as_json {
        let object = json!({
            "query": normal,
            "fields": checked.paths().collect::<Vec<_>>(),
            "cost": { "record": cost.record, "element": cost.element,
                "sliced": cost.sliced, "sliced_most": cost.sliced_most, "text": cost.text },
            "remembers": if checked.remembers() { MAX_STATE } else { 0 },
            "uses_time": checked.uses_time(),
            "engine": engine.name(),
            "sinks": sinks,
            "result": format::to_json(result),
        });
        writeln!(output, "{object}")?;
        return Ok(());
    }
    let mut steps = format!("at most {} for a record", cost.record);
    if cost.element > 0 {
        steps += &format!(", and {} for each element of its longest array", cost.element);
    }
    if cost.sliced > 0 {
        steps += &format!(", and {} for each element of its slices, but at most {}", cost.sliced, cost.sliced_most);
    }
    if cost.text > 0 {
        steps += &format!(", and {} for each 8 bytes of its texts and of arrays that it takes", cost.text);
    }
    let engine = match engine {
        Engine::Generated => "generated code, once some records have come",
        Engine::Both => "generated code for a part, once some records have come; the interpreter for the rest",
        Engine::Interpreter => "the interpreter",
    };
    let mut rows = vec![
        ("query", normal),
        ("looks at", checked.paths().collect::<Vec<_>>().join(", ")),
        ("steps", steps),
        ("engine", engine.into()),
    ];
    rows.push((
        "remembers",
        match checked.remembers() {
            true => format!("at most {} KiB", MAX_STATE / 1024),
            false => "nothing".into(),
        },
    ));
    if checked.uses_time() {
        rows.push(("goes by", "the times of events, which channels and recordings have".into()));
    }
    if let Some(sinks) = sinks {
        let ask = if sinks == 1 { "asks" } else { "ask" };
        rows.push(("shared", format!("with {} that {ask} the same now", plural(sinks, "sink"))));
    }
    rows.push(("makes", if selects { "a record of its own:" } else { "the records as they are" }.into()));
    let rows = rows.into_iter().map(|(title, text)| vec![toned(Tone::Faint, title), cell(text)]);
    output.columns(&[Side::Left; 2], &rows.collect::<Vec<_>>())?;
    if selects {
        writeln!(output)?;
        format::show(result, output)?;
    }
    Ok(())
}
