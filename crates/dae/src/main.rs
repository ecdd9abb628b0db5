//! The stock host: runs topologies of stock models on this machine.

fn main() -> std::process::ExitCode {
    dae::host().run()
}
