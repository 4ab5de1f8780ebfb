//! Tests which formats a registry keeps, forgets, refuses and asks for.

use super::table::length;
use super::*;
use crate::format::MAX_DESCRIPTION;
use crate::token::hashes;
use crate::{Code, Element, Field, Limits, Machine, Structure};

fn format(name: &str) -> Format {
    let element = Element::Integer { signed: true, size: 4 };
    let field = Field { name: "a".into(), element, dims: [].into(), indirect: false, offset: 0, unit: None };
    let structure = Structure::new(name, Machine::NATIVE, 4, 4, vec![field]).unwrap();
    Format::new(structure.into()).unwrap()
}

fn keeping(formats: usize) -> Registry {
    Registry::within(Limits { formats, ..Limits::default() })
}

fn learn(registry: &Registry, name: &str) -> Token {
    registry.learn(format(name).description().as_bytes()).unwrap().token()
}

#[test]
fn the_oldest_use_is_forgotten_first() {
    let mut registry = keeping(3);
    let [a, b, c] = ["a", "b", "c"].map(|name| learn(&registry, name));
    registry.lookup(a).unwrap();
    learn(&registry, "b");
    learn(&registry, "d");
    assert!(registry.known(c).is_none());
    assert!(registry.known(a).is_some() && registry.known(b).is_some());
    assert_eq!(registry.lookup(c).unwrap_err().token(), Some(c));
}

#[test]
fn clones_remember_nothing_that_is_forgotten() {
    let mut registry = keeping(2);
    let mut other = registry.clone();
    let [a, b] = ["a", "b"].map(|name| learn(&registry, name));
    assert!(registry.lookup(a).is_ok() && other.lookup(a).is_ok() && other.lookup(b).is_ok());
    // That is known to all clones of which one has been used last, also by a look-up that took no lock.
    learn(&other, "b");
    let c = learn(&other, "c");
    assert!(registry.lookup(b).is_ok());
    let d = learn(&registry, "d");
    assert!(registry.lookup(b).is_ok() && other.lookup(d).is_ok());
    for clone in [&mut registry, &mut other] {
        assert_eq!(clone.lookup(a).unwrap_err().token(), Some(a));
        assert_eq!(clone.lookup(c).unwrap_err().token(), Some(c));
    }
    // What comes back is found again, in the place that it had.
    learn(&other, "a");
    assert!(registry.lookup(a).is_ok() && other.lookup(a).is_ok());
    assert_eq!(registry.recent.len(), 2);
}

#[test]
fn a_clone_remembers_no_more_than_is_kept() {
    let mut registry = keeping(3);
    for i in 0..20 {
        let token = learn(&registry, &format!("f{i}"));
        assert_eq!(registry.lookup(token).unwrap().token(), token);
        assert!(registry.recent.len() <= 3);
    }
    let mut registry = keeping(0);
    let own = format("own");
    registry.register(&own).unwrap();
    assert_eq!(registry.lookup(own.token()).unwrap(), &own);
    assert!(registry.lookup(learn(&registry.clone(), "other")).is_err());
}

#[test]
fn registered_formats_stay() {
    let registry = keeping(2);
    learn(&registry, "own");
    registry.register(&format("own")).unwrap();
    registry.register(&format("own")).unwrap();
    for i in 0..100 {
        learn(&registry, &format!("other{i}"));
    }
    assert_eq!(registry.formats().len(), 3);
    assert!(registry.known(format("own").token()).is_some());
    let registry = keeping(0);
    registry.register(&format("own")).unwrap();
    learn(&registry, "own");
    learn(&registry, "other");
    assert_eq!(registry.formats(), [format("own")]);
}

#[test]
fn descriptions_take_no_more_than_they_may_together() {
    let length = length(&format("a"));
    let mut registry = Registry::within(Limits { registry: 3 * length, ..Limits::default() });
    let [a, b, c] = ["a", "b", "c"].map(|name| learn(&registry, name));
    assert_eq!(registry.formats().len(), 3);
    // Registered, a format does not count, and leaves its room to another.
    registry.register(&format("b")).unwrap();
    learn(&registry, "d");
    assert_eq!(registry.formats().len(), 4);
    registry.lookup(a).unwrap();
    learn(&registry, "ee");
    assert!(registry.known(c).is_none(), "one byte more than may be");
    assert!(registry.known(a).is_some() && registry.known(b).is_some());
    assert_eq!(registry.shared.table.read().unwrap().bytes, 2 * length + 1);
}

#[test]
fn what_is_beyond_a_limit_is_not_learned() {
    let description = format("a");
    let description = description.description().as_bytes();
    let exact = Limits { depth: 1, fields: 1, description: description.len(), ..Limits::default() };
    Registry::within(exact).learn(description).unwrap();
    let refused = |limits| {
        let registry = Registry::within(limits);
        let error = registry.learn(description).unwrap_err();
        assert!(registry.formats().is_empty());
        (error.code(), error.to_string())
    };
    for (limits, code, name) in [
        (Limits { depth: 0, ..exact }, Code::Depth, "(limit: depth), found 1"),
        (Limits { fields: 0, ..exact }, Code::Fields, "(limit: fields), found 1"),
        (Limits { description: 11, ..exact }, Code::DescriptionSize, "at most 11 bytes (limit: description)"),
    ] {
        let (came, text) = refused(limits);
        assert!(came == code && text.contains(name), "{text}");
    }
}

#[test]
fn malformed_descriptions_teach_nothing() {
    let registry = Registry::new();
    assert_eq!(registry.learn(b"").unwrap_err().code(), Code::Description);
    assert_eq!(registry.learn(&vec![1; 1 << 20]).unwrap_err().code(), Code::DescriptionSize);
    assert!(registry.formats().is_empty());
}

struct Answers(Vec<(Token, Format)>);

impl Resolver for Answers {
    fn resolve(&self, token: Token) -> Result<Vec<u8>> {
        let entry = self.0.iter().find(|(known, _)| *known == token).ok_or_else(|| Error::unknown_format(token))?;
        Ok(entry.1.description().as_bytes().to_vec())
    }
}

#[test]
fn a_resolver_is_asked_and_not_trusted() {
    let (good, wrong, none) = (format("good"), format("wrong").token(), format("none").token());
    let mut registry = Registry::new();
    registry.set_resolver(Answers(vec![(good.token(), good.clone()), (wrong, good.clone())]));
    assert_eq!(registry.lookup(none).unwrap_err(), Error::unknown_format(none));
    assert_eq!(registry.lookup(wrong).unwrap_err().code(), Code::TokenMismatch);
    assert!(registry.known(good.token()).is_none());
    assert_eq!(registry.lookup(good.token()).unwrap(), &good);
    registry.set_resolver(Answers(vec![]));
    assert_eq!(registry.clone().lookup(good.token()).unwrap(), &good);
}

#[test]
fn a_description_is_hashed_once() {
    let (one, other, served) = (format("one"), format("other"), format("served"));
    let mut registry = Registry::new();
    registry.set_resolver(Answers(vec![(served.token(), served.clone())]));
    let description = one.description().as_bytes();
    for time in ["new", "known", "known for longer"] {
        assert_eq!(hashes(|| drop(registry.learn(description).unwrap())), 1, "{time}");
    }
    assert_eq!(hashes(|| drop(Format::parse(description).unwrap())), 1);
    assert_eq!(hashes(|| drop(format("declared"))), 1);
    assert_eq!(hashes(|| registry.register(&other).unwrap()), 0);
    assert_eq!(hashes(|| assert!(registry.lookup(one.token()).is_ok())), 0);
    assert_eq!(hashes(|| assert!(registry.lookup(served.token()).is_ok())), 1, "asked for");
    assert_eq!(hashes(|| assert!(registry.lookup(served.token()).is_ok())), 0, "known by now");
    let long = vec![1; MAX_DESCRIPTION + 1];
    assert_eq!(hashes(|| assert!(registry.learn(&long).is_err())), 0, "measured before");
}

/// Uses its registry when it is asked, and when it is dropped.
struct Uses(Registry);

impl Uses {
    fn touch(&self) {
        self.0.register(&format("own")).unwrap();
        assert!(self.0.formats().len() == 1 && self.0.known(format("none").token()).is_none());
    }
}

impl Resolver for Uses {
    fn resolve(&self, token: Token) -> Result<Vec<u8>> {
        self.touch();
        Err(Error::unknown_format(token))
    }
}

impl Drop for Uses {
    fn drop(&mut self) {
        self.touch();
        self.0.set_resolver(Answers(vec![]));
    }
}

#[test]
fn a_resolver_may_use_the_registry() {
    let mut registry = Registry::new();
    registry.set_resolver(Uses(registry.clone()));
    assert_eq!(registry.lookup(format("none").token()).unwrap_err().code(), Code::UnknownFormat);
    registry.set_resolver(Answers(vec![]));
    assert_eq!(registry.formats(), [format("own")]);
}

struct Overlong;

impl Resolver for Overlong {
    fn resolve(&self, _: Token) -> Result<Vec<u8>> {
        Ok(vec![1; MAX_DESCRIPTION + 1])
    }
}

#[test]
fn what_a_resolver_answers_is_measured_before_it_is_hashed() {
    let mut registry = Registry::new();
    registry.set_resolver(Overlong);
    let token = format("none").token();
    let hashed = hashes(|| assert_eq!(registry.lookup(token).unwrap_err().code(), Code::DescriptionSize));
    assert_eq!(hashed, 0);
}

#[test]
fn threads_share_it() {
    let registry = keeping(8);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let mut registry = registry.clone();
            scope.spawn(move || {
                for i in 0..200 {
                    let token = learn(&registry, &format!("f{}", (i * 7 + thread) % 20));
                    let _ = registry.lookup(token);
                }
            });
        }
    });
    assert_eq!(registry.formats().len(), 8);
}
