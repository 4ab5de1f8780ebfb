//! Rules: what a receiver says of its fields beyond the table. Section "Rules" of the header.

use crate::error::{Number, answer, call};
use crate::pointer::{Held, Opened, close, given, open, text};
use isoform::{Code, Element, Error, Faults, Format, Result, Structure, text as texts};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// `iso_rules`
#[derive(Default)]
pub struct Rules(Vec<Rule>);

/// What was said of one field, as it was said: what a default means depends on the field's type.
struct Rule {
    structure: String,
    field: String,
    wish: Wish,
}

enum Wish {
    Alias(String),
    Default(String),
    Required,
}

impl Rules {
    /// What was said, for records of a format.
    ///
    /// # Errors
    /// [`Code::NoSuchField`] for a structure or a field that it has not; [`Code::Text`] for a default that is no value of its
    /// field.
    fn of(&self, format: &Format) -> Result<isoform::Rules> {
        let mut rules = isoform::Rules::new();
        for Rule { structure, field, wish } in &self.0 {
            let path = format!("{structure}.{field}");
            let missing = || Error::new(Code::NoSuchField).at(&*path).expected("a field of the format");
            let found = find(format.structure(), structure).ok_or_else(missing)?;
            let described = found.field(field).ok_or_else(missing)?;
            rules = match wish {
                Wish::Alias(alias) => rules.alias(structure, field, alias),
                Wish::Required => rules.required(structure, field),
                Wish::Default(json) => {
                    let value = texts::json::parse_field(described, json).map_err(|error| error.at(path))?;
                    rules.default(structure, field, value)
                }
            };
        }
        Ok(rules)
    }
}

/// The rules that an argument stands for.
pub(crate) fn of(rules: Option<&Rules>, format: &Format) -> Result<isoform::Rules> {
    rules.map_or(Ok(isoform::Rules::new()), |rules| rules.of(format))
}

/// A structure by its name.
fn find(structure: &Arc<Structure>, name: &str) -> Option<Arc<Structure>> {
    if structure.name() == name {
        return Some(structure.clone());
    }
    structure.fields().iter().find_map(|field| match &field.element {
        Element::Structure(inner) => find(inner, name),
        _ => None,
    })
}

/// `iso_faults`
pub(crate) fn faults(faults: c_int) -> Result<Faults> {
    match faults {
        0 => Ok(Faults::Error),
        1 => Ok(Faults::Saturate),
        2 => Ok(Faults::Wrap),
        other => Err(Error::new(Code::WrongType).at("faults").expected("one of iso_faults").came(other)),
    }
}

/// `iso_rules_open`
#[unsafe(no_mangle)]
pub extern "C" fn iso_rules_open(rules: Opened<'_, Rules>) -> Number {
    call(|| open(rules, "rules", || Ok(Rules::default())))
}

/// `iso_rules_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_rules_close(rules: Held<'_, Rules>) {
    answer((), || close(rules));
}

/// `iso_rules_alias`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_rules_alias(
    rules: Option<&mut Rules>,
    structure: *const c_char,
    field: *const c_char,
    alias: *const c_char,
) -> Number {
    // SAFETY: (1) of the crate.
    call(|| unsafe { add(rules, structure, field, || text(alias, "alias").map(|alias| Wish::Alias(alias.into()))) })
}

/// `iso_rules_default`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_rules_default(
    rules: Option<&mut Rules>,
    structure: *const c_char,
    field: *const c_char,
    json: *const c_char,
) -> Number {
    // SAFETY: (1) of the crate.
    call(|| unsafe { add(rules, structure, field, || text(json, "value").map(|json| Wish::Default(json.into()))) })
}

/// `iso_rules_required`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_rules_required(
    rules: Option<&mut Rules>,
    structure: *const c_char,
    field: *const c_char,
) -> Number {
    // SAFETY: (1) of the crate.
    call(|| unsafe { add(rules, structure, field, || Ok(Wish::Required)) })
}

/// # Safety
/// (1) of the crate, for both texts.
unsafe fn add(
    rules: Option<&mut Rules>,
    structure: *const c_char,
    field: *const c_char,
    wish: impl FnOnce() -> Result<Wish>,
) -> Result<()> {
    // SAFETY: promised.
    let (structure, field) = unsafe { (text(structure, "structure")?, text(field, "field")?) };
    let rule = Rule { structure: structure.into(), field: field.into(), wish: wish()? };
    given(rules, "rules")?.0.push(rule);
    Ok(())
}
