//! Some pairs of formats, on the machine that the tests run on. `make engines` has more.

/// How many: twice as many as properties are tried with cases.
fn count() -> u64 {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    2 * cases.unwrap_or(256)
}

#[test]
fn engines_agree() {
    let count = count();
    let report = isoform_engines::run(1, count);
    assert!(report.differences.is_empty(), "{report}");
    let tally = report.tally;
    assert_eq!(tally.pairs, count);
    let generator = ["x86_64", "aarch64", "riscv64", "s390x"].contains(&std::env::consts::ARCH);
    let (least, most) = if generator { (count * 8 / 10, count) } else { (0, 0) };
    assert!((least..=most).contains(&tally.generated), "{tally}");
    assert!(!generator || tally.refused > 0 && tally.converted > 5 * tally.generated, "{tally}");
}
