//! Which instruction set the kernels of this module run on.

use std::sync::LazyLock;

static ARCH: LazyLock<pulp::Arch> = LazyLock::new(pulp::Arch::new);

/// The best instruction set of this machine, found once.
pub fn arch() -> pulp::Arch {
    *ARCH
}
