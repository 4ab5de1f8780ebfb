//! The parameters of sources: values that sinks choose. Section "Parameters" of the header.

use crate::error::{Status, call};
use crate::format::{Format, Latest};
use crate::message::Message;
use crate::pointer::{Out, given, list_mut, put, record, text};
use crate::sink::Sink;
use crate::source::Source;
use isoform::{Result, memory};
use isoform_channel::{Demand as Wanted, Parameters};
use isoform_dynamic::wait::milliseconds as patience;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

/// `iso_demand`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Demand {
    number: u32,
    sinks: u64,
    values: Message,
}

/// The demands of which the program was told last.
#[derive(Default)]
pub(crate) struct Told {
    demands: Vec<Wanted>,
    format: Latest,
}

impl Told {
    /// The demand of this number; `None` if there is none.
    fn at(&self, number: u32) -> Option<&Wanted> {
        self.demands.get(number as usize)
    }
}

/// The values in a record of a format.
///
/// # Safety
/// (1) of the crate: a record of the format.
pub(crate) unsafe fn values(format: Option<&Format>, values: *const c_void) -> Result<Parameters> {
    let format = &given(format, "format")?.format;
    let mut encoder = memory::Encoder::new(format)?;
    // SAFETY: promised.
    let message = unsafe { encoder.encode(record(values, "values")?)? };
    let body: Vec<u8> = message.body().flatten().copied().collect();
    Parameters::new(format, &body)
}

/// `iso_sink_set_parameters`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_sink_set_parameters(
    sink: Option<&mut Sink>,
    format: Option<&Format>,
    record: *const c_void,
) -> Status {
    call(|| {
        let sink = given(sink, "sink")?;
        // SAFETY: (1) of the crate.
        sink.set_parameters(unsafe { values(format, record)? });
        Ok(())
    })
}

/// `iso_source_demands`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_source_demands(
    source: Option<&mut Source>,
    demands: *mut MaybeUninit<Demand>,
    room: usize,
    count: Out<'_, usize>,
) -> Status {
    call(|| {
        let Source { source, told } = given(source, "source")?;
        told.demands = source.demands();
        put(count, "count", told.demands.len())?;
        // SAFETY: (1) of the crate: there is room for so many.
        let places = unsafe { list_mut(demands, room, "demands")? };
        for (number, (place, demand)) in places.iter_mut().zip(&told.demands).enumerate() {
            // All have the format of the source's parameters.
            let values = Message::of(&demand.values.message(), &mut told.format);
            place.write(Demand { number: number as u32, sinks: demand.sinks as u64, values });
        }
        Ok(())
    })
}

/// `iso_source_new_demands`
#[unsafe(no_mangle)]
pub extern "C" fn iso_source_new_demands(
    source: Option<&Source>,
    milliseconds: c_int,
    is_new: Out<'_, c_int>,
) -> Status {
    call(|| {
        let new = given(source, "source")?.source.new_demands(patience(milliseconds))?;
        put(is_new, "is_new", new.is_some().into())
    })
}

/// `iso_source_submit_for`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_source_submit_for(
    source: Option<&mut Source>,
    demand: u32,
    data: *const c_void,
) -> Status {
    call(|| {
        let Source { source, told } = given(source, "source")?;
        let data = record(data, "record")?;
        match told.at(demand) {
            // SAFETY: (1) of the crate: a record of the source's format.
            Some(demand) => unsafe { source.submit_raw_for(demand, data) }.map(drop),
            None => Ok(()),
        }
    })
}

/// `iso_source_grant`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_source_grant(
    source: Option<&mut Source>,
    demand: u32,
    format: Option<&Format>,
    record: *const c_void,
) -> Status {
    call(|| {
        let Source { source, told } = given(source, "source")?;
        // SAFETY: (1) of the crate.
        let values = unsafe { values(format, record)? };
        told.at(demand).map_or(Ok(()), |demand| source.grant(demand, &values))
    })
}

/// `iso_source_refuse`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_source_refuse(
    source: Option<&mut Source>,
    demand: u32,
    expected: *const c_char,
) -> Status {
    call(|| {
        let Source { source, told } = given(source, "source")?;
        // SAFETY: (1) of the crate.
        let expected = unsafe { text(expected, "expected")? };
        told.at(demand).into_iter().for_each(|demand| source.refuse(demand, expected));
        Ok(())
    })
}
