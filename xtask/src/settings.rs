//! The settings of a caller: `make engines PAIRS=1000000`, or the same in the environment.

use std::str::FromStr;

/// A setting, or its default.
pub(crate) fn setting<T: FromStr>(name: &str, default: T) -> T {
    let set = std::env::var(name).ok().filter(|value| !value.is_empty());
    match set.map(|value| value.parse()) {
        None => default,
        Some(Ok(value)) => value,
        Some(Err(_)) => {
            eprintln!("xtask: {name} cannot be that: the default is taken");
            default
        }
    }
}

/// The words of a setting.
pub(crate) fn words(name: &str) -> Vec<String> {
    std::env::var(name).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// The seed of everything random.
pub(crate) fn seed() -> u64 {
    setting("SEED", 1)
}

/// The settings by which parts of the suites do more or less than usual.
const EXTENT: &str = "AGREED CONNECTS GENERATE HEADER_STRUCTS KILLS MACHINE_CASES MACHINE_PAIRS MACHINE_PROFILE MEMBERS MIRI_MUTANTS \
                      MODELLED MUTANTS PAIRS PROPTEST_CASES SAMPLE SEED SIMULATIONS STREAMS STRUCTS VISITS";

/// Whether the caller has set one of them.
pub(crate) fn changes_extent() -> bool {
    EXTENT.split_whitespace().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Whether generated code is tested as well. With `GENERATE=off`, the interpreter does everything.
pub(crate) fn generate() -> bool {
    !std::env::var("GENERATE").is_ok_and(|value| value == "off")
}
