//! Failures as the user meets them: one line on standard error, a hint how to go on, and an exit status.

use isoform::{Class, Code, Error};
use std::io;
use std::process::ExitCode;

/// Why a command did not do what was asked.
pub(crate) enum Failure {
    /// Whoever read the output has seen enough. Nothing to report.
    Closed,
    /// What was shown or told before says what failed.
    Shown { status: u8 },
    /// Something to tell.
    Told { message: String, hint: Option<String>, status: u8 },
}

impl Failure {
    /// The data, or the comparison, failed.
    pub(crate) fn data(message: impl Into<String>) -> Failure {
        Failure::Told { message: message.into(), hint: None, status: 1 }
    }

    /// What was asked cannot be understood, or a source cannot be opened.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::Told { message: message.into(), hint: None, status: 2 }
    }

    /// The same failure, with a way to go on.
    pub(crate) fn hint(self, text: impl Into<String>) -> Failure {
        match self {
            Failure::Told { message, status, .. } => Failure::Told { message, hint: Some(text.into()), status },
            other => other,
        }
    }

    /// The same failure, with what it is about.
    pub(crate) fn about(self, subject: &str) -> Failure {
        match self {
            Failure::Told { message, hint, status } => {
                Failure::Told { message: format!("{subject}: {message}"), hint, status }
            }
            other => other,
        }
    }

    /// Tells the user, and gives the exit status.
    #[allow(clippy::print_stderr, reason = "this is where errors are printed")]
    pub(crate) fn report(self) -> ExitCode {
        let (message, hint, status) = match self {
            Failure::Told { message, hint, status } => (message, hint, status),
            Failure::Shown { status } => return ExitCode::from(status),
            Failure::Closed => return ExitCode::SUCCESS,
        };
        let hint = hint.map_or(String::new(), |hint| format!("  hint: {}\n", printable(&hint)));
        // In one piece, as other processes may have something to say, too.
        let lines = format!("isoform: {}\n{hint}", printable(&message));
        eprint!("{lines}");
        ExitCode::from(status)
    }
}

/// Tells the user something that is no failure, where it does not mix with the output.
#[allow(clippy::print_stderr, reason = "the output is for records")]
pub(crate) fn notice(text: &str) {
    let line = format!("-- {}\n", printable(text));
    eprint!("{line}");
}

/// What is quoted in an error comes from anywhere: none of it reaches the terminal as a command, or fills the screen.
fn printable(text: &str) -> String {
    let mut printable = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == LONG {
            printable.push_str(" ..");
            break;
        }
        if c.is_control() { printable.extend(c.escape_default()) } else { printable.push(c) }
    }
    printable
}

/// No line of an error is longer than this.
const LONG: usize = 1000;

/// What the operating system says, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// Tells the user what is wrong with the command line, or gives the help that was asked for.
#[allow(clippy::print_stderr, reason = "this is where errors are printed")]
pub(crate) fn report_usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    match text.strip_prefix("error: ") {
        Some(text) => eprint!("isoform: {text}"),
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
            Some(text) => failure.hint(text),
            None => failure,
        }
    }
}

/// A failure to write the output; what is read reports its failures as [`Error`].
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
        Code::Cut => "its writer has stopped or is still writing; `dump --follow` waits for the rest",
        Code::UnknownFormat => {
            "put a stream that describes it in front, as in `cat described.iso this.iso | isoform dump -`"
        }
        Code::MessageSize => "`dump --max-message BYTES` shows larger ones too",
        Code::NotAMessage => "a stream begins with the bytes 89 49 53 4f, and each message at a multiple of 16",
        Code::Version | Code::Flags => "it was written by a newer version: update this command",
        Code::NoSuchField | Code::WrongType => {
            "`isoform format` lists the fields; SOURCE#NAME chooses one of several formats"
        }
        Code::Internal => "this is a defect: please report it",
        _ => return None,
    })
}
