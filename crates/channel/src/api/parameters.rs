//! The parameters of sources: values that sinks choose, and for which the source's program generates events
//! (`spec/channel.md`, "Parameters").

use isoform::message::Header;
use isoform::{Decoder, Encoder, Error, Format, Incoming, Owned, Record, Result};
use isoform_channel_proto::{self as proto, DemandKey};
use std::fmt;

/// Values of the parameters of a source, as a record of any type.
///
/// ```
/// use isoform::Record;
/// use isoform_channel::Parameters;
/// #[derive(Record, Debug, PartialEq)]
/// struct Detail {
///     level: i64,
///     quantity: String,
/// }
/// let values = Parameters::of(&Detail { level: 3, quantity: "depth".into() })?;
/// assert_eq!(values.to_string(), r#"{"level":3,"quantity":"depth"}"#);
/// assert_eq!(values.to::<Detail>()?.level, 3);
/// # Ok::<(), isoform::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Parameters(pub(crate) proto::Parameters);

/// Values of a source's parameters that sinks ask for: the source's program generates events for each demand once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    pub(crate) key: DemandKey,
    /// The values, in the source's format.
    pub values: Parameters,
    /// How many sinks have them.
    pub sinks: usize,
}

/// Which values of its parameters a source gives a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The number of the first event that is of these values.
    pub first: u64,
    /// How often the sink had called [`Sink::set_parameters`](crate::Sink::set_parameters), as far as the source knew.
    pub change: u32,
    /// The values. If the sink has asked for others, the source's program has granted these.
    pub values: Parameters,
    /// Why the last change was refused. The values are those of before.
    pub refused: Option<Error>,
}

impl Parameters {
    /// The values in a record.
    ///
    /// # Errors
    /// Those of [`Encoder::encode`]; [`Code::MessageSize`](isoform::Code::MessageSize) for more than 4,096 bytes.
    pub fn of<R: Record>(record: &R) -> Result<Parameters>
    where
        R::Static: Record<Static = R::Static>,
    {
        let mut encoder = Encoder::<R::Static>::new();
        let message = encoder.encode(record)?;
        let body: Vec<u8> = message.body().flatten().copied().collect();
        Parameters::new(message.format(), &body)
    }

    /// The values in a body of a format (`spec/message.md`).
    ///
    /// # Errors
    /// What is wrong with the body; [`Code::MessageSize`](isoform::Code::MessageSize) for more than 4,096 bytes.
    pub fn new(format: &Format, body: &[u8]) -> Result<Parameters> {
        proto::Parameters::new(format, body).map(Parameters)
    }

    /// The values as a record of the caller's type.
    ///
    /// # Errors
    /// Those of [`Decoder::decode_owned`].
    pub fn to<T>(&self) -> Result<T>
    where
        T: Owned + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>>,
    {
        Decoder::<T>::new().decode_owned(&self.message())
    }

    /// The values as a message, whose fields are read by name.
    pub fn message(&self) -> Incoming<'_> {
        let (format, body) = (self.0.format(), self.0.body());
        Incoming::new(Header::new(format.token(), body.len() as u64), format, body)
    }

    /// Their format.
    pub fn format(&self) -> &Format {
        self.0.format()
    }

    /// The body of the record.
    pub fn body(&self) -> &[u8] {
        self.0.body()
    }
}

impl From<proto::Demand> for Demand {
    fn from(demand: proto::Demand) -> Demand {
        Demand { key: demand.key, values: Parameters(demand.values), sinks: demand.sinks }
    }
}

impl From<&proto::Given> for Given {
    fn from(given: &proto::Given) -> Given {
        let proto::Given { first, change, values, refused } = given.clone();
        Given { first, change, values: Parameters(values), refused }
    }
}

/// JSON.
impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
