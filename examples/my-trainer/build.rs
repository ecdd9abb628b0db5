//! Lets the finished program find libtorch where the build found it, without LD_LIBRARY_PATH.

fn main() {
    if let Ok(dir) = std::env::var("DEP_DAE_LIBTORCH_LIB") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{dir}");
    }
}
