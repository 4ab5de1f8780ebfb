//! The names of this crate, imported all at once, leave the derives and paths to the standard `core` as they are.

use isoform::*;

#[derive(Enumeration, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Phase {
    Off,
    On = 3,
}

#[derive(Record, Debug, PartialEq)]
#[repr(C)]
struct Sample<'a> {
    phase: Phase,
    name: Str<'a>,
}

#[derive(Record, Debug, PartialEq)]
struct Named {
    name: String,
    phases: Vec<Phase>,
}

#[test]
fn derives_do_not_see_them() {
    let name = Str::new(c"K");
    let bytes = Encoder::new().encode(&Sample { phase: Phase::On, name }).unwrap().to_vec();
    let mut registry = Registry::new();
    registry.register(Sample::format()).unwrap();
    let message = Incoming::parse(&bytes, &mut registry).unwrap();
    assert_eq!(Decoder::<Sample>::new().decode(&message).unwrap(), &Sample { phase: Phase::On, name });
    assert_eq!(Named::format().name(), "Named");
}

#[test]
fn paths_to_the_standard_core_work() {
    let size: ::core::ffi::c_int = ::core::mem::size_of::<Phase>() as _;
    assert_eq!(size, 1);
    // Without the colons it is what the glob brings.
    assert_eq!(core::Shape::of(Sample::format()).name(), "Sample");
}

mod by_name {
    use core::fmt::Write;
    use isoform::{Format, Record, core::Structure};

    #[test]
    fn a_module_that_names_what_it_uses_has_both() {
        let mut text = ::std::string::String::new();
        // The name, the length of the phases, and the phases.
        let structure: &Structure = Format::structure(super::Named::format());
        write!(text, "{}", structure.fields().len()).unwrap();
        assert_eq!((text.as_str(), core::mem::size_of::<u8>()), ("3", 1));
    }
}
