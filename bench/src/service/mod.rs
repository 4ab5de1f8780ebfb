//! The group `service`: what it costs to register a format at a service and to find it, beside a bare HTTP exchange.
//!
//! Two processes: this one, which takes the times, and a `store` for it, the same program again, which runs a format
//! service with a store of its own, and a `bare` HTTP server, which is written by hand and knows nothing of formats. The
//! exchanges take `turns`, one by one in short rounds, on connections that are kept, and carry the same number of bytes.
//!
//! - `register`: a format goes to the service, which answers when it is stored and synchronised. Bare, a file is.
//! - `resolve_cold`: a description comes from the service and is compared with its token.
//! - `resolve_disk`: the same from the cache on disk. Bare, the file is read.
//! - `resolve_known`: the registry knows the token. Bare, a `HashMap` is asked.
//! - `start`: from the start of the process to its first answer.
//!
//! Everything is measured with few formats stored, and with many. Other registries take part if they are here (`others`).

mod bare;
mod others;
mod store;

use crate::channel::cores::{Pinned, Place};
use crate::channel::turns::{Figures, turns};
use crate::compiled::Directory;
use crate::measure::Times;
use crate::records::K01;
use crate::{Line, Options, Result};
use isoform::core::{Resolver, Structure};
use isoform::{Format, Record, Registry, Token};
use isoform_service::{Cache, Client, Search, Servers};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;
pub use store::{STORE, serve};

/// Rounds have fewer exchanges than events, by this factor.
const EXCHANGES: u32 = 1_000;
/// What takes nanoseconds is done so often at a time.
const BATCH: usize = 1_000;
/// Formats that a service with many has, if it is measured in earnest.
const MANY: u32 = 100_000;
/// How often a service is started.
const STARTS: usize = 5;

/// Measures what [the module](self) says.
///
/// # Errors
/// If an answer is wrong, a process cannot be started, or `line` fails.
pub fn run(options: &Options, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let Options { effort, program, .. } = options;
    let each = (effort.events / EXCHANGES).max(4) as usize;
    // What is asked for is asked for once: it must be new each time.
    let formats = (0..each * effort.rounds).map(|at| named(&format!("Material{at}"))).collect::<Result<Vec<_>>>()?;
    let many = (MANY / (100_000 / effort.events).max(1)) as usize;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if let Some(_pinned) = Pinned::new(Place::Last) {
        for stored in [0, many] {
            over_http(program, &formats, effort.rounds, stored, 1, line)?;
        }
    } else {
        line(Line::skipped("client and service on one core", "Linux"))?;
    }
    if cores > 1 {
        over_http(program, &formats, effort.rounds, 0, cores, line)?;
    }
    for stored in [0, many] {
        start(program, stored, line)?;
    }
    disk(&formats, effort.rounds, line)?;
    known(&formats, effort.rounds, line)?;
    if options.peers {
        others::run(&formats, effort.rounds, cores, line)?;
    }
    Ok(())
}

/// The format of a small record under another name.
fn named(name: &str) -> Result<Format> {
    let own = K01::format().structure();
    let fields = own.fields().to_vec();
    Ok(Format::new(Structure::new(name.to_owned(), own.machine(), own.size(), own.align(), fields)?.into())?)
}

fn result(measure: &str, stored: usize, cores: usize) -> Line {
    Line::of("service").word("measure", measure).count("stored", stored).count("cores", cores)
}

/// The figures of ours, and of the bare way.
fn beside(line: Line, figures: &[Figures]) -> Line {
    let line = figures[1].written(figures[0].written(line, ""), "raw_");
    line.figure("ratio", figures[0].ratio(&figures[1]))
}

/// One round: each of these takes its own time.
fn timed<T>(all: &[T], mut one: impl FnMut(&T) -> Result<()>) -> Result<Times> {
    let times = all.iter().map(|it| {
        let start = Instant::now();
        one(it)?;
        Ok(start.elapsed().as_nanos() as f64)
    });
    times.collect()
}

/// The part of all that belongs to a round, which every contestant has in turn.
struct Rounds<'a> {
    formats: &'a [Format],
    each: usize,
    done: [usize; 3],
}

impl<'a> Rounds<'a> {
    fn new(formats: &'a [Format], rounds: usize) -> Rounds<'a> {
        Rounds { formats, each: formats.len() / rounds, done: [0; 3] }
    }

    fn next(&mut self, who: usize) -> &'a [Format] {
        let from = self.done[who] * self.each;
        self.done[who] += 1;
        &self.formats[from..from + self.each]
    }
}

/// Registers all formats, and then resolves all of them.
fn over_http(
    program: &std::path::Path,
    formats: &[Format],
    rounds: usize,
    stored: usize,
    cores: usize,
    line: &mut impl FnMut(Line) -> Result<()>,
) -> Result<()> {
    let (bytes, folder) = (formats[0].description().as_bytes().len(), Directory::new()?);
    store::fill(folder.path(), stored)?;
    let service = store::Process::start(program, folder.path(), bytes)?;
    // Two, since a client that registers a format need not ask for it.
    let (registrar, client) = (Servers::new([&*service.url])?, Client::new(&service.url)?);
    let (mut bare, mut same) = (bare::Client::new(&service.bare)?, bare::Client::new(service.address())?);

    let mut order = Rounds::new(formats, rounds);
    let registered = turns(rounds, 2, |who| {
        let part = order.next(who);
        match who {
            0 => timed(part, |format| Ok(registrar.put(format)?)),
            _ => timed(part, |format| bare.put("/stored", format.description().as_bytes())),
        }
    })?;
    line(beside(result("register", stored, cores), &registered).count("bytes", bytes))?;

    let mut order = Rounds::new(formats, rounds);
    let resolved = turns(rounds, 3, |who| {
        let part = order.next(who);
        match who {
            0 => timed(part, |format| expect(format, &client.resolve(format.token())?)),
            1 => timed(part, |_| bare.get("/formats/00000000000000000000000000000000", |body| length(body, bytes))),
            _ => timed(part, |format| same.get(&format!("/formats/{}", format.token()), |body| length(body, bytes))),
        }
    })?;
    let resolve = beside(result("resolve_cold", stored, cores), &resolved);
    let resolve =
        resolved[2].written(resolve, "same_server_").figure("same_server_ratio", resolved[0].ratio(&resolved[2]));
    line(resolve.count("bytes", bytes).count("resident_kib", service.resident()?))
}

fn expect(format: &Format, description: &[u8]) -> Result<()> {
    match format.description().as_bytes() == description {
        true => Ok(()),
        false => Err("a wrong description came".into()),
    }
}

/// Names that differ in length by the digits of their number have descriptions that differ as little.
fn length(body: &[u8], bytes: usize) -> Result<()> {
    match body.len().abs_diff(bytes) < 16 {
        true => Ok(()),
        false => Err(format!("{} bytes came instead of {bytes}", body.len()).into()),
    }
}

/// Starts a service several times.
fn start(program: &std::path::Path, stored: usize, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let folder = Directory::new()?;
    store::fill(folder.path(), stored.max(1))?;
    let (format, mut times, mut resident) = (store::filling(0)?, Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let begin = Instant::now();
        let service = store::Process::start(program, folder.path(), 1)?;
        expect(&format, &Servers::new([&*service.url])?.resolve(format.token())?)?;
        times.push(begin.elapsed().as_nanos() as f64);
        resident.push(service.resident()? as f64);
    }
    let (times, resident) = (Times::from_iter(times), Times::from_iter(resident));
    let line_of = result("start", stored, std::thread::available_parallelism().map_or(1, usize::from));
    let line_of = line_of.figure("p50_ns", times.median()).figure("p99_ns", times.p99());
    line(line_of.count("resident_kib", resident.median() as usize))
}

/// Resolves all formats from the cache on disk.
fn disk(formats: &[Format], rounds: usize, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let folder = Directory::new()?;
    let cache = Cache::new(folder.path());
    for format in formats {
        if !cache.put(format.token(), format.description().as_bytes()) {
            return Err("the cache on disk cannot be written".into());
        }
    }
    let (search, mut order) = (Search::new().cache(cache), Rounds::new(formats, rounds));
    let figures = turns(rounds, 2, |who| {
        let part = order.next(who);
        match who {
            0 => timed(part, |format| expect(format, &search.resolve(format.token())?)),
            _ => timed(part, |format| expect(format, &std::fs::read(folder.path().join(format.token().to_string()))?)),
        }
    })?;
    line(beside(result("resolve_disk", 0, 1), &figures).count("bytes", formats[0].description().as_bytes().len()))
}

/// Asks a registry that knows all of them for one format again and again.
fn known(formats: &[Format], rounds: usize, line: &mut impl FnMut(Line) -> Result<()>) -> Result<()> {
    let mut registry = Registry::new();
    formats.iter().try_for_each(|format| registry.register(format))?;
    let map: HashMap<Token, &Format> = formats.iter().map(|format| (format.token(), format)).collect();
    let batches: Vec<Token> = formats.iter().map(Format::token).collect();
    let each = batches.len() / rounds;
    let figures = turns(rounds, 2, |who| {
        let times = batches[..each].iter().map(|token| {
            let start = Instant::now();
            for _ in 0..BATCH {
                let token = black_box(*token);
                match who {
                    0 => _ = black_box(std::ptr::from_ref(registry.lookup(token)?)),
                    _ => _ = black_box(map.get(&token)),
                }
            }
            Ok(start.elapsed().as_nanos() as f64 / BATCH as f64)
        });
        times.collect()
    })?;
    line(beside(result("resolve_known", formats.len(), 1), &figures))
}
