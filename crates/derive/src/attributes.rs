//! The attributes of a struct, a field or a variant: `#[isoform(..)]` and `#[repr(..)]`.

use syn::meta::ParseNestedMeta;
use syn::parse::Parse;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, Ident, LitStr, Path, Result, Token, parenthesized};

/// `#[isoform(..)]` on a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) rename: Option<LitStr>,
    pub(crate) unit: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) default: Option<Fill>,
    pub(crate) required: bool,
    pub(crate) lengths: Vec<LitStr>,
}

/// `default`, or `default = ..`.
pub(crate) enum Fill {
    /// Zero, null or empty.
    Zero(Path),
    Value(Expr),
}

/// `#[isoform(..)]` on a struct, an enumeration or a variant.
#[derive(Default)]
pub(crate) struct TypeAttributes {
    pub(crate) rename: Option<LitStr>,
    pub(crate) owned: bool,
}

impl FieldAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<FieldAttributes> {
        let mut all = FieldAttributes::default();
        each(attributes, |meta| {
            if meta.path.is_ident("rename") {
                once(&mut all.rename, &meta)
            } else if meta.path.is_ident("unit") {
                once(&mut all.unit, &meta)
            } else if meta.path.is_ident("alias") {
                all.aliases.push(alias(&meta)?);
                Ok(())
            } else if meta.path.is_ident("default") {
                default(&mut all.default, &meta)
            } else if meta.path.is_ident("required") {
                all.required = true;
                Ok(())
            } else if meta.path.is_ident("len") {
                all.lengths = lengths(&meta)?;
                Ok(())
            } else {
                Err(meta.error("unknown attribute: expected rename, unit, alias, default, required or len"))
            }
        })?;
        for text in all.rename.iter().chain(&all.lengths) {
            check_name(text)?;
        }
        if let (true, Some(default)) = (all.required, &all.default) {
            let message = "a required field needs no default: messages without it are refused";
            return Err(match default {
                Fill::Zero(word) => Error::new_spanned(word, message),
                Fill::Value(value) => Error::new_spanned(value, message),
            });
        }
        Ok(all)
    }
}

impl TypeAttributes {
    pub(crate) fn parse(attributes: &[Attribute], may_own: bool) -> Result<TypeAttributes> {
        let mut all = TypeAttributes::default();
        each(attributes, |meta| {
            if meta.path.is_ident("rename") {
                once(&mut all.rename, &meta)
            } else if meta.path.is_ident("owned") && may_own {
                all.owned = true;
                Ok(())
            } else {
                let expected = if may_own { "rename or owned" } else { "rename" };
                Err(meta.error(format_args!("unknown attribute: expected {expected}")))
            }
        })?;
        all.rename.iter().try_for_each(check_name)?;
        Ok(all)
    }

    /// The name of the item of these attributes.
    pub(crate) fn name(&self, ident: &Ident) -> LitStr {
        name(&self.rename, ident)
    }
}

/// The words in `#[repr(..)]`, such as `C` or `i32`.
pub(crate) fn representation(attributes: &[Attribute]) -> Result<Vec<Ident>> {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            words.extend(meta.path.get_ident().cloned());
            if meta.input.peek(syn::token::Paren) {
                let inside;
                parenthesized!(inside in meta.input); // the number of align(..) or packed(..)
                inside.parse::<proc_macro2::TokenStream>()?;
            }
            Ok(())
        })?;
    }
    Ok(words)
}

/// The given name, or that of the identifier.
pub(crate) fn name(rename: &Option<LitStr>, ident: &Ident) -> LitStr {
    let own = || LitStr::new(ident.to_string().trim_start_matches("r#"), ident.span());
    rename.clone().unwrap_or_else(own)
}

fn each(attributes: &[Attribute], mut one: impl FnMut(ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("isoform"))
        .try_for_each(|attribute| attribute.parse_nested_meta(&mut one))
}

fn once<T: Parse>(place: &mut Option<T>, meta: &ParseNestedMeta<'_>) -> Result<()> {
    match place.replace(meta.value()?.parse()?) {
        None => Ok(()),
        Some(_) => Err(meta.error("written twice")),
    }
}

fn default(place: &mut Option<Fill>, meta: &ParseNestedMeta<'_>) -> Result<()> {
    let default = match meta.input.peek(Token![=]) {
        true => Fill::Value(meta.value()?.parse()?),
        false => Fill::Zero(meta.path.clone()),
    };
    match place.replace(default) {
        None => Ok(()),
        Some(_) => Err(meta.error("written twice")),
    }
}

/// An alias may be a path with dots, or only a dot.
fn alias(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let text: LitStr = meta.value()?.parse()?;
    let value = text.value();
    if value == "." {
        return Ok(text);
    }
    value.split('.').try_for_each(|part| check_text(part, &text))?;
    Ok(text)
}

fn lengths(meta: &ParseNestedMeta<'_>) -> Result<Vec<LitStr>> {
    if meta.input.peek(Token![=]) {
        return Ok(vec![meta.value()?.parse()?]);
    }
    let inside;
    parenthesized!(inside in meta.input);
    Ok(Punctuated::<LitStr, Token![,]>::parse_terminated(&inside)?.into_iter().collect())
}

/// The rules of `spec/format.md`.
fn check_name(name: &LitStr) -> Result<()> {
    check_text(&name.value(), name)
}

fn check_text(text: &str, at: &LitStr) -> Result<()> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || ".[]{}*,=".contains(c);
    if text.is_empty() || text.len() > 255 || text.chars().any(odd) {
        return Err(Error::new_spanned(at, "a name has 1 to 255 bytes, without space or any of . [ ] { } * , ="));
    }
    Ok(())
}
