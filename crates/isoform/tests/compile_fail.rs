//! What does not compile, and what the compiler says about it. `TRYBUILD=overwrite` writes its words anew.
//!
//! All that the crate imports is compiled once more for that, so it is not done where that includes a code generator:
//! `cargo test -p isoform` does it, and so does `make interpreter`.
#![cfg(not(any(miri, feature = "generate")))]

#[test]
fn mistakes_are_pointed_at() {
    trybuild::TestCases::new().compile_fail("tests/compile-fail/*.rs");
}
