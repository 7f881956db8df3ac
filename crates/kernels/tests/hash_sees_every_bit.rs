//! The value hash: equal on every path, pinned, and different after any single change.

use std::collections::BTreeSet;

use backcut_kernels::hash::hash_values_on;
use backcut_kernels::{Isa, Real};

fn values<R: Real>(n: usize) -> Vec<R> {
    (0..n).map(|i| R::from_f64((i as f64 - 50.0) / 8.0)).collect()
}

/// Changing these means that recorded hashes no longer compare: bump `NUMERICS_VERSION`.
#[test]
fn hashes_are_pinned() {
    for isa in Isa::available() {
        assert_eq!(hash_values_on::<f32>(isa, 0, &[]), 0x1086_ec8e_fb74_0b32);
        assert_eq!(hash_values_on(isa, 0, &values::<f32>(1)), 0xab56_ef4f_d4cc_da79);
        assert_eq!(hash_values_on(isa, 0, &values::<f32>(100)), 0xc6eb_f7c2_7780_db9e);
        assert_eq!(hash_values_on(isa, 0, &values::<f64>(100)), 0x48d7_2c91_7bd7_c3bc);
        assert_eq!(hash_values_on(isa, 7, &values::<f64>(100)), 0xcdf0_7a73_1a53_e624);
    }
}

#[test]
fn every_path_gives_the_same_hash() {
    for n in [0, 1, 31, 32, 33, 1000] {
        for isa in Isa::available() {
            let portable = Isa::portable();
            let (x, y) = (values::<f32>(n), values::<f64>(n));
            assert_eq!(hash_values_on(isa, 1, &x), hash_values_on(portable, 1, &x));
            assert_eq!(hash_values_on(isa, 1, &y), hash_values_on(portable, 1, &y));
        }
    }
}

#[test]
fn one_flipped_bit_anywhere_changes_the_hash() {
    let isa = Isa::detect();
    let mut single = values::<f32>(101);
    let mut seen = BTreeSet::from([hash_values_on(isa, 0, &single)]);
    for i in 0..single.len() {
        let before = single[i];
        for bit in 0..32 {
            single[i] = f32::from_bits(before.to_bits() ^ (1 << bit));
            assert!(seen.insert(hash_values_on(isa, 0, &single)), "element {i}, bit {bit}");
        }
        single[i] = before;
    }
    let mut double = values::<f64>(101);
    let mut seen = BTreeSet::from([hash_values_on(isa, 0, &double)]);
    for i in 0..double.len() {
        let before = double[i];
        for bit in 0..64 {
            double[i] = f64::from_bits(before.to_bits() ^ (1 << bit));
            assert!(seen.insert(hash_values_on(isa, 0, &double)), "element {i}, bit {bit}");
        }
        double[i] = before;
    }
}

#[test]
fn order_length_seed_and_width_change_the_hash() {
    let isa = Isa::detect();
    let x = values::<f32>(101);
    let mut seen = BTreeSet::from([hash_values_on(isa, 0, &x)]);
    for i in 0..x.len() {
        for j in 0..i {
            let mut swapped = x.clone();
            swapped.swap(i, j);
            assert!(seen.insert(hash_values_on(isa, 0, &swapped)), "swap of {i} and {j}");
        }
    }
    for n in 0..101 {
        // Prefixes, and zeros only: nothing but the length tells them apart.
        assert!(seen.insert(hash_values_on(isa, 0, &x[..n])), "prefix of {n}");
        assert!(seen.insert(hash_values_on(isa, 0, &vec![0f32; n])) || n == 0, "{n} zeros");
        assert!(seen.insert(hash_values_on(isa, 0, &vec![0f64; n])), "{n} wide zeros");
    }
    for seed in 1..100 {
        assert!(seen.insert(hash_values_on(isa, seed, &x)), "seed {seed}");
    }
}
