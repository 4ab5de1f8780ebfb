//! Events over TLS, beside a bare stream of rustls with the same certificate: the round trip, and the time for each event of
//! many one way. Both ends are threads of this process, over loopback.

use super::{Measure, about};
use crate::channel::event::{Event, Huge, Large, Small};
use crate::channel::turns::turns;
use crate::compiled::Directory;
use crate::measure::Times;
use crate::{Line, Options, Result};
use isoform_channel::{Event as Came, Node, Sink, Source, Tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
/// The bytes of a round.
const BYTES: usize = 16 << 20;
/// The most events of a round.
const MOST: u32 = 500;

/// Events of a megabyte are moved over the stack, which compilers that do not optimize do several times.
const STACK: usize = 64 << 20;

/// Measures events of a hundred bytes to a megabyte.
pub(super) fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let lines = thread::scope(|scope| -> Result<Vec<Line>> {
        let all = || all(options).map_err(|error| error.to_string());
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, all)?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic))?)
    })?;
    lines.into_iter().try_for_each(line)
}

fn all(options: &Options) -> Result<Vec<Line>> {
    let (identity, mut lines) = (identity()?, Vec::new());
    let mut keep = |line| {
        lines.push(line);
        Ok(())
    };
    sized::<Small>(options, &identity, &mut keep)?;
    sized::<Large>(options, &identity, &mut keep)?;
    sized::<Huge>(options, &identity, &mut keep)?;
    Ok(lines)
}

fn sized<E>(options: &Options, identity: &str, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()>
where
    for<'a> E: Event + isoform::Record<Native<'a> = E>,
{
    let bytes = size_of::<E>();
    let count = ((BYTES / bytes) as u32).clamp(5, MOST);
    let (mut ours, mut bare) = (Ours::<E>::new(identity)?, Bare::new(identity, bytes)?);
    let figures = turns(options.effort.rounds, 4, |who| match who {
        0 => ours.round(count, false),
        1 => bare.round(count, false),
        2 => ours.round(count, true),
        _ => bare.round(count, true),
    })?;
    let result = about(Measure::Tls).count("bytes", bytes).figure("rtt_ns", figures[0].median());
    let result = result.figure("raw_rtt_ns", figures[1].median()).figure("ratio", figures[0].ratio(&figures[1]));
    let result = result.figure("one_way_ns", figures[2].median()).figure("raw_one_way_ns", figures[3].median());
    line(result.figure("one_way_ratio", figures[2].ratio(&figures[3])))
}

/// A certificate, its key and its authority.
fn identity() -> Result<String> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])?.signed_by(&key, &authority)?;
    Ok(certificate.pem() + &key.serialize_pem() + &authority.pem())
}

/// The number of an event after which the other end answers, in a row of which it answers the last alone.
const LAST: u32 = 1 << 31;

/// Two nodes.
struct Ours<E: Event> {
    source: Source<E>,
    sink: Sink<E>,
    event: E,
    _node: Node,
    _directory: Directory,
}

impl<E> Ours<E>
where
    for<'a> E: Event + isoform::Record<Native<'a> = E>,
{
    fn new(identity: &str) -> Result<Ours<E>> {
        let directory = Directory::new()?;
        let file = directory.path().join("identity.pem");
        std::fs::write(&file, identity)?;
        let node = || Node::builder().listen("127.0.0.1:0").tls(Tls::new().certificate(&file).loopback()).build();
        let (near, far) = (node()?, node()?);
        let (there, back) = (near.create::<E>("there")?, near.create::<E>("back")?);
        let sink = back.sink::<E>()?;
        let (mut comes, mut goes) =
            (far.open(there.id().to_string())?.sink::<E>()?, far.open(back.id().to_string())?.source::<E>()?);
        let source = there.source::<E>()?;
        source.wait_for_sinks(1, PATIENCE)?;
        goes.wait_for_sinks(1, PATIENCE)?;
        thread::spawn(move || {
            let _far = far;
            let mut answer = E::new(0);
            while let Ok(came) = comes.recv() {
                match came {
                    Came::Record { record, .. } if record.step() < LAST => {}
                    Came::Record { record, .. } => {
                        answer.number(record.step());
                        if goes.submit(&answer).is_err() {
                            return;
                        }
                    }
                    Came::Left(..) => return,
                    _ => {}
                }
            }
        });
        Ok(Ours { source, sink, event: E::new(0), _node: near, _directory: directory })
    }

    fn round(&mut self, count: u32, one_way: bool) -> Result<Times> {
        let start = Instant::now();
        for step in 0..count {
            let answers = !one_way || step + 1 == count;
            self.event.number(if answers { LAST + step } else { step });
            self.source.submit(&self.event)?;
            if answers {
                self.await_answer(LAST + step)?;
            }
        }
        Ok(Times::from_iter([start.elapsed().as_nanos() as f64 / f64::from(count)]))
    }

    fn await_answer(&mut self, step: u32) -> Result<()> {
        loop {
            if let Came::Record { record, .. } = self.sink.recv()? {
                assert_eq!(record.step(), step);
                return Ok(());
            }
        }
    }
}

/// Two streams of rustls.
struct Bare {
    stream: StreamOwned<ClientConnection, TcpStream>,
    bytes: Vec<u8>,
}

impl Bare {
    fn new(identity: &str, bytes: usize) -> Result<Bare> {
        let mut chain =
            CertificateDer::pem_slice_iter(identity.as_bytes()).collect::<std::result::Result<Vec<_>, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(identity.as_bytes())?;
        let mut roots = RootCertStore::empty();
        roots.add(chain.pop().ok_or("no authority")?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let acceptor = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        let dialer = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        let (far, _) = listener.accept()?;
        for end in [&near, &far] {
            end.set_nodelay(true)?;
        }
        let mut far = StreamOwned::new(ServerConnection::new(acceptor.into())?, far);
        thread::spawn(move || {
            let mut bytes = vec![0; bytes];
            while far.read_exact(&mut bytes).is_ok() {
                if bytes[0] == 1 && far.write_all(&bytes).and_then(|()| far.flush()).is_err() {
                    return;
                }
            }
        });
        let dialer = ClientConnection::new(dialer.into(), "localhost".try_into()?)?;
        Ok(Bare { stream: StreamOwned::new(dialer, near), bytes: vec![0; bytes] })
    }

    fn round(&mut self, count: u32, one_way: bool) -> Result<Times> {
        let start = Instant::now();
        for step in 0..count {
            let answers = !one_way || step + 1 == count;
            self.bytes[0] = u8::from(answers);
            self.stream.write_all(&self.bytes)?;
            self.stream.flush()?;
            if answers {
                self.stream.read_exact(&mut self.bytes)?;
            }
        }
        Ok(Times::from_iter([start.elapsed().as_nanos() as f64 / f64::from(count)]))
    }
}
