//! The kind of a record, and its fields.

use crate::attributes::{FieldAttributes, Fill, TypeAttributes, name, representation};
use crate::{owned, plain};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use std::collections::HashSet;
use syn::spanned::Spanned;
use syn::{
    Data, DeriveInput, Error, Fields, GenericArgument, GenericParam, Generics, Ident, Lifetime, LitStr, PathArguments,
    Result, Type, Visibility,
};

/// A struct, with everything that its declaration states.
pub(crate) struct Record<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) visibility: &'a Visibility,
    /// Its name in the format.
    pub(crate) name: LitStr,
    /// The lifetime for which it borrows.
    pub(crate) lifetime: Option<&'a Lifetime>,
    pub(crate) fields: Vec<Field<'a>>,
}

/// A field of it.
pub(crate) struct Field<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) visibility: &'a Visibility,
    pub(crate) ty: &'a Type,
    /// Its name in the format.
    pub(crate) name: LitStr,
    pub(crate) attributes: FieldAttributes,
}

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let attributes = TypeAttributes::parse(&input.attrs, true)?;
    let lifetime = lifetime(&input.generics)?;
    let fields = fields(input)?;
    let in_place = representation(&input.attrs)?.iter().any(|word| word == "C");
    let owning = fields.iter().find_map(|field| owning(field.ty));
    let (ident, visibility) = (&input.ident, &input.vis);
    let record = Record { ident, visibility, name: attributes.name(ident), lifetime, fields };
    match (in_place, owning, lifetime) {
        (true, Some(part), _) => Err(Error::new_spanned(
            part,
            "this is not laid out as in C: borrow it with `Str<'a>` or `Slice<'a, T>`, or leave `#[repr(C)]` away, so that \
             the record is converted from and to a hidden twin",
        )),
        (true, None, _) if attributes.owned => Err(Error::new_spanned(
            ident,
            "with `#[repr(C)]` a record is sent as it lies in memory: leave away that or `#[isoform(owned)]`",
        )),
        (true, None, _) => Ok(plain::expand(&record)),
        (false, None, _) if !attributes.owned => Err(Error::new_spanned(
            ident,
            "`#[repr(C)]` is missing: a record without `String` and `Vec` is sent as it is in memory, in the layout of C",
        )),
        (false, _, Some(lifetime)) => {
            Err(Error::new_spanned(lifetime, "a record that owns its parts cannot borrow others"))
        }
        (false, _, None) => Ok(owned::expand(&record)),
    }
}

fn lifetime(generics: &Generics) -> Result<Option<&Lifetime>> {
    let mut lifetime = None;
    for param in &generics.params {
        match param {
            GenericParam::Lifetime(param) if lifetime.is_none() => lifetime = Some(&param.lifetime),
            GenericParam::Lifetime(_) => {
                return Err(Error::new_spanned(param, "a record borrows for one lifetime"));
            }
            _ => return Err(Error::new_spanned(param, "a record has one format, so it cannot be generic")),
        }
    }
    match &generics.where_clause {
        Some(clause) => Err(Error::new_spanned(clause, "a record has no conditions")),
        None => Ok(lifetime),
    }
}

fn fields(input: &DeriveInput) -> Result<Vec<Field<'_>>> {
    let Data::Struct(data) = &input.data else {
        let message = match input.data {
            Data::Enum(_) => "an enumeration is no record: derive `Enumeration` for it",
            _ => "a union is no record, since nobody can tell which of its fields holds",
        };
        return Err(Error::new_spanned(&input.ident, message));
    };
    let Fields::Named(named) = &data.fields else {
        let at: &dyn ToTokens = if data.fields.is_empty() { &input.ident } else { &data.fields };
        return Err(Error::new_spanned(at, "a record has fields with names"));
    };
    if named.named.is_empty() {
        return Err(Error::new_spanned(&input.ident, "a record has at least one field"));
    }
    let mut errors: Option<Error> = None;
    let mut fields = Vec::new();
    let mut names = HashSet::new();
    for field in &named.named {
        match Field::parse(field, &mut names) {
            Ok(field) => fields.extend(field),
            Err(error) => match &mut errors {
                Some(errors) => errors.combine(error),
                None => errors = Some(error),
            },
        }
    }
    match errors {
        Some(errors) => Err(errors),
        None => Ok(fields),
    }
}

impl<'a> Field<'a> {
    fn parse(field: &'a syn::Field, names: &mut HashSet<String>) -> Result<Option<Field<'a>>> {
        let Some(ident) = &field.ident else { return Ok(None) };
        let attributes = FieldAttributes::parse(&field.attrs)?;
        check_type(&field.ty)?;
        let name = name(&attributes.rename, ident);
        for name in [&name].into_iter().chain(&attributes.lengths) {
            if !names.insert(name.value()) {
                return Err(Error::new_spanned(name, format_args!("two fields are named `{}`", name.value())));
            }
        }
        Ok(Some(Field { ident, visibility: &field.vis, ty: &field.ty, name, attributes }))
    }

    /// The field in a `#[repr(C)]` struct that borrows for a lifetime, where it has the type `ty`.
    pub(crate) fn placed(&self, ty: &impl ToTokens, lifetime: &Lifetime) -> TokenStream {
        let Field { ident, name, attributes, .. } = self;
        let unit = attributes.unit.as_ref().map(|unit| quote!(.unit(#unit)));
        let lengths = &attributes.lengths;
        let lengths = (!lengths.is_empty()).then(|| quote!(.lengths(&[#(#lengths),*])));
        let of = quote_spanned!(self.ty.span()=> __isoform::Placed::of::<#lifetime, Self, #ty>);
        quote!(#of(#name, __isoform::offset_of!(Self, #ident), |record| &raw const record.#ident) #unit #lengths)
    }
}

impl Record<'_> {
    /// Adds the rules from the attributes of the fields to `rules`.
    pub(crate) fn rules(&self) -> TokenStream {
        let structure = &self.name;
        let rules = self.fields.iter().map(|field| {
            let Field { name, attributes, ty, .. } = field;
            let aliases = &attributes.aliases;
            let required = attributes.required.then(|| quote!(.required(#structure, #name)));
            let default = match &attributes.default {
                Some(Fill::Value(value)) => {
                    quote_spanned!(value.span()=> .default(#structure, #name, __isoform::default::<#ty>(#value)))
                }
                Some(Fill::Zero(_)) => quote!(.default_zero(#structure, #name)),
                None if is_option(ty) && !attributes.required => quote!(.default_zero(#structure, #name)),
                None => TokenStream::new(),
            };
            quote!(#(.alias(#structure, #name, #aliases))* #default #required)
        });
        quote!(__isoform::nested_rules::<Self>(rules) #(#rules)*)
    }
}

/// Whether it is `Option<..>`, which is none if the sender has no such field.
fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Option"))
}

/// The type that owns memory, if `ty` is or contains one.
fn owning(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Array(array) => owning(&array.elem),
        Type::Paren(inner) => owning(&inner.elem),
        Type::Group(inner) => owning(&inner.elem),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            if ["String", "Vec", "Option", "Box", "CString"].iter().any(|word| last.ident == word) {
                return Some(ty);
            }
            let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
            arguments.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(ty) => owning(ty),
                _ => None,
            })
        }
        _ => None,
    }
}

/// Suggests replacements for unsupported types that are often tried.
fn check_type(ty: &Type) -> Result<()> {
    let message = match ty {
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => "a string of a record is a `Str<'a>`",
            Type::Path(path) if path.path.is_ident("CStr") => "a string of a record is a `Str<'a>`",
            Type::Slice(_) => "an array of a record is a `Slice<'a, T>`, or `Array<'a, T, N>` with several dimensions",
            _ => "a pointer of a record is a `Ref<'a, T>`",
        },
        Type::Ptr(_) => "a pointer of a record is a `Ref<'a, T>`, an array `Slice<'a, T>`, a string `Str<'a>`",
        Type::Tuple(_) => "a tuple has no layout that others could know: use a `#[repr(C)]` record",
        Type::Path(path) if path.path.is_ident("char") => "a `char` is Rust's alone: use `Char` for a byte, or `u32`",
        Type::Path(path) if optional_number(path) => {
            "there is no room for the absence of a number: options are `Option<String>` and `Option<Box<T>>`"
        }
        Type::Array(array) => return check_type(&array.elem),
        _ => return Ok(()),
    };
    Err(Error::new_spanned(ty, message))
}

/// Whether a type is an option of a number.
fn optional_number(path: &syn::TypePath) -> bool {
    let Some(last) = path.path.segments.last().filter(|last| last.ident == "Option") else { return false };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return false };
    let Some(GenericArgument::Type(Type::Path(inner))) = arguments.args.first() else { return false };
    let numbers = ["bool", "i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128", "f32", "f64", "usize"];
    inner.path.get_ident().is_some_and(|ident| numbers.iter().any(|number| ident == number))
}
