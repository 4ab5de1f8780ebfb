//! The vocabulary of the generator: moves of vectors and numbers, constants that stay in registers, calls, exits.
//!
//! These are the contents of the registers:
//!
//! | registers | what |
//! |---|---|
//! | `rdi`, `rsi`; `rbx`, `r12` | source and destination of the current record or element: in functions of straight code; in others |
//! | `r13`, `r15`, `r14` | the context; the body; the number of elements left |
//! | `rax` and others | intermediate results |
//! | with AVX-512: `zmm0` to `zmm15` | groups of numbers of a block |
//! | with AVX-512: `zmm16` to `zmm19`, `k1`, `k7` | intermediate results |
//! | with AVX-512: `zmm20` to `zmm31`, `k2` to `k6` | constants, until a call |
//! | with AVX2: `ymm0` to `ymm5` | intermediate results |
//! | with AVX2: `ymm6` to `ymm14` | constants, until a call |
//! | with AVX2: `ymm15` | any value |

use super::assembler::{Assembler, Mark};
use super::operand::*;
use super::{Extension, avx2, avx512};
use crate::call::{self, Helper};
use isoform_core::plan::Plan;
use std::mem::offset_of;

const MOVE_4: Opcode = Opcode(Prefix::P66, 1, 0x6E, 0);
const STORE_4: Opcode = Opcode(Prefix::P66, 1, 0x7E, 0);
const MOVE_8: Opcode = Opcode(Prefix::F3, 1, 0x7E, 1);
const STORE_8: Opcode = Opcode(Prefix::P66, 1, 0xD6, 1);
const XOR: Opcode = Opcode(Prefix::P66, 1, 0xEF, 1);

/// The most bytes of the stack of which `rsp` is a multiple.
const STACK: i32 = 64;

/// Where the record or element is that steps work on.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) src: Reg,
    pub(super) dst: Reg,
}

/// Constants that are in registers, by when they were last used.
#[derive(Clone)]
struct Resident {
    slots: Vec<Option<(Constant, u64)>>,
    /// So many slots at the beginning keep what they have: a loop counts on them.
    pinned: usize,
}

impl Resident {
    fn new(registers: usize) -> Resident {
        Resident { slots: vec![None; registers], pinned: 0 }
    }

    fn forget(&mut self) {
        *self = Resident::new(self.slots.len());
    }

    /// Which of the constants that a loop uses it may count on, in a register each: all, or all but one register, if
    /// others have to take turns.
    fn pin(&self, mut wanted: Vec<Constant>) -> Vec<Constant> {
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.len() > self.slots.len() {
            wanted.truncate(self.slots.len() - 1);
        }
        wanted
    }

    /// The register of a constant, if it is in one.
    fn known(&mut self, constant: Constant, now: u64) -> Option<u8> {
        let at = self.slots.iter().position(|slot| slot.is_some_and(|(known, _)| known == constant))?;
        self.slots[at] = Some((constant, now));
        Some(at as u8)
    }

    /// The place of a constant, and whether it must be loaded there.
    fn find(&mut self, constant: Constant, now: u64) -> (u8, bool) {
        if let Some(known) = self.known(constant, now) {
            return (known, false);
        }
        let last = self.slots.len() - 1;
        let at = (self.pinned..=last).min_by_key(|&at| self.slots[at].map(|(_, used)| used)).unwrap_or(last);
        self.slots[at] = Some((constant, now));
        (at as u8, true)
    }
}

/// The registers that a stretch of code has used.
#[derive(Default)]
struct Used {
    vectors: Vec<Constant>,
    masks: Vec<Constant>,
    /// Whether registers lost their values in it: there was a call, or two ways came together.
    lost: bool,
}

/// A state to return to.
pub(super) struct Trial {
    mark: Mark,
    kept: (Resident, Resident),
    used: Used,
}

pub(super) struct Emit<'a> {
    pub(super) asm: Assembler,
    pub(super) plan: &'a Plan,
    pub(super) extension: Extension,
    vectors: Resident,
    masks: Resident,
    clock: u64,
    used: Used,
    /// The exit of the function if something does not fit.
    misfit: Label,
    /// Whether there is a frame, and `rbx` and `r12` are used.
    framed: bool,
    /// The place of the instruction that sets the size of the frame.
    frame: usize,
    /// Whether more than 16 bytes of the first sixteen vector registers are used.
    pub(super) wide: bool,
    /// The bytes on the stack that hold registers, now and at most.
    saved: i32,
    most_saved: i32,
}

/// The registers that are saved below the frame pointer.
const PUSHED: [Reg; 5] = [RBX, R12, R13, R14, R15];

impl<'a> Emit<'a> {
    pub(super) fn new(plan: &'a Plan, extension: Extension, framed: bool) -> Emit<'a> {
        let mut asm = Assembler::new(extension);
        let misfit = asm.label();
        let (vectors, masks) = match extension {
            Extension::Avx512 => (avx512::VECTORS, avx512::MASKS),
            Extension::Avx2 => (avx2::VECTORS, 0),
        };
        let (vectors, masks) = (Resident::new(vectors), Resident::new(masks));
        let used = Used::default();
        let mut emit = Emit {
            asm,
            plan,
            extension,
            vectors,
            masks,
            clock: 0,
            used,
            misfit,
            framed,
            frame: 0,
            wide: false,
            saved: 0,
            most_saved: 0,
        };
        emit.begin();
        emit
    }

    fn begin(&mut self) {
        if !self.framed {
            return;
        }
        self.asm.push(RBP);
        self.asm.copy(RBP, RSP);
        PUSHED.iter().for_each(|&reg| self.asm.push(reg));
        self.asm.subtract(RSP, 0);
        self.frame = self.asm.mark().code();
        self.asm.and(RSP, -STACK);
        self.asm.copy(RBX, RDI);
        self.asm.copy(R12, RSI);
        self.asm.copy(R13, RDX);
        self.asm.copy(R15, RDI);
    }

    /// The place of the record.
    pub(super) fn at(&self) -> At {
        if self.framed { At { src: RBX, dst: R12 } } else { At { src: RDI, dst: RSI } }
    }

    /// Ends the function.
    pub(super) fn finish(&mut self) {
        self.asm.set(RAX, 0);
        self.end();
        self.asm.here(self.misfit);
        self.asm.set(RAX, 1);
        self.end();
        if self.framed {
            self.asm.fill_in(self.frame, self.most_saved);
        }
    }

    /// Begins a function of type [`Many`](call::Many) after one that needs no frame, and returns its offset.
    pub(super) fn begin_many(&mut self) -> usize {
        self.misfit = self.asm.label();
        self.forget();
        self.asm.mark().code()
    }

    /// The start of the loop.
    pub(super) fn head(&mut self) -> Label {
        let head = self.asm.label();
        self.asm.here(head);
        head
    }

    /// Continues with the next record. Ends the function after the last one, or at one that does not fit.
    pub(super) fn end_many(&mut self, head: Label) {
        self.asm.compute(Arithmetic::Add, RDI, RCX);
        self.asm.add(RSI, self.plan.native().size() as i32);
        self.asm.subtract(RDX, 1);
        self.asm.jump_if(If::NotZero, head);
        self.end_loop();
        self.asm.here(self.misfit);
        self.asm.copy(RAX, RDX);
        self.end();
    }

    fn end(&mut self) {
        if self.wide {
            self.asm.zero_upper();
        }
        if self.framed {
            self.asm.address(RSP, Memory::At(RBP, -8 * PUSHED.len() as i32));
            PUSHED.iter().rev().for_each(|&reg| self.asm.pop(reg));
            self.asm.pop(RBP);
        }
        self.asm.ret();
    }

    /// Room on the stack for a register, until [`unsave`](Emit::unsave) releases it.
    pub(super) fn save(&mut self) -> Memory {
        self.saved += 8;
        self.most_saved = self.most_saved.max(self.saved);
        Memory::At(RBP, -8 * PUSHED.len() as i32 - self.saved)
    }

    pub(super) fn unsave(&mut self, places: i32) {
        self.saved -= 8 * places;
    }

    /// The register that holds a constant of vectors. It may change when others are requested.
    pub(super) fn resident(&mut self, constant: Constant) -> Vector {
        self.used.vectors.push(constant);
        self.keep_vector(constant)
    }

    /// The register that already holds a constant of vectors. Loops try to bring it into one.
    pub(super) fn if_resident(&mut self, constant: Constant) -> Option<Vector> {
        self.used.vectors.push(constant);
        self.clock += 1;
        self.vectors.known(constant, self.clock).map(|at| self.constant_register(at))
    }

    fn constant_register(&self, at: u8) -> Vector {
        let first = match self.extension {
            Extension::Avx512 => avx512::FIRST_VECTOR,
            Extension::Avx2 => avx2::FIRST_VECTOR,
        };
        Vector(first + at)
    }

    fn keep_vector(&mut self, constant: Constant) -> Vector {
        self.clock += 1;
        let (at, new) = self.vectors.find(constant, self.clock);
        let register = self.constant_register(at);
        if new {
            match self.extension {
                Extension::Avx512 => self.load(register, Memory::Constant(constant), ALL),
                Extension::Avx2 => self.load_both(register, Memory::Constant(constant)),
            }
        }
        register
    }

    /// The register that holds a mask. It may change when other masks are requested.
    pub(super) fn mask(&mut self, bits: u64) -> Mask {
        let constant = self.asm.constant(&bits.to_le_bytes());
        self.used.masks.push(constant);
        self.keep_mask(constant)
    }

    fn keep_mask(&mut self, constant: Constant) -> Mask {
        self.clock += 1;
        let (at, new) = self.masks.find(constant, self.clock);
        let register = Mask(avx512::FIRST_MASK + at);
        if new {
            self.asm.load_mask(register, constant);
        }
        register
    }

    /// Registers may no longer hold constants, at least on one of the ways that lead here.
    pub(super) fn forget(&mut self) {
        self.vectors.forget();
        self.masks.forget();
        self.used.lost = true;
    }

    /// Begins a trial, which finds out which constants the body of a loop needs.
    pub(super) fn begin_trial(&mut self) -> Trial {
        let kept = (self.vectors.clone(), self.masks.clone());
        Trial { mark: self.asm.mark(), kept, used: std::mem::take(&mut self.used) }
    }

    /// Removes the code of a trial, and loads its constants if there are enough registers.
    pub(super) fn end_trial(&mut self, Trial { mark, kept, used }: Trial) {
        self.asm.back(&mark);
        (self.vectors, self.masks) = kept;
        let Used { vectors, masks, lost } = std::mem::replace(&mut self.used, used);
        self.forget();
        if !lost {
            let (vectors, masks) = (self.vectors.pin(vectors), self.masks.pin(masks));
            vectors.iter().for_each(|&constant| _ = self.keep_vector(constant));
            masks.iter().for_each(|&constant| _ = self.keep_mask(constant));
            (self.vectors.pinned, self.masks.pinned) = (vectors.len(), masks.len());
        }
    }

    /// Ends a loop whose constants were loaded before.
    pub(super) fn end_loop(&mut self) {
        (self.vectors.pinned, self.masks.pinned) = (0, 0);
    }

    /// A register for intermediate results.
    pub(super) fn scratch(&self) -> Vector {
        match self.extension {
            Extension::Avx512 => avx512::V,
            Extension::Avx2 => avx2::V,
        }
    }

    /// A register of which no value is expected.
    pub(super) fn any(&self) -> Vector {
        match self.extension {
            Extension::Avx512 => avx512::ANY,
            Extension::Avx2 => avx2::ANY,
        }
    }

    /// Loads 4, 8, 16, 32 or 64 bytes.
    pub(super) fn load_part(&mut self, to: Vector, from: Memory, bytes: usize) {
        let (load, _) = self.moves();
        match bytes {
            4 => self.asm.vector(MOVE_4, Width::V16, to.0, 0, from, (ALL, false), None),
            8 => self.asm.vector(MOVE_8, Width::V16, to.0, 0, from, (ALL, false), None),
            _ => {
                self.wide |= self.extension == Extension::Avx2 && bytes > 16;
                self.asm.vector(load, width(bytes), to.0, 0, from, (ALL, false), None);
            }
        }
    }

    /// Stores the first 4, 8, 16, 32 or 64 bytes.
    pub(super) fn store_part(&mut self, to: Memory, from: Vector, bytes: usize) {
        let (_, store) = self.moves();
        match bytes {
            4 => self.asm.vector(STORE_4, Width::V16, from.0, 0, to, (ALL, false), None),
            8 => self.asm.vector(STORE_8, Width::V16, from.0, 0, to, (ALL, false), None),
            _ => self.asm.vector(store, width(bytes), from.0, 0, to, (ALL, false), None),
        }
    }

    /// The instructions that load and store all bytes of a vector.
    fn moves(&self) -> (Opcode, Opcode) {
        match self.extension {
            Extension::Avx512 => (avx512::MOVE_BYTES, avx512::STORE_BYTES),
            Extension::Avx2 => (avx2::MOVE, avx2::STORE),
        }
    }

    pub(super) fn zero(&mut self, vector: Vector) {
        let width = match self.extension {
            Extension::Avx512 => Width::V64,
            // This clears the whole register.
            Extension::Avx2 => Width::V16,
        };
        self.asm.vector(XOR, width, vector.0, vector.0, vector, (ALL, false), None);
    }

    /// Ends the function if a number is not 0.
    pub(super) fn misfit_if(&mut self, reg: Reg) {
        self.asm.test(reg);
        self.asm.jump_if(If::NotZero, self.misfit);
    }

    pub(super) fn misfit_when(&mut self, condition: If) {
        self.asm.jump_if(condition, self.misfit);
    }

    /// Calls a function of [`call`]. Afterwards, only the registers that functions preserve keep their values.
    pub(super) fn call(&mut self, function: Helper) {
        if self.extension == Extension::Avx2 && self.wide {
            self.asm.zero_upper();
        }
        self.asm.set(RAX, function.address().addr() as u64);
        self.asm.call(RAX);
        self.forget();
    }

    /// Calls a function that may move the output.
    pub(super) fn call_growing(&mut self, function: Helper) {
        let base = self.context(offset_of!(call::Context<'_>, base));
        self.asm.compute_by_memory(Arithmetic::Subtract, R12, base);
        self.call(function);
        self.asm.compute_by_memory(Arithmetic::Add, R12, base);
    }

    pub(super) fn context(&self, field: usize) -> Memory {
        Memory::At(R13, field as i32)
    }
}

fn width(bytes: usize) -> Width {
    match bytes {
        16 => Width::V16,
        32 => Width::V32,
        _ => Width::V64,
    }
}

pub(super) fn at(base: Reg, offset: usize) -> Memory {
    Memory::At(base, i32::try_from(offset).expect("code is generated for records and elements of less than 2 GiB"))
}
