//! Some pairs of formats, on the machine that the tests run on. `make engines` has more.

use isoform_engines::{Emitters, run};

/// How many: twice as many as properties are tried with cases.
fn count() -> u64 {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    2 * cases.unwrap_or(256)
}

#[test]
fn engines_agree() {
    let count = count();
    let report = run(Emitters::Native, 1, count);
    assert!(report.differences.is_empty(), "{report}");
    let tally = report.tally;
    assert_eq!(tally.pairs, count);
    let generator = ["x86_64", "aarch64", "riscv64", "s390x"].contains(&std::env::consts::ARCH);
    let (least, most) = if generator { (count * 8 / 10, count) } else { (0, 0) };
    assert!((least..=most).contains(&tally.generated), "{tally}");
    assert!(!generator || tally.refused > 0 && tally.converted > 5 * tally.generated, "{tally}");
}

/// The code of the direct emitter, whether or not this processor has the instructions.
#[cfg(all(target_endian = "little", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
#[test]
fn the_model_of_the_processor_agrees() {
    let count = count();
    let report = run(Emitters::Modelled, 3, count);
    assert!(report.differences.is_empty(), "{report}");
    let tally = report.tally;
    assert!((count * 6 / 10..=count).contains(&tally.generated), "{tally}");
    // Most records are converted by the code itself, and in more than one way.
    assert!(tally.answered > tally.converted && tally.executed > 10 * tally.answered, "{tally}");
}
