//! The second engine: plans, and the expressions of queries ([`query`]), as machine code.
//!
//! [`Code::of`] turns a plan into one function of this machine, with a generator of its own for x86-64 with AVX-512 or AVX2,
//! and otherwise with Cranelift. Numbers and short runs of bytes become straight code and loops. The
//! kernels process long arrays, and the interpreter rare steps, one by one. The code only detects *that* a number does
//! not fit. The interpreter then converts the record again, from the start, and its result counts. So both engines
//! agree on errors by construction.
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
//! | `code` | [`Code`]: generates, keeps and runs the code of a plan |
//! | `generate` | chooses a [`Generator`], decides whether code is worthwhile, and has the common parts of both |
//! | `extension` | [`Extension`]: the extensions of x86-64 for which `x86` has instructions |
//! | `x86`, `portable` | the generators: plan to machine code |
//! | `call` | calls into generated code, and from generated code back |
//! | `memory` | executable memory |
//! | `listing` | [`Listing`]: generated code as text |
//! | `instructions`, `model` | the instructions that the direct generator emits, read from their bytes, and executed by a model of the processor |
//! | [`query`] | the code of expressions over the fields of a record |

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
