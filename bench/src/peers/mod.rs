//! What others use for the same purpose, measured beside Isoform: in the groups `send` and `receive`, on the same records.
//!
//! A [`Peer`] puts one record on the wire in its own way and takes it off again. Crates are in `codec`, behind the feature
//! `peers`; libraries in C and C++ in `native`. What a peer cannot express it does not measure; what is not installed is named as [`skipped`](Peers::skipped).

#[cfg(feature = "peers")]
mod avro;
#[cfg(feature = "peers")]
mod codec;
pub mod fixed;
#[cfg(unix)]
mod native;
#[cfg(feature = "peers")]
mod protobuf;
#[cfg(feature = "peers")]
mod zero_copy;

use crate::measure::{Contestant, Times, measure, memcpy};
use crate::place::{Memory, Place};
use crate::{Case, Effort, Line, Options, Result, Workload, compiled};

/// One way of exchanging one record.
pub trait Peer {
    /// Its name.
    fn name(&self) -> &'static str;

    /// How the sender's record differs from the receiver's, in what is decoded.
    fn case(&self) -> Case;

    /// Whether what it sends is measured.
    fn sends(&self) -> bool {
        true
    }

    /// The record in memory, where that is bytes that can be copied to wherever it is encoded from.
    fn record(&self) -> &[u8] {
        &[]
    }

    /// What is decoded.
    fn message(&self) -> &[u8];

    /// Bytes of what is encoded.
    fn encoded(&self) -> usize {
        self.message().len()
    }

    /// Compares what becomes of the message with the record that must arrive.
    ///
    /// # Errors
    /// If they differ, or it cannot be decoded.
    fn check(&mut self) -> Result<()>;

    /// Encodes the record.
    fn encode(&mut self) -> Contestant<'_>;

    /// Decodes the messages that a place holds, into the receiver's struct.
    fn decode(&mut self) -> Contestant<'_>;
}

/// What a peer costs on one machine.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Its name.
    pub name: &'static str,
    /// To encode the record.
    pub encode_ns: f64,
    /// To decode its message.
    pub decode_ns: f64,
    /// Of the message.
    pub bytes: usize,
}

/// Those that are here.
#[derive(Default)]
pub struct Peers {
    /// Those that are not, each with what would bring it here.
    pub skipped: Vec<(&'static str, &'static str)>,
    #[cfg(unix)]
    natives: native::Natives,
}

impl Peers {
    /// Looks for them, and compiles what must be compiled.
    ///
    /// # Errors
    /// If one is installed and cannot be used.
    pub fn new() -> Result<Peers> {
        let mut peers = Peers::default();
        if cfg!(not(feature = "peers")) {
            let those = "rkyv, prost, Apache Avro, serde_json";
            peers.skipped.push((those, "cargo run --release -p isoform-bench --features peers"));
        }
        #[cfg(unix)]
        if compiled::version().is_some() {
            peers.natives = native::Natives::new(&mut peers.skipped)?;
        }
        Ok(peers)
    }

    /// Those that can express this workload, after their results were compared.
    ///
    /// # Errors
    /// If a result is wrong.
    pub fn of(&self, workload: &Workload) -> Result<Vec<Box<dyn Peer>>> {
        let mut peers: Vec<Box<dyn Peer>> = Vec::new();
        #[cfg(feature = "peers")]
        peers.extend(codec::of(workload)?);
        #[cfg(unix)]
        peers.extend(self.natives.of(workload)?);
        for peer in &mut peers {
            peer.check().map_err(|error| format!("{} {}: {error}", peer.name(), workload.name))?;
        }
        Ok(peers)
    }

    /// Measures what it costs them to send.
    ///
    /// # Errors
    /// If a result is wrong, or `line` fails.
    pub fn send(
        &self,
        workload: &Workload,
        options: &Options,
        line: &mut impl FnMut(Line) -> Result<()>,
    ) -> Result<()> {
        let size = workload.size()?;
        for mut peer in self.of(workload)?.into_iter().filter(|peer| peer.sends()) {
            let bytes = peer.encoded();
            let start = peer.record().to_vec();
            let [copied, ns] = timed(size.max(bytes), &start, size, peer.encode(), &options.effort, false);
            let mut result = Line::new("send", workload.name).word("peer", peer.name()).figure("ns", ns.median());
            result = result.figure("memcpy_ns", copied.median()).figure("min_ns", ns.min()).figure("p90_ns", ns.p90());
            line(result.count("bytes", bytes).figure("expansion", bytes as f64 / size as f64))?;
        }
        Ok(())
    }

    /// Both costs of those that encode, with buffers that stay in the first cache.
    ///
    /// # Errors
    /// If a result is wrong.
    pub fn parts(&self, workload: &Workload, effort: &Effort) -> Result<Vec<Parts>> {
        let size = workload.size()?;
        let parts = |mut peer: Box<dyn Peer>| {
            let (bytes, record, message) = (peer.encoded(), peer.record().to_vec(), peer.message().to_vec());
            let [_, encode] = timed(size.max(bytes), &record, size, peer.encode(), effort, false);
            let [_, decode] = timed(size.max(message.len()), &message, size, peer.decode(), effort, false);
            Parts { name: peer.name(), encode_ns: encode.median(), decode_ns: decode.median(), bytes }
        };
        Ok(self.of(workload)?.into_iter().filter(|peer| peer.sends()).map(parts).collect())
    }

    /// Measures what it costs them to receive.
    ///
    /// # Errors
    /// If a result is wrong, or `line` fails.
    pub fn receive(
        &self,
        workload: &Workload,
        options: &Options,
        line: &mut impl FnMut(Line) -> Result<()>,
    ) -> Result<()> {
        let size = workload.size()?;
        for mut peer in self.of(workload)?.into_iter().filter(|peer| options.cases.contains(&peer.case())) {
            let message = peer.message().to_vec();
            let mut timed =
                |rotating| timed(size.max(message.len()), &message, size, peer.decode(), &options.effort, rotating);
            let ([copied, ns], [far_copied, far]) = (timed(false), timed(true));
            let mut result = Line::new("receive", workload.name).word("case", peer.case().name());
            result = result.word("peer", peer.name()).figure("ns", ns.median()).figure("memcpy_ns", copied.median());
            result = result.figure("rotating_ns", far.median()).figure("rotating_memcpy_ns", far_copied.median());
            line(result.figure("min_ns", ns.min()).figure("p90_ns", ns.p90()).count("bytes", message.len()))?;
        }
        Ok(())
    }
}

/// The times of copying `copied` bytes and of a contestant, on buffers of `size` bytes that begin with `start`.
fn timed(
    size: usize,
    start: &[u8],
    copied: usize,
    mut contestant: Contestant<'_>,
    effort: &Effort,
    rotating: bool,
) -> [Times; 2] {
    let mut memories: Vec<Memory> =
        (0..effort.placements).map(|index| Memory::new(index, size, start, rotating)).collect();
    let mut places: Vec<Place<'_>> = memories.iter_mut().map(Memory::place).collect();
    // The first run may prepare something.
    places.iter_mut().take(1).for_each(|place| contestant(place, 1));
    let mut times = measure(&mut [memcpy(copied), contestant], &mut places, effort).into_iter();
    std::array::from_fn(|_| times.next().unwrap_or_default())
}
