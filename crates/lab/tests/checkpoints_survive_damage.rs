//! A checkpoint comes back bit by bit, or not at all and with a reason.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::path::Path;
use std::sync::LazyLock;

use backcut_engine::Cut;
use backcut_lab::training::{Checkpoint, CheckpointError, State, Trainer, checkpoint};
use backcut_systems::System;
use backcut_text::Hinted as _;
use common::{PointMass, arm, valid};
use proptest::prelude::*;

/// A state with history, and its file.
static SAMPLE: LazyLock<(State<f32>, Vec<u8>)> = LazyLock::new(|| {
    let system = PointMass::new();
    let mut trainer = Trainer::<f32>::new(&system, arm(Cut::FF, 5)).unwrap();
    for _ in 0..7 {
        trainer.step().unwrap();
    }
    let layout = System::<f32>::program(&system).layout().clone();
    let bytes = checkpoint::to_bytes(&layout, &trainer.state(), &valid(Cut::FF, 5, 40));
    (trainer.state(), bytes)
});

fn read(bytes: &[u8]) -> Result<Checkpoint, CheckpointError> {
    Checkpoint::read(Path::new("x"), &mut &*bytes, bytes.len() as u64)
}

fn read_state(bytes: &[u8]) -> Result<State<f32>, CheckpointError> {
    let system = PointMass::new();
    read(bytes)?.state(System::<f32>::program(&system).layout())
}

#[test]
fn the_round_trip_is_bitwise_and_equal_states_are_equal_files() {
    let (state, bytes) = &*SAMPLE;
    let back = read_state(bytes).unwrap();
    let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&back.params), bits(&state.params));
    assert_eq!(bits(&back.moments.first), bits(&state.moments.first));
    assert_eq!(bits(&back.moments.second), bits(&state.moments.second));
    assert_eq!((back.update, back.moments.step), (7, 7));
    let layout = System::<f32>::program(&PointMass::new()).layout().clone();
    for _ in 0..8 {
        assert_eq!(&checkpoint::to_bytes(&layout, &back, &valid(Cut::FF, 5, 40)), bytes);
    }
}

#[test]
fn foreign_newer_and_short_files_say_what_they_are() {
    let (_, bytes) = &*SAMPLE;
    let expect = |bytes: &[u8], want: &str| {
        let error = read(bytes).unwrap_err();
        assert!(error.to_string().contains(want), "{error}");
        assert!(!error.hint().is_empty());
        error
    };
    assert!(matches!(expect(b"", "0 bytes"), CheckpointError::Truncated { .. }));
    assert!(matches!(expect(&[0xff; 64], "header of"), CheckpointError::Foreign { .. }));
    assert!(matches!(expect(&[b'a'; 4000], "header of"), CheckpointError::Foreign { .. }));
    let short = &bytes[..bytes.len() - 1];
    assert!(matches!(expect(short, "bytes of tensors"), CheckpointError::Truncated { .. }));
    let none: [(&str, safetensors::tensor::TensorView); 0] = [];
    for (metadata, want) in [
        (None, "another origin"),
        (Some(("format", "pt")), "another origin"),
        (Some(("backcut", "{\"kind\":\"export\",\"format\":1}")), "kind `export`"),
        (Some(("backcut", "{}")), "no kind"),
        (Some(("backcut", "{\"kind\":\"checkpoint\",\"format\":3}")), "format 3"),
        (Some(("backcut", "{\"kind\":\"checkpoint\",\"format\":1}")), "missing field"),
        (Some(("backcut", "nonsense")), "its metadata"),
    ] {
        let metadata = metadata.map(|(k, v)| [(k.to_owned(), v.to_owned())].into_iter().collect());
        expect(&safetensors::serialize(none.clone(), metadata).unwrap(), want);
    }
    assert!(matches!(Checkpoint::load(Path::new("/nonexistent")), Err(CheckpointError::Io { .. })));
    assert!(Checkpoint::load(Path::new("/")).is_err());
}

#[test]
fn a_length_that_promises_too_much_is_not_believed() {
    // 15 MB of header, or tensors of many terabytes, in a file of a few bytes.
    let mut bytes = (15_u64 << 20).to_le_bytes().to_vec();
    bytes.extend_from_slice(b"{}");
    assert!(matches!(read(&bytes), Err(CheckpointError::Truncated { .. })));
    let (_, sample) = &*SAMPLE;
    let length = u64::from_le_bytes(sample[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&sample[8..8 + length]).unwrap();
    let huge = header.replace("\"data_offsets\":[0,", "\"data_offsets\":[0,99999999");
    let mut bytes = (huge.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(huge.as_bytes());
    assert!(read(&bytes).is_err());
}

#[test]
fn another_policys_checkpoint_does_not_fit() {
    let (state, _) = &*SAMPLE;
    let t = backcut_engine::Trace::new();
    t.loss(t.linear("embedding", t.input("x", 2), 1));
    let other = t.compile().unwrap();
    let bytes = &SAMPLE.1;
    let error = read(bytes).unwrap().state(other.layout()).unwrap_err();
    assert!(matches!(error, CheckpointError::Misfit { .. }), "{error}");
    assert!(state.update > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// One flipped bit is an error, or means the same (an `e` of a number that became `E`).
    #[test]
    fn a_flipped_bit_is_noticed(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let (state, bytes) = &*SAMPLE;
        let mut bytes = bytes.clone();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(back) = read_state(&bytes) {
            prop_assert_eq!(&back, state);
        }
    }

    /// The header is a small part of the file and deserves its own share of the flips.
    #[test]
    fn a_flipped_bit_of_the_header_is_noticed(at in 0..6000_usize, bit in 0..8_u8) {
        let (state, bytes) = &*SAMPLE;
        let mut bytes = bytes.clone();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        if let Ok(back) = read_state(&bytes) {
            prop_assert_eq!(&back, state);
        }
    }

    #[test]
    fn a_truncated_file_is_an_error(keep in any::<prop::sample::Index>()) {
        let (_, bytes) = &*SAMPLE;
        prop_assert!(read(&bytes[..keep.index(bytes.len())]).is_err());
    }

    #[test]
    fn rubbish_never_panics(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300),
        length in 0..320_u64,
    ) {
        if bytes.len() >= 8 {
            bytes[..8].copy_from_slice(&length.to_le_bytes());
        }
        prop_assert!(read(&bytes).is_err());
    }

    #[test]
    fn many_changes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let mut bytes = SAMPLE.1.clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = read_state(&bytes);
    }
}
