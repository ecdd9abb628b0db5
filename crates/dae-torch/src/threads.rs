//! libtorch's settings, which belong to threads and to the process.

/// Prepares the current thread to compute with so many threads of libtorch.
pub(crate) fn prepare(threads: usize) {
    tch::set_num_threads(i32::try_from(threads).unwrap_or(1));
}

/// Lets the C library keep freed memory instead of handing it back to the kernel: a step's tensors then lie in the
/// pages of the step before, which spares a page fault for every 4 KiB of them. Called once, early in a host.
#[allow(unsafe_code)]
pub fn reuse_memory() {
    #[cfg(target_env = "gnu")]
    for option in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: sets an option of the allocator; a refusal changes nothing.
        unsafe { libc::mallopt(option, i32::MAX) };
    }
}
