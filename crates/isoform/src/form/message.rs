//! Messages, in the format of their sender.

use super::{Accepts, Body, Form, Outgoing};
use crate::message::Incoming;
use isoform_core::plan::Kind;
use isoform_core::{Faults, Format, Missing, Result, Rules};

/// The form of programs that know no format, or that convert messages themselves: each message as it has come.
///
/// ```
/// use isoform::form::Form;
/// use isoform::{Messages, Record, Rules};
/// #[derive(Record)]
/// #[repr(C)]
/// struct Depth {
///     depth: f64,
/// }
/// let all = Messages::any();
/// assert!(Messages::accepts(&all).format.is_none());
/// let convertible = Messages::of(Depth::format(), Rules::new());
/// assert_eq!(Messages::accepts(&convertible).format.as_ref(), Some(Depth::format()));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Messages {
    accepts: Accepts,
}

impl Messages {
    /// Messages of any format.
    pub fn any() -> Messages {
        Messages::default()
    }

    /// Messages that can become records of a format.
    pub fn of(format: &Format, rules: Rules) -> Messages {
        Messages { accepts: Accepts { format: Some(format.clone()), rules, ..Accepts::default() } }
    }

    /// Messages that can become one of several kinds of records; with `others`, also those that cannot. Programs convert them
    /// with [`plan::Kinds`](isoform_core::plan::Kinds).
    pub fn of_kinds(kinds: Vec<Kind>, others: bool) -> Messages {
        Messages { accepts: Accepts { kinds, others, ..Accepts::default() } }
    }
}

impl Form for Messages {
    type Decoder = Messages;
    type Of<'m> = Incoming<'m>;

    fn configure(decoder: Messages, faults: Option<Faults>, missing: Option<Missing>) -> Messages {
        let Accepts { rules, faults: before, .. } = decoder.accepts;
        let rules = missing.into_iter().fold(rules, Rules::missing);
        Messages { accepts: Accepts { rules, faults: faults.unwrap_or(before), ..decoder.accepts } }
    }

    fn accepts(decoder: &Messages) -> Accepts {
        decoder.accepts.clone()
    }

    #[inline]
    fn decode<'m>(_: &'m mut Messages, body: Body<'m>) -> Result<Incoming<'m>> {
        Ok(body.message())
    }
}

impl Outgoing for Messages {
    type Encoder = Messages;

    fn format(messages: &Messages) -> Option<&Format> {
        messages.accepts.format.as_ref()
    }
}
