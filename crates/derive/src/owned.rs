//! Structs that own their parts, and their hidden `#[repr(C)]` twins.

use crate::plain;
use crate::record::Record;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Lifetime;
use syn::spanned::Spanned;

pub(crate) fn expand(record: &Record<'_>) -> TokenStream {
    let (ident, visibility) = (record.ident, record.visibility);
    let twin = format_ident!("{ident}Native");
    let lifetime = Lifetime::new("'isoform", Span::call_site());
    let native_type = |field: &crate::record::Field<'_>| {
        let ty = field.ty;
        quote_spanned!(ty.span()=> <#ty as isoform::OwnedPart>::Native<'isoform>)
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
                #ident: <#ty as isoform::OwnedPart>::#method(&#from.#ident #more).map_err(|error| error.within(#name))?
            }
        };
        record.fields.iter().map(one).collect()
    };
    let lowered = each("lower", quote!(self), quote!(, scratch));
    let raised = each("raise", quote!(native), quote!());
    quote! {
        const _: () = {
            use ::isoform::derive as isoform;

            /// The form in memory of a record that owns its parts.
            #[repr(C)]
            #[allow(missing_docs, dead_code)]
            #visibility struct #twin<'isoform> {
                #(#fields,)*
            }
            #native

            #[automatically_derived]
            impl isoform::Owned for #ident {
                type Native<'isoform> = #twin<'isoform>;

                fn lower<'isoform>(
                    &'isoform self,
                    scratch: &'isoform isoform::Scratch,
                ) -> isoform::Result<#twin<'isoform>> {
                    ::core::result::Result::Ok(#twin { #(#lowered,)* })
                }

                fn raise(native: &#twin<'_>) -> isoform::Result<Self> {
                    ::core::result::Result::Ok(#ident { #(#raised,)* })
                }
            }

            #[automatically_derived]
            impl isoform::Record for #ident {
                type Native<'isoform> = #twin<'isoform> where Self: 'isoform;
                type Kind = #ident;

                fn format() -> &'static isoform::Format {
                    static FORMAT: isoform::OnceLock<isoform::Format> = isoform::OnceLock::new();
                    FORMAT.get_or_init(isoform::format::<#twin<'static>>)
                }

                fn rules() -> isoform::Rules {
                    <#twin<'static> as isoform::Native<'static>>::rules(isoform::Rules::new())
                }

                fn native<'isoform>(
                    &'isoform self,
                    scratch: &'isoform isoform::Scratch,
                ) -> isoform::Result<&'isoform #twin<'isoform>> {
                    scratch.put(isoform::Owned::lower(self, scratch)?)
                }
            }
        };
    }
}
