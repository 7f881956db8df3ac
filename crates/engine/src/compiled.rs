//! Heavy code is compiled in this crate, once for each of the two precisions.
//!
//! A generic function is compiled anew by every crate that calls it, and rolling takes most of a
//! minute to compile. But [`Real`](backcut_kernels::Real) is two types and never a third, so a
//! generic function can hand over to one of two that are not: everything above the engine compiles
//! in seconds.

use std::any::Any;

/// Of two functions, one for each precision, the one of type `F`.
pub(crate) fn choose<F: Copy + 'static>(single: &'static dyn Any, double: &'static dyn Any) -> F {
    let chosen = single.downcast_ref().or_else(|| double.downcast_ref());
    *chosen.expect("a working precision is f32 or f64")
}

/// Declares a function that hands over to `$body`, compiled here.
macro_rules! compiled_here {
    ($name:ident<R>($($arg:ident: $type:ty),*) $(-> $out:ty)?, $body:path) => {
        fn $name<R: backcut_kernels::Real>($($arg: $type),*) $(-> $out)? {
            type Compiled<R> = fn($($type),*) $(-> $out)?;
            // Statics: a constant would be made, and with it the code, in the crate that calls.
            static SINGLE: Compiled<f32> = $body;
            static DOUBLE: Compiled<f64> = $body;
            crate::compiled::choose::<Compiled<R>>(&SINGLE, &DOUBLE)($($arg),*)
        }
    };
}
pub(crate) use compiled_here;
