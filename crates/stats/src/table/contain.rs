//! Code of others that panics on damaged bytes, contained: its panic becomes an error, in silence.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside [`contained`], where a panic is an answer and no bug of ours.
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body`; `None` if it panicked. Panics of other threads are reported as ever.
///
/// Whatever `body` changes is lost to it: it takes bytes and gives a value, so nothing half changed
/// can be seen from outside.
pub(super) fn contained<T>(body: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_CONTAINED.get() {
                before(info);
            }
        }));
    });
    IS_CONTAINED.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(body));
    IS_CONTAINED.set(false);
    outcome.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer_and_the_next_one_is_not_silenced() {
        assert_eq!(contained(|| 3), Some(3));
        assert_eq!(contained(|| -> i32 { panic!("damaged") }), None);
        assert!(!IS_CONTAINED.get());
    }
}
