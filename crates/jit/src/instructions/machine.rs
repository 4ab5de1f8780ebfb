//! Executes code of the direct generator, one instruction after the other.
//!
//! All memory is the machine's own, at addresses that no program has. So every access is checked: a read or write beyond the
//! body, the output, the stack or the constants ends the run with a [`Fault`], as does an instruction that is not known, a
//! flag that no instruction has set, or a register that should have been preserved. Functions that code calls are replaced
//! by others that do the same to this memory; afterwards, registers that functions need not preserve hold nonsense.

use super::addresses::{constant, conversion, step};
use super::vector::FULL;
use super::{Arithmetic, Condition, Instruction, Operand, Place, Register, Shown, decode};
use crate::Extension;
use crate::call::{Context, Helper};
use isoform_core::interp::{Output, part};
use isoform_core::{Code, Error, Plan, Result as Outcome};
use std::mem::offset_of;

/// What code did that it must not do.
pub(crate) type Fault = String;

/// Where memory of each kind begins.
const CODE: u64 = 0xF100_0000_0000_0000;
const BODY: u64 = 0xF200_0000_0000_0000;
const OUTPUT: u64 = 0xF300_0000_0000_0000;
const STACK: u64 = 0xF400_0000_0000_0000;
const CONTEXT: u64 = 0xF500_0000_0000_0000;
/// The address to which the function returns.
const END: u64 = 0xF600_0000_0000_0000;

/// The distance by which the output moves when it grows.
const MOVE: u64 = 1 << 40;
/// Bytes of the stack.
const STACKED: usize = 4096;
/// What a register holds that has no value.
const NONSENSE: u64 = 0xF7DE_AD00_DEAD_0000;

const RAX: usize = 0;
const RCX: usize = 1;
const RDX: usize = 2;
const RSP: usize = 4;
const RSI: usize = 6;
const RDI: usize = 7;
/// The registers that functions preserve.
const PRESERVED: [usize; 6] = [3, 5, 12, 13, 14, 15];

/// Code whose instructions are all known.
pub(crate) struct Program {
    code: Vec<u8>,
    /// The instruction at each offset, and its length.
    instructions: Vec<Option<(Instruction, usize)>>,
}

impl Program {
    /// Reads the instructions of the first `text` bytes of code; constants follow them. All must be known to processors with this
    /// extension.
    pub(crate) fn new(code: Vec<u8>, text: usize, extension: Extension) -> Result<Program, Fault> {
        let (mut instructions, mut at) = (vec![None; text], 0);
        while at < text {
            let known = decode(&code[..text], at);
            let bytes = &code[at..text.min(at + 16)];
            let (instruction, length) =
                known.ok_or_else(|| format!("an unknown instruction at {at:#x}: {bytes:02x?}"))?;
            if extension == Extension::Avx2 && is_of_avx512(&instruction) {
                return Err(format!("an instruction of AVX-512 at {at:#x}: {}", Shown(&instruction)));
            }
            instructions[at] = Some((instruction, length));
            at += length;
        }
        Ok(Program { code, instructions })
    }

    /// Bytes of code.
    pub(crate) fn size(&self) -> usize {
        self.code.len()
    }
}

/// Whether only processors with AVX-512 have an instruction.
fn is_of_avx512(instruction: &Instruction) -> bool {
    use Instruction::{LoadMask, MaskAndNot, MaskFrom, MaskTo, TestMask};
    match instruction {
        Instruction::Vector(vector) => vector.evex,
        LoadMask { .. } | MaskFrom { .. } | MaskTo { .. } | TestMask(_) | MaskAndNot { .. } => true,
        _ => false,
    }
}

/// The output, and how much of it is the record.
struct Made<'a> {
    out: &'a mut dyn Output,
    /// All of its bytes.
    bytes: Vec<u8>,
    length: usize,
    base: u64,
}

impl Made<'_> {
    fn block(&mut self, length: usize, align: usize) -> Option<usize> {
        let start = self.length.checked_next_multiple_of(align)?;
        let (before, past) = (self.length, start.checked_add(length)?);
        self.resize(past).ok()?;
        self.bytes[before..start].fill(0);
        Some(start)
    }
}

impl Output for Made<'_> {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }

    /// The output moves whenever it grows, and grows by no more than it must.
    fn resize(&mut self, length: usize) -> Outcome<()> {
        if length > self.bytes.len() {
            self.out.resize(length)?;
            let grown = self.out.bytes();
            if grown.len() < length {
                return Err(Error::new(Code::Size));
            }
            self.bytes.extend_from_slice(&grown[self.bytes.len()..length]);
            self.base += MOVE;
        }
        self.length = length;
        Ok(())
    }
}

/// The state of a run.
pub(crate) struct Machine<'a> {
    plan: &'a Plan,
    program: &'a Program,
    body: &'a [u8],
    made: Made<'a>,
    stack: Vec<u8>,
    registers: [u64; 16],
    pub(super) vectors: [[u8; FULL]; 32],
    pub(super) masks: [u64; 8],
    /// The flags Z and C, where they are defined.
    zero: Option<bool>,
    carry: Option<bool>,
    /// Whether S and O differ: the first of two signed numbers was less.
    less: Option<bool>,
    /// The instructions so far.
    executed: u64,
}

impl<'a> Machine<'a> {
    /// A machine that holds a body, and an output of which the first `length` bytes are the record.
    pub(crate) fn new(
        plan: &'a Plan,
        program: &'a Program,
        body: &'a [u8],
        out: &'a mut dyn Output,
        length: usize,
    ) -> Machine<'a> {
        let bytes = out.bytes().to_vec();
        let mut machine = Machine {
            plan,
            program,
            body,
            made: Made { out, bytes, length, base: OUTPUT },
            stack: vec![0; STACKED],
            registers: std::array::from_fn(|number| NONSENSE + number as u64),
            vectors: [[0; FULL]; 32],
            masks: [0; 8],
            zero: None,
            carry: None,
            less: None,
            executed: 0,
        };
        machine.forget();
        machine
    }

    /// Calls the function that converts one body, with a context unless it needs none. Returns the length of the record if
    /// everything fitted.
    pub(crate) fn convert(mut self, alone: bool) -> (Result<Option<usize>, Fault>, u64) {
        let result = self.call(0, &[BODY, OUTPUT, if alone { 0 } else { CONTEXT }]);
        self.put_back();
        (result.map(|misfits| (misfits == 0).then_some(self.made.length)), self.executed)
    }

    /// Calls the function at `start` that converts so many bodies. Returns how many are left.
    pub(crate) fn convert_many(mut self, start: usize, count: usize, stride: usize) -> (Result<u64, Fault>, u64) {
        let result = self.call(start, &[BODY, OUTPUT, count as u64, stride as u64]);
        self.put_back();
        (result, self.executed)
    }

    fn put_back(&mut self) {
        let bytes = self.made.out.bytes();
        let length = bytes.len().min(self.made.bytes.len());
        bytes[..length].copy_from_slice(&self.made.bytes[..length]);
    }

    /// Runs a function with these arguments to its end.
    fn call(&mut self, start: usize, arguments: &[u64]) -> Result<u64, Fault> {
        for (&register, &argument) in [RDI, RSI, RDX, RCX].iter().zip(arguments) {
            self.registers[register] = argument;
        }
        // As after a call: the address of the caller lies at a multiple of 16, less 8.
        self.registers[RSP] = STACK + STACKED as u64 - 64;
        self.push(END)?;
        let before = self.registers;
        let mut at = start;
        // Every loop handles at least a byte in a turn, of some hundred instructions.
        let most = 100_000 + 1000 * (self.body.len() + self.made.bytes.len()) as u64;
        while let Some(next) = self.step(at)? {
            at = next;
            self.executed += 1;
            if self.executed > most {
                return Err(format!("no end after {most} instructions"));
            }
        }
        if self.registers[RSP] != before[RSP] + 8 {
            return Err("the stack is not as it was".into());
        }
        match PRESERVED.iter().find(|&&register| self.registers[register] != before[register]) {
            Some(register) => Err(format!("register {register} is not as it was")),
            None => Ok(self.registers[RAX]),
        }
    }

    /// Executes the instruction at an offset, and returns the offset of the next one, or `None` at the end.
    fn step(&mut self, at: usize) -> Result<Option<usize>, Fault> {
        let program = self.program;
        let Some((instruction, length)) = program.instructions.get(at).and_then(Option::as_ref) else {
            return Err(format!("no instruction begins at {at:#x}"));
        };
        let next = self.execute(instruction, at + length);
        next.map_err(|fault| format!("{fault}, at {at:#x}: {}", Shown(instruction)))
    }

    fn execute(&mut self, instruction: &Instruction, next: usize) -> Result<Option<usize>, Fault> {
        match *instruction {
            Instruction::Load { to, from, width } => {
                let number = self.operand(from, width)?;
                self.set(to, number);
            }
            Instruction::LoadSigned { to, from, width } => {
                let (number, above) = (self.operand(from, width)?, 64 - 8 * width as u32);
                self.set(to, ((number << above) as i64 >> above) as u64);
            }
            Instruction::Store { to, from, width } => self.store_number(to, self.get(from), width)?,
            Instruction::LoadReversed { to, from, width } => {
                let number = self.load_number(from, width)?.swap_bytes() >> (64 - 8 * width as u32);
                let kept = if width == 2 { self.get(to) & !0xFFFF } else { 0 };
                self.set(to, kept | number);
            }
            Instruction::StoreReversed { to, from, width } => {
                let number = self.get(from).swap_bytes() >> (64 - 8 * width as u32);
                self.store_number(to, number, width)?;
            }
            Instruction::Address { to, of } => self.set(to, self.address(of)),
            Instruction::Clear(register) => {
                self.set(register, 0);
                self.flags(Some(true), Some(false));
            }
            Instruction::Set { to, number } => self.set(to, number),
            Instruction::Compute { what, with, by } => {
                let by = self.operand(by, 8)?;
                self.compute(what, with, by);
            }
            Instruction::Immediate { what, with, number } => self.compute(what, with, i64::from(number) as u64),
            Instruction::Multiply { to, from, number } => {
                let product = self.get(from).wrapping_mul(i64::from(number) as u64);
                self.set(to, product);
                self.flags(None, None);
            }
            Instruction::ShiftRight { with, bits } => {
                let shifted = self.get(with) >> (bits & 63);
                self.set(with, shifted);
                self.flags(Some(shifted == 0), None);
            }
            Instruction::ShiftLeft { with, bits } => {
                let shifted = self.get(with) << (bits & 63);
                self.set(with, shifted);
                self.flags(Some(shifted == 0), None);
            }
            Instruction::CopyIf { condition, to, from } => {
                if self.holds(condition)? {
                    self.set(to, self.get(from));
                }
            }
            Instruction::Test(register) => self.flags(Some(self.get(register) == 0), Some(false)),
            Instruction::TrailingZeros { to, from } => {
                let number = self.get(from);
                self.set(to, number.trailing_zeros().into());
                self.flags(Some(number & 1 != 0), Some(number == 0));
            }
            Instruction::UpToLowest { to, from } => {
                let number = self.get(from);
                self.set(to, number ^ number.wrapping_sub(1));
                self.flags(Some(false), Some(number == 0));
            }
            Instruction::LowBits { to, from, bits } => {
                let (number, bits) = (self.get(from), self.get(bits) as u8);
                let low = if bits < 64 { number & ((1 << bits) - 1) } else { number };
                self.set(to, low);
                self.flags(Some(low == 0), Some(bits > 63));
            }
            Instruction::Push(register) => self.push(self.get(register))?,
            Instruction::Pop(register) => {
                let number = self.pop()?;
                self.set(register, number);
            }
            Instruction::Jump(to) => return Ok(Some(to)),
            Instruction::JumpIf(condition, to) => return Ok(Some(if self.holds(condition)? { to } else { next })),
            Instruction::Call(register) => self.helper(self.get(register))?,
            Instruction::ZeroUpper => self.vectors[..16].iter_mut().for_each(|vector| vector[16..].fill(0)),
            Instruction::Return => {
                let to = self.pop()?;
                return if to == END { Ok(None) } else { Err("a return to nowhere".into()) };
            }
            Instruction::LoadMask { to, from } => self.masks[usize::from(to)] = self.load_number(from, 8)?,
            Instruction::MaskFrom { to, from } => self.masks[usize::from(to)] = self.get(from),
            Instruction::MaskTo { to, from } => self.set(to, self.masks[usize::from(from)]),
            Instruction::TestMask(mask) => {
                let low = self.masks[usize::from(mask)] as u8;
                self.flags(Some(low == 0), Some(low == u8::MAX));
            }
            Instruction::MaskAndNot { to, one, other } => {
                self.masks[usize::from(to)] = !self.masks[usize::from(one)] & self.masks[usize::from(other)];
            }
            Instruction::Vector(ref vector) => self.vector(vector)?,
        }
        Ok(Some(next))
    }

    /// Sets these flags. What others there are is then not defined.
    pub(super) fn flags(&mut self, zero: Option<bool>, carry: Option<bool>) {
        (self.zero, self.carry, self.less) = (zero, carry, None);
    }

    fn compute(&mut self, what: Arithmetic, with: Register, by: u64) {
        let number = self.get(with);
        let (result, carry) = match what {
            Arithmetic::Add => number.overflowing_add(by),
            Arithmetic::And => (number & by, false),
            Arithmetic::Subtract | Arithmetic::Compare => number.overflowing_sub(by),
        };
        self.flags(Some(result == 0), Some(carry));
        if let Arithmetic::Subtract | Arithmetic::Compare = what {
            self.less = Some((number as i64) < by as i64);
        }
        if what != Arithmetic::Compare {
            self.set(with, result);
        }
    }

    fn holds(&self, condition: Condition) -> Result<bool, Fault> {
        let undefined = "a jump by a flag that is not defined";
        let (zero, carry, less) = (self.zero.ok_or(undefined), self.carry.ok_or(undefined), self.less.ok_or(undefined));
        Ok(match condition {
            Condition::Below => carry?,
            Condition::NotBelow => !carry?,
            Condition::Zero => zero?,
            Condition::NotZero => !zero?,
            Condition::Above => !carry? && !zero?,
            Condition::Less => less?,
            Condition::Greater => !less? && !zero?,
        })
    }

    pub(super) fn get(&self, register: Register) -> u64 {
        self.registers[usize::from(register)]
    }

    pub(super) fn set(&mut self, register: Register, number: u64) {
        self.registers[usize::from(register)] = number;
    }

    fn operand(&self, operand: Operand, width: usize) -> Result<u64, Fault> {
        match operand {
            Operand::Register(register) => Ok(self.get(register) & (u64::MAX >> (64 - 8 * width as u32))),
            Operand::Place(place) => self.load_number(place, width),
            Operand::Everywhere(_) => Err("an operand of vectors".into()),
        }
    }

    pub(super) fn address(&self, place: Place) -> u64 {
        match place {
            Place::Code(at) => CODE + at as u64,
            Place::At(base, index, offset) => {
                let index = index.map_or(0, |index| self.get(index));
                self.get(base).wrapping_add(index).wrapping_add(i64::from(offset) as u64)
            }
        }
    }

    fn push(&mut self, number: u64) -> Result<(), Fault> {
        self.registers[RSP] = self.registers[RSP].wrapping_sub(8);
        self.store(self.registers[RSP], &number.to_le_bytes())
    }

    fn pop(&mut self) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.load(self.registers[RSP], &mut bytes)?;
        self.registers[RSP] += 8;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(super) fn load_number(&self, place: Place, width: usize) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.load(self.address(place), &mut bytes[..width])?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(super) fn store_number(&mut self, place: Place, number: u64, width: usize) -> Result<(), Fault> {
        self.store(self.address(place), &number.to_le_bytes()[..width])
    }

    pub(super) fn load(&self, from: u64, to: &mut [u8]) -> Result<(), Fault> {
        let context = self.context();
        let memory: [(u64, &[u8]); 5] = [
            (CODE, &self.program.code),
            (BODY, self.body),
            (self.made.base, &self.made.bytes),
            (STACK, &self.stack),
            (CONTEXT, &context),
        ];
        let found =
            memory.iter().find_map(|(base, bytes)| within(*base, bytes.len(), from, to.len()).map(|at| &bytes[at..]));
        match found {
            Some(bytes) => to.copy_from_slice(&bytes[..to.len()]),
            None => return Err(format!("a read of {} bytes {}", to.len(), self.whereabouts(from))),
        }
        Ok(())
    }

    pub(super) fn store(&mut self, to: u64, bytes: &[u8]) -> Result<(), Fault> {
        if to == CONTEXT + offset_of!(Context<'_>, length) as u64
            && let Ok(length) = bytes.try_into()
        {
            let length = u64::from_le_bytes(length) as usize;
            self.made.length = length;
            return if length <= self.made.bytes.len() {
                Ok(())
            } else {
                Err("a record longer than its output".into())
            };
        }
        if let Some(at) = within(self.made.base, self.made.bytes.len(), to, bytes.len()) {
            self.made.bytes[at..][..bytes.len()].copy_from_slice(bytes);
        } else if let Some(at) = within(STACK, self.stack.len(), to, bytes.len()) {
            self.stack[at..][..bytes.len()].copy_from_slice(bytes);
        } else {
            return Err(format!("a write of {} bytes {}", bytes.len(), self.whereabouts(to)));
        }
        Ok(())
    }

    /// The fields of the context that code knows.
    fn context(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let fields = [
            (offset_of!(Context<'_>, base), self.made.base),
            (offset_of!(Context<'_>, length), self.made.length as u64),
            (offset_of!(Context<'_>, room), self.made.bytes.len() as u64),
            (offset_of!(Context<'_>, came), self.body.len() as u64),
        ];
        fields.iter().for_each(|(at, number)| bytes[*at..][..8].copy_from_slice(&number.to_le_bytes()));
        bytes
    }

    fn whereabouts(&self, address: u64) -> String {
        let (body, made) = (self.body.len(), self.made.bytes.len());
        match address {
            BODY..OUTPUT => format!("at {} of a body of {body}", address - BODY),
            _ if address >= self.made.base && address < STACK => {
                format!("at {} of an output of {made}", address - self.made.base)
            }
            OUTPUT..STACK => "where the output was".into(),
            _ => format!("at {address:#x}, with a body of {body} and an output of {made}"),
        }
    }

    /// Does what a [`Helper`] does. The registers that functions need not preserve lose their values.
    fn helper(&mut self, function: u64) -> Result<(), Fault> {
        if !self.registers[RSP].is_multiple_of(16) {
            return Err("a call with a stack that is not aligned".into());
        }
        let [rdi, rsi, rdx, rcx] = [RDI, RSI, RDX, RCX].map(|register| self.registers[register]);
        let result = match Helper::at(function).ok_or("a call of an unknown function")? {
            Helper::Copy => {
                let bytes = match constant(self.plan.steps(), rdi) {
                    Some(bytes) => bytes.get(..rdx as usize).ok_or("more bytes than the constant has")?.to_vec(),
                    None => self.read(rdi, rdx)?,
                };
                self.store(rsi, &bytes)?;
                0
            }
            Helper::Zero => {
                self.store(rdi, &vec![0; self.count(rsi)?])?;
                0
            }
            Helper::Swap => {
                let bytes = self.read(rdi, rdx)?;
                let mut swapped = vec![0; bytes.len()];
                isoform_kernels::swap(rcx as usize, &bytes, &mut swapped);
                self.store(rsi, &swapped)?;
                0
            }
            Helper::Numbers => {
                let conversion = conversion(self.plan.steps(), rcx).ok_or("a conversion that is not of the plan")?;
                let [from, to] = [conversion.from, conversion.to].map(|number| u64::from(number.size));
                let bytes = self.read(rdi, rdx.saturating_mul(from))?;
                let mut converted = vec![0; self.count(rdx.saturating_mul(to))?];
                let fits = part::numbers(conversion, &bytes, &mut converted);
                self.store(rsi, &converted)?;
                u64::from(!fits)
            }
            Helper::Step => {
                self.expect_context(rdi)?;
                let step = step(self.plan.steps(), rsi).ok_or("a step that is not of the plan")?;
                let from = rdx.checked_sub(BODY).ok_or("a step from another place than the body")?;
                let to = rcx.checked_sub(self.made.base).ok_or("a step to another place than the output")?;
                let places = ((self.body, from as usize), (&mut self.made, to as usize));
                u64::from(part::step(self.plan, step, places.0, places.1).is_err())
            }
            Helper::String => {
                self.expect_context(rdi)?;
                self.string(rsi as usize).map_or(u64::MAX, |at| at as u64)
            }
            Helper::Block => {
                self.expect_context(rdi)?;
                let length = (rsi as usize).checked_mul(rdx as usize);
                length.and_then(|length| self.made.block(length, rcx as usize)).map_or(u64::MAX, |at| at as u64)
            }
        };
        self.forget();
        self.registers[RAX] = result;
        Ok(())
    }

    fn string(&mut self, offset: usize) -> Option<usize> {
        if offset == 0 {
            return Some(0);
        }
        let text = self.body.get(offset..)?;
        let text = &text[..=text.iter().position(|&byte| byte == 0)?];
        let start = self.made.block(text.len(), 8)?;
        self.made.bytes[start..][..text.len()].copy_from_slice(text);
        Some(start)
    }

    fn expect_context(&self, address: u64) -> Result<(), Fault> {
        if address == CONTEXT { Ok(()) } else { Err("a call with another context".into()) }
    }

    fn read(&self, from: u64, length: u64) -> Result<Vec<u8>, Fault> {
        let mut bytes = vec![0; self.count(length)?];
        self.load(from, &mut bytes)?;
        Ok(bytes)
    }

    /// A number of bytes, of which there are not more than in the output or the body.
    fn count(&self, length: u64) -> Result<usize, Fault> {
        let most = self.body.len().max(self.made.bytes.len()) as u64;
        if length <= most { Ok(length as usize) } else { Err(format!("a call for {length} bytes of {most}")) }
    }

    /// Fills the registers that functions need not preserve with nonsense.
    fn forget(&mut self) {
        let lost = (0..16).filter(|register| *register != RSP && !PRESERVED.contains(register));
        lost.for_each(|register| self.registers[register] = NONSENSE + register as u64);
        self.vectors = [[0xA5; FULL]; 32];
        self.masks = [0xA5A5_A5A5_A5A5_A5A5; 8];
        self.flags(None, None);
    }
}

/// The offset of an access within memory, if all of it is there.
fn within(base: u64, room: usize, address: u64, length: usize) -> Option<usize> {
    let at = usize::try_from(address.checked_sub(base)?).ok()?;
    (at.checked_add(length)? <= room).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isoform_core::{Faults, Layout, Rules, Shape};

    /// What the model says of this code, which ends with a return, for a body and a record of 8 bytes each.
    fn faults(code: &[u8]) -> Result<Option<usize>, Fault> {
        let code = [code, &[0xC3]].concat();
        let format = |layout| Shape::new("P").field("x", "f64").on(layout).unwrap();
        let plan = Plan::new(&format(&Layout::S390X), &format(&Layout::X86_64), &Rules::new(), Faults::Error).unwrap();
        let text = code.len();
        let program = Program::new(code, text, Extension::Avx512)?;
        let mut out = vec![0; 8];
        Machine::new(&plan, &program, &[7; 8], &mut out, 8).convert(false).0
    }

    #[test]
    fn code_that_keeps_to_its_memory_runs() {
        // movbe rax, [rdi]; movbe [rsi], rax; xor eax, eax
        let code =
            [0x48, 0x0F, 0x38, 0xF0, 0x87, 0, 0, 0, 0, 0x48, 0x0F, 0x38, 0xF1, 0x86, 0, 0, 0, 0, 0x40, 0x33, 0xC0];
        assert_eq!(faults(&code), Ok(Some(8)));
    }

    #[test]
    fn processors_with_avx2_have_no_instructions_of_avx512() {
        // vmovdqu8 zmm16, [rdi]; vmovdqu ymm0, [rdi]
        let (new, old) = ([0x62, 0xE1, 0x7F, 0x48, 0x6F, 0x87, 0, 0, 0, 0], [0xC4, 0xE1, 0x7E, 0x6F, 0x87, 0, 0, 0, 0]);
        let read = |code: &[u8], extension| Program::new(code.to_vec(), code.len(), extension).map(|_| ());
        let fault = "an instruction of AVX-512 at 0x0: vmovdqu8 zmm16, [rdi]";
        assert_eq!(read(&new, Extension::Avx2), Err(fault.into()));
        assert_eq!(read(&new, Extension::Avx512), Ok(()));
        assert_eq!(read(&old, Extension::Avx2), Ok(()));
    }

    #[test]
    fn what_code_must_not_do_is_found() {
        let cases: &[(&[u8], &str)] = &[
            // mov rax, [rdi+1]; mov [rsi+4], rax; mov [rdi], rax
            (
                &[0x48, 0x8B, 0x87, 1, 0, 0, 0],
                "a read of 8 bytes at 1 of a body of 8, at 0x0: mov rax, qword ptr [rdi+1]",
            ),
            (
                &[0x48, 0x89, 0x86, 4, 0, 0, 0],
                "a write of 8 bytes at 4 of an output of 8, at 0x0: mov qword ptr [rsi+4], rax",
            ),
            (
                &[0x48, 0x89, 0x87, 0, 0, 0, 0],
                "a write of 8 bytes at 0 of a body of 8, at 0x0: mov qword ptr [rdi], rax",
            ),
            // vmovdqu8 zmm16, [rdi]
            (
                &[0x62, 0xE1, 0x7F, 0x48, 0x6F, 0x87, 0, 0, 0, 0],
                "a read of 64 bytes at 0 of a body of 8, at 0x0: vmovdqu8 zmm16, [rdi]",
            ),
            // jne, before anything has set flags; a jump to itself; xor ebx, ebx; push rax; call rax
            (&[0x0F, 0x85, 0, 0, 0, 0], "a jump by a flag that is not defined, at 0x0: jne 0x6"),
            (&[0xE9, 0xFB, 0xFF, 0xFF, 0xFF], "no end after 116000 instructions"),
            (&[0x40, 0x33, 0xDB], "register 3 is not as it was"),
            (&[0x40, 0x50], "a return to nowhere, at 0x2: ret"),
            (&[0x40, 0x50, 0x40, 0xFF, 0xD0], "a call of an unknown function, at 0x2: call rax"),
            (&[0x40, 0xFF, 0xD0], "a call with a stack that is not aligned, at 0x0: call rax"),
            (&[0xE9, 0x01, 0, 0, 0, 0x40, 0x50], "no instruction begins at 0x6"),
            (&[0x90], "an unknown instruction at 0x0: [90, c3]"),
        ];
        for (code, fault) in cases {
            assert_eq!(faults(code), Err(fault.to_string()));
        }
    }
}
