//! `isoform keys`: a small authority of the user's own. `authority` makes certificates; this file does what the commands say.

mod authority;

use crate::args::{Issue, What};
use crate::failure::{Failure, no_option, notice};
use crate::index::open_beside;
use crate::output::Output;
use authority::Authority;
use isoform_channel::Tls;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The files in the folder of the user's configuration. Nodes read the first and the second.
const IDENTITY: &str = "identity.pem";
const REVOKED: &str = "revoked.pem";
const AUTHORITY: &str = "authority.pem";
const ISSUED: &str = "issued";

/// The days for which the certificate of `init` is valid.
const DAYS: u32 = 365;

pub(crate) fn run(what: &What, output: &mut Output) -> Result<(), Failure> {
    match what {
        What::Init { name } => init(name.as_deref(), output),
        What::Issue(arguments) => issue(arguments, output),
        What::Install { file } => install(file, output),
        What::Show => show(output),
        What::Revoke { name } => revoke(name, output),
    }
}

fn init(name: Option<&str>, output: &mut Output) -> Result<(), Failure> {
    let folder = folder()?;
    let at = folder.join(AUTHORITY);
    if at.exists() {
        return Err(Failure::usage(format!("there is an authority already: {}", at.display()))
            .hint("`isoform keys issue HOST` makes a certificate for another host; remove the file to start again"));
    }
    let name = name.map_or_else(host, str::to_owned);
    make_folder(&folder)?;
    let authority = Authority::new(&name).map_err(failed)?;
    store(&at, &authority.to_pem())?;
    writeln!(output, "authority:   {} (keep it secret: it can issue certificates)", at.display())?;
    let identity = folder.join(IDENTITY);
    if identity.exists() {
        notice(&format!("{} is kept: its certificate was issued by another authority", identity.display()));
        notice("hosts with certificates of different authorities do not accept each other");
        return Ok(());
    }
    store(&identity, &new(&folder, &authority, &name, &[], DAYS)?)?;
    writeln!(output, "certificate: {} ({name}, for {DAYS} days)", identity.display())?;
    writeln!(output, "next, for another host: isoform keys issue HOST")?;
    Ok(())
}

fn issue(arguments: &Issue, output: &mut Output) -> Result<(), Failure> {
    let folder = folder()?;
    let authority = load(&folder)?;
    let name = &arguments.name;
    let file = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.pem")));
    if file.exists() {
        return Err(Failure::usage(format!("{} exists", no_option(&file)))
            .hint("remove it once it is installed on its host; or --output FILE writes another file"));
    }
    store(&file, &new(&folder, &authority, name, &arguments.host, arguments.days)?)?;
    let shown = no_option(&file);
    writeln!(
        output,
        "{shown}: certificate and key of {name}, for {} days. Whoever has this file can act as {name}.",
        arguments.days
    )?;
    writeln!(output, "next: scp {shown} {name}: && ssh {name} isoform keys install {shown} && rm {shown}")?;
    Ok(())
}

/// A certificate, noted as issued.
fn new(folder: &Path, authority: &Authority, name: &str, hosts: &[String], days: u32) -> Result<String, Failure> {
    if name.is_empty()
        || name.starts_with('-')
        || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/')
    {
        return Err(Failure::usage(format!("{name:?} is no name: a word without / that does not begin with - is one")));
    }
    let (serial, pem) = authority.issue(name, hosts, days).map_err(failed)?;
    let mut list = read(&folder.join(ISSUED)).unwrap_or_default();
    list += &format!("{serial} {name}\n");
    store(&folder.join(ISSUED), &list)?;
    Ok(pem)
}

fn install(file: &Path, output: &mut Output) -> Result<(), Failure> {
    let mut text = String::new();
    match file.to_str() {
        Some("-") => std::io::stdin().read_to_string(&mut text).map(drop),
        _ => fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text)).map(drop),
    }
    .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    let folder = folder()?;
    make_folder(&folder)?;
    let (identity, new) = (folder.join(IDENTITY), folder.join("identity.new"));
    store(&new, &text)?;
    // Nodes must never find one that they cannot use.
    let checked = Tls::new().certificate(&new).describe();
    let shown = checked.map_err(|error| {
        _ = fs::remove_file(&new);
        // The user knows only the file that was given.
        let error = error.to_string().replace(&*new.display().to_string(), &file.display().to_string());
        Failure::data(error).hint("install a file that `isoform keys issue` made")
    })?;
    fs::rename(&new, &identity).map_err(|error| unwritable(&identity, &error))?;
    writeln!(output, "{}\n{shown}", identity.display())?;
    if file.to_str() != Some("-") {
        notice(&format!("{} is not needed any more; remove it", no_option(file)));
    }
    Ok(())
}

fn show(output: &mut Output) -> Result<(), Failure> {
    let identity = std::env::var_os("ISOFORM_IDENTITY")
        .map_or_else(|| folder().map(|it| it.join(IDENTITY)), |it| Ok(it.into()))?;
    if !identity.exists() {
        return Err(Failure::data(format!("no certificate: {} is not there", identity.display()))
            .hint("`isoform keys init` makes an authority and a certificate; `isoform keys install` takes one from another host"));
    }
    writeln!(output, "{}\n{}", identity.display(), Tls::new().certificate(&identity).describe()?)?;
    let folder = folder()?;
    for (file, what) in [(AUTHORITY, "the authority itself"), (REVOKED, "revoked certificates")] {
        if folder.join(file).exists() {
            writeln!(output, "{what}: {}", folder.join(file).display())?;
        }
    }
    Ok(())
}

fn revoke(name: &str, output: &mut Output) -> Result<(), Failure> {
    let folder = folder()?;
    let authority = load(&folder)?;
    let list = read(&folder.join(ISSUED)).unwrap_or_default();
    let mut found = false;
    let mut lines = Vec::new();
    for line in list.lines() {
        let mut words: Vec<&str> = line.split(' ').collect();
        if words.get(1) == Some(&name) {
            found = true;
            if words.len() == 2 {
                words.push("revoked");
            }
        }
        lines.push(words.join(" "));
    }
    if !found {
        return Err(Failure::data(format!("no certificate was issued to {name} here")));
    }
    let revoked: Vec<&str> = lines.iter().filter_map(|line| line.strip_suffix(" revoked")?.split(' ').next()).collect();
    let at = folder.join(REVOKED);
    store(&at, &authority.revoke(&revoked).map_err(failed)?)?;
    store(&folder.join(ISSUED), &(lines.join("\n") + "\n"))?;
    let number = match revoked.len() {
        1 => "1 certificate is revoked".into(),
        more => format!("{more} certificates are revoked"),
    };
    writeln!(output, "{}: {number}. Copy this file to ~/.config/isoform of every host.", at.display())?;
    Ok(())
}

fn load(folder: &Path) -> Result<Authority, Failure> {
    let at = folder.join(AUTHORITY);
    let text = read(&at).map_err(|error| {
        Failure::usage(format!("no authority: {}: {error}", at.display())).hint(if folder.join(IDENTITY).exists() {
            "run this where you ran `isoform keys init`: the certificate of this host was issued there"
        } else {
            "`isoform keys init` makes one; one is enough for all of your hosts"
        })
    })?;
    Authority::from_pem(&text).map_err(|error| Failure::data(format!("{}: {error}", at.display())))
}

/// The text of a file in the folder.
fn read(path: &Path) -> std::io::Result<String> {
    std::io::read_to_string(open_beside(path)?)
}

fn folder() -> Result<PathBuf, Failure> {
    Tls::folder()
        .ok_or_else(|| Failure::usage("this user has no home").hint("XDG_CONFIG_HOME names a folder for configuration"))
}

fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "localhost".into() } else { name.to_lowercase() }
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| unwritable(folder, &error))
}

/// Writes a file that only this user can read, at once.
fn store(file: &Path, text: &str) -> Result<(), Failure> {
    let mut new = file.as_os_str().to_owned();
    new.push(".tmp");
    let new = PathBuf::from(new);
    _ = fs::remove_file(&new);
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    let written = written.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.and_then(|()| fs::rename(&new, file)).map_err(|error| unwritable(file, &error))
}

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: {error}", file.display()))
}

fn failed(error: rcgen::Error) -> Failure {
    Failure::usage(format!("making a certificate: {error}"))
}
