//! Every machine writes, and every machine reads what all have written.

use crate::Outcome;
use crate::programs::{build, built, missing, missing_tools, program, top};
use crate::table::{Row, Table};
use isoform_machines::{Machine, writer};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

/// The streams of one program.
struct Written {
    machine: &'static Machine,
    language: &'static str,
    folder: PathBuf,
    /// Its streams that are the vectors, byte for byte.
    streams: Cell,
}

/// A program that reads streams.
struct Reader {
    name: &'static str,
    language: Language,
}

enum Language {
    Rust(&'static Machine),
    /// With `isoform_reader.h`, on a machine for which there is no Rust.
    C(&'static Machine, PathBuf),
    Python,
}

/// How many of some records, or streams, are what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) agreed: usize,
    pub(crate) all: usize,
}

/// Prints the matrix. Whether all agree.
pub(crate) fn run() -> Outcome<bool> {
    let installed = Command::new("sh").arg(top().join("tests/machines/install.sh")).status()?.success();
    if !installed {
        println!("*** SKIPPED: tests/machines/install.sh failed ***");
    }
    let mut table = Table::default();
    let machines = available("Rust", missing, &mut table.skipped);
    build(&machines)?;

    let folder = built().join("written");
    let _ = fs::remove_dir_all(&folder);
    let mut all: Vec<Written> = in_parallel(&machines, |machine| write_rust(machine, &folder))?;
    let compiled = available("C", missing_tools, &mut table.skipped);
    all.extend(in_parallel(&compiled, |machine| write_c(machine, &folder))?);

    let python = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !python {
        table.skipped.push("the readers in Python and in C: there is no python3".into());
    }
    let mut readers: Vec<Reader> =
        machines.iter().map(|machine| Reader { name: machine.name(), language: Language::Rust(machine) }).collect();
    if python {
        let without_rust = compiled.iter().filter(|machine| machine.target.is_none()).copied().collect::<Vec<_>>();
        readers.extend(in_parallel(&without_rust, |machine| c_reader(machine, &folder))?);
        readers.push(Reader { name: "python", language: Language::Python });
    }
    let columns = in_parallel(&readers, |reader| read(reader, &all))?;

    table.columns = readers.iter().map(|reader| reader.name).collect();
    table.rows = all
        .iter()
        .enumerate()
        .map(|(index, written)| Row {
            name: format!("{} {}", written.machine.name(), written.language),
            cells: columns.iter().map(|column| column[index]).collect(),
            streams: written.streams,
        })
        .collect();
    print!("{table}");
    Ok(table.agrees())
}

/// The machines on which nothing is missing; the others are noted.
fn available(
    language: &str,
    missing: fn(&Machine) -> Option<String>,
    skipped: &mut Vec<String>,
) -> Vec<&'static Machine> {
    let mut note = |machine: &Machine, missing| skipped.push(format!("{language} on {}: {missing}", machine.name()));
    let machines = Machine::ALL.iter().filter(|machine| language == "C" || machine.target.is_some());
    machines.filter(|machine| missing(machine).map(|missing| note(machine, missing)).is_none()).collect()
}

fn write_rust(machine: &'static Machine, folder: &Path) -> Outcome<Written> {
    let folder = folder.join("rust").join(machine.name());
    fs::create_dir_all(&folder)?;
    writer::succeeded(machine.command(program(machine)).args(["write", "."]).current_dir(&folder))?;
    written(machine, "rust", folder)
}

fn write_c(machine: &'static Machine, folder: &Path) -> Outcome<Written> {
    let folder = folder.join("c").join(machine.name());
    fs::create_dir_all(&folder)?;
    writer::write_features(machine, &folder)?;
    written(machine, "C", folder)
}

/// The reader in C for one machine. It needs Python, which knows what must arrive.
fn c_reader(machine: &'static Machine, folder: &Path) -> Outcome<Reader> {
    let folder = folder.with_file_name("readers").join(machine.name());
    fs::create_dir_all(&folder)?;
    let program = writer::compile_for(machine, &[writer::READER], &folder, "reader")?;
    Ok(Reader { name: machine.name(), language: Language::C(machine, program) })
}

/// Compares what was written with the vectors.
fn written(machine: &'static Machine, language: &'static str, folder: PathBuf) -> Outcome<Written> {
    let mut streams = Cell { agreed: 0, all: 0 };
    for file in fs::read_dir(&folder)? {
        let file = file?.path();
        if file.extension().is_none_or(|extension| extension != "iso") {
            continue;
        }
        let vector = top().join("vectors").join(file.file_stem().unwrap_or_default());
        let vector = vector.join(format!("{}.bin", machine.name()));
        let expected = fs::read(&vector).map_err(|error| format!("{}: {error}", vector.display()))?;
        let same = fs::read(&file)? == expected;
        if !same {
            println!("DIFFERENCE between {} and {}", file.display(), vector.display());
        }
        streams = Cell { agreed: streams.agreed + usize::from(same), all: streams.all + 1 };
    }
    Ok(Written { machine, language, folder, streams })
}

/// What one reader makes of every writer's streams.
fn read(reader: &Reader, all: &[Written]) -> Outcome<Vec<Cell>> {
    let script = |path: &str| {
        let mut command = Command::new("python3");
        command.arg(top().join(path));
        command
    };
    let mut command = match &reader.language {
        Language::Rust(machine) => machine.command(program(machine)),
        Language::C(..) => script("tests/machines/reader/against.py"),
        Language::Python => script("tests/reader/machine.py"),
    };
    command.arg("read").arg(top().join("vectors")).args(all.iter().map(|written| &written.folder));
    if let Language::C(machine, program) = &reader.language {
        command.arg("--").args(machine.runner()).arg(program);
    }
    let output = command.output()?;
    for difference in String::from_utf8_lossy(&output.stderr).lines() {
        println!("DIFFERENCE on {}: {difference}", reader.name);
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let cells: Option<Vec<Cell>> = said.lines().map(cell).collect();
    cells.filter(|cells| cells.len() == all.len()).ok_or_else(|| {
        format!("{}: expected {} lines of counts, found {said:?}, {}", reader.name, all.len(), output.status).into()
    })
}

/// A line that begins with how many agreed, of how many.
fn cell(line: &str) -> Option<Cell> {
    let mut words = line.split_whitespace().map(str::parse);
    match (words.next()?, words.next()?) {
        (Ok(agreed), Ok(all)) => Some(Cell { agreed, all }),
        _ => None,
    }
}

/// Runs something for each of several, as many at a time as there are processors; the results in their order.
fn in_parallel<T: Sync, R: Send>(all: &[T], run: impl Fn(&T) -> Outcome<R> + Sync) -> Outcome<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(|| {
                while let Some((index, one)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, all.get(i)?)))
                {
                    let result = run(one).map_err(|error| error.to_string());
                    results.lock().expect("no panic elsewhere").push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no panic elsewhere");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result.map_err(Into::into)).collect()
}
