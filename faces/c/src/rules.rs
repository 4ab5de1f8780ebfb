//! Rules: aliases, defaults and required fields of a receiver. Section "Rules" of the header.

use crate::error::{Status, answer, call};
use crate::format::Format;
use crate::pointer::{Held, Opened, close, given, open, optional_text, text};
use isoform::{Code, Error, Result};
use isoform_dynamic::rules::Wishes;
use isoform_dynamic::words::Choice;
use std::ffi::{c_char, c_int};

/// `iso_rules`
pub struct Rules(Wishes);

/// The rules of an argument, and the defaults of the format's table.
pub(crate) fn of(rules: Option<&Rules>, format: &Format) -> Result<isoform::Rules> {
    let mut all = format.defaults.clone();
    if let Some(rules) = rules {
        all.extend(&rules.0);
    }
    all.of(&format.format)
}

/// The choice for a number of a C enumeration.
pub(crate) fn choice<T: Choice>(number: c_int) -> Result<T> {
    let unknown = || {
        Error::new(Code::WrongType)
            .at(T::WHAT)
            .expected(format_args!("a value of the enum iso_{}", T::WHAT))
            .found(number)
    };
    T::numbered(number).ok_or_else(unknown)
}

/// `iso_rules_open`
#[unsafe(no_mangle)]
pub extern "C" fn iso_rules_open(rules: Opened<'_, Rules>) -> Status {
    call(|| open(rules, "rules", || Ok(Rules(Wishes::new()))))
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
) -> Status {
    call(|| {
        // SAFETY: (1) of the crate.
        let (structure, field, alias) =
            unsafe { (text(structure, "structure")?, text(field, "field")?, text(alias, "alias")?) };
        isoform::Rules::check_alias(alias).map_err(|error| error.at(format!("{structure}.{field}")))?;
        given(rules, "rules")?.0.alias(structure, field, alias);
        Ok(())
    })
}

/// `iso_rules_default`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_rules_default(
    rules: Option<&mut Rules>,
    structure: *const c_char,
    field: *const c_char,
    json: *const c_char,
) -> Status {
    call(|| {
        // SAFETY: (1) of the crate.
        let (structure, field, json) =
            unsafe { (text(structure, "structure")?, text(field, "field")?, optional_text(json, "value")?) };
        let rules = &mut given(rules, "rules")?.0;
        match json {
            Some(json) => rules.default(structure, field, json),
            None => rules.default_zero(structure, field),
        }
        Ok(())
    })
}

/// `iso_rules_missing`
#[unsafe(no_mangle)]
pub extern "C" fn iso_rules_missing(rules: Option<&mut Rules>, missing: c_int) -> Status {
    call(|| {
        given(rules, "rules")?.0.missing(choice(missing)?);
        Ok(())
    })
}

/// `iso_rules_required`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_rules_required(
    rules: Option<&mut Rules>,
    structure: *const c_char,
    field: *const c_char,
) -> Status {
    call(|| {
        // SAFETY: (1) of the crate.
        let (structure, field) = unsafe { (text(structure, "structure")?, text(field, "field")?) };
        given(rules, "rules")?.0.required(structure, field);
        Ok(())
    })
}
