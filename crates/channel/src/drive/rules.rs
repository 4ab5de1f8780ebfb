//! The file with the rules of a node.

use crate::transport::system;
use isoform::{Code, Error, Result};
use isoform_channel_proto::Rights;
use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;
use std::time::SystemTime;

/// The most bytes that are read of it. More are no rules.
const MOST: u64 = 1 << 20;

/// A file of rules: `docs/book/reference/rules.md`.
#[derive(Debug)]
pub(crate) struct RuleFile {
    path: PathBuf,
    /// The file that was read last.
    read: Option<Stamp>,
    /// The file at the last look.
    seen: Option<Stamp>,
}

/// The state of a file, which differs once its content does.
type Stamp = (SystemTime, u64, u64);

impl RuleFile {
    /// A file, which is there.
    ///
    /// # Errors
    /// [`Code::Io`] if it cannot be read, or others can change it; [`Code::Text`] with the line that is wrong.
    pub(crate) fn read(path: PathBuf) -> Result<(RuleFile, Rights)> {
        let mut file = RuleFile { path, read: None, seen: None };
        file.read = file.stamp();
        let rights = file.parse()?;
        Ok((file, rights))
    }

    /// The same for a file that may be missing.
    ///
    /// # Errors
    /// As [`read`](RuleFile::read).
    pub(crate) fn read_if_there(path: PathBuf) -> Result<(RuleFile, Option<Rights>)> {
        if path.symlink_metadata().is_ok() {
            return RuleFile::read(path).map(|(file, rights)| (file, Some(rights)));
        }
        Ok((RuleFile { path, read: None, seen: None }, None))
    }

    /// Reads the file again if it has changed, and has not changed since the last look: somebody may be writing it. `None`
    /// if there is nothing new. A file that was removed changes nothing, and neither does an empty one, which is an error.
    pub(crate) fn look(&mut self) -> Option<Result<Rights>> {
        let now = self.stamp();
        let before = std::mem::replace(&mut self.seen, now);
        if now.is_none() || now == self.read || now != before {
            return None;
        }
        self.read = now;
        if let Some((_, 0, _)) = now {
            let error = Error::new(Code::Text).at(self.path.display().to_string());
            return Some(Err(error.expected("a line of rules, such as deny anyone all on *").found("an empty file")));
        }
        Some(self.parse())
    }

    fn stamp(&self) -> Option<Stamp> {
        let about = std::fs::metadata(&self.path).ok()?;
        Some((about.modified().ok()?, about.len(), system::number(&about)))
    }

    fn parse(&self) -> Result<Rights> {
        let path = self.path.display().to_string();
        let failed = |error: io::Error| Error::new(Code::Io).at(path.clone()).found(format_args!("rules: {error}"));
        let file = system::to_read().open(&self.path).map_err(failed)?;
        if let Some(found) = system::is_changeable(&file.metadata().map_err(failed)?) {
            let expected = "a file of rules that only this user or the administrator can change";
            return Err(Error::new(Code::Io).at(path).expected(expected).found(found));
        }
        let mut text = String::new();
        match file.take(MOST).read_to_string(&mut text) {
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(Error::new(Code::Text).at(path).expected("rules in UTF-8"));
            }
            read => read.map_err(failed)?,
        };
        Rights::parse(&text).map_err(|error| {
            let at = [path, error.path().into()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
            error.at(at.join(", "))
        })
    }
}
