//! Formats with gaps that no compiler makes.

use isoform_core::{Element, Format, Structure};
use std::collections::HashMap;
use std::sync::Arc;

/// The same record with gaps and alignments from `seeds`, used cyclically; unchanged if there are none.
pub fn with_gaps(format: &Format, seeds: &[u8]) -> Format {
    if seeds.is_empty() {
        return format.clone();
    }
    let mut stretcher = Stretcher { seeds: seeds.iter().copied().cycle(), known: HashMap::new() };
    Format::new(stretcher.structure(format.structure())).expect("gaps do no harm")
}

struct Stretcher<Seeds> {
    seeds: Seeds,
    known: HashMap<String, Arc<Structure>>,
}

impl<Seeds: Iterator<Item = u8>> Stretcher<Seeds> {
    fn structure(&mut self, structure: &Structure) -> Arc<Structure> {
        if let Some(known) = self.known.get(structure.name()) {
            return known.clone();
        }
        let machine = structure.machine();
        let mut fields = structure.fields().to_vec();
        let mut end = 0;
        for field in &mut fields {
            if let Element::Structure(inner) = &field.element {
                field.element = Element::Structure(self.structure(inner));
            }
            field.offset = end + self.gap();
            end = field.offset + field.extent(machine.pointer).expect("a small field");
        }
        let align = 1 << (self.seed() % 6);
        let size = (end + self.gap()).next_multiple_of(align);
        let stretched = Structure::new(structure.name(), machine, size, align, fields).expect("gaps do no harm");
        let stretched = Arc::new(stretched);
        self.known.insert(structure.name().into(), stretched.clone());
        stretched
    }

    fn seed(&mut self) -> u8 {
        self.seeds.next().unwrap_or(0)
    }

    /// Mostly none.
    fn gap(&mut self) -> usize {
        usize::from(self.seed()).saturating_sub(128) % 11
    }
}
