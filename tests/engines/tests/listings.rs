//! Plans, and the machine code that the direct emitter makes of them: each file of `listings/avx512/` and `listings/avx2/`
//! has two declarations, and below them the plan and the code that they must give. A change of what is generated shows
//! there.
//!
//! `WRITE=yes cargo test -p isoform-engines --test listings` writes plan and code anew.
#![cfg(all(target_endian = "little", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]

use isoform_core::{Faults, Format, Layout, Missing, Plan, Rules, Shape};
use isoform_jit::{Extension, Model};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// What separates the parts of a file.
const LINE: &str = "----\n";

/// A declaration on the machine that its first line names.
fn format(text: &str) -> Format {
    let (machine, shape) = text.split_once('\n').expect("the name of a machine");
    let layout = Layout::ALL.iter().find(|layout| layout.name == machine).expect("a known machine");
    Shape::parse(shape).expect("a declaration").on(layout).expect("a format")
}

#[test]
fn plans_become_the_code_that_is_expected() {
    for &extension in Extension::ALL {
        let names = files_of(extension);
        assert_eq!(names, ["array", "defaults", "narrow", "numbers", "string"], "{}", extension.name());
    }
}

/// Compares the files for an extension, and returns their names in order.
fn files_of(extension: Extension) -> Vec<String> {
    let write = std::env::var("WRITE").is_ok_and(|write| write == "yes");
    let mut names = Vec::new();
    for entry in
        fs::read_dir(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/listings")).join(extension.name())).unwrap()
    {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let parts: Vec<&str> = text.splitn(3, LINE).collect();
        let [wire, native] = [parts[0], parts[1]].map(format);
        let rules = Rules::new().missing(Missing::Zero);
        let plan = Arc::new(Plan::new(&wire, &native, &rules, Faults::Error).unwrap());
        let model = Model::of(&plan, extension).unwrap().expect("there is code for each of them");
        let given = format!("{plan}{LINE}{}", model.listing());
        if write {
            fs::write(&path, [parts[0], LINE, parts[1], LINE, &given].concat()).unwrap();
        } else {
            assert_eq!(parts.get(2), Some(&given.as_str()), "{}", path.display());
        }
        names.push(path.file_stem().unwrap().to_string_lossy().into_owned());
    }
    names.sort();
    names
}
