//! The random streams give exactly these numbers, version 1.
//!
//! A change here changes every result of every study: it requires bumping `NUMERICS_VERSION`, and
//! new values below under the new version. The first group can be recomputed from the ChaCha8
//! specification and the key layout in the module's documentation.

use backcut_kernels::NUMERICS_VERSION;
use backcut_kernels::random::Stream;

#[test]
fn values_belong_to_this_version() {
    assert_eq!(NUMERICS_VERSION, 1);
}

#[test]
fn raw_words_are_pinned() {
    let words = |seed, name, update, row| {
        let mut draws = Stream::new(seed, name).at(update, row);
        [draws.next_u64(), draws.next_u64(), draws.next_u64()]
    };
    assert_eq!(
        words(0, "", 0, 0),
        [0x1948_53a3_17e1_268d, 0xfbbf_9ef4_c64b_f1ff, 0x7945_2278_7fa1_4d59]
    );
    assert_eq!(
        words(42, "initial states", 0, 0),
        [0x6b4e_b6ad_7cc8_fbd3, 0x0608_f8cf_3290_e914, 0xe685_c8da_050e_7ed2]
    );
    assert_eq!(
        words(42, "initial states", 1, 0),
        [0xc9e3_d172_51d4_7039, 0xce94_7f43_ff00_ade6, 0xa110_9460_fe25_ecb9]
    );
    assert_eq!(
        words(42, "initial states", 0, 1),
        [0x814a_0607_f8c3_d41d, 0x283c_3d75_11e2_fc48, 0x8b0b_ff4a_527e_ebd5]
    );
    assert_eq!(
        words(u64::MAX, "noise", u64::MAX, u64::MAX),
        [0x27c3_15fb_179e_bdec, 0xd4ea_be43_3f92_d756, 0x59f8_2540_90d6_b84e]
    );
}

#[test]
fn uniforms_are_pinned() {
    let mut draws = Stream::new(42, "initial states").at(3, 5);
    let uniforms: [u64; 3] = std::array::from_fn(|_| draws.uniform().to_bits());
    assert_eq!(uniforms, [0x3fdd_b093_6302_f8c0, 0x3fe4_a06b_b041_e1e1, 0x3fe5_0fb8_3d69_dd89]);
    let inside: [u64; 3] = std::array::from_fn(|_| draws.uniform_in(-2.0, 5.0).to_bits());
    assert_eq!(inside, [0xbfe7_f196_d466_665f, 0xbfec_9942_89f3_2b5c, 0x3fe3_adf8_8cfc_c971]);
}

#[test]
fn normals_are_pinned() {
    let mut draws = Stream::new(42, "noise").at(3, 5);
    let normals: [u64; 5] = std::array::from_fn(|_| draws.normal().to_bits());
    assert_eq!(
        normals,
        [
            0xbfbb_defd_f8d4_5c36,
            0xbfd8_937b_ef71_4855,
            0xc004_27f8_842e_8138,
            0xc000_d9f0_09b6_cc87,
            0xbfde_ee46_6ff7_18ec
        ]
    );
}

#[test]
fn orders_are_pinned() {
    let mut draws = Stream::new(42, "order").at(0, 0);
    let below: [u64; 6] = std::array::from_fn(|i| draws.below(10 + i as u64));
    assert_eq!(below, [3, 10, 11, 12, 7, 7]);
    assert_eq!(draws.permutation(8), [0, 3, 7, 5, 6, 2, 1, 4]);
    assert_eq!(draws.derangement(8).unwrap(), [7, 0, 1, 4, 3, 6, 5, 2]);
}
