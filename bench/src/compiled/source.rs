//! Writes the C for pairs of formats, as someone would who knows both structs: a copy where bytes agree, loops over
//! arrays, one line for each scalar. It shares nothing with plans, since it is what they are measured against.

use crate::Result;
use isoform_core::{ByteOrder, Dimension, Element, Field, FloatKind, Format, Machine, Structure};
use std::fmt::Write;

/// The name of the function for one pair.
pub(super) fn name(index: usize) -> String {
    format!("convert_{index}")
}

/// A C file with one function for each pair (wire, native).
pub(super) fn of(pairs: &[(Format, Format)]) -> Result<String> {
    let mut source = String::from(PROLOGUE);
    for (index, (wire, native)) in pairs.iter().enumerate() {
        let mut function = Function { wire: wire.machine(), native: native.machine(), text: String::new(), depth: 0 };
        function.structure((wire.structure(), 0), (native.structure(), 0))?;
        writeln!(
            source,
            "size_t {}(const unsigned char *restrict src, unsigned char *restrict dst) {{\n\
             const unsigned char *s0 = src; unsigned char *d0 = dst; size_t cursor = {}; int bad = 0;\n{}\
             return bad ? (size_t)-1 : cursor;\n}}",
            name(index),
            native.size(),
            function.text
        )?;
    }
    Ok(source)
}

const PROLOGUE: &str = r"
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define ACCESS(bits) \
  static inline uint##bits##_t load##bits(const unsigned char *p) { uint##bits##_t v; memcpy(&v, p, sizeof v); return v; } \
  static inline void store##bits(unsigned char *p, uint##bits##_t v) { memcpy(p, &v, sizeof v); }
ACCESS(8) ACCESS(16) ACCESS(32) ACCESS(64)
#define swap16 __builtin_bswap16
#define swap32 __builtin_bswap32
#define swap64 __builtin_bswap64
static inline float as_float(uint32_t v) { float f; memcpy(&f, &v, sizeof f); return f; }
static inline double as_double(uint64_t v) { double f; memcpy(&f, &v, sizeof f); return f; }
static inline uint32_t float_bits(float f) { uint32_t v; memcpy(&v, &f, sizeof v); return v; }
static inline uint64_t double_bits(double f) { uint64_t v; memcpy(&v, &f, sizeof v); return v; }
";

/// A structure, and where it begins in the record or element at hand.
type At<'a> = (&'a Structure, usize);

struct Function {
    wire: Machine,
    native: Machine,
    text: String,
    /// How many loops are open. The pointers to the elements of loop 2 are `s2` and `d2`, those to the record `s0` and `d0`.
    depth: usize,
}

impl Function {
    fn structure(&mut self, (wire, from): At<'_>, (native, to): At<'_>) -> Result<()> {
        // Bytes that are copied as they are: their start in the source and destination, their end in the source, and
        // the field that they end with.
        let mut run: Option<(usize, usize, usize, usize)> = None;
        for n in native.fields() {
            let at = wire.index_of(&n.name).ok_or("a field that is not sent")?;
            let w = &wire.fields()[at];
            let (src, dst) = (from + w.offset, to + n.offset);
            if self.wire == self.native && w.element == n.element && w.dims == n.dims && !w.has_slots() {
                let end = src + w.extent(self.wire.pointer).ok_or("a field without a size")?;
                run = match run {
                    Some((a, b, _, last)) if last + 1 == at && src.wrapping_sub(a) == dst.wrapping_sub(b) => {
                        Some((a, b, end, at))
                    }
                    before => {
                        self.copy(before)?;
                        Some((src, dst, end, at))
                    }
                };
                continue;
            }
            self.copy(run.take())?;
            self.field(w, n, (wire, from), src, dst)?;
        }
        self.copy(run)
    }

    fn copy(&mut self, run: Option<(usize, usize, usize, usize)>) -> Result<()> {
        let Some((src, dst, end, _)) = run else { return Ok(()) };
        let depth = self.depth;
        writeln!(self.text, "memcpy(d{depth} + {dst}, s{depth} + {src}, {});", end - src)?;
        Ok(())
    }

    fn field(&mut self, w: &Field, n: &Field, holder: At<'_>, src: usize, dst: usize) -> Result<()> {
        let depth = self.depth;
        let (mut src, mut dst) = (format!("s{depth} + {src}"), format!("d{depth} + {dst}"));
        let count = self.count(w, holder)?;
        if w.indirect {
            let size = n.element_size(self.native.pointer);
            writeln!(self.text, "{{ size_t count = {count}, offset = {};", load_slot(self.wire, &src))?;
            self.slot(&dst, n.element.block_alignment(), "count", &format!("count * {size}"))?;
            (src, dst) = ("src + offset".into(), "dst + block".into());
        }
        let (ws, ns) = (w.element_size(self.wire.pointer), n.element_size(self.native.pointer));
        let count = if w.indirect { "count".to_string() } else { count };
        if self.wire == self.native && w.element == n.element && !has_slots(&w.element) {
            writeln!(self.text, "memcpy({dst}, {src}, {count} * {ws});")?;
        } else if count == "1" && !matches!(w.element, Element::Structure(_)) {
            self.element(&w.element, &n.element, &src, &dst)?;
        } else {
            let inner = depth + 1;
            writeln!(
                self.text,
                "for (size_t i = 0, n = {count}; i < n; i++) {{ \
                 const unsigned char *s{inner} = {src} + i * {ws}; unsigned char *d{inner} = {dst} + i * {ns};"
            )?;
            self.depth = inner;
            self.element(&w.element, &n.element, &format!("s{inner}"), &format!("d{inner}"))?;
            self.depth = depth;
            writeln!(self.text, "}}")?;
        }
        if w.indirect {
            writeln!(self.text, "}} }}")?;
        }
        Ok(())
    }

    /// Makes a block if `condition` holds, and leaves that and one other brace open.
    fn slot(&mut self, dst: &str, align: usize, condition: &str, length: &str) -> Result<()> {
        let store = format!("store{}({dst}, ", u32::from(self.native.pointer) * 8);
        writeln!(
            self.text,
            "if (!{condition}) {store}0); else {{ size_t block = (cursor + {}) & ~(size_t){}; \
             {store}block); cursor = block + {length};",
            align - 1,
            align - 1
        )?;
        Ok(())
    }

    /// How many elements there are.
    fn count(&self, field: &Field, (structure, base): At<'_>) -> Result<String> {
        let mut factors = Vec::new();
        for dim in &field.dims {
            factors.push(match *dim {
                Dimension::Fixed(n) => n.to_string(),
                Dimension::Field(index) => {
                    let length = &structure.fields()[index];
                    let size = length.element_size(self.wire.pointer);
                    load(self.wire, size, &format!("s{} + {}", self.depth, base + length.offset))
                }
            });
        }
        Ok(if factors.is_empty() { "1".into() } else { factors.join(" * ") })
    }

    fn element(&mut self, wire: &Element, native: &Element, src: &str, dst: &str) -> Result<()> {
        match (wire, native) {
            (Element::Structure(w), Element::Structure(n)) => self.structure((w, 0), (n, 0)),
            (Element::String, Element::String) => {
                writeln!(self.text, "{{ size_t offset = {};", load_slot(self.wire, src))?;
                self.slot(dst, 8, "offset", "strlen((const char *)src + offset) + 1")?;
                writeln!(self.text, "memcpy(dst + block, src + offset, cursor - block); }} }}")?;
                Ok(())
            }
            _ => {
                let (from, to) = (wire.size(self.wire.pointer), native.size(self.native.pointer));
                let value = load(self.wire, from, src);
                let value = match (number(wire)?, number(native)?) {
                    _ if from == to => value,
                    (Class::Signed, Class::Signed) if from < to => format!("(int{}_t)({value})", from * 8),
                    (Class::Unsigned, Class::Unsigned) if from < to => value,
                    (Class::Signed, Class::Signed) => {
                        writeln!(self.text, "{{ int{}_t value = (int{0}_t)({value});", from * 8)?;
                        writeln!(self.text, "bad |= value != (int{}_t)value;", to * 8)?;
                        "value".into()
                    }
                    (Class::Float, Class::Float) if from < to => format!("double_bits((double)as_float({value}))"),
                    (Class::Float, Class::Float) => {
                        writeln!(self.text, "{{ double value = as_double({value}); float narrow = (float)value;")?;
                        writeln!(
                            self.text,
                            "bad |= (__builtin_isinf(narrow) & !__builtin_isinf(value)) | ((narrow == 0) & (value != 0));"
                        )?;
                        "float_bits(narrow)".into()
                    }
                    _ => return Err("a pair of numbers that no case needs".into()),
                };
                writeln!(self.text, "store{}({dst}, {value});", to * 8)?;
                if from > to {
                    writeln!(self.text, "}}")?;
                }
                Ok(())
            }
        }
    }
}

enum Class {
    Signed,
    Unsigned,
    Float,
}

fn number(element: &Element) -> Result<Class> {
    match element {
        Element::Integer { signed: true, .. } => Ok(Class::Signed),
        Element::Integer { signed: false, .. } | Element::Char => Ok(Class::Unsigned),
        Element::Float { kind: FloatKind::Ieee, size: 4 | 8 } => Ok(Class::Float),
        _ => Err("a type that no workload has".into()),
    }
}

fn has_slots(element: &Element) -> bool {
    match element {
        Element::String => true,
        Element::Structure(inner) => inner.has_slots(),
        _ => false,
    }
}

fn load_slot(machine: Machine, place: &str) -> String {
    load(machine, machine.pointer.into(), place)
}

fn load(machine: Machine, size: usize, place: &str) -> String {
    let bits = size * 8;
    match machine.order {
        order if order == ByteOrder::NATIVE || size == 1 => format!("load{bits}({place})"),
        _ => format!("swap{bits}(load{bits}({place}))"),
    }
}
