//! Failures as the user sees them: one line on standard error, a hint, and an exit status.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use isoform::text::is_hidden;
use isoform::{Class, Code, Error};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output has closed it. There is nothing to report.
    Closed,
    /// The failure was reported before.
    Shown { status: u8 },
    /// A failure to report.
    Told { message: String, hint: Option<String>, status: u8 },
}

impl Failure {
    /// An error in the data, or a negative result.
    pub(crate) fn data(message: impl Into<String>) -> Failure {
        Failure::Told { message: message.into(), hint: None, status: 1 }
    }

    /// An error in the command line, or a source that cannot be opened.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::Told { message: message.into(), hint: None, status: 2 }
    }

    /// Adds a hint.
    pub(crate) fn hint(self, text: impl Into<String>) -> Failure {
        match self {
            Failure::Told { message, status, .. } => Failure::Told { message, hint: Some(text.into()), status },
            other => other,
        }
    }

    /// The same failure, of a source that cannot be opened.
    pub(crate) fn of_source(self) -> Failure {
        match self {
            Failure::Told { message, hint, .. } => Failure::Told { message, hint, status: 2 },
            other => other,
        }
    }

    /// Puts the subject in front of the message, without the user and the password of a URL.
    pub(crate) fn about(self, subject: &str) -> Failure {
        let subject = without_user(subject);
        match self {
            Failure::Told { message, hint, status } => {
                Failure::Told { message: format!("{subject}: {message}"), hint, status }
            }
            other => other,
        }
    }

    /// Reports the failure to the user, and returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        let (message, hint, status) = match self {
            Failure::Told { message, hint, status } => (message, hint, status),
            Failure::Shown { status } => return ExitCode::from(status),
            Failure::Closed => return ExitCode::SUCCESS,
        };
        let hint = hint.map_or(String::new(), |hint| format!("  hint: {}\n", printable(&hint)));
        // In one piece, since other processes may write to standard error too.
        let lines = format!("isoform: {}\n{hint}", printable(&message));
        tell(&lines);
        ExitCode::from(status)
    }
}

/// Prints a message that is not a failure to standard error, apart from the output.
pub(crate) fn notice(text: &str) {
    let line = format!("-- {}\n", printable(text));
    tell(&line);
}

/// Writes to standard error, or nowhere if that takes nothing: the exit status tells enough.
fn tell(text: &str) {
    _ = io::stderr().write_all(text.as_bytes());
}

/// A source as messages show it: `xsd:http://..@HOST/river.xsd#Gauge` if its URL has a user, and perhaps a password. That may have any
/// characters, so everything in front of the last `@` of the URL is left out.
fn without_user(source: &str) -> String {
    let (scheme, rest) = source.split_at(source.find("://").map_or(0, |at| at + 3));
    let url = rest.split('#').next().unwrap_or_default();
    let has_user = !scheme.is_empty() && url.split(['/', '?']).next().unwrap_or_default().contains('@');
    match url.rfind('@').filter(|_| has_user) {
        Some(at) => format!("{scheme}..{}", &rest[at..]),
        None => source.into(),
    }
}

/// The path of a file as a person may give it to a command again: `./-rf.csv`, which is no option.
pub(crate) fn no_option(path: &Path) -> String {
    let shown = path.display().to_string();
    if shown.starts_with('-') && shown != "-" { format!("./{shown}") } else { shown }
}

/// Escapes quoted text and cuts it, since it may come from anywhere and must not control the terminal.
fn printable(text: &str) -> String {
    let mut printable = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == LONG {
            printable.push_str(" ..");
            break;
        }
        if is_hidden(c) { printable.extend(c.escape_default()) } else { printable.push(c) }
    }
    printable
}

/// The length at which a line of an error is cut.
const LONG: usize = 1000;

/// The message of an error of the operating system, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// The end that is wanted is in front of the beginning.
pub(crate) fn behind(from: impl Display, to: impl Display) -> Failure {
    Failure::usage(format!("--from {from} is behind --to {to}"))
}

/// Reports an error in the command line, or prints the requested help.
pub(crate) fn report_usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let is_file = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => Path::new(argument).exists(),
        _ => false,
    };
    let hint = match error.kind() == ErrorKind::UnknownArgument && is_file {
        true => "  hint: this command takes one file; give the others to commands of their own\n",
        false => "",
    };
    match text.strip_prefix("error: ") {
        // It quotes arguments, which a shell may have made of the names of files.
        Some(text) => {
            let lines = text.lines().fold(String::from("isoform: "), |all, line| all + &printable(line) + "\n");
            tell(&(lines + hint));
        }
        None => drop(error.print()),
    }
    ExitCode::from(error.exit_code() as u8)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let failure = match error.class() {
            Class::Usage => Failure::usage(error.to_string()),
            _ => Failure::data(error.to_string()),
        };
        match hint(error.code()) {
            _ if error.to_string().contains("Authorization: Bearer") => {
                failure.hint("ISOFORM_FORMATS_SECRET=FILE names the file with the secret")
            }
            Some(text) => failure.hint(text),
            None => failure,
        }
    }
}

/// A failure to write the output. Input reports its failures as [`Error`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::data(format!("cannot write the output: {}", reason(&error))),
        }
    }
}

fn hint(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::Cut => "the writer has stopped, or is still writing; `dump --follow` waits for the rest",
        Code::UnknownFormat => {
            "ISOFORM_FORMATS=URL names a format service, and ISOFORM_HOSTS=HOST lets this command ask the address that a stream names; or put a stream that describes the format in front: `cat described.iso this.iso | isoform dump -`"
        }
        Code::MessageSize => "`dump --max-message BYTES` shows larger messages too",
        Code::NotAMessage => "a stream begins with the bytes 89 49 53 4f, and each message is at a multiple of 16",
        Code::Version | Code::Flags => "a newer version wrote it: update this command",
        Code::NoSuchField => "`isoform format` lists the fields; SOURCE#NAME chooses one of several formats",
        Code::Internal => "this is a defect of Isoform: please report it",
        _ => return None,
    })
}
