//! Records that a document declares: their format with the document's defaults, and their texts. Section "Documents" of the header.

use crate::error::{Status, answer, c_text, call};
use crate::format::Format;
use crate::loading::{self, Options};
use crate::message::{self, Message};
use crate::pointer::{Held, Opened, Out, close, given, open, optional_text, text};
use crate::stream::{Get, Giver};
use isoform::core::Verifier;
use isoform::{Aligned, Result, View};
use isoform_xmit::{Hydration, Texts as Bodies};
use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// `iso_document`
pub struct Document {
    hydration: Arc<Hydration>,
    verifier: Verifier,
    /// Its address is in messages.
    format: Box<Format>,
    text: CString,
    body: Aligned,
}

/// `iso_document_load`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_document_load(
    place: *const c_char,
    name: *const c_char,
    document: Opened<'_, Document>,
) -> Status {
    // SAFETY: (1) of the crate.
    unsafe { iso_document_load_with(place, name, None, document) }
}

/// `iso_document_load_with`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_document_load_with(
    place: *const c_char,
    name: *const c_char,
    options: Option<&Options>,
    document: Opened<'_, Document>,
) -> Status {
    let load = || -> Result<Document> {
        // SAFETY: (1) of the crate.
        let (place, name, (mut fetcher, layout)) =
            unsafe { (text(place, "place")?, text(name, "name")?, loading::fetcher(options)?) };
        let declarations = fetcher.declarations(place)?;
        let format = Box::new(loading::declared(&declarations, name, &layout)?);
        let hydration = Hydration::new(&format.format, &declarations.markup(name)?)?.rules(declarations.rules(name)?);
        let hydration = Arc::new(hydration);
        let verifier = Verifier::new(&format.format);
        Ok(Document { hydration, verifier, format, text: CString::default(), body: Aligned::new() })
    };
    call(|| open(document, "document", load))
}

/// `iso_document_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_document_close(document: Held<'_, Document>) {
    answer((), || close(document));
}

/// `iso_document_format`
#[unsafe(no_mangle)]
pub extern "C" fn iso_document_format(document: Option<&Document>) -> *const Format {
    document.map_or(ptr::null(), |document| &raw const *document.format)
}

/// `iso_document_xml`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_document_xml(
    document: Option<&mut Document>,
    message: Option<&Message>,
    xml: Out<'_, *const c_char>,
) -> Status {
    // SAFETY: (1, 3) of the crate.
    call(|| unsafe { write(document, message, xml, "xml", Hydration::xml) })
}

/// `iso_document_json`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_document_json(
    document: Option<&mut Document>,
    message: Option<&Message>,
    json: Out<'_, *const c_char>,
) -> Status {
    // SAFETY: (1, 3) of the crate.
    call(|| unsafe { write(document, message, json, "json", Hydration::json) })
}

/// `iso_document_of_xml`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_document_of_xml(
    document: Option<&mut Document>,
    xml: *const c_char,
    message: Out<'_, Message>,
) -> Status {
    // SAFETY: (1) of the crate.
    call(|| unsafe { read(document, xml, "xml", message, Hydration::body_of_xml) })
}

/// `iso_document_of_json`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_document_of_json(
    document: Option<&mut Document>,
    json: *const c_char,
    message: Out<'_, Message>,
) -> Status {
    // SAFETY: (1) of the crate.
    call(|| unsafe { read(document, json, "json", message, Hydration::body_of_json) })
}

/// `iso_texts`
pub struct Texts {
    bodies: Bodies<Giver>,
    /// Its address is in messages.
    format: Box<Format>,
    body: Aligned,
}

/// `iso_texts_open_xml`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_texts_open_xml(
    document: Option<&Document>,
    within: *const c_char,
    function: Option<Get>,
    context: *mut c_void,
    texts: Opened<'_, Texts>,
) -> Status {
    // SAFETY: (1) of the crate.
    let within = || unsafe { optional_text(within, "within") };
    let read = |hydration, from| Ok(Bodies::xml(hydration, from, within()?));
    call(|| open(texts, "texts", || opened(document, function, context, read)))
}

/// `iso_texts_open_json`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iso_texts_open_json(
    document: Option<&Document>,
    function: Option<Get>,
    context: *mut c_void,
    texts: Opened<'_, Texts>,
) -> Status {
    let read = |hydration, from| Ok(Bodies::json(hydration, from));
    call(|| open(texts, "texts", || opened(document, function, context, read)))
}

/// `iso_texts_next`
#[unsafe(no_mangle)]
pub extern "C" fn iso_texts_next(texts: Option<&mut Texts>, message: Out<'_, Message>) -> Status {
    call(|| {
        let place = given(message, "message")?;
        place.write(Message::NONE);
        let texts = given(texts, "texts")?;
        if let Some(body) = texts.bodies.next().transpose()? {
            texts.body = Aligned::from(&body[..]);
            place.write(Message::lent(&texts.format, &texts.body));
        }
        Ok(())
    })
}

/// `iso_texts_close`
#[unsafe(no_mangle)]
pub extern "C" fn iso_texts_close(texts: Held<'_, Texts>) {
    answer((), || close(texts));
}

fn opened(
    document: Option<&Document>,
    function: Option<Get>,
    context: *mut c_void,
    read: impl FnOnce(Arc<Hydration>, Giver) -> Result<Bodies<Giver>>,
) -> Result<Texts> {
    let (document, function) = (given(document, "document")?, given(function, "get")?);
    let bodies = read(document.hydration.clone(), Giver::new(function, context))?;
    Ok(Texts { bodies, format: Box::new(document.format.another()), body: Aligned::new() })
}

/// Stores the text of a message.
///
/// # Safety
/// As [`message::incoming`].
unsafe fn write(
    document: Option<&mut Document>,
    message: Option<&Message>,
    out: Out<'_, *const c_char>,
    name: &str,
    text: impl FnOnce(&Hydration, View<'_>) -> Result<String>,
) -> Result<()> {
    let out = given(out, name)?;
    out.write(ptr::null());
    let document = given(document, "document")?;
    // SAFETY: promised.
    let incoming = unsafe { message::incoming(message)? };
    let format = document.hydration.format();
    if incoming.format() != format {
        let error = isoform::Error::new(isoform::Code::WrongType).at("message");
        let found = format_args!("{:?}: decode it, and encode it as a record of the document", incoming.format());
        return Err(error.expected(format_args!("a message of {format:?}")).found(found));
    }
    let view = View::new(document.verifier.verify(incoming.body())?);
    document.text = c_text(&text(&document.hydration, view)?);
    out.write(document.text.as_ptr());
    Ok(())
}

/// Stores the message of a text.
///
/// # Safety
/// The text is a text of C.
unsafe fn read(
    document: Option<&mut Document>,
    given_text: *const c_char,
    name: &str,
    message: Out<'_, Message>,
    body: impl FnOnce(&Hydration, &str) -> Result<Vec<u8>>,
) -> Result<()> {
    let place = given(message, "message")?;
    place.write(Message::NONE);
    let document = given(document, "document")?;
    // SAFETY: promised.
    let text = unsafe { text(given_text, name)? };
    document.body = Aligned::from(&body(&document.hydration, text)?[..]);
    place.write(Message::lent(&document.format, &document.body));
    Ok(())
}
