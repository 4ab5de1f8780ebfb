//! What a program is at, for when that takes the whole process with it.

use std::fmt::Display;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;

/// A file that says what one of a program's workers is at. It is removed when the worker is done, so that one that is left
/// has the reason of a crash. There is none under Miri, and none where it cannot be made.
///
/// ```
/// let in_flight = isoform_testing::InFlight::new("example", 0);
/// in_flight.is("mutant 1 7");
/// ```
pub struct InFlight(Option<(PathBuf, File)>);

impl InFlight {
    /// The file of this worker, in the directory for temporary files: `PROGRAM-PROCESS-WORKER`.
    pub fn new(program: &str, worker: u64) -> InFlight {
        if cfg!(miri) {
            return InFlight(None);
        }
        let path = std::env::temp_dir().join(format!("{program}-{}-{worker}", std::process::id()));
        InFlight(File::create(&path).ok().map(|file| (path, file)))
    }

    /// Says what the worker does now.
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
