//! Documents on disk: one file for each address, which tells by itself whether it is whole.

use super::http::Document;
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// The first line of a file.
const FIRST: &str = "isoform document 1";
/// Bytes of the lines before the text.
const MAX_HEAD: u64 = 16 << 10;

#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(super) fn new(folder: PathBuf) -> Cache {
        Cache { folder }
    }

    fn path(&self, url: &str) -> PathBuf {
        let hash = blake3::hash(url.as_bytes()).to_hex();
        self.folder.join(&hash[..32])
    }

    /// The document of an address. A file that is torn, or of another address, is as good as none.
    pub(super) fn find(&self, url: &str) -> Option<Document> {
        let path = self.path(url);
        if !fs::symlink_metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut content = String::new();
        let file = fs::File::open(path).ok()?.take(MAX_HEAD + super::MAX_BYTES as u64);
        { file }.read_to_string(&mut content).ok()?;
        let (head, text) = content.split_once("\n\n")?;
        let mut lines = head.lines();
        let is_whole = lines.next() == Some(FIRST)
            && lines.next() == Some(url)
            && lines.next() == Some(blake3::hash(text.as_bytes()).to_hex().as_str());
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        is_whole.then(|| Document { text: text.to_owned(), tag: field("etag: "), modified: field("modified: ") })
    }

    /// Stores a document. Whoever reads meanwhile has the old one or the new one.
    pub(super) fn keep(&self, url: &str, document: &Document) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = self.folder.join(format!(".{}-{number}", std::process::id()));
            let mut file = fs::File::options().write(true).create_new(true).open(&path)?;
            let hash = blake3::hash(document.text.as_bytes()).to_hex();
            let mut head = format!("{FIRST}\n{url}\n{hash}\n");
            for (name, value) in [("etag", &document.tag), ("modified", &document.modified)] {
                if let Some(value) = value {
                    head += &format!("{name}: {value}\n");
                }
            }
            let written = file.write_all(head.as_bytes()).and_then(|()| file.write_all(b"\n")).and_then(|()| {
                file.write_all(document.text.as_bytes())?;
                fs::rename(&path, self.path(url))
            });
            if written.is_err() {
                let _ = fs::remove_file(&path);
            }
            written
        };
        // A cache that cannot be written is only slower.
        let _ = write();
    }
}
