//! Documents of every language: what is declared is bound everywhere, and its texts are read and written as the same.

use crate::refusal;
use isoform::View;
use isoform::core::{Layout, value};
use isoform_xmit::{Alone, Declarations, Hydration, Language, Markup, Overlay, Target};

/// Larger records are not asked for: how much memory a format takes is the wish of who chose it.
const LARGEST: usize = 64 << 10;
/// So many records of a document are looked at.
const RECORDS: usize = 4;

/// The input is a byte that chooses a language and a layout, a document, and maybe a NUL with a text behind it: XML or JSON of a record,
/// an overlay, or markup.
pub fn check(input: &[u8]) {
    let Some((choice, Ok(text))) = input.split_first().map(|(choice, text)| (choice, std::str::from_utf8(text))) else {
        return;
    };
    let (document, text) = text.split_once('\0').unwrap_or((text, ""));
    let language = Language::ALL[usize::from(*choice) % Language::ALL.len()];
    let layout = &Layout::ALL[usize::from(*choice) / Language::ALL.len() % Layout::ALL.len()];
    let declarations = match Declarations::read(language, "document", document, &mut Alone) {
        Ok(declarations) => declarations,
        Err(error) => return refusal(&error),
    };
    let names: Vec<&str> = declarations.names().take(RECORDS).collect();
    for target in Target::ALL {
        if let Err(error) = target.write(&declarations, names.first().copied()) {
            refusal(&error);
        }
    }
    for name in &names {
        if let Err(error) = record(&declarations, name, layout, text) {
            refusal(&error);
        }
    }
    let overlay = Overlay::parse("overlay", text).and_then(|overlay| overlay.over(declarations.clone()));
    match overlay {
        Ok(changed) => changed.names().take(RECORDS).for_each(|name| {
            changed.bind(name, layout).map_or_else(|error| refusal(&error), drop);
        }),
        Err(error) => refusal(&error),
    }
}

fn record(declarations: &Declarations, name: &str, layout: &Layout, text: &str) -> isoform::Result<()> {
    let format = declarations.bind(name, layout)?;
    let rules = declarations.rules(name)?;
    let markup = declarations.markup(name)?;
    let printed = markup.to_string();
    assert_eq!(Markup::parse("markup", &printed).as_ref(), Ok(&markup), "{printed}");
    if let Ok(other) = Markup::parse("markup", text) {
        assert_eq!(Markup::parse("markup", &other.to_string()), Ok(other));
    }
    if format.size() > LARGEST {
        return Ok(());
    }
    let hydration = Hydration::new(&format, &markup)?.rules(rules);
    for record in [hydration.of_xml(text), hydration.of_json(text)] {
        let body = match record.and_then(|record| value::body(&format, &record)) {
            Ok(body) => body,
            Err(error) => {
                refusal(&error);
                continue;
            }
        };
        let view = View::new(format.verify(&body).expect("what was written is valid"));
        // JSON can have what XML cannot.
        match hydration.xml(view) {
            Ok(xml) => {
                let again = hydration.body_of_xml(&xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
                let view = View::new(format.verify(&again).expect("what was written is valid"));
                assert_eq!(hydration.xml(view).as_deref(), Ok(&*xml));
                assert_eq!(hydration.tree(view)?.to_string(), xml);
            }
            Err(error) => refusal(&error),
        }
        match hydration.json(view) {
            Ok(json) => {
                let again = hydration.body_of_json(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
                let view = View::new(format.verify(&again).expect("what was written is valid"));
                assert_eq!(hydration.json(view), Ok(json));
            }
            Err(error) => refusal(&error),
        }
    }
    Ok(())
}
