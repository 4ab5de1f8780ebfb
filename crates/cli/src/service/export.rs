//! `isoform formats export`: all formats as a tree of files, which any web server can serve in place of the service.

use super::failed;
use super::formats::pages;
use crate::failure::{Failure, reason};
use crate::output::{Output, plural};
use isoform::core::{Resolver, text};
use isoform::{Format, Token};
use isoform_service::{Cache, Servers};
use std::io::Write;
use std::path::Path;

pub(super) fn run(servers: &Servers, folder: &Path, output: &mut Output) -> Result<(), Failure> {
    let formats = folder.join("formats");
    let cannot = |path: &Path, error: &std::io::Error| {
        Failure::data(format!("cannot write {}: {}", path.display(), reason(error)))
    };
    std::fs::create_dir_all(&formats).map_err(|error| cannot(&formats, &error))?;
    // A tree of files has the structure of a cache, which is written so that its readers never see half a file.
    let tree = Cache::new(&formats);
    let all = pages(servers, "formats", &[], "formats")?;
    for entry in &all {
        let token: Token = entry["token"].as_str().unwrap_or("").parse()?;
        let description = servers.resolve(token).map_err(failed)?;
        let json = formats.join(format!("{token}.json"));
        let is_written = tree.get(token).is_some() || tree.put(token, &description);
        if !is_written {
            return Err(Failure::data(format!("cannot write {}", formats.join(token.to_string()).display())));
        }
        let text = text::format::to_json(&Format::parse(&description)?);
        let new = formats.join(format!("{token}.json.new"));
        std::fs::write(&new, text)
            .and_then(|()| std::fs::rename(&new, &json))
            .map_err(|error| cannot(&json, &error))?;
    }
    writeln!(output, "{}: {}", formats.display(), plural(all.len(), "format"))?;
    Ok(())
}
