//! Edits of descriptions.

use super::Random;
use super::description::{Description, Field, HAS_DIMS, HAS_UNIT, INDIRECT, KIND, List, STRUCTURE, Structure, Symbol};

/// A description that is another in some part, taken from `bytes`, and parts of `other`.
pub(super) fn edited(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let Some(mut description) = Description::parse(bytes) else {
        let mut bytes = bytes.to_vec();
        super::bytes::edit(&mut bytes, random);
        return bytes;
    };
    let other = Description::parse(other).unwrap_or_else(|| description.clone());
    match random.below(16) {
        0..=2 => number(&mut description, random),
        3 => byte(&mut description, random),
        4 => tag(&mut description, random),
        5 => claim(&mut description, random),
        6..=8 => names(&mut description, random),
        9 => structures(&mut description, &other, random),
        10 | 11 => fields(&mut description, &other, random),
        12 => symbols(&mut description, &other, random),
        13 => dimensions(&mut description, random),
        14 => wrap(&mut description, random),
        _ => {
            let mut bytes = description.to_bytes();
            overlong(&mut bytes, random);
            return bytes;
        }
    }
    if !random.one_in(3) {
        settle(&mut description);
    }
    description.to_bytes()
}

/// Makes every structure as large as its fields ask, if that can be told, so that one more byte is no fault by itself.
fn settle(description: &mut Description) {
    let pointer = if description.machine & 2 == 0 { 4 } else { 8 };
    let mut sizes: Vec<u64> = Vec::new();
    for structure in &mut description.structures.items {
        let end = structure.fields.items.iter().fold(0u64, |end, field| {
            let size = match field.tag & KIND {
                STRUCTURE => sizes.get(field.structure as usize).copied().unwrap_or(0),
                15 => pointer,
                11 => 1,
                7..=10 => 2 * u64::from(field.size),
                _ => field.size.into(),
            };
            let fixed = |size: u64, dim: &u64| size.saturating_mul(dim / 2);
            let dims = if field.tag & HAS_DIMS != 0 { &field.dims.items[..] } else { &[] };
            let extent = if field.tag & INDIRECT != 0 { pointer } else { dims.iter().fold(size, fixed) };
            end.saturating_add(field.gap).saturating_add(extent)
        });
        let align = 1u64.checked_shl(structure.align.into()).unwrap_or(1);
        if end < 1 << 41 {
            structure.size = structure.size.max(end.next_multiple_of(align)).max(1);
        }
        sizes.push(structure.size);
    }
}

fn any<'a, T>(items: &'a mut [T], random: &mut Random) -> Option<&'a mut T> {
    let at = random.below(items.len());
    items.get_mut(at)
}

fn any_structure<'a>(description: &'a mut Description, random: &mut Random) -> Option<&'a mut Structure> {
    any(&mut description.structures.items, random)
}

fn any_field<'a>(description: &'a mut Description, random: &mut Random) -> Option<&'a mut Field> {
    any(&mut any_structure(description, random)?.fields.items, random)
}

/// A gap, a size, a dimension, a place in the list, the value of a symbol.
fn number(description: &mut Description, random: &mut Random) {
    let Some(structure) = any_structure(description, random) else { return };
    let mut numbers = vec![&mut structure.size];
    if let Some(field) = any(&mut structure.fields.items, random) {
        numbers.push(&mut field.gap);
        if field.tag & KIND == STRUCTURE {
            numbers.push(&mut field.structure);
        }
        if field.tag & HAS_DIMS != 0 {
            numbers.extend(&mut field.dims.items);
        }
        numbers.extend(any(&mut field.symbols.items, random).map(|symbol| &mut symbol.value));
    }
    if let Some(number) = any(&mut numbers, random) {
        **number = random.instead_of(**number);
    }
}

fn byte(description: &mut Description, random: &mut Random) {
    let choice = random.below(8);
    match any_structure(description, random) {
        Some(structure) if choice < 2 => structure.align = random.below(20) as u8,
        Some(structure) if choice < 6 => {
            if let Some(field) = any(&mut structure.fields.items, random) {
                field.size = random.of_these(&[0, 1, 2, 3, 4, 8, 10, 12, 16, 32, 255]).unwrap_or(0);
            }
        }
        _ if choice == 6 => {
            let bits = random.of_these(&[2, 2, 2, 8]).unwrap_or(2);
            description.machine ^= 1 << random.below(bits);
        }
        _ => description.version = random.byte(),
    }
}

fn tag(description: &mut Description, random: &mut Random) {
    let Some(field) = any_field(description, random) else { return };
    match random.below(3) {
        0 => field.tag ^= random.of_these(&[HAS_DIMS, INDIRECT, HAS_UNIT]).unwrap_or(0),
        1 => field.tag = field.tag & !KIND | random.below(18) as u8,
        _ => field.tag = random.byte(),
    }
    if field.dims.items.is_empty() {
        field.dims.items.push(2 * random.below(4) as u64);
    }
    if field.unit.items.is_empty() {
        field.unit.items.push(b'm');
    }
}

/// Says that there are more or fewer than there are.
fn claim(description: &mut Description, random: &mut Random) {
    fn of<T>(list: &mut List<T>, random: &mut Random) {
        list.claim = Some(random.instead_of(list.items.len() as u64));
    }
    if random.one_in(5) {
        return of(&mut description.structures, random);
    }
    let Some(structure) = any_structure(description, random) else { return };
    match (random.below(6), any(&mut structure.fields.items, random)) {
        (0, Some(field)) => of(&mut field.name, random),
        (1, Some(field)) => of(&mut field.dims, random),
        (2, Some(field)) => of(&mut field.symbols, random),
        (3, Some(field)) => of(&mut field.unit, random),
        (4, _) => of(&mut structure.name, random),
        _ => of(&mut structure.fields, random),
    }
}

/// Texts that no name, or none but one, may be.
const ODD: [&[u8]; 12] =
    [b"", b".", b"a.b", b"[0]", b"\0", b" ", b"\xff\xfe", "\u{85}".as_bytes(), b"=", "ä".as_bytes(), b"n", b"\"\\"];

fn names(description: &mut Description, random: &mut Random) {
    let mut names = Vec::new();
    for structure in &mut description.structures.items {
        names.push(&mut structure.name);
        for field in &mut structure.fields.items {
            names.push(&mut field.name);
            names.extend((field.tag & HAS_UNIT != 0).then_some(&mut field.unit));
            names.extend(any(&mut field.symbols.items, random).map(|symbol| &mut symbol.name));
        }
    }
    let other = any(&mut names, random).map(|name| name.items.clone()).unwrap_or_default();
    let Some(name) = any(&mut names, random) else { return };
    match random.below(5) {
        0 => name.items = other,
        1 => name.items = random.of_these(&ODD).unwrap_or_default().to_vec(),
        2 => name.items.resize(random.of_these(&[1, 2, 254, 255, 256, 300]).unwrap_or(0), b'x'),
        3 => name.items.push(b'a' + random.below(26) as u8),
        _ => super::bytes::edit(&mut name.items, random),
    }
}

/// Repeats, takes out, exchanges, or takes over one of a list of items.
fn rearrange<T: Clone>(items: &mut Vec<T>, others: &[T], random: &mut Random) {
    let at = random.below(items.len());
    match random.below(5) {
        0 if !items.is_empty() => items.insert(at, items[at].clone()),
        1 if !items.is_empty() => drop(items.remove(at)),
        2 => {
            if let Some((a, b)) = random.two_of(items.len()) {
                items.swap(a, b);
            }
        }
        3 if !items.is_empty() && !others.is_empty() => items[at] = others[random.below(others.len())].clone(),
        _ if !others.is_empty() => items.insert(at, others[random.below(others.len())].clone()),
        _ => {}
    }
}

fn structures(description: &mut Description, other: &Description, random: &mut Random) {
    rearrange(&mut description.structures.items, &other.structures.items, random);
}

fn fields(description: &mut Description, other: &Description, random: &mut Random) {
    let others: Vec<Field> = match other.structures.items.get(random.below(other.structures.items.len())) {
        Some(structure) => structure.fields.items.clone(),
        None => Vec::new(),
    };
    let Some(structure) = any_structure(description, random) else { return };
    rearrange(&mut structure.fields.items, &others, random);
    // Half of them under a name of its own, which is no fault by itself.
    if random.one_in(2)
        && let Some(field) = any(&mut structure.fields.items, random)
    {
        field.name.items = format!("f{}", random.below(10_000)).into();
    }
}

fn symbols(description: &mut Description, other: &Description, random: &mut Random) {
    let all = |description: &Description| {
        let fields = description.structures.items.iter().flat_map(|structure| &structure.fields.items);
        fields.flat_map(|field| field.symbols.items.iter().cloned()).collect::<Vec<Symbol>>()
    };
    let others = [all(description), all(other)].concat();
    let fields = description.structures.items.iter_mut().flat_map(|structure| &mut structure.fields.items);
    let mut enumerations: Vec<_> = fields.filter(|field| matches!(field.tag & KIND, 13 | 14)).collect();
    if let Some(field) = any(&mut enumerations, random) {
        rearrange(&mut field.symbols.items, &others, random);
        if random.one_in(2) {
            field.symbols.items.sort_by_key(|symbol| symbol.value);
        }
    }
}

fn dimensions(description: &mut Description, random: &mut Random) {
    let Some(structure) = any_structure(description, random) else { return };
    let count = structure.fields.items.len();
    let Some(field) = any(&mut structure.fields.items, random) else { return };
    let fixed = 2 * random.instead_of(3).min(1 << 62);
    let dynamic = 2 * random.below(count + 1) as u64 + 1;
    field.tag |= HAS_DIMS;
    match random.below(6) {
        0 => field.dims.items = vec![fixed; 1 + random.below(9)],
        1 => field.dims.items.push(fixed),
        2 => field.dims.items.push(2),
        3 => field.dims.items.clear(),
        _ => {
            field.dims.items.push(dynamic);
            field.tag |= INDIRECT;
        }
    }
}

/// Puts the record into another one, up to some levels deep, or a nested one in its place.
fn wrap(description: &mut Description, random: &mut Random) {
    if random.one_in(3) {
        description.structures.items.pop();
        return;
    }
    for level in 0..1 + random.below(3) {
        let Some(inner) = description.structures.items.last() else { return };
        let (place, size, align) = (description.structures.items.len() as u64 - 1, inner.size, inner.align);
        let name = |text: String| List { items: text.into_bytes(), claim: None };
        let field = Field {
            name: name("inner".into()),
            gap: 0,
            tag: STRUCTURE,
            size: 4,
            symbols: List::default(),
            structure: place,
            dims: List::default(),
            unit: List::default(),
        };
        let name = name(format!("outer{level}_{}", random.below(1000)));
        let fields = List { items: vec![field], claim: None };
        description.structures.items.push(Structure { name, size, align, fields });
    }
}

/// Writes the number that some byte may be in one byte more than it takes.
fn overlong(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    bytes[at] |= 0x80;
    let more: &[u8] = random.of_these(&[&[0][..], &[0x80, 0], &[1], &[0xff; 9], &[0x80; 9]]).unwrap_or_default();
    bytes.splice(at + 1..at + 1, more.iter().copied());
}
