//! What does not compile, and what the compiler says about it. `TRYBUILD=overwrite` writes its words anew.
#![cfg(not(miri))]

#[test]
fn mistakes_are_pointed_at() {
    trybuild::TestCases::new().compile_fail("tests/compile-fail/*.rs");
}
