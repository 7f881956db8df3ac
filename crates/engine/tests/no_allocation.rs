//! After the first call neither a roll nor a backward touches the heap, and the bytes that rollouts
//! and workspaces report are the bytes that the allocator gave them.
//!
//! How the test tells numbers from bookkeeping: in `f32` every numeric buffer is a vector of 4-byte
//! aligned elements (or of whole cache lines), and nothing else is: names are 1-byte, indices,
//! pointers and plans 8-byte aligned. The one exception is the loss of each row, which is `f64` in
//! every precision; it is counted by its size. So the comparison needs no tolerance.
#![allow(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "it/common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use backcut_engine::{Cut, Fed, ForwardSpec, Model, Rollout, Workspace};
use backcut_kernels::Isa;
use backcut_oracle::{FixedValues, OracleSpec, PolicySizes, random_parameters, trace_policy};
use common::{Case, KINDS, cut, cuts, spec};

struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static LIVE_NUMBERS: Cell<isize> = const { Cell::new(0) };
}

fn note(layout: Layout, sign: isize) {
    if layout.align() == 4 || layout.align() >= 32 {
        LIVE_NUMBERS.set(LIVE_NUMBERS.get() + sign * layout.size() as isize);
    }
}

// SAFETY: every request is handed to the system's allocator as it came, and its answer is returned
// as it came; the counters are plain thread-local cells that neither allocate nor have destructors.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        note(layout, 1);
        // SAFETY: the caller keeps `alloc`'s contract, which is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        note(layout, 1);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        note(layout, -1);
        if let Ok(layout) = Layout::from_size_align(size, layout.align()) {
            note(layout, 1);
        }
        // SAFETY: `pointer` came from the system allocator with this layout, as the caller
        // promises.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(layout, -1);
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls to the allocator during `work`.
fn calls(work: impl FnOnce()) -> usize {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

fn live_numbers() -> usize {
    usize::try_from(LIVE_NUMBERS.get()).unwrap()
}

/// The loss of each row is `f64` and its vector 8-byte aligned.
fn row_loss_bytes(rollout: &Rollout<f32>) -> usize {
    rollout.rows() * size_of::<f64>()
}

/// Every seed is another program: conditions, registers, shared weights, second caches.
fn cases() -> impl Iterator<Item = Case> {
    (0..12).map(|seed| {
        let prefix = seed as usize % 3;
        Case::random(seed, OracleSpec { prefix, ..spec(2, prefix + 6) })
    })
}

#[test]
fn the_counter_counts() {
    let mut numbers = Vec::new();
    assert_eq!(calls(|| numbers = vec![1.0f32; 100]), 1);
    let before = live_numbers();
    drop(numbers);
    assert_eq!(before - live_numbers(), 400);
}

#[test]
fn a_roll_or_a_backward_after_the_first_allocates_nothing() {
    for (seed, case) in cases().enumerate() {
        let (model, mut rollout) = case.rolled::<f32>(Isa::detect());
        let again = calls(|| {
            model.roll(&mut rollout).unwrap();
        });
        assert_eq!(again, 0, "seed {seed}: roll");
        for names in KINDS.map(|name| vec![name]).into_iter().chain([KINDS.to_vec()]) {
            let mut workspace = Workspace::new(&rollout, &cuts(&names)).unwrap();
            workspace.keep_adjoints("body").unwrap();
            workspace.backward(&model, &rollout).unwrap();
            let again = calls(|| workspace.backward(&model, &rollout).unwrap());
            assert_eq!(again, 0, "seed {seed}: {names:?}");
        }
    }
}

#[test]
fn a_batch_fed_from_outside_allocates_nothing() {
    for (seed, mut case) in cases().enumerate() {
        let OracleSpec { rows, steps, .. } = case.spec;
        for name in ["body", "action"] {
            let width = case.program.width(case.program.tap(name).unwrap());
            let values = vec![vec![vec![0.25; width]; rows]; steps];
            case.spec.overrides.push(FixedValues { site: name.into(), first: 0, values });
        }
        let (model, mut rollout) = case.rolled::<f32>(Isa::detect());
        let mut workspace = Workspace::new(&rollout, &cuts(&KINDS)).unwrap();
        workspace.backward(&model, &rollout).unwrap();
        let again = calls(|| {
            rollout.fed_mut("body").unwrap().fill(0.5);
            rollout.fed_mut("action").unwrap().fill(-0.5);
            model.roll(&mut rollout).unwrap();
            workspace.backward(&model, &rollout).unwrap();
        });
        assert_eq!(again, 0, "seed {seed}");
    }
}

#[test]
fn reported_bytes_are_the_allocators() {
    for (seed, case) in cases().enumerate() {
        let OracleSpec { rows, steps, prefix, .. } = case.spec;
        let before = live_numbers();
        let fed = vec![Fed { site: "body".into(), steps: 1..3 }];
        let spec = ForwardSpec { prefix, fed, ..ForwardSpec::default() };
        let rollout = Rollout::new(&case.program, rows, steps, spec).unwrap();
        let of_rollout = live_numbers() - before + row_loss_bytes(&rollout);
        assert_eq!(rollout.bytes(), of_rollout, "seed {seed}: rollout");
        for names in KINDS.map(|name| vec![name]).into_iter().chain([KINDS.to_vec()]) {
            let before = live_numbers();
            let mut workspace = Workspace::new(&rollout, &cuts(&names)).unwrap();
            workspace.keep_adjoints("action").unwrap();
            assert_eq!(workspace.bytes(), live_numbers() - before, "seed {seed}: {names:?}");
        }
    }
}

#[test]
fn reported_bytes_are_still_right_after_running() {
    for case in cases() {
        let before = live_numbers();
        let (model, rollout) = case.rolled::<f32>(Isa::detect());
        let of_model = live_numbers() - before + row_loss_bytes(&rollout) - rollout.bytes();
        let mut workspace = Workspace::new(&rollout, &cuts(&KINDS)).unwrap();
        workspace.backward(&model, &rollout).unwrap();
        let all = live_numbers() - before + row_loss_bytes(&rollout);
        assert_eq!(all - of_model, rollout.bytes() + workspace.bytes());
    }
}

/// The quadrotor's shape: 2 layers of width 64, 4 heads, batch 8, 32 steps.
#[test]
fn no_cut_needs_more_memory_than_full_credit() {
    let sizes = PolicySizes { width: 64, heads: 4, layers: 2, max_steps: 32 };
    let program = Arc::new(trace_policy(sizes).unwrap());
    let parameters = random_parameters(&program, 1).iter().map(|&p| p as f32).collect();
    let model = Model::new(&program, parameters).unwrap();
    let rollout = Rollout::<f32>::new(&program, 8, 32, ForwardSpec::default()).unwrap();
    let bytes = |cut: Cut| {
        let workspace = Workspace::new(&rollout, &[cut]).unwrap();
        rollout.bytes() + workspace.bytes() + model.packed_bytes()
    };
    let full = bytes(Cut::FF);
    for name in ["F_SG", "FD", "SEG-8", "KF", "KD", "K_SG", "K_SEG-8"] {
        let ratio = bytes(cut(name)) as f64 / full as f64;
        assert!(ratio <= 1.02, "{name} needs {ratio:.3} times the memory of FF");
    }
}
