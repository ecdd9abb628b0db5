//! Hands on where libtorch lies, to the linker and to programs that depend on this crate.

fn main() {
    println!("cargo::rerun-if-env-changed=DEP_DAE_TORCH_LIBTORCH_LIB");
    if let Ok(folder) = std::env::var("DEP_DAE_TORCH_LIBTORCH_LIB") {
        println!("cargo::metadata=libtorch_lib={folder}");
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
