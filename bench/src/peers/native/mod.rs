//! Peers that are libraries in C and C++: small sources of ours, compiled against what is installed here, and loaded.
//!
//! Each source has the same few functions - `start`, `encode`, `decode` - which take the index of a record in a
//! [`table`]. Two libraries that define the same names, as all of MPI do, must not see each other: each is loaded with its
//! names to itself, and prefers its own.

mod table;

use super::Peer;
use crate::compiled::{Directory, compiler, execute, tuned};
use crate::measure::Contestant;
use crate::place::Memory;
use crate::{Case, Result, Workload, fill};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::c_int;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes a record to some room, and returns how long it became, or 0.
type Encode = unsafe extern "C" fn(usize, *const u8, *mut u8, usize) -> usize;
/// Reads a record from a message, and returns 0 if all went well.
type Decode = unsafe extern "C" fn(usize, *const u8, usize, *mut u8) -> c_int;
type Start = unsafe extern "C" fn() -> c_int;

/// A library, and in what ways it exchanges records.
struct Kind {
    name: &'static str,
    install: &'static str,
    /// What succeeds if it is installed.
    probe: &'static [&'static str],
    /// Makes the library with our functions.
    build: fn(&Path, &[table::Entry]) -> Result<PathBuf>,
    ways: &'static [Way],
}

/// One way of exchanging records, by names of functions.
struct Way {
    name: &'static str,
    case: Case,
    encode: &'static str,
    /// Writes what a sender would whose records are those of the case.
    message: &'static str,
    decode: &'static str,
    /// Whether it takes records with pointers as well.
    pointers: bool,
}

const fn mpi(name: &'static str, external: &'static str) -> [Way; 2] {
    [
        Way { name, case: Case::Same, encode: "encode", message: "encode", decode: "decode", pointers: false },
        Way {
            name: external,
            case: Case::Swap,
            encode: "encode_external",
            message: "encode_external",
            decode: "decode_external",
            pointers: false,
        },
    ]
}

const KINDS: &[Kind] = &[
    Kind {
        name: "MPICH",
        install: "apt-get install libmpich-dev",
        probe: &["mpicc.mpich", "-v"],
        build: |directory, entries| c(directory, entries, "mpich", "mpicc.mpich", include_str!("mpi.c"), &[]),
        ways: &mpi("MPICH", "MPICH external32"),
    },
    Kind {
        name: "Open MPI",
        install: "apt-get install libopenmpi-dev",
        probe: &["mpicc.openmpi", "-v"],
        build: |directory, entries| c(directory, entries, "openmpi", "mpicc.openmpi", include_str!("mpi.c"), &[]),
        ways: &mpi("Open MPI", "Open MPI external32"),
    },
    Kind {
        name: "omniORB",
        install: "apt-get install libomniorb4-dev omniidl",
        probe: &["omniidl", "-V"],
        build: corba,
        ways: &[Way {
            name: "omniORB",
            case: Case::Swap,
            encode: "encode",
            message: "encode_foreign",
            decode: "decode",
            pointers: false,
        }],
    },
    Kind {
        name: "Expat",
        install: "apt-get install libexpat1-dev",
        probe: &["cc", "-fsyntax-only", "-include", "expat.h", "-x", "c", "/dev/null"],
        build: |directory, entries| c(directory, entries, "expat", &compiler(), include_str!("expat.c"), &["-lexpat"]),
        ways: &[Way {
            name: "Expat XML",
            case: Case::Same,
            encode: "encode",
            message: "encode",
            decode: "decode",
            pointers: true,
        }],
    },
];

/// Functions of a library, for one way.
#[derive(Clone, Copy)]
struct Functions {
    encode: Encode,
    message: Encode,
    decode: Decode,
}

/// Those that are here, loaded.
#[derive(Default)]
pub(super) struct Natives {
    entries: Vec<table::Entry>,
    ways: Vec<(&'static Way, Functions)>,
}

impl Natives {
    /// Compiles and loads them. Those that are not installed are told to `skipped`, with what installs them.
    pub(super) fn new(skipped: &mut Vec<(&'static str, &'static str)>) -> Result<Natives> {
        let mut natives = Natives { entries: table::entries()?, ways: Vec::new() };
        let directory = Directory::new()?;
        for kind in KINDS {
            let probe = Command::new(kind.probe[0]).args(&kind.probe[1..]).output();
            if !probe.is_ok_and(|output| output.status.success()) {
                skipped.push((kind.name, kind.install));
                continue;
            }
            let built = (kind.build)(directory.path(), &natives.entries);
            let library = load(&built.map_err(|error| format!("{}: {error}", kind.name))?)?;
            for way in kind.ways {
                natives.ways.push((way, functions(library, way)?));
            }
        }
        Ok(natives)
    }

    /// Each way with the record of a workload.
    pub(super) fn of(&self, workload: &Workload) -> Result<Vec<Box<dyn Peer>>> {
        let Some(index) = self.entries.iter().position(|entry| entry.workload == workload.name) else {
            return Ok(Vec::new());
        };
        let record = fill::body(&self.entries[index].format, workload.length);
        let peer = |&(way, functions): &(&'static Way, Functions)| -> Result<Box<dyn Peer>> {
            // Text of a number, with its name in front and behind: no more than this for each byte.
            let mut out = vec![0; 4096 + 64 * record.len()];
            let mut length = |encode: Encode| {
                let source = Memory::new(0, record.len(), &record, false);
                let length = encoded(encode, index, source, &mut out);
                if length == 0 { Err(format!("{} cannot write {}", way.name, workload.name)) } else { Ok(length) }
            };
            let (encoded, message) = (length(functions.encode)?, length(functions.message)?);
            let message = out[..message].to_vec();
            Ok(Box::new(Native { way, functions, index, record: record.clone(), encoded, message, out }))
        };
        let flat = self.entries[index].flat();
        self.ways.iter().filter(|(way, _)| flat || way.pointers).map(peer).collect()
    }
}

/// Writes a record, from where it is as aligned as a record is.
fn encoded(encode: Encode, index: usize, mut record: Memory, out: &mut [u8]) -> usize {
    let mut length = 0;
    record.place().bytes(1, |src, _| {
        // SAFETY: `src` is a record of the workload with this index, and `out` has as much room as is said.
        length = unsafe { encode(index, src.as_ptr(), out.as_mut_ptr(), out.len()) };
    });
    length
}

/// Compiles a source in C, after the table of records.
fn c(
    directory: &Path,
    entries: &[table::Entry],
    name: &str,
    compiler: &str,
    source: &str,
    libraries: &[&str],
) -> Result<PathBuf> {
    let (file, library) = (directory.join(format!("{name}.c")), directory.join(format!("{name}.so")));
    fs::write(&file, format!("{}\n{source}", table::c(entries)?))?;
    let mut command = Command::new(compiler);
    execute(command.args(tuned()).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(file).args(libraries))?;
    Ok(library)
}

/// Lets omniidl make stubs of the IDL of all records, and compiles them with what calls them.
fn corba(directory: &Path, entries: &[table::Entry]) -> Result<PathBuf> {
    let (idl, file, library) = (directory.join("records.idl"), directory.join("corba.cc"), directory.join("corba.so"));
    fs::write(&idl, table::idl(entries)?)?;
    execute(Command::new("omniidl").arg("-bcxx").arg("-C").arg(directory).arg(&idl))?;
    let rows: String = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| if entry.flat() { format!(" ROW(R{index})") } else { " NONE".into() })
        .collect();
    let source = include_str!("corba.cc");
    fs::write(&file, format!("#include \"recordsSK.cc\"\n#include <cstring>\n#define ROWS{rows}\n{source}"))?;
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
    command.args(tuned()).args(["-w", "-shared", "-fPIC", "-o"]).arg(&library).arg(file);
    execute(command.arg("-I").arg(directory).args(["-lomniORB4", "-lomnithread"]))?;
    Ok(library)
}

/// Loads a library for as long as the process lives: what it has started cannot be stopped and started again.
fn load(path: &Path) -> Result<&'static Library> {
    /// That a library prefers its own names to those that were there before.
    const DEEPBIND: c_int = if cfg!(all(target_os = "linux", target_env = "gnu")) { 8 } else { 0 };
    // SAFETY: it was made a moment ago from our own source; what it is linked to is what its users load as well.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL | DEEPBIND) }?;
    let library: &Library = Box::leak(Box::new(library));
    // SAFETY: this is its type in every source, and it may be called at any time.
    match unsafe { library.get::<Start>(b"start")?() } {
        0 => Ok(library),
        code => Err(format!("{} does not start: {code}", path.display()).into()),
    }
}

fn functions(library: &'static Library, way: &Way) -> Result<Functions> {
    // SAFETY: these are their types in every source.
    unsafe {
        Ok(Functions {
            encode: *library.get(way.encode.as_bytes())?,
            message: *library.get(way.message.as_bytes())?,
            decode: *library.get(way.decode.as_bytes())?,
        })
    }
}

/// The record of a workload in the hands of a library.
struct Native {
    way: &'static Way,
    functions: Functions,
    index: usize,
    record: Vec<u8>,
    encoded: usize,
    message: Vec<u8>,
    out: Vec<u8>,
}

impl Peer for Native {
    fn name(&self) -> &'static str {
        self.way.name
    }

    fn case(&self) -> Case {
        self.way.case
    }

    fn record(&self) -> &[u8] {
        &self.record
    }

    fn message(&self) -> &[u8] {
        &self.message
    }

    fn encoded(&self) -> usize {
        self.encoded
    }

    fn check(&mut self) -> Result<()> {
        let mut memory = Memory::new(0, self.message.len().max(self.record.len()), &self.message, false);
        let mut place = memory.place();
        self.decode()(&mut place, 1);
        let mut wrong = None;
        place.bytes(1, |_, dst| wrong = self.record.iter().zip(dst).position(|(expected, came)| expected != came));
        wrong.map_or(Ok(()), |at| Err(format!("the record is wrong at byte {at}").into()))
    }

    fn encode(&mut self) -> Contestant<'_> {
        let (encode, index, out) = (self.functions.encode, self.index, &mut self.out);
        Box::new(move |place, runs| {
            place.bytes(runs, |src, _| {
                // SAFETY: a place holds records of the workload with this index, and `out` has the room that it needed.
                let length = unsafe { encode(index, src.as_ptr(), out.as_mut_ptr(), out.len()) };
                assert!(length > 0, "it went well before");
            });
        })
    }

    fn decode(&mut self) -> Contestant<'_> {
        let (decode, index, length) = (self.functions.decode, self.index, self.message.len());
        Box::new(move |place, runs| {
            place.bytes(runs, |src, dst| {
                // SAFETY: a place holds messages of this length, and room for the record.
                let code = unsafe { decode(index, src.as_ptr(), length, dst.as_mut_ptr()) };
                assert!(code == 0, "it went well before");
            });
        })
    }
}
