//! Lets others watch a program, by one line for each place: see [`emit!`](crate::emit!).
//!
//! A library can emit without knowing who listens. Nothing listens until the program says where its records go: it sets an [`Outlet`], as
//! `isoform_channel::emitting` does. Until then, and while nobody listens, an `emit!` costs two or three nanoseconds: it is numbered, and its values
//! are not evaluated.
//!
//! `value` has the values that can be emitted, `numbers` the numbers of records that nobody hears.

mod numbers;
mod sync;
mod value;

pub use crate::native::chain::{Chain, Label, Parts};
pub use numbers::Numbers;
pub use value::Value;

use crate::message::Shared;
use crate::native::chain::Encoders;
use isoform_core::{Code, Error, Result};
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Emits a record of values that are there: whoever listens to the channel of this name receives it.
///
/// ```
/// # let (step, grid, level) = (7_i32, vec![0.5_f64, 0.25], 1.5_f32);
/// isoform::emit!("river/step", step, level in "m", depth in "m" = &grid, area = 2.0 * level);
/// ```
///
/// A field has a name, perhaps a unit, and a value; without `=`, its value is the variable of that name. Values can be whatever an
/// owned [`Record`](macro@crate::Record) can have, and references to it: numbers, text, arrays, `Vec`s, structs; besides slices and
/// [`Strided`](crate::Strided) arrays.
///
/// The format of the record is made once for each place in the code. If nobody listens, the values are not evaluated, and the record is only
/// numbered: who comes later learns how many there were. The name is that of a
/// channel; several places may have the same one. A record that cannot be encoded, such as text with a NUL, is not emitted, and
/// counted: see [`failed`].
///
/// Nothing listens until the program says where its records go: see [its module](mod@crate::emit).
#[macro_export]
macro_rules! emit {
    ($name:literal, $($field:ident $(in $unit:literal)? $(= $value:expr)?),+ $(,)?) => {{
        static PLACE: $crate::emit::Place = $crate::emit::Place::new($name, &[$(
            $crate::emit::Label { name: ::core::stringify!($field), unit: $crate::__emit_unit!($($unit)?) }
        ),+]);
        if PLACE.begin() {
            #[allow(unused_imports, reason = "each value has it in another way")]
            use $crate::emit::Value as _;
            match ($($crate::__emit_value!($field $(= $value)?),)+) {
                ($($field,)+) => {
                    let scratch = $crate::Scratch::default();
                    PLACE.emit((|| -> $crate::Result<_> {
                        let values = ();
                        $(let values = $crate::emit::Chain::new(values, $field.emitted(&scratch)?);)+
                        $crate::Result::Ok(values)
                    })());
                }
            }
        }
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __emit_unit {
    () => {
        ::core::option::Option::None
    };
    ($unit:literal) => {
        ::core::option::Option::Some($unit)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __emit_value {
    ($field:ident) => {
        &$field
    };
    ($field:ident = $value:expr) => {
        &$value
    };
}

/// Where emitted records go. There is one for a process.
pub trait Outlet: Send + Sync {
    /// A program may emit records of this name from now on. `numbers` numbers them while nobody listens: it shall know when somebody does.
    fn open(&self, name: &'static str, numbers: &Arc<Numbers>);

    /// Takes a record that was emitted while somebody listened.
    ///
    /// # Errors
    /// Those of the outlet. They are counted.
    fn take(&self, name: &'static str, record: Shared) -> Result<()>;
}

/// The name of a channel to which a process emits records.
#[derive(Debug)]
pub struct Topic {
    name: &'static str,
    record_name: Box<str>,
    numbers: Arc<Numbers>,
}

/// Sets where records go from now on: in this process, and not in processes that are forked later, unless these set an outlet of their own.
/// With `None`, nothing listens any more. The numbers of records go on if no outlet was there before, so that a listener learns how many were
/// emitted until then; otherwise they begin anew.
///
/// ```
/// use isoform::emit::{self, Numbers, Outlet};
/// use isoform::{Result, Shared};
/// use std::sync::{Arc, mpsc};
///
/// /// Listens to everything.
/// struct Sender(mpsc::Sender<(String, Shared)>);
/// impl Outlet for Sender {
///     fn open(&self, _: &'static str, numbers: &Arc<Numbers>) {
///         numbers.hear();
///     }
///     fn take(&self, name: &'static str, record: Shared) -> Result<()> {
///         self.0.send((name.into(), record)).map_err(|_| isoform::Error::new(isoform::Code::Closed))
///     }
/// }
///
/// let (sender, records) = mpsc::channel();
/// emit::set_outlet(Some(Arc::new(Sender(sender))));
/// let step = 7;
/// isoform::emit!("river/step", step, depth in "m" = [0.5, 1.5]);
/// let (name, record) = records.recv().unwrap();
/// let message = record.incoming().expect("one piece");
/// assert_eq!((name.as_str(), message.view()?.i64("step")?), ("river/step", 7));
/// assert_eq!(record.format().name(), "river/step");
/// # Ok::<(), isoform::Error>(())
/// ```
pub fn set_outlet(outlet: Option<Arc<dyn Outlet>>) {
    let topics = topics().lock().unwrap_or_else(PoisonError::into_inner);
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    if lock_outlet().is_some() {
        // Its numbers were those of its own sources.
        topics.iter().for_each(|topic| topic.numbers.rest(0));
    }
    // It is there before anybody can listen.
    let before = std::mem::replace(&mut *lock_outlet(), outlet.clone());
    if let Some(outlet) = &outlet {
        topics.iter().for_each(|topic| outlet.open(topic.name, &topic.numbers));
    }
    drop(topics);
    // It may wait for its listeners.
    drop(before);
}

/// The records that were emitted while somebody listened, and did not reach the outlet; and those whose names no channel can have.
pub fn failed() -> usize {
    FAILED.load(Ordering::Relaxed)
}

static OUTLET: Mutex<Option<Arc<dyn Outlet>>> = Mutex::new(None);

fn lock_outlet() -> MutexGuard<'static, Option<Arc<dyn Outlet>>> {
    OUTLET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The process that has set the outlet.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static FAILED: AtomicUsize = AtomicUsize::new(0);

/// All topics. They stay, since a place in the code stays.
fn topics() -> &'static Mutex<Vec<&'static Topic>> {
    static TOPICS: Mutex<Vec<&'static Topic>> = Mutex::new(Vec::new());
    &TOPICS
}

impl Topic {
    /// The topic of this name, which stays as long as the process.
    ///
    /// ```
    /// use isoform::emit::Topic;
    /// let topic = Topic::named("river/step");
    /// assert!(!topic.is_heard() && std::ptr::eq(topic, Topic::named("river/step")));
    /// ```
    pub fn named(name: &str) -> &'static Topic {
        let mut topics = topics().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(topic) = topics.iter().find(|topic| topic.name == name) {
            return topic;
        }
        let name: &'static str = Box::leak(name.into());
        let record_name = record_name(name);
        let topic: &'static Topic = Box::leak(Box::new(Topic { name, record_name, numbers: Arc::default() }));
        topics.push(topic);
        let outlet = lock_outlet().clone();
        if let Some(outlet) = outlet.filter(|_| is_here()) {
            outlet.open(name, &topic.numbers);
        }
        topic
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The name of its records: its name, with `/` and `_` in the place of what the name of a record cannot have.
    ///
    /// ```
    /// assert_eq!(isoform::emit::Topic::named("river.step").record_name(), "river/step");
    /// ```
    pub fn record_name(&self) -> &str {
        &self.record_name
    }

    /// Whether somebody listens. The answer may be some nanoseconds old.
    #[inline]
    pub fn is_heard(&self) -> bool {
        self.numbers.is_heard()
    }

    /// A record begins. Returns whether somebody listens, and it is to be made and emitted; otherwise, it is only numbered.
    #[inline]
    pub fn begin(&self) -> bool {
        self.numbers.take(1).is_none()
    }

    /// What [`begin`](Topic::begin) uses. Code in other languages uses it without a call.
    #[inline]
    pub fn numbers(&'static self) -> &'static Numbers {
        &self.numbers
    }

    /// Emits what `record` makes. If nobody listens, the record is not made, but numbered.
    ///
    /// # Errors
    /// Those of `record` and of the [`Outlet`]. They are counted, so that nobody need look at them: see [`failed`].
    pub fn emit(&self, record: impl FnOnce() -> Result<Shared>) -> Result<()> {
        if !self.begin() {
            return Ok(());
        }
        if !is_here() {
            // Of a forked process, in which the threads of the outlet are missing.
            self.numbers.rest(0);
            return Ok(());
        }
        let emitted = record().and_then(|record| {
            // It may have been removed since the record began.
            let outlet = lock_outlet().clone().ok_or_else(|| Error::new(Code::Closed).at(self.name))?;
            outlet.take(self.name, record)
        });
        emitted.inspect_err(|_| {
            FAILED.fetch_add(1, Ordering::Relaxed);
        })
    }
}

/// `spec/format.md`, "Names".
fn record_name(name: &str) -> Box<str> {
    let plain = |character: char| match character {
        '.' => '/',
        '[' | ']' | '{' | '}' | '*' | ',' | '=' => '_',
        odd if odd.is_control() || odd.is_whitespace() => '_',
        other => other,
    };
    name.chars().map(plain).collect::<String>().into()
}

/// Whether this process, and not one from which it was forked, has set the outlet.
fn is_here() -> bool {
    PROCESS.load(Ordering::Relaxed) == std::process::id()
}

/// A place in the code where records are emitted: see [`emit!`](crate::emit!).
pub struct Place {
    name: &'static str,
    labels: &'static [Label],
    topic: OnceLock<&'static Topic>,
    encoders: Mutex<Encoders>,
}

impl Place {
    /// A place. The labels are those of the values that it emits.
    pub const fn new(name: &'static str, labels: &'static [Label]) -> Place {
        Place { name, labels, topic: OnceLock::new(), encoders: Mutex::new(Encoders::new()) }
    }

    /// Whether somebody listens.
    #[inline]
    pub fn is_heard(&self) -> bool {
        self.topic().is_heard()
    }

    /// As [`Topic::begin`].
    #[inline]
    pub fn begin(&self) -> bool {
        self.topic().begin()
    }

    #[inline]
    fn topic(&self) -> &'static Topic {
        self.topic.get_or_init(|| Topic::named(self.name))
    }

    /// Emits a record of these values, of which there is one for each label.
    pub fn emit<'a, C: Parts<'a>>(&self, values: Result<C>) {
        if let Some(topic) = self.topic.get() {
            // What fails is counted, and the program goes on.
            _ = topic.emit(|| {
                let mut encoders = self.encoders.lock().unwrap_or_else(PoisonError::into_inner);
                encoders.encode(topic.record_name(), self.labels, &values?)
            });
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({:?})", self.name)
    }
}
