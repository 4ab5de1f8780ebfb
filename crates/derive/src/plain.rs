//! `#[repr(C)]` structs, which are their own native form.

use crate::record::Record;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Ident, Lifetime};

pub(crate) fn expand(record: &Record<'_>) -> TokenStream {
    let ident = record.ident;
    let types: Vec<_> = record.fields.iter().map(|field| field.ty.clone()).collect();
    let native = native(record, ident, record.lifetime, &types);
    let generics = record.lifetime.map(|lifetime| quote!(<#lifetime>));
    let (rebound, forever) = match record.lifetime {
        Some(_) => (quote!(#ident<'isoform>), quote!(#ident<'static>)),
        None => (quote!(#ident), quote!(#ident)),
    };
    let flat = record.lifetime.is_none().then(|| {
        quote! {
            #[automatically_derived]
            impl __isoform::Flat for #ident {}
        }
    });
    quote! {
        const _: () = {
            use ::isoform::derive as __isoform;
            #native
            #flat

            #[automatically_derived]
            impl #generics __isoform::Record for #ident #generics {
                type Native<'isoform> = #rebound where Self: 'isoform;
                type Static = #forever;

                fn format() -> &'static __isoform::Format {
                    static FORMAT: __isoform::OnceLock<__isoform::Format> = __isoform::OnceLock::new();
                    FORMAT.get_or_init(__isoform::format::<#forever>)
                }

                fn rules() -> __isoform::Rules {
                    <#forever as __isoform::Native<'static>>::rules(__isoform::Rules::new())
                }

                fn native<'isoform>(
                    &'isoform self,
                    _: &'isoform __isoform::Scratch,
                ) -> __isoform::Result<&'isoform #rebound> {
                    ::core::result::Result::Ok(self)
                }
            }
        };
    }
}

/// `Native` for a `#[repr(C)]` struct with the fields of `record`, of these types.
pub(crate) fn native(
    record: &Record<'_>,
    ident: &Ident,
    lifetime: Option<&Lifetime>,
    types: &[impl ToTokens],
) -> TokenStream {
    let name = &record.name;
    let generics = lifetime.map(|lifetime| quote!(<#lifetime>));
    let forever = lifetime.map(|_| quote!(<'static>));
    let any = lifetime.cloned().unwrap_or_else(|| Lifetime::new("'isoform", Span::call_site()));
    let idents: Vec<_> = record.fields.iter().map(|field| field.ident).collect();
    let parts = record.fields.iter().zip(types).map(|(field, ty)| field.placed(ty, &any));
    let rules = record.rules();
    quote! {
        #[automatically_derived]
        impl<#any> __isoform::Declared<#any> for #ident #generics {
            const NAME: &'static str = #name;
            const PARTS: &'static [__isoform::Placed] = &[#(#parts),*];
        }

        // SAFETY: (1) the struct is `repr(C)`, and all of its fields are declared above, with their offsets and, as
        // `Placed::of` sees to, their types; (2, 5) each is a `Part` for the same lifetime; (3) fields hold plain bits, and
        // nothing is dropped, as is asserted below; (4) asserted below.
        #[automatically_derived]
        unsafe impl<#any> __isoform::Native<#any> for #ident #generics {
            const DEPTH: usize = __isoform::deeper(<Self as __isoform::Declared<#any>>::PARTS);

            fn element() -> __isoform::Element {
                static ELEMENT: __isoform::OnceLock<__isoform::Element> = __isoform::OnceLock::new();
                ::core::clone::Clone::clone(ELEMENT.get_or_init(__isoform::structure::<Self>))
            }

            fn rules(rules: __isoform::Rules) -> __isoform::Rules {
                #rules
            }
        }

        const _: () = {
            ::core::assert!(<#ident #forever as __isoform::Native<'static>>::DEPTH > 0);
            ::core::assert!(
                !__isoform::needs_drop::<#ident #forever>(),
                "a record that is sent as it lies in memory cannot have a `Drop`"
            );
            ::core::assert!(
                __isoform::align_of::<#ident #forever>() <= __isoform::MAX_ALIGN,
                "records are aligned to at most 64 bytes"
            );
        };

        // Checks that no field is missing above, even if another macro has added one.
        fn _complete(record: &#ident #forever) {
            let #ident { #(#idents: _),* } = record;
        }
    }
}
