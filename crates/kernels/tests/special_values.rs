//! What the transcendental functions return at the edges of their domains, in both precisions.

macro_rules! special_values {
    ($t:ident, $overflow:expr, $underflow:expr, $saturated:expr) => {
        mod $t {
            use backcut_kernels::math::$t::{
                TRIGONOMETRIC_DOMAIN, atanh, cos, exp, ln, sigmoid, sin, tan, tanh,
            };

            const INFINITY: $t = $t::INFINITY;
            /// Signs, magnitudes and payloads of NaN.
            fn nans() -> [$t; 3] {
                [$t::NAN, -$t::NAN, $t::from_bits($t::NAN.to_bits() | 1)]
            }

            #[test]
            fn every_function_gives_the_canonical_nan_for_nan() {
                for f in [exp, ln, sin, cos, tan, tanh, atanh, sigmoid] {
                    for x in nans() {
                        assert_eq!(f(x).to_bits(), $t::NAN.to_bits());
                    }
                }
            }

            #[test]
            fn exp_overflows_to_infinity_and_underflows_to_zero() {
                assert_eq!(exp(0.0), 1.0);
                assert_eq!(exp(-0.0), 1.0);
                assert_eq!(exp(INFINITY), INFINITY);
                assert_eq!(exp($overflow), INFINITY);
                assert!(exp($overflow - 0.1).is_finite());
                assert_eq!(exp(-INFINITY).to_bits(), 0);
                assert_eq!(exp($underflow).to_bits(), 0);
                assert!(exp($underflow + 1.0).is_subnormal());
            }

            #[test]
            fn ln_is_minus_infinity_at_zero_and_nan_below() {
                assert_eq!(ln(1.0).to_bits(), 0);
                assert_eq!(ln(0.0), -INFINITY);
                assert_eq!(ln(-0.0), -INFINITY);
                assert_eq!(ln(INFINITY), INFINITY);
                assert!(ln(-$t::from_bits(1)).is_nan());
                assert!(ln(-INFINITY).is_nan());
            }

            #[test]
            fn trigonometric_functions_are_nan_outside_their_domain() {
                let next = $t::from_bits(TRIGONOMETRIC_DOMAIN.to_bits() + 1);
                for f in [sin, cos, tan] {
                    assert!(f(TRIGONOMETRIC_DOMAIN).is_finite());
                    assert!(f(-TRIGONOMETRIC_DOMAIN).is_finite());
                    for x in [next, -next, $t::MAX, INFINITY, -INFINITY] {
                        assert!(f(x).is_nan());
                    }
                }
                assert_eq!(cos(0.0), 1.0);
                assert_eq!(cos(-0.0), 1.0);
            }

            #[test]
            fn tanh_saturates_to_one_and_sigmoid_to_zero_and_one() {
                for x in [$saturated, $t::MAX, INFINITY] {
                    assert_eq!(tanh(x), 1.0);
                    assert_eq!(sigmoid(2.0 * x), 1.0);
                }
                assert!(tanh($saturated / 2.0) < 1.0);
                assert_eq!(sigmoid(0.0), 0.5);
                assert_eq!(sigmoid(-INFINITY).to_bits(), 0);
                assert_eq!(sigmoid($underflow + 1.0), exp($underflow + 1.0));
            }

            #[test]
            fn atanh_is_infinite_at_one_and_nan_beyond() {
                assert_eq!(atanh(1.0), INFINITY);
                assert_eq!(atanh(-1.0), -INFINITY);
                for x in [1.0 + $t::EPSILON, 2.0, $t::MAX, INFINITY] {
                    assert!(atanh(x).is_nan());
                    assert!(atanh(-x).is_nan());
                }
            }

            #[test]
            fn odd_functions_are_exactly_odd_and_cosine_exactly_even() {
                // Steps through every exponent with varied mantissas, zero and subnormals included.
                let step = ($t::INFINITY.to_bits() / 20_011) as usize;
                for bits in (0..$t::INFINITY.to_bits()).step_by(step) {
                    let x = $t::from_bits(bits);
                    for f in [sin, tan, tanh, atanh] {
                        if !f(x).is_nan() {
                            assert_eq!(f(-x).to_bits(), (-f(x)).to_bits(), "at {x:e}");
                        }
                    }
                    assert_eq!(cos(-x).to_bits(), cos(x).to_bits(), "at {x:e}");
                }
            }

            #[test]
            fn odd_functions_return_tiny_arguments_unchanged() {
                for x in [0.0, $t::from_bits(1), $t::from_bits(12_345), $t::MIN_POSITIVE] {
                    for f in [sin, tan, tanh, atanh] {
                        assert_eq!(f(x).to_bits(), x.to_bits());
                        assert_eq!(f(-x).to_bits(), (-x).to_bits());
                    }
                }
            }
        }
    };
}

special_values!(f32, 88.75, -103.98, 9.02);
special_values!(f64, 709.8, -745.14, 19.07);
