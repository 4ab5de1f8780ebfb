//! A tree of files that any web server turns into a server of formats (`spec/service.md`, "The least that a server answers").

use super::cache::write;
use super::file::open;
use super::{Cache, Servers};
use isoform_core::text::format;
use isoform_core::{Code, Error, Format, Resolver, Result, Token};
use std::io::Read;
use std::path::Path;

/// Formats that are asked for at once.
const PAGE: usize = 1000;

/// What an export has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Formats that are in the tree now, of those that the server has.
    pub formats: u64,
    /// Formats of which the tree had no description, or a damaged one.
    pub new: u64,
}

impl Servers {
    /// Writes all formats of the first server into a folder: `formats/{token}` and `formats/{token}.json`. Whatever serves
    /// that folder as it is, such as nginx or an object store, is a read-only server.
    ///
    /// What the folder has already is checked and stays, so that a later export writes only what is new, and what is damaged.
    /// Each file is whole whenever others read it. Nothing is removed.
    ///
    /// # Errors
    /// What the server answers; [`Code::Io`] if it cannot be asked, or if the folder cannot be written.
    pub fn export(&self, folder: &Path) -> Result<Exported> {
        let (cache, mut exported, mut after) = (Cache::new(folder.join("formats")), Exported::default(), 0);
        loop {
            let answer = self.get(&format!("changes?after={after}&limit={PAGE}"))?;
            let changes = answer["changes"].as_array().ok_or_else(unfit)?;
            if changes.is_empty() {
                return Ok(exported);
            }
            for change in changes {
                let token: Token = change["token"].as_str().ok_or_else(unfit)?.parse()?;
                exported.new += u64::from(self.export_one(token, &cache)?);
                exported.formats += 1;
                after = change["sequence"].as_u64().filter(|&sequence| sequence > after).ok_or_else(unfit)?;
            }
        }
    }

    /// Whether the description is new.
    fn export_one(&self, token: Token, cache: &Cache) -> Result<bool> {
        let name = format!("{token}.json");
        let known = cache.get(token);
        let is_new = known.is_none();
        let description = known.map_or_else(|| self.resolve(token), Ok)?;
        let json = format::to_json(&Format::parse(&description)?);
        // The description comes last: whoever finds it finds the other one, too.
        let written = match has(&cache.folder().join(&name), json.as_bytes()) {
            true => Ok(()),
            false => write(cache.folder(), &name, json.as_bytes()),
        };
        written
            .and_then(|()| if is_new { write(cache.folder(), &token.to_string(), &description) } else { Ok(()) })
            .map_err(|error| {
                let expected = format_args!("to write {}", cache.folder().display());
                Error::new(Code::Io).expected(expected).found(error)
            })?;
        Ok(is_new)
    }
}

/// Whether a file has these bytes.
fn has(file: &Path, bytes: &[u8]) -> bool {
    let mut found = Vec::new();
    let read = open(file).and_then(|file| file.take(bytes.len() as u64 + 1).read_to_end(&mut found));
    read.is_ok() && found == bytes
}

fn unfit() -> Error {
    Error::new(Code::Text).expected("a list of changes")
}
