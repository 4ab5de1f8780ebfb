//! Names the machines that code can be generated for, as Cargo.toml does for what that takes. Miri is none.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(generator)");
    println!("cargo::rustc-check-cfg=cfg(direct)");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let family = variable("CARGO_CFG_TARGET_FAMILY");
    let memory = family.split(',').any(|family| family == "unix" || family == "windows");
    let interpreted = std::env::var_os("CARGO_CFG_MIRI").is_some();
    let processors = ["x86_64", "aarch64", "riscv64", "s390x"];
    if memory && !interpreted && processors.contains(&variable("CARGO_CFG_TARGET_ARCH").as_str()) {
        println!("cargo::rustc-cfg=generator");
        // The direct generator is of use where its code runs, and for the model on all machines of the same byte order.
        let runs = variable("CARGO_CFG_TARGET_ARCH") == "x86_64" && family.split(',').any(|family| family == "unix");
        let modelled = std::env::var_os("CARGO_FEATURE_MODEL").is_some();
        if runs || modelled && variable("CARGO_CFG_TARGET_ENDIAN") == "little" {
            println!("cargo::rustc-cfg=direct");
        }
    }
}
