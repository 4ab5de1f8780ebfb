//! `isoform serve`: a format service, until it is interrupted.

use crate::args::service::Serve;
#[cfg(unix)]
use crate::channel::stop::Stop;
use crate::failure::{Failure, notice, reason};
use crate::output::{Output, plural};
use isoform::{Code, Error};
use isoform_service::server::{self, Contents, Options};
use std::collections::BTreeSet;
use std::panic::PanicHookInfo;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
#[cfg(unix)]
use std::time::{Duration, Instant};

pub(crate) fn run(arguments: &Serve, _: &mut Output) -> Result<(), Failure> {
    let options = options(arguments)?;
    if arguments.once {
        return once(arguments, &options);
    }
    #[cfg(unix)]
    let stop = Stop::new()?;
    let protected = options.protects_writes();
    let (tell, told) = channel();
    let options = options.telling(move |news: &str| _ = tell.send(news.to_owned()));
    let server = quietly(|| server::start(options)).map_err(cannot)?;
    std::panic::set_hook(Box::new(report_panic));
    notice(&format!("{} has {}, in {}", server.url(), counted(server.contents()?), store(arguments)?.display()));
    if !protected && !server.address().ip().is_loopback() {
        notice("anyone who can connect can register formats");
    }
    // From here on, news of peers is printed: the URL comes first.
    std::thread::spawn(move || told.iter().for_each(|news: String| notice(&news)));
    #[cfg(unix)]
    while stop.sleep_until(Instant::now() + Duration::from_secs(3600)) {}
    #[cfg(not(unix))]
    loop {
        std::thread::park(); // Ctrl-C ends the process; what was answered is on disk
    }
    #[cfg(unix)]
    Ok(())
}

/// Does the work, and prints no message if that panics. The database panics if its file is damaged, and the error that follows says it better.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let done = work();
    std::panic::set_hook(loud);
    done
}

/// Says that a request has panicked, once for each place in the code: most often, the database has. The service catches the panic, and the
/// client gets an error.
fn report_panic(panic: &PanicHookInfo<'_>) {
    static PLACES: Mutex<BTreeSet<(String, u32)>> = Mutex::new(BTreeSet::new());
    let place = panic.location().map(|place| (place.file().to_owned(), place.line()));
    let is_new = PLACES.lock().unwrap_or_else(PoisonError::into_inner).insert(place.unwrap_or_default());
    if is_new {
        let found = panic.payload_as_str().unwrap_or("no reason was told").lines().next().unwrap_or_default();
        notice(&format!(
            "cannot answer all requests: the store is damaged, so restore a backup; or isoform has a defect ({found})"
        ));
    }
}

/// A backup: what the peers have, in a store of this machine.
fn once(arguments: &Serve, options: &Options) -> Result<(), Failure> {
    if arguments.peer.is_empty() && arguments.names_from.is_none() {
        return Err(Failure::usage("--once copies from other servers, and none is named")
            .hint("--peer URL copies formats, --names-from URL copies names"));
    }
    let copied = quietly(|| server::copy(options)).map_err(cannot)?;
    notice(&format!("the store has {}", counted(copied)));
    Ok(())
}

fn options(arguments: &Serve) -> Result<Options, Failure> {
    let mut options = Options::new(store(arguments)?).listen(arguments.listen);
    if let Some(chain) = &arguments.certificate {
        options = options.certificate(chain, arguments.key.as_ref().unwrap_or(chain));
    }
    type Set = fn(Options, PathBuf) -> Options;
    for (file, set) in [
        (&arguments.clients, Options::clients as Set),
        (&arguments.write_secret, Options::write_secret),
        (&arguments.read_secret, Options::read_secret),
        (&arguments.peer_secret, Options::peer_secret),
        (&arguments.peer_trust, Options::peer_trust),
    ] {
        if let Some(file) = file {
            options = set(options, file.clone());
        }
    }
    options = arguments.peer.iter().fold(options, |options, peer| options.peer(peer));
    if let Some(url) = &arguments.names_from {
        options = options.names_from(url);
    }
    if arguments.read_only {
        options = options.read_only();
    }
    if arguments.insecure {
        options = options.insecure();
    }
    Ok(options)
}

/// The file that keeps the formats.
fn store(arguments: &Serve) -> Result<PathBuf, Failure> {
    arguments.store.clone().map_or_else(default_store, Ok)
}

/// The store in the user's folder of data.
fn default_store() -> Result<PathBuf, Failure> {
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = data.or_else(|| crate::surroundings::home().map(|home| home.join(".local/share")));
    let folder = folder.ok_or_else(|| {
        Failure::usage("this user has no home").hint("--store FILE names the file that keeps the formats")
    })?;
    let folder = folder.join("isoform");
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::usage(format!("cannot make {}: {}", folder.display(), reason(&error))))?;
    Ok(folder.join("formats.redb"))
}

fn counted(contents: Contents) -> String {
    let count = |count: u64, thing| plural(usize::try_from(count).unwrap_or(usize::MAX), thing);
    format!("{} and {}", count(contents.formats, "format"), count(contents.names, "name"))
}

fn cannot(error: Error) -> Failure {
    let (code, is_of_store) = (error.code(), error.expectation().starts_with("to open the store"));
    let failure = Failure::usage(error.to_string());
    match code {
        Code::Taken => {
            failure.hint("another program has this port, or another server this store; --listen and --store")
        }
        Code::Io if is_of_store => failure.hint(
            "--store names a file that `isoform serve` has made, or one that is not there yet, in a folder that is",
        ),
        Code::Insecure => failure.hint("`isoform help serve` shows how other machines are served"),
        _ => failure,
    }
}
