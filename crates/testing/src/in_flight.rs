//! The current task of a program, for crashes of the whole process.

use std::fmt::Display;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;

/// A file with the current task of a program's worker. It is removed when the worker is done, so a remaining file names
/// the cause of a crash. There is none under Miri, and none if it cannot be created.
///
/// ```
/// let in_flight = isoform_testing::InFlight::new("example", 0);
/// in_flight.is("mutant 1 7");
/// ```
pub struct InFlight(Option<(PathBuf, File)>);

impl InFlight {
    /// The file of this worker, in the directory for temporary files: `PROGRAM-PROCESS-WORKER`. It is made anew, and never
    /// one that is there already, which may be a link that somebody else has put there; another number is added then.
    pub fn new(program: &str, worker: u64) -> InFlight {
        if cfg!(miri) {
            return InFlight(None);
        }
        let name = format!("{program}-{}-{worker}", std::process::id());
        let names = std::iter::once(name.clone()).chain((1..100).map(|more| format!("{name}-{more}")));
        InFlight(names.map(|name| std::env::temp_dir().join(name)).find_map(|path| {
            let file = File::options().write(true).create_new(true).open(&path).ok()?;
            Some((path, file))
        }))
    }

    /// Writes the current task of the worker.
    pub fn is(&self, what: impl Display) {
        if let Some((_, file)) = &self.0 {
            let mut file = file;
            let _ = file.rewind().and_then(|()| writeln!(file, "{what:<60}"));
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(all(test, unix, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn what_a_link_leads_to_is_left_alone() {
        let (directory, process) = (std::env::temp_dir(), std::process::id());
        let target = directory.join(format!("isoform-target-{process}"));
        let link = directory.join(format!("isoform-linked-{process}-7"));
        std::fs::write(&target, "precious").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let in_flight = InFlight::new("isoform-linked", 7);
        in_flight.is("at work");
        let path = in_flight.0.as_ref().map(|(path, _)| path.clone()).unwrap();
        assert!(path != link && std::fs::read_to_string(&path).unwrap().starts_with("at work"));
        drop(in_flight);
        let left = std::fs::read_to_string(&target).unwrap();
        std::fs::remove_file(&link).unwrap();
        std::fs::remove_file(&target).unwrap();
        assert!(left == "precious" && !path.exists());
    }
}
