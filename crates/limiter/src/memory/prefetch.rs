//! Memory that will be wanted soon: the only unsafe code there is.

#![allow(unsafe_code, reason = "the instruction has no safe name yet")]

/// Has the processor fetch the line where a value begins, and does not wait for it.
///
/// On processors other than x86-64 some of the value is read instead. That fetches it as well, but
/// the processor cannot go on for long before it is there.
#[inline(always)]
pub(super) fn prefetch<T>(value: &T, read: impl FnOnce(&T) -> u64) {
    #[cfg(target_arch = "x86_64")]
    {
        let _ = read;
        // SAFETY: every x86-64 processor has this instruction. It changes nothing but caches, and
        // cannot fail whatever the address is, here that of a value that exists.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(read(value));
}
