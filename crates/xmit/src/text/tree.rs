//! XML as a tree of elements in memory.

use super::write::{Escaped, Out};
use super::{Name, Tag};
use isoform_core::Result;
use std::fmt;

/// An element of an XML document, with what it holds. Displayed, it is the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its name.
    pub name: Name,
    /// The name with its prefix.
    qualified: Box<str>,
    /// Its attributes with their values, in their order; those that declare namespaces are in `declared`.
    pub attributes: Vec<(Name, Box<str>)>,
    /// The attributes as they are written.
    written: Vec<(Box<str>, Box<str>)>,
    /// The elements within it, and its text.
    pub content: Vec<Content>,
}

/// What an element holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An element.
    Element(Tree),
    /// Text.
    Text(Box<str>),
}

impl Tree {
    /// The elements directly within it.
    pub fn children(&self) -> impl Iterator<Item = &Tree> {
        self.content.iter().filter_map(|content| match content {
            Content::Element(tree) => Some(tree),
            Content::Text(_) => None,
        })
    }

    /// The text directly within it.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text(text) => Some(&**text),
            Content::Element(_) => None,
        });
        texts.collect()
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.qualified)?;
        for (name, value) in &self.written {
            write!(f, " {name}=\"{}\"", Escaped(value, true))?;
        }
        if self.content.is_empty() {
            return f.write_str("/>");
        }
        f.write_str(">")?;
        for content in &self.content {
            match content {
                Content::Element(tree) => tree.fmt(f)?,
                Content::Text(text) => Escaped(text, false).fmt(f)?,
            }
        }
        write!(f, "</{}>", self.qualified)
    }
}

/// Makes a tree of what is written.
#[derive(Default)]
pub(super) struct Builder {
    open: Vec<Tree>,
    done: Option<Tree>,
}

impl Builder {
    pub(super) fn done(self) -> Option<Tree> {
        self.done
    }
}

impl Out for Builder {
    fn start(&mut self, tag: &Tag) -> Result<()> {
        let (name, qualified) = (tag.name.clone(), tag.qualified.clone());
        self.open.push(Tree { name, qualified, attributes: Vec::new(), written: Vec::new(), content: Vec::new() });
        Ok(())
    }

    fn declare(&mut self, _: &str, declared: &[(Box<str>, Box<str>)]) -> Result<()> {
        if let Some(tree) = self.open.last_mut() {
            tree.written.extend_from_slice(declared);
        }
        Ok(())
    }

    fn attribute(&mut self, tag: &Tag, value: &str) -> Result<()> {
        if let Some(tree) = self.open.last_mut() {
            tree.attributes.push((tag.name.clone(), value.into()));
            tree.written.push((tag.qualified.clone(), value.into()));
        }
        Ok(())
    }

    fn nil(&mut self) -> Result<()> {
        if let Some(tree) = self.open.last_mut() {
            let name = Name { namespace: Some(super::write::INSTANCE.into()), local: "nil".into() };
            tree.attributes.push((name, "true".into()));
            tree.written.push(("xmlns:xsi".into(), super::write::INSTANCE.into()));
            tree.written.push(("xsi:nil".into(), "true".into()));
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<()> {
        if let Some(tree) = self.open.last_mut().filter(|_| !text.is_empty()) {
            tree.content.push(Content::Text(text.into()));
        }
        Ok(())
    }

    fn end(&mut self, _: &Tag) -> Result<()> {
        if let Some(tree) = self.open.pop() {
            match self.open.last_mut() {
                Some(outer) => outer.content.push(Content::Element(tree)),
                None => self.done = Some(tree),
            }
        }
        Ok(())
    }
}
