//! What lies at the addresses in code: functions, and parts of the plan.

use crate::call::Helper;
use isoform_core::plan::{Bytes, Conversion, Step, Transform};

/// The name of what is at an address: a function, or a part of the plan.
pub(crate) fn name(steps: &[Step], address: u64) -> Option<&'static str> {
    let helper = || Helper::at(address).map(Helper::name);
    let step = || step(steps, address).map(|_| "a step");
    let conversion = || conversion(steps, address).map(|_| "a conversion");
    let constant = || constant(steps, address).map(|_| "constant bytes");
    helper().or_else(step).or_else(conversion).or_else(constant)
}

/// All steps, with those within others.
fn walk<'a>(steps: &'a [Step], visit: &mut dyn FnMut(&'a Step)) {
    for step in steps {
        visit(step);
        if let Some(Transform::Each { steps, .. }) = transform(step) {
            walk(steps, visit);
        }
    }
}

fn transform(step: &Step) -> Option<&Transform> {
    match step {
        Step::Elements { transform, .. } => Some(transform),
        Step::Array(array) => Some(&array.transform),
        _ => None,
    }
}

/// The first that is found in a step.
fn find<'a, T>(steps: &'a [Step], look: impl Fn(&'a Step) -> Option<T>) -> Option<T> {
    let mut found = None;
    walk(steps, &mut |step| found = found.take().or_else(|| look(step)));
    found
}

/// The step at an address.
pub(crate) fn step(steps: &[Step], address: u64) -> Option<&Step> {
    find(steps, |step| is_at(step, address).then_some(step))
}

/// The conversion at an address.
pub(crate) fn conversion(steps: &[Step], address: u64) -> Option<&Conversion> {
    find(steps, |step| match transform(step) {
        Some(Transform::Convert { conversion, .. }) if is_at(conversion, address) => Some(conversion),
        _ => None,
    })
}

/// The constant bytes at an address.
pub(crate) fn constant(steps: &[Step], address: u64) -> Option<&[u8]> {
    find(steps, |step| match step {
        Step::Fill { bytes: Bytes::Of(bytes), .. } if bytes.as_ptr().addr() as u64 == address => Some(&bytes[..]),
        _ => None,
    })
}

fn is_at<T>(this: &T, address: u64) -> bool {
    std::ptr::from_ref(this).addr() as u64 == address
}
