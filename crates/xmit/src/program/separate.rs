//! Finds the files that have the debug information of a program: one that `objcopy --only-keep-debug` made, files that the
//! compiler split from its objects, packages of these, and what `dwz` moved to a file that several programs share. A file is taken only if it says that it belongs to the program. `file` and
//! `units` read them.

use super::MAX_PROGRAM;
use super::expand::Budget;
use super::file::{File, Separate, unusable};
use super::units::{Split, Units};
use isoform_core::{Code, Error, Layout, Result};
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How many files a program may be split into.
const MAX_SPLIT: usize = 1 << 16;

/// Reads files beside a program. All of them together are no larger than a program may be.
pub(super) struct Beside<'p> {
    program: &'p Path,
    folders: &'p [PathBuf],
    left: u64,
}

impl<'p> Beside<'p> {
    pub(super) fn new(program: &'p Path, folders: &'p [PathBuf]) -> Beside<'p> {
        Beside { program, folders, left: MAX_PROGRAM }
    }

    /// The bytes of a file; `None` if there is none.
    fn read(&mut self, path: &Path) -> Result<Option<Vec<u8>>> {
        // Opening a pipe that nobody writes would wait for ever.
        if !std::fs::metadata(path).is_ok_and(|about| about.is_file()) {
            return Ok(None);
        }
        let bytes = read(path, self.left)?;
        self.left -= bytes.len() as u64;
        Ok(Some(bytes))
    }

    fn folder(&self) -> &Path {
        self.program.parent().unwrap_or(Path::new(""))
    }

    /// The file with the debug information of a program that has none itself, and its path.
    pub(super) fn debug(&mut self, of: &File, budget: &mut Budget) -> Result<Option<(File, PathBuf)>> {
        for (path, sum) in self.places(&of.separate) {
            let Some(bytes) = self.read(&path)? else { continue };
            if sum.is_some_and(|sum| sum != check_sum(&bytes)) {
                continue;
            }
            let at = |error: Error| error.at(path.display().to_string());
            let file = File::read(&bytes, budget).map_err(at)?;
            let is_same = sum.is_some() || file.separate.build_id == of.separate.build_id;
            if is_same && !file.is_bare() && file.layout == of.layout {
                return Ok(Some((file, path)));
            }
        }
        Ok(None)
    }

    /// The debug information that a program shares with others. `path` is that of the file which refers to it.
    pub(super) fn shared(
        &mut self,
        stated: &str,
        id: &[u8],
        path: Option<&Path>,
        layout: &Layout,
        budget: &mut Budget,
    ) -> Result<Option<super::file::Sections>> {
        let path = path.unwrap_or(self.program);
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
        let stated = Path::new(stated);
        let mut places = vec![real.parent().unwrap_or(Path::new("")).join(stated)];
        places.extend(self.folders.iter().map(|folder| folder.join(by_id(id))));
        places.extend(stated.file_name().map(|name| self.folder().join(name)));
        for path in places {
            let Some(bytes) = self.read(&path)? else { continue };
            let file = File::read(&bytes, budget).map_err(|error| error.at(path.display().to_string()))?;
            if file.separate.build_id.as_deref() == Some(id) && file.layout == *layout {
                return Ok(Some(file.sections));
            }
        }
        Ok(None)
    }

    /// Where such a file may be: by its build id, and by the name and the check sum that the program has of it.
    fn places(&self, separate: &Separate) -> Vec<(PathBuf, Option<u32>)> {
        let mut all = Vec::new();
        if let Some(id) = &separate.build_id {
            all.extend(self.folders.iter().map(|folder| (folder.join(by_id(id)), None)));
        }
        if let Some((name, sum)) = &separate.link
            && Path::new(&**name).file_name().is_some_and(|last| last == &**name)
        {
            let own = self.folder();
            all.extend([own.join(&**name), own.join(".debug").join(&**name)].map(|path| (path, Some(*sum))));
            if let Ok(absolute) = std::fs::canonicalize(self.program)
                && let Some(Ok(below)) = absolute.parent().map(|folder| folder.strip_prefix("/"))
            {
                all.extend(self.folders.iter().map(|folder| (folder.join(below).join(&**name), Some(*sum))));
            }
        }
        all
    }

    /// Adds what is split from units: from the package beside the program, and from one file each.
    pub(super) fn split(&mut self, units: &mut Units, layout: &Layout, budget: &mut Budget) -> Result<()> {
        let mut wanted = units.split()?;
        if wanted.is_empty() {
            return Ok(());
        }
        let mut package = self.program.as_os_str().to_owned();
        package.push(".dwp");
        if let Some(bytes) = self.read(Path::new(&package))? {
            let at = |error: Error| error.at(Path::new(&package).display().to_string());
            units.add(sections(&bytes, layout, budget).map_err(at)?).map_err(at)?;
            let all = wanted.len();
            wanted.retain(|split| !units.has(split.id));
            if wanted.len() == all {
                return Err(at(unusable("debug information of another compilation")));
            }
        }
        let mut known = HashSet::new();
        wanted.retain(|split| known.insert(split.id));
        if wanted.len() > MAX_SPLIT {
            return Err(Error::new(Code::MessageSize)
                .at("program")
                .expected(format_args!("at most {MAX_SPLIT} files")));
        }
        for split in wanted {
            if !self.add(units, &split, layout, budget)? {
                units.lacks(split.file);
            }
        }
        Ok(())
    }

    /// Adds the file that is split from a unit, and says whether it is there.
    fn add(&mut self, units: &mut Units, split: &Split, layout: &Layout, budget: &mut Budget) -> Result<bool> {
        let stated = Path::new(&*split.file);
        let compiled = Path::new(split.folder.as_deref().unwrap_or("")).join(stated);
        // The program may be on another machine than its compiler was.
        let moved = stated.file_name().map(|name| self.folder().join(name));
        for path in [Some(compiled), moved].into_iter().flatten() {
            let Some(bytes) = self.read(&path)? else { continue };
            let at = |error: Error| error.at(path.display().to_string());
            units.add(sections(&bytes, layout, budget).map_err(at)?).map_err(at)?;
            return match units.has(split.id) {
                true => Ok(true),
                false => Err(at(unusable("debug information of another compilation"))),
            };
        }
        Ok(false)
    }
}

/// The name of a file with debug information in a folder of these, by a build id of at least two bytes.
fn by_id(id: &[u8]) -> String {
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(".build-id/{}/{}.debug", &hex[..2], &hex[2..])
}

/// The sections of a file that is split from a program.
fn sections(bytes: &[u8], layout: &Layout, budget: &mut Budget) -> Result<super::file::Sections> {
    let file = File::read(bytes, budget)?;
    match file.sections.is_split && file.layout == *layout {
        true => Ok(file.sections),
        false => Err(unusable("no debug information that is split from this program")),
    }
}

/// The bytes of a file.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let at = |error: Error| error.at(path.display().to_string());
    let io = |error: std::io::Error| at(Error::new(Code::Io).found(error));
    let file = std::fs::File::open(path).map_err(io)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(io)?;
    match bytes.len() as u64 > most {
        true => Err(at(Error::new(Code::MessageSize).expected(format_args!("at most {most} bytes")))),
        false => Ok(bytes),
    }
}

/// The check sum (CRC-32) by which a program knows its debug information.
fn check_sum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut sum, mut bit) = (byte as u32, 0);
            while bit < 8 {
                sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
                bit += 1;
            }
            table[byte] = sum;
            byte += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |sum: u32, &byte| sum >> 8 ^ TABLE[usize::from(sum as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    /// The value that the standard of this check sum gives.
    #[test]
    fn the_check_sum_is_the_usual_one() {
        assert_eq!(super::check_sum(b"123456789"), 0xcbf4_3926);
    }
}
