//! Messages of several kinds of records: each is decoded as the kind that fits.
//!
//! [`plan::choose`] makes the choice, once for each format. [`KindDecoder`] then decodes with the
//! decoder of that kind. `memory::KindDecoder` is the same for formats that are known only at run time.

use super::{Accepts, Body, Form};
use crate::message::Incoming;
use crate::record::{Owned, Record, native_format};
use crate::{Decoder, Engine};
use isoform_core::plan::{self, Choice, Kind};
use isoform_core::{Faults, Format, Missing, Result};
use std::fmt;

/// An enumeration of the kinds of records that a receiver takes. Derive it with [`derive@Kinds`](macro@crate::Kinds).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not list kinds of records",
    note = "derive `isoform::Kinds` for an enumeration whose variants hold one record each"
)]
pub trait Kinds {
    /// The enumeration, with records that borrow for `'m`.
    type Of<'m>;

    #[doc(hidden)]
    type Decoders;

    /// The kinds, in the order of their declaration.
    #[doc(hidden)]
    fn kinds(settings: &Settings) -> Vec<Kind>;

    #[doc(hidden)]
    fn decoders(settings: &Settings) -> Self::Decoders;

    #[doc(hidden)]
    fn decode<'m>(decoders: &'m mut Self::Decoders, kind: usize, body: Body<'m>) -> Result<Self::Of<'m>>;

    /// Whether a variant takes the messages that are none of the kinds.
    #[doc(hidden)]
    const TAKES_OTHERS: bool;

    /// That variant, if there is one.
    #[doc(hidden)]
    fn other<'m>(message: Incoming<'m>) -> Option<Self::Of<'m>>;
}

/// The settings of the decoders of all kinds.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// As [`Decoder::with_faults`].
    pub faults: Faults,
    /// As [`Decoder::with_missing`].
    pub missing: Option<Missing>,
    /// As [`Decoder::with_engine`].
    pub engine: Engine,
}

impl Settings {
    /// A kind of records.
    pub fn kind<T: Record>(&self) -> Kind {
        let rules = self.missing.into_iter().fold(T::rules(), isoform_core::Rules::missing);
        Kind { format: native_format::<T>(), rules, faults: self.faults }
    }

    /// Its decoder.
    pub fn decoder<T: Record>(&self) -> Decoder<T> {
        let decoder = Decoder::new().with_faults(self.faults).with_engine(self.engine);
        self.missing.into_iter().fold(decoder, Decoder::with_missing)
    }
}

/// Decodes a body as a record that borrows.
#[doc(hidden)]
#[inline(always)]
pub fn borrowed<'m, T: Record>(decoder: &'m mut Decoder<T>, body: Body<'m>) -> Result<&'m T::Native<'m>> {
    match body {
        Body::Own(format, body) => decoder.decode_in_place(format, body),
        Body::Lent(message) => decoder.decode(&message),
    }
}

/// Decodes a body as a record that owns its parts.
#[doc(hidden)]
#[inline]
pub fn owned<T>(decoder: &mut Decoder<T>, body: Body<'_>) -> Result<T>
where
    T: Owned + for<'a> Record<Native<'a> = <T as Owned>::Native<'a>>,
{
    T::raise(borrowed(decoder, body)?)
}

/// Decodes each message as the kind of record that fits.
///
/// The kinds are the variants of an enumeration that derives [`Kinds`](macro@crate::Kinds). For the first message of a
/// format, the decoder chooses the kind; later messages of that format cost as much as with a [`Decoder`] for that kind.
/// Of the kinds that the format can become, the choice is the first that wins one of these comparisons:
///
/// 1. it has the name of the sender's format;
/// 2. it takes most of the sender's fields;
/// 3. the fewest of its own fields are filled, since the sender lacks them;
/// 4. the fewest of its fields may lose digits;
/// 5. it was declared first.
///
/// [`explain`](KindDecoder::explain) tells the choice and the reason. A message that fits no kind is an error, or the
/// variant `#[isoform(other)]` if there is one.
///
/// ```
/// use isoform::{Encoder, Incoming, KindDecoder, Kinds, Record, stream};
///
/// #[derive(Record)]
/// #[repr(C)]
/// struct River {
///     time: i64,
///     depth: f64,
/// }
/// #[derive(Record)]
/// struct Alarm {
///     time: i64,
///     text: String,
/// }
/// #[derive(Kinds)]
/// enum Seen<'m> {
///     River(&'m River),
///     Alarm(Alarm),
///     #[isoform(other)]
///     Other(Incoming<'m>),
/// }
///
/// # #[derive(Record)]
/// # #[repr(C)]
/// # struct Wind { speed: f32 }
/// let mut writer = stream::Writer::new(Vec::new());
/// let (mut rivers, mut alarms) = (Encoder::new(), Encoder::new());
/// writer.write(&rivers.encode(&River { time: 1, depth: 4.5 })?)?;
/// writer.write(&alarms.encode(&Alarm { time: 2, text: "the river rises".into() })?)?;
/// # writer.write(&Encoder::new().encode(&Wind { speed: 9.0 })?)?; // a record of another format
///
/// let (bytes, mut said) = (writer.into_inner(), String::new());
/// let mut reader = stream::Reader::new(&bytes[..]);
/// let mut decoder = KindDecoder::<Seen>::new();
/// while let Some(message) = reader.next()? {
///     match decoder.decode(&message)? {
///         Seen::River(river) => said += &format!("{} m", river.depth),
///         Seen::Alarm(alarm) => said += &format!(", {} at {}", alarm.text, alarm.time),
///         Seen::Other(message) => said += &format!(", {} m/s", message.view()?.f64("speed")?),
///     }
/// }
/// assert_eq!(said, "4.5 m, the river rises at 2, 9 m/s");
/// # Ok::<(), isoform::Error>(())
/// ```
pub struct KindDecoder<K: Kinds> {
    settings: Settings,
    kinds: plan::Kinds,
    decoders: K::Decoders,
}

impl<K: Kinds> KindDecoder<K> {
    /// Creates a decoder for these kinds.
    pub fn new() -> KindDecoder<K> {
        KindDecoder::of(Settings::default())
    }

    fn of(settings: Settings) -> KindDecoder<K> {
        let kinds = plan::Kinds::new(K::kinds(&settings));
        KindDecoder { settings, kinds, decoders: K::decoders(&settings) }
    }

    /// As [`Decoder::with_faults`], for all kinds.
    pub fn with_faults(self, faults: Faults) -> KindDecoder<K> {
        KindDecoder::of(Settings { faults, ..self.settings })
    }

    /// As [`Decoder::with_missing`], for all kinds. With [`Missing::Zero`], a kind fits as soon as the sender has one of
    /// its fields.
    pub fn with_missing(self, missing: Missing) -> KindDecoder<K> {
        KindDecoder::of(Settings { missing: Some(missing), ..self.settings })
    }

    /// As [`Decoder::with_engine`], for all kinds.
    pub fn with_engine(self, engine: Engine) -> KindDecoder<K> {
        KindDecoder::of(Settings { engine, ..self.settings })
    }

    /// Decodes a message as the kind that fits. A variant that holds a reference borrows as [`Decoder::decode`] does.
    ///
    /// # Errors
    /// [`NoConversion`](isoform_core::Code::NoConversion) at the name of the sender's format if it fits no kind and no
    /// variant takes others, with the reason for each kind. Otherwise as [`Decoder::decode`] and
    /// [`Decoder::decode_owned`].
    #[inline]
    pub fn decode<'m>(&'m mut self, message: &Incoming<'m>) -> Result<K::Of<'m>> {
        self.decode_body(Body::Lent(*message))
    }

    /// As [`decode`](KindDecoder::decode), for a body that may be changed; see [`Decoder::decode_in_place`].
    ///
    /// # Errors
    /// As [`decode`](KindDecoder::decode).
    #[inline]
    pub fn decode_in_place<'m>(&'m mut self, format: &'m Format, body: &'m mut [u8]) -> Result<K::Of<'m>> {
        self.decode_body(Body::Own(format, body))
    }

    #[inline]
    fn decode_body<'m>(&'m mut self, body: Body<'m>) -> Result<K::Of<'m>> {
        match self.kinds.kind_of(body.format()) {
            Ok(kind) => K::decode(&mut self.decoders, kind, body),
            Err(error) => K::other(body.message()).ok_or(error),
        }
    }

    /// The kinds, in the order of their declaration.
    pub fn kinds(&self) -> &[Kind] {
        self.kinds.list()
    }

    /// The choice for a format, with the reason. As text, it has a line for each kind.
    ///
    /// ```
    /// # use isoform::{KindDecoder, Kinds, Record};
    /// # #[derive(Record)]
    /// # #[repr(C)]
    /// # struct River { time: i64, depth: f64 }
    /// # #[derive(Record)]
    /// # #[repr(C)]
    /// # struct Alarm { time: i64, level: i32 }
    /// # #[derive(Kinds)]
    /// # enum Seen { River(River), Alarm(Alarm) }
    /// # #[derive(Record)]
    /// # #[isoform(rename = "Gauge")]
    /// # #[repr(C)]
    /// # struct Sent { depth: f32, time: i64 }
    /// // A Gauge comes, which has the fields of a River.
    /// let mut decoder = KindDecoder::<Seen>::new();
    /// assert_eq!(decoder.explain(Sent::format()).to_string(), "\
    /// Gauge becomes River: no other kind fits
    ///   River: takes 2 fields
    ///   Alarm: does not fit: missing field at level: expected a default, or in the receiving program the option missing = zero, for level (i32), \
    /// found Gauge with depth, time
    /// ");
    /// # Ok::<(), isoform::Error>(())
    /// ```
    pub fn explain(&mut self, format: &Format) -> &Choice {
        self.kinds.explain(format)
    }

    /// The number of messages so far that fitted no kind.
    pub fn others(&self) -> u64 {
        self.kinds.others()
    }
}

impl<K: Kinds> Form for KindDecoder<K> {
    type Decoder = KindDecoder<K>;
    type Of<'m> = K::Of<'m>;

    fn configure(mut decoder: KindDecoder<K>, faults: Option<Faults>, missing: Option<Missing>) -> KindDecoder<K> {
        decoder = faults.into_iter().fold(decoder, KindDecoder::with_faults);
        missing.into_iter().fold(decoder, KindDecoder::with_missing)
    }

    fn accepts(decoder: &KindDecoder<K>) -> Accepts {
        Accepts { kinds: decoder.kinds().to_vec(), others: K::TAKES_OTHERS, narrow: true, ..Accepts::default() }
    }

    #[inline]
    fn decode<'m>(decoder: &'m mut KindDecoder<K>, body: Body<'m>) -> Result<K::Of<'m>> {
        decoder.decode_body(body)
    }
}

impl<K: Kinds> Default for KindDecoder<K> {
    fn default() -> Self {
        KindDecoder::new()
    }
}

impl<K: Kinds> fmt::Debug for KindDecoder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KindDecoder({:?})", self.kinds)
    }
}
