//! Large pages for large buffers, where the system grants them.
//!
//! What a long rollout keeps is read in strides longer than a page; with pages of 4 KiB the
//! processor spends its time looking up addresses.
#![expect(unsafe_code, reason = "one call of the system, which is advice; see the SAFETY note")]

/// Buffers below this are not worth a page of 2 MiB.
const LARGE: usize = 4 << 20;

/// Asks for large pages under a buffer that nobody has written to yet. It may be declined.
#[cfg(target_os = "linux")]
pub(crate) fn ask_for_large<T>(buffer: &mut [T]) {
    const PAGE: usize = 4096;
    const MADV_HUGEPAGE: i32 = 14;
    unsafe extern "C" {
        fn madvise(address: *mut std::ffi::c_void, length: usize, advice: i32) -> i32;
    }
    let len = size_of_val(buffer);
    if len < LARGE {
        return;
    }
    let start: *mut u8 = buffer.as_mut_ptr().cast();
    let skip = start.addr().next_multiple_of(PAGE) - start.addr();
    let whole = (len - skip) / PAGE * PAGE;
    // SAFETY: the pages lie inside the buffer, which is borrowed for the call, and this advice
    // changes the size of pages, never what is in them.
    unsafe {
        madvise(start.add(skip).cast(), whole, MADV_HUGEPAGE);
    }
}

/// There is nothing to ask for.
#[cfg(not(target_os = "linux"))]
pub(crate) fn ask_for_large<T>(_buffer: &mut [T]) {}
