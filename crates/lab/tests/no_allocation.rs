//! After the first update, training does not touch the heap.

#![allow(clippy::unwrap_used)] // helpers of tests may panic
#![expect(unsafe_code, reason = "a counting allocator cannot be written without")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::cell::Cell;

use backcut_engine::Cut;
use backcut_lab::training::Trainer;
use backcut_systems::quadrotor::QuadrotorConfig;
use common::arm;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise, passed on.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, passed on.
        unsafe { Heap.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn an_update_of_the_quadrotor_allocates_nothing() {
    let system = QuadrotorConfig::default().check().unwrap();
    for cut in [Cut::FF, Cut::F_SG, Cut::KD] {
        let mut trainer = Trainer::<f32>::new(&system, arm(cut, 1)).unwrap();
        trainer.step().unwrap();
        let before = COUNT.get();
        for _ in 0..3 {
            trainer.step().unwrap();
        }
        assert_eq!(COUNT.get() - before, 0, "{cut}");
    }
}
