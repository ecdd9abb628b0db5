//! 64-byte-aligned memory that several threads share by phases.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::Range;
use std::ptr::NonNull;

/// From here on the kernel is asked for huge pages: fewer page faults and fewer address look-ups.
const HUGE_PAGE: usize = 2 << 20;

/// Numbers of which memory full of zeros is a valid value.
pub trait Number: Copy + Send + Sync + 'static {}

impl Number for f32 {}
impl Number for i64 {}

/// A flat, zeroed, aligned buffer of fixed length.
///
/// It hands out slices through `unsafe` methods only: who may touch which range when is the business of
/// [`crate::Member`], whose phases are separated by barriers.
pub struct FlatBuffer<T: Number = f32> {
    start: NonNull<T>,
    len: usize,
    layout: Layout,
}

// SAFETY: the buffer is plain memory; access to it is handed out by unsafe methods whose callers keep writers and
// readers of one range apart in time.
#[allow(unsafe_code)]
unsafe impl<T: Number> Send for FlatBuffer<T> {}
// SAFETY: as for Send.
#[allow(unsafe_code)]
unsafe impl<T: Number> Sync for FlatBuffer<T> {}

#[allow(unsafe_code)]
impl<T: Number> FlatBuffer<T> {
    /// `len` zeros.
    ///
    /// # Panics
    /// If so many could not be counted in bytes. Aborts as any allocation does when memory runs out.
    pub fn zeroed(len: usize) -> Self {
        let bytes = len.max(1).saturating_mul(size_of::<T>());
        let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { 64 };
        let layout = Layout::from_size_align(bytes, align).expect("a length that fits in memory");
        // SAFETY: the layout has a size above zero.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(memory.cast::<T>()) else { handle_alloc_error(layout) };
        if bytes >= HUGE_PAGE {
            // SAFETY: the range is the one just allocated; the advice changes no content, and may be refused.
            unsafe { libc::madvise(memory.cast(), bytes, libc::MADV_HUGEPAGE) };
        }
        Self { start, len, layout }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where it starts; 64-byte aligned.
    pub fn as_ptr(&self) -> *mut T {
        self.start.as_ptr()
    }

    /// A range to read.
    ///
    /// # Safety
    /// Nobody writes to the range while the slice lives.
    pub unsafe fn slice(&self, range: Range<usize>) -> &[T] {
        assert!(range.start <= range.end && range.end <= self.len, "range within the buffer");
        // SAFETY: within the allocation (asserted); no writer (the caller's duty).
        unsafe { std::slice::from_raw_parts(self.as_ptr().add(range.start), range.len()) }
    }

    /// A range to write.
    ///
    /// # Safety
    /// Nobody else reads or writes the range while the slice lives.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn slice_mut(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "range within the buffer");
        // SAFETY: within the allocation (asserted); exclusive (the caller's duty).
        unsafe { std::slice::from_raw_parts_mut(self.as_ptr().add(range.start), range.len()) }
    }
}

impl<T: Number> Drop for FlatBuffer<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: allocated with this very layout.
        unsafe { dealloc(self.start.as_ptr().cast(), self.layout) }
    }
}
