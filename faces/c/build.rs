//! The name by which programs ask for the shared library when they start: `make install` installs it so.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let version = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libisoform.{version}.dylib"),
        Ok("windows") | Err(_) => {}
        Ok(_) => println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libisoform.so.{version}"),
    }
}
