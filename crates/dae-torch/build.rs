//! Tells the linker, and the crates above, where libtorch lies, so that programs find it without LD_LIBRARY_PATH.

fn main() {
    println!("cargo::rerun-if-env-changed=DEP_TCH_LIBTORCH_LIB");
    // torch-sys found it; a search path in the program itself (rpath) is what finds it again.
    if let Some(folder) = std::env::var_os("DEP_TCH_LIBTORCH_LIB") {
        let folder = std::path::PathBuf::from(folder);
        let folder = folder.canonicalize().unwrap_or(folder);
        println!("cargo::metadata=libtorch_lib={}", folder.display());
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
    }
}
