//! Prefetching memory that is needed soon. The only unsafe code of this crate.

#![allow(unsafe_code, reason = "the prefetch instruction has no safe wrapper yet")]

/// Starts loading the cache line where a value begins, without waiting for it.
///
/// On processors other than x86-64 some of the value is read instead. That loads the line too, but
/// the processor cannot run far ahead of the read.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T, read: impl FnOnce(&T) -> u64) {
    #[cfg(target_arch = "x86_64")]
    {
        let _ = read;
        // SAFETY: every x86-64 processor has this instruction. It changes nothing but caches, and
        // cannot fault whatever the address is, here that of a value that exists.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(read(value));
}
