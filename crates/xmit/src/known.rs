//! Documents that a program has read before: what they declare, found by the hash of their text.

use crate::declaration::Declarations;
use crate::documents::{Documents, Loader, MAX_BYTES};
use crate::front::{self, Language};
use isoform_core::{Code, Error, Format, Layout, Result};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The most documents that are kept; all their texts have at most [`MAX_BYTES`]. The oldest make room for the next.
const MAX_KNOWN: usize = 64;

/// Documents that a program has read, by the hash of their text, with the formats that it has bound. A text that is known is not
/// read again; a text that differs in one byte is another document.
///
/// A document that includes others is known if these are the same, too: the loader is asked for each.
///
/// ```
/// use isoform_core::Layout;
/// use isoform_xmit::{Alone, Known, Language};
/// let mut known = Known::new();
/// let text = "struct Gauge { long step; double level; };";
/// let first = known.bind(Language::Idl, "river.idl", text, "Gauge", &Layout::NATIVE, &mut Alone)?;
/// let again = known.bind(Language::Idl, "river.idl", text, "Gauge", &Layout::NATIVE, &mut Alone)?;
/// assert_eq!(first.token(), again.token());
/// let changed = text.replace("long", "short");
/// let other = known.bind(Language::Idl, "river.idl", &changed, "Gauge", &Layout::NATIVE, &mut Alone)?;
/// assert_ne!(first.token(), other.token());
/// # Ok::<(), isoform_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Its key is random, so strangers cannot write documents that have the same hash.
    hasher: RandomState,
    documents: HashMap<u64, Document>,
    order: VecDeque<u64>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Document {
    language: Language,
    /// Its name, from which some languages take names of records and places of other documents.
    name: Box<str>,
    text: Box<str>,
    declarations: Arc<Declarations>,
    /// The names and texts of the documents that it needs.
    needs: Vec<(String, String)>,
    formats: HashMap<Box<str>, Vec<(Layout, Format)>>,
}

impl Document {
    fn bytes(&self) -> usize {
        self.text.len() + self.needs.iter().map(|(_, text)| text.len()).sum::<usize>()
    }

    /// Whether the documents that it needs are the same as before.
    fn is_still(&self, loader: &mut dyn Loader) -> Result<bool> {
        for (name, text) in &self.needs {
            if loader.load(name)? != *text {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Known {
    /// Knows nothing yet.
    pub fn new() -> Known {
        Known::default()
    }

    /// What a document declares, as [`Declarations::read`] says.
    ///
    /// # Errors
    /// As [`Declarations::read`]. What cannot be read is not kept.
    pub fn declarations(
        &mut self,
        language: Language,
        name: &str,
        text: &str,
        loader: &mut dyn Loader,
    ) -> Result<Arc<Declarations>> {
        Ok(self.document(language, name, text, loader)?.declarations.clone())
    }

    /// The format of a record that a document declares, as [`Declarations::bind`] says.
    ///
    /// # Errors
    /// As [`Declarations::read`] and [`Declarations::bind`].
    pub fn bind(
        &mut self,
        language: Language,
        name: &str,
        text: &str,
        record: &str,
        layout: &Layout,
        loader: &mut dyn Loader,
    ) -> Result<Format> {
        let document = self.document(language, name, text, loader)?;
        let bound = document.formats.get(record).and_then(|formats| formats.iter().find(|(on, _)| on == layout));
        if let Some((_, format)) = bound {
            return Ok(format.clone());
        }
        let format = document.declarations.bind(record, layout)?;
        document.formats.entry(record.into()).or_default().push((*layout, format.clone()));
        Ok(format)
    }

    fn document(
        &mut self,
        language: Language,
        name: &str,
        text: &str,
        loader: &mut dyn Loader,
    ) -> Result<&mut Document> {
        let hash = self.hasher.hash_one((language, name, text));
        let is = |known: &Document| known.language == language && *known.name == *name && *known.text == *text;
        let is_known = match self.documents.get(&hash).filter(|known| is(known)) {
            Some(known) => known.is_still(loader)?,
            None => false,
        };
        if !is_known {
            let mut documents = Documents::new(name, text, loader)?;
            let declarations = Arc::new(front::declarations(language, &mut documents)?);
            let needs = documents.needed().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
            let (name, text) = (name.into(), text.into());
            self.keep(hash, Document { language, name, text, declarations, needs, formats: HashMap::new() });
        }
        self.documents.get_mut(&hash).ok_or_else(|| Error::new(Code::Internal).found("a document that was not kept"))
    }

    /// Keeps a document, which may be the only one: texts have a limit, too.
    fn keep(&mut self, hash: u64, document: Document) {
        self.bytes += document.bytes();
        if let Some(before) = self.documents.insert(hash, document) {
            self.bytes -= before.bytes();
            self.order.retain(|known| *known != hash);
        }
        self.order.push_back(hash);
        while self.order.len() > 1 && (self.order.len() > MAX_KNOWN || self.bytes > MAX_BYTES) {
            let oldest = self.order.pop_front().and_then(|oldest| self.documents.remove(&oldest));
            self.bytes -= oldest.map_or(0, |oldest| oldest.bytes());
        }
    }
}
