//! Makes a book of the documents, `target/book/html`, which needs no network; and the documentation of the crates,
//! `target/doc`.
//!
//! The pages stay in their folders: guides in `docs/book`, the specification in `spec`. mdBook wants one folder. So
//! they are copied to `target/book/pages`, in the same places relative to each other, and their links remain valid.
//! Files that a page links to, such as a licence or a source, are copied as well.

use crate::documents::{SUMMARY, resolve};
use crate::shell::{command, quietly, target};
use crate::{Outcome, markdown, tools};
use std::path::{Path, PathBuf};
use std::process::Command;

const SETTINGS: &str = "docs/book/book.toml";

pub(crate) fn build() -> Outcome {
    let book = target().join("book");
    let pages = book.join("pages");
    if pages.exists() {
        std::fs::remove_dir_all(&pages)?;
    }
    let text = std::fs::read_to_string(SUMMARY)?;
    for page in linked(Path::new(SUMMARY), &text) {
        copy(&page, &pages)?;
        for other in linked(&page, &std::fs::read_to_string(&page)?) {
            copy(&other, &pages)?;
        }
    }
    std::fs::write(pages.join("SUMMARY.md"), from_the_top(&text))?;
    std::fs::copy(SETTINGS, book.join("book.toml"))?;
    quietly(Command::new(tools::MDBOOK.installed()?).arg("build").arg(&book))?;
    quietly(&mut command("cargo doc --workspace --no-deps --locked --quiet"))?;
    println!("book: {}", book.join("html/index.html").display());
    println!("crates: {}", target().join("doc/isoform/index.html").display());
    Ok(())
}

/// The files of this repository that a page links to.
fn linked(page: &Path, text: &str) -> Vec<PathBuf> {
    let links = markdown::links(text).into_iter();
    links.filter_map(|link| Some(resolve(page, &text[link.target])?.0)).filter(|path| path.is_file()).collect()
}

fn copy(file: &Path, folder: &Path) -> Outcome {
    let copied = folder.join(file);
    std::fs::create_dir_all(copied.parent().expect("a folder"))?;
    std::fs::copy(file, copied)?;
    Ok(())
}

/// The contents, with paths from the top of the repository, which mdBook uses as the top of the book.
fn from_the_top(text: &str) -> String {
    let mut moved = text.to_owned();
    for link in markdown::links(text).iter().rev() {
        if let Some((path, _)) = resolve(Path::new(SUMMARY), &text[link.target.clone()]) {
            moved.replace_range(link.target.clone(), &path.display().to_string());
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_told_from_the_top() {
        assert_eq!(
            from_the_top("- [A](guides/c.md)\n- [B](../../b.md)\n"),
            "- [A](docs/book/guides/c.md)\n- [B](b.md)\n"
        );
    }
}
