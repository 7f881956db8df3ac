//! Placeholder for the project's own transcendental functions.
#![allow(missing_docs)]
macro_rules! stub {
    ($t:ident) => {
        pub mod $t {
            pub fn exp(x: $t) -> $t {
                x.exp()
            }
            pub fn ln(x: $t) -> $t {
                x.ln()
            }
            pub fn sin(x: $t) -> $t {
                x.sin()
            }
            pub fn cos(x: $t) -> $t {
                x.cos()
            }
            pub fn tan(x: $t) -> $t {
                x.tan()
            }
            pub fn tanh(x: $t) -> $t {
                x.tanh()
            }
            pub fn atanh(x: $t) -> $t {
                x.atanh()
            }
            pub fn sigmoid(x: $t) -> $t {
                1.0 / (1.0 + (-x).exp())
            }
        }
    };
}
stub!(f32);
stub!(f64);
