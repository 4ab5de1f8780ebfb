//! Enumerations of the kinds of records that a receiver takes.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, GenericParam, Index, Lifetime, Result, Type, Variant};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let ident = &input.ident;
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(ident, "kinds of records are the variants of an enumeration"));
    };
    let lifetime = lifetime(input)?;
    let (mut kinds, mut other) = (Vec::new(), None);
    for variant in &data.variants {
        match (is_other(&variant.attrs)?, &other) {
            (false, _) => kinds.push((&variant.ident, held(variant)?)),
            (true, None) => other = Some(variant),
            (true, Some(_)) => return Err(Error::new_spanned(variant, "another variant takes all others already")),
        }
    }
    if kinds.is_empty() {
        return Err(Error::new_spanned(ident, "a variant that holds a record is missing"));
    }
    let types: Vec<_> = kinds.iter().map(|(_, field)| record(&field.ty)).collect();
    let arms = kinds.iter().enumerate().map(|(i, (variant, field))| {
        let (place, span) = (Index::from(i), field.ty.span());
        let decode = match field.ty {
            Type::Reference(_) => quote_spanned!(span=> __isoform::borrowed(&mut decoders.#place, body)?),
            _ => quote_spanned!(span=> __isoform::owned(&mut decoders.#place, body)?),
        };
        // The last kind needs no test, and so there is no place for a number beyond it.
        let pattern = if i + 1 == kinds.len() { quote!(_) } else { quote!(#i) };
        quote!(#pattern => #ident::#variant(#decode))
    });
    let takes_others = other.is_some();
    let other = match other {
        None => quote!(::core::option::Option::None),
        Some(variant) => {
            let made = of_other(ident, variant)?;
            quote!(::core::option::Option::Some(#made))
        }
    };
    // The types of the variants refer to the lifetime by its name.
    let lifetime = lifetime.map(|lifetime| quote!(<#lifetime>));
    let of = lifetime.is_some().then(|| quote!(<'isoform>));
    Ok(quote! {
        const _: () = {
            use ::isoform::derive as __isoform;

            #[automatically_derived]
            impl #lifetime __isoform::Kinds for #ident #lifetime {
                type Of<'isoform> = #ident #of;
                type Decoders = (#(__isoform::Decoder<#types>,)*);

                fn kinds(settings: &__isoform::Settings) -> __isoform::Vec<__isoform::Kind> {
                    ::std::vec![#(settings.kind::<#types>()),*]
                }

                fn decoders(settings: &__isoform::Settings) -> Self::Decoders {
                    (#(settings.decoder::<#types>(),)*)
                }

                fn decode<'isoform>(
                    decoders: &'isoform mut Self::Decoders,
                    kind: ::core::primitive::usize,
                    body: __isoform::Body<'isoform>,
                ) -> __isoform::Result<Self::Of<'isoform>> {
                    ::core::result::Result::Ok(match kind {
                        #(#arms,)*
                    })
                }

                const TAKES_OTHERS: ::core::primitive::bool = #takes_others;

                #[allow(unused_variables)]
                fn other<'isoform>(
                    message: __isoform::Incoming<'isoform>,
                ) -> ::core::option::Option<Self::Of<'isoform>> {
                    #other
                }
            }

            #[automatically_derived]
            impl #lifetime __isoform::Form for #ident #lifetime {
                type Decoder = __isoform::KindDecoder<Self>;
                type Of<'isoform> = #ident #of;

                fn configure(
                    decoder: Self::Decoder,
                    faults: ::core::option::Option<__isoform::Faults>,
                    missing: ::core::option::Option<__isoform::Missing>,
                ) -> Self::Decoder {
                    <Self::Decoder as __isoform::Form>::configure(decoder, faults, missing)
                }

                fn accepts(decoder: &Self::Decoder) -> __isoform::Accepts {
                    <Self::Decoder as __isoform::Form>::accepts(decoder)
                }

                #[inline]
                fn decode<'isoform>(
                    decoder: &'isoform mut Self::Decoder,
                    body: __isoform::Body<'isoform>,
                ) -> __isoform::Result<Self::Of<'isoform>> {
                    <Self::Decoder as __isoform::Form>::decode(decoder, body)
                }
            }
        };
    })
}

/// The lifetime of the enumeration, of which it has at most one.
fn lifetime(input: &DeriveInput) -> Result<Option<&Lifetime>> {
    let mut found = None;
    for param in &input.generics.params {
        match param {
            GenericParam::Lifetime(param) if found.is_none() => found = Some(&param.lifetime),
            _ => return Err(Error::new_spanned(param, "kinds of records have at most one lifetime, and no types")),
        }
    }
    Ok(found)
}

fn is_other(attributes: &[Attribute]) -> Result<bool> {
    let mut other = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("isoform")) {
        attribute.parse_nested_meta(|meta| {
            other = meta.path.is_ident("other");
            if other { Ok(()) } else { Err(meta.error("unknown attribute: expected other")) }
        })?;
    }
    Ok(other)
}

/// The record that a variant holds.
fn held(variant: &Variant) -> Result<&Field> {
    match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Ok(&fields.unnamed[0]),
        _ => {
            let message = "a kind holds one record, such as `River(River)` or `River(&'m River)`; \
                           `#[isoform(other)]` is for what is of no kind";
            Err(Error::new_spanned(variant, message))
        }
    }
}

/// The type of the record of a field, without the reference, and with `'static` for its lifetimes.
fn record(ty: &Type) -> TokenStream {
    match ty {
        Type::Reference(reference) => {
            let record = &reference.elem;
            quote_spanned!(record.span()=> <#record as __isoform::Record>::Static)
        }
        record => quote_spanned!(record.span()=> #record),
    }
}

/// The variant for what is of no kind.
fn of_other(ident: &syn::Ident, variant: &Variant) -> Result<TokenStream> {
    let name = &variant.ident;
    match &variant.fields {
        Fields::Unit => Ok(quote!(#ident::#name)),
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            Ok(quote!(#ident::#name(::core::convert::From::from(message))))
        }
        other => Err(Error::new_spanned(other, "it holds nothing, or the message: `Incoming<'m>`")),
    }
}
