//! Enumerations: integers with names for their values.

use crate::attributes::{TypeAttributes, representation};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Result};

/// The integers that an enumeration can be, and whether they are signed.
const INTEGERS: [(&str, bool); 11] = [
    ("i8", true),
    ("i16", true),
    ("i32", true),
    ("i64", true),
    ("isize", true),
    ("u8", false),
    ("u16", false),
    ("u32", false),
    ("u64", false),
    ("usize", false),
    ("C", true),
];

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let ident = &input.ident;
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(ident, "a struct is no enumeration: derive `Record` for it"));
    };
    TypeAttributes::parse(&input.attrs, false)?;
    if let Some(param) = input.generics.params.first() {
        return Err(Error::new_spanned(param, "an enumeration of a record cannot be generic"));
    }
    let words = representation(&input.attrs)?;
    let integer = INTEGERS.iter().find(|(word, _)| words.iter().any(|repr| repr == word));
    let Some(&(word, signed)) = integer else {
        let message = "`#[repr(i32)]` or the like is missing: which integer the enumeration is, of at most 8 bytes";
        return Err(Error::new_spanned(ident, message));
    };
    if data.variants.is_empty() {
        return Err(Error::new_spanned(ident, "an enumeration has at least one variant"));
    }
    let mut variants = Vec::new();
    let mut names = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(&variant.fields, "a variant of an enumeration holds no data"));
        }
        let name = TypeAttributes::parse(&variant.attrs, false)?.name(&variant.ident);
        if names.iter().any(|other: &syn::LitStr| other.value() == name.value()) {
            return Err(Error::new_spanned(&name, format_args!("two variants are named `{}`", name.value())));
        }
        names.push(name);
        variants.push(&variant.ident);
    }
    let integer = match word {
        "C" => quote!(::core::ffi::c_int),
        word => {
            let word = Ident::new(word, Span::call_site());
            quote!(::core::primitive::#word)
        }
    };
    Ok(quote! {
        const _: () = {
            use ::isoform::derive as __isoform;

            // SAFETY: (1, 2) all variants are listed with their numbers, so that a number in the list is a value; (3) no
            // variant holds data, and the enumeration has no drop, else it could not be cast; (4, 5) it is that integer,
            // without padding, as is asserted below.
            #[automatically_derived]
            unsafe impl<'isoform> __isoform::Native<'isoform> for #ident {
                const DEPTH: usize = 0;

                fn element() -> __isoform::Element {
                    static ELEMENT: __isoform::OnceLock<__isoform::Element> = __isoform::OnceLock::new();
                    let element = ELEMENT.get_or_init(|| {
                        let symbols = [#((#names, #ident::#variants as ::core::primitive::i128)),*];
                        __isoform::enumeration(::core::stringify!(#ident), #signed, __isoform::size_of::<Self>(), &symbols)
                    });
                    ::core::clone::Clone::clone(element)
                }
            }

            #[automatically_derived]
            impl __isoform::Flat for #ident {}

            #[automatically_derived]
            impl __isoform::Defaulted for #ident {
                type Value = Self;

                fn value(value: Self) -> __isoform::Value {
                    __isoform::Value::Integer(value as ::core::primitive::i128)
                }
            }

            const _: () = ::core::assert!(
                __isoform::size_of::<#ident>() == __isoform::size_of::<#integer>(),
                "an enumeration is an integer and nothing else: it cannot be aligned to more, nor exceed C's `int`"
            );

            // Checks that no variant is missing above, even if another macro has added one.
            fn _complete(value: &#ident) {
                match value {
                    #(#ident::#variants => {})*
                }
            }
        };
    })
}
