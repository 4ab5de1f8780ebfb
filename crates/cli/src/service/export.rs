//! `isoform formats export`: all formats as a tree of files, which any web server can serve in place of the service.

use super::failed;
use crate::failure::{Failure, no_option};
use crate::output::{Output, plural};
use isoform_service::Servers;
use std::io::Write;
use std::path::Path;

pub(super) fn run(servers: &Servers, folder: &Path, output: &mut Output) -> Result<(), Failure> {
    let exported = servers.export(folder).map_err(failed)?;
    let formats = plural(usize::try_from(exported.formats).unwrap_or(usize::MAX), "format");
    writeln!(output, "{}: {formats}, {} new", no_option(&folder.join("formats")), exported.new)?;
    Ok(())
}
