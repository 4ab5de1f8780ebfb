//! Sealed streams, whole and damaged, and where a reader resumes in them.

use crate::raw::{Bytes, LITTLE8, bytes, description, field, message, structure};
use isoform::core::message::{Header, Mark};
use isoform::{Code, Token};
use serde_json::{Value, json};

const MARK: Mark = Mark::from_bytes([0x5e, 0xa1, 0, 1, 2, 3, 4, 0xff]);
const OTHER: Mark = Mark::from_bytes([9; 8]);

/// A sealed stream of the numbers 0 to 5, with a sealed message of another mark within the record of the number 3.
struct Stream {
    bytes: Bytes,
    /// Where the seal of each number begins, and where the last message ends.
    begins: Vec<usize>,
}

/// The bytes of the sealed stream, undamaged.
pub(crate) fn whole() -> Vec<u8> {
    stream().bytes.0
}

pub(crate) fn all() -> Vec<Value> {
    let whole = stream();
    let at = |number: usize| whole.begins[number];
    let flipped = |place: usize| whole.bytes.clone().patched(place, [whole.bytes.0[place] ^ 0x10]);
    let without = |from: usize, to: usize| bytes([&whole.bytes.0[..from], &whole.bytes.0[to..]].concat());
    let with = |place: usize, new: &[u8]| bytes([&whole.bytes.0[..place], new, &whole.bytes.0[place..]].concat());
    let all = [0, 1, 2, 3, 4, 5];
    let lacks = |number: u64| all.into_iter().filter(|other| *other != number).collect::<Vec<_>>();
    let gap = |number: usize| vec![[at(number), at(number + 1)]];
    let case = |name: &str, stream: &Bytes, values: &[u64], gaps: &[[usize; 2]], first, last| {
        let is_before = |begin: &&usize| gaps.first().is_none_or(|gap| **begin < gap[0]);
        let before = values.len().min(whole.begins.iter().filter(is_before).count());
        case(name, stream, values, before, gaps, first, last)
    };
    vec![
        case("whole", &whole.bytes, &all, &[], None, None),
        case("in-a-body", &flipped(at(2) + 84), &lacks(2), &gap(2), Some(Code::Damaged), None),
        case("in-a-length", &flipped(at(2) + 48 + 30), &lacks(2), &gap(2), Some(Code::Damaged), None),
        case("in-a-magic-number", &flipped(at(2) + 48), &lacks(2), &gap(2), Some(Code::NotAMessage), None),
        case("in-the-token-of-a-seal", &flipped(at(2) + 12), &lacks(2), &gap(2), Some(Code::Damaged), None),
        case("in-the-length-of-a-seal", &flipped(at(2) + 24), &lacks(2), &gap(2), Some(Code::Damaged), None),
        case("in-a-record-with-a-stream", &flipped(at(3) + 84), &lacks(3), &gap(3), Some(Code::Damaged), None),
        case(
            "bytes-that-are-not-there",
            &without(at(2) + 60, at(3) - 20),
            &lacks(2),
            &[[at(2), at(2) + 60 + 20]],
            Some(Code::Damaged),
            None,
        ),
        case(
            "bytes-between-messages",
            &with(at(4), b"and so on"),
            &all,
            &[[at(4), at(4) + 9]],
            Some(Code::NotAMessage),
            None,
        ),
        case(
            "two-seals",
            &with(at(2), &whole.bytes.0[at(2)..at(2) + 48]),
            &all,
            &[[at(2), at(2) + 48]],
            Some(Code::Damaged),
            None,
        ),
        case("cut-behind-a-seal", &without(at(5) + 48, at(6)), &all[..5], &[], Some(Code::Cut), Some(Code::Cut)),
        case("cut-in-a-message", &without(at(5) + 81, at(6)), &all[..5], &[], Some(Code::Cut), Some(Code::Cut)),
        case("in-the-first-description", &flipped(90), &[], &[], Some(Code::Damaged), Some(Code::Damaged)),
    ]
}

fn stream() -> Stream {
    // `unsigned char inner[128]` behind `uint64_t x`.
    let fields = [field("x", 0, [2, 8]), field("inner", 0, [0x22, 1, 1, 0x80, 2])];
    let format = description(LITTLE8, &[structure("R", 136, 3, &fields)]);
    let small = description(LITTLE8, &[structure("S", 8, 3, &[field("y", 0, [3, 8])])]);
    let inner = sealed(OTHER, Token::ZERO, &small);
    let record = |number: u64| {
        let record = bytes(number.to_le_bytes()).raw([0; 128]);
        if number == 3 { record.patched(16, &inner.0) } else { record }
    };
    let mut all = sealed(MARK, Token::ZERO, &format);
    let mut begins = Vec::new();
    for number in 0..6 {
        begins.push(all.0.len());
        all = all.raw(sealed(MARK, Token::of(&format.0), &record(number)).0);
    }
    begins.push(all.0.len());
    Stream { bytes: all, begins }
}

fn sealed(mark: Mark, token: Token, body: &Bytes) -> Bytes {
    let header = Header::new(token, body.0.len() as u64);
    bytes(mark.seal(&header, [&body.0[..]]).message()).raw(message(token, body).0)
}

fn case(
    name: &str,
    stream: &Bytes,
    values: &[u64],
    before: usize,
    gaps: &[[usize; 2]],
    first: Option<Code>,
    last: Option<Code>,
) -> Value {
    let hex: String = stream.0.iter().map(|byte| format!("{byte:02x}")).collect();
    let code = |code: Option<Code>| code.map(Code::name);
    json!({
        "name": name,
        "x": values,
        "before": before,
        "first": code(first),
        "gaps": gaps,
        "error": code(last),
        "stream": hex,
    })
}
