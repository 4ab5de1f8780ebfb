//! The functions that the page calls. Numbers are arguments; bytes and texts go through two places in the module's memory:
//!
//! - the page asks for the place of its input with `input`, writes there, and calls a function;
//! - a function that makes bytes leaves them in the output, which `output` and `output_length` tell. They hold until the next
//!   call.
//!
//! No function takes an address, so nothing that a page calls can reach memory of something else. `unsafe` are only the attributes
//! that give each function the name under which the page finds it: the names are different, and none is that of a function of
//! the standard library.

use crate::watch::Watch;
use std::cell::RefCell;

/// The most bytes that a page may hand over at once.
const MOST: usize = 1 << 30;

#[derive(Default)]
struct Shared {
    watch: Watch,
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static SHARED: RefCell<Shared> = RefCell::default();
}

fn with<T>(work: impl FnOnce(&mut Shared) -> T) -> T {
    SHARED.with_borrow_mut(work)
}

fn say(make: impl FnOnce(&Watch) -> String) {
    with(|shared| shared.output = make(&shared.watch).into_bytes());
}

fn give(make: impl FnOnce(&Watch) -> Vec<f64>) {
    with(|shared| {
        let numbers = make(&shared.watch);
        shared.output.clear();
        shared.output.extend(numbers.into_iter().flat_map(f64::to_le_bytes));
    });
}

macro_rules! call {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block) => {
        $(#[$doc])*
        #[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
        pub extern "C" fn $name($($argument: $type),*) $(-> $result)? $body
    };
}

call! {
    /// A place for this many bytes of input; null if that is too much.
    input(length: usize) -> *mut u8 {
        if length > MOST {
            return std::ptr::null_mut();
        }
        with(|shared| {
            shared.input.clear();
            shared.input.resize(length, 0);
            shared.input.as_mut_ptr()
        })
    }
}
call! {
    /// Where the output is.
    output() -> *const u8 { with(|shared| shared.output.as_ptr()) }
}
call! {
    /// How long the output is.
    output_length() -> usize { with(|shared| shared.output.len()) }
}
call! {
    /// The input is the list of the fields that the page shows of a subscription: whether it is one.
    want(subscription: u32) -> bool { with(|shared| shared.watch.want(subscription, &shared.input).is_some()) }
}
call! {
    /// The page has ended a subscription.
    forget(subscription: u32) { with(|shared| shared.watch.forget(subscription)); }
}
call! {
    /// The input is a binary message of the server: the number of its subscription, or the greatest number if it is none.
    push() -> u32 { with(|shared| shared.watch.push(&shared.input).unwrap_or(u32::MAX)) }
}
call! {
    /// The sources of a subscription with the kinds of their records, as JSON.
    sources(subscription: u32) { say(|watch| watch.sources(subscription)); }
}
call! {
    /// When the newest record of a subscription was submitted, in seconds since 1970; 0 if none has come.
    last(subscription: u32) -> f64 { with(|shared| shared.watch.last(subscription)) }
}
call! {
    /// The fields that the page shows of a kind of records, as JSON.
    about(subscription: u32, source: u32, kind: u32) { say(|watch| watch.about(subscription, source, kind)); }
}
call! {
    /// The format of a kind of records, as JSON.
    format(subscription: u32, source: u32, kind: u32) { say(|watch| watch.format(subscription, source, kind)); }
}
call! {
    /// The values of the newest record of a kind, as JSON.
    values(subscription: u32, source: u32, kind: u32) { say(|watch| watch.values(subscription, source, kind)); }
}
call! {
    /// The gaps of a source, as JSON.
    gaps(subscription: u32, source: u32) { say(|watch| watch.gaps(subscription, source)); }
}
call! {
    /// What can be drawn of a field, as numbers: a time, the least and the greatest, and so on.
    draw(subscription: u32, source: u32, kind: u32, column: usize, from: f64, to: f64, pixels: usize) {
        give(|watch| watch.draw([subscription, source, kind], column, [from, to], pixels));
    }
}
call! {
    /// The newest array of a field, as numbers.
    newest(subscription: u32, source: u32, kind: u32, column: usize) {
        give(|watch| watch.newest([subscription, source, kind], column));
    }
}
call! {
    /// An array over time, as numbers.
    heat(subscription: u32, source: u32, kind: u32, column: usize) {
        give(|watch| watch.heat([subscription, source, kind], column));
    }
}
