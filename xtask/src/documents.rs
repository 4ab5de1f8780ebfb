//! Checks what Markdown files say of each other: every relative link leads to a file, and to a heading in it; every path of
//! a document that any file names exists; `docs/book/SUMMARY.md` lists every page once.

use crate::{Outcome, markdown};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

pub(crate) const SUMMARY: &str = "docs/book/SUMMARY.md";
/// All pages in these folders belong to the book.
const PAGES: [&str; 2] = ["docs", "spec"];
/// Folders that are not checked.
const LEFT_OUT: [&str; 6] = ["target", ".git", "corpus", "artifacts", "node_modules", "__pycache__"];

pub(crate) fn check() -> Outcome {
    let files = files(Path::new("."))?;
    let mut texts = BTreeMap::new();
    for file in files {
        if let Ok(text) = std::fs::read_to_string(&file) {
            texts.insert(file, text);
        }
    }
    let documents: BTreeMap<&Path, &str> =
        texts.iter().filter(|(path, _)| is_document(path)).map(|(path, text)| (&**path, &**text)).collect();
    let mut faults = Vec::new();
    for (path, text) in &documents {
        faults.extend(dead_links(path, text, &documents));
    }
    for (path, text) in &texts {
        faults.extend(dead_mentions(path, text));
    }
    faults.extend(contents(&documents)?);
    for fault in &faults {
        eprintln!("{fault}");
    }
    match faults.len() {
        0 => println!("links: {} documents, every link leads somewhere", documents.len()),
        count => return Err(format!("{count} links or pages are at fault").into()),
    }
    Ok(())
}

/// The file that a link of a document leads to, if it leads to one of this repository; and the heading.
pub(crate) fn resolve<'a>(document: &Path, link: &'a str) -> Option<(PathBuf, Option<&'a str>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let folder = document.parent().unwrap_or(Path::new(""));
    let path = if path.is_empty() { document.to_path_buf() } else { normal(&folder.join(path)) };
    Some((path, heading))
}

/// A path without `.` and `..`, as far as it stays within the repository.
fn normal(path: &Path) -> PathBuf {
    let mut kept = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if kept.pop() => {}
            part => kept.push(part),
        }
    }
    kept
}

fn dead_links(document: &Path, text: &str, documents: &BTreeMap<&Path, &str>) -> Vec<String> {
    let mut faults = Vec::new();
    for link in markdown::links(text) {
        let target = &text[link.target];
        let Some((path, heading)) = resolve(document, target) else { continue };
        let place = format!("{}:{}", document.display(), link.line);
        if !path.is_file() {
            faults.push(format!("{place}: {target} leads to no file"));
        } else if let Some(heading) = heading
            && !documents.get(&*path).is_some_and(|text| markdown::anchors(text).iter().any(|anchor| anchor == heading))
        {
            faults.push(format!("{place}: {target} leads to no heading"));
        }
    }
    faults
}

/// Paths of documents in comments, messages and text, as they stand from the top of the repository.
fn dead_mentions(file: &Path, text: &str) -> Vec<String> {
    let part_of_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for word in line.split(|c| !part_of_path(c)) {
            let is_mention =
                PAGES.iter().any(|folder| word.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')));
            // NAME stands for a name.
            if is_mention && word.ends_with(".md") && !word.contains("NAME") && !Path::new(word).is_file() {
                faults.push(format!("{}:{}: there is no {word}", file.display(), number + 1));
            }
        }
    }
    faults
}

fn contents(documents: &BTreeMap<&Path, &str>) -> Outcome<Vec<String>> {
    let summary = Path::new(SUMMARY);
    let text = documents.get(summary).ok_or(format!("{SUMMARY} is missing"))?;
    let links = markdown::links(text).into_iter();
    let listed: Vec<PathBuf> = links.filter_map(|link| Some(resolve(summary, &text[link.target])?.0)).collect();
    let pages =
        documents.keys().filter(|path| **path != summary && PAGES.iter().any(|folder| path.starts_with(folder)));
    let missing = pages.filter(|page| !listed.iter().any(|path| path == *page));
    let mut faults: Vec<String> = missing.map(|page| format!("{SUMMARY} does not list {}", page.display())).collect();
    for (at, path) in listed.iter().enumerate() {
        if listed[..at].contains(path) {
            faults.push(format!("{SUMMARY} lists {} twice", path.display()));
        }
    }
    Ok(faults)
}

fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// Every file below a folder that is ours.
fn files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = normal(&entry.path());
        if LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            continue;
        } else if entry.file_type()?.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_where_they_stand() {
        let from = Path::new("docs/book/guides/c.md");
        assert_eq!(resolve(from, "../../../spec/errors.md#a"), Some(("spec/errors.md".into(), Some("a"))));
        assert_eq!(resolve(from, "#here"), Some((from.into(), Some("here"))));
        assert_eq!(resolve(from, "https://example.org/x.md"), None);
    }

    #[test]
    fn dead_ends_are_found() {
        let text = "[a](no.md) [b](#here) [c](#there)\n# Here\n";
        let path = Path::new("docs").join("made-up.md");
        let path = path.as_path();
        let documents = BTreeMap::from([(path, text)]);
        let faults = dead_links(path, text, &documents);
        assert_eq!(faults.len(), 3, "the file of a made-up heading is missing as well: {faults:?}");
        assert_eq!(dead_mentions(path, concat!("see doc", "s/no.md, not xdocs/no.md")).len(), 1);
        assert_eq!(contents(&BTreeMap::from([(Path::new(SUMMARY), ""), (path, text)])).unwrap().len(), 1);
    }
}
