//! Structs that own their parts, and their hidden `#[repr(C)]` twins.

use crate::plain;
use crate::record::Record;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Lifetime;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

pub(crate) fn expand(record: &Record<'_>) -> TokenStream {
    let (ident, visibility) = (record.ident, record.visibility);
    let twin = format_ident!("__{}Native", ident.unraw());
    let lifetime = Lifetime::new("'isoform", Span::call_site());
    let native_type = |field: &crate::record::Field<'_>| {
        let ty = field.ty;
        quote_spanned!(ty.span()=> <#ty as __isoform::OwnedPart>::Native<'isoform>)
    };
    let types: Vec<_> = record.fields.iter().map(native_type).collect();
    let native = plain::native(record, &twin, Some(&lifetime), &types);
    let fields = record.fields.iter().zip(&types).map(|(field, ty)| {
        let (ident, visibility) = (field.ident, field.visibility);
        quote!(#visibility #ident: #ty)
    });
    let each = |method: &str, from: TokenStream, more: TokenStream| -> Vec<TokenStream> {
        let method = format_ident!("{method}");
        let one = |field: &crate::record::Field<'_>| {
            let (ident, ty, name) = (field.ident, field.ty, &field.name);
            quote! {
                #ident: <#ty as __isoform::OwnedPart>::#method(&#from.#ident #more).map_err(|error| error.within(#name))?
            }
        };
        record.fields.iter().map(one).collect()
    };
    let lowered = each("lower", quote!(self), quote!(, scratch));
    let raised = each("raise", quote!(native), quote!());
    quote! {
        const _: () = {
            use ::isoform::derive as __isoform;

            /// The native form of a record that owns its parts.
            #[repr(C)]
            #[allow(missing_docs, unreachable_pub, dead_code)]
            #visibility struct #twin<'isoform> {
                #(#fields,)*
            }
            #native

            #[automatically_derived]
            impl __isoform::Owned for #ident {
                type Native<'isoform> = #twin<'isoform>;

                fn lower<'isoform>(
                    &'isoform self,
                    scratch: &'isoform __isoform::Scratch,
                ) -> __isoform::Result<#twin<'isoform>> {
                    ::core::result::Result::Ok(#twin { #(#lowered,)* })
                }

                fn raise(native: &#twin<'_>) -> __isoform::Result<Self> {
                    ::core::result::Result::Ok(#ident { #(#raised,)* })
                }
            }

            #[automatically_derived]
            impl __isoform::Record for #ident {
                type Native<'isoform> = #twin<'isoform> where Self: 'isoform;
                type Static = #ident;

                fn format() -> &'static __isoform::Format {
                    static FORMAT: __isoform::OnceLock<__isoform::Format> = __isoform::OnceLock::new();
                    FORMAT.get_or_init(__isoform::format::<#twin<'static>>)
                }

                fn rules() -> __isoform::Rules {
                    <#twin<'static> as __isoform::Native<'static>>::rules(__isoform::Rules::new())
                }

                fn native<'isoform>(
                    &'isoform self,
                    scratch: &'isoform __isoform::Scratch,
                ) -> __isoform::Result<&'isoform #twin<'isoform>> {
                    scratch.put(__isoform::Owned::lower(self, scratch)?)
                }
            }
        };
    }
}
