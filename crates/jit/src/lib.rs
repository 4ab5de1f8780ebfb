//! A just-in-time compiler: it compiles conversion plans, and the expressions of queries ([`query`]), to machine code.
//!
//! [`Code::of`] compiles a plan to one function. For x86-64 with AVX-512 or AVX2, this crate has a code generator of its own, with
//! instruction selection and an assembler; for other processors, it uses Cranelift. Scalars and short arrays become straight-line
//! code and loops. Generated code calls the SIMD kernels of `isoform-kernels` for long arrays, and the interpreter of
//! `isoform-core` for rare steps. It only detects *that* a number overflows the target type. Then the interpreter converts the
//! record again, from the start, and decides the result or the error. So both engines agree on errors by construction.
//!
//! ```
//! use isoform_core::{Faults, FieldList, Layout, Plan, Rules, Shape, Verifier};
//! use isoform_jit::Code;
//! use std::sync::Arc;
//! let shape = Shape::parse("record P\n  n  i32\n  x  f64[3]\n")?;
//! let (wire, native) = (shape.on(&Layout::S390X)?, shape.on(&Layout::X86_64)?);
//! let plan = Arc::new(Plan::new(&wire, &native, &Rules::new(), Faults::Error)?);
//! let body = [[0, 0, 0, 7, 0, 0, 0, 0], 1f64.to_be_bytes(), 2f64.to_be_bytes(), 3f64.to_be_bytes()].concat();
//! // There is no code if this machine has no generator, or the plan would gain nothing.
//! if let Some(code) = Code::of(&plan) {
//!     let mut record = Vec::new();
//!     code.run(Verifier::new(&wire).verify(&body)?, &mut record)?;
//!     assert_eq!(record[..4], 7i32.to_le_bytes());
//!     assert_eq!(record[24..], 3f64.to_le_bytes());
//! }
//! # Ok::<(), isoform_core::Error>(())
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | `code` | [`Code`]: compiles a plan, owns the code, and runs it |
//! | `generate` | chooses a back end ([`Generator`]), estimates whether compilation pays, and has what both back ends share |
//! | `extension` | [`Extension`]: the instruction set extensions that `x86` generates code for |
//! | `x86`, `portable` | the back ends: the direct one for x86-64, and Cranelift |
//! | `call` | the calling convention: entry into generated code, and its calls of runtime functions |
//! | `memory` | executable memory, writable or executable and never both |
//! | `listing` | [`Listing`]: disassembly of generated code |
//! | `instructions`, `model` | a decoder for the instructions that `x86` emits, and an emulator that executes them, for tests |
//! | [`query`] | compiles predicates and projections: expressions over the fields of a record |

#[cfg(generator)]
mod call;
#[cfg(generator)]
mod code;
#[cfg(not(generator))]
#[path = "elsewhere.rs"]
mod code;
mod extension;
#[cfg(generator)]
mod generate;
#[cfg(direct)]
mod instructions;
#[cfg(generator)]
mod listing;
#[cfg(not(generator))]
#[path = "listing_elsewhere.rs"]
mod listing;
#[cfg(generator)]
mod memory;
#[cfg(all(direct, feature = "model"))]
mod model;
#[cfg(all(not(direct), feature = "model"))]
#[path = "model_elsewhere.rs"]
mod model;
#[cfg(generator)]
mod portable;
pub mod query;
#[cfg(direct)]
mod x86;

pub use code::Code;
#[cfg(not(generator))]
pub use code::Generator;
pub use extension::Extension;
#[cfg(generator)]
pub use generate::Generator;
pub use listing::Listing;
#[cfg(feature = "model")]
pub use model::Model;
