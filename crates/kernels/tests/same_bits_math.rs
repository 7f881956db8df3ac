//! Every transcendental function gives the same bits on every code path of this machine, and the
//! bits pinned here on every machine.

use backcut_kernels::slices::{
    map_atanh_on, map_cos_on, map_exp_on, map_ln_on, map_sigmoid_on, map_sin_on, map_tan_on,
    map_tanh_on,
};
use backcut_kernels::{Isa, Real};

type Map<R> = fn(Isa, &[R], &mut [R]);

fn maps<R: Real>() -> [(&'static str, Map<R>); 8] {
    [
        ("exp", map_exp_on),
        ("ln", map_ln_on),
        ("sin", map_sin_on),
        ("cos", map_cos_on),
        ("tan", map_tan_on),
        ("tanh", map_tanh_on),
        ("atanh", map_atanh_on),
        ("sigmoid", map_sigmoid_on),
    ]
}

/// Ordinary magnitudes of both signs, then bit patterns from all over the range; the length leaves
/// a tail after any vector width.
fn inputs<R: Real>(from_bits: fn(u64) -> R) -> Vec<R> {
    let mut x: Vec<R> = (0..20_003u32)
        .map(|i| R::from_f64(f64::from(i).mul_add(0.001_3, -13.0) * f64::from(1 + i % 7)))
        .collect();
    let mut word = 1u64;
    for _ in 0..20_000 {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        x.push(from_bits(word ^ (word >> 33)));
    }
    x
}

fn bits<R: Real>(isa: Isa, map: Map<R>, x: &[R]) -> Vec<u64> {
    let mut y = vec![R::ZERO; x.len()];
    map(isa, x, &mut y);
    y.into_iter().map(Real::bits).collect()
}

/// Compares every path with the portable one and returns a digest of the bits, per function.
fn compared<R: Real>(from_bits: fn(u64) -> R) -> Vec<u64> {
    let x = inputs(from_bits);
    maps::<R>()
        .into_iter()
        .map(|(name, map)| {
            let expected = bits(Isa::portable(), map, &x);
            for isa in Isa::available() {
                let got = bits(isa, map, &x);
                for ((x, got), expected) in x.iter().zip(got).zip(&expected) {
                    assert_eq!(got, *expected, "{name}({x}) in {} on {isa}", R::NAME);
                }
            }
            expected
                .iter()
                .fold(0u64, |h, &b| (h ^ b).rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        })
        .collect()
}

/// Changing any of these means that results change: bump `NUMERICS_VERSION`.
const GOLDEN_F32: [u64; 8] = [
    0x20ea_6884_feab_bed7,
    0xb28d_3c86_0cc0_5aa3,
    0xa855_6260_99ed_94b8,
    0xcbad_98c9_6b30_29c6,
    0xb98b_9d20_3fd3_ef99,
    0x91d7_6409_c168_ddee,
    0xffe5_5980_754b_2714,
    0x8953_5891_c9c5_b23d,
];
const GOLDEN_F64: [u64; 8] = [
    0x8569_0b9b_9e44_6965,
    0x72dd_8bc5_abe3_da1a,
    0xd64a_42f1_6f27_f1e2,
    0xbd93_67ba_6388_5680,
    0xabdc_a57a_83cc_ca2c,
    0xe9ab_12c8_6ef7_7ff5,
    0x0246_bb9c_522a_acb6,
    0x608e_4175_6526_71bb,
];

#[test]
fn every_path_gives_the_same_bits_in_single_precision() {
    assert_eq!(compared::<f32>(|b| f32::from_bits(b as u32)), GOLDEN_F32);
}

#[test]
fn every_path_gives_the_same_bits_in_double_precision() {
    assert_eq!(compared::<f64>(f64::from_bits), GOLDEN_F64);
}
